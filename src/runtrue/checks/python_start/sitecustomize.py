"""Python imports this at its start: it tells that a process begins, and that it came to its end.

It runs inside the project's own Python, from a directory of runtrue's on PYTHONPATH. A process that
leaves by `os._exit`, or is replaced by another program, has a beginning in the report and no end.
"""

from __future__ import annotations  # any Python may be the project's

import os
import sys
from typing import Any


def _give_way() -> None:
    """Leave no trace of this: the program, and what it starts, is to find what it would find."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != here]
    left = [path for path in os.environ["PYTHONPATH"].split(os.pathsep) if path != here]
    if left:
        os.environ["PYTHONPATH"] = os.pathsep.join(left)
    else:
        del os.environ["PYTHONPATH"]
    del sys.modules[__name__]


def _tell_of_process(report: str, words: list[str]) -> None:
    import atexit
    import importlib.util

    path = os.path.join(os.path.dirname(__file__), "..", "pytest_plugin", "runtrue_sealing.py")
    spec = importlib.util.spec_from_file_location("runtrue_sealing", path)
    sealing: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(sealing)  # type: ignore[union-attr]
    tell = sealing.open_report(report)
    tell({"event": "begin", "words": words})
    # What is registered first is called last.
    atexit.register(tell, {"event": "end"})
    if words[:2] == ["-m", "unittest"]:
        _tell_of_tests(tell)


def _tell_of_tests(tell: Any) -> None:
    """A module that exits when it is imported has a normal end as well, and no test is run."""
    from unittest.runner import TextTestRunner

    run = TextTestRunner.run

    def run_and_tell(self: Any, test: Any) -> Any:
        result = run(self, test)
        tell({"event": "ran", "tests": result.testsRun})
        return result

    TextTestRunner.run = run_and_tell  # type: ignore[method-assign]


def _words() -> list[str]:
    """What this Python was started with, without the options of Python itself."""
    # Before 3.10 it is not known, and nothing is told.
    words = list(getattr(sys, "orig_argv", ())[1:])
    while words and words[0].startswith("-") and words[0] not in ("-m", "-c", "-"):
        del words[: 2 if words[0] in ("-W", "-X") else 1]
    return words


_give_way()
# Only here, not in the processes that this one starts.
_report = os.environ.pop("RUNTRUE_ENDING", None)
if _report is not None and _words():
    _tell_of_process(_report, _words())

# In the place of this one, whatever else is called so; that there may be none, Python knows.
__import__("sitecustomize")
