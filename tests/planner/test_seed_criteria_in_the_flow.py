"""Seed 000's criteria about actions, each by its number, through the whole default flow.

Who plans is a stand-in that gives one workflow; everything else is the flow that `runtrue do` runs,
with real HTTP and MCP servers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runtrue.planner.built_in import BuiltInGenerator
from runtrue.planner.context import PlannerContext
from runtrue.planner.seams import FixedWorkflow, FixRequest, GenerationRequest, NoFix, NoPlan, Plan
from tests.planner.api import TORVALDS, Api, Reply
from tests.planner.support import Heard, fetch, plan
from tests.planner.test_seed_criteria import WRONG, ask_time, show_user

USER = "GET /users/torvalds"


class Given(BuiltInGenerator):
    """Plans this very workflow, and fixes it as the test says."""

    def __init__(
        self,
        workflow: dict[str, Any],
        fixed: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        super().__init__()
        self.workflow = workflow
        self.fixed = fixed
        self.asked: list[FixRequest] = []

    async def generate(self, request: GenerationRequest) -> Plan | NoPlan:
        return Plan(workflow=self.workflow)

    async def fix(self, request: FixRequest) -> FixedWorkflow | NoFix:
        self.asked.append(request)
        if self.fixed is None:
            return NoFix(reason="this one fixes nothing")
        return FixedWorkflow(workflow=self.fixed(request.workflow), fixer="stand-in")


Make = Callable[[Api], dict[str, Any]]


def user(api: Api) -> str:
    return api.on(USER, TORVALDS)


def private(api: Api) -> dict[str, Any]:
    return fetch(api.on("GET /private", {}, status=401))


def mixed(api: Api) -> dict[str, Any]:
    handled = {**private(api)["nodes"][0], "id": "private", "on_error": "continue"}
    return {"nodes": [handled, *fetch(user(api), WRONG)["nodes"]]}


@pytest.mark.parametrize(
    ("make", "action"),
    [
        pytest.param(lambda api: fetch(user(api)), "default", id="01 simple GET"),
        pytest.param(lambda api: fetch(user(api), WRONG), "runtime_fix", id="02 exception"),
        pytest.param(
            lambda api: ask_time("Nowhere/Land", on_error="continue"),
            "runtime_fix",
            id="03 namespaced error",
        ),
        pytest.param(
            lambda api: show_user(user(api), "${fetch.response.username}"),
            "runtime_fix",
            id="04 missing template path",
        ),
        pytest.param(private, "failed_runtime", id="07 auth"),
        pytest.param(
            lambda api: show_user(user(api), "${fetch.response.login}"),
            "default",
            id="08 no issues",
        ),
        pytest.param(
            lambda api: fetch(user(api), {"name": "$.login"}), "default", id="09 extract succeeds"
        ),
        pytest.param(lambda api: ask_time("Tokyo"), "runtime_fix", id="11 tool error"),
        pytest.param(mixed, "runtime_fix", id="15 mixed issues"),
        pytest.param(
            lambda api: fetch(api.on("GET /page", Reply(b"<p>", content_type="text/html")), WRONG),
            "failed_runtime",
            id="16 not JSON",
        ),
    ],
)
def test_the_flow_takes_the_action_of_the_criterion(
    context: PlannerContext, api: Api, make: Make, action: str
) -> None:
    context.given = stand_in = Given(make(api))
    heard = Heard()
    shared = plan(context, "whatever this is for", (heard,))
    output = shared["planner_output"]
    assert output["success"] is (action == "default")
    # 06, 13: counted on each runtime fix, and on nothing else.
    assert shared["runtime_attempts"] == (1 if action == "runtime_fix" else 0)
    assert shared["generation_attempts"] == 0
    # 05, 10, 14: what was wrong reaches the generator, and the result says it.
    assert bool(stand_in.asked) is (action == "runtime_fix")
    assert bool(output["runtime_errors"]) is (action != "default")
    visited = [event.origin for event in heard if event.kind == "node_started"]
    assert visited.count("runtime_validation") == 1
    assert ("parameter_preparation" in visited) is (action == "default")
    assert visited[-1] == "result_preparation"


def test_06_07_13_fixes_are_counted_until_three_are_spent(
    context: PlannerContext, api: Api
) -> None:
    tries = iter(["$.a", "$.b", "$.c", "$.login"])

    def fixed(workflow: dict[str, Any]) -> dict[str, Any]:
        path = next(tries)
        return fetch(api.url("/users/torvalds"), dict.fromkeys(WRONG, path))

    context.given = stand_in = Given(fetch(user(api), WRONG), fixed)
    shared = plan(context, "whatever this is for")
    assert not shared["planner_output"]["success"]
    assert shared["runtime_attempts"] == len(stand_in.asked) == 3
    assert "all 3 fixes are used up" in shared["planner_output"]["error"]
    assert api.count(USER) == 1


def test_12_what_is_statically_wrong_never_gets_to_run(context: PlannerContext, api: Api) -> None:
    context.given = Given({"nodes": [{"id": "a", "type": "http", "params": {"uri": user(api)}}]})
    heard = Heard()
    shared = plan(context, "whatever this is for", (heard,))
    assert not shared["planner_output"]["success"]
    assert shared["generation_attempts"] == 3
    assert "runtime_validation" not in {event.origin for event in heard}
    assert api.asked == []


def test_14_what_was_fixed_is_run_and_what_was_wrong_is_forgotten(
    context: PlannerContext, api: Api
) -> None:
    right = fetch(user(api), {"username": "$.login", "biography": "$.bio"})
    context.given = Given(fetch(user(api), WRONG), lambda workflow: right)
    shared = plan(context, "whatever this is for")
    assert shared["planner_output"]["success"]
    assert shared["planner_output"]["runtime_errors"] == []
    assert shared["planner_output"]["workflow_ir"]["nodes"] == right["nodes"]
    assert "runtime_errors" not in shared
    assert api.count(USER) == 1
