"""Redaction: workflows and values as a model may see them, and secrets put back into its answer.

`structure` shows large data as paths with types and a little of each value.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from runtrue.models import fence
from runtrue.workflow import REDACTED, Path, opened, redact_by_name

#: A reference or a path names a secret and is none; a word such as `Bearer` may come before it.
_NO_SECRET = re.compile(r"(?:\w+ )?\$\{[^{}]*\}|\$[.\[]\S*")
_LIMIT = 20_000


def fenced(value: Any, *, limit: int = _LIMIT) -> str:
    """Return values as fenced JSON, with secrets redacted by their names."""
    return as_json(redact_by_name(value), limit=limit)


def fenced_workflow(workflow: Mapping[str, Any]) -> str:
    """Return a workflow as fenced JSON, with secrets redacted."""
    return as_json(redact_workflow(workflow), limit=_LIMIT)


def as_json(value: Any, *, limit: int = _LIMIT) -> str:
    """Return data as fenced JSON, as it is."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
    except RecursionError:
        text = "(nested too deeply to be fenced)"
    return fence(text, limit=limit)


def redact_workflow(workflow: Mapping[str, Any]) -> dict[str, Any]:
    """Redact the secrets of a workflow. References to them, and declarations, stay."""
    seen = {}
    for key, part in workflow.items():
        if key == "inputs" and isinstance(part, dict):
            seen[key] = redact_defaults(part)
        else:
            # The name of an output says nothing of its source.
            seen[key] = part if key == "outputs" else _with_references(part, redact_by_name(part))
    return seen


def redact_defaults(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Redact declared inputs: if the name is that of a secret, only the default is one."""
    seen = dict(inputs)
    for name, spec in inputs.items():
        if isinstance(spec, dict) and "default" in spec:
            seen[name] = {**spec, "default": redact_by_name({name: spec["default"]})[name]}
    return seen


def restored(answer: Any, before: Any) -> Any:
    """Return a model's workflow with the redacted values put back where they were."""
    if answer == REDACTED:
        return REDACTED if isinstance(before, dict | list) or before is None else before
    if isinstance(answer, dict):
        old = before if isinstance(before, dict) else {}
        return {key: restored(inner, old.get(key)) for key, inner in answer.items()}
    if isinstance(answer, list):
        return [restored(inner, _same(inner, at, before)) for at, inner in enumerate(answer)]
    return answer


def _with_references(value: Any, redacted: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_references(inner, redacted[key]) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_references(*pair) for pair in zip(value, redacted, strict=True)]
    return value if isinstance(value, str) and _NO_SECRET.fullmatch(value) else redacted


def _same(entry: Any, at: int, before: Any) -> Any:
    """Return the entry of a list that another one replaces: nodes by id, others by position."""
    old = before if isinstance(before, list) else []
    if isinstance(entry, dict) and "id" in entry:
        old = [one for one in old if isinstance(one, dict) and one.get("id") == entry["id"]]
        at = 0
    return old[at] if at < len(old) else None


# -- structure -------------------------------------------------------------------------------------

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
            within = _within(here, secret)
            waiting.extend(((*steps, step), inner, off) for step, inner, off in within)


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
