"""Values: arguments converted to what their schema asks for, where nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from runtrue.fields import SURE, rank_names
from runtrue.workflow import opened

_ZONE_WORDS = re.compile(r"time ?zone|\btz\b|\biana\b", re.IGNORECASE)
_BOOLEANS = {"true": True, "false": False, "yes": True, "no": False}
_INTEGER = re.compile(r"[+-]?\d{1,15}")
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?")


def resolved(schema: Any, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Follow a schema's reference to a definition in the whole one."""
    for _ in range(10):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        schema = whole
        for part in reference[2:].split("/"):
            schema = schema.get(part) if isinstance(schema, Mapping) else None
    return schema if isinstance(schema, dict) else {}


def fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the value as the schema wants it; itself if that is not sure, or it fits already."""
    types = types_of(schema)
    options = schema.get("enum")
    if isinstance(options, list):
        return _option(value, options)
    if not types or takes_type(types, type_of(value)):
        return value
    converted = _converted(value, types)
    if "array" in types and converted is value and isinstance(value, str | int | float):
        items = schema.get("items")
        return [fitted(value, items if isinstance(items, dict) else {})]
    return converted


def zone(value: Any, name: str, schema: Mapping[str, Any]) -> Any:
    """Return the IANA name of a time zone given by its city, where a zone is wanted."""
    about = f"{re.sub('[_-]', ' ', name)} {schema.get('description', '')}"
    if not isinstance(value, str) or not _ZONE_WORDS.search(about):
        return value
    named = _zones().get(re.sub(r"[\s_-]+", "_", value.strip()).casefold(), ())
    return named[0] if len(named) == 1 else value


def types_of(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the types that a schema takes; none when it does not say."""
    type_ = schema.get("type")
    if isinstance(type_, str | list):
        return frozenset({type_} if isinstance(type_, str) else map(str, type_))
    branches = schema.get("anyOf", schema.get("oneOf"))
    listed = branches if isinstance(branches, list) else []
    found = [types_of(one) for one in listed if isinstance(one, Mapping)]
    return frozenset().union(*found) if found and all(found) else frozenset()


def takes_type(types: frozenset[str], type_: str) -> bool:
    """True if one of the types takes values of another: an integer is a number."""
    return type_ in types or ("number" in types and type_ == "integer")


def type_of(value: Any) -> str:
    """Return the type of a value, as schemas call it."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def _converted(value: Any, types: frozenset[str]) -> Any:
    if isinstance(value, str):
        text = value.strip()
        if "integer" in types and _INTEGER.fullmatch(text):
            return int(text)
        if "number" in types and _NUMBER.fullmatch(text):
            return float(text) if "." in text else int(text)
        if "boolean" in types and text.casefold() in _BOOLEANS:
            return _BOOLEANS[text.casefold()]
        inner = opened(value)
        return inner if type_of(inner) in types else value
    if "integer" in types and isinstance(value, float) and value.is_integer():
        return int(value)
    if "string" in types and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def _option(value: Any, options: list[Any]) -> Any:
    """Return the option that was meant; the value itself where it is one, or none is."""
    if any(type(option) is type(value) and option == value for option in options):
        return value
    texts = {str(option).casefold(): option for option in options}
    folded = str(value).strip().casefold()
    if folded in texts:
        return texts[folded]
    ranked = rank_names(folded, folded, {str(o): "" for o in options if isinstance(o, str)})
    return ranked[0].path if ranked and ranked[0].confidence >= SURE else value


@cache
def _zones() -> dict[str, tuple[str, ...]]:
    """Return the time zones by the last part of their names, and by the whole of them."""
    from zoneinfo import available_timezones

    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(available_timezones()):
        for key in {name.casefold(), name.rpartition("/")[2].casefold()}:
            found[key] = (*found.get(key, ()), name)
    # What is a name of its own is meant when it is given: `UTC` is also the end of `Etc/UTC`.
    whole = {name.casefold(): (name,) for name in available_timezones()}
    return {**found, **whole}
