"""Evidence of a failure, while its frames still exist: values, keys, both sides.

It runs inside the project's own Python. Whatever the objects of a program do when they are
inspected, that ends, and is never the reason why a test fails.
"""

from __future__ import annotations  # any Python may be the project's

import ast
import linecache
import re
import signal
import sys
import types
from typing import Any

_LONGEST = 2000
_FRAMES, _VALUES, _NAMES = 20, 60, 200
_SECONDS = 0.5
_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_HOLDING = (list, tuple, set, frozenset, dict)


class _Enough(BaseException):
    """Inspecting took too long."""


def failure_of(test: str, error: BaseException, compared: Any, scope: Any) -> dict[str, Any]:
    """Return why a test fails, as data."""
    found: dict[str, Any] = {
        "test": test,
        "exception": type(error).__name__,
        "message": "",
        "frames": [],
        "timed_out": getattr(error, "runtrue_timed_out", False),
    }
    previous = signal.signal(signal.SIGALRM, _enough)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        _look(found, error, compared, scope)
    except BaseException:  # noqa: S110 - what was found by then is enough
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return found


def _enough(number: int, frame: Any) -> None:
    raise _Enough


def _look(found: dict[str, Any], error: BaseException, compared: Any, scope: Any) -> None:
    found["message"] = str(error)[:_LONGEST]
    doctest = _doctest(error)
    if doctest is not None:
        inner = _note_doctest(found, doctest, scope)
        if inner is None:
            return
        error = inner
        found["exception"], found["message"] = type(error).__name__, str(error)[:_LONGEST]
    frames = []
    entry = error.__traceback__
    last = None
    unittest = None
    while entry is not None:
        frame = entry.tb_frame
        last = frame, entry.tb_lineno
        file = scope.file(frame.f_code.co_filename)
        if file is not None:
            frames.append((frame, entry.tb_lineno, file))
            unittest = None  # only what the test itself called matters
        elif frame.f_globals.get("__name__") == "unittest.case" and unittest is None:
            unittest = frame
        entry = entry.tb_next
    # The lines first: they matter most, and inspecting values may take too long.
    found["frames"] = [
        {"file": file, "line": line, "function": frame.f_code.co_name, "values": {}}
        for frame, line, file in frames[-_FRAMES:]
    ]
    if isinstance(error, SyntaxError) and error.filename:
        file = scope.file(error.filename)
        if file is not None:
            place = {"file": file, "line": error.lineno or 1, "function": "<module>", "values": {}}
            found["frames"].append(place)
    if last is not None:
        _note_missing(found, error, *last)
    if isinstance(error, AssertionError):
        _note_sides(found, compared, unittest)
    for (frame, _, _), place in zip(reversed(frames[-_FRAMES:]), reversed(found["frames"])):
        if frame.f_code.co_name != "<module>":
            _note_locals(frame, place["values"])


def _note_locals(frame: Any, values: dict[str, Any]) -> None:
    for name, value in list(frame.f_locals.items())[:_VALUES]:
        if name.startswith("@"):  # pytest's own, of rewritten asserts
            continue
        values[name] = value_of(value)
        if name == "self":
            for inner, held in list(getattr(value, "__dict__", {}).items())[:_VALUES]:
                values["self." + inner] = value_of(held)


def value_of(value: Any, *, offers: bool = False) -> dict[str, Any]:
    """Return facts about a value. With `offers`, also the attributes of plain types."""
    found: dict[str, Any] = {"type": type(value).__name__}
    try:
        if _size(value) <= _LONGEST:
            text = repr(value)
            found["repr"] = text if len(text) <= _LONGEST else None
    except Exception:
        found["repr"] = None
    try:
        if isinstance(value, dict):
            keys = list(value)[:_NAMES]
            found["keys"] = [repr(key) for key in keys if _size(key) <= _NAMES]
        if offers or not isinstance(value, _PLAIN + _HOLDING):
            names = [name for name in dir(value) if not name.startswith("__")]
            found["attributes"] = names[:_NAMES]
    except Exception:  # noqa: S110 - then it is not known
        pass
    return found


def _size(value: Any, depth: int = 0) -> int:
    """Estimate the length of a value's representation without making it."""
    if isinstance(value, (str, bytes)):
        return len(value) + 2
    if isinstance(value, int):
        return value.bit_length() // 3 + 1
    if type(value) in _HOLDING:
        if len(value) > _LONGEST or depth > 20:
            return _LONGEST + 1
        total = 2
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        for part in parts:
            total += _size(part, depth + 1) + 2
            if total > _LONGEST:
                break
        return total
    if isinstance(value, types.ModuleType):
        return _LONGEST + 1
    return 1


# -- what was missing ----------------------------------------------------------------------------


