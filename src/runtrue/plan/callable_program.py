"""The other side of a `callable` validation: calls the function and writes down what it says.

It is run as a script, by itself, and imports nothing of runtrue. It reads `{"name", "directory",
"places"}` as JSON from its standard input; its argument names the file for the answer, which is
`{"passed", "message", "data"}`, or `{"trouble": …}` where the function could not be asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

GROUP = "runtrue.validations"
MOST_FRAMES = 20
_WANTED = "a validation returns `passed` (true or false), `message` (text) and `data` (a table)"


class Trouble(Exception):
    """Why the function could not be asked, or what is wrong with what it returned."""

    def __init__(self, category: str, message: str, available: list[str] | None = None) -> None:
        super().__init__(message)
        self.category = category
        self.available = available or []


def find(name: str) -> Callable[[Path], object]:
    """The function of that name: an entry point's, or `module:function`."""
    module, colon, path = name.partition(":")
    function: Callable[[Path], object]
    function = _in_module(module, path) if colon else _by_entry_point(name)
    if not callable(function):
        raise Trouble("not_runnable", f"{name} is {_a(function)}, not a function")
    return function


def _by_entry_point(name: str) -> Any:
    found = entry_points(group=GROUP)
    # What is installed comes before what lies in the candidate.
    entry = next((entry for entry in found if entry.name == name), None)
    if entry is None:
        names = sorted({entry.name for entry in found})
        message = (
            f"there is no entry point {name!r} in the group {GROUP}: install what has it beside "
            "runtrue, or name a function as `module:function`"
        )
        raise Trouble("not_runnable", message, names)
    return entry.load()


def _in_module(module: str, path: str) -> Any:
    try:
        value: Any = import_module(module)
    except ModuleNotFoundError as error:
        # Not one that the module itself asks for in vain.
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise Trouble("not_runnable", f"there is no module {error.name!r}") from None
        raise
    for part in path.split("."):
        if not hasattr(value, part):
            message = f"the module {module!r} has no function {path!r}"
            raise Trouble("not_runnable", message, _functions(value))
        value = getattr(value, part)
    return value


def _functions(holder: object) -> list[str]:
    members = vars(holder).items() if hasattr(holder, "__dict__") else ()
    return sorted(name for name, value in members if callable(value) and name[:1] != "_")


def result_of(returned: object) -> dict[str, Any]:
    """Return what a function returned, a mapping or an object with attributes, as the answer."""
    if isinstance(returned, Mapping):
        found = {key: returned.get(key) for key in ("passed", "message", "data")}
    else:
        found = {key: getattr(returned, key, None) for key in ("passed", "message", "data")}
    passed, message, data = found.values()
    if not isinstance(passed, bool):
        what = f"`passed` is {_a(passed)}" if passed is not None else f"it is {_a(returned)}"
        raise Trouble("wrong_result", f"its return value is not an answer: {what}; {_WANTED}")
    if not isinstance(message, str | None):
        raise Trouble("wrong_result", f"`message` is {_a(message)}; {_WANTED}")
    if not isinstance(data, Mapping | None):
        raise Trouble("wrong_result", f"`data` is {_a(data)}; {_WANTED}")
    return {"passed": passed, "message": message or "", "data": dict(data or {})}


def _a(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def encode(answer: dict[str, Any]) -> bytes:
    """An answer as JSON, in which paths are text."""
    try:
        return json.dumps(answer, allow_nan=False, ensure_ascii=False, default=os.fspath).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Trouble("wrong_result", f"its return value is not JSON: {error}") from None


def ask(name: str, directory: str, places: list[str]) -> bytes:
    """Call the function, and tell what came of it.

    What is installed is found before what lies in `places`, the candidate's, so that no candidate
    can stand in for what judges it; unless the function itself is the project's. What it imports
    when it is called is the candidate's.
    """
    installed = list(sys.path)
    is_own = ":" in name and any(_holds(place, name) for place in places)
    sys.path[:] = [*places, *installed] if is_own else [*installed, *places]
    try:
        function = find(name)
        sys.path[:] = [*places, *installed]
        return encode(result_of(function(Path(directory))))
    except Trouble as trouble:
        answer = {
            "category": trouble.category,
            "message": str(trouble),
            "available": trouble.available,
        }
    except BaseException as error:
        answer = _explain(error)
    return encode({"trouble": answer})


def _holds(place: str, name: str) -> bool:
    top = name.partition(":")[0].partition(".")[0]
    return Path(place, top).is_dir() or Path(place, f"{top}.py").is_file()


def _explain(error: BaseException) -> dict[str, Any]:
    message = ""
    with contextlib.suppress(Exception):
        message = str(error)
    frames = traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:]
    answer = {
        "category": type(error).__name__,
        "message": f"it raised {type(error).__name__}" + (f": {message}" if message else ""),
        "mro": [cls.__name__ for cls in type(error).__mro__],
        "errno": error.errno if isinstance(error, OSError) else None,
        "sample": "".join(traceback.format_list(frames)),
    }
    return {key: _text(value) if isinstance(value, str) else value for key, value in answer.items()}


def _text(text: str) -> str:
    return text.encode(errors="replace").decode()


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin.buffer)
    place = Path(sys.argv.pop())
    place.write_bytes(ask(**request))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Threads that the function left running are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
