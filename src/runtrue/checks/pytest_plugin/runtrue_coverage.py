"""What runtrue_report needs to measure coverage: coverage.py, started as early as can be.

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
#: Where a project's own directory holds the code of others.
_INSTALLED = (".venv", "venv", "node_modules", "vendor", ".git", ".tox", ".nox")


def begin(tell: Callable[[dict[str, Any]], None] | None) -> Measuring | None:
    """Begin to measure, where this is the process that is to: not in a pytest that a test runs.

    `tell` writes a line of the report; a worker of pytest-xdist has none.
    """
    wanted = json.loads(os.environ.pop(_VARIABLE))
    starter = wanted.get("starter")
    if starter is not None and (
        starter != os.getppid() or os.environ.get("PYTEST_XDIST_WORKER") is None
    ):
        return None
    measuring = Measuring(wanted, tell, is_worker=starter is not None)
    measuring.start()
    return measuring


class Measuring:
    """The measuring of one process, and a plugin that ends it."""

    def __init__(
        self,
        wanted: dict[str, Any],
        tell: Callable[[dict[str, Any]], None] | None,
        *,
        is_worker: bool,
    ) -> None:
        self._wanted = wanted
        self._tell = tell
        self._is_worker = is_worker
        # Paths in the report are seen from here, wherever a test may go.
        self._directory = str(Path.cwd())
        self._reports = Path(wanted["reports"])
        self._report = self._reports / "coverage.json"
        self._coverage: Any = None
        self._is_ours = True
        self._why_not: str | None = None
        if not is_worker:
            self._tell_workers()

    def _tell_workers(self, **more: Any) -> None:
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
        """coverage.py, the project's own or the one lent."""
        spec = importlib.util.find_spec("coverage")
        # A directory of this name, which reports lie in, would be imported as an empty package.
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
        """The project's own settings, for what it does not want to be counted."""
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
            self._tell_workers(gave_way=True)
            # By kind; one without a name asks for none, and where nothing is asked there is this.
            asked = dict(options.cov_report or {"term": None})
            asked.pop("", None)
            options.cov_report = {**asked, "json": str(self._report)}

    def _fail(self, error: BaseException) -> None:
        self._coverage = None
        what = f"{type(error).__name__}: {error}"
        self._why_not = f"coverage.py cannot be used here ({what}): install it beside pytest"

    def pytest_collection_finish(self, session: Any) -> None:
        """Tell of every test where it is and what it is marked with; of several workers, one."""
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
            # The process that started it tells of them, in the end.
            session.config.workeroutput["runtrue_told"] = lines
        elif self._tell is not None:
            for line in lines:
                self._tell(line)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Keep what was measured; put it together where all workers are done."""
        if self._coverage is not None:
            with _silence():
                try:
                    self._finish()
                except Exception as error:  # what the tests say stands without it
                    self._fail(error)
        if not self._is_worker and self._tell is not None:
            why_not = self._why_not
            self._tell({"event": "coverage", "directory": self._directory, "why_not": why_not})

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
    """What coverage.py warns of is not the project's business, whose filters may make it errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
