"""A fix does not leave what the task names: this very user, this id."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.planner.bounds import violations
from runtrue.planner.context import PlannerContext
from tests.planner.support import fetch

TASK = "get user torvalds with id 7 from http://api.example and extract the name"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"url": "http://api.example/users/torvalds"}, {"url": "http://api.example/users/ada"}),
        ({"url": "http://api.example/users/7"}, {"url": "http://api.example/users/8"}),
        ({"url": "http://api.example/users/7"}, {"url": "http://api.example/users/8?old=7"}),
        ({"url": "http://api.example/u?id=7"}, {"url": "http://api.example/u?id=8"}),
        (
            {"url": "http://api.example/u", "params": {"id": 7}},
            {"url": "http://api.example/u", "params": {"id": 8}},
        ),
        (
            {"url": "http://api.example/u", "json": {"login": "torvalds"}},
            {"url": "http://api.example/u", "json": {"login": "ada"}},
        ),
        ({"url": "http://api.example/u/${user}"}, {"url": "http://api.example/u/ada?x=${user}"}),
    ],
)
def test_another_resource_is_refused(
    context: PlannerContext, before: dict[str, Any], after: dict[str, Any]
) -> None:
    found = violations(fetch(**before), fetch(**after), context.registry, (), TASK)
    assert any("which the task names" in violation for violation in found), found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"url": "http://api.example/users/torvalds"}, {"url": "http://api.example/user/torvalds"}),
        ({"url": "http://api.example/u?user=7"}, {"url": "http://api.example/u?id=7"}),
        (
            {"url": "http://api.example/u", "json": {"user": "torvalds"}},
            {"url": "http://api.example/u", "json": {"login": "torvalds"}},
        ),
        ({"url": "http://api.example/v1/torvalds"}, {"url": "http://api.example/v2/torvalds"}),
    ],
)
def test_the_same_resource_may_be_asked_for_in_another_way(
    context: PlannerContext, before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert violations(fetch(**before), fetch(**after), context.registry, (), TASK) == ()
