"""Inputs become what the workflow declares, or everything that is wrong is told at once."""

from __future__ import annotations

import math
from typing import Any

import pytest

from runtrue.workflow.inputs import InputError, prepare_inputs

ALIASES = {
    "string": "str",
    "number": "float",
    "integer": "int",
    "boolean": "bool",
    "object": "dict",
    "array": "list",
}


def prepare_one(spec: dict[str, Any], value: object, *, from_text: bool) -> object:
    return prepare_inputs({"x": spec}, {"x": value}, stdin=None, from_text=from_text)["x"]


def problem(spec: dict[str, Any], value: object, *, from_text: bool, name: str = "x") -> str:
    with pytest.raises(InputError) as caught:
        prepare_inputs({name: spec}, {name: value}, stdin=None, from_text=from_text)
    (only,) = caught.value.problems
    assert only.name == name
    assert str(caught.value) == only.message
    return only.message


TEXTS: list[tuple[str | None, str, Any]] = [
    ("string", "5", "5"),
    ("string", "", ""),
    ("string", " [1] ", " [1] "),
    ("integer", "-3", -3),
    ("integer", " +3 ", 3),
    ("integer", "3.0", 3),
    ("integer", "12345678901234567890123", 12345678901234567890123),
    ("number", "3", 3),
    ("number", "3.0", 3.0),
    ("number", "-.5e2", -50.0),
    *(("boolean", text, True) for text in ("true", "True", "YES", "1", " yes ")),
    *(("boolean", text, False) for text in ("false", "No", "0")),
    ("object", '{"a": [1]}', {"a": [1]}),
    ("array", " [1, null] ", [1, None]),
    (None, "5", "5"),
    (None, "true", "true"),
    (None, "null", "null"),
    (None, '{"a": 1}', {"a": 1}),
    (None, " [1]\n", [1]),
    (None, "[1", "[1"),
    (None, "{not json}", "{not json}"),
    (None, '{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
]


@pytest.mark.parametrize(("kind", "text", "value"), TEXTS)
def test_text_becomes_what_the_type_says(kind: str | None, text: str, value: object) -> None:
    for name in (kind, ALIASES.get(kind)) if kind else (None,):
        spec = {"type": name} if name else {}
        assert repr(prepare_one(spec, text, from_text=True)) == repr(value)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("integer", "3.5", "input 'x' must be an integer, not '3.5'"),
        ("integer", "1e3", "input 'x' must be an integer, not '1e3'"),
        ("integer", "", "input 'x' must be an integer, not ''"),
        ("integer", "1_000", "input 'x' must be an integer, not '1_000'"),
        ("integer", "٣", "input 'x' must be an integer, not '٣'"),
        ("integer", "9" * 5000, f"input 'x' must be an integer, not '{'9' * 58}…"),
        ("number", "abc", "input 'x' must be a number, not 'abc'"),
        ("number", "nan", "input 'x' must be a number, not 'nan'"),
        (
            "number",
            "1e999",
            "input 'x' must be a number, not '1e999'; it is not a number that JSON can hold",
        ),
        ("boolean", "on", "input 'x' must be true or false, not 'on'"),
        (
            "array",
            "a,b",
            "input 'x' must be an array in JSON, such as [\"a\", \"b\"], not 'a,b'; "
            "it is not valid JSON: expecting value at line 1, column 1",
        ),
        (
            "object",
            "",
            "input 'x' must be an object in JSON, such as {\"a\": 1}, not ''; it is empty",
        ),
        ("object", "[1]", "input 'x' must be an object, not '[1]'"),
        ("array", "null", "input 'x' must be an array, not 'null'"),
        (
            "string",
            "\udc80",
            "input 'x' must be a string; it contains half of a surrogate pair, which is not "
            "valid text",
        ),
    ],
)
def test_text_that_does_not_fit_is_told_with_what_would(kind: str, text: str, message: str) -> None:
    assert problem({"type": kind}, text, from_text=True) == message


FITS: list[tuple[str | None, Any]] = [
    ("string", "5"),
    ("number", 5),
    ("number", 5.5),
    ("integer", 5),
    ("integer", 3.0),
    ("boolean", False),
    ("object", {"a": {"b": None}}),
    ("array", []),
    (None, "[1]"),
    (None, None),
    (None, {"a": 1}),
]


@pytest.mark.parametrize(("kind", "value"), FITS)
def test_a_value_that_fits_is_never_changed(kind: str | None, value: object) -> None:
    for name in (kind, ALIASES.get(kind)) if kind else (None,):
        spec = {"type": name} if name else {}
        assert prepare_one(spec, value, from_text=False) is value


