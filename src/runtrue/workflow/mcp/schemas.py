"""Schemas: where a value breaks the JSON Schema that a server declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One place where a value is not as its schema wants it; `path` leads there."""

    path: tuple[str | int, ...]
    message: str

    def __str__(self) -> str:
        place = ".".join(str(part) for part in self.path)
        return f"{place}: {self.message}" if place else self.message


def mismatches(schema: dict[str, Any], value: Any) -> list[Mismatch]:
    """Return everything in a value that breaks a schema.

    A schema that is itself broken, or that refers to something outside of it, says nothing.
    """
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
        # With a registry of its own, nothing is fetched from anywhere.
        errors = list(kind(schema, registry=Registry()).iter_errors(value))
    except (SchemaError, Unresolvable):
        return []
    return [Mismatch(tuple(error.absolute_path), shorten(error.message)) for error in errors]


def shorten(text: str, limit: int = _SHOWN) -> str:
    """Return a text on one line, cut where it is too long for a message."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[:limit]}…"
