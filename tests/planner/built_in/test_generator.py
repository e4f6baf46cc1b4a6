"""The generator as a whole: it never raises, and whatever it plans is valid."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.planner.built_in import BuiltInGenerator
from runtrue.planner.seams import (
    FixRequest,
    GenerationRequest,
    NoFix,
    NoPlan,
    Plan,
    WorkflowGenerator,
)
from tests.planner.built_in.support import Planner

SOURCES = [
    *("http://h/users/5", "http://h/a?x=1&y={z}", "http://h/{id}/p$", "https://h/a$b${c}"),
    *("a.csv", "b.json", "'my ${f}.txt'", "`ls ${HOME}`", "`echo $${x}`"),
]
DESTINATIONS = ["out.json", "o.csv", "o.txt", "'${d} x.txt'", "o.png", "~/${e}"]
WANTS = [
    *("name", "the display name", "login as user", "the company's name", "every title", "id"),
    *("the title of the first item", "how many tags", "${w}", "the status code", "a.b[0]", "é"),
]
CLAUSES = [
    *("fetch <s>", "get <w> and <w> from <s>", "extract <w>, <w> and <w>", "show <w> of <s>"),
    *("post <s> to http://h/x", 'put {"k": ["${v}"]} to <s>', "POST k=${v} to <s> with a='${b}'"),
    *("run <s>", "pipe it into `sort ${x}`", "read <s>", "count the lines", "count <w> in <s>"),
    *("sort it by name", "keep the rows where name = '${v}'", "sum the price column of <s>"),
    *("show the first 3 lines", "save as <d>", "save <w> to <d>", "append '${t}' to <d>"),
    *(
        "fetch http://h/{id}/x with token from $T",
        "send it to <s>",
        "convert <s> to <d>",
        "delete <s>",
    ),
    *("download <s>", "copy <s> to <d>", "then", "and", "save everything in <d>", "count them"),
]


FILLED = {"s": SOURCES, "d": DESTINATIONS, "w": WANTS}


@st.composite
def tasks(draw: st.DrawFn) -> str:
    """A task such as people write, with text that must not become a reference."""
    parts = draw(st.lists(st.sampled_from(CLAUSES), min_size=1, max_size=4))
    task = draw(st.sampled_from([", ", " and ", ", then ", "; ", ". "])).join(parts)
    return re.sub(r"<([sdw])>", lambda found: draw(st.sampled_from(FILLED[found[1]])), task)


#: References that a plan may have: to its inputs, its nodes, and the variables that the task names.
REFERENCE = re.compile(r"(?<!\$)\$\{([^}]*)\}")


def references(value: Any) -> set[str]:
    if isinstance(value, str):
        return {found.partition(".")[0] for found in REFERENCE.findall(value)}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {root for part in inner for root in references(part)}


@given(tasks())
@settings(max_examples=300, deadline=None)
def test_tasks_that_people_write_become_valid_workflows_or_refusals(task: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        planner = Planner(Path(directory))
        answer = planner.answer(task)  # which proves what is planned valid
        if isinstance(answer, NoPlan):
            assert answer.reason
            return
        nodes = answer.workflow["nodes"]
        known = {*answer.workflow.get("inputs", {}), *(node["id"] for node in nodes)}
        # What looks like a reference in the task is text: `v`, `x` and the others are not known.
        params = [{k: v for k, v in node["params"].items() if k != "code"} for node in nodes]
        assert references(params) <= known | {"env"}
        described = asyncio.run(planner.generator.describe(task, answer.workflow))
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", described.name)


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from([*SOURCES, *WANTS, "and", ",", "of"])).map(" ".join)
)
@settings(max_examples=300, deadline=None)
def test_no_text_makes_it_raise(task: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        planner = Planner(Path(directory))
        planner.answer(task)
        asyncio.run(planner.generator.choose(task, ()))
        asyncio.run(planner.generator.fill(task, {"user": {"type": "string"}, "day": {}}))


def test_the_composed_tasks_are_not_all_refused() -> None:
    found = [example_plan(task) for task in ("fetch http://h/users/5, count them", "read a.csv")]
    assert all(isinstance(answer, Plan) for answer in found)


def example_plan(task: str) -> Plan | NoPlan:
    return asyncio.run(BuiltInGenerator().generate(GenerationRequest(task=task, components=())))


def test_it_is_a_generator() -> None:
    generator: WorkflowGenerator = BuiltInGenerator()
    assert generator.name == "built-in"


def test_the_types_that_it_selects_are_those_that_it_uses(planner: Planner) -> None:
    select = planner.generator.select
    task = "fetch http://h/a, count them and save as a.json"
    assert asyncio.run(select(task, planner.tools)).types == ("http", "python", "write-file")
    assert asyncio.run(select("dance", planner.tools)).types == ()


def test_problems_of_its_own_making_are_told_and_not_made_again(planner: Planner) -> None:
    request = GenerationRequest(task="read a.csv", components=(), problems=("/nodes/0: broken",))
    answer = asyncio.run(planner.generator.generate(request))
    assert isinstance(answer, NoPlan)
    assert "/nodes/0: broken" in answer.reason


def test_without_a_finding_nothing_is_fixed(planner: Planner) -> None:
    workflow = planner.plan("fetch http://h/a and extract x").workflow
    request = FixRequest(task="", workflow=workflow, params={}, findings=(), store={})
    assert isinstance(asyncio.run(planner.generator.fix(request)), NoFix)


def test_a_variable_that_is_not_set_is_noted(planner: Planner) -> None:
    assert planner.plan("fetch http://h/a with token $A_TOKEN").notes == (
        "the environment variable A_TOKEN is not set",
    )


@pytest.mark.parametrize(
    ("task", "name", "description"),
    [
        (
            "fetch http://h/users/ada and extract login.",
            "fetch-user",
            "Fetch http://h/users/{user} and extract login",
        ),
        ("POST name=Ada to http://h/users", "post-user", "POST name={name} to http://h/users"),
        ("fetch https://api.example.org", "fetch-example", "Fetch https://api.example.org"),
        ("run `df -h` and save as d.txt", "run-df", "Run `df -h` and save as d.txt"),
        ("sum the price column of sales.csv", "sum-sales", "Sum the price column of {file}"),
        ("show the first 5 lines of /5", "first", "Show the first 5 lines of {file}"),
        ("append 'x' to log.txt", "write-log", "Append 'x' to log.txt"),
        ("copy a.txt to b.txt", "copy-a", "Copy {file} to b.txt"),
        ("run `ls` in .", "run-ls", "Run `ls` in {directory}"),
        ("fetch http://h/a\n extract  x.", "fetch-a", "Fetch http://h/a extract x"),
        (
            "fetch http://h/a with pin=7 and token=7",
            "fetch-a",
            "Fetch http://h/a with pin={pin} and token={token}",
        ),
    ],
)
def test_a_name_that_a_person_would_choose(
    planner: Planner, task: str, name: str, description: str
) -> None:
    described = asyncio.run(planner.generator.describe(task, planner.plan(task).workflow))
    assert (described.name, described.description) == (name, description)
