"""Structured output: the JSON Schema of an answer, sent to the model and checked afterwards.

Imported late, with the schema library.
"""

from __future__ import annotations

import json
import re
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from runtrue.errors import UsageError

#: The key of an answer whose schema is not one of an object: tools take only objects.
_WRAPPED = "value"
_BLOCK = re.compile(r"^```\w*\s*\n(.*?)\n\s*```", re.DOTALL | re.MULTILINE)


class Misfit(Exception):
    """An answer does not fit its schema; the message says why."""


class AnswerSchema:
    """The JSON Schema that an answer must fit."""

    def __init__(self, schema: dict[str, Any]) -> None:
        validator = validator_for(schema, default=Draft202012Validator)
        try:
            validator.check_schema(schema)
        except SchemaError as error:
            raise UsageError(
                f"the JSON Schema for the answer is wrong at {error.json_path}: {error.message}"
            ) from None
        # A registry of its own, or references to other documents would be fetched.
        self._validator = validator(schema, registry=Registry())
        self._is_wrapped = schema.get("type") != "object"
        self.sent = _wrap(schema) if self._is_wrapped else schema

    def read(self, text: str) -> Any:
        """Return the data in a text. Raises Misfit if there is none, or if it does not fit."""
        data = _parse(text)
        if self._is_wrapped and isinstance(data, dict) and data.keys() == {_WRAPPED}:
            data = data[_WRAPPED]
        try:
            problem = best_match(self._validator.iter_errors(data))
        except Unresolvable as error:
            raise UsageError(
                f"the JSON Schema for the answer refers to {error.ref!r}, which it does not hold"
            ) from None
        except RecursionError:
            raise Misfit("it is nested too deeply") from None
        if problem is not None:
            raise Misfit(f"{problem.json_path}: {problem.message}")
        return data


def _wrap(schema: dict[str, Any]) -> dict[str, Any]:
    # Definitions are referred to from the root, so they stay there.
    shared = {name: value for name, value in schema.items() if name in ("$defs", "definitions")}
    inner = {name: value for name, value in schema.items() if name not in (*shared, "$schema")}
    return {
        "type": "object",
        "properties": {_WRAPPED: inner},
        "required": [_WRAPPED],
        "additionalProperties": False,
        **shared,
    }


def _parse(text: str) -> Any:
    # Models without a tool like to put their JSON into a block.
    block = _BLOCK.search(text)
    try:
        data = json.loads(block[1] if block else text)
        # Python reads more than it can write for others: NaN, 1e999, half a surrogate pair.
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except json.JSONDecodeError as error:
        raise Misfit(f"it is not JSON ({error.msg}, at character {error.pos})") from None
    except (ValueError, RecursionError):
        raise Misfit(
            "it is JSON that others cannot read: a number is too large or none at all, a "
            "character is not one, or it is nested too deeply"
        ) from None
    return data
