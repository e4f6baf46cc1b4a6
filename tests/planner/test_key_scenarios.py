"""Seed 001: its key scenarios through the default flow, with no model and real HTTP servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from runtrue.planner.built_in import BuiltInGenerator
from runtrue.planner.context import PlannerContext
from runtrue.planner.seams import FixedWorkflow, FixRequest, NoFix
from tests.planner.api import TORVALDS, Api, Reply
from tests.planner.support import Heard, plan

USER = "GET /users/torvalds"


@pytest.mark.parametrize(
    ("wanted", "body", "result"),
    [
        ("username", TORVALDS, {"username": "torvalds"}),
        (
            "username and biography",
            TORVALDS,
            {"username": "torvalds", "biography": TORVALDS["bio"]},
        ),
        (
            "username",
            {"data": {"user": {"username": "torvalds", "id": 7}}},
            {"username": "torvalds"},
        ),
        (
            "the title of the first item",
            {"data": [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}], "total": 2},
            {"title": "One"},
        ),
        (
            "the title of the first item",
            [{"id": 1, "headline": "One"}, {"id": 2, "headline": "Two"}],
            {"title": "One"},
        ),
    ],
    ids=["simple mismatch", "several at once", "nested", "array", "array and name"],
)
def test_a_wrong_guess_is_fixed_in_a_single_fix(
    context: PlannerContext, api: Api, wanted: str, body: Any, result: dict[str, Any]
) -> None:
    url = api.on(USER, body)
    shared = plan(context, f"fetch {url} and extract {wanted}")
    assert shared["planner_output"]["success"], shared["planner_output"]
    assert shared["planner_output"]["result"] == result
    assert shared["runtime_attempts"] <= 1
    assert api.count(USER) == 1


def test_html_instead_of_json_cannot_be_corrected(context: PlannerContext, api: Api) -> None:
    url = api.on(USER, Reply(b"<html></html>", content_type="text/html"))
    shared = plan(context, f"fetch {url} and extract username")
    output = shared["planner_output"]
    assert not output["success"]
    assert [error["category"] for error in output["runtime_errors"]] == ["not_json"]
    assert shared["runtime_attempts"] == 0


@dataclass
class Scripted(BuiltInGenerator):
    """Plans as the built-in one does; what it proposes after a run is laid down."""

    proposals: list[Callable[[dict[str, Any]], dict[str, Any]]] = field(default_factory=list)
    asked: list[FixRequest] = field(default_factory=list)

    def __init__(self, *proposals: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        super().__init__()
        self.proposals = list(proposals)
        self.asked = []

    async def fix(self, request: FixRequest) -> FixedWorkflow | NoFix:
        self.asked.append(request)
        if not self.proposals:
            return NoFix(reason="the script is at its end")
        return FixedWorkflow(workflow=self.proposals.pop(0)(request.workflow), fixer="script")


def reading(path: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Extract the first wanted value from there."""

    def propose(workflow: dict[str, Any]) -> dict[str, Any]:
        first, *rest = workflow["nodes"]
        params = {**first["params"], "extract": dict.fromkeys(first["params"]["extract"], path)}
        return {**workflow, "nodes": [{**first, "params": params}, *rest]}

    return propose


def test_after_three_fixes_the_retries_are_exhausted(context: PlannerContext, api: Api) -> None:
    url = api.on(USER, TORVALDS)
    context.given = script = Scripted(*map(reading, ["$.a", "$.b", "$.c", "$.login"]))
    shared = plan(context, f"fetch {url} and extract username")
    assert not shared["planner_output"]["success"]
    assert shared["runtime_attempts"] == 3
    assert [attempt.number for attempt in shared["history"].attempts] == [1, 2, 3, 4]
    assert len(script.asked) == 3, "the fix that would have helped is never asked for"
    assert api.count(USER) == 1


def test_a_fix_that_succeeds_leaves_no_trace_of_the_failure(
    context: PlannerContext, api: Api
) -> None:
    url = api.on(USER, TORVALDS)
    context.given = Scripted(reading("$.nope"), reading("$.login"))
    shared = plan(context, f"fetch {url} and extract username")
    assert shared["planner_output"]["success"]
    assert shared["planner_output"]["runtime_errors"] == []
    assert "runtime_errors" not in shared


def other_host(workflow: dict[str, Any]) -> dict[str, Any]:
    first, *rest = workflow["nodes"]
    params = {**first["params"], "url": "http://127.0.0.1:1/elsewhere"}
    return {**workflow, "nodes": [{**first, "params": params}, *rest]}


def one_more_node(workflow: dict[str, Any]) -> dict[str, Any]:
    more = {"id": "more", "type": "shell", "params": {"command": "echo owned"}}
    return {**workflow, "nodes": [*workflow["nodes"], more]}


def nothing_wanted(workflow: dict[str, Any]) -> dict[str, Any]:
    first, *rest = workflow["nodes"]
    params = {name: value for name, value in first["params"].items() if name != "extract"}
    return {**workflow, "nodes": [{**first, "params": params}, *rest]}


def as_it_was(workflow: dict[str, Any]) -> dict[str, Any]:
    return workflow


@pytest.mark.parametrize("proposal", [other_host, one_more_node, nothing_wanted, as_it_was])
def test_a_proposal_that_goes_too_far_is_not_run_and_the_generator_told_why(
    context: PlannerContext, api: Api, proposal: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    url = api.on(USER, TORVALDS)
    context.given = script = Scripted(proposal, reading("$.login"))
    heard = Heard()
    shared = plan(context, f"fetch {url} and extract username", (heard,))
    assert shared["planner_output"]["success"]
    assert len(script.asked[1].rejected) >= 1
    assert heard.of("fix_rejected")[0]["reasons"] == list(script.asked[1].rejected)
    assert shared["runtime_attempts"] == 1, "a proposal that is not run is no attempt"


def test_a_workflow_that_has_failed_is_not_run_again(context: PlannerContext, api: Api) -> None:
    url = api.on(USER, TORVALDS)
    context.given = script = Scripted(
        reading("$.a"), reading("$.username"), reading("$.a"), reading("$.login")
    )
    shared = plan(context, f"fetch {url} and extract username")
    assert shared["planner_output"]["success"]
    assert [attempt.passed for attempt in shared["history"].attempts] == [False, False, True]
    assert len(script.asked) == 4


def test_a_generator_that_never_gives_anything_usable_is_not_asked_for_ever(
    context: PlannerContext, api: Api
) -> None:
    url = api.on(USER, TORVALDS)
    context.given = script = Scripted(*[one_more_node] * 20)
    shared = plan(context, f"fetch {url} and extract username")
    assert not shared["planner_output"]["success"]
    assert "no proposal could be run" in shared["planner_output"]["error"]
    assert len(script.asked) == 3
