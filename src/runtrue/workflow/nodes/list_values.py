"""The entries of lists and their fields: read, compared, ordered. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.workflow.node import describe_value, failure
from runtrue.workflow.path_syntax import Every, shown_quoted
from runtrue.workflow.paths import Missing, Path, PathSyntaxError, opened, parse_path
from runtrue.workflow.secrets import sample_text

Operator: TypeAlias = Literal[
    "==", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "ends_with", "in",
    "empty", "not_empty",
]  # fmt: skip

#: The category of failures that name a field which no entry has.
MISSING_FIELD = "missing_field"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def entries_of(items: Any) -> list[Any]:
    """Return the entries of a list, of an object's values, or of text that holds either."""
    items = opened(items) if isinstance(items, str) else items
    if isinstance(items, Mapping):
        return list(items.values())
    if isinstance(items, list | tuple):
        return list(items)
    raise failure(
        f"items is {describe_value(items)}, not a list",
        "not_a_list",
        error_type=RuntimeValidationError,
        sample=sample_text(items),
    )


def field_path(path: str) -> Path:
    """Return a field's path within one entry. Raises NodeFailed where the text is no path."""
    try:
        return parse_path(path)
    except PathSyntaxError as error:
        message = f"the path cannot be read: {error}"
        raise failure(
            message, "bad_path", error_type=RuntimeValidationError, attempted=(path,)
        ) from error


def values_of(param: str, path: str | None, entries: list[Any]) -> list[Any]:
    """Return the value of a field for each entry, null where one lacks it.

    Without a path, the entries themselves. Raises RuntimeValidationError, which `param` names, if
    no entry has the field.
    """
    if path is None:
        return entries
    steps = field_path(path)
    found = Path((Every.ENTRY, *steps.steps)).find(entries)
    if isinstance(found, Missing):
        raise _no_field(param, path, found, entries)
    if Every.ENTRY in steps.steps:
        # A list for each entry: a wildcard in a wildcard is one long list.
        each = (steps.find(entry) for entry in entries)
        return [None if isinstance(value, Missing) else value for value in each]
    values: list[Any] = found
    return values


def _no_field(param: str, path: str, missing: Missing, entries: list[Any]) -> NodeFailed:
    return failure(
        f"no entry of items has {shown_quoted(path)}: {missing}",
        MISSING_FIELD,
        error_type=RuntimeValidationError,
        attempted=(path,),
        available=missing.available,
        sample=sample_text(entries[:1]),
        data={"param": param, "path": path},
    )


# -- numbers ------------------------------------------------------------------------------------


def number_of(value: Any) -> int | float | None:
    """Return a number, or the one that a text spells; None for all else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        text = value.strip()
        value = int(text) if re.fullmatch(r"[+-]?\d{1,300}", text) else float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def numbers_of(values: Iterable[Any]) -> list[int | float]:
    """Return the numbers of values, without nulls. Raises NodeFailed at one that is none."""
    numbers: list[int | float] = []
    for index, value in enumerate(values):
        if value is None:
            continue
        number = number_of(value)
        if number is None:
            what = f"entry {index} is {describe_value(value)} and not a number"
            raise failure(what, "not_a_number", sample=sample_text(value))
        numbers.append(number)
    return numbers


# -- order --------------------------------------------------------------------------------------


def order_key(values: Iterable[Any]) -> Callable[[Any], Any]:
    """Return the key that orders these values: numbers by size, texts without regard to case.

    Texts that all spell numbers are ordered as numbers. Raises NodeFailed where values of several
    types have no common order.
    """
    present = [value for value in values if value is not None]
    if all(number_of(value) is not None for value in present):
        return number_of
    if all(isinstance(value, str) for value in present):
        return lambda value: (value.casefold(), value)
    if all(isinstance(value, bool) for value in present):
        return bool
    kinds = sorted({describe_value(value) for value in present})
    what = " and ".join(kinds) if len(kinds) > 1 else f"values each of which is {kinds[0]}"
    raise failure(f"{what} have no order", "no_order", sample=sample_text(present[:5]))


# -- conditions ---------------------------------------------------------------------------------


def matches(value: Any, operator: Operator, wanted: Any) -> bool:
    """True if a value fulfils a condition. Null fulfils none but those about null itself."""
    match operator:
        case "empty" | "not_empty":
            return (value is None or value in ("", [], {})) is (operator == "empty")
        case "==" | "!=":
            return is_same(value, wanted) is (operator == "==")
        case "in":
            return any(is_same(value, one) for one in entries_of(wanted))
        case "contains" if isinstance(value, list):
            return any(is_same(one, wanted) for one in value)
        case "contains" if isinstance(value, dict):
            return wanted in value
        case "contains" | "starts_with" | "ends_with":
            return isinstance(value, str) and _in_text(value, operator, str(wanted))
        case _:
            return value is not None and _is_ordered(value, operator, wanted)


def is_same(one: Any, other: Any) -> bool:
    """True for equal values, and for a number or boolean and the text that spells it."""
    if isinstance(one, bool) or isinstance(other, bool):
        return str(one).lower() == str(other).lower()
    if isinstance(one, int | float) or isinstance(other, int | float):
        number = number_of(one)
        return number is not None and number == number_of(other)
    return bool(one == other)


def _in_text(value: str, operator: str, part: str) -> bool:
    value, part = value.casefold(), part.casefold()
    if operator == "contains":
        return part in value
    return value.startswith(part) if operator == "starts_with" else value.endswith(part)


def _is_ordered(value: Any, operator: str, wanted: Any) -> bool:
    key = order_key((value, wanted))
    low, high = key(value), key(wanted)
    return bool({"<": low < high, "<=": low <= high, ">": low > high, ">=": low >= high}[operator])
