"""A workflow within another: a store of its own, checked with the outer one, told with both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.workflow import WorkflowStore
from runtrue.workflow.context import Context, Surroundings
from runtrue.workflow.nodes.subworkflow import MOST_DEPTH
from tests.workflow.support import Bench, flow, node

INNER = flow(
    node("a", value="${city}!"),
    node("b", value="${a.value}"),
    inputs={"city": {"type": "string"}, "more": {"required": False}},
    outputs={"told": {"source": "b.value"}, "city": {"source": "${city}"}},
)


def sub(id: str = "sub", /, **params: Any) -> dict[str, Any]:
    return node(id, "workflow", **params)


def inline(ir: Any = INNER, id: str = "sub", /, **params: Any) -> dict[str, Any]:
    return sub(id, workflow_ir=ir, param_mapping={"city": "${x}"}, **params)


def outer(*nodes: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return flow(*nodes, **{"inputs": {"x": {"default": "Bonn"}}, **keys})


def write(bench: Bench, name: str, ir: dict[str, Any]) -> None:
    bench.file(name, json.dumps(ir))


# -- running ------------------------------------------------------------------------------------


def test_its_outputs_are_those_of_its_node_and_its_store_is_its_own(bench: Bench) -> None:
    result = bench.run(outer(node("a", value="mine"), inline(), node("c", value="${sub.told}")))
    assert result.store == {
        "x": "Bonn",
        "a": {"value": "mine"},
        "sub": {"told": "Bonn!", "city": "Bonn"},
        "c": {"value": "Bonn!"},
    }


def test_references_in_it_are_its_own(bench: Bench) -> None:
    """`${x}` of the outer workflow means nothing in it."""
    ir = flow(node("a", value="${x}"))
    (problem,) = bench.problems(outer(sub(workflow_ir=ir)))
    assert problem.pointer == "/nodes/0/params/workflow_ir"
    assert problem.message == (
        "workflow_ir: /nodes/0/params/value: ${x}: there is no input or node 'x'"
    )


def test_outputs_can_be_given_other_names(bench: Bench) -> None:
    result = bench.run(outer(inline(output_mapping={"told": "greeting"})))
    assert result.outputs == {"greeting": "Bonn!", "city": "Bonn"}


def test_a_file_is_found_from_the_folder_of_the_file_that_names_it(bench: Bench) -> None:
    write(bench, "deep/lib/inner.json", INNER)
    write(
        bench,
        "deep/middle.json",
        outer(sub(workflow_ref="lib/inner.json", param_mapping={"city": "${x}"})),
    )
    write(bench, "top.json", flow(sub(workflow_ref="deep/middle.json")))
    workflow = bench.file("top.json", (bench.path / "top.json").read_text())
    assert bench.problems(workflow) == ()
    assert bench.run(workflow).outputs == {"told": "Bonn!", "city": "Bonn"}


def test_from_within_a_workflow_in_place_it_is_the_folder_of_the_file_around_it(
    bench: Bench,
) -> None:
    write(bench, "deep/inner.json", INNER)
    between = outer(sub(workflow_ref="inner.json", param_mapping={"city": "${x}"}))
    workflow = bench.file("deep/top.json", json.dumps(flow(sub(workflow_ir=between))))
    assert bench.problems(workflow) == ()
    assert bench.run(workflow).outputs == {"told": "Bonn!", "city": "Bonn"}


def test_behind_it_everything_is_as_it_was_before(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where paths begin, how deep we are, and how often nodes have run."""
    monkeypatch.setattr("runtrue.workflow.step.MOST_VISITS", 1)
    write(bench, "deep/inner.json", INNER)
    write(bench, "inner.json", INNER)
    given = {"param_mapping": {"city": "${x}"}}
    files = [f"{'deep/' * (n % 2)}inner.json" for n in range(MOST_DEPTH + 2)]
    subs = [sub(f"sub{n}", workflow_ref=file, **given) for n, file in enumerate(files)]
    workflow = bench.file("top.json", json.dumps(outer(*subs)))
    assert bench.run(workflow).outputs == {"told": "Bonn!", "city": "Bonn"}


