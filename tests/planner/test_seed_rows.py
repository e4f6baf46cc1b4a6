"""Seed 000, the rows that earlier editions missed, each named after its rule."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.planner.context import PlannerContext
from tests.planner.api import TORVALDS, Api
from tests.planner.support import fetch, plan, validate


def shell(command: str, name: str = "step", **params: Any) -> dict[str, Any]:
    return {"id": name, "type": "shell", "params": {"command": command, **params}}


@pytest.mark.parametrize("ir", [None, "nodes: []", [{"id": "a"}], 7])
def test_error_handling_an_ir_that_cannot_be_parsed_is_failed_runtime(
    context: PlannerContext, ir: object
) -> None:
    validated = validate(context, {}, generated_workflow=ir)
    assert validated.action == "failed_runtime"
    assert validated.shared["runtime_attempts"] == 0


@pytest.mark.parametrize("reference", ["${nope}", "${nope.field}", "see ${nope}"])
def test_rule_04_a_name_without_a_node_is_no_missing_output_path(
    context: PlannerContext, reference: str
) -> None:
    """Nothing that a fix may change could lead to it."""
    validated = validate(context, {"nodes": [shell("cat", stdin=reference)]})
    assert validated.action == "failed_runtime"
    assert [error["fault"] for error in validated.errors] == ["strategy"]
    assert "no node or input has that name" in validated.errors[0]["message"]


def test_rule_04_an_input_and_an_item_of_a_batch_are_names(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    each = {
        "id": "each", "type": "shell", "params": {"command": "cat", "stdin": "${item.nam}"},
        "batch": {"items": [{"name": "a"}]},
    }  # fmt: skip
    workflow = {"inputs": {"city": {}}, "nodes": [*fetch(url)["nodes"], each]}
    validated = validate(context, workflow, {"city": "Oslo"})
    assert validated.action == "runtime_fix"


@pytest.mark.parametrize(
    "node",
    [
        shell("exit 3"),
        shell("exit 3", env={"A": "b"}),
        {"id": "step", "type": "python", "params": {"code": "1 / 0"}},
        {"id": "step", "type": "python", "params": {"code": "import sys; sys.exit(4)"}},
    ],
    ids=["exit code", "exit code with variables", "exception", "exit of python"],
)
def test_rule_07_a_failure_with_nothing_to_correct_is_fatal(
    context: PlannerContext, node: dict[str, Any]
) -> None:
    validated = validate(context, {"nodes": [node]})
    assert validated.action == "failed_runtime"
    assert not validated.errors[0]["fixable"]
    assert validated.shared["runtime_attempts"] == 0


def test_rule_06_a_program_that_was_given_the_wrong_part_of_an_answer_can_be_fixed(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    given = {"data": "${fetch.response}"}
    code = {"id": "step", "type": "python", "params": {"code": "data[0]", "inputs": given}}
    assert validate(context, {"nodes": [*fetch(url)["nodes"], code]}).action == "runtime_fix"
    read = shell("grep -q zebra", stdin="${fetch.response.company}")
    assert validate(context, {"nodes": [*fetch(url)["nodes"], read]}).action == "runtime_fix"


def test_rule_15_a_fixable_issue_beside_a_program_that_failed_is_fixed(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    failing = {**shell("exit 3", "first"), "on_error": "continue"}
    workflow = {"nodes": [failing, *fetch(url, {"username": "$.username"})["nodes"]]}
    validated = validate(context, workflow)
    assert validated.action == "runtime_fix"
    assert {error["fixable"] for error in validated.errors} == {True, False}


def test_non_functional_the_limit_is_for_all_runs_of_a_validation_together(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    validated = validate(context, fetch(url), seconds_spent=context.seconds)
    assert validated.action == "failed_runtime"
    assert validated.categories == ["deadline"]


def test_non_functional_the_runs_before_a_fix_count(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    shared = plan(context, f"fetch {url} and extract username and biography")
    runs = [verdict.seconds for one in shared["history"].attempts for verdict in one.verdicts]
    assert len(runs) == 2
    assert shared["seconds_spent"] == pytest.approx(sum(runs))


def test_non_functional_no_prompt_without_a_fix(context: PlannerContext, api: Api) -> None:
    shared = plan(context, "run `exit 3`")
    assert shared["planner_output"]["success"] is False
    assert shared["runtime_attempts"] == 0
