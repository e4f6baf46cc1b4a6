"""The sentence that says what a plan does."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.planner.describe_plan import describe_plan

FETCH = {"id": "fetch", "type": "http", "params": {"url": "http://h/${what}"}}


@pytest.mark.parametrize(
    ("type_", "params", "said"),
    [
        ("filter", {"field": "$.role", "operator": "==", "value": "pilot"}, "role is pilot"),
        ("filter", {"field": "$.n", "operator": ">", "value": 5}, "n is more than 5"),
        ("filter", {"field": "$.due", "operator": "<", "value": "2025-07"}, "is before 2025-07"),
        ("filter", {"field": "$.crop", "operator": "in", "value": ["rye", "oats"]}, "rye and oats"),
        ("filter", {"field": "$.tags", "operator": "empty", "value": None}, "tags is empty"),
        ("sort", {"by": "$.n", "descending": True}, "sort by n, in descending order"),
        ("take", {"at": 1}, "take the second"),
        ("take", {"first": 3}, "take the first 3"),
        ("pick", {"fields": {"a": "$.a", "b": "$.b.c", "d": "$.d"}}, "take a, b.c and d of each"),
        ("group", {"by": "$.state"}, "group by state, count them in each group"),
        ("calculate", {"operation": "sum", "field": "$.kwh"}, "add up kwh"),
        ("calculate", {"operation": "count"}, "count them"),
        ("unique", {"by": "$.zone"}, "keep one of each zone"),
    ],
)
def test_each_step_is_said_in_plain_words(type_: str, params: dict[str, Any], said: str) -> None:
    nodes = [FETCH, {"id": "step", "type": type_, "params": params}]
    sentence = describe_plan({"nodes": nodes, "outputs": {"result": {}}}, {"what": "items"})
    assert sentence.startswith("GET http://h/items, ")
    assert sentence.endswith("; give result")
    assert said in sentence
