"""JSON Schemas of what `--json` prints for a run."""

from __future__ import annotations

import importlib
from dataclasses import fields
from inspect import cleandoc
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.inspect import DataclassType, Field, type_info

from runtrue.cli.kinds import KINDS


def report_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each kind of report, by the name of its class."""
    schemas = {}
    for path in dict.fromkeys(KINDS.values()):
        module, _, name = path.partition(":")
        report = getattr(importlib.import_module(module), name).report_type
        schemas[report.__name__] = _schema(report)
    return schemas


def _schema(report: type[Any]) -> dict[str, Any]:
    (schema,), definitions = msgspec.json.schema_components([report], ref_template="#/$defs/{name}")
    # Defaults are for reading what another version wrote; this one writes every key but UNSET ones.
    for name, kind in _dataclasses(type_info(report), {}).items():
        definitions[name]["description"] = cleandoc(kind.__doc__ or "")
        for value in definitions[name]["properties"].values():
            value.pop("default", None)
        definitions[name]["required"] = [f.name for f in fields(kind) if f.default is not UNSET]
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **schema, "$defs": definitions}


def _dataclasses(info: Any, found: dict[str, type[Any]]) -> dict[str, type[Any]]:
    """Collect the dataclasses that a type is made of, by name."""
    if isinstance(info, DataclassType):
        if info.cls.__name__ in found:
            return found
        found[info.cls.__name__] = info.cls
    if isinstance(info, msgspec.inspect.Type | Field):
        for name in info.__struct_fields__:
            _dataclasses(getattr(info, name), found)
    elif isinstance(info, tuple):
        for one in info:
            _dataclasses(one, found)
    return found
