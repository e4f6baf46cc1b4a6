"""Describe a plan: what a workflow does, as one plain sentence. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from runtrue.workflow import redact_by_name

_LONGEST = 60
_OPERATORS = {
    **{"==": "is", "!=": "is not", ">": "is more than", "<": "is less than"},
    **{">=": "is at least", "<=": "is at most", "in": "is one of", "contains": "contains"},
    **{"starts_with": "starts with", "ends_with": "ends with"},
    **{"empty": "is empty", "not_empty": "is not empty"},
}
#: The same of dates.
_OF_DATES = {">": "is after", "<": "is before", ">=": "is from", "<=": "is until"}
_PLACES = ("first", "second", "third", "fourth", "fifth")
_CALCULATIONS = {"max": "find the highest", "min": "find the lowest", "sum": "add up"}


def describe_plan(workflow: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return what a workflow does, step by step, in one sentence."""
    shown = redact_by_name(dict(params))
    nodes = [node for node in workflow.get("nodes", ()) if isinstance(node, dict)]
    sentence = ", ".join(filter(None, (_step(node, shown) for node in nodes)))
    outputs = workflow.get("outputs")
    results = outputs if isinstance(outputs, dict) else {}
    names = ", ".join(results)
    return f"{sentence}; give {names}" if names and sentence else sentence


def _step(node: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    params = node.get("params")
    params = params if isinstance(params, dict) else {}
    match node.get("type"):
        case "http":
            method = params.get("method") or "GET"
            step = f"{method} {_filled(params.get('url', ''), inputs)}"
        case "filter":
            step = f"keep those where {_condition(params, inputs)}"
        case "sort":
            order = ", in descending order" if params.get("descending") else ""
            step = f"sort by {_path(params.get('by'))}{order}"
        case "take":
            step = _taken(params)
        case "pick":
            fields = params.get("fields")
            paths = map(_path, fields.values()) if isinstance(fields, dict) else ()
            step = f"take {_joined(paths)} of each"
        case "unique":
            of = f" {_path(params['by'])}" if params.get("by") else ""
            step = f"keep one of each{of}"
        case "group":
            what = _calculation(params) if params.get("operation") else "count them"
            step = f"group by {_path(params.get('by'))}, {what} in each group"
        case "calculate":
            step = _calculation(params)
        case "pages":
            step = f"follow its pages (at most {params.get('most', 50)})"
        case "join":
            step = "join them to one text"
        case "shell":
            step = f"run `{_filled(params.get('command', ''), inputs)}`"
        case "read-file":
            step = f"read {_filled(params.get('file_path', ''), inputs)}"
        case "write-file":
            step = f"write {_filled(params.get('file_path', ''), inputs)}"
        case "python":
            step = str(node.get("id", "")).rstrip("_0123456789")
        case other:
            step = f"call {other}"
    return f"{step} for each item" if node.get("batch") else step


def _condition(params: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    operator, value = str(params.get("operator") or "=="), params.get("value")
    is_date = isinstance(value, str) and value[:4].isdigit()
    said = (_OF_DATES if is_date else {}).get(operator) or _OPERATORS.get(operator, operator)
    field = _path(params.get("field"))
    return f"{field} {said}" if "empty" in operator else f"{field} {said} {_shown(value, inputs)}"


def _calculation(params: Mapping[str, Any]) -> str:
    operation = params.get("operation")
    if not params.get("field"):
        return "count them" if operation == "count" else f"find the {operation}"
    of = _path(params["field"])
    return f"{_CALCULATIONS.get(str(operation), f'find the {operation} of')} {of}"


def _taken(params: Mapping[str, Any]) -> str:
    for which in ("first", "last"):
        if params.get(which) is not None:
            return f"take the {which} {params[which]}"
    index = params.get("at")
    if index == -1:
        return "take the last"
    if isinstance(index, int) and 0 <= index < len(_PLACES):
        return f"take the {_PLACES[index]}"
    return f"take number {index + 1}" if isinstance(index, int) else "take one"


def _path(path: Any) -> str:
    return str(path or "the entry").removeprefix("$.").removeprefix("$") or "the entry"


def _joined(names: Iterable[str]) -> str:
    *first, last = [*names] or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def _shown(value: Any, inputs: Mapping[str, Any]) -> str:
    if isinstance(value, list):
        return _joined(_shown(one, inputs) for one in value)
    text = _filled(value, inputs) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _filled(template: Any, inputs: Mapping[str, Any]) -> str:
    text = str(template)
    for name, value in inputs.items():
        text = text.replace(f"${{{name}}}", str(value))
    is_long = "\n" in text and len(text) > _LONGEST
    return f"{text[:_LONGEST]}…" if is_long else text
