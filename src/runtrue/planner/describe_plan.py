"""Describe a plan: what a workflow does, as one plain sentence. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runtrue.workflow import redact_by_name

_LONGEST = 60


def describe_plan(workflow: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return what a workflow does, step by step, in one sentence."""
    shown = redact_by_name(dict(params))
    steps = [_step(node, shown) for node in workflow.get("nodes", ()) if isinstance(node, dict)]
    sentence = ", ".join(filter(None, steps))
    outputs = workflow.get("outputs")
    names = ", ".join(outputs) if isinstance(outputs, dict) else ""
    return f"{sentence}; give {names}" if names and sentence else sentence


def _step(node: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    params = node.get("params")
    params = params if isinstance(params, dict) else {}
    match node.get("type"):
        case "http":
            method = params.get("method") or "GET"
            step = f"{method} {_filled(params.get('url', ''), inputs)}"
        case "filter":
            condition = f"{params.get('operator', '==')} {_value(params.get('value'))}"
            step = f"keep where {_path(params.get('field'))} {condition}"
        case "sort":
            order = " descending" if params.get("descending") else ""
            step = f"sort by {_path(params.get('by'))}{order}"
        case "take":
            step = _taken(params)
        case "pick":
            fields = params.get("fields")
            step = (
                f"pick {', '.join(map(_path, fields.values()))}"
                if isinstance(fields, dict)
                else "pick"
            )
        case "unique" | "group" as how:
            of = f", {params.get('operation')} of {_path(params.get('field'))}"
            step = f"{how} by {_path(params.get('by'))}{of if params.get('operation') else ''}"
        case "calculate":
            of = f" of {_path(params['field'])}" if params.get("field") else ""
            step = f"{params.get('operation')}{of}"
        case "pages":
            step = f"follow its pages (at most {params.get('most', 50)})"
        case "join":
            step = "join to one text"
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


def _taken(params: Mapping[str, Any]) -> str:
    for which in ("first", "last"):
        if params.get(which) is not None:
            return f"take the {which} {params[which]}"
    match params.get("at"):
        case 0:
            return "take the first"
        case -1:
            return "take the last"
        case index:
            return f"take the entry at {index}"


def _path(path: Any) -> str:
    return str(path or "the entry").removeprefix("$.").removeprefix("$") or "the entry"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _filled(text: Any, inputs: Mapping[str, Any]) -> str:
    text = str(text)
    for name, value in inputs.items():
        text = text.replace(f"${{{name}}}", str(value))
    return _value(text) if "\n" in text else text
