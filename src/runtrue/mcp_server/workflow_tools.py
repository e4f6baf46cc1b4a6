"""Saved workflows as tools of their own, with the inputs that they declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import Tool, ToolAnnotations

from runtrue.errors import UsageError
from runtrue.home import Home
from runtrue.mcp_server.service import Service
from runtrue.mcp_server.tools import RunWorkflowInput
from runtrue.workflow import Saved, WorkflowStore

_PREFIX = "workflow_"
#: JSON Schema's name of a type, by that and by Python's.
_TYPES = {name: name for name in ("string", "number", "integer", "boolean", "object", "array")}
_TYPES |= {"str": "string", "float": "number", "int": "integer", "bool": "boolean"}
_TYPES |= {"dict": "object", "list": "array"}


def workflow_tools(service: Service) -> list[Tool]:
    """Return a tool for each saved workflow that can be read, if the service publishes them."""
    if not service.workflows:
        return []
    saved = WorkflowStore(Home.find(service.roots[0])).list()
    return [_describe(one, service) for one in saved if one.problem is None]


def read_workflow_input(
    service: Service, tool: str, arguments: Mapping[str, Any]
) -> RunWorkflowInput | None:
    """Return the call of a workflow's tool; None if there is no such tool."""
    known = {one.name: one for one in workflow_tools(service)}
    if tool not in known:
        return None
    names = known[tool].input_schema["properties"]
    for name in arguments:
        if name not in names:
            raise UsageError(f"{tool} takes no {name!r}; available: {', '.join(names) or 'none'}")
    return RunWorkflowInput(workflow=tool.removeprefix(_PREFIX), inputs=dict(arguments))


def _describe(saved: Saved, service: Service) -> Tool:
    inputs = saved.inputs
    return Tool(
        name=f"{_PREFIX}{saved.name}",
        title=saved.name,
        description=saved.description or f"Run the saved workflow {saved.name}",
        input_schema={
            "type": "object",
            "properties": {name: _property(declared) for name, declared in inputs.items()},
            "required": [name for name, declared in inputs.items() if _is_required(declared)],
            "additionalProperties": False,
        },
        output_schema=service.output_schema("WorkflowReport"),
        annotations=ToolAnnotations(read_only_hint=False, open_world_hint=True),
    )


def _property(declared: Any) -> dict[str, Any]:
    if not isinstance(declared, Mapping):
        return {}
    kept = {key: declared[key] for key in ("description", "default") if key in declared}
    kind = _TYPES.get(str(declared.get("type", "string")))
    return {**kept, "type": kind} if kind else kept


def _is_required(declared: Any) -> bool:
    if not isinstance(declared, Mapping):
        return True
    return bool(declared.get("required", True)) and "default" not in declared
