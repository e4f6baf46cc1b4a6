"""A workflow gives what it declares; without that, what its last node gave."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.errors import RuntimeValidationError
from runtrue.flow import RunState
from tests.workflow.support import Bench, Durable, flow, node

GIVES = node("a", "give", outputs={"x": {"y": [1, None]}, "text": "t"})
LAST = node("b", value="last")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("${a.x}", {"y": [1, None]}),
        ("a.x", {"y": [1, None]}),
        ("a.x.y[0]", 1),
        ("${a.x.y[1]}", None),
        ("${a.text} and ${b.value}", "t and last"),
        ("${a}", {"x": {"y": [1, None]}, "text": "t"}),
        ("${in}", 5),
        ("in", 5),
        ("$${a.x}", "${a.x}"),
    ],
)
def test_an_output_comes_from_its_source(bench: Bench, source: str, value: Any) -> None:
    outputs = {"out": {"source": source, "description": "d"}}
    result = bench.run(flow(GIVES, LAST, inputs={"in": {}}, outputs=outputs), {"in": 5})
    assert result.outputs == {"out": value}
    assert result.status is RunState.PASSED


def test_without_a_source_it_is_the_latest_of_its_name(bench: Bench) -> None:
    twice = node("c", "give", outputs={"x": 2})
    ir = flow(GIVES, twice, LAST, outputs={"x": {}, "text": {}, "value": {}, "none": {}})
    assert bench.run(ir).outputs == {"x": 2, "text": "t", "value": "last"}


def test_without_any_they_are_those_of_the_last_node(bench: Bench) -> None:
    assert bench.run(flow(LAST, GIVES)).outputs == {"x": {"y": [1, None]}, "text": "t"}
    branches = flow(GIVES, LAST, node("c", value="other"), edges=[("a", "c"), ("a", "b", "no")])
    assert bench.run(branches).outputs == {"value": "other"}


def test_the_last_node_is_the_one_that_finished_last(bench: Bench) -> None:
    again = node("a", "give", action="again", times=2, outputs={"x": 1})
    ir = flow(again, LAST, edges=[("a", "b", "again"), ("b", "a")])
    assert bench.run(ir).outputs == {"x": 1}


@pytest.mark.parametrize(
    "source", ["${skipped.value}", "skipped.value", "${b.value} ${skipped.value}"]
)
def test_an_output_of_a_branch_that_did_not_run_is_left_out(bench: Bench, source: str) -> None:
    ir = flow(
        GIVES,
        LAST,
        node("skipped", value=1),
        edges=[("a", "b"), ("a", "skipped", "other")],
        outputs={"out": {"source": source}, "there": {"source": "b.value"}},
    )
    assert bench.run(ir).outputs == {"there": "last"}


WRONG = flow(GIVES, LAST, outputs={"out": {"source": "${a.x.z}"}, "there": {"source": "b.value"}})


def test_an_output_that_its_node_ran_without_is_an_error_of_the_workflow(bench: Bench) -> None:
    result = bench.run(WRONG)
    error = result.error
    assert type(error) is RuntimeValidationError
    assert error.message == "output 'out': ${a.x.z}: 'z' is not in a.x; available there: y"
    assert (error.attempted, error.available, error.node_id) == (("${a.x.z}",), ("y",), None)
    assert (result.status, result.outputs, list(result.store)) == (RunState.FAILED, {}, ["a", "b"])


def test_so_it_is_in_a_report_of_a_run_that_is_over(durable: Durable) -> None:
    run = durable.drive(durable.start(WRONG))
    assert (run.state, run.is_over) == (RunState.FAILED, True)
    report = run.result
    assert report is not None
    assert (report["status"], report["result"], report["resumable"]) == ("failed", {}, False)
    assert [n["status"] for n in report["nodes"]] == ["passed", "passed"]
    (finding,) = report["findings"]
    assert (finding["source"], finding["attempted"], finding["available"]) == (
        "outputs",
        ["${a.x.z}"],
        ["y"],
    )
