"""Schemas of API documents as JSON Schema 2020-12 that refers to nothing outside of itself.

Only keywords with values that make sense are taken over, so what comes out is always a schema.
Referenced schemas are followed to a bounded depth; what is deeper may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtrue.workflow.apis.document import Data, Located

if TYPE_CHECKING:
    from referencing._core import Resolver

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_MIXED = ("allOf", "anyOf", "oneOf")
_DEEPEST, _MOST_NESTED, _MOST_DEFINITIONS = 3, 30, 150


class SchemaWriter:
    """Converts the schemas of one operation; `definitions` holds what they share."""

    def __init__(self, *, writing: bool) -> None:
        """`writing`: for what is sent, without the properties that only the server sets."""
        self.definitions: dict[str, Data] = {}
        self._unwanted = "readOnly" if writing else "writeOnly"
        self._names: dict[int, str] = {}

    def convert(self, schema: object, resolver: Resolver[Any], depth: int = 0) -> Data:
        """Return a schema of the document as a self-contained one."""
        return self._convert(Located({}, resolver), schema, depth, 0)

    def _convert(self, base: Located, schema: object, depth: int, nested: int) -> Data:
        if not isinstance(schema, dict) or nested > _MOST_NESTED:
            return {}
        if isinstance(schema.get("$ref"), str):
            return self._referred(base, schema, depth)
        return _Keywords(self, base, schema, depth, nested).converted()

    def _referred(self, base: Located, schema: Data, depth: int) -> Data:
        target = base.part(schema)
        about = schema.get("description")
        own = {"description": about} if isinstance(about, str) else {}
        name = self._names.get(id(target.data))
        if name is None:
            if depth >= _DEEPEST or len(self.definitions) >= _MOST_DEFINITIONS:
                return own
            name = self._free(schema["$ref"].rpartition("/")[2])
            self._names[id(target.data)] = name
            self.definitions[name] = {}
            self.definitions[name] = self._convert(target, target.data, depth + 1, 0)
        return {"$ref": f"#/$defs/{name}", **own}

    def _free(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name) or "schema"
        free, number = plain, 2
        while free in self.definitions:
            free, number = f"{plain}_{number}", number + 1
        return free

    def is_wanted(self, base: Located, schema: object) -> bool:
        """False for a property that is never in this direction."""
        return base.part(schema).data.get(self._unwanted) is not True

    def closed(self, schema: Data) -> Data:
        """Return a schema together with the definitions that were made for it."""
        return {**schema, "$defs": self.definitions} if self.definitions else schema


class _Keywords:
    """One schema on its way: which of its keywords count, and as what."""

    def __init__(
        self, writer: SchemaWriter, base: Located, schema: Data, depth: int, nested: int
    ) -> None:
        self._writer, self._base, self._schema = writer, base, schema
        self._depth, self._nested = depth, nested

    def converted(self) -> Data:
        schema, found = self._schema, dict(self._plain())
        if isinstance(schema.get("items"), dict):
            found["items"] = self._inner(schema["items"])
        properties = self._properties()
        if properties:
            found["properties"] = properties
        required = schema.get("required")
        if isinstance(required, list):
            known = schema.get("properties")
            unwanted = set(known if isinstance(known, dict) else ()) - properties.keys()
            names = [n for n in required if isinstance(n, str) and n not in unwanted]
            found |= {"required": list(dict.fromkeys(names))} if names else {}
        additional = schema.get("additionalProperties")
        if isinstance(additional, bool):
            found["additionalProperties"] = additional
        elif isinstance(additional, dict):
            found["additionalProperties"] = self._inner(additional)
        for key in _MIXED:
            options = schema.get(key)
            if isinstance(options, list) and options:
                found[key] = [self._inner(option) for option in options]
        return found

    def _inner(self, schema: object) -> Data:
        return self._writer._convert(self._base, schema, self._depth, self._nested + 1)

    def _properties(self) -> Data:
        properties = self._schema.get("properties")
        return {
            str(name): self._inner(inner)
            for name, inner in (properties.items() if isinstance(properties, dict) else ())
            if self._writer.is_wanted(self._base, inner)
        }

    def _plain(self) -> Iterator[tuple[str, Any]]:
        schema = self._schema
        nullable = schema.get("nullable") is True or schema.get("x-nullable") is True
        if types := _types(schema.get("type"), nullable=nullable):
            yield "type", types
        enum = schema.get("enum")
        if isinstance(enum, list) and enum:
            yield "enum", [*enum, None] if nullable and None not in enum else enum
        for key in ("const", "default"):
            if key in schema:
                yield key, schema[key]
        for key in ("description", "format"):
            if isinstance(schema.get(key), str):
                yield key, schema[key]
        for key in _NUMBERS:
            value = schema.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield key, value
        for key in _COUNTS:
            value = schema.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                yield key, value
        if _is_pattern(schema.get("pattern")):
            yield "pattern", schema["pattern"]


def _types(written: object, *, nullable: bool) -> str | list[str] | None:
    listed = written if isinstance(written, list) else [written]
    types = ["string" if one == "file" else one for one in listed if isinstance(one, str)]
    known = [one for one in dict.fromkeys(types) if one in _TYPES]
    if not known:
        return None
    if nullable and "null" not in known:
        known.append("null")
    return known[0] if len(known) == 1 else known


def _is_pattern(pattern: object) -> bool:
    """True for a regular expression that Python knows, too: documents use those of JavaScript."""
    if not isinstance(pattern, str):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