def test_a_saved_workflow_is_found_by_its_name(bench: Bench) -> None:
    WorkflowStore(bench.home).save("greet", INNER)
    ir = outer(sub(workflow_name="greet", param_mapping={"city": "${x}"}))
    assert bench.run(ir, {"x": "Ulm"}).outputs == {"told": "Ulm!", "city": "Ulm"}


def test_a_name_is_never_a_file(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.path)
    write(bench, "greet", INNER)
    write(bench, "greet.json", INNER)
    for name in ("greet", "greet.json", "./greet.json"):
        (problem,) = bench.problems(flow(sub(workflow_name=name)))
        assert problem.pointer == "/nodes/0/params/workflow_name"


def test_which_one_it_is_may_be_known_only_when_it_runs(bench: Bench) -> None:
    write(bench, "inner.json", INNER)
    ir = outer(sub(workflow_ref="${x}.json", param_mapping={"city": "${x}"}))
    assert bench.problems(ir) == ()
    assert bench.run(ir, {"x": "inner"}).outputs == {"told": "inner!", "city": "inner"}
    write(bench, "wrong.json", flow(node("a"), node("b")))
    wrong = bench.run(ir, {"x": "wrong"}).error
    assert wrong is not None
    assert "\n" not in wrong.message
    assert "/nodes/1/params: the param 'value' of 'echo' is missing" in wrong.message
    error = bench.run(ir, {"x": "nope"}).error
    assert type(error) is RuntimeValidationError
    assert error.category == "bad_subworkflow"
    assert "nope.json: there is no such file; did you mean inner.json" in error.message


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"workflow_ref": "${x}"}, "give one of: workflow_ref, workflow_name, workflow_ir"),
        ({"workflow_name": "${x.name}"}, "${x.name}: x is null, it has no 'name'"),
    ],
)
def test_what_turns_out_to_be_none_stops_it(
    bench: Bench, params: dict[str, Any], says: str
) -> None:
    error = bench.run(outer(sub(**params), inputs={"x": {"default": None}})).error
    assert type(error) is RuntimeValidationError
    assert error.message == says


def test_a_batch_runs_it_for_each_item(bench: Bench) -> None:
    each = node(
        "sub",
        "workflow",
        workflow_ir=INNER,
        param_mapping={"city": "${item}"},
        batch={"items": ["A", "B"], "parallel": True},
    )
    assert [result["told"] for result in bench.store(each)["sub"]["results"]] == ["A!", "B!"]


# -- failures -----------------------------------------------------------------------------------

BROKEN = flow(node("a", value=1), node("in", "fail", outputs={"code": 7}, message="no luck"))


def test_its_failure_tells_both_nodes(bench: Bench) -> None:
    result = bench.run(outer(node("a", value=1), sub(workflow_ir=BROKEN)))
    error = result.error
    assert type(error) is NodeFailed
    assert str(error) == "node 'sub.in': in the workflow workflow_ir: no luck"
    assert error.category == "broken"
    assert result.store == {"x": "Bonn", "a": {"value": 1}, "sub": {"error": error.message}}


def test_its_failure_can_be_handled_and_shows_nothing_of_its_store(bench: Bench) -> None:
    store = bench.store(sub(workflow_ir=BROKEN) | {"on_error": "continue"})
    assert store == {"sub": {"error": "in the workflow workflow_ir: no luck"}}


@pytest.mark.parametrize(
    "ir",
    [
        flow(node("in", "fail", how="mismatch")),
        flow(node("in", value=1), outputs={"x": {"source": "${in.value.y}"}}),
    ],
    ids=["in a node", "in its outputs"],
)
def test_when_it_is_wrong_itself_no_edge_handles_that(bench: Bench, ir: dict[str, Any]) -> None:
    error = bench.failure(sub(workflow_ir=ir) | {"on_error": "continue"})
    assert type(error) is RuntimeValidationError
    assert error.node_id in {"sub.in", "sub"}


def test_inputs_of_the_wrong_type_are_told_when_it_runs(bench: Bench) -> None:
    error = bench.run(outer(inline()), {"x": 5}).error
    assert type(error) is RuntimeValidationError
    assert error.message == "input 'city' must be a string, not 5"
    assert bench.calls == []


# -- checking -----------------------------------------------------------------------------------

