"""The other side of the `python` node: runs a function body and writes its outcome to a file.

It is run as a script, by itself, and imports nothing of runtrue. It reads `{"code", "inputs"}` as
JSON from its standard input; its argument names the file for the answer, which is one of
`{"result", "action"}`, `{"flaw": {"path", "problem"}}` and `{"error": …}`.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
import os
import sys
import traceback
import types
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FILE = "<code>"
MODULE = "workflow_code"
DEEPEST = 100
MOST_BITS = 2048
MOST_FRAMES = 20

#: What to do about values that JSON cannot hold, by the names of their classes.
_HINTS = {
    **{"bytes": "use .decode()", "set": "use sorted()", "frozenset": "use sorted()"},
    **{"date": "use .isoformat()", "time": "use .isoformat()", "PurePath": "use str()"},
    **{"timedelta": "use .total_seconds()", "Decimal": "use float() or str()"},
    **{"generator": "use list()", "ndarray": "use .tolist()"},
}


class Route:
    """An action, and the result that goes with it."""

    def __init__(self, action: str, value: object) -> None:
        self.action = action
        self.value = value


def route(action: object, value: object = None) -> Route:
    """Return this to leave the node by `action` instead of `default`."""
    if not isinstance(action, str) or not action:
        raise TypeError(f"an action is text that is not empty, not {action!r}")
    return Route(action, value)


class Flaw(Exception):
    """A part of a result that JSON cannot hold."""

    def __init__(self, path: tuple[object, ...], problem: str) -> None:
        self.path = "$" + "".join(map(_spell, path[:DEEPEST]))
        self.problem = problem
        super().__init__(f"{self.path} {problem}")


def _spell(step: object) -> str:
    return f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]"


def compile_body(code: str, names: Iterable[str]) -> types.CodeType:
    """Compile a function body whose parameters are `names`; raises SyntaxError and ValueError.

    The lines stay what they are in `code`, since nothing is put around its text.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statements = ast.parse(code, FILE).body
        module = ast.parse("def body(): pass")
        (function,) = module.body
        assert isinstance(function, ast.FunctionDef)  # noqa: S101  # what the line above says
        function.args.kwonlyargs = [ast.arg(name, lineno=1, col_offset=0) for name in names]
        function.args.kw_defaults = [None for _ in function.args.kwonlyargs]
        function.body = statements or function.body
        return compile(module, FILE, "exec")


def as_json(value: Any, path: tuple[object, ...] = ()) -> Any:
    """Return a value as plain JSON data, with lists for tuples. Raises Flaw."""
    if len(path) > DEEPEST:
        raise Flaw(path, f"is nested more than {DEEPEST} levels deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > MOST_BITS:
            raise Flaw(path, "is too large a number")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Flaw(path, f"is {float(value)}, which JSON cannot hold")
        return float(value)
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, dict):
        return {_key(key, path): as_json(inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner, (*path, at)) for at, inner in enumerate(value)]
    name = type(value).__name__
    article = "an" if name[:1].lower() in "aeiou" else "a"
    hints = [_HINTS[cls.__name__] for cls in type(value).__mro__ if cls.__name__ in _HINTS]
    raise Flaw(path, f"is {article} {name}" + "".join(f"; {hint}" for hint in hints[:1]))


def _text(text: str, path: tuple[object, ...]) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Flaw(path, "contains half of a surrogate pair, which is not valid text") from None
    return str.__str__(text)


def _key(key: object, path: tuple[object, ...]) -> str:
    if not isinstance(key, str):
        raise Flaw(path, f"has the key {key!r}, which is not text; use str()")
    return _text(key, path)


def explain(error: BaseException, code: str) -> dict[str, Any]:
    """Describe an exception: its class, its message, and where in the code it was raised."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == FILE]
    lines = code.splitlines()
    line = frames[-1].lineno if frames else None
    message = ""
    with contextlib.suppress(Exception):
        message = str(error)
    if isinstance(error, SyntaxError) and error.filename == FILE:
        line, message = error.lineno, error.msg

    def source(number: int | None) -> str:
        return lines[number - 1].strip() if number and number <= len(lines) else ""

    return {
        "type": type(error).__name__,
        "mro": [cls.__name__ for cls in type(error).__mro__],
        "errno": error.errno if isinstance(error, OSError) else None,
        "message": message.encode(errors="replace").decode(),
        "exit": isinstance(error, SystemExit),
        "line": line,
        "source": source(line) or None,
        "traceback": [
            f"line {f.lineno}, in {f.name}: {source(f.lineno)}" for f in frames[-MOST_FRAMES:]
        ],
    }


def answer(code: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Run the code, and return its outcome."""
    # A module that can be found: some of the standard library looks classes up by theirs.
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    space = module.__dict__
    space["route"] = route
    try:
        exec(compile_body(code, inputs), space)  # noqa: S102  # what this is for
        result = space["body"](**inputs)
        routed = result if isinstance(result, Route) else Route("default", result)
        return {"result": as_json(routed.value), "action": routed.action}
    except Flaw as flaw:
        return {"flaw": {"path": flaw.path, "problem": flaw.problem}}
    except BaseException as error:
        return {"error": explain(error, code)}


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin.buffer)
    file = Path(sys.argv.pop())
    text = json.dumps(answer(request["code"], request["inputs"]))
    file.write_text(text, encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Threads that the code left running are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
