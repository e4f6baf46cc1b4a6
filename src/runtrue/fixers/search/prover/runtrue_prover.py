"""A pytest plugin that turns the user's own test run into a server that tries candidates.

It runs inside the project's own Python, where runtrue is not installed, so it imports nothing but
pytest and the standard library. Before anything of the project is imported, the process stops and
serves: a copy that goes on is pytest on a candidate, whatever the candidate changes. One copy goes
on without a candidate, until the session has started, and serves candidates whose files are not
imported yet. A copy of that goes on until all tests are collected, and serves from there: its
copies only get other code for some functions.
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
    """Load a module beside this one from its file: its name may be one of the project's."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[name] = module
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


class _Prover:
    """The state of this process and, in a copy, the request."""

    def __init__(self, settings: Any) -> None:
        _load("runtrue_watch")
        self.settings = settings
        self.server_module = _load("runtrue_server")
        self.evidence = _load("runtrue_evidence")
        self.tracer_module = _load("runtrue_tracer")
        self.loader = _load("runtrue_loader")
        self.patch_module = _load("runtrue_patch")
        self.trial_module = _load("runtrue_trial")
        self.behaviour = _load("runtrue_behaviour")
        self.scope = self.tracer_module.ProjectFolder(settings["root"])
        self.trial: Any = None
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
        import unittest.case  # noqa: F401 - to be in the snapshot

        sys.settrace(None)
        # After our own modules are loaded, which may be compiled once.
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        self.config = config
        _quiet(config.known_args_namespace)
        self.loader.install(self.settings["root"])
        self.snapshot = self.trial_module.Snapshot()
        server = self.server_module.Server(self.settings, "fresh")
        server.taken = self._take
        server.hello({"pytest": pytest.__version__, "python": list(sys.version_info[:3])})
        child = server.serve()
        if child is not None:
            self._become(child)
            return
        self.collecting = True
        self.began = time.perf_counter()
        if hasattr(sys, "monitoring"):
            self.importing = self.tracer_module.tracer(self.scope)
        if self.importing is None or not hasattr(self.importing, "ran"):
            self.importing = self.tracer_module.LineTracer(self.scope)
        self.importing.begin()

    def _become(self, child: Any) -> None:
        """In a copy: load the candidate instead of what is on the disk."""
        self.collecting = False
        for path, text in child.request["texts"].items():
            self.loader.texts[path] = text
        self.trial = self.trial_module.TrialRunner(child, self.scope, self.snapshot)
        self._check_texts()

    def conftests_loaded(self) -> None:
        """Note that pytest starts now, unless something of the project can take part."""
        if self.collecting and not self.loader.plain and not self.loader.rewritten:
            self._add_imported()

    def serve_started(self) -> None:
        """Stop before tests are collected, and serve. Returns in copies, and goes on."""
        if not self.collecting:
            return
        self._add_imported()
        spent = time.perf_counter() - self.began
        server = self.server_module.Server(self.settings, "started")
        server.taken = self._take
        loaded = [*self.loader.plain, *self.loader.rewritten]
        server.hello({"loaded": [self.scope.file(path) for path in loaded]})
        child = server.serve()
        if child is not None:
            _capture_apart(self.config)
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
            self.loader.take(marshal.load(file))  # noqa: S302 - we wrote it

    def _check_texts(self) -> None:
        """Leave if a candidate does not compile: it need not be run."""
        for path, text in self.trial.child.request["texts"].items():
            try:
                self.loader.code_of(text, path)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                self.trial.child.leave({"end": "failed", "fixed": [], "detail": _text_of(error)})

    def conftest_failed(self, error: BaseException) -> None:
        """Report a conftest.py that cannot be imported, so that no test can be run."""
        cause = getattr(error, "cause", None)
        if cause is None:  # before pytest 8 the wrapper held the exception otherwise
            held = getattr(error, "excinfo", None)
            cause = held[1] if held else error
        path = str(getattr(error, "path", "conftest.py"))
        test = self.scope.file(path) or path
        if self.trial is not None:
            self.trial.collect_failed(test, _text_of(cause))
            return
        if self.collecting:
            self._broke(test, path, cause)
            server = self.server_module.Server(self.settings, "collected")
            server.hello(self._collected([], alone=True))
            os._exit(0)

    # -- while tests are collected ----------------------------------------------------------------

    def _broke(self, test: str, path: str, error: BaseException) -> None:
        failure = self.evidence.failure_of(test, error, None, self.scope)
        self.broken.append({"id": test, "file": self.scope.file(path), "failure": failure})

    def collect_failed(self, collector: Any, error: BaseException) -> None:
        """Report a module of tests that cannot be imported."""
        if isinstance(error, pytest.Collector.CollectError):
            # The cause is what failed to import; the wrapper says nothing more.
            error = error.__cause__ or error.__context__ or error
        if self.trial is not None:
            self.trial.collect_failed(collector.nodeid, _text_of(error))
        elif self.collecting:
            path = getattr(collector, "path", None) or collector.fspath
            self._broke(collector.nodeid, str(path), error)

    def collected(self, session: Any) -> None:
        """Run the collected tests, or stop here, and serve. Never returns."""
        if self.trial is None:
            self._serve_collected(session)
        child = self.trial.child
        given = getattr(session.config, "_tmp_path_factory", None)
        if given is not None:
            given._given_basetemp = type(session.config.rootpath)(child.directory, "pytest")
        what = child.request["do"]
        try:
            if what == "run":
                trace = child.request["trace"]
                spare = self.settings["tracer"]
                tracer = (
                    self.tracer_module.tracer(self.scope, trace == "plainly", spare)
                    if trace
                    else None
                )
                self.trial.run_baseline(session, tracer)
            elif what == "behave":
                self.behaviour.behave(session, self)
            else:
                self.trial.run_candidate(self.tests or self.trial_module.CollectedTests(session))
        except BaseException as error:  # it must not get back into pytest
            at = child.slot.read()[3]
            child.leave({"end": "died", "at": at, "detail": _text_of(error)})
        os._exit(1)

    def _serve_collected(self, session: Any) -> None:
        self._add_imported()
        if hasattr(self.importing, "close"):
            self.importing.close()
        self.collecting = False
        self._keep()
        server = self.server_module.Server(self.settings, "collected")
        hello = self._collected(session.items)
        hello["imported"] = {file: sorted(lines) for file, lines in self.imported.items()}
        server.hello(hello)
        self.live = self.patch_module.Live(self.settings["root"] + os.sep, self.importing.ran)
        server.prepare = self.live.prepare
        self.tests = self.trial_module.CollectedTests(session)
        for item in session.items:
            _ = item.location  # found once, here
        child: Any = server.serve()
        self.trial = self.trial_module.TrialRunner(child, self.scope, self.snapshot)
        _capture_apart(session.config)
        if child.request["do"] == "try":
            self.patch(child)

    def patch(self, child: Any) -> None:
        """Give functions the code of the candidate, or leave."""
        for path, text in child.request["texts"].items():
            try:
                why = self.live.patch(path, text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                child.leave({"end": "failed", "fixed": [], "detail": _text_of(error)})
            if why is not None:
                child.leave({"end": "fresh", "detail": why})

    def _keep(self) -> None:
        import marshal

        with open(self.settings["kept"] + ".new", "wb") as file:
            marshal.dump(self.loader.keep(), file)
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


def _text_of(error: BaseException) -> str:
    return ("%s: %s" % (type(error).__name__, error))[:500]


def _quiet(options: Any) -> None:
    """Switch off measuring, distributing, shuffling, time limits, stopping early and asking."""
    for name, value in (
        ("cov_source", []),
        ("no_cov", True),
        ("numprocesses", None),
        ("dist", "no"),
        ("tx", []),
        ("randomly_reorganize", False),
        ("random_order_bucket", "none"),
        ("timeout", 0),
        ("maxfail", 0),
        ("usepdb", False),
        ("trace", False),
        ("collectonly", False),
    ):
        if hasattr(options, name):
            setattr(options, name, value)


def _capture_apart(config: Any) -> None:
    """Capture output in a file of this process's own, not in one of all copies."""
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


_prover: Any = _Prover(json.loads(_SETTINGS)) if _SETTINGS else None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: Any, parser: Any, args: Any
) -> Generator[None, Any, None]:
    """Serve, before anything of the project is imported."""
    ours = _prover is not None and _prover.config is None
    if ours:
        _prover.serve_fresh(early_config)
    outcome = yield
    if ours and outcome.excinfo is None:
        _prover.conftests_loaded()
    error = outcome.excinfo[1] if ours and outcome.excinfo is not None else None
    if error is not None and not isinstance(error, pytest.UsageError):
        _prover.conftest_failed(error)


