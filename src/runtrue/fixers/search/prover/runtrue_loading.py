"""How a candidate gets into a process: as the text of its modules, or as the code of functions.

It runs inside the project's own Python. Nothing of a candidate is written to the disk here.
"""

from __future__ import annotations  # any Python may be the project's

import ast
import gc
import importlib.machinery
import inspect
import marshal
import os
import sys
import types
from typing import Any

#: The text of files, by path, that stand for what is on the disk.
texts: dict[str, str] = {}
#: The code of files that are as they were, by path; that of modules whose asserts are rewritten
#: by themselves.
plain: dict[str, Any] = {}
rewritten: dict[str, Any] = {}
_root = [""]
#: What some editors write at the beginning of a file.
_MARK = "\ufeff"


def install(root: str) -> None:
    """Have modules below `root` loaded from `texts`, or from what was kept of their code."""
    from _pytest.assertion import rewrite as rewriting

    rewrite: Any = rewriting
    _root[0] = root + os.sep
    loader: Any = importlib.machinery.SourceFileLoader
    get_code, get_data = loader.get_code, loader.get_data
    rewrite_test, read_pyc = rewrite._rewrite_test, rewrite._read_pyc

    def loaded(self: Any, fullname: str) -> Any:
        path = self.path
        if path in texts:
            return code_of(texts[path], path)
        if path in plain:
            return plain[path]
        code = get_code(self, fullname)
        if path.startswith(_root[0]):
            plain[path] = code
        return code

    def data(self: Any, path: str) -> bytes:
        return texts[path].encode() if path in texts else get_data(self, path)

    def kept(source: Any, *args: Any, **more: Any) -> Any:
        path = str(source)
        if path in texts:
            return None
        if path in rewritten:
            return rewritten[path]
        code = read_pyc(source, *args, **more)
        if code is not None:
            rewritten[path] = code
        return code

    def made(source: Any, config: Any) -> Any:
        path = str(source)
        if path not in texts:
            state, code = rewrite_test(source, config)
            rewritten[path] = code
            return state, code
        tree = ast.parse(texts[path].lstrip(_MARK), filename=path)
        rewrite.rewrite_asserts(tree, texts[path].encode(), path, config)
        return None, compile(tree, path, "exec", dont_inherit=True)

    loader.get_code, loader.get_data = loaded, data
    rewrite._read_pyc, rewrite._rewrite_test = kept, made


def code_of(text: str, path: str) -> Any:
    """The code of a module; what it says of its encoding counts only for bytes."""
    return compile(text.lstrip(_MARK), path, "exec", dont_inherit=True)


def keep() -> dict[str, bytes]:
    """The code that was loaded, and the modules that are not the project's, for another process."""
    outside = [
        name
        for name, module in list(sys.modules.items())
        if not _is_inside(module) and name != "__main__" and not name.startswith("runtrue_")
    ]
    return {
        "plain": marshal.dumps(plain),
        "rewritten": marshal.dumps(rewritten),
        "modules": marshal.dumps(outside),
    }


def take(kept: dict[str, bytes]) -> None:
    """Have at hand what another process has loaded."""
    plain.update(marshal.loads(kept["plain"]))  # noqa: S302
    rewritten.update(marshal.loads(kept["rewritten"]))  # noqa: S302
    for name in marshal.loads(kept["modules"]):  # noqa: S302
        if name in sys.modules or name.startswith(("conftest", "_pytest", "py.")):
            continue
        parent = name.rpartition(".")[0]
        if parent and parent not in sys.modules:
            continue
        try:
            spec = importlib.util.find_spec(name)
            # Only what is surely not the project's: to import that is what children are for.
            if spec is None or not spec.origin or spec.origin.startswith(_root[0]):
                continue
            __import__(name)
        except BaseException:  # whatever it is, the children will see it themselves
            continue


