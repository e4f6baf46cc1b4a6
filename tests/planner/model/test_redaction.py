"""Structures: every line is a path that leads to what it says, however odd the data is."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.planner.model.redaction import as_json, redact_workflow, restored, structure
from runtrue.workflow import Missing, Path, PathSyntaxError, parse_path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (None, ["$ (null)"]),
        ({"a": None}, ["$ (object, 1 keys)", "$.a (null)"]),
        (
            {"a b": [True]},
            ["$ (object, 1 keys)", "$['a b'] (list of 1)", "$['a b'][0] (boolean): true"],
        ),
        ([1.5, 2, 3], ["$ (list of 3)", "$[0] (number): 1.5", "$[1] (integer): 2"]),
        ("x" * 100, [f'$ (string): "{"x" * 80}…"']),
        ('{"a": "b"}', ["$ (object, 1 keys)", '$.a (string): "b"']),
        (
            {"token": "t", "n": 1},
            ["$ (object, 2 keys)", "$.token (string): [redacted]", "$.n (integer): 1"],
        ),
    ],
)
def test_each_path_is_told_with_its_type_and_a_little_of_its_value(
    value: Any, lines: list[str]
) -> None:
    assert structure(value).splitlines() == lines


def test_what_is_near_the_top_is_told_first_and_the_rest_is_counted_as_more() -> None:
    wide = {f"k{n}": {f"m{m}": m for m in range(9)} for n in range(50)}
    lines = structure(wide, "fetch").splitlines()
    assert lines[1:51] == [f"fetch.k{n} (object, 9 keys)" for n in range(50)]
    assert len(lines) == 201
    assert lines[-1] == "… and more"


@given(JSON)
def test_every_path_leads_somewhere(value: Any) -> None:
    for line in structure(value).split("\n"):
        if line != "… and more":
            assert not isinstance(_path_of(line).find(value), Missing), line


def _path_of(line: str) -> Path:
    """The path at the beginning of a line; a quoted name may hold what ends one elsewhere."""
    for end in (found.start() for found in re.finditer(r" \(", line)):
        with suppress(PathSyntaxError):
            return parse_path(line[:end])
    raise AssertionError(line)


@given(JSON)
def test_what_was_hidden_is_put_back_where_it_stood(value: Any) -> None:
    workflow = {"nodes": [{"id": "a", "params": {"password": value, "x": value}}]}
    if "[redacted]" not in json.dumps(value):
        assert restored(redact_workflow(workflow), workflow) == workflow


def test_declarations_and_references_name_secrets_and_are_none() -> None:
    workflow = {
        "inputs": {"token": {"type": "string", "description": "the key", "default": "hunter2"}},
        "nodes": [
            {
                "id": "a",
                "params": {
                    "auth_token": "${token}",
                    "headers": {"Authorization": "Bearer ${env.KEY}"},
                    "extract": {"token": "$.data.token"},
                    "password": "hunter2",
                },
            }
        ],
        "outputs": {"token": {"source": "is ${a.extracted.token}"}},
    }
    seen = redact_workflow(workflow)
    assert "hunter2" in json.dumps(workflow)
    text = json.dumps(workflow).replace("hunter2", "[redacted]")
    assert seen == json.loads(text)


def test_what_is_nested_without_end_is_not_shown() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    assert "nested too deeply" in as_json(deep)
    assert structure(deep).count("\n") == 10
