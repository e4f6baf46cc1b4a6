"""Results: the answer of a tool as plain data, or as an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtrue.documents import Pointer
from runtrue.foreign_text import one_line
from runtrue.loop import Fault, fault_of_status
from runtrue.workflow.mcp.tools import Category, ToolError, ToolInfo, ToolResult
from runtrue.workflow.paths import opened

_SHOWN_LINE, _SHOWN_TEXT = 300, 2000
_SHOWN_MISMATCHES = 5
#: JSON-RPC's own code for arguments that do not fit.
_INVALID_PARAMS = -32602


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """A server's answer to a call, as it came over the wire."""

    blocks: tuple[Mapping[str, Any], ...]
    structured: Any = None
    has_structured: bool = False
    is_error: bool = False

    @property
    def text(self) -> str:
        """All text of it."""
        return "\n".join(block["text"] for block in self.blocks if block["type"] == "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRefusal:
    """The JSON-RPC error that a server answered to a call instead."""

    code: int
    text: str
    #: The HTTP status that the error's data names: of what the tool itself asked.
    status: int | None = None


def status_in(data: object) -> int | None:
    """Return the HTTP status that the data of a JSON-RPC error names, if there is one."""
    named = data if isinstance(data, Mapping) else {}
    for key in ("status", "status_code", "statusCode", "http_status", "httpStatus"):
        value = named.get(key)
        if type(value) is int and 400 <= value < 600:
            return value
    return None


def result_of(
    tool: ToolInfo, arguments: Mapping[str, Any], answer: ToolAnswer | ToolRefusal
) -> ToolResult:
    """Return the result of a call. Raises ToolError if the call failed.

    Not everything that fails is flagged as an error: a tool that has declared what it gives, and
    gives something else, has failed too. And what the server makes of arguments that break the
    tool's schema differs, so that the arguments are looked at whenever a call has failed.
    """
    if isinstance(answer, ToolRefusal) or answer.is_error:
        raise _failure(tool, arguments, answer, [])
    if tool.output_schema is not None:
        wrong = [Mismatch((), "it has no structured content")]
        if answer.has_structured:
            wrong = mismatches(tool.output_schema, answer.structured)
        if wrong:
            raise _failure(tool, arguments, answer, wrong)
    return _convert(tool, answer)


def _failure(
    tool: ToolInfo,
    arguments: Mapping[str, Any],
    answer: ToolAnswer | ToolRefusal,
    wrong_output: list[Mismatch],
) -> ToolError:
    wrong_input = mismatches(tool.input_schema, dict(arguments))
    code = answer.code if isinstance(answer, ToolRefusal) else None
    category: Category
    if wrong_input or code == _INVALID_PARAMS:
        category = "argument_mismatch"
    elif wrong_output:
        category = "output_mismatch"
    else:
        category = "tool_error" if code is None else "protocol"
    names = tool.arguments
    unknown = tuple(name for name in arguments if names and name not in names)
    missing = tuple(name for name in tool.required if name not in arguments)
    misfits = tuple(dict.fromkeys(str(wrong.path[0]) for wrong in wrong_input if wrong.path))
    return ToolError(
        _sentence(tool, category, answer, wrong_input or wrong_output, unknown),
        category=category,
        fault=_fault(answer),
        server=tool.server,
        tool=tool.name,
        attempted=unknown or missing or misfits,
        available=names,
        problems=tuple(str(wrong) for wrong in wrong_input or wrong_output),
        schema=tool.input_schema,
        code=code,
        result=_convert(tool, answer).result if isinstance(answer, ToolAnswer) else None,
    )


def _fault(answer: ToolAnswer | ToolRefusal) -> Fault:
    """Return the fault: credentials by the status in the error, else the call's own."""
    status = answer.status if isinstance(answer, ToolRefusal) else status_in(answer.structured)
    if status is not None and fault_of_status(status) is Fault.CREDENTIALS:
        return Fault.CREDENTIALS
    # Also when it is an error of the protocol: it answers this very call.
    return Fault.CANDIDATE


def _sentence(
    tool: ToolInfo,
    category: Category,
    answer: ToolAnswer | ToolRefusal,
    wrong: list[Mismatch],
    unknown: tuple[str, ...],
) -> str:
    who = f"tool {tool.name!r} of server {tool.server!r}"
    said = shorten(answer.text, _SHOWN_TEXT) or "without saying why"
    what = "; ".join(str(one) for one in wrong[:_SHOWN_MISMATCHES])
    if category == "argument_mismatch":
        strange = f"; it does not know {', '.join(map(repr, unknown))}" if unknown else ""
        takes = ", ".join(tool.arguments) or "nothing"
        return f"{who} got wrong arguments: {what or said}{strange}; it takes: {takes}"
    if category == "output_mismatch":
        return f"{who} did not return what it declares ({what}); output: {said}"
    if isinstance(answer, ToolRefusal):
        return f"{who} answered with error {answer.code}: {said}"
    return f"{who} failed: {said}"


def _convert(tool: ToolInfo, answer: ToolAnswer) -> ToolResult:
    if answer.has_structured:
        value = answer.structured
        if tool.wraps_result and isinstance(value, dict) and value.keys() == {"result"}:
            value = value["result"]
        return ToolResult(result=value, structured=True)
    values = [_of_block(block) for block in answer.blocks]
    result = None if not values else values[0] if len(values) == 1 else values
    return ToolResult(result=result, structured=False)


def _of_block(block: Mapping[str, Any]) -> Any:
    """Return a text, or the JSON that it holds; other blocks flat, with their own fields."""
    if block["type"] == "text":
        # Only objects and lists: a text must not change its type because it looks like a number.
        return opened(block["text"])
    inner = block.get("resource", {})
    flat = {**block, **inner}
    flat.pop("resource", None)
    if "blob" in flat:
        flat["data"] = flat.pop("blob")
    return flat


# -- schemas --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A value at `path` that is not as its schema wants it."""

    path: Pointer
    message: str

    def __str__(self) -> str:
        path = ".".join(str(part) for part in self.path)
        return f"{path}: {self.message}" if path else self.message


def mismatches(schema: dict[str, Any], value: Any) -> list[Mismatch]:
    """Return everything in a value that breaks a schema.

    A schema that is itself broken, or that refers to something outside of it, says nothing.
    """
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validator = validator_for(schema, default=Draft202012Validator)
    try:
        validator.check_schema(schema)
        # With a registry of its own, nothing is fetched from anywhere.
        errors = list(validator(schema, registry=Registry()).iter_errors(value))
    except (SchemaError, Unresolvable):
        return []
    return [Mismatch(tuple(error.absolute_path), shorten(error.message)) for error in errors]


def shorten(text: str, limit: int = _SHOWN_LINE) -> str:
    """Return a text on one line, cut where it is too long for a message."""
    return one_line(text, limit + 1)


def too_large(most: float) -> str:
    """Return what a server did that sent more than one answer may have."""
    return (
        f"sent an answer of more than {most / 2**20:g} MiB; raise `answer` of [mcp] in your own "
        "runtrue.toml if it is right"
    )
