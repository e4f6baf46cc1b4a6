"""Inputs: what a run is given, checked against what its workflow declares.

- Text from the command line becomes what the declared type says. Without a type it stays text,
  except that a JSON object or array is read as one.
- Values from Python are checked and never changed: a boolean is no number, `3.0` is an integer.
- `null` is refused where a type is declared, unless the author provided for it with
  `required: false` or `default: null`.
- What is optional and was not given is its default, or else `null`, so that references to it
  always lead somewhere.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from runtrue.documents import DocumentError, closest, find_flaw, parse_document
from runtrue.errors import UsageError
from runtrue.foreign_text import cut
from runtrue.workflow.secrets import is_secret_name

_NAMES = {"str": "string", "float": "number", "int": "integer", "bool": "boolean"}
_NAMES |= {"dict": "object", "list": "array"}

_INTEGER = re.compile(r"([-+]?[0-9]{1,600})(?:\.0*)?")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class InputProblem:
    """One input, and a sentence about what is wrong with it."""

    name: str
    message: str

    def __str__(self) -> str:
        return self.message


class InputError(UsageError):
    """Inputs are missing, unknown or of the wrong type; `problems` holds all of them."""

    def __init__(self, problems: tuple[InputProblem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


class _Unfit(Exception):
    def __init__(self, wanted: str, why: str = "") -> None:
        super().__init__(wanted)
        self.wanted = wanted
        self.why = why


def prepare_inputs(
    declared: Mapping[str, Mapping[str, Any]],
    given: Mapping[str, Any],
    *,
    stdin: str | None,
    from_text: bool,
) -> dict[str, Any]:
    """Return the value of each declared input. Raises InputError with all problems.

    `stdin` is text, and goes to the input that asks for it unless that was given by name.
    """
    texts = {name: value for name, value in given.items() if from_text and isinstance(value, str)}
    values = {name: value for name, value in given.items() if name not in texts}
    piped = next((name for name, spec in declared.items() if spec.get("stdin")), None)
    if stdin is not None and piped is not None and piped not in given:
        texts[piped] = stdin

    missing, wrong = [], []
    prepared: dict[str, Any] = {}
    for name, spec in declared.items():
        try:
            if name in texts:
                prepared[name] = _check(_from_text(texts[name], _type(spec)), spec)
            elif name in values:
                prepared[name] = _check(values[name], spec)
            elif _is_required(spec):
                missing.append(InputProblem(name, _missing(name, spec)))
            else:
                prepared[name] = copy.deepcopy(spec.get("default"))
        except _Unfit as error:
            value = texts.get(name, values.get(name))
            wrong.append(InputProblem(name, _wrong(name, value, error)))
    unknown = list(_unknown(declared, given))
    if problems := (*missing, *unknown, *wrong):
        raise InputError(problems)
    return prepared


def _type(spec: Mapping[str, Any]) -> str | None:
    declared = spec.get("type")
    return None if declared is None else _NAMES.get(declared, declared)


def _is_required(spec: Mapping[str, Any]) -> bool:
    return bool(spec.get("required", True)) and "default" not in spec


def _takes_null(spec: Mapping[str, Any]) -> bool:
    by_default = "default" in spec and spec["default"] is None
    return _type(spec) is None or not spec.get("required", True) or by_default


def _from_text(text: str, wanted: str | None) -> Any:
    reader = _READERS.get(wanted)
    return text if reader is None else reader(text)


def _read_integer(text: str) -> int:
    if found := _INTEGER.fullmatch(text.strip()):
        return int(found[1])
    raise _Unfit("an integer")


def _read_number(text: str) -> int | float:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise _Unfit("a number")
    return int(text) if re.fullmatch(r"[-+]?[0-9]{1,600}", text) else float(text)


def _read_boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise _Unfit("true or false") from None


def _read_json(text: str, wanted: str) -> Any:
    try:
        return parse_document(text, name="", format="json").data
    except DocumentError as error:
        where = f" at line {error.line}, column {error.column}" if error.line else ""
        example = '["a", "b"]' if wanted == "array" else '{"a": 1}'
        wanted = f"{_a(wanted)} in JSON, such as {example}"
        raise _Unfit(wanted, f"it {error.problem}{where}") from error


def _read_untyped(text: str) -> Any:
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        return parse_document(text, name="", format="json").data
    except DocumentError:
        return text


_READERS: dict[str | None, Callable[[str], Any]] = {
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "object": partial(_read_json, wanted="object"),
    "array": partial(_read_json, wanted="array"),
    None: _read_untyped,
}


def _check(value: Any, spec: Mapping[str, Any]) -> Any:
    """Return the value unchanged. Raises _Unfit."""
    wanted = _type(spec)
    if flaw := find_flaw(value):
        raise _Unfit(_a(wanted) if wanted else "plain JSON data", str(flaw))
    if value is None and _takes_null(spec):
        return value
    if wanted in _CHECKS and not _CHECKS[wanted](value):
        raise _Unfit(_a(wanted))
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == value // 1,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}


def _missing(name: str, spec: Mapping[str, Any]) -> str:
    wanted = _type(spec)
    details = ": ".join(filter(None, (_a(wanted) if wanted else "", spec.get("description"))))
    return f"input {name!r} is missing" + (f" ({details})" if details else "")


def _unknown(declared: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[InputProblem]:
    folded = {name.casefold(): name for name in declared}
    for name in given:
        if name in declared:
            continue
        close = closest(name.casefold(), folded)
        hint = f" (did you mean {folded[close]!r}?)" if close else ""
        there = f"available: {', '.join(declared)}" if declared else "this workflow takes none"
        yield InputProblem(name, f"there is no input {name!r}{hint}; {there}")


def _wrong(name: str, value: object, error: _Unfit) -> str:
    hidden = is_secret_name(name) or find_flaw(value)
    given = "" if hidden else f", not {_shown(value)}"
    why = f"; {error.why}" if error.why else ""
    return f"input {name!r} must be {error.wanted}{given}{why}"


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return _a("object" if isinstance(value, dict) else "array")
    return cut(repr(value) if isinstance(value, str) else json.dumps(value), _SHOWN)


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"
