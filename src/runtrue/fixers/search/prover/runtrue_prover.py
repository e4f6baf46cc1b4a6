"""A pytest plugin that turns the user's own test run into a server that tries candidates.

It runs inside the project's own Python, where runtrue is not installed, so it imports nothing but
pytest and the standard library. Before anything of the project is imported, the process stops and
serves: a copy of it that goes on is pytest on a candidate, whatever the candidate changes. One copy
goes on without a candidate, until the session has started, and serves from there candidates whose
files are not imported yet. A copy of that goes on until all tests are collected, and serves from
there: its copies only get other code for some functions.
"""

from __future__ import annotations  # any Python may be the project's

import importlib.util
import json
import os
import sys
import time
from collections.abc import Generator
from typing import Any

import pytest

_SETTINGS = os.environ.pop("RUNTRUE_PROVER", None)


def _load(name: str) -> Any:
    """A module beside this one, from its file: what is merely called so may be the project's."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[name] = module
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


class _Prover:
    """The state of this process: what it is, and, in a copy, what is to be done."""

    def __init__(self, settings: Any) -> None:
        _load("runtrue_guarding")
        self.settings = settings
        self.serving = _load("runtrue_serving")
        self.evidence = _load("runtrue_evidence")
        self.tracing = _load("runtrue_tracing")
        self.loading = _load("runtrue_loading")
        self.patching = _load("runtrue_patching")
        self.judging = _load("runtrue_judging")
        self.behaving = _load("runtrue_behaving")
        self.scope = self.tracing.Scope(settings["root"])
        self.judge: Any = None
        self.live: Any = None
        self.tests: Any = None
        self.snapshot: Any = None
        self.collecting = False
        self.config: Any = None
        self.began = 0.0
        self.importing: Any = None
        self.imported: dict[str, set[int]] = {}
        self.broken: list[Any] = []

    # -- before anything is imported --------------------------------------------------------------

    def serve_fresh(self, config: Any) -> None:
        """Stop here, and serve. Returns in copies."""
        import unittest.case  # noqa: F401 - it judges, and must be there to be compared with

        sys.settrace(None)
        # Not before our own modules are loaded, which may as well be compiled once.
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        self.config = config
        _quiet(config.known_args_namespace)
        self.loading.install(self.settings["root"])
        self.snapshot = self.judging.Snapshot()
        server = self.serving.Server(self.settings, "fresh")
        server.taken = self._take
        server.hello({"pytest": pytest.__version__, "python": list(sys.version_info[:3])})
        child = server.serve()
        if child is not None:
            self._become(child)
            return
        self.collecting = True
        self.began = time.perf_counter()
        if hasattr(sys, "monitoring"):
            self.importing = self.tracing.tracer(self.scope)
        if self.importing is None or not hasattr(self.importing, "ran"):
            self.importing = self.tracing.Tracing(self.scope)
        self.importing.begin()

    def _become(self, child: Any) -> None:
        """In a copy: have the candidate loaded instead of what is on the disk."""
        self.collecting = False
        for path, text in child.request["texts"].items():
            self.loading.texts[path] = text
        self.judge = self.judging.Judge(child, self.scope, self.snapshot)
        self._check_texts()

    def conftests_loaded(self) -> None:
        """What follows is pytest's own start, unless something of the project can take part."""
        if self.collecting and not self.loading.plain and not self.loading.rewritten:
            self._add_imported()

    def serve_started(self) -> None:
        """Stop before tests are collected, and serve. Returns in copies, and goes on."""
        if not self.collecting:
            return
        self._add_imported()
        spent = time.perf_counter() - self.began
        server = self.serving.Server(self.settings, "started")
        server.taken = self._take
        loaded = [*self.loading.plain, *self.loading.rewritten]
        server.hello({"loaded": [self.scope.file(path) for path in loaded]})
        child = server.serve()
        if child is not None:
            _capture_afresh(self.config)
            self._become(child)
            return
        self.began = time.perf_counter() - spent
        self.importing.begin()

    def _add_imported(self) -> None:
        for file, lines in self.importing.end().items():
            self.imported.setdefault(file, set()).update(lines)

    def _take(self, path: str) -> None:
        import marshal

        with open(path, "rb") as file:
            self.loading.take(marshal.load(file))  # noqa: S302 - we wrote it

    def _check_texts(self) -> None:
        """A candidate that does not compile need not be run."""
        for path, text in self.judge.child.request["texts"].items():
            try:
                self.loading.code_of(text, path)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                detail = "%s: %s" % (type(error).__name__, error)
                self.judge.child.leave({"end": "failed", "fixed": [], "detail": detail[:500]})

    def conftest_failed(self, error: BaseException) -> None:
        """A conftest.py cannot be imported: no test can be run."""
        cause = getattr(error, "cause", None)
        if cause is None:  # before pytest 8 the wrapper held the exception otherwise
            held = getattr(error, "excinfo", None)
            cause = held[1] if held else error
        path = str(getattr(error, "path", "conftest.py"))
        test = self.scope.file(path) or path
        if self.judge is not None:
            self.judge.collect_failed(test, "%s: %s" % (type(cause).__name__, cause))
            return
        if self.collecting:
            self._broke(test, path, cause)
            server = self.serving.Server(self.settings, "collected")
            server.hello(self._collected([], alone=True))
            os._exit(0)

    # -- while tests are collected ----------------------------------------------------------------

    def _broke(self, test: str, path: str, error: BaseException) -> None:
        failure = self.evidence.failure_of(test, error, None, self.scope)
        self.broken.append({"id": test, "file": self.scope.file(path), "failure": failure})

    def collect_failed(self, collector: Any, error: BaseException) -> None:
        """A module of tests cannot be imported."""
        if isinstance(error, pytest.Collector.CollectError):
            # What failed to import is the cause; the wrapper around it says nothing more.
            error = error.__cause__ or error.__context__ or error
        if self.judge is not None:
            detail = "%s: %s" % (type(error).__name__, error)
            self.judge.collect_failed(collector.nodeid, detail[:500])
        elif self.collecting:
            path = getattr(collector, "path", None) or collector.fspath
            self._broke(collector.nodeid, str(path), error)

    def collected(self, session: Any) -> None:
        """All tests are there: judge, or stop here, and serve. Never returns."""
        if self.judge is None:
            self._serve_collected(session)
        child = self.judge.child
        given = getattr(session.config, "_tmp_path_factory", None)
        if given is not None:
            given._given_basetemp = type(session.config.rootpath)(child.directory, "pytest")
        what = child.request["do"]
        try:
            if what == "run":
                trace = child.request["trace"]
                tracer = self.tracing.tracer(self.scope, trace == "plainly") if trace else None
                self.judge.run(session, tracer)
            elif what == "behave":
                self.behaving.behave(session, self)
            else:
                self.judge.judge(self.tests or self.judging.Tests(session))
        except BaseException as error:  # it must not get back into pytest
            detail = "%s: %s" % (type(error).__name__, error)
            child.leave({"end": "died", "at": child.slot.read()[3], "detail": detail[:500]})
        os._exit(1)

    def _serve_collected(self, session: Any) -> None:
        self._add_imported()
        if hasattr(self.importing, "close"):
            self.importing.close()
        self.collecting = False
        self._keep()
        server = self.serving.Server(self.settings, "collected")
        hello = self._collected(session.items)
        hello["imported"] = {file: sorted(lines) for file, lines in self.imported.items()}
        server.hello(hello)
        self.live = self.patching.Live(self.settings["root"] + os.sep, self.importing.ran)
        server.prepare = self.live.prepare
        self.tests = self.judging.Tests(session)
        for item in session.items:
            _ = item.location  # found once, here
        child: Any = server.serve()
        self.judge = self.judging.Judge(child, self.scope, self.snapshot)
        _capture_afresh(session.config)
        if child.request["do"] == "try":
            self.patch(child)

    def patch(self, child: Any) -> None:
        """Give functions the code of the candidate, or leave."""
        for path, text in child.request["texts"].items():
            try:
                why = self.live.patch(path, text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                detail = "%s: %s" % (type(error).__name__, error)
                child.leave({"end": "failed", "fixed": [], "detail": detail})
            if why is not None:
                child.leave({"end": "fresh", "detail": why})

    def _keep(self) -> None:
        import marshal

        with open(self.settings["kept"] + ".new", "wb") as file:
            marshal.dump(self.loading.keep(), file)
        os.rename(self.settings["kept"] + ".new", self.settings["kept"])

    def _collected(self, items: Any, alone: bool = False) -> dict[str, Any]:
        tests = []
        files = set()
        for item in items:
            file = self.scope.file(str(getattr(item, "path", None) or item.fspath))
            tests.append({"id": item.nodeid, "file": file})
            is_program = type(item).__name__ == "DoctestItem" and str(file).endswith(".py")
            if file is not None and not is_program:
                files.add(file)
        for module in list(sys.modules.values()):
            name = getattr(module, "__file__", None)
            if isinstance(name, str) and os.path.basename(name) == "conftest.py":
                files.add(self.scope.file(name) or "")
        files.update(one["file"] for one in self.broken if one["file"])
        if self.config.inipath is not None:
            files.add(self.scope.file(str(self.config.inipath)) or "")
        return {
            "tests": tests,
            "broken": self.broken,
            "files": sorted(files - {""}),
            "seconds": time.perf_counter() - self.began,
            "alone": alone,
        }


def _quiet(options: Any) -> None:
    """Have nothing measured, distributed, stopped early or asked for."""
    for name, value in (
        ("cov_source", []),
        ("no_cov", True),
        ("numprocesses", None),
        ("dist", "no"),
        ("tx", []),
        ("maxfail", 0),
        ("usepdb", False),
        ("trace", False),
        ("collectonly", False),
    ):
        if hasattr(options, name):
            setattr(options, name, value)


def _capture_afresh(config: Any) -> None:
    """What is written goes to a file of this process's own, not to one of all copies."""
    manager = config.pluginmanager.getplugin("capturemanager")
    capturing = getattr(manager, "_global_capturing", None)
    for name in ("out", "err"):
        captured = getattr(capturing, name, None)
        kept = getattr(captured, "tmpfile", None)
        target = getattr(captured, "targetfd", None)
        if kept is None or target is None:
            continue
        try:
            if hasattr(os, "memfd_create"):
                new = os.memfd_create("output")
            else:
                import tempfile

                with tempfile.TemporaryFile() as file:
                    new = os.dup(file.fileno())
            os.dup2(new, kept.fileno())
            os.dup2(new, target)
            os.close(new)
        except OSError:
            continue


_prover = _Prover(json.loads(_SETTINGS)) if _SETTINGS else None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: Any, parser: Any, args: Any
) -> Generator[None, Any, None]:
    """Serve, before anything of the project is imported."""
    ours = _prover is not None and _prover.config is None
    if ours:
        _prover.serve_fresh(early_config)  # type: ignore[union-attr]
    outcome = yield
    if ours and outcome.excinfo is None:
        _prover.conftests_loaded()  # type: ignore[union-attr]
    error = outcome.excinfo[1] if ours and outcome.excinfo is not None else None
    if error is not None and not isinstance(error, pytest.UsageError):
        _prover.conftest_failed(error)  # type: ignore[union-attr]


