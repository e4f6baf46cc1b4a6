"""List nodes: `filter`, `pick`, `sort`, `take`, `unique`, `group`, `calculate` and `join`.

They change nothing and call nobody: the same items give the same result.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Meta

from runtrue.errors import RuntimeValidationError
from runtrue.workflow.node import P, Pointer, Result, WorkflowNode, failure
from runtrue.workflow.nodes.extract import path_problems
from runtrue.workflow.nodes.list_values import (
    Operator,
    entries_of,
    matches,
    numbers_of,
    order_key,
    values_of,
)

if TYPE_CHECKING:
    from runtrue.workflow.context import Context

Items = Annotated[
    Any,
    Meta(description="A list, or an object, whose values are used; or text with either as JSON"),
]
Field = Annotated[str, Meta(description="Path of the field within each entry, such as `price`")]
OptionalField = Annotated[
    str | None, Meta(description="Path of a field within each entry; without it, the entry itself")
]

Calculation = Literal["count", "sum", "min", "max", "average"]


@dataclass(frozen=True, slots=True)
class Entries:
    """The resulting list."""

    items: Annotated[list[Any], Meta(description="The entries")]
    count: Annotated[int, Meta(description="How many there are")]


class ListNode(WorkflowNode[P]):
    """A node that works on the entries of a list, in memory."""

    is_call = False
    #: The params that are paths within an entry.
    field_params: ClassVar[tuple[str, ...]] = ()

    async def run(self, params: P, context: Context) -> Result:
        """Work on the entries."""
        return Result(self.outputs(params, entries_of(params.items)))  # type: ignore[attr-defined]

    @abstractmethod
    def outputs(self, params: P, entries: list[Any]) -> dict[str, Any]:
        """Return the outputs for these entries."""

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """False: nothing is changed."""
        return False

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse what is no path."""
        fields = {name: params[name] for name in self.field_params if params.get(name)}
        for name, problem in path_problems(fields):
            yield (name,), problem


def _listed(entries: list[Any]) -> dict[str, Any]:
    return {"items": entries, "count": len(entries)}


@dataclass(frozen=True, slots=True)
class FilterParams:
    """The condition that entries must fulfil."""

    items: Items
    field: OptionalField = None
    operator: Annotated[
        Operator,
        Meta(description="Texts are compared without regard to case, except by == and !="),
    ] = "=="
    value: Annotated[Any, Meta(description="The value to compare the field with")] = None


class FilterNode(ListNode[FilterParams]):
    """Keep the entries whose field fulfils a condition. Use several for several conditions."""

    type = "filter"
    Params = FilterParams
    Outputs = Entries
    purpose = frozenset({"operator", "value"})
    field_params = ("field",)

    def outputs(self, params: FilterParams, entries: list[Any]) -> dict[str, Any]:
        """Return the entries that match."""
        values = values_of("field", params.field, entries)
        pairs = zip(entries, values, strict=True)
        wanted = params.operator, params.value
        return _listed([entry for entry, value in pairs if matches(value, *wanted)])


@dataclass(frozen=True, slots=True)
class PickParams:
    """The fields to take."""

    items: Items
    fields: Annotated[dict[str, str], Meta(description="The path of each, by its new name")]


class PickNode(ListNode[PickParams]):
    """Make an object of a few fields of each entry. A field that an entry lacks is null."""

    type = "pick"
    Params = PickParams
    Outputs = Entries

    def outputs(self, params: PickParams, entries: list[Any]) -> dict[str, Any]:
        """Return an object for each entry."""
        columns = {
            name: values_of(f"fields.{name}", path, entries) for name, path in params.fields.items()
        }
        rows = range(len(entries))
        return _listed([{name: columns[name][n] for name in columns} for n in rows])

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse what is no path."""
        fields = params.get("fields")
        for name, problem in path_problems(fields if isinstance(fields, dict) else {}):
            yield ("fields", name), problem


@dataclass(frozen=True, slots=True)
class SortParams:
    """The order."""

    items: Items
    by: OptionalField = None
    descending: Annotated[bool, Meta(description="The largest first")] = False


class SortNode(ListNode[SortParams]):
    """Sort the entries by a field: numbers by size, texts without regard to case, nulls last."""

    type = "sort"
    Params = SortParams
    Outputs = Entries
    purpose = frozenset({"descending"})
    field_params = ("by",)

    def outputs(self, params: SortParams, entries: list[Any]) -> dict[str, Any]:
        """Return the entries in order; equal ones stay as they were."""
        values = values_of("by", params.by, entries)
        key = order_key(values)
        pairs = list(zip(values, entries, strict=True))
        present = [pair for pair in pairs if pair[0] is not None]
        present.sort(key=lambda pair: key(pair[0]), reverse=params.descending)
        present += [pair for pair in pairs if pair[0] is None]
        return _listed([entry for _, entry in present])


@dataclass(frozen=True, slots=True)
class TakeParams:
    """One of the three says which entries."""

    items: Items
    first: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="How many from the start")
    ] = None
    last: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="How many from the end")
    ] = None
    at: Annotated[int | None, Meta(description="The one at an index; -1 is the last")] = None


@dataclass(frozen=True, slots=True)
class TakenEntries(Entries):
    """The entries that were taken."""

    item: Annotated[Any, Meta(description="The entry at the index")]


class TakeNode(ListNode[TakeParams]):
    """Take the first or last entries, or the one at an index, which must be there."""

    type = "take"
    Params = TakeParams
    Outputs = TakenEntries
    purpose = frozenset({"first", "last", "at"})

    def outputs(self, params: TakeParams, entries: list[Any]) -> dict[str, Any]:
        """Return the chosen entries."""
        match params:
            case TakeParams(first=int(count), last=None, at=None):
                return _listed(entries[:count])
            case TakeParams(first=None, last=int(count), at=None):
                return _listed(entries[max(len(entries) - count, 0) :])
            case TakeParams(first=None, last=None, at=int(index)):
                if not -len(entries) <= index < len(entries):
                    message = f"items has {len(entries)} entries, [{index}] is not one of them"
                    raise failure(message, "no_such_entry", error_type=RuntimeValidationError)
                return {**_listed([entries[index]]), "item": entries[index]}
        raise failure(_ONE, "bad_param", error_type=RuntimeValidationError)

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse none, or several, of the three."""
        if sum(params.get(name) is not None for name in ("first", "last", "at")) != 1:
            yield (), _ONE


