"""Notice when a program changes its judges: functions of pytest, its hooks, assertions.

It runs inside the project's own Python, as a part of runtrue_report. It reports what was replaced
by what, and where that comes from; the reader of the report decides whether that is allowed. A
program can do anything to the process that it runs in: this is a net for what is usually tried.
"""

from __future__ import annotations  # any Python may be the project's

import builtins
import functools
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pluggy

#: Modules whose functions decide how a test ends, or what is reported of it.
_DECIDING = (
    *("_pytest.assertion", "_pytest.assertion.rewrite", "_pytest.assertion.util"),
    *("_pytest.main", "_pytest.nodes", "_pytest.outcomes", "_pytest.python", "_pytest.python_api"),
    *("_pytest.raises", "_pytest.reports", "_pytest.runner", "_pytest.skipping"),
    *("_pytest.unittest", "_pytest.doctest", "_pytest.subtests"),
    *("unittest.case", "unittest.suite", "unittest.result", "doctest"),
)
#: The builtins that tests, and pytest, decide with.
_BUILTINS = (
    *("AssertionError", "BaseException", "Exception", "SystemExit", "KeyboardInterrupt"),
    *("compile", "exec", "isinstance", "issubclass", "getattr", "hasattr", "all", "any", "len"),
    *("bool", "abs", "type", "__build_class__"),
)
#: The functions that are checked after every test, by module.
_OFTEN = frozenset(
    {
        *("_pytest.runner.runtestprotocol", "_pytest.runner.call_and_report"),
        *("_pytest.runner.call_runtest_hook", "_pytest.runner.CallInfo.from_call"),
        *("_pytest.runner.pytest_runtest_call", "_pytest.runner.pytest_runtest_makereport"),
        *("_pytest.python.Function.runtest", "_pytest.python.pytest_pyfunc_call"),
        *("_pytest.reports.TestReport.from_item_and_call", "_pytest.reports.TestReport.__init__"),
        *("_pytest.skipping.pytest_runtest_makereport", "_pytest.skipping.evaluate_xfail_marks"),
        "_pytest.unittest.TestCaseFunction.runtest",
        "_pytest.unittest.TestCaseFunction.addError",
        *("_pytest.unittest.TestCaseFunction.addFailure", "the call of hooks"),
        *("pluggy._hooks.HookCaller.__call__", "pluggy._manager.PluginManager._hookexec"),
        *("unittest.case.TestCase.run", "unittest.case.TestCase.fail"),
        *("unittest.case.TestCase.assertEqual", "unittest.case.TestCase.assertTrue"),
        *("builtins.AssertionError", "builtins.isinstance", "builtins.exec", "builtins.compile"),
    }
)
_INSTALLED = frozenset({".venv", "venv", "site-packages"})
#: Where code that is not the project's is installed, and this.
_INSTALLED_IN = (
    "<",
    *{str(Path(place).resolve()) + os.sep for place in (sys.prefix, sys.base_prefix)},
    *{place + os.sep for place in (sys.prefix, sys.base_prefix, str(Path(__file__).parent))},
    str(Path(pluggy.__file__).parent.parent) + os.sep,
)
_HOLDERS = (classmethod, staticmethod)


