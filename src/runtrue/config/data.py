"""Data that people write, as types: what does not fit is named with its keys and its line."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable, Hashable, Iterator
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, Protocol, TypeAlias, TypeVar, Union

import msgspec

from runtrue.config.words import lower_first, suggestion
from runtrue.errors import UsageError

#: The keys that lead to a value, from the outside in; a number in a list counts from 0.
Keys: TypeAlias = tuple[str, ...]
#: Where something is set, and what is wrong with it.
Problem: TypeAlias = tuple[Keys, str]

_T = TypeVar("_T")

#: What the types are called to people who write them.
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


class Source(Protocol):
    """What the data was written in."""

    @property
    def table(self) -> str:
        """What keys with values are called there."""
        ...

    def error(self, path: Keys, message: str) -> UsageError:
        """What is wrong at a place, to be raised."""
        ...


def read_data(
    data: Any,
    kind: type[_T],
    source: Source,
    *,
    problems: Callable[[_T], Iterator[Problem]],
    filled: Callable[[Any], Any] = lambda data: data,
) -> _T:
    """The data as a dataclass; raises the source's error for the first thing that is wrong.

    `filled` adds what is said elsewhere, once the keys are known to be right; `problems` tells what
    no type can: values that have the right one and still can never work.
    """
    _check_keys(data, kind, (), source)
    data = filled(data)
    _check_members(data, kind, (), source)
    read = _convert(data, kind, (), source)
    for path, problem in problems(read):
        raise source.error(path, problem)
    return read


def _check_keys(data: Any, hint: Any, path: Keys, source: Source) -> None:
    """Refuse keys that nothing reads, here and in all that is below."""
    hint = _meant(hint, data)
    if dataclasses.is_dataclass(hint) and isinstance(data, dict):
        known = [field.name for field in dataclasses.fields(hint)]
        for key in data:
            if key not in known:
                message = f"unknown key{suggestion(key, known)}; known here: {', '.join(known)}"
                raise source.error((*path, key), message)
    for inner, value, place in _below(data, hint, path):
        _check_keys(value, inner, place, source)


def _check_members(data: Any, hint: Any, path: Keys, source: Source) -> None:
    """Convert what has a name each by itself: an error in the whole does not say in which it is."""
    hint = _meant(hint, data)
    for inner, value, place in _below(data, hint, path):
        _check_members(value, inner, place, source)
        if typing.get_origin(hint) is dict:
            _convert(value, inner, place, source)


def _convert(data: Any, kind: type[_T], path: Keys, source: Source) -> _T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        inner = tuple(re.findall(r"[\w-]+", place))
        if message.startswith("Invalid enum value"):
            choices = _choices(data, kind, inner)
            word = message.partition("'")[2].rstrip("'")
            message += f"{suggestion(word, choices)}; there are: {', '.join(choices)}"
        raise source.error(
            (*path, *inner), lower_first(_in_plain_words(message, source))
        ) from error


def _in_plain_words(message: str, source: Source) -> str:
    """A complaint about a type, with the types as people call them."""
    if message.startswith("Expected "):
        types = {**_TYPES, "object": f"a {source.table}"}
        return re.sub(r"`([\w |]+)`", lambda found: _any_of(found[1], types), message)
    return re.sub("^Object missing", f"{source.table} missing", message)


def _any_of(names: str, types: dict[str, str]) -> str:
    several = [name for name in names.split(" | ") if name != "null"] or ["null"]
    return " or ".join(types.get(name, f"`{name}`") for name in several)


def _below(data: Any, hint: Any, path: Keys) -> Iterator[tuple[Any, Any, Keys]]:
    """What is inside of some data: the type, the value and the keys of each."""
    if dataclasses.is_dataclass(hint) and isinstance(data, dict):
        hints = _hints(typing.cast(Hashable, hint))
        for key in (key for key in data if key in hints):
            yield hints[key], data[key], (*path, key)
    elif typing.get_origin(hint) is dict and isinstance(data, dict):
        for key, value in data.items():
            yield typing.get_args(hint)[1], value, (*path, key)
    elif typing.get_origin(hint) is tuple and isinstance(data, list):
        for number, value in enumerate(data):
            yield typing.get_args(hint)[0], value, (*path, str(number))


def _choices(data: Any, hint: Any, path: Keys) -> list[str]:
    """The words that may stand at a place."""
    hint = _meant(hint, data)
    for inner, value, place in _below(data, hint, ()):
        if place == path[:1]:
            return _choices(value, inner, path[1:])
    is_enum = isinstance(hint, type) and issubclass(hint, StrEnum)
    return [str(choice) for choice in (hint if is_enum else typing.get_args(hint))]


def _meant(hint: Any, data: Any) -> Any:
    """Of several types that a value may have, the one that this value is meant to have."""
    if typing.get_origin(hint) not in (Union, UnionType):
        return hint
    several = [one for one in typing.get_args(hint) if one is not type(None)]
    tables = [one for one in several if dataclasses.is_dataclass(one)]
    return tables[0] if tables and isinstance(data, dict) else several[0]


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(kind)
