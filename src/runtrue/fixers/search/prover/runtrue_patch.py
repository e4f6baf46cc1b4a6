"""Patch a candidate into a process that has imported it: functions get other code.

It runs inside the project's own Python.
"""

from __future__ import annotations  # any Python may be the project's
import __future__

import ast
import gc
import importlib.util
import inspect
import sys
import types
from typing import Any

_loader: Any = sys.modules["runtrue_loader"]


#: What two functions have in common that only differ in constants.
_COMPARED = (
    *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags"),
    *("co_argcount", "co_kwonlyargcount", "co_posonlyargcount", "co_exceptiontable"),
)


class Live:
    """The functions in memory, found once, to give them other code."""

    def __init__(self, root: str, ran: set[Any]) -> None:
        #: The functions that ran on import, as file, name and line.
        self._ran = ran
        self._found: dict[Any, list[Any]] = {}
        self._originals: dict[str, Original] = {}
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and _loader.is_inside(module):
                try:  # now: later, a candidate may be in its place
                    self._originals[path] = Original(path)
                except OSError:
                    continue
        gc.unfreeze()  # else what was frozen in the server is not found
        for thing in gc.get_objects():
            if type(thing) is types.FunctionType:
                code = thing.__code__
                if code.co_filename.startswith(root):
                    self._found.setdefault(mark_of(code), []).append(thing)

    def prepare(self, texts: dict[str, str]) -> None:
        """Compile what candidates are compared with, once for all copies of this process."""
        for path, text in texts.items():
            if path in self._originals:
                self._originals[path].prepare(text)

    def patch(self, path: str, text: str) -> str | None:
        """Give the functions of a file the code of another text; return why not, if so."""
        if path not in self._originals:
            return "it is not imported"
        changes: list[tuple[Any, Any]] = []
        why = _differences(*self._originals[path].beside(text), changes)
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


class Original:
    """A module as it was imported: its text, and its code, as a whole and in pieces.

    A piece is a module-level function or class that compiles to the same by itself, after a line
    with the names that the module imports: the compiler asks whether a name is one of these.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with open(path, "rb") as file:
            self._data = file.read()
        self._text = ""
        self._flags = 0
        self._imports = ""
        #: The start, end and first line of each piece, once they are known.
        self._pieces: list[tuple[int, int, int]] | None = None
        #: The code of pieces by their start, and of the whole by None.
        self._codes: dict[int | None, Any] = {}

    def prepare(self, text: str) -> None:
        """Compile the code that another text will be compared with."""
        try:
            if self._pieces is None:
                self._find_pieces()
            self._code(self._piece_of(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # copies will see it themselves

    def beside(self, text: str) -> tuple[Any, Any]:
        """Return the old and new code of what differs in another text: one piece, or the whole."""
        piece = self._piece_of(text)
        if piece is not None:
            begin, end, line = piece
            changed = text[begin : len(text) - (len(self._text) - end)]
            try:
                return self._code(piece), self._compile(changed, line)
            except SyntaxError:
                pass  # the whole gives the better message
        return self._code(None), _loader.code_of(text, self._path)

    def _find_pieces(self) -> None:
        self._pieces = []
        text = importlib.util.decode_source(self._data)
        tree = ast.parse(text)
        begins = [0]
        for line in text.split("\n"):
            begins.append(begins[-1] + len(line) + 1)
        begins[-1] -= 1
        self._text = text
        self._imports = _imports_of(tree)
        whole = functions_of(self._code(None))
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for name in node.names:
                    self._flags |= getattr(__future__, name.name).compiler_flag
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                last: Any = node.end_lineno
                piece = begins[first - 1], begins[last], first
                alone = functions_of(self._code(piece)) if first > 1 else {}
                if alone and all(_same_code(whole[at], alone[at]) for at in alone):
                    self._pieces.append(piece)

    def _piece_of(self, text: str) -> tuple[int, int, int] | None:
        """Return the only piece in which another text differs."""
        if not self._pieces or "\r" in text:
            return None
        low, high = 0, len(self._pieces)
        while low < high:
            middle = (low + high) // 2
            if text.startswith(self._text[: self._pieces[middle][0]]):
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return None
        piece = self._pieces[low - 1]
        rest = self._text[piece[1] :]
        fits = len(text) >= piece[0] + len(rest) and text.endswith(rest)
        return piece if fits else None

    def _code(self, piece: tuple[int, int, int] | None) -> Any:
        key = None if piece is None else piece[0]
        if key not in self._codes:
            if piece is None:
                code = compile(self._data, self._path, "exec", dont_inherit=True)
            else:
                code = self._compile(self._text[piece[0] : piece[1]], piece[2])
            self._codes[key] = code
        return self._codes[key]

    def _compile(self, piece: str, line: int) -> Any:
        text = self._imports + "\n" * (line - 1) + piece
        return compile(text, self._path, "exec", flags=self._flags, dont_inherit=True)


def functions_of(code: Any) -> dict[Any, Any]:
    """Return the code of the module-level functions and classes."""
    found = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return {(one.co_name, one.co_firstlineno): one for one in found}


def _imports_of(tree: ast.Module) -> str:
    """Return a line that imports the names that a module imports on its top level."""
    names: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {one.asname or one.name.partition(".")[0] for one in node.names}
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            todo += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr)]
    return (
        "import " + ", ".join(sorted("%s as %s" % (n, n) for n in names - {"*"})) if names else ""
    )


def mark_of(code: Any) -> Any:
    """Return what a function's code is recognised by."""
    return code.co_filename, code.co_name, code.co_firstlineno


def _differences(old: Any, new: Any, changes: list[tuple[Any, Any]]) -> str | None:
    """Collect the functions in which two modules or classes differ; return what else differs."""
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
    """Return whether two constants are only the line at which a class begins."""
    return (before, after) == (old.co_firstlineno, new.co_firstlineno) and (
        "__firstlineno__" in old.co_names
    )


def _same_but_constants(old: Any, new: Any) -> bool:
    return len(old.co_consts) == len(new.co_consts) and all(
        getattr(old, name, b"") == getattr(new, name, b"") for name in _COMPARED
    )


def _same_code(old: Any, new: Any) -> bool:
    """Return whether two functions do the same, whatever their lines."""
    return _same_but_constants(old, new) and all(
        _same_code(before, after)
        if isinstance(before, types.CodeType) and isinstance(after, types.CodeType)
        else _same_constant(before, after) or _is_line(before, after, old, new)
        for before, after in zip(old.co_consts, new.co_consts)
    )


def _same_constant(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one is other or repr(one) == repr(other))
