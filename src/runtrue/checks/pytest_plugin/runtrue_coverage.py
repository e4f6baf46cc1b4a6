"""Measure coverage for runtrue_report: coverage.py, started as early as possible.

It runs inside the project's own Python, like runtrue_report. coverage.py is the project's own where
it has one, else the copy that runtrue lends. Under pytest-xdist each worker measures for itself,
and the process that started them puts all of it together. A project that has pytest-cov at work
keeps it: one coverage.py in a process is enough, so that pytest-cov is made to write the report.
"""

from __future__ import annotations  # any Python may be the project's

import contextlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

_VARIABLE = "RUNTRUE_COVERAGE"
_FIRST_WORKER = "gw0"
#: Directories of a project that hold the code of others.
_INSTALLED = (".venv", "venv", "node_modules", "vendor", ".git", ".tox", ".nox")


def begin(write: Callable[[dict[str, Any]], None] | None) -> Measurement | None:
    """Begin to measure, unless this is a pytest that a test runs.

    `write` writes a line of the report; a worker of pytest-xdist has none.
    """
    wanted = json.loads(os.environ.pop(_VARIABLE))
    starter = wanted.get("starter")
    if starter is not None and (
        starter != os.getppid() or os.environ.get("PYTEST_XDIST_WORKER") is None
    ):
        return None
    measurement = Measurement(wanted, write, is_worker=starter is not None)
    measurement.start()
    return measurement


class Measurement:
    """The coverage of one process, measured until the session finishes."""

    def __init__(
        self,
        wanted: dict[str, Any],
        write: Callable[[dict[str, Any]], None] | None,
        *,
        is_worker: bool,
    ) -> None:
        self._wanted = wanted
        self._write = write
        self._is_worker = is_worker
        # Paths in the report are seen from here, wherever a test may go.
        self._directory = str(Path.cwd())
        self._reports = Path(wanted["reports"])
        self._report = self._reports / "coverage.json"
        self._coverage: Any = None
        self._is_ours = True
        self._why_not: str | None = None
        if not is_worker:
            self._set_for_workers()

    def _set_for_workers(self, **more: Any) -> None:
        self._wanted.update(more, starter=os.getpid())
        os.environ[_VARIABLE] = json.dumps(self._wanted)

    def start(self) -> None:
        """Watch all that is imported and run from now on."""
        if self._wanted.get("gave_way"):
            return
        with _silence():
            try:
                module = self._module()
                running = module.Coverage.current()
                self._is_ours = running is None
                self._coverage = running or self._new(module, data_suffix=True)
                if self._is_ours:
                    self._coverage.start()
            except Exception as error:  # a candidate's run must not depend on its being measured
                self._fail(error)

    def _module(self) -> Any:
        """Import coverage.py, the project's own or the one lent."""
        spec = importlib.util.find_spec("coverage")
        # A directory of this name, with reports, would be imported as an empty package.
        if spec is not None and spec.origin is not None:
            import coverage

            return coverage
        lent = self._wanted["lent"]
        spec = importlib.util.spec_from_file_location(
            "coverage", str(Path(lent, "__init__.py")), submodule_search_locations=[lent]
        )
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        sys.modules["coverage"] = module
        try:
            spec.loader.exec_module(module)  # type: ignore[union-attr]
        except BaseException as error:
            for name in [n for n in sys.modules if n.partition(".")[0] == "coverage"]:
                del sys.modules[name]
            version = ".".join(map(str, sys.version_info[:2]))
            message = f"the one that runtrue lends does not run on Python {version}"
            raise ImportError(message) from error
        return module

    def _new(self, module: Any, **how: Any) -> Any:
        source = self._wanted["source"]
        theirs = self._theirs(module)
        omitted = [f"{source}/{at}{name}/*" for name in _INSTALLED for at in ("", "*/")]
        new = module.Coverage(
            data_file=str(self._reports / "data"),
            config_file=False,
            source=[source],
            omit=[*omitted, *(theirs.get_option("run:omit") or [] if theirs else [])],
            branch=False,
            **how,
        )
        # Also files that no test has imported, whether their directories are packages or not.
        new.set_option("report:include_namespace_packages", True)
        new.set_option("report:ignore_errors", True)
        if theirs is not None:
            new.set_option("report:exclude_lines", theirs.get_option("report:exclude_lines"))
        return new

    @staticmethod
    def _theirs(module: Any) -> Any:
        """Read the project's own settings, for what it does not want to be counted."""
        try:
            return module.Coverage(data_file=None, config_file=True)
        except Exception:  # its settings may be for another version, or for plugins of its own
            return None

    def give_way(self, options: Any) -> None:
        """Leave it to pytest-cov, where that is going to measure, and have it report."""
        if not getattr(options, "cov_source", None) or getattr(options, "no_cov", False):
            return
        if self._is_ours and self._coverage is not None:
            self._coverage.stop()
        self._coverage, self._why_not = None, None
        if not self._is_worker:
            self._set_for_workers(gave_way=True)
            # By format; an empty name asks for none, and by default there is this one.
            asked = dict(options.cov_report or {"term": None})
            asked.pop("", None)
            options.cov_report = {**asked, "json": str(self._report)}

    def _fail(self, error: BaseException) -> None:
        self._coverage = None
        what = f"{type(error).__name__}: {error}"
        self._why_not = f"coverage.py cannot be used here ({what}): install it beside pytest"

    def pytest_collection_finish(self, session: Any) -> None:
        """Write the location and markers of every test; of several workers, one does."""
        workerinput = getattr(session.config, "workerinput", None)
        if workerinput is not None and workerinput.get("workerid") != _FIRST_WORKER:
            return
        lines = [
            {
                "event": "item",
                "id": item.nodeid,
                "file": str(getattr(item, "path", None) or item.fspath),
                "line": None if item.location[1] is None else item.location[1] + 1,
                "markers": list(dict.fromkeys(mark.name for mark in item.iter_markers())),
            }
            for item in session.items
        ]
        if workerinput is not None:
            # The process that started it writes them in the end.
            session.config.workeroutput["runtrue_items"] = lines
        elif self._write is not None:
            for line in lines:
                self._write(line)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Save the measurement; combine those of all workers when they are done."""
        if self._coverage is not None:
            with _silence():
                try:
                    self._finish()
                except Exception as error:  # the verdict does not depend on it
                    self._fail(error)
        if not self._is_worker and self._write is not None:
            why_not = self._why_not
            self._write({"event": "coverage", "directory": self._directory, "why_not": why_not})

    def _finish(self) -> None:
        if not self._is_ours:
            self._coverage.json_report(outfile=str(self._report))
            return
        self._coverage.stop()
        self._coverage.save()
        self._coverage.get_data().close()
        if self._is_worker:
            return
        whole = self._new(sys.modules["coverage"])
        whole.combine([str(self._reports)])
        whole.json_report(outfile=str(self._report))
        whole.get_data().close()


@contextlib.contextmanager
def _silence() -> Generator[None, None, None]:
    """Ignore coverage.py's warnings, which the project's filters might turn into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
