"""Data that people write, as dataclasses; mistakes are reported with their keys and line."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable, Hashable, Iterator
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeAlias, TypeVar, Union

import msgspec

from runtrue.documents.document import Source
from runtrue.documents.plain import Pointer
from runtrue.documents.words import lower_first, suggestion, unknown_key
from runtrue.typed_data import convert

#: A value, and what is wrong with it.
KeyProblem: TypeAlias = tuple[Pointer, str]

_T = TypeVar("_T")

#: The names of types for people who write the data.
_TYPES = {
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "datetime": "a date with a time",
    "date": "a date",
    "time": "a time",
    "null": "nothing",
}


def read_data(
    source: Source,
    model: type[_T],
    *,
    problems: Callable[[_T], Iterator[KeyProblem]],
    fill: Callable[[Any], Any] = lambda data: data,
) -> _T:
    """Return a source's data as a dataclass; raise its error for the first mistake.

    `fill` adds defaults from elsewhere, once all keys are known to be right; `problems` yields
    values that have the right type and still can never work.
    """
    data = source.data
    _check_keys(data, model, (), source)
    data = fill(data)
    _check_members(data, model, (), source)
    read = _convert(data, model, (), source)
    for pointer, problem in problems(read):
        raise source.error(pointer, problem)
    return read


def _check_keys(data: Any, hint: Any, at: Pointer, source: Source) -> None:
    """Refuse keys that nothing reads, here and below."""
    hint = _meant(hint, data)
    if dataclasses.is_dataclass(hint) and isinstance(data, dict):
        known = [field.name for field in dataclasses.fields(hint)]
        for key in data:
            if key not in known:
                raise source.error((*at, key), unknown_key(key, known))
    for inner, value, pointer in _below(data, hint, at):
        _check_keys(value, inner, pointer, source)


def _check_members(data: Any, hint: Any, at: Pointer, source: Source) -> None:
    """Convert each member of a mapping by itself: an error in the whole does not name the key."""
    hint = _meant(hint, data)
    for inner, value, pointer in _below(data, hint, at):
        _check_members(value, inner, pointer, source)
        if typing.get_origin(hint) is dict:
            _convert(value, inner, pointer, source)


def _convert(data: Any, model: type[_T], at: Pointer, source: Source) -> _T:
    try:
        return convert(data, model)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        parts = re.findall(r"[\w-]+", path)
        inner = tuple(int(part) if part.isdecimal() else part for part in parts)
        if message.startswith("Invalid enum value"):
            choices = _choices(data, model, inner)
            word = message.partition("'")[2].rstrip("'")
            message += f"{suggestion(word, choices)}; available: {', '.join(choices)}"
        raise source.error((*at, *inner), lower_first(_in_plain_words(message, source))) from error


def _in_plain_words(message: str, source: Source) -> str:
    """Replace the names of types in a message by those that people use."""
    if message.startswith("Expected "):
        types = {**_TYPES, "object": f"a {source.table}"}
        return re.sub(r"`([\w |]+)`", lambda found: _any_of(found[1], types), message)
    return re.sub("^Object missing", f"{source.table} missing", message)


def _any_of(names: str, types: dict[str, str]) -> str:
    several = [name for name in names.split(" | ") if name != "null"] or ["null"]
    return " or ".join(types.get(name, f"`{name}`") for name in several)


def _below(data: Any, hint: Any, at: Pointer) -> Iterator[tuple[Any, Any, Pointer]]:
    if dataclasses.is_dataclass(hint) and isinstance(data, dict):
        hints = _hints(typing.cast(Hashable, hint))
        for key in (key for key in data if key in hints):
            yield hints[key], data[key], (*at, key)
    elif typing.get_origin(hint) is dict and isinstance(data, dict):
        for key, value in data.items():
            yield typing.get_args(hint)[1], value, (*at, key)
    elif typing.get_origin(hint) is tuple and isinstance(data, list):
        for number, value in enumerate(data):
            yield typing.get_args(hint)[0], value, (*at, number)


def _choices(data: Any, hint: Any, pointer: Pointer) -> list[str]:
    """Return the words that are allowed at a pointer."""
    hint = _meant(hint, data)
    for inner, value, found in _below(data, hint, ()):
        if found == pointer[:1]:
            return _choices(value, inner, pointer[1:])
    is_enum = isinstance(hint, type) and issubclass(hint, StrEnum)
    return [str(choice) for choice in (hint if is_enum else typing.get_args(hint))]


def _meant(hint: Any, data: Any) -> Any:
    """Return the type of a union that a value is meant to have."""
    if typing.get_origin(hint) not in (Union, UnionType):
        return hint
    several = [one for one in typing.get_args(hint) if one is not type(None)]
    models = [one for one in several if dataclasses.is_dataclass(one)]
    return models[0] if models and isinstance(data, dict) else several[0]


@cache
def _hints(model: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(model)
