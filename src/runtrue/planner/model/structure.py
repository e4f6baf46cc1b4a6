"""Structure: what really came back, as paths with types and a little of each value.

However large the data is, only so much of it is read: the top first, of lists the first entries.
What has the name of a secret is not shown.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from runtrue.workflow import REDACTED, Path, opened, redact_by_name

_MOST_PATHS, _MOST_NAMES, _MOST_ENTRIES, _DEEPEST = 200, 60, 2, 10
_LONGEST_TEXT, _LONGEST_PATH = 80, 200
#: Text that holds JSON is entered, as paths do: so many characters of it in all.
_OPENED = 10_000_000


def structure(value: Any, root: str = "$") -> str:
    """List the paths within a value, one a line; `root` is what each begins with."""
    lines = list(islice(_lines(value, root), _MOST_PATHS + 1))
    if len(lines) > _MOST_PATHS:
        lines[-1] = "… and more"
    return "\n".join(lines)


def _lines(value: Any, root: str) -> Iterator[str]:
    waiting: deque[tuple[tuple[str | int, ...], Any, bool]] = deque([((), value, False)])
    budget = _OPENED
    while waiting:
        steps, here, secret = waiting.popleft()
        path = root + str(Path(steps))[1:]
        if len(path) > _LONGEST_PATH:
            continue
        if isinstance(here, str) and not secret and len(here) <= budget:
            inner = opened(here)
            budget -= len(here) if inner is not here else 0
            here = inner
        yield f"{path} ({_type(here)}){_shown(here, secret)}"
        if len(steps) < _DEEPEST:
            waiting.extend(
                ((*steps, step), inner, off) for step, inner, off in _within(here, secret)
            )


def _within(value: Any, secret: bool) -> Iterator[tuple[str | int, Any, bool]]:
    if isinstance(value, Mapping):
        few = {str(name): inner for name, inner in islice(value.items(), _MOST_NAMES)}
        # Only whether a name is that of a secret matters: large values are not copied.
        marks = {name: _mark(inner) for name, inner in few.items()}
        redacted = redact_by_name(marks)
        for name, inner in few.items():
            yield name, inner, secret or redacted[name] != marks[name]
    elif isinstance(value, list | tuple):
        yield from ((at, inner, secret) for at, inner in enumerate(value[:_MOST_ENTRIES]))


def _mark(value: Any) -> Any:
    """Return a small stand-in of the same type for a value, to check its name with."""
    if isinstance(value, Mapping | list | tuple):
        return "…"
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


def _type(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"object, {len(value)} keys"
    if isinstance(value, list | tuple):
        return f"list of {len(value)}"
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return names.get(type(value), "other")


def _shown(value: Any, secret: bool) -> str:
    if isinstance(value, Mapping | list | tuple) or value is None:
        return ""
    if secret and not isinstance(value, bool):
        return f": {REDACTED}"
    if isinstance(value, str):
        cut = "…" if len(value) > _LONGEST_TEXT else ""
        return f": {json.dumps(value[:_LONGEST_TEXT] + cut, ensure_ascii=False)}"
    return f": {json.dumps(value, default=str)[:_LONGEST_TEXT]}"
