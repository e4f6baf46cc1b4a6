"""Record the start and the end of a process: Python imports this module when it starts.

It runs inside the project's own Python, from a directory of runtrue's on PYTHONPATH. A process that
leaves by `os._exit`, or is replaced by another program, has a start in the report and no end.
"""

from __future__ import annotations  # any Python may be the project's

import os
import sys
from typing import Any


def _give_way() -> None:
    """Leave no trace: programs must find what they would find without this."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != here]
    left = [path for path in os.environ["PYTHONPATH"].split(os.pathsep) if path != here]
    if left:
        os.environ["PYTHONPATH"] = os.pathsep.join(left)
    else:
        del os.environ["PYTHONPATH"]
    del sys.modules[__name__]


def _record_process(report: str, words: list[str]) -> None:
    import atexit
    import importlib.util

    path = os.path.join(os.path.dirname(__file__), "..", "pytest_plugin", "runtrue_signed.py")
    spec = importlib.util.spec_from_file_location("runtrue_signed", path)
    signed: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(signed)  # type: ignore[union-attr]
    write = signed.open_report(report)
    write({"event": "begin", "words": words})
    # The function registered first is called last.
    atexit.register(write, {"event": "end"})
    if words[:2] == ["-m", "unittest"]:
        _record_tests(write)


def _record_tests(write: Any) -> None:
    """Record that tests ran: a module that exits when it is imported also has a normal end."""
    from unittest.runner import TextTestRunner

    run = TextTestRunner.run

    def run_and_record(self: Any, test: Any) -> Any:
        result = run(self, test)
        write({"event": "ran", "tests": result.testsRun})
        return result

    TextTestRunner.run = run_and_record  # type: ignore[method-assign]


def _words() -> list[str]:
    """Return this process's command line without the options of Python itself."""
    # Before 3.10 it is not known, and nothing is recorded.
    words = list(getattr(sys, "orig_argv", ())[1:])
    while words and words[0].startswith("-") and words[0] not in ("-m", "-c", "-"):
        del words[: 2 if words[0] in ("-W", "-X") else 1]
    return words


_give_way()
# Only here, not in the processes that this one starts.
_report = os.environ.pop("RUNTRUE_ENDING", None)
if _report is not None and _words():
    _record_process(_report, _words())

# The next module of this name; Python ignores that there may be none.
__import__("sitecustomize")
