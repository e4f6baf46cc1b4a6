"""Node types: what a workflow's nodes are made of. Third parties add theirs by entry point.

A node type declares its params and outputs as dataclasses, in code: from these come the static
checks, `runtrue node show`, and the typed object that `run` is given.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

from runtrue.documents import Pointer
from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.loop import Fault
from runtrue.typed_data import convert
from runtrue.workflow.effect import Effect, EffectKind
from runtrue.workflow.purpose import same_text

if TYPE_CHECKING:
    from runtrue.workflow.context import Context
    from runtrue.workflow.ir import Workflow
    from runtrue.workflow.registry import Registry
    from runtrue.workflow.templates import Template

__all__ = [
    "Interface",
    "Output",
    "Pointer",
    "Result",
    "WorkflowNode",
    "describe_type",
    "describe_value",
    "failure",
    "object_schema",
]

P = TypeVar("P")
#: `type` is something else inside of a node type.
Declared = type


@dataclass(frozen=True, slots=True)
class Result:
    """The outputs of a node, and the action that leads on from it."""

    outputs: dict[str, Any]
    action: str = "default"


class WorkflowNode(ABC, Generic[P]):
    """The base of all node types. One object serves many runs at once: keep no state on it.

    `Params` and `Outputs` are dataclasses (or msgspec Structs). A param without a default is
    required; describe each with `Annotated[str, msgspec.Meta(description="…")]`. The class's
    docstring is the type's description.
    """

    type: ClassVar[str]
    Params: ClassVar[Declared]
    Outputs: ClassVar[Declared]
    #: Further outputs than the declared ones may appear.
    open_outputs: ClassVar[bool] = False
    #: Params that are taken as they are written: `${…}` in them means nothing here.
    verbatim: ClassVar[frozenset[str]] = frozenset()
    #: Params whose values are secrets: never recorded, wherever they come from.
    secret_params: ClassVar[frozenset[str]] = frozenset()
    #: Params that only say how the answer is read. Without them, a call is known by its params.
    reading: ClassVar[frozenset[str]] = frozenset()
    #: Params that say what a node is for: a repair changes nothing in them but their `${…}`.
    purpose: ClassVar[frozenset[str]] = frozenset()
    #: Running it is one call, which later attempts of a repair do not make again.
    is_call: ClassVar[bool] = True
    #: What it does is recorded part by part, by the nodes that it runs.
    has_parts: ClassVar[bool] = False
    #: It changes something, also where `has_side_effect` says that this can be done twice.
    writes: ClassVar[bool] = False

    def resolve(self, params: Mapping[str, Template], store: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in the params, purely. Environment references stay markers until `run`."""
        return {name: template.render(store) for name, template in params.items()}

    def implied(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the params, as written, that go without saying beside these."""
        return {}

    @abstractmethod
    async def run(self, params: P, context: Context) -> Result:
        """Do the work. Raise `NodeFailed` when it fails.

        What the params hold is not to be changed: other runs may share it.
        """

    def finish(self, params: Mapping[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
        """Process the recorded outputs, purely: a replay does this again.

        `params` are those that `resolve` gave, in which secrets are still only named.
        """
        return outputs

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """True if running with these params, as written, changes something outside.

        What was interrupted in the middle is then not done again unasked.
        """
        return True

    def is_repeatable(self, params: Mapping[str, Any]) -> bool:
        """True if the other side knows a repeated effect again, as by an idempotency key.

        What was interrupted in the middle is then done again unasked.
        """
        return False

    def effects(self, params: Mapping[str, Any]) -> Iterable[Effect]:
        """Yield what running does outside the run, except for its secrets.

        The params are filled in; what is not known yet is a `PartialText`.
        """
        if self.has_side_effect(params):
            yield Effect(kind=EffectKind.NODE, target=self.interface.type)

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Yield what is wrong with params, as written, beyond their schema.

        Each problem is the pointer within `params` and a sentence.
        """
        return ()

    def check_in(
        self, params: Mapping[str, Any], workflow: Workflow, registry: Registry
    ) -> Iterable[tuple[Pointer, str]]:
        """Yield what is wrong with params, as written, in this workflow."""
        return ()

    def same_purpose(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
        """Return how params, as written, change the purpose of the node, or None.

        A repair may only make changes that this has nothing against.
        """
        for name in sorted(self.purpose & (before.keys() | after.keys())):
            if name not in before or name not in after:
                return f"{name!r} was {'added' if name in after else 'removed'}"
            if not same_text(before[name], after[name]):
                return f"{name!r} was changed in more than its references"
        acts, acted = self.has_side_effect(after), self.has_side_effect(before)
        if acts != acted:
            return f"it would {'now' if acts else 'no longer'} change something outside"
        return None

    def secrets_in(self, params: Mapping[str, Any]) -> Iterable[Pointer]:
        """Yield the pointers within `params`, as written, that hold secrets."""
        return ((name,) for name in self.secret_params if name in params)

    def secret_part(self, pointer: Pointer, value: Any) -> Any:
        """Return the secret part of a value at a secret pointer: all of it by default."""
        return value

    def secret_places(
        self, params: Mapping[str, Any], workflow: Workflow, registry: Registry
    ) -> Iterable[Pointer]:
        """Yield the pointers that hold secrets in this workflow."""
        return self.secrets_in(params)

    def convert(self, params: dict[str, Any]) -> P:
        """Return the resolved params as the typed object."""
        try:
            converted: P = convert(params, self.Params, strict=False)
        except msgspec.ValidationError as error:
            message, _, path = str(error).partition(" - at `$")
            name = path.rstrip("`").lstrip(".")
            where = f"param {name!r}" if name else "the params"
            names = tuple(self.interface.params)
            raise RuntimeValidationError(
                f"{where}: {message[:1].lower()}{message[1:]}",
                category="bad_param",
                attempted=(name,) if name else (),
                available=names,
            ) from error
        return converted

    @cached_property
    def interface(self) -> Interface:
        """The params and outputs, derived from the declarations."""
        return Interface(
            type=self.type,
            description=inspect.getdoc(type(self)) or "",
            params_schema=object_schema(self.Params),
            outputs=_outputs(self.Outputs),
            open_outputs=self.open_outputs,
        )


@dataclass(frozen=True, slots=True)
class Output:
    """One declared output."""

    type: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Interface:
    """The params and outputs of a node type. `params_schema` is a JSON Schema object."""

    type: str
    description: str
    params_schema: dict[str, Any]
    outputs: dict[str, Output] = field(default_factory=dict)
    open_outputs: bool = False
    #: The MCP server that it is a tool of, or the API that it is an operation of.
    server: str | None = None
    #: True if it changes nothing, False if it does, None where nobody says.
    reads: bool | None = None
    #: The fields of its answer, or of the items of one, where they are declared.
    fields: tuple[str, ...] = ()

    @property
    def params(self) -> dict[str, dict[str, Any]]:
        """The schema of each param."""
        properties: dict[str, dict[str, Any]] = self.params_schema.get("properties", {})
        return properties

    @property
    def required(self) -> tuple[str, ...]:
        """The params that must be given."""
        return tuple(self.params_schema.get("required", ()))


def failure(
    message: str,
    category: str,
    outputs: Mapping[str, Any] | None = None,
    *,
    error_type: type[NodeFailed] = NodeFailed,
    fault: str = Fault.CANDIDATE,
    attempted: Iterable[str] = (),
    available: Iterable[str] = (),
    sample: str | None = None,
    data: Mapping[str, Any] | None = None,
    transient: bool = False,
) -> NodeFailed:
    """Return a failure whose message is an output as well: `error`."""
    return error_type(
        message,
        category=category,
        fault=fault,
        attempted=attempted,
        available=available,
        sample=sample,
        data=data,
        outputs={**(outputs or {}), "error": message},
        transient=transient,
    )


def object_schema(declared: type) -> dict[str, Any]:
    """Return the JSON Schema of a dataclass, self-contained."""
    (reference,), components = msgspec.json.schema_components([declared])
    schema: dict[str, Any] = components[reference["$ref"].rpartition("/")[2]]
    schema = {**schema, "additionalProperties": False}
    schema.pop("title", None)
    schema.pop("description", None)
    if len(components) > 1:
        schema["$defs"] = {name: s for name, s in components.items() if s is not schema}
    return schema


def _outputs(declared: type) -> dict[str, Output]:
    properties = object_schema(declared).get("properties", {})
    return {
        name: Output(describe_type(schema), schema.get("description", ""))
        for name, schema in properties.items()
    }


def describe_type(schema: Mapping[str, Any]) -> str:
    """Describe a JSON Schema in a few words: `string`, `integer or null`, `one of a, b`."""
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(describe_type(option) for option in schema[key]))
    type_name = schema.get("type", "object" if "$ref" in schema else "any")
    if isinstance(type_name, list):
        return " or ".join(type_name)
    if type_name == "array" and schema.get("items"):
        return f"array of {describe_type(schema['items'])}"
    return str(type_name)


def describe_value(value: Any) -> str:
    """Name the type of a JSON value, with its article."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}
    return "null" if value is None else names.get(type(value), "an object")
