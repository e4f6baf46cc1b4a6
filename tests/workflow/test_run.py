"""A workflow runs in memory or durably, to its end or its first failure, and nothing is mended."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from runtrue.errors import (
    FlowChanged,
    InvalidWorkflow,
    NodeFailed,
    RuntimeValidationError,
    SideEffectInterrupted,
)
from runtrue.flow import RunState, replay
from runtrue.workflow import (
    KIND,
    InputError,
    WorkflowResult,
    WorkflowStore,
    compile_workflow,
    execute_workflow,
    load_workflow,
    prepare_workflow,
    run_workflow,
    start_workflow,
)
from tests.workflow.support import Bench, Durable, flow, node

CITY = flow(node("a", value="${city}"), inputs={"city": {"type": "string"}, "n": {"default": 3}})


# -- in memory ----------------------------------------------------------------------------------


def test_a_run_gives_its_outputs_and_its_store(bench: Bench) -> None:
    result = bench.run(CITY, {"city": "Bonn"})
    assert result == WorkflowResult(
        RunState.PASSED, {"value": "Bonn"}, {"city": "Bonn", "n": 3, "a": {"value": "Bonn"}}
    )
    assert result.passed


def test_nothing_runs_with_inputs_that_do_not_fit(bench: Bench) -> None:
    with pytest.raises(InputError, match="input 'city' is missing"):
        bench.run(CITY)
    with pytest.raises(InputError, match="input 'city' must be a string"):
        bench.run(CITY, {"city": 5})
    assert bench.calls == []


def test_nothing_runs_of_a_workflow_with_problems(bench: Bench) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        bench.run(flow(node("a", value=1), node("b")))
    assert caught.value.problems == bench.problems(flow(node("a", value=1), node("b")))
    assert bench.calls == []


def test_it_runs_from_within_a_running_loop(bench: Bench) -> None:
    async def outer() -> WorkflowResult:
        return bench.run(CITY, {"city": "Bonn"})

    assert asyncio.run(outer()).outputs == {"value": "Bonn"}


def test_runs_beside_one_another_do_not_mix(bench: Bench) -> None:
    ir = flow(
        node("a", value="${x}", turns=5),
        node("b", "secret", deep={"key": "${env.KEY}"}, public="${a.value}"),
        inputs={"x": {}},
    )

    async def both() -> list[WorkflowResult]:
        runs = (
            execute_workflow(
                ir, {"x": x}, registry=bench.registry, environment={"KEY": f"key-of-{x}"}
            )
            for x in ("one", "two")
        )
        return await asyncio.gather(*runs)

    one, two = asyncio.run(both())
    assert (one.store["b"]["public"], two.store["b"]["public"]) == ("one", "two")
    assert bench.world.most_running == 2
    assert "key-of" not in repr((one, two))


def test_what_is_not_given_is_taken_from_the_process(
    durable: Durable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(durable.path)
    monkeypatch.setenv("RUNTRUE_HOME", str(durable.home.path))
    monkeypatch.setenv("THE_KEY", "out-of-the-process")
    params: dict[str, Any] = {"token": "${env.THE_KEY}"}
    WorkflowStore(durable.home).save("inner", flow(node("a", "secret", **params)))
    result = run_workflow(flow(node("sub", "workflow", workflow_name="inner")))
    assert result.passed
    assert durable.calls == ["out-of-the-process"]


def test_the_same_run_twice_is_the_same(bench: Bench) -> None:
    broken = flow(node("a", value=1), node("b", "fail", how="mismatch"), node("c", value=2))
    first, second = bench.run(broken), bench.run(broken)
    assert (first.store, str(first.error)) == (second.store, str(second.error))
    assert bench.calls == [1, "fail", 1, "fail"]


# -- durable ------------------------------------------------------------------------------------

THREE = flow(
    node("a", value="${x}"),
    node("b", "fail", times=1, value="${a.value}", outputs={"half": 1}),
    node("c", value="${b.value}"),
    inputs={"x": {}},
    outputs={"out": {"source": "c.value"}},
)


def statuses(report: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(node["status"], node["error"]) for node in report["nodes"]]


def test_a_run_is_recorded_before_it_is_driven(durable: Durable) -> None:
    workflow = durable.file("w.json", json.dumps(THREE))
    run_id = durable.start(workflow, {"x": 1})
    run = durable.journal.find(run_id)
    assert (run.kind, run.title, run.state) == (KIND, workflow.name, RunState.RUNNING)
    assert run.input == {
        "name": workflow.name,
        "path": str(workflow.path),
        "directory": str(durable.path),
        "ir": THREE,
        "inputs": {"x": 1},
        "given": ["x"],
        "is_typed": False,
    }
    assert statuses(durable.report(run_id)) == [("not_run", None)] * 3
    assert durable.calls == []


def test_text_is_read_by_the_declared_types(durable: Durable) -> None:
    ir = flow(
        node("a", value=["${n}", "${text}"]),
        inputs={"n": {"type": "integer"}, "text": {"stdin": True}},
    )
    started = start_workflow(
        durable.journal, ir, {"n": "5"}, registry=durable.registry, stdin="in", from_text=True
    )
    run = durable.drive(started.run_id)
    assert run.result is not None
    assert run.result["result"] == {"value": [5, "in"]}
    with pytest.raises(InputError):
        start_workflow(durable.journal, ir, {"n": "x"}, registry=durable.registry, from_text=True)


def test_nothing_is_recorded_of_what_cannot_run(durable: Durable) -> None:
    for ir, inputs in [(flow(node("a")), {}), (THREE, {}), (THREE, {"x": 1, "y": 2})]:
        with pytest.raises((InvalidWorkflow, InputError)):
            durable.start(ir, inputs)
    assert durable.journal.runs() == []


def test_a_failed_run_tells_how_far_it_came(durable: Durable) -> None:
    run_id = durable.start(THREE, {"x": 7})
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    report = durable.report(run_id)
    assert (report["status"], report["error"], report["result"]) == ("failed", "it broke", {})
    assert statuses(report) == [("passed", None), ("failed", "it broke"), ("not_run", None)]
    assert (report["run_id"], report["kind"], report["resumable"]) == (run_id, KIND, True)
    (finding,) = report["findings"]
    assert (finding["source"], finding["category"], finding["location"]["symbol"]) == (
        "fail",
        "broken",
        "b",
    )
    assert report["attempts"][0]["findings"] == [finding]
    json.dumps(report)


def test_a_resumed_run_does_not_run_again_what_is_finished(durable: Durable) -> None:
    run_id = durable.start(THREE, {"x": 7})
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    run = durable.drive(run_id)
    assert durable.calls == [7, "fail", "fail", 7]
    assert (run.state, run.error) == (RunState.PASSED, None)
    report = run.result
    assert report is not None
    assert (report["status"], report["error"], report["result"]) == ("passed", None, {"out": 7})
    assert report["findings"] == report["attempts"][0]["findings"] == []
    assert statuses(report) == [("passed", None)] * 3
    replayed = [event.origin for event in durable.events if event.kind == "node_replayed"]
    assert replayed == ["a"]


def test_while_it_goes_on_a_resumed_run_has_left_its_failure_behind(durable: Durable) -> None:
    ir = flow(node("a", "fail", times=1), node("b", "fail", how="interrupted"))
    run_id = durable.start(ir)
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    with pytest.raises(asyncio.CancelledError):
        durable.drive(run_id)
    report = durable.report(run_id)
    assert (report["status"], report["error"], report["findings"]) == ("running", None, [])
    assert statuses(report) == [("passed", None), ("not_run", None)]


def test_a_failure_that_is_not_of_a_node_is_not_told_as_the_last_one_of_a_node(
    durable: Durable,
) -> None:
    workflow = durable.file("w.json", json.dumps(THREE))
    run_id = durable.start(workflow, {"x": 7})
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    (durable.path / "site" / "tiny_nodes-1.0.dist-info" / "entry_points.txt").write_text("")
    with pytest.raises(Exception, match="there is no node type"):
        durable.drive(run_id)
    report = durable.report(run_id)
    assert "there is no node type" in report["error"]
    assert report["findings"] == []


def test_where_the_workflow_is_wrong_going_on_would_not_help(durable: Durable) -> None:
    run_id = durable.start(flow(node("a", value={"x": 1}), node("b", value="${a.value.y}")))
    with pytest.raises(RuntimeValidationError):
        durable.drive(run_id)
    report = durable.report(run_id)
    assert report["resumable"] is False
    (finding,) = report["findings"]
    assert list(finding["attempted"] + finding["available"]) == ["${a.value.y}", "x"]
    assert finding["fault"] == "candidate"


def test_a_handled_failure_is_told_as_such(durable: Durable) -> None:
    ir = flow(node("a", "fail", on_error="continue"), node("b", value="${a.error}"))
    run = durable.drive(durable.start(ir))
    assert run.result is not None
    assert statuses(run.result) == [("handled", "it broke"), ("passed", None)]
    assert (run.state, run.result["findings"]) == (RunState.PASSED, [])


def test_a_workflow_within_that_failed_is_told_as_the_node_it_is(durable: Durable) -> None:
    broken = node("sub", "workflow", workflow_ir=flow(node("in", "fail")))
    run_id = durable.start(flow(node("a", value=1), broken))
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    report = durable.report(run_id)
    assert statuses(report) == [
        ("passed", None),
        ("failed", "in the workflow workflow_ir: it broke"),
    ]
    assert report["findings"][0]["location"]["symbol"] == "sub.in"


@pytest.mark.parametrize("how", ["interrupted", "failed"])
def test_a_side_effect_that_did_not_end_is_not_fired_again_unasked(
    durable: Durable, how: str
) -> None:
    run_id = durable.start(flow(node("a", value=1), node("b", "touch", how=how, times=1)))
    with pytest.raises((asyncio.CancelledError, NodeFailed)):
        durable.drive(run_id)
    with pytest.raises(SideEffectInterrupted):
        durable.drive(run_id)
    assert durable.calls == [1, "fail"]
    assert durable.drive(run_id, force=True).state is RunState.PASSED
    assert durable.calls == [1, "fail", "fail"]


def test_a_loop_is_replayed_round_by_round(durable: Durable) -> None:
    ir = flow(
        node("a", "give", action="again", times=2, outputs={"x": 1}),
        node("b", value="${a.x}"),
        node("c", "fail", times=1),
        edges=[("a", "b", "again"), ("b", "a"), ("a", "c")],
    )
    run_id = durable.start(ir)
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    before = list(durable.calls)
    assert durable.drive(run_id).state is RunState.PASSED
    assert before == ["give", 1, "give", 1, "give", "fail"]
    assert durable.calls == [*before, "fail"]


def test_a_batch_is_one_step_and_is_replayed_whole(durable: Durable) -> None:
    each = node("a", "finish", value="${item}", batch={"items": [1, 2], "parallel": True})
    run_id = durable.start(flow(each, node("b", "fail", times=1, value="${a.results[1].value}")))
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    run = durable.drive(run_id)
    assert durable.calls == [1, 2, "fail", "fail"]
    assert run.result is not None
    assert run.result["result"] == {"value": [2, None]}


def test_replaying_executes_nothing_and_comes_to_the_same_store(durable: Durable) -> None:
    run_id = durable.start(THREE, {"x": 7})
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    segment = prepare_workflow(durable.journal.find(run_id), durable.home)
    asyncio.run(replay(segment.work, durable.journal.load(run_id)))
    assert segment.state == {"x": 7, "a": {"value": 7}}
    assert durable.calls == [7, "fail"]


def test_a_run_goes_on_with_the_workflow_that_it_began_with(durable: Durable) -> None:
    workflow = durable.file("w.json", json.dumps(THREE))
    run_id = durable.start(workflow, {"x": 7})
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    durable.file("w.json", json.dumps(flow(node("other", value=1))))
    assert durable.drive(run_id).state is RunState.PASSED


def test_a_record_that_is_not_of_this_workflow_is_refused(durable: Durable) -> None:
    run_id = durable.start(THREE, {"x": 7})
    with pytest.raises(NodeFailed):
        durable.drive(run_id)
    with closing(sqlite3.connect(durable.journal.location)) as db, db:
        db.execute("UPDATE runs SET input = replace(input, '\"x\":7', '\"x\":9')")
    with pytest.raises(FlowChanged, match="step 0, 'a', was recorded with other inputs"):
        durable.drive(run_id)


def test_a_saved_workflow_and_a_file_are_loaded_alike(durable: Durable) -> None:
    WorkflowStore(durable.home).save("three", THREE)
    by_name = load_workflow("three", home=durable.home)
    assert by_name.path is not None
    by_path = load_workflow(by_name.path)
    assert by_name == by_path == THREE
    assert (by_name.name, by_path.name) == ("three", str(by_name.path))


def test_a_compiled_workflow_runs_by_itself(bench: Bench) -> None:
    compiled = compile_workflow(
        flow(node("a", value="${n}"), inputs={"n": {}}), registry=bench.registry
    )
    assert asyncio.run(compiled.run({"n": 5}))["a"] == {"value": 5}
