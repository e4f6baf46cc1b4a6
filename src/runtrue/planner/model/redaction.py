"""Redaction: workflows and values as a model may see them, and what it gives back made whole."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from runtrue.models import fence
from runtrue.workflow import REDACTED, redact_by_name

#: A reference or a path names a secret and is none; a word such as `Bearer` may come before it.
_NO_SECRET = re.compile(r"(?:\w+ )?\$\{[^{}]*\}|\$[.\[]\S*")
_LIMIT = 20_000


def shown(value: Any, *, limit: int = _LIMIT) -> str:
    """Values as JSON in a fence, without what stands under the names of secrets."""
    return as_json(redact_by_name(value), limit=limit)


def shown_workflow(workflow: Mapping[str, Any]) -> str:
    """A workflow in the same way."""
    return as_json(hidden(workflow), limit=_LIMIT)


def as_json(value: Any, *, limit: int = _LIMIT) -> str:
    """Data as JSON in a fence, as it is."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
    except RecursionError:
        text = "(nested too deeply to be shown)"
    return fence(text, limit=limit)


def hidden(workflow: Mapping[str, Any]) -> dict[str, Any]:
    """The workflow with `[redacted]` for secrets. References to them, and declarations, stay."""
    seen = {}
    for key, part in workflow.items():
        if key == "inputs" and isinstance(part, dict):
            seen[key] = declared(part)
        else:
            # What an output is called says nothing of where it comes from.
            seen[key] = part if key == "outputs" else _referring(part, redact_by_name(part))
    return seen


def declared(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Declared inputs: of one whose name is that of a secret, only the default is one."""
    seen = dict(inputs)
    for name, spec in inputs.items():
        if isinstance(spec, dict) and "default" in spec:
            seen[name] = {**spec, "default": redact_by_name({name: spec["default"]})[name]}
    return seen


def restored(answer: Any, before: Any) -> Any:
    """A workflow that a model gave, with what was hidden from it put back where it stood."""
    if answer == REDACTED:
        return REDACTED if isinstance(before, dict | list) or before is None else before
    if isinstance(answer, dict):
        old = before if isinstance(before, dict) else {}
        return {key: restored(inner, old.get(key)) for key, inner in answer.items()}
    if isinstance(answer, list):
        return [restored(inner, _same(inner, at, before)) for at, inner in enumerate(answer)]
    return answer


def _referring(value: Any, redacted: Any) -> Any:
    if isinstance(value, dict):
        return {key: _referring(inner, redacted[key]) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_referring(*pair) for pair in zip(value, redacted, strict=True)]
    return value if isinstance(value, str) and _NO_SECRET.fullmatch(value) else redacted


def _same(entry: Any, at: int, before: Any) -> Any:
    """The entry of a list that another one stands for: nodes by their ids, others by place."""
    old = before if isinstance(before, list) else []
    if isinstance(entry, dict) and "id" in entry:
        ids = (one for one in old if isinstance(one, dict) and one.get("id") == entry["id"])
        return next(ids, None)
    return old[at] if at < len(old) else None