def _note_missing(found: dict[str, Any], error: BaseException, frame: Any, line: int) -> None:
    message = str(error)
    if isinstance(error, AttributeError):
        name = getattr(error, "name", None) or _quoted(r"no attribute '(\w+)'", message)
        found["attribute"] = name
        holder = getattr(error, "obj", None)
        if holder is not None or "'NoneType'" in message:
            found["missing_from"] = value_of(holder, offers=True)
    elif isinstance(error, KeyError) and error.args:
        found["key"] = repr(error.args[0])[:_LONGEST]
        holder = _mapping(frame, line, error.args[0])
        if holder is not None:
            found["missing_from"] = value_of(holder)
    elif isinstance(error, NameError):
        named = getattr(error, "name", None)
        found["name"] = named or _quoted(r"(?:name|variable) '(\w+)'", message)
    elif isinstance(error, ModuleNotFoundError):
        found["name"] = error.name
    elif isinstance(error, ImportError):
        found["name"] = getattr(error, "name_from", None) or _quoted(
            r"cannot import name '(\w+)'", message
        )
        module = sys.modules.get(error.name or "")
        if module is not None:
            found["missing_from"] = value_of(module, offers=True)


def _quoted(pattern: str, message: str) -> str | None:
    match = re.search(pattern, message)
    return match.group(1) if match else None


def _mapping(frame: Any, line: int, key: Any) -> Any:
    """Return the mapping in which a line looked up a key, where that is known."""
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    tree = None
    for attempt in (text, text + "\n pass", "(" + text.rstrip(",") + ")", text.rstrip("([{,")):
        try:
            tree = ast.parse(attempt)
            break
        except SyntaxError:
            continue
    if tree is None:
        return None
    subscripts = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    # Of several on a line, prefer the one with this very key.
    subscripts.sort(key=lambda node: _resolve(node.slice, frame) != key)
    holders = [node.value for node in subscripts]
    holders += [
        node.func.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("pop", "remove", "move_to_end")
    ]
    for holder in holders:
        value = _resolve(holder, frame)
        if isinstance(value, dict) and key not in value:
            return value
    return None


def _resolve(node: Any, frame: Any) -> Any:
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Attribute):
        holder = _resolve(node.value, frame)
        return getattr(holder, "__dict__", {}).get(node.attr)
    if isinstance(node, ast.Subscript):
        holder, key = _resolve(node.value, frame), _resolve(node.slice, frame)
        if isinstance(holder, (dict, list, tuple)):
            try:
                return holder[key]
            except (LookupError, TypeError):
                return None
    return None


# -- the two sides of a comparison ---------------------------------------------------------------

_OPERATORS = {
    "assertEqual": "==",
    "assertNotEqual": "!=",
    "assertIs": "is",
    "assertIsNot": "is not",
    "assertIn": "in",
    "assertNotIn": "not in",
    "assertLess": "<",
    "assertLessEqual": "<=",
    "assertGreater": ">",
    "assertGreaterEqual": ">=",
}


def _note_sides(found: dict[str, Any], compared: Any, unittest: Any) -> None:
    if unittest is not None:
        values = unittest.f_locals
        for one, other in (
            ("first", "second"),
            ("list1", "list2"),
            ("d1", "d2"),
            ("expr1", "expr2"),
            ("member", "container"),
            ("a", "b"),
        ):
            if one in values and other in values:
                found["actual"], found["expected"] = value_of(values[one]), value_of(values[other])
                found["operator"] = _OPERATORS.get(unittest.f_code.co_name, "==")
                return
        if "expr" in values:
            found["actual"] = value_of(values["expr"])
            found["expected"] = value_of(unittest.f_code.co_name != "assertFalse")
            found["operator"] = "is"
    elif compared is not None:
        operator, left, right = compared
        found["actual"], found["expected"] = value_of(left), value_of(right)
        found["operator"] = operator


def _doctest(error: BaseException) -> Any:
    failures = getattr(error, "failures", None)
    if type(error).__name__ == "MultipleDoctestFailures" and failures:
        return failures[0]
    return error if hasattr(error, "example") and hasattr(error, "test") else None


def _note_doctest(found: dict[str, Any], failure: Any, scope: Any) -> BaseException | None:
    """Note what a doctest has shown; return its exception, if any."""
    file = scope.file(failure.test.filename or "<none>")
    line = (failure.test.lineno or 0) + failure.example.lineno + 1
    place = {"file": file, "line": line, "function": failure.test.name, "values": {}}
    found["frames"] = [place] if file is not None else []
    if hasattr(failure, "exc_info"):
        error: BaseException = failure.exc_info[1]
        return error
    found["message"] = "expected %r, got %r" % (failure.example.want, failure.got)
    found["exception"] = "AssertionError"
    for side, text in (("expected", failure.example.want), ("actual", failure.got)):
        found[side] = {"type": _type_of(text.strip()), "repr": text.strip()[:_LONGEST]}
    found["operator"] = "=="
    return None


def _type_of(text: str) -> str:
    try:
        return type(ast.literal_eval(text)).__name__
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return "object"
