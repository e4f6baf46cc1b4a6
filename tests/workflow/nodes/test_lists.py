"""The list nodes: filter, pick, sort, take, unique, group, calculate, join."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.workflow import Registry
from runtrue.workflow.nodes.list_values import is_same, matches, number_of, values_of
from tests.workflow.nodes import support

BOOKS = [
    {"title": "Emma", "price": "12.50", "stock": 3, "tags": ["love"], "by": {"name": "Austen"}},
    {"title": "ulysses", "price": "9", "stock": 0, "tags": [], "by": {"name": "Joyce"}},
    {"title": "Dubliners", "price": None, "stock": 7, "tags": ["city"], "by": {"name": "Joyce"}},
]


def run(type_: str, items: Any = BOOKS, **params: Any) -> dict[str, Any]:
    node = Registry.here().node(type_)
    assert node is not None
    return support.run(node, {"items": items, **params}, support.make_context(Path.cwd()))


def fail(type_: str, items: Any = BOOKS, **params: Any) -> NodeFailed:
    node = Registry.here().node(type_)
    assert node is not None
    return support.fail(node, {"items": items, **params}, support.make_context(Path.cwd()))


def titles(outputs: dict[str, Any]) -> list[str]:
    assert outputs["count"] == len(outputs["items"])
    return [book["title"] for book in outputs["items"]]


@pytest.mark.parametrize(
    ("field", "operator", "value", "kept"),
    [
        ("title", "==", "Emma", ["Emma"]),
        ("title", "==", "emma", []),
        ("title", "!=", "Emma", ["ulysses", "Dubliners"]),
        ("stock", ">", 0, ["Emma", "Dubliners"]),
        ("stock", ">=", "3", ["Emma", "Dubliners"]),
        ("stock", "<", 3, ["ulysses"]),
        ("price", "<=", 9, ["ulysses"]),
        ("price", "==", 12.5, ["Emma"]),
        ("price", "empty", None, ["Dubliners"]),
        ("price", "not_empty", None, ["Emma", "ulysses"]),
        ("by.name", "==", "Joyce", ["ulysses", "Dubliners"]),
        ("$.by.name", "in", ["Austen", "Woolf"], ["Emma"]),
        ("title", "contains", "LI", ["Dubliners"]),
        ("title", "starts_with", "U", ["ulysses"]),
        ("title", "ends_with", "rs", ["Dubliners"]),
        ("tags", "contains", "love", ["Emma"]),
        ("tags", "empty", None, ["ulysses"]),
    ],
)
def test_filter_keeps_the_entries_that_fulfil_a_condition(
    field: str, operator: str, value: Any, kept: list[str]
) -> None:
    assert titles(run("filter", field=field, operator=operator, value=value)) == kept


def test_null_is_neither_less_nor_more_than_anything() -> None:
    rows = [{"n": None}, {"n": 1}]
    for operator in ("<", "<=", ">", ">="):
        assert {"n": None} not in run("filter", rows, field="n", operator=operator, value=1)[
            "items"
        ]
    assert run("filter", rows, field="n", value=None)["items"] == [{"n": None}]


def test_sort_orders_texts_that_spell_numbers_as_numbers_and_puts_null_last() -> None:
    assert titles(run("sort", by="price")) == ["ulysses", "Emma", "Dubliners"]
    assert titles(run("sort", by="price", descending=True)) == ["Emma", "ulysses", "Dubliners"]
    assert titles(run("sort", by="title")) == ["Dubliners", "Emma", "ulysses"]
    assert run("sort", [3, 1, 2])["items"] == [1, 2, 3]


@given(st.lists(st.integers() | st.none()))
def test_sort_loses_nothing_and_is_stable(numbers: list[int | None]) -> None:
    rows: list[dict[str, Any]] = [{"n": number, "at": at} for at, number in enumerate(numbers)]
    items = run("sort", rows, by="n")["items"] if any(n is not None for n in numbers) else rows
    assert sorted(row["at"] for row in items) == list(range(len(rows)))
    keys = [(row["n"] is None, row["n"] or 0, row["at"]) for row in items]
    assert keys == sorted(keys)


def test_values_of_several_types_have_no_order() -> None:
    failed = fail("sort", [1, "a", {"b": 1}])
    assert failed.message == "a number and an object and text have no order"


def test_pick_makes_an_object_of_each_entry_with_null_where_it_lacks_a_field() -> None:
    rows = [{"a": {"b": 1}}, {"c": 2}]
    assert run("pick", rows, fields={"x": "a.b", "y": "$.c"})["items"] == [
        {"x": 1, "y": None},
        {"x": None, "y": 2},
    ]


def test_take_gives_the_first_the_last_or_the_one_at_an_index() -> None:
    assert titles(run("take", first=2)) == ["Emma", "ulysses"]
    assert titles(run("take", last=2)) == ["ulysses", "Dubliners"]
    assert titles(run("take", last=9)) == ["Emma", "ulysses", "Dubliners"]
    assert run("take", last=0)["items"] == []
    assert run("take", at=-1)["item"]["title"] == "Dubliners"
    failed = fail("take", [], at=0)
    assert failed.message == "items has 0 entries, [0] is not one of them"
    assert fail("take").message == "give one of: first, last, at"


def test_unique_and_group_go_by_a_field() -> None:
    assert titles(run("unique", by="by.name")) == ["Emma", "ulysses"]
    assert run("unique", [1, 2, 1])["items"] == [1, 2]
    groups = run("group", by="by.name")["items"]
    assert [(group["key"], group["count"]) for group in groups] == [("Austen", 1), ("Joyce", 2)]
    assert groups[1]["items"] == BOOKS[1:]


@pytest.mark.parametrize(
    ("operation", "field", "value"),
    [
        ("count", None, 3),
        ("count", "price", 2),
        ("sum", "stock", 10),
        ("sum", "price", 21.5),
        ("average", "price", 10.75),
        ("min", "stock", 0),
        ("max", "price", "12.50"),
        ("max", "title", "ulysses"),
    ],
)
def test_calculate_leaves_nulls_out(operation: str, field: str | None, value: Any) -> None:
    assert run("calculate", operation=operation, field=field) == {"value": value}


def test_calculate_says_what_is_no_number_and_where() -> None:
    failed = fail("calculate", operation="sum", field="title")
    assert failed.message == "entry 0 is text and not a number"
    assert fail("calculate", [], operation="average").message.startswith("there is no value")
    assert run("calculate", [], operation="sum") == {"value": 0}


def test_join_makes_one_text() -> None:
    assert run("join", field="title") == {"text": "Emma, ulysses, Dubliners"}
    assert run("join", [1, None, "b"], separator="-") == {"text": "1-b"}


def test_a_field_that_no_entry_has_is_named_with_what_there_is() -> None:
    failed = fail("sort", by="prize")
    assert isinstance(failed, RuntimeValidationError)
    assert failed.category == "missing_field"
    assert failed.attempted == ("prize",)
    assert failed.available == ("by", "price", "stock", "tags", "title")
    assert "did you mean price?" in failed.message


def test_items_may_be_text_or_an_object_and_nothing_else() -> None:
    assert run("take", json.dumps([1, 2]), first=1)["items"] == [1]
    assert run("take", {"a": 1, "b": 2}, last=1)["items"] == [2]
    assert fail("take", "nothing", first=1).message == "items is text, not a list"
    assert fail("take", None, first=1).message == "items is null, not a list"


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text())
def test_every_value_is_the_same_as_itself_and_compares_without_an_error(value: Any) -> None:
    assert is_same(value, value) or (isinstance(value, float) and number_of(value) is None)
    for operator in ("==", "!=", "contains", "starts_with", "ends_with", "empty", "not_empty"):
        assert isinstance(matches(value, operator, value), bool)


def test_a_field_in_a_list_of_each_entry_is_a_list_of_each_entry() -> None:
    rows = [{"parts": [{"name": "egg"}, {"name": "oil"}]}, {"parts": [{"name": "rice"}]}]
    entries = values_of("field", "$.parts[*].name", rows)
    assert entries == [["egg", "oil"], ["rice"]]
