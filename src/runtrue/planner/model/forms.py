"""Forms: the JSON Schema of each answer, in the part of the language that all providers take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from runtrue.workflow import schema

#: What is left of the published schema: providers refuse some of the rest, and a workflow is
#: checked against all of it later, with better words and tries of its own.
_KEYWORDS = ("type", "description", "enum", "required")
_NOT_ASKED_FOR = {
    *("$schema", "ir_version", "name", "enable_namespacing", "template_resolution_mode", "stdin"),
}
_TEXT = {"type": "string"}
_OPEN = {"type": "object", "additionalProperties": True}
_TYPES = ("string", "number", "integer", "boolean", "object", "array")

_CANNOT = {**_TEXT, "description": "Only if it cannot be done: why, in one sentence."}
_SAID = {
    "type": "object",
    "additionalProperties": _TEXT,
    "description": "The words of the task behind a value that differs from them, by input.",
}


@cache
def plan_form() -> dict[str, Any]:
    """A workflow with the values that the task gives, or why there is none."""
    given = "What the task says for the inputs, by name; leave out what it does not say."
    return _object(
        {
            "workflow": _loosened(schema(), schema()["$defs"]),
            "params": {**_OPEN, "description": given},
            "said": _SAID,
            "cannot": _CANNOT,
        }
    )


def edits_form(places: Iterable[str]) -> dict[str, Any]:
    """Edits at these places only, or why there are none."""
    edit = _object(
        {
            "at": {**_TEXT, "enum": list(places)},
            "value": {"description": "What is to stand there."},
            "name": {**_TEXT, "description": "The right name of the argument at this place."},
        },
        required=("at",),
    )
    return _object({"edits": {"type": "array", "items": edit}, "cannot": _CANNOT})


def choice_form(names: Iterable[str]) -> dict[str, Any]:
    """One of the names, or none."""
    one = {"type": ["string", "null"], "enum": [*names, None]}
    return _object({"workflow": one, "reason": _TEXT})


def selection_form(types: Iterable[str]) -> dict[str, Any]:
    """Some of the types."""
    some = {"type": "array", "items": {**_TEXT, "enum": list(types)}}
    return _object({"types": some}, required=("types",))


def values_form(inputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A value or null for each input. Its type is looked at later: `"5"` can be read as 5."""
    values = {
        name: {"description": str(spec.get("description", ""))} for name, spec in inputs.items()
    }
    return _object({"values": _object(values), "said": _SAID}, required=("values",))


def metadata_form() -> dict[str, Any]:
    """A name and a description."""
    return _object({"name": _TEXT, "description": _TEXT}, required=("name", "description"))


def _object(properties: dict[str, Any], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return {**made, "required": list(required)} if required else made


def _loosened(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A part of the published schema with its references filled in and without what is exotic."""
    if "$ref" in part:
        own = {key: part[key] for key in ("description",) if key in part}
        named = definitions[part["$ref"].rpartition("/")[2]]
        return {**_loosened(named, definitions), **own}
    loose = {key: part[key] for key in _KEYWORDS if key in part}
    if "enum" in loose:
        # The short names that files may have for types are no help here.
        types = [value for value in loose["enum"] if value in _TYPES]
        loose |= {"type": "string", "enum": types or loose["enum"]}
    if "properties" in part:
        loose["properties"] = {
            name: _loosened(inner, definitions)
            for name, inner in part["properties"].items()
            if name not in _NOT_ASKED_FOR
        }
    elif part.get("type") == "object":
        inner = part.get("additionalProperties")
        loose["additionalProperties"] = _loosened(inner, definitions) if inner else True
    if "items" in part:
        loose["items"] = _loosened(part["items"], definitions)
    return loose
