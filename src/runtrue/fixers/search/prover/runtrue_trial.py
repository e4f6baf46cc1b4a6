"""A trial of a candidate: runs the tests in this process, and reports the outcome.

It runs inside the project's own Python.
"""

from __future__ import annotations  # any Python may be the project's

import os
import re
import signal
import sys
import types
import zlib
from collections.abc import Iterator
from typing import Any

from _pytest import runner
from _pytest.assertion import util
from _pytest.outcomes import Skipped, XFailed
from _pytest.reports import TestReport

_evidence: Any = sys.modules["runtrue_evidence"]
_watch: Any = sys.modules["runtrue_watch"]

#: The modules that decide whether a test has passed.
_DECIDING = (
    *("_pytest." + name for name in ("runner", "python", "reports", "outcomes", "skipping")),
    *("_pytest." + name for name in ("unittest", "doctest", "raises", "python_api", "_code.code")),
    *("_pytest.assertion", "_pytest.assertion.rewrite", "_pytest.assertion.util"),
    *("pluggy._hooks", "pluggy._callers", "pluggy._manager", "pluggy._result"),
    *("unittest.case", "doctest", "os", "json", "builtins"),
    *("runtrue_trial", "runtrue_server", "runtrue_prover"),
)

#: The plugins that run a failed test again.
_FORGIVING = ("rerunfailures", "flaky", "flaky.flaky_pytest_plugin")
_LONGEST = 2000
#: How long the tests after one that did not end may take, at least.
_IMPATIENT_SECONDS = 0.5


class TimeUp(BaseException):
    """A test took too long. Not an Exception: programs catch those."""

    runtrue_timed_out = True


class Snapshot:
    """The functions, their code and the methods that decide, as they were."""

    def __init__(self) -> None:
        self._things: list[tuple[Any, str, Any, Any]] = []
        for name in _DECIDING:
            module = sys.modules.get(name)
            if module is not None:
                self._keep(vars(module), name)

    def _keep(self, names: Any, module: str) -> None:
        for name, thing in list(names.items()):
            if isinstance(thing, types.FunctionType):
                self._things.append((names, name, thing, thing.__code__))
            elif isinstance(thing, (types.BuiltinFunctionType, type, staticmethod, classmethod)):
                self._things.append((names, name, thing, None))
            if isinstance(thing, type) and thing.__module__ == module:
                self._keep(thing.__dict__, "")

    def changed(self) -> list[int]:
        """Return the numbers of those that have changed."""
        return [
            index
            for index, (names, name, thing, code) in enumerate(self._things)
            if names.get(name) is not thing or (code is not None and thing.__code__ is not code)
        ]

    def name(self, index: int) -> str:
        """Return the name of one of them."""
        return self._things[index][1]


class CollectedTests:
    """The collected tests of a session, and the functions by which pytest runs one."""

    def __init__(self, session: Any) -> None:
        self.items = session.items
        self.by_id = {item.nodeid: item for item in session.items}
        self._config = session.config
        self._hooks = self._functions()

    def hooks_are_unchanged(self) -> bool:
        """Return whether the hooks are those from the beginning."""
        return self._hooks == self._functions()

    def _functions(self) -> list[Any]:
        hooks = self._config.hook
        names = ("protocol", "setup", "call", "teardown", "makereport", "logreport")
        return [
            [id(one.function) for one in getattr(hooks, "pytest_runtest_" + name).get_hookimpls()]
            for name in names
        ]