def test_what_is_not_text_is_checked_like_a_value_on_the_command_line_too() -> None:
    assert prepare_one({"type": "integer"}, 5, from_text=True) == 5
    message = problem({"type": "string"}, 5, from_text=True)
    assert message == "input 'x' must be a string, not 5"


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("string", 5, "a string, not 5"),
        ("string", None, "a string, not null"),
        ("string", {"password": "hunter2"}, "a string, not an object"),
        ("number", True, "a number, not true"),
        ("number", "5", "a number, not '5'"),
        ("number", math.nan, "a number; it is not a number that JSON can hold"),
        ("integer", 3.5, "an integer, not 3.5"),
        ("integer", False, "an integer, not false"),
        ("integer", math.inf, "an integer; it is not a number that JSON can hold"),
        pytest.param(
            "integer", 10**5000, "an integer; it is too large a number for JSON", id="huge"
        ),
        ("boolean", 1, "a boolean, not 1"),
        ("boolean", "yes", "a boolean, not 'yes'"),
        ("object", [], "an object, not an array"),
        ("array", (1,), "an array; it is of the type tuple, which JSON cannot hold"),
        ("array", '["a"]', "an array, not '[\"a\"]'"),
        ("object", {"a": [{1}]}, "an object; the value at '/a/0' is of the type set, which"),
        (None, b"x", "plain JSON data; it is of the type bytes, which JSON cannot hold"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_what_would(
    kind: str | None, value: object, message: str
) -> None:
    told = problem({"type": kind} if kind else {}, value, from_text=False)
    assert told.startswith(f"input 'x' must be {message}")


@pytest.mark.parametrize(
    ("spec", "accepted"),
    [
        ({}, True),
        ({"required": True}, True),
        ({"type": "string", "required": False}, True),
        ({"type": "string", "required": False, "default": "a"}, True),
        ({"type": "string", "default": None}, True),
        ({"type": "string", "default": "a"}, False),
        ({"type": "string"}, False),
    ],
)
def test_null_is_taken_where_the_author_provided_for_it(
    spec: dict[str, Any], accepted: bool
) -> None:
    if accepted:
        assert prepare_one(spec, None, from_text=False) is None
    else:
        assert problem(spec, None, from_text=False) == "input 'x' must be a string, not null"


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ({"default": 5}, 5),
        ({"default": None}, None),
        ({"default": None, "type": "string"}, None),
        ({"default": "a", "required": True}, "a"),
        ({"default": "5", "type": "integer"}, "5"),
        ({"required": False}, None),
        ({"required": False, "type": "integer"}, None),
    ],
)
@pytest.mark.parametrize("from_text", [True, False])
def test_what_is_not_given_is_its_default_or_null(
    spec: dict[str, Any], value: object, from_text: bool
) -> None:
    assert prepare_inputs({"x": spec}, {}, stdin=None, from_text=from_text) == {"x": value}


def test_a_default_is_not_shared_with_the_workflow() -> None:
    declared: dict[str, Any] = {"x": {"default": [1]}}
    prepare_inputs(declared, {}, stdin=None, from_text=False)["x"].append(2)
    assert declared["x"]["default"] == [1]


@pytest.mark.parametrize("from_text", [True, False])
def test_stdin_goes_to_the_input_that_asks_for_it(from_text: bool) -> None:
    declared: dict[str, Any] = {"a": {"default": 1}, "text": {"stdin": True, "type": "string"}}

    def prepare(given: dict[str, str], stdin: str | None) -> object:
        return prepare_inputs(declared, given, stdin=stdin, from_text=from_text)["text"]

    assert prepare({}, "piped\n") == "piped\n"
    assert prepare({}, "") == ""
    assert prepare({"text": "named"}, "piped") == "named", "explicit wins"
    with pytest.raises(InputError, match="'text' is missing"):
        prepare({}, None)


@pytest.mark.parametrize("from_text", [True, False])
def test_stdin_is_text_that_becomes_what_the_type_says(from_text: bool) -> None:
    declared = {"n": {"stdin": True, "type": "integer"}}
    assert prepare_inputs(declared, {}, stdin="5\n", from_text=from_text) == {"n": 5}
    with pytest.raises(InputError, match="input 'n' must be an integer, not 'five'"):
        prepare_inputs(declared, {}, stdin="five", from_text=from_text)


def test_stdin_that_nobody_asks_for_is_ignored() -> None:
    assert prepare_inputs({"x": {"default": 1}}, {}, stdin="y", from_text=True) == {"x": 1}


def test_everything_that_is_wrong_is_told_at_once() -> None:
    declared: dict[str, Any] = {
        "city": {"type": "string", "description": "Where to look"},
        "units": {"type": "string"},
        "note": {"description": "Anything"},
        "bare": {},
        "days": {"type": "int"},
        "API_KEY": {"required": False},
        "fine": {"default": 1},
    }
    given = {"days": "3.5", "cty": "Oslo", "API-KEY": "s3cret", "zzzzzz": "1"}
    with pytest.raises(InputError) as caught:
        prepare_inputs(declared, given, stdin=None, from_text=True)
    there = "available: city, units, note, bare, days, API_KEY, fine"
    assert str(caught.value).split("\n") == [
        "input 'city' is missing (a string: Where to look)",
        "input 'units' is missing (a string)",
        "input 'note' is missing (Anything)",
        "input 'bare' is missing",
        f"there is no input 'cty' (did you mean 'city'?); {there}",
        f"there is no input 'API-KEY' (did you mean 'API_KEY'?); {there}",
        f"there is no input 'zzzzzz'; {there}",
        "input 'days' must be an integer, not '3.5'",
    ]
    assert [problem.name for problem in caught.value.problems] == [
        *("city", "units", "note", "bare"),
        *("cty", "API-KEY", "zzzzzz"),
        "days",
    ]


def test_a_workflow_without_inputs_says_so() -> None:
    with pytest.raises(InputError, match=r"^there is no input 'x'; this workflow takes none$"):
        prepare_inputs({}, {"x": "1"}, stdin=None, from_text=True)
    assert prepare_inputs({}, {}, stdin=None, from_text=True) == {}


@pytest.mark.parametrize(
    "name",
    ["api_key", "apiKey", "APIKey", "apikey", "password", "DB_PASSWD", "authToken", "secrets"],
)
def test_the_value_of_what_looks_secret_is_never_shown(name: str) -> None:
    for kind in ("integer", "number", "boolean", "array", "object"):
        assert "hunter2" not in problem({"type": kind}, "hunter2", from_text=True, name=name)
    assert "1234567" not in problem({"type": "string"}, 1234567, from_text=False, name=name)


@pytest.mark.parametrize("name", ["monkey", "keyword", "author", "passage", "spin"])
def test_other_names_are_not_taken_for_secrets(name: str) -> None:
    assert "visible" in problem({"type": "integer"}, "visible", from_text=True, name=name)
