"""Redaction: workflows and values as a model may see them, and secrets put back into its answer."""

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
        ids = (one for one in old if isinstance(one, dict) and one.get("id") == entry["id"])
        return next(ids, None)
    return old[at] if at < len(old) else None