class TrialRunner:
    """Runs tests through pytest's own protocol and notes its reports."""

    def __init__(self, child: Any, scope: Any, snapshot: Snapshot) -> None:
        self.child = child
        self._scope = scope
        self._snapshot = snapshot
        self._observes = False
        self._failure: dict[str, Any] | None = None
        self._outcome = ""
        self._detail = ""
        self._mark = ""
        self._compared: Any = None
        self._test = ""
        self._fixed: list[str] = []

    # -- what pytest calls ------------------------------------------------------------------------

    def protocol(self, item: Any, nextitem: Any) -> bool:
        """Run one test, inside of the hooks of other plugins."""
        if not self._observes:
            # A long text about how the two sides differ would not be read.
            util._reprcompare = None
        for report in runner.runtestprotocol(item, log=False, nextitem=nextitem):
            self.note_report(report)
        return True

    def note_report(self, report: Any) -> None:
        """Note the outcome of a phase of a test."""
        if report.nodeid != self._test:
            return  # of a pytest that a test runs in here
        if report.skipped and hasattr(report, "context"):
            return  # a part of a test: the others count
        if report.failed:
            self._outcome = "failed"
        elif self._outcome == "failed":
            return
        elif report.skipped and not hasattr(report, "wasxfail"):
            self._outcome = "skipped"
        elif self._outcome != "skipped" and (report.when == "call" or hasattr(report, "wasxfail")):
            self._outcome = "passed"

    def report(self, item: Any, call: Any) -> Any:
        """Return the report of a phase of a test, without a text, which would not be read."""
        outcome: Any = "passed"
        text: Any = None
        if call.excinfo is None:
            pass
        elif isinstance(call.excinfo.value, Skipped):
            outcome, text = "skipped", ("", 0, str(call.excinfo.value))
        else:
            outcome, text = "failed", type(call.excinfo.value).__name__
            self._detail = text
            self._mark = _mark_of(call.excinfo.value)
            if not self._observes:
                self._end_early(item, call.excinfo.value)
            elif self._failure is None:
                error = call.excinfo.value
                self._failure = _evidence.failure_of(self._test, error, self._compared, self._scope)
        return TestReport(
            item.nodeid,
            item.location,
            dict.fromkeys(item.keywords, 1),
            outcome,
            text,
            call.when,
            (),
            call.duration,
            user_properties=item.user_properties,
        )

    def _end_early(self, item: Any, error: BaseException) -> None:
        """Leave at the first failure, unless a plugin or a mark may forgive it."""
        request = self.child.request
        if request["do"] != "try" or request.get("whole") or isinstance(error, XFailed):
            return
        manager = item.config.pluginmanager
        if any(manager.hasplugin(name) for name in _FORGIVING) or any(item.iter_markers("xfail")):
            return
        self.child.leave(
            {
                "end": "failed",
                "killer": item.nodeid,
                "fixed": self._fixed,
                "detail": self._detail,
                "mark": self._mark,
            }
        )

    def compare(self, operator: str, left: Any, right: Any) -> None:
        """Note a comparison that an assert failed at."""
        if self._observes:
            self._compared = operator, left, right

    def _run(self, item: Any, nextitem: Any) -> str:
        self._test = item.nodeid
        self._outcome = ""
        self._detail = ""
        self._mark = ""
        self._failure = None
        self._compared = None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        return self._outcome or "skipped"

    def run_one(self, item: Any) -> str:
        """Run one test by itself."""
        return self._run(item, None)

    # -- the program as it is ---------------------------------------------------------------------

    def run_baseline(self, session: Any, tracer: Any) -> None:
        """Run some tests on the unchanged program and report each, while there is time. Leaves."""
        request, send = self.child.request, self.child.send
        self._observes = True
        items = [session.items[index] for index in request["tests"]]
        longest, slowest = float("inf"), 0.0
        watch, written, ran = self.child.watch, set(), False
        within, all_tests = request["within"] or float("inf"), _watch.Stopwatch()
        for at, item in enumerate(items):
            left = within - all_tests.seconds()
            if left <= 0:
                break
            limit = uncut = min(request["limits"][at], longest)
            if not request["needed"][at]:
                limit = min(limit, max(left, _IMPATIENT_SECONDS))
            # Time to observe as well; usually it is stopped from within.
            self.child.slot.begin(request["tests"][at], limit + 2.0)
            stop_after(limit)
            following = items[at + 1] if at + 1 < len(items) else None
            watch.written, watch.ran = set(), False
            if tracer is not None:
                tracer.begin()
            this_test = _watch.Stopwatch()
            try:
                outcome = self._run(item, following)
            except TimeUp as error:
                outcome = "failed"
                if self._failure is None:
                    self._failure = _evidence.failure_of(self._test, error, None, self._scope)
            finally:
                seconds = this_test.seconds()
                signal.setitimer(signal.ITIMER_REAL, 0)
            lines = tracer.end() if tracer is not None else {}
            if seconds >= limit and limit < uncut:
                break  # cut off because time is up: that says nothing about the test
            if self._failure is not None and self._failure["timed_out"]:
                # One test that waits forever is waited for; the next need not be.
                longest = max(_IMPATIENT_SECONDS, 20 * slowest)
            else:
                slowest = max(slowest, seconds)
            send(
                {
                    "case": request["tests"][at],
                    "outcome": outcome,
                    "seconds": seconds,
                    "failure": self._failure if outcome == "failed" else None,
                    "mark": self._mark,
                    "lines": {file: sorted(found) for file, found in lines.items()},
                    "touches": watch.ran or bool(watch.written),
                }
            )
            written |= watch.written
            ran = ran or watch.ran
        self.child.leave(
            {
                "end": "ran",
                "written": sorted(written),
                "elsewhere": sorted(watch.elsewhere),
                "ran": ran,
                "changed": self._snapshot.changed(),
            }
        )

    # -- a candidate ------------------------------------------------------------------------------

    def collect_failed(self, test: str, detail: str) -> None:
        """Leave because a module of tests cannot be imported, unless it does not count."""
        plan, only = self.child.plan, self.child.request.get("only")
        for index, known in enumerate(plan["tests"]):
            if known["id"] == test:
                if known["was"] == "failed" and only is not None and index not in only:
                    return
                break
        self.child.leave({"end": "failed", "killer": test, "fixed": [], "detail": detail})

    def run_candidate(self, collected: CollectedTests) -> None:
        """Run the tests on a candidate until one does not pass. Leaves."""
        request, plan = self.child.request, self.child.plan
        tests = plan["tests"]
        leave = self.child.leave
        todo = _in_order(collected, request, plan)
        fixed = self._fixed
        killer = None
        detail = mark = ""
        patience = request.get("patience", 1.0)
        slot = self.child.slot
        following = next(todo, None)
        while following is not None:
            index, item = following
            following = next(todo, None)
            if item is None:
                message = "it is not collected any more"
                leave({"end": "failed", "at": index, "fixed": fixed, "detail": message})
            if killer is not None and tests[index]["was"] != "failed":
                break
            slot.begin(index, tests[index]["limit"] * patience)
            outcome = self._run(item, following[1] if following else None)
            was = tests[index]["was"]
            if outcome == "passed" or (outcome == "skipped" and was == "skipped"):
                if was == "failed":
                    fixed.append(item.nodeid)
                continue
            if killer is None:
                killer, detail, mark = item.nodeid, self._detail or outcome, self._mark
            if not request.get("whole"):
                break
        failed = {"end": "failed", "killer": killer, "detail": detail, "mark": mark}
        if killer is not None and not fixed:  # no need to look for tampering
            leave({**failed, "fixed": []})
        changed = [i for i in self._snapshot.changed() if i not in plan["ignored"]]
        if changed or not collected.hooks_are_unchanged():
            what = self._snapshot.name(changed[0]) if changed else "the hooks of pytest"
            leave({"end": "tampered", "fixed": [], "detail": what + " was changed"})
        if killer is not None:
            leave({**failed, "fixed": fixed})
        leave({"end": "passed", "fixed": fixed})