_ONE = "give one of: first, last, at"


@dataclass(frozen=True, slots=True)
class UniqueParams:
    """The field in which entries differ."""

    items: Items
    by: OptionalField = None


class UniqueNode(ListNode[UniqueParams]):
    """Keep the first of the entries with an equal field."""

    type = "unique"
    Params = UniqueParams
    Outputs = Entries
    field_params = ("by",)

    def outputs(self, params: UniqueParams, entries: list[Any]) -> dict[str, Any]:
        """Return the first entry of each value."""
        return _listed([group["items"][0] for group in _groups(params.by, entries)])


@dataclass(frozen=True, slots=True)
class GroupParams:
    """The field that entries of one group share."""

    items: Items
    by: Field
    operation: Annotated[
        Calculation | None, Meta(description="What to calculate for each group, as its `value`")
    ] = None
    field: OptionalField = None


class GroupNode(ListNode[GroupParams]):
    """Make one entry of all that share a field: its `key`, `count`, `items` and `value`."""

    type = "group"
    Params = GroupParams
    Outputs = Entries
    purpose = frozenset({"operation"})
    field_params = ("by", "field")

    def outputs(self, params: GroupParams, entries: list[Any]) -> dict[str, Any]:
        """Return the groups, in the order in which they appear."""
        groups = _groups(params.by, entries)
        if params.operation is None:
            return _listed(groups)
        how = params.operation, params.field
        return _listed([{**group, "value": _calculated(group["items"], *how)} for group in groups])


def _groups(by: str | None, entries: list[Any]) -> list[dict[str, Any]]:
    groups: dict[str, dict[str, Any]] = {}
    for entry, value in zip(entries, values_of("by", by, entries), strict=True):
        known = groups.setdefault(
            json.dumps(value, sort_keys=True), {"key": value, "count": 0, "items": []}
        )
        known["count"] += 1
        known["items"].append(entry)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class CalculateParams:
    """What is calculated, of which field."""

    items: Items
    operation: Calculation
    field: OptionalField = None


@dataclass(frozen=True, slots=True)
class Calculated:
    """The result."""

    value: Annotated[Any, Meta(description="The result")]


class CalculateNode(ListNode[CalculateParams]):
    """Count entries, or calculate with a field of theirs. Nulls do not count."""

    type = "calculate"
    Params = CalculateParams
    Outputs = Calculated
    purpose = frozenset({"operation"})
    field_params = ("field",)

    def outputs(self, params: CalculateParams, entries: list[Any]) -> dict[str, Any]:
        """Return one value."""
        return {"value": _calculated(entries, params.operation, params.field)}


def _calculated(entries: list[Any], operation: Calculation, field: str | None) -> Any:
    values = values_of("field", field, entries)
    present = [value for value in values if value is not None]
    if operation == "count":
        return len(present)
    if operation == "sum":
        return _sum(numbers_of(values))
    if not present:
        raise failure(f"there is no value to calculate the {operation} of", "no_values")
    if operation == "average":
        return _sum(numbers_of(values)) / len(present)
    return (min if operation == "min" else max)(present, key=order_key(present))


def _sum(numbers: list[int | float]) -> int | float:
    return sum(numbers) if all(isinstance(n, int) for n in numbers) else math.fsum(numbers)


@dataclass(frozen=True, slots=True)
class JoinParams:
    """What is joined, and what is put between."""

    items: Items
    field: OptionalField = None
    separator: Annotated[str, Meta(description="The text between two entries")] = ", "


@dataclass(frozen=True, slots=True)
class JoinedText:
    """The resulting text."""

    text: Annotated[str, Meta(description="All entries in one text")]


class JoinNode(ListNode[JoinParams]):
    """Join entries, or a field of theirs, to one text. Nulls are left out."""

    type = "join"
    Params = JoinParams
    Outputs = JoinedText
    purpose = frozenset({"separator"})
    field_params = ("field",)

    def outputs(self, params: JoinParams, entries: list[Any]) -> dict[str, Any]:
        """Return one text; what is no text is put in as JSON."""
        values = values_of("field", params.field, entries)
        texts = [
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for value in values
            if value is not None
        ]
        return {"text": params.separator.join(texts)}