def _is_ours(config: Any) -> bool:
    return _prover is not None and _prover.config is config


def _trial_of(config: Any) -> Any:
    return _prover.trial if _is_ours(config) else None


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
        _prover.serve_started()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_make_collect_report(collector: Any) -> Generator[None, Any, None]:
    """Report what cannot be collected."""
    outcome = yield
    if not _is_ours(collector.config):
        return
    if outcome.excinfo is not None:
        # A module that exits when it is imported; pytest would give up with an internal error.
        if isinstance(outcome.excinfo[1], SystemExit):
            _prover.collect_failed(collector, outcome.excinfo[1])
            outcome.force_result(pytest.CollectReport(collector.nodeid, "failed", "", []))
        return
    report = outcome.get_result()
    call = getattr(report, "call", None)
    if report.failed and call is not None and call.excinfo is not None:
        _prover.collect_failed(collector, call.excinfo.value)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: Any) -> Any:
    """Run the tests, or serve. Never returns where it is ours."""
    if _is_ours(session.config):
        _prover.collected(session)


@pytest.hookimpl()
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    """Run a test without any output about it."""
    trial = _trial_of(item.config)
    return None if trial is None else trial.protocol(item, nextitem)


@pytest.hookimpl()
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Report the outcome of a phase of a test."""
    trial = _trial_of(item.config)
    return None if trial is None else trial.report(item, call)


def pytest_runtest_logreport(report: Any) -> None:
    """Note subtests, and tests that a plugin runs in its own way."""
    if _prover is not None and _prover.trial is not None:
        _prover.trial.note_report(report)


def pytest_assertrepr_compare(config: Any, op: str, left: Any, right: Any) -> None:
    """Note both sides of a comparison."""
    trial = _trial_of(config)
    if trial is not None:
        trial.compare(op, left, right)
