"""A pytest plugin that writes each event as a line to the file that $RUNTRUE_REPORT names.

It runs inside the project's own Python, where runtrue is not installed, so it imports nothing but
pytest and the standard library. Each line is written as it happens: if the run dies or is killed,
the lines show how far it came and what was running.
"""

from __future__ import annotations  # any Python may be the project's

import importlib.util
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator
from typing import Any

import pytest
from _pytest._io.saferepr import saferepr

_KEEP = 50_000
#: How many characters of each side of a comparison are reported.
_SIDE = 400
_SECONDS = float(os.environ.get("RUNTRUE_TEST_SECONDS") or 0)
#: The file with the tests that are to be run, where that is not all of them.
_ONLY = os.environ.get("RUNTRUE_ONLY")

# The configuration of the session that is reported: a test may run a pytest of its own in here.
_reported: list[Any] = []


def _begun() -> Any:
    """Return the module that sitecustomize loaded before the project, or else load it now."""
    known = sys.modules.get("runtrue_begin")
    if known is None:
        path = os.path.join(os.path.dirname(__file__), "runtrue_begin.py")
        spec = importlib.util.spec_from_file_location("runtrue_begin", path)
        known = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(known)  # type: ignore[union-attr]
    return known


_begin = _begun()
_write_line, _guard = _begin.write, _begin.guard
_measurement = (
    _begin.load("runtrue_coverage").begin(_write_line) if "RUNTRUE_COVERAGE" in os.environ else None
)


def _writer(write_line: Any) -> Any:
    """Return a function that writes an event. A program may replace all that has a global name."""

    def write(event: str, **data: Any) -> None:
        if write_line is not None:
            write_line({"event": event, **data})

    return write


_write = _writer(_write_line)


def _trim(text: str) -> str:
    return text if len(text) <= 2 * _KEEP else text[:_KEEP] + "\n[…]\n" + text[-_KEEP:]


