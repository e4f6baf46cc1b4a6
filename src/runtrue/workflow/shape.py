"""Shape: where a value does not fit a JSON Schema, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from runtrue.documents import closest
from runtrue.workflow.node import Pointer, describe_type, describe_value

if TYPE_CHECKING:
    from jsonschema import ValidationError


def schema_problems(value: Any, schema: dict[str, Any]) -> Iterator[tuple[Pointer, str]]:
    """Yield where a value does not fit a JSON Schema, and why, in plain words."""
    from jsonschema import Draft202012Validator
    from referencing import Registry as Schemas
    from referencing.exceptions import Unresolvable

    # With a registry of its own, nothing is fetched from anywhere.
    validator = Draft202012Validator(schema, registry=Schemas())
    with suppress(Unresolvable):
        for error in validator.iter_errors(value):
            yield from _explained(error)


def _explained(error: ValidationError) -> Iterator[tuple[Pointer, str]]:
    pointer: Pointer = tuple(error.absolute_path)
    # Whatever a schema may hold; jsonschema types these as narrowly as it can.
    instance: Any = error.instance
    schema: Any = error.schema
    wanted: Any = error.validator_value
    if error.validator == "additionalProperties" and isinstance(instance, dict):
        known = tuple(schema.get("properties", ()))
        for name in instance.keys() - set(known):
            yield (*pointer, name), f"unknown key {name!r}{close_to(name, known, known)}"
    elif error.validator == "required":
        missing = [name for name in wanted if name not in instance]
        yield from ((pointer, f"the key {name!r} is missing") for name in missing)
    elif error.validator == "enum":
        yield pointer, f"{instance!r} is not one of: {', '.join(map(str, wanted))}"
    elif error.validator == "const":
        hint = schema.get("description", "").rstrip(".")
        yield pointer, f"can only be {wanted!r}: {hint[:1].lower()}{hint[1:]}"
    elif error.validator == "pattern" and pointer:
        message = f"{instance!r} is not a usable name or version: it must match {wanted}"
        yield pointer, message
    elif error.validator in {"anyOf", "oneOf"} and error.context:
        yield from _explained_options(error, pointer)
    elif error.validator == "type":
        kinds = " or ".join([wanted] if isinstance(wanted, str) else wanted)
        yield pointer, f"is {describe_value(instance)} and should be {kinds}"
    else:
        yield pointer, error.message


def _explained_options(error: ValidationError, pointer: Pointer) -> Iterator[tuple[Pointer, str]]:
    """Explain the option that was meant, as its type suggests."""
    schema: Any = error.schema
    options: dict[str | int, list[ValidationError]] = {}
    for inner in error.context or ():
        options.setdefault(inner.schema_path[0], []).append(inner)
    for problems in options.values():
        if not any(problem.validator == "type" and not problem.path for problem in problems):
            for problem in problems:
                yield from _explained(problem)
            return
    yield pointer, f"is {describe_value(error.instance)} and should be {describe_type(schema)}"


def close_to(name: str, known: Iterable[str], listed: Iterable[str] = ()) -> str:
    """Return the end of a sentence about an unknown name: the one that was meant, or `listed`."""
    if close := closest(name, known):
        return f"; did you mean {close!r}?"
    return f"; known here: {', '.join(listed)}" if listed else ""
