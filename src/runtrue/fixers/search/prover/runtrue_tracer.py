"""Tracers: which lines of the project run, on import and in each test.

They run inside the project's own Python: with `sys.monitoring` where it exists, else with
coverage.py's tracer if installed, else with a trace function.
"""

from __future__ import annotations  # any Python may be the project's

import importlib.machinery
import importlib.util
import os
import sys
import threading
from typing import Any

_INSTALLED = tuple(
    os.sep + name + os.sep
    for name in (".venv", "venv", "site-packages", "node_modules", "vendor", ".tox", ".nox")
)


class ProjectFolder:
    """The files that belong to the project."""

    def __init__(self, root: str) -> None:
        self._root = root + os.sep
        self._known: dict[str, str | None] = {}

    def file(self, name: str) -> str | None:
        """Return a file relative to the root; None where it is not the project's."""
        try:
            return self._known[name]
        except KeyError:
            pass
        found = None
        path = os.path.abspath(name) if not name.startswith("<") else ""
        if not path.startswith(self._root):
            path = os.path.realpath(path) if path else ""
        if path.startswith(self._root):
            inside = path[len(self._root) - 1 :]
            if not any(part in inside for part in _INSTALLED):
                found = inside[1:]
        self._known[name] = found
        return found


def tracer(scope: ProjectFolder, plainly: bool = False, spare: str = "") -> Any:
    """Return the best tracer here; with `plainly`, the one that never fails.

    `spare` is a folder with coverage.py's tracer, for a Python that has none.
    """
    if plainly:
        return LineTracer(scope)
    if hasattr(sys, "monitoring"):
        try:
            return MonitoringTracer(scope)
        except ValueError:  # all tool ids are taken
            return LineTracer(scope)
    try:
        return CoverageTracer(scope, spare)
    except Exception:  # not installed, or built in another way
        return LineTracer(scope)


class LineTracer:
    """Traces lines and calls with a trace function."""

    def __init__(self, scope: ProjectFolder) -> None:
        self._scope = scope
        self._lines: dict[str, set[int]] = {}
        self._locals: dict[Any, Any] = {}
        #: The functions that ran, as file, name and line.
        self.ran: set[Any] = set()

    def begin(self) -> None:
        """Start tracing."""
        self._lines = {}
        self._locals = {}
        threading.settrace(self._call)
        sys.settrace(self._call)

    def end(self) -> dict[str, set[int]]:
        """Stop tracing; return the lines that ran, by file."""
        sys.settrace(None)
        threading.settrace(None)
        return self._lines

    def _call(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        try:
            return self._locals[code]
        except KeyError:
            pass
        file = self._scope.file(code.co_filename)
        if file is None:
            self._locals[code] = None
            return None
        self.ran.add((code.co_filename, code.co_name, code.co_firstlineno))
        add = self._lines.setdefault(file, set()).add

        def line(frame: Any, event: str, arg: Any) -> Any:
            add(frame.f_lineno)
            return line

        self._locals[code] = line
        return line


class CoverageTracer:
    """Traces lines with the C tracer of coverage.py."""

    def __init__(self, scope: ProjectFolder, spare: str = "") -> None:
        module = _extension("coverage", "tracer", spare)
        self._scope = scope

        def should_trace(filename: str, frame: Any) -> Any:
            found = module.CFileDisposition()
            found.original_filename = found.canonical_filename = filename
            found.source_filename = filename
            found.trace = scope.file(filename) is not None
            found.reason = ""
            found.file_tracer = None
            found.has_dynamic_filename = False
            return found

        self._made: list[Any] = []
        self._class = module.CTracer
        self._should_trace = should_trace
        self._cache: dict[str, Any] = {}
        self._data: dict[str, Any] = {}
        self.begin()
        self.end()

    def begin(self) -> None:
        """Start tracing."""
        self._data = {}
        threading.settrace(self._in_thread)
        self._start()

    def _start(self) -> Any:
        made = self._class()
        made.data = self._data
        made.trace_arcs = False
        made.should_trace = self._should_trace
        made.should_trace_cache = self._cache
        made.warn = lambda *args, **more: None
        for name in ("concur_id_func", "should_start_context", "switch_context"):
            setattr(made, name, None)
        for name, value in (
            ("lock_data", lambda: None),
            ("unlock_data", lambda: None),
            ("disable_plugin", lambda *args: None),
            ("check_include", lambda *args: False),
            ("file_tracers", {}),
        ):
            try:
                setattr(made, name, value)
            except AttributeError:  # not in all versions
                continue
        self._made.append(made)
        return made.start()

    def _in_thread(self, frame: Any, event: str, arg: Any) -> Any:
        sys.settrace(None)
        follow = self._start()
        return follow(frame, event, arg) if follow else None

    def end(self) -> dict[str, set[int]]:
        """Stop tracing; return the lines that ran, by file."""
        threading.settrace(None)
        for made in self._made[:1]:
            made.stop()
        sys.settrace(None)
        self._made.clear()
        found: dict[str, set[int]] = {}
        for name, lines in list(self._data.items()):
            file = self._scope.file(name)
            if file is not None:
                found.setdefault(file, set()).update(int(line) for line in list(lines))
        return found


def _extension(package: str, name: str, spare: str) -> Any:
    """Load one C extension of a package without importing the package, which takes time."""
    loaded = sys.modules.get(package + "." + name)
    if loaded is not None:
        return loaded
    spec = importlib.util.find_spec(package)
    places = (spec.submodule_search_locations if spec is not None else None) or ()
    for place in (*places, *filter(None, [spare])):
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = os.path.join(place, name + suffix)
            if os.path.exists(path):
                full = package + "." + name
                loader = importlib.machinery.ExtensionFileLoader(full, path)
                found = importlib.util.spec_from_loader(full, loader)
                module = importlib.util.module_from_spec(found)  # type: ignore[arg-type]
                loader.exec_module(module)
                return module
    raise ImportError(package)


class MonitoringTracer:
    """Traces lines with `sys.monitoring`, each only once in a test."""

    def __init__(self, scope: ProjectFolder) -> None:
        self._scope = scope
        self._lines: dict[str, set[int]] = {}
        self.ran: set[Any] = set()
        monitoring: Any = getattr(sys, "monitoring")  # noqa: B009
        self._m = monitoring
        for tool in (3, 4, 5, 2, 0, 1):
            if monitoring.get_tool(tool) is None:
                self._tool = tool
                break
        else:
            raise ValueError
        monitoring.use_tool_id(self._tool, "runtrue")
        events = monitoring.events
        monitoring.register_callback(self._tool, events.LINE, self._line)
        monitoring.register_callback(self._tool, events.PY_START, self._start)

    def begin(self) -> None:
        """Start tracing."""
        self._lines = {}
        events = self._m.events
        self._m.set_events(self._tool, events.LINE | events.PY_START)
        self._m.restart_events()

    def end(self) -> dict[str, set[int]]:
        """Stop tracing; return the lines that ran, by file."""
        self._m.set_events(self._tool, 0)
        return self._lines

    def close(self) -> None:
        """Free the tool id."""
        self._m.free_tool_id(self._tool)

    def _line(self, code: Any, line: int) -> Any:
        file = self._scope.file(code.co_filename)
        if file is not None:
            self._lines.setdefault(file, set()).add(line)
        return self._m.DISABLE

    def _start(self, code: Any, offset: int) -> Any:
        if self._scope.file(code.co_filename) is not None:
            self.ran.add((code.co_filename, code.co_name, code.co_firstlineno))
        return self._m.DISABLE
