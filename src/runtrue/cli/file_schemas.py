"""JSON Schemas of the files that people write: runtrue.toml, workflows and plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def _config() -> dict[str, Any]:
    from runtrue.config import Config

    return _of_model(Config, "runtrue.toml")


def _user() -> dict[str, Any]:
    from runtrue.config import UserConfig

    return _of_model(UserConfig, "the runtrue.toml in your own ~/.runtrue")


def _of_model(model: type, title: str) -> dict[str, Any]:
    import msgspec

    (_,), definitions = msgspec.json.schema_components([model], ref_template="#/$defs/{name}")
    top = definitions.pop(model.__name__)
    return {**top, "title": title, "$defs": definitions}


def _workflow() -> dict[str, Any]:
    from runtrue.workflow import schema

    return schema()


def _plan() -> dict[str, Any]:
    from runtrue.plan import plan_file_schema

    return plan_file_schema()


#: By the name that `runtrue config schema` takes.
FILE_SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "runtrue.toml": _config,
    "user": _user,
    "workflow": _workflow,
    "plan": _plan,
}


def file_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a file; keys that it does not name are mistakes."""
    schema = FILE_SCHEMAS[name]()
    if name != "workflow":
        for table in (schema, *schema["$defs"].values()):
            if "properties" in table:
                table["additionalProperties"] = False
                # Where a file leaves a key out, so does its schema: defaults are in the reference.
                for value in table["properties"].values():
                    if isinstance(value.get("default"), dict):
                        del value["default"]
    return {"$schema": _DRAFT, **schema}
