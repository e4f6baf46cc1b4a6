"""Saved workflows: which one a task is about, and what it says for its inputs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtrue.planner.seams import Plan, SavedWorkflow
from runtrue.workflow import WorkflowStore, run_workflow
from tests.planner.built_in.support import Planner

USER = SavedWorkflow(
    name="fetch-user",
    description="Fetch http://h/users/{user} and extract username and biography",
    inputs={"user": {"type": "string", "default": "ada"}},
)
TIME = SavedWorkflow(
    name="get-current-time",
    description="Ask the time server for the time in Tokyo",
    inputs={"timezone": {"type": "string", "description": "IANA timezone name"}},
)
REPORT = SavedWorkflow(
    name="weekly-report",
    description="Write the sales report of a week",
    inputs={"week": {"type": "integer"}, "draft": {"type": "boolean", "required": False}},
)
SAVED = (USER, TIME, REPORT)


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("run fetch-user", "fetch-user"),
        ("run fetch-user with user=bob", "fetch-user"),
        ("Run weekly-report with week=3 and draft=true.", "weekly-report"),
        ("fetch http://h/users/bob and extract username and biography", "fetch-user"),
        ("FETCH  http://h/users/ada and extract username and biography.", "fetch-user"),
        ("weekly report week=7", "weekly-report"),
        ("write the weekly sales report for week 12", "weekly-report"),
        ("ask the time server for the time in Paris", "get-current-time"),
        ("run fetch-user and save as a.json", None),
        ("run fetch-user twice", None),
        ("fetch http://h/users/bob and extract username", None),
        ("fetch http://other/users/bob and extract username and biography", None),
        ("write the weekly sales report and mail it to bob", None),
        ("report", None),
        ("fetch user", "fetch-user"),
        ("delete the weekly report week=7", None),
        ("", None),
    ],
)
def test_a_workflow_is_chosen_when_it_accounts_for_every_word(
    planner: Planner, task: str, name: str | None
) -> None:
    assert asyncio.run(planner.generator.choose(task, SAVED)).workflow == name


def test_of_two_that_could_be_meant_none_is_chosen(planner: Planner) -> None:
    other = SavedWorkflow(name="report-weekly", description="", inputs=REPORT.inputs)
    choice = asyncio.run(planner.generator.choose("weekly report week=7", (REPORT, other)))
    assert choice.workflow is None
    assert "weekly-report" in choice.reason
    assert "report-weekly" in choice.reason


@pytest.mark.parametrize(
    ("task", "inputs", "values"),
    [
        ("run it with week=3 draft=yes", REPORT.inputs, {"week": 3}),
        ("write the report for week 12", REPORT.inputs, {"week": 12}),
        ("fetch http://h/users/bob and extract username", USER.inputs, {"user": "bob"}),
        ("the time in Paris", TIME.inputs, {"timezone": "Europe/Paris"}),
        ("run it", USER.inputs, {}),
    ],
)
def test_inputs_are_filled_with_what_the_task_says(
    planner: Planner, task: str, inputs: dict[str, dict[str, Any]], values: dict[str, Any]
) -> None:
    assert asyncio.run(planner.generator.fill(task, inputs)).values == values


def test_a_saved_workflow_is_a_step_among_others(planner: Planner) -> None:
    store = WorkflowStore(planner.registry.home)
    inner = planner.plan("run `echo ada`").workflow
    inner["inputs"] = {"who": {"type": "string"}}
    inner["nodes"][0]["params"]["command"] = "echo ${who}"
    store.save("greet", inner)
    saved = (SavedWorkflow(name="greet", inputs=inner["inputs"]),)
    answer = planner.plan("run greet with who=bob and save as a.json", saved)
    assert isinstance(answer, Plan)
    run_workflow(answer.workflow, answer.params, registry=planner.registry, environment={})
    assert (planner.path / "a.json").read_text() == '{\n  "stdout": "bob"\n}'
    asked = planner.plan("run greet, then save it as a.json", saved)
    assert asked.params == {}
    assert list(asked.workflow["inputs"]) == ["who"]
    assert "'loudly'" in planner.answer("run greet loudly and save as a.json", saved).reason  # type: ignore[union-attr]