def _is_ours(config: Any) -> bool:
    return _prover is not None and _prover.config is config


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_cmdline_main(config: Any) -> Generator[None, Any, None]:
    """Run all tests here, in this process."""
    if _is_ours(config):
        _quiet(config.option)
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: Any) -> None:
    """Serve, before tests are collected."""
    if _is_ours(session.config):
        _prover.serve_started()  # type: ignore[union-attr]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_make_collect_report(collector: Any) -> Generator[None, Any, None]:
    """Notice what cannot be collected."""
    outcome = yield
    if not _is_ours(collector.config):
        return
    if outcome.excinfo is not None:
        # A module that exits when it is imported; pytest would give up with an internal error.
        if isinstance(outcome.excinfo[1], SystemExit):
            _prover.collect_failed(collector, outcome.excinfo[1])  # type: ignore[union-attr]
            outcome.force_result(pytest.CollectReport(collector.nodeid, "failed", "", []))
        return
    report = outcome.get_result()
    call = getattr(report, "call", None)
    if report.failed and call is not None and call.excinfo is not None:
        _prover.collect_failed(collector, call.excinfo.value)  # type: ignore[union-attr]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: Any) -> Any:
    """Judge, or serve. Never returns where it is ours."""
    if _is_ours(session.config):
        _prover.collected(session)  # type: ignore[union-attr]


@pytest.hookimpl()
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    """Run a test without a word about it."""
    if _is_ours(item.config) and _prover.judge is not None:  # type: ignore[union-attr]
        return _prover.judge.protocol(item, nextitem)  # type: ignore[union-attr]
    return None


@pytest.hookimpl()
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Tell how a part of a test went."""
    if _is_ours(item.config) and _prover.judge is not None:  # type: ignore[union-attr]
        return _prover.judge.report(item, call)  # type: ignore[union-attr]
    return None


def pytest_runtest_logreport(report: Any) -> None:
    """Hear of subtests, and of tests that a plugin runs in its own way."""
    if _prover is not None and _prover.judge is not None:
        _prover.judge.hear(report)


def pytest_assertrepr_compare(config: Any, op: str, left: Any, right: Any) -> None:
    """See both sides of a comparison."""
    if _is_ours(config) and _prover.judge is not None:  # type: ignore[union-attr]
        _prover.judge.compare(op, left, right)  # type: ignore[union-attr]