PROBLEMS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no way": ({}, "", "give one of: workflow_ref, workflow_name, workflow_ir"),
    "two ways": (
        {"workflow_ir": flow(node("a", value=1)), "workflow_name": "greet"},
        "",
        "give one of: workflow_ref, workflow_name, workflow_ir",
    ),
    "no file": ({"workflow_ref": "nope.json"}, "/workflow_ref", "there is no such file"),
    "no home": (
        {"workflow_ref": "~nobody-of-this-name/x.json"},
        "/workflow_ref",
        "there is no such home directory",
    ),
    "no name": ({"workflow_name": "nope"}, "/workflow_name", "nope"),
    "null": ({"workflow_ir": None, "workflow_ref": "${x}"}, "", "give one of"),
    "missing input": (
        {"workflow_ir": INNER},
        "/param_mapping",
        "the input 'city' of workflow_ir is missing",
    ),
    "unknown input": (
        {"workflow_ir": INNER, "param_mapping": {"city": 1, "town": 2}},
        "/param_mapping/town",
        "workflow_ir has no input 'town'; it has: city, more",
    ),
    "its own problem": (
        {"workflow_ir": flow({"id": "a", "type": "ecoh"})},
        "/workflow_ir",
        "workflow_ir: /nodes/0/type: there is no node type 'ecoh'; did you mean 'echo'?",
    ),
}


@pytest.mark.parametrize(("params", "pointer", "says"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_is_wrong_with_it_is_found_without_running(
    bench: Bench, params: dict[str, Any], pointer: str, says: str
) -> None:
    (problem,) = bench.problems(outer(sub(**params)))
    assert problem.pointer == f"/nodes/0/params{pointer}"
    assert says in problem.message
    assert "\n" not in problem.message


def test_each_of_its_problems_is_one_of_ours_with_its_place_there(bench: Bench) -> None:
    write(bench, "inner.json", flow({"id": "a", "type": "ecoh"}, {"id": "b", "type": "faill"}))
    problems = bench.problems(outer(sub(workflow_ref="inner.json")))
    assert [problem.message for problem in problems] == [
        f"{bench.path / 'inner.json'}:1: /nodes/{n}/type: {bench.registry.suggest(name)}"
        for n, name in enumerate(["ecoh", "faill"])
    ]


def test_a_workflow_is_not_used_within_itself(bench: Bench) -> None:
    write(bench, "a.json", flow(sub(workflow_ref="b.json")))
    write(bench, "b.json", flow(sub(workflow_ref=f"../{bench.path.name}/a.json")))
    workflow = bench.file("a.json", (bench.path / "a.json").read_text())
    (problem,) = bench.problems(workflow)
    assert problem.message.endswith("is used within itself")
    assert "b.json" in problem.message


def test_not_even_in_a_roundabout_way(bench: Bench) -> None:
    within = flow(sub(workflow_ref="a.json"))
    workflow = bench.file("a.json", json.dumps(flow(sub(workflow_ir=within))))
    (problem,) = bench.problems(workflow)
    assert problem.message.endswith("is used within itself")


def nested(depth: int) -> dict[str, Any]:
    ir = flow(node("a", value="deep"))
    for _ in range(depth):
        ir = flow(sub(workflow_ir=ir))
    return ir


def test_workflows_lie_within_one_another_only_so_deep(bench: Bench) -> None:
    assert bench.run(nested(MOST_DEPTH)).outputs == {"value": "deep"}
    (problem,) = bench.problems(nested(MOST_DEPTH + 1))
    assert "workflows are nested more than 10 deep" in problem.message


def test_what_includes_itself_by_a_reference_is_stopped_when_it_runs(bench: Bench) -> None:
    ref = {"workflow_ref": "${x}", "param_mapping": {"x": "${x}"}}
    workflow = bench.file("a.json", json.dumps(flow(sub(**ref), inputs={"x": {}})))
    error = bench.run(workflow, {"x": "a.json"}).error
    assert type(error) is RuntimeValidationError
    assert error.category == "too_deep"
    assert error.node_id == ".".join(["sub"] * (MOST_DEPTH + 1))


def test_what_a_run_has_open_is_shared_with_the_workflows_within(bench: Bench) -> None:
    context = Context(Surroundings(bench.registry, bench.path))
    first = context.within(context.surroundings)
    assert first.sessions() is context.sessions()
    assert first.within(first.surroundings).sessions() is context.sessions()
    assert (first.depth, first.redactor) == (1, context.redactor)
