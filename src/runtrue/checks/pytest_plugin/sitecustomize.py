"""Load runtrue_begin when a Python that runs pytest starts, before anything of the project.

Every Python imports a module of this name first. The directory that a command is run in, and those
of $PYTHONPATH, come before the standard library: a program that has a module named like one that
pytest uses would be run before pytest's plugins are, and could take the report for its own.
"""

from __future__ import annotations  # any Python may be the project's

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAMES = ("pytest", "py.test")
#: With these it runs no tests, and may not even ask for its plugins.
_RUNS_NOTHING = {"-h", "--help", "-V", "--version"}


def _is_pytest(words: list[str]) -> bool:
    """Return whether a command line runs pytest, as a script or as a module."""
    if not _RUNS_NOTHING.isdisjoint(words):
        return False
    before = ["", *words]
    return os.path.basename(words[0] if words else "") in _NAMES or any(
        word in _NAMES and before[index] == "-m" for index, word in enumerate(words)
    )


def _begin() -> None:
    """Import pytest and our reporter without the project's directories on the path."""
    whole = sys.path[:]
    others = {os.path.abspath(place) for place in os.environ["PYTHONPATH"].split(os.pathsep)}
    sys.path[:] = [_HERE, *(place for place in whole if os.path.abspath(place) not in others)]
    try:
        from importlib.machinery import PathFinder

        if PathFinder.find_spec("pytest", sys.path) is not None:
            import runpy  # noqa: F401 - what runs modules is looked for where they are

            import runtrue_begin  # type: ignore[import-not-found]  # noqa: F401
    finally:
        sys.path[:] = whole


def _go_on() -> None:
    """Import the `sitecustomize` that would have been imported without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    others = [place for place in sys.path if os.path.abspath(place) != _HERE]
    spec = PathFinder.find_spec(__name__, others)
    if spec is not None and spec.loader is not None:
        module = sys.modules[__name__] = module_from_spec(spec)
        spec.loader.exec_module(module)


# Of an older Python, the words of its command line are not known yet.
if "RUNTRUE_REPORT" in os.environ and _is_pytest(getattr(sys, "orig_argv", sys.argv)[1:]):
    _begin()
_go_on()