def _in_order(collected: CollectedTests, request: Any, plan: Any) -> Iterator[tuple[int, Any]]:
    """Yield the tests to run, each with its number in the plan; None for one that is gone.

    Lazily: usually the first is the last that is run, and to read one of many in a copied process
    means to copy its memory.
    """
    tests, order, only = plan["tests"], plan["order"], request.get("only")
    if only is not None:
        wanted = set(only)
        order = [index for index in order if index in wanted]
    first = request.get("first")
    if first in order and not plan["in_order"]:
        order = [first, *(index for index in order if index != first)]
    taken: set[str] = set()
    for index in order:
        test = tests[index]
        if not test["broken"]:
            taken.add(test["id"])
            yield index, collected.by_id.get(test["id"])
            continue
        inside = [item for item in collected.items if _is_in(item.nodeid, test, tests)]
        taken.update(item.nodeid for item in inside)
        yield from [(index, item) for item in inside] or [(index, None)]
    if only is None:
        # New tests must pass as well.
        for item in collected.items:
            if item.nodeid not in taken:
                yield order[-1], item


def _is_in(test: str, module: Any, tests: Any) -> bool:
    """Return whether a test is in a module that could not be imported; all are in a conftest.py."""
    if os.path.basename(module["id"]) == "conftest.py":
        return not any(test == known["id"] for known in tests)
    return test.partition("::")[0] == module["id"] or test.startswith(module["id"] + "::")


def _mark_of(error: BaseException) -> str:
    """Return a digest of an exception: its type, its text without addresses, and where it went."""
    try:
        text = re.sub("0x[0-9a-f]+", "", str(error)[:_LONGEST])
    except Exception:  # the program's own
        text = ""
    lines = []
    entry = error.__traceback__
    while entry is not None:
        lines.append(entry.tb_lineno)
        entry = entry.tb_next
    digest = zlib.crc32(text.encode("utf-8", "replace"))
    return "%s:%x:%d" % (type(error).__name__, digest, sum(lines))


def stop_after(seconds: float) -> None:
    """Have what runs now raise TimeUp when it has worked for so long."""
    watch = _watch.Stopwatch()

    def look(number: int, frame: Any) -> None:
        if watch.seconds() >= seconds:
            _time_up(number, frame)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)


def _time_up(number: int, frame: Any) -> None:
    raise TimeUp("the test did not end in time")
