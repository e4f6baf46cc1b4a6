"""The `mcp-<server>-<tool>` nodes: every tool of a configured MCP server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from runtrue.config import mcp_limits
from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.workflow.context import Context
from runtrue.workflow.effect import Effect, EffectKind
from runtrue.workflow.fill import is_known, leaves
from runtrue.workflow.mcp import Catalog, ToolError, ToolInfo
from runtrue.workflow.node import Interface, Output, Result, WorkflowNode, describe_type, failure

#: Failures that say something of the workflow: an argument, a name or a field that is not there.
_MISMATCHES = frozenset({"argument_mismatch", "output_mismatch", "unknown_tool", "unknown_server"})


def find_tool(name: str, catalog: Catalog) -> McpNode | None:
    """Return the node type of a tool. A server that cannot be asked is taken to have any tool."""
    unasked = None
    for server, tool in catalog.split(name):
        info = catalog.tool(server, tool)
        if info is not None:
            return McpNode(name, info)
        if catalog.tools(server) is None and unasked is None:
            unasked = McpNode(name, ToolInfo(server=server, name=tool, input_schema=_ANYTHING))
    return unasked


_ANYTHING: dict[str, Any] = {"type": "object", "additionalProperties": True}


class McpNode(WorkflowNode[dict[str, Any]]):
    """One tool. Its params are the tool's arguments, whatever the server says they are."""

    def __init__(self, name: str, tool: ToolInfo) -> None:
        self._name = name
        self._tool = tool

    @cached_property
    def interface(self) -> Interface:
        """The params and outputs, as the server declares them."""
        tool = self._tool
        outputs = {"result": Output("any", "What the tool gave; its fields are outputs too.")}
        schema = tool.result_schema if _is_schema(tool.result_schema) else None
        for name, field in (schema or {}).get("properties", {}).items():
            known = field if isinstance(field, dict) else {}
            outputs[name] = Output(describe_type(known), known.get("description", ""))
        return Interface(
            type=self._name,
            description=tool.description,
            # What a server says wrongly of its tool must not keep anyone from using it.
            params_schema=tool.input_schema if _is_schema(tool.input_schema) else _ANYTHING,
            outputs={**outputs, "error": Output("string", "Why the call failed.")},
            # A schema that names fields is taken at its word: a guessed field is found early.
            open_outputs=len(outputs) == 1 or bool((schema or {}).get("additionalProperties")),
            server=tool.server,
            reads=tool.annotations.read_only,
        )

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """True unless the server says that the tool only reads."""
        return self._tool.annotations.read_only is not True

    def effects(self, params: Mapping[str, Any]) -> Iterable[Effect]:
        """Yield the tool, with the values that it is given."""
        given = (leaf for leaf in leaves(params) if leaf not in (None, False, ""))
        yield Effect(
            kind=EffectKind.TOOL,
            target=self._name,
            values=tuple(map(str, given)),
            known=all(map(is_known, leaves(params))),
            reads=not self.has_side_effect(params),
        )

    def convert(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments unchanged: the server knows best."""
        return params

    async def run(self, params: dict[str, Any], context: Context) -> Result:
        """Call the tool."""
        sessions = context.sessions()
        try:
            result = await sessions.call(
                self._tool.server, self._tool.name, params, timeout=mcp_limits().call
            )
        except ToolError as error:
            context.redactor.add(*sessions.secrets)
            raise _failure(error) from error
        context.redactor.add(*sessions.secrets)
        fields = result.result if isinstance(result.result, dict) else {}
        return Result({**fields, "result": result.result})


def _is_schema(schema: object) -> bool:
    from jsonschema import Draft202012Validator

    return isinstance(schema, dict) and Draft202012Validator(
        Draft202012Validator.META_SCHEMA
    ).is_valid(schema)


def _failure(error: ToolError) -> NodeFailed:
    return failure(
        error.message,
        error.category,
        None if error.result is None else {"result": error.result},
        error_type=RuntimeValidationError if error.category in _MISMATCHES else NodeFailed,
        fault=error.fault,
        attempted=error.attempted,
        available=error.available,
        transient=error.transient,
        data={
            "server": error.server,
            "tool": error.tool,
            "code": error.code,
            "schema": error.schema,
            "problems": list(error.problems),
            "stderr": error.stderr,
        },
    )
