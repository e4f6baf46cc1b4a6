"""A pytest plugin that says what a file's functions give, on the tests' inputs and varied ones.

Loaded into the tests of a project with `-p probe`, so it uses the standard library alone. It writes
a JSON object: for each call, described by its function and arguments, what came of it.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

FILE = os.path.realpath(os.environ["PROBE_FILE"])
OUTPUT = Path(os.environ["PROBE_OUTPUT"])
CALLS_OF_EACH, SECONDS = 25, 20.0

recorded: dict[str, dict[str, tuple[Any, ...]]] = {}


def pytest_collection_finish() -> None:
    sys.setprofile(_profile)


def pytest_unconfigure() -> None:
    sys.setprofile(None)
    OUTPUT.write_text(json.dumps(dict(_replay())))


def _profile(frame: FrameType, event: str, _: object) -> None:
    code = frame.f_code
    if event != "call" or code.co_filename != FILE or "<" in code.co_qualname:
        return
    calls = recorded.setdefault(code.co_qualname, {})
    if len(calls) >= CALLS_OF_EACH or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if code.co_kwonlyargcount:
        return
    with _quiet():
        arguments = copy.deepcopy(tuple(frame.f_locals[name] for name in names))
        calls.setdefault(_text(arguments), arguments)


def _replay() -> Iterator[tuple[str, str]]:
    end = time.monotonic() + SECONDS
    modules = [m for m in list(sys.modules.values()) if _is_probed(m)]
    for qualname in sorted(recorded):
        function = _function(modules, qualname)
        if function is None:
            continue
        for arguments in itertools.islice(_varied(recorded[qualname].values()), 150):
            if time.monotonic() > end:
                return
            with _quiet():
                mine = copy.deepcopy(arguments)
                yield f"{qualname}{_text(mine)}", _result(function, mine)


def _is_probed(module: Any) -> bool:
    return os.path.realpath(str(getattr(module, "__file__", ""))) == FILE


def _function(modules: list[Any], qualname: str) -> Any:
    for module in modules:
        found: Any = module
        with contextlib.suppress(AttributeError):
            for name in qualname.split("."):
                found = inspect.getattr_static(found, name)
            if isinstance(found, staticmethod | classmethod):
                found = found.__func__
            if isinstance(found, property):
                found = found.fget
            return inspect.unwrap(found) if callable(found) else None
    return None


def _result(function: Any, arguments: tuple[Any, ...]) -> str:
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        given = function(*arguments)
        if inspect.isgenerator(given):
            given = list(itertools.islice(given, 50))
        return f"{_text(given)} leaves {_text(arguments)}"
    except Exception as error:  # whatever it raises is its result
        return f"raises {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _too_long(*_: object) -> None:
    raise TimeoutError


def _varied(calls: Any) -> Iterator[tuple[Any, ...]]:
    calls = list(calls)
    yield from calls
    for arguments in calls:
        for n, value in enumerate(arguments):
            for other in _neighbours(value):
                yield (*arguments[:n], other, *arguments[n + 1 :])


def _neighbours(value: Any) -> list[Any]:
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value - 1, -value, 0]
        case str() | bytes() | list() | tuple():
            return [value[:-1], value[1:], value * 2, value[:0], value[::-1]]
        case dict():
            return [dict(list(value.items())[:-1]), {}]
        case None:
            return [0, "", []]
    return []


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(_text(one) for one in value) + ")"
    text = repr(value)
    if re.search(r" at 0x[0-9a-f]+>", text) and hasattr(value, "__dict__"):
        text = f"{type(value).__name__}{vars(value)!r}"
    return re.sub(r" at 0x[0-9a-f]+", "", text)[:2000]


def _quiet() -> Any:
    return contextlib.suppress(Exception, RecursionError)