def _is_inside(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        installed = os.sep + "site-packages" + os.sep in file
        return file.startswith(_root[0]) and not installed
    paths = getattr(module, "__path__", None)
    try:
        return any(str(path).startswith(_root[0]) for path in paths or ())
    except Exception:
        return True


class Live:
    """The functions that are in memory, found once, and how to give them other code."""

    def __init__(self, ran: set[Any]) -> None:
        #: The functions that ran on import, as file, name and line.
        self._ran = ran
        self._found: dict[Any, list[Any]] = {}
        self._modules = {
            module.__file__: module
            for module in list(sys.modules.values())
            if isinstance(getattr(module, "__file__", None), str)
        }
        for thing in gc.get_objects():
            if type(thing) is types.FunctionType:
                code = thing.__code__
                if code.co_filename.startswith(_root[0]):
                    self._found.setdefault(mark_of(code), []).append(thing)
        self._old: dict[str, Any] = {}

    def old(self, path: str) -> Any:
        """The code of a module as it is, made from its text as a candidate's is."""
        if path not in self._old:
            with open(path, "rb") as file:
                self._old[path] = compile(file.read(), path, "exec", dont_inherit=True)
        return self._old[path]

    def patch(self, path: str, text: str) -> str | None:
        """Give the functions of a file the code of another text; why not, where it cannot be."""
        module = self._modules.get(path)
        if module is None:
            return "it is not imported"
        if path in rewritten:
            return "its asserts are rewritten"
        new = code_of(text, path)
        changes: list[tuple[Any, Any]] = []
        why = _differences(self.old(path), new, changes)
        if why is not None:
            return why
        todo = []
        for before, after in changes:
            mark = mark_of(before)
            if mark in self._ran:
                return "%s ran on import" % before.co_name
            functions = [f for f in self._found.get(mark, ()) if _same_code(f.__code__, before)]
            if not functions:
                return "%s is not to be found" % before.co_name
            todo += [(function, after) for function in functions]
        for function, after in todo:
            function.__code__ = after
        return None


def mark_of(code: Any) -> Any:
    """What a function's code is known by."""
    return code.co_filename, code.co_name, code.co_firstlineno


def _differences(old: Any, new: Any, changes: list[tuple[Any, Any]]) -> str | None:
    """Collect the functions in which two modules, or class bodies, differ; or what else differs."""
    if not _same_but_constants(old, new):
        return "more than functions differ"
    for before, after in zip(old.co_consts, new.co_consts):
        if not isinstance(before, types.CodeType) or not isinstance(after, types.CodeType):
            if not _same_constant(before, after) and not _is_line(before, after, old, new):
                return "more than functions differ"
        elif _same_code(before, after):
            continue
        elif before.co_name != after.co_name:
            return "more than functions differ"
        elif before.co_flags & inspect.CO_OPTIMIZED == 0:
            why = _differences(before, after, changes)
            if why is not None:
                return why
        elif before.co_name.startswith("<") and before.co_name != "<lambda>":
            return "what runs on import differs"
        elif before.co_freevars != after.co_freevars or _signature(before) != _signature(after):
            return "a function has other arguments"
        else:
            changes.append((before, after))
    return None


def _signature(code: Any) -> Any:
    count = code.co_argcount + code.co_kwonlyargcount
    stars = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    count += bool(stars & inspect.CO_VARARGS) + bool(stars & inspect.CO_VARKEYWORDS)
    arguments = code.co_varnames[:count]
    kinds = code.co_flags & (
        inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    )
    return arguments, code.co_argcount, code.co_posonlyargcount, stars, kinds


def _is_line(before: Any, after: Any, old: Any, new: Any) -> bool:
    """Whether two constants are only the line that a class begins at, which classes know."""
    return (before, after) == (old.co_firstlineno, new.co_firstlineno) and (
        "__firstlineno__" in old.co_names
    )


def _same_but_constants(old: Any, new: Any) -> bool:
    return (
        old.co_code == new.co_code
        and old.co_names == new.co_names
        and old.co_varnames == new.co_varnames
        and old.co_freevars == new.co_freevars
        and old.co_cellvars == new.co_cellvars
        and old.co_flags == new.co_flags
        and old.co_argcount == new.co_argcount
        and old.co_kwonlyargcount == new.co_kwonlyargcount
        and old.co_posonlyargcount == new.co_posonlyargcount
        and getattr(old, "co_exceptiontable", b"") == getattr(new, "co_exceptiontable", b"")
        and len(old.co_consts) == len(new.co_consts)
    )


def _same_code(old: Any, new: Any) -> bool:
    """Whether two functions do the same, wherever they are written."""
    return _same_but_constants(old, new) and all(
        _same_code(before, after)
        if isinstance(before, types.CodeType) and isinstance(after, types.CodeType)
        else _same_constant(before, after) or _is_line(before, after, old, new)
        for before, after in zip(old.co_consts, new.co_consts)
    )


def _same_constant(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one is other or repr(one) == repr(other))