class Guard:
    """The judges as they were when this was made, compared with what they are later."""

    def __init__(self) -> None:
        self._entries = [*_entries()]
        self._often = [entry for entry in self._entries if entry[0] in _OFTEN]
        self._reported: set[str] = set()
        self._trusted: set[Any] = set()
        self._registrars: dict[int, tuple[Any, str, int]] = {}
        self._hooks: dict[int, tuple[Any, Any]] = {}
        self._manager: Any = None
        #: The plugins by name, and how many there were when they were last looked at.
        self._names: Any = ()
        self._plugins = 0

    def know_module(self, name: str) -> None:
        """Add a module that has been imported since, such as the one that reports."""
        self._entries += _entries_of(name)

    def know_manager(self, manager: Any) -> None:
        """Add the manager with its plugins, before it has loaded any of the project's."""
        key = "_inner_hookexec"
        values = vars(manager)
        if key in values:
            entry = ("the call of hooks", values, key, values[key], None)
            self._entries.append(entry)
            self._often.append(entry)
        self._manager = manager
        self._hooks = {id(impl): (impl, impl.function) for impl in _hooks(manager)}
        self._names = values.get("_name2plugin", ())
        self._plugins = len(self._names)

    def know_plugin(self, plugin: Any) -> None:
        """Note who registered a plugin; pytest itself registers those in settings and tests.

        Modules of these may change what they like: they are a part of the judge.
        """
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_INSTALLED_IN):
            frame = frame.f_back
        file = getattr(plugin, "__file__", None)
        if frame is not None:
            self._registrars[id(plugin)] = plugin, frame.f_code.co_filename, frame.f_lineno
        elif isinstance(plugin, types.ModuleType) and not str(file).endswith("conftest.py"):
            self._trusted.add(file)

    def glance(self) -> list[dict[str, Any]]:
        """Return the changes since the last test to what is changed most."""
        found = [*self._changed(self._often)]
        if len(self._names) != self._plugins:
            self._plugins = len(self._names)
            found += self._changed_hooks()
        return found

    def look(self) -> list[dict[str, Any]]:
        """Return all changes."""
        return [*self._changed(self._entries), *self._changed_hooks()]

    def _changed(self, entries: list[Any]) -> Iterator[dict[str, Any]]:
        for name, holder, key, value, code in entries:
            present = holder.get(key)
            if present is value and (code is None or _function(value).__code__ is code):
                continue
            yield from self._new(name, _origin(present))

    def _changed_hooks(self) -> Iterator[dict[str, Any]]:
        if self._manager is None:
            return
        for impl in _hooks(self._manager):
            known = self._hooks.get(id(impl))
            if known is not None and known[0] is impl and known[1] is impl.function:
                continue
            self._hooks[id(impl)] = (impl, impl.function)
            name = str(getattr(impl.function, "__name__", "a hook"))
            origin = _origin(impl.function)
            plugin, file, line = self._registrars.get(id(impl.plugin), (None, "", 0))
            if known is None and plugin is impl.plugin:
                origin = {"files": [file], "line": line}
            yield from self._new("the hook " + name, origin)

    def _new(self, name: str, origin: dict[str, Any]) -> Iterator[dict[str, Any]]:
        found = {"what": name, **origin}
        files = origin["files"]
        if str(found) in self._reported or (files and self._trusted.issuperset(files)):
            return
        self._reported.add(str(found))
        yield found


def _entries() -> Iterator[tuple[str, Any, str, Any, Any]]:
    """Yield the name, holder, key in it, value and code of all that decides."""
    names = vars(builtins)
    for key in _BUILTINS:
        yield "builtins." + key, names, key, names.get(key), None
    inner = [name for name in sys.modules if name.startswith("pluggy.")]
    for module_name in (*_DECIDING, *inner):
        if module_name in sys.modules:
            yield from _entries_of(module_name)


def _entries_of(module_name: str) -> Iterator[tuple[str, Any, str, Any, Any]]:
    names = vars(sys.modules[module_name])
    for key, value in list(names.items()):
        if getattr(value, "__module__", None) != module_name:
            continue
        name = module_name + "." + key
        if isinstance(value, types.FunctionType):
            yield name, names, key, value, value.__code__
        elif isinstance(value, type):
            for part_name, part in list(vars(value).items()):
                function = _function(part)
                if isinstance(function, types.FunctionType):
                    whole = name + "." + part_name
                    yield whole, vars(value), part_name, part, function.__code__


def _function(value: Any) -> Any:
    if isinstance(value, _HOLDERS):
        return value.__func__
    return value.fget if isinstance(value, property) else value


def _hooks(manager: Any) -> Iterator[Any]:
    for name, caller in list(vars(manager.hook).items()):
        if name.startswith("pytest_") and hasattr(caller, "get_hookimpls"):
            yield from caller.get_hookimpls()


def _origin(value: Any) -> dict[str, Any]:
    """Return the files that something comes from, as far as known, and the line in the first."""
    function: Any = _function(value)
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if isinstance(function, types.FunctionType):
        code = function.__code__
        files = [code.co_filename, function.__globals__.get("__file__")]
        line = code.co_firstlineno
    else:
        owner = function if isinstance(function, type) else type(function)
        module = sys.modules.get(getattr(owner, "__module__", None) or "")
        files, line = [getattr(module, "__file__", None)], None
    return {"files": [str(f) for f in files if f and not str(f).startswith("<")], "line": line}


def ignore_byte_code(directory: str) -> None:
    """Have tests compiled from their source: byte code beside them could be anybody's.

    Only in the project in `directory`: what is installed is not the candidate's to change.
    """
    rewrite: Any = sys.modules.get("_pytest.assertion.rewrite")
    read = getattr(rewrite, "_read_pyc", None)
    if read is None:  # another version of pytest, with other names
        return
    top = Path(directory).resolve()

    @functools.wraps(read)
    def read_pyc(source: Any, *args: Any, **options: Any) -> Any:
        file = Path(str(source)).resolve()
        is_own = top in file.parents and _INSTALLED.isdisjoint(file.parts)
        return None if is_own else read(source, *args, **options)

    rewrite._read_pyc = read_pyc
