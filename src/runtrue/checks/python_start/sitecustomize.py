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
    if _may_run_tests(words):
        _record_tests(write)


def _may_run_tests(words: list[str]) -> bool:
    if words[0] == "-m":
        return "unittest" in words
    return words[0].endswith(".py") and any("test" in os.path.basename(w) for w in words[:2])


def _record_tests(write: Any) -> None:
    """Record how tests end, and that they ran: a module may exit when it is imported."""
    from unittest.runner import TextTestRunner

    run = TextTestRunner.run

    def run_and_record(self: Any, test: Any) -> Any:
        make = self._makeResult
        self._makeResult = lambda: _recording(make(), write)
        result = run(self, test)
        write({"event": "ran", "tests": result.testsRun})
        return result

    TextTestRunner.run = run_and_record  # type: ignore[method-assign]


def _recording(result: Any, write: Any) -> Any:
    """Return a result of unittest's that records each test when it learns of it."""
    import traceback

    def record(outcome: str, test: Any, error: Any) -> None:
        line = {"event": "case", "id": test.id(), "outcome": outcome}
        if isinstance(error, tuple):
            kind, value, trace = error
            method = getattr(test, "_testMethodName", None)
            frames = traceback.extract_tb(trace)
            line["type"] = kind.__name__
            line["message"] = str(value)
            line["text"] = "".join(traceback.format_exception(kind, value, trace))[-20_000:]
            line["in_body"] = any(frame.name == method for frame in frames)
        write(line)

    def wrap(name: str, outcome: str) -> None:
        learn = getattr(result, name)

        def learn_and_record(test: Any, *about: Any) -> Any:
            record(outcome, test, about[0] if about else None)
            return learn(test, *about)

        setattr(result, name, learn_and_record)

    for name, outcome in (
        *(("addSuccess", "passed"), ("addExpectedFailure", "passed"), ("addSkip", "skipped")),
        *(("addFailure", "failed"), ("addError", "error"), ("addUnexpectedSuccess", "failed")),
    ):
        wrap(name, outcome)
    learn_part = result.addSubTest

    def learn_part_and_record(test: Any, part: Any, error: Any) -> Any:
        if error is not None:
            record("failed", test, error)
        return learn_part(test, part, error)

    result.addSubTest = learn_part_and_record
    return result


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
