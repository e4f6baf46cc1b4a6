"""Tools: what a server offers, what a call gave, and how a call failed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

from runtrue.loop import Fault

Category: TypeAlias = Literal[
    "tool_error",
    "argument_mismatch",
    "output_mismatch",
    "unknown_tool",
    "unknown_server",
    "auth",
    "credentials",
    "connection",
    "http_status",
    "server_died",
    "timeout",
    "protocol",
    "refused_address",
    "untrusted",
]

#: Whose fault a category is, where it is not the candidate's.
_FAULTS: dict[Category, Fault] = {
    "auth": Fault.CREDENTIALS,
    "credentials": Fault.CREDENTIALS,
    "connection": Fault.ENVIRONMENT,
    "http_status": Fault.ENVIRONMENT,
    "server_died": Fault.ENVIRONMENT,
    "timeout": Fault.ENVIRONMENT,
    "protocol": Fault.ENVIRONMENT,
    # Only the user can allow it, and trying again will not.
    "refused_address": Fault.HUMAN,
    "untrusted": Fault.HUMAN,
}
#: A schema of such a server says that a value which is no object was put into one.
_WRAPPED = "x-fastmcp-wrap-result"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnnotations:
    """The effects of a tool, as its server declares them; None where it does not."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInfo:
    """One tool of a server, with its schemas as the server declares them."""

    server: str
    name: str
    description: str = ""
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations = ToolAnnotations()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of its arguments, the required ones first."""
        properties = self.input_schema.get("properties")
        names = list(properties) if isinstance(properties, dict) else []
        required = [name for name in self.required if name in names]
        return (*required, *(name for name in names if name not in required))

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the arguments that it cannot do without."""
        names = self.input_schema.get("required")
        return tuple(str(name) for name in names) if isinstance(names, list) else ()

    @property
    def wraps_result(self) -> bool:
        """True if the value is the only member, `result`, of an object that carries it."""
        return bool(self.output_schema and self.output_schema.get(_WRAPPED))

    @property
    def result_schema(self) -> dict[str, Any] | None:
        """The schema of `ToolResult.result`, where the server declares one.

        References to definitions are kept, and so are those.
        """
        if self.output_schema is None or not self.wraps_result:
            return self.output_schema
        inner = self.output_schema.get("properties", {}).get("result", {})
        shared = {key: self.output_schema[key] for key in ("$defs",) if key in self.output_schema}
        return {**shared, **inner}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call: structured content if there is any, else that of the blocks."""

    result: Any
    structured: bool


@dataclass(eq=False)
class ToolError(Exception):
    """A tool could not be called, or its call failed. The message is one sentence.

    `category` says how, decided from codes, flags, schemas and statuses alone; `fault` says who
    failed, and `transient` that it may be gone in a moment. `attempted` are the arguments that do
    not fit, or the name that is not known, `available` what there is instead; `problems` says what
    the arguments or the result break in the schema. `code` is JSON-RPC's, or HTTP's status.
    `stderr` is the end of what the server printed, `result` what it answered all the same.
    """

    message: str
    _: KW_ONLY
    category: Category
    server: str
    tool: str | None = None
    fault: Fault = None  # type: ignore[assignment]  # by its category
    transient: bool = False
    attempted: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    code: int | None = None
    stderr: str = ""
    result: Any = None

    def __post_init__(self) -> None:
        self.fault = self.fault or _FAULTS.get(self.category, Fault.CANDIDATE)

    def __str__(self) -> str:
        return self.message