def _exception(error: BaseException) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "mro": [c.__name__ for c in type(error).__mro__],
        "message": _text(error),
        "errno": error.errno if isinstance(error, OSError) else None,
        "status": _status(error),
        "module": error.name if isinstance(error, ModuleNotFoundError) else None,
        "syntax": _syntax(error),
        "frames": _frames(error.__traceback__),
    }


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of the response that an exception carries, or is.

    One that merely has a status is a program's own answer, not one that it got.
    """
    response = getattr(error, "response", None)
    if response is not None:
        status = getattr(response, "status_code", None) or getattr(response, "status", None)
    else:  # urllib's and aiohttp's are responses themselves
        status = getattr(error, "status", None) if hasattr(error, "headers") else None
    return status if isinstance(status, int) else None


def _text(error: BaseException) -> str:
    try:
        return _trim(str(error))
    except Exception:  # whatever a candidate's exception does when it is printed
        return "<%s whose message cannot be read>" % type(error).__name__


def _syntax(error: BaseException) -> dict[str, Any] | None:
    if not isinstance(error, SyntaxError) or not isinstance(error.filename, str):
        return None
    return {"file": error.filename, "line": error.lineno, "column": error.offset}


def _frames(entry: Any) -> list[dict[str, Any]]:
    frames = []
    while entry is not None:
        code = entry.tb_frame.f_code
        frames.append({"file": code.co_filename, "line": entry.tb_lineno, "function": code.co_name})
        entry = entry.tb_next
    return frames[-50:]


class TestTimeout(BaseException):
    """A test has used up its processor time. No `except Exception` of a program may catch it."""


def _too_long(number: int, frame: Any) -> None:
    message = (
        "did not finish within %g s of processor time; `test_seconds` of the check gives it more"
    )
    raise TestTimeout(message % _SECONDS)


class _Limit:
    """Ends a test that goes on forever, so that the report says where that was.

    Processor time, not time: a test that waits for a server, or is starved by others, goes on.
    """

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL
        ):
            yield
            return
        signal.signal(signal.SIGPROF, _too_long)
        # Again and again, for programs that catch everything.
        signal.setitimer(signal.ITIMER_PROF, _SECONDS, 1.0)
        started = time.process_time()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            item.runtrue_cpu = time.process_time() - started


class _Selection:
    """Leaves the tests of some functions, and no others, to be run."""

    def __init__(self, file: str) -> None:
        with open(file, encoding="utf-8") as names:
            self.functions = {_function(name) for name in json.load(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: Any) -> None:
        left_out = [item for item in items if _function(item.nodeid) not in self.functions]
        items[:] = [item for item in items if _function(item.nodeid) in self.functions]
        if left_out:
            config.hook.pytest_deselected(items=left_out)


def _function(test: str) -> str:
    """Return the id of a test without its parameters, whose names may change from run to run."""
    return test.partition("[")[0]


class _Reporter:
    """Attaches the exception to each report where it happens, and writes where reports arrive.

    Those are two processes under pytest-xdist.
    """

    def __init__(self, config: Any, write: Any = _write, guard: Any = _guard) -> None:
        self.write = write
        self.guard = guard
        self.writes = not hasattr(config, "workerinput")
        options = ("collectonly", "setuponly", "setupplan")
        #: True if no test is to be run, or others run them.
        self.is_idle = any(config.getoption(name, False) for name in (*options, "numprocesses"))
        #: Both sides of the equality that an assert has just failed at.
        self.compared: dict[str, str] | None = None

    def pytest_assertrepr_compare(self, op: str, left: Any, right: Any) -> None:
        self.compared = None
        if op == "==":
            # `assert f(x) == 3` is how people write it.
            self.compared = {"actual": saferepr(left, _SIDE), "expected": saferepr(right, _SIDE)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.compared = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        outcome = yield
        if call.when == "call":
            outcome.get_result().runtrue_cpu = getattr(item, "runtrue_cpu", 0.0)
        if call.excinfo is not None:
            error = outcome.get_result().runtrue = _exception(call.excinfo.value)
            if isinstance(call.excinfo.value, AssertionError) and self.compared is not None:
                error["compared"] = self.compared
        found = self.guard.glance() if call.when == "call" else ()
        if found:
            outcome.get_result().runtrue_tampered = found

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, None]:
        outcome = yield
        if outcome.excinfo is not None and isinstance(outcome.excinfo[1], SystemExit):
            # A module that exits when it is imported; pytest would give up with an internal error.
            text = "".join(traceback.format_exception(*outcome.excinfo))
            report = pytest.CollectReport(collector.nodeid, "failed", text, [])
            report.runtrue = _exception(outcome.excinfo[1])  # type: ignore[attr-defined]
            outcome.force_result(report)
            return
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            error = call.excinfo.value
            if isinstance(error, pytest.Collector.CollectError):
                # What failed to import is the cause; the wrapper around it says nothing more.
                error = error.__cause__ or error.__context__ or error
            report.runtrue = _exception(error)

    def pytest_collection_finish(self, session: Any) -> None:
        if self.writes and not self.is_idle and hasattr(session, "items"):
            self.write("collected", ids=[item.nodeid for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if self.writes:
            self.write("session")

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        if self.writes:
            self.write("started", id=nodeid)

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        if self.writes:
            self.write("finished", id=nodeid)

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        if self.writes:
            self.write("interrupted")

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._tampered(getattr(report, "runtrue_tampered", ()), report.nodeid)
        skipped_setup = report.when == "setup" and report.skipped
        if self.writes and (report.when == "call" or report.failed or skipped_setup):
            self._case(report)

    def pytest_collectreport(self, report: Any) -> None:
        # A whole module that is skipped has no tests that could be reported.
        if self.writes and (report.failed or report.skipped):
            self._case(report, when="collect")

    def _case(self, report: Any, when: str | None = None) -> None:
        when = when or report.when
        outcome = report.outcome
        if outcome == "failed" and when != "call":
            outcome = "error"
        self.write(
            "case",
            id=report.nodeid,
            when=when,
            outcome=outcome,
            seconds=getattr(report, "duration", 0.0),
            cpu=getattr(report, "runtrue_cpu", 0.0),
            exception=getattr(report, "runtrue", None),
            text=_trim(getattr(report, "longreprtext", "")) if report.failed else "",
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        output = getattr(node, "workeroutput", {})
        self._tampered(output.get("runtrue_tampered", ()))
        for line in output.get("runtrue_items", ()):
            self.write(**line)

    def _tampered(self, found: Any, test: str | None = None) -> None:
        if self.writes:
            for each in found:
                self.write("tampered", id=test, **each)

    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        found = self.guard.look()
        if self.writes:
            self._tampered(found)
            self.write("end", exit_code=int(exitstatus))
        else:
            session.config.workeroutput["runtrue_tampered"] = found


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(
    early_config: Any, parser: Any, args: Any
) -> Generator[None, Any, None]:
    """Notice a conftest.py that cannot be imported: pytest reports that as a usage error."""
    if not _reported:
        _reported.append(early_config)
        _write("start", root=str(early_config.rootpath), pytest=pytest.__version__)
        if _guard is not None:
            _guard.know_module(__name__)
            _guard.know_manager(early_config.pluginmanager)
    if _measurement is not None and _is_reported(early_config):
        _measurement.give_way(early_config.known_args_namespace)
    outcome = yield
    if _is_reported(early_config):
        _write("ready")
    if outcome.excinfo is None or not _is_reported(early_config):
        return
    error = outcome.excinfo[1]
    if isinstance(error, pytest.UsageError):
        return
    cause = getattr(error, "cause", None)
    if cause is None:  # before pytest 8 the wrapper held the exception otherwise
        info = getattr(error, "excinfo", None)
        cause = info[1] if info else error
    _write(
        "case",
        id=str(getattr(error, "path", "conftest.py")),
        when="collect",
        outcome="error",
        seconds=0.0,
        exception=_exception(cause),
        text="",
    )


def pytest_plugin_registered(plugin: Any) -> None:
    """Note who registered it."""
    if _guard is not None:
        _guard.know_plugin(plugin)


def pytest_configure(config: Any) -> None:
    """Register the plugins of the session that is reported."""
    if _is_reported(config):
        # One file that cannot be imported must not hide what the others say.
        config.option.continue_on_collection_errors = True
        if _guard is not None:
            config.pluginmanager.register(_Reporter(config), "runtrue-reporter")
        if _SECONDS and hasattr(signal, "setitimer"):
            config.pluginmanager.register(_Limit(), "runtrue-limit")
        if _ONLY:
            config.pluginmanager.register(_Selection(_ONLY), "runtrue-selection")
        if _measurement is not None:
            config.pluginmanager.register(_measurement, "runtrue-measurement")


def pytest_unconfigure(config: Any) -> None:
    """Make room for a next session in this process."""
    if _is_reported(config):
        _reported.clear()


def _is_reported(config: Any) -> bool:
    return any(reported is config for reported in _reported)
