"""Answers: the JSON Schema of each, in the part of the language that all providers take.

Of the values that an answer gives, only those that the task says are taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from runtrue.workflow import InputError, prepare_inputs, schema

#: What is left of the published schema: providers refuse some of the rest, and a workflow is
#: checked against all of it later, with better words and tries of its own.
_KEYWORDS = ("type", "description", "enum", "required")
_NOT_ASKED_FOR = {"$schema", "ir_version", "name", "enable_namespacing", "stdin"}
_NOT_ASKED_FOR |= {"template_resolution_mode"}
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
    """Ask for a workflow with the values that the task gives, or why there is none."""
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
    """Ask for edits at these places only, or why there are none."""
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
    """Ask for one of the names, or none."""
    one = {"type": ["string", "null"], "enum": [*names, None]}
    return _object({"workflow": one, "reason": _TEXT})


def selection_form(types: Iterable[str]) -> dict[str, Any]:
    """Ask for some of the types."""
    some = {"type": "array", "items": {**_TEXT, "enum": list(types)}}
    return _object({"types": some}, required=("types",))


def values_form(inputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Ask for a value or null for each input. Types are checked later: `"5"` can be read as 5."""
    about = {name: str(spec.get("description", "")) for name, spec in inputs.items()}
    values = {name: {"description": text} for name, text in about.items()}
    return _object({"values": _object(values), "said": _SAID}, required=("values",))


def metadata_form() -> dict[str, Any]:
    """Ask for a name and a description."""
    return _object({"name": _TEXT, "description": _TEXT}, required=("name", "description"))


def _object(properties: dict[str, Any], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return {**made, "required": list(required)} if required else made


def _loosened(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of the published schema, references filled in, exotic keywords left out."""
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


# -- values -------------------------------------------------------------------------------------


_WORD = re.compile(r"\w+")


def given_values(
    task: str,
    inputs: Mapping[str, Mapping[str, Any]],
    values: Mapping[str, Any],
    said: Mapping[str, str],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the values that fit their declared inputs, and a sentence for each not taken.

    `said` quotes the task where its words differ from the value; null is what it does not say.
    """
    taken: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in values.items():
        if value is None:
            continue
        if name not in inputs:
            notes.append(f"a value for {name!r} was ignored: there is no such input")
        elif not (_says(task, value) or _quotes(task, said.get(name, ""))):
            notes.append(f"a value for {name!r} was ignored: the task does not say it")
        else:
            try:
                given = {name: value}
                taken |= prepare_inputs({name: inputs[name]}, given, stdin=None, from_text=True)
            except InputError as error:
                notes.append(f"a value for {name!r} was ignored: {error}")
    return taken, tuple(notes)


def _says(task: str, value: Any) -> bool:
    """True if the task says all of a value. Yes and no are said in too many ways to check."""
    said = task.casefold()
    words = set(_WORD.findall(said))
    leaves = [(leaf, set(_WORD.findall(leaf))) for leaf in _leaves(value)]
    return all(leaf.strip() and (leaf in said or (own and own <= words)) for leaf, own in leaves)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, float) and value.is_integer():
        yield str(int(value))
    elif not isinstance(value, bool) and value is not None:
        yield str(value).casefold()


def _quotes(task: str, words: str) -> bool:
    quote = " ".join(words.casefold().split())
    return bool(quote) and quote in " ".join(task.casefold().split())
