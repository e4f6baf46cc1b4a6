"""A candidate is run once as it is, and whatever is wrong with it is in the result."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.errors import NodeFailed, RunCancelled, RuntimeValidationError
from runtrue.workflow import Registry, Result, Workflow, WorkflowResult, try_workflow
from runtrue.workflow.context import Context
from tests.workflow.support import Bench, Echo, edge, flow, node


def attempt(
    bench: Bench, ir: object, inputs: Mapping[str, Any] | None = None, **options: Any
) -> WorkflowResult:
    return asyncio.run(
        try_workflow(
            ir,
            inputs or {},
            registry=bench.registry,
            listeners=[bench.events.append],
            **{"environment": {}, **options},
        )
    )


def failed(result: WorkflowResult) -> NodeFailed:
    assert not result.passed
    assert result.outputs == {}
    assert result.error is not None
    return result.error


def test_what_runs_to_its_end_passes(bench: Bench) -> None:
    ir = flow(node("a", value="${x}"), inputs={"x": {}}, outputs={"y": {"source": "a.value"}})
    result = attempt(bench, ir, {"x": 5})
    assert (result.passed, result.outputs, result.error) == (True, {"y": 5}, None)
    assert result.store == {"x": 5, "a": {"value": 5}}
    assert [event.kind for event in bench.events] == ["node_started", "node_finished"]


def test_nothing_is_checked_before(bench: Bench) -> None:
    """What a static check would find is found by running into it, behind what could be run."""
    result = attempt(bench, flow(node("a", value=1), node("b", value="${a.nope}"), version=7))
    error = failed(result)
    assert type(error) is RuntimeValidationError
    assert (error.node_id, error.category) == ("b", "missing_template_path")
    assert bench.calls == [1]
    assert result.store == {"a": {"value": 1}}


COMPILE: dict[str, tuple[object, str]] = {
    "no object": ([], "'nodes' is named or needed but does not exist"),
    "no nodes": ({}, "'nodes' is named or needed but does not exist"),
    "empty": ({"nodes": []}, "IndexError: list index out of range"),
    "no id": ({"nodes": [{"type": "echo"}]}, "'id' is named or needed but does not exist"),
    "no type": ({"nodes": [{"id": "a"}]}, "missing required field `type` - at `$.nodes[0]`"),
    "unknown type": (flow(node("a", "ecoh")), "node 'a': there is no node type 'ecoh'"),
    "edge": (flow(node("a", value=1), edges=[("a", "z")]), "'z' is named or needed"),
    "start": (flow(node("a", value=1), start_node="z"), "'z' is named or needed"),
    "template": (flow(node("a", value="${")), "a name is missing"),
    "output": (flow(node("a", value=1), outputs={"x": {"source": "${"}}), "a name is missing"),
    "output of no text": (flow(node("a", value=1), outputs={"x": {"source": 5}}), "TypeError"),
    "both": (flow(node("a", value=1), inputs={"a": {"default": 1}}), "both an input and a node"),
    "input": (flow(node("a", value=1), inputs={"x": {"type": 5}}), "TypeError"),
    "workflow": (flow(node("a", "workflow", workflow_ref="nope.json")), "there is no such file"),
}


@pytest.mark.parametrize(("ir", "says"), COMPILE.values(), ids=COMPILE)
def test_what_cannot_be_put_together_is_a_result(bench: Bench, ir: object, says: str) -> None:
    error = failed(attempt(bench, ir))
    assert (error.category, error.fault, error.transient) == ("compile", "check", False)
    assert error.message.startswith("the workflow cannot be built: ")
    assert says.lower() in error.message.lower()
    assert "\n" not in error.message
    assert bench.events == []


def test_so_is_what_turns_out_only_when_it_runs(bench: Bench) -> None:
    result = attempt(bench, flow(node("a", value=1), node("b", value=2, retry={"attempts": 0})))
    assert failed(result).category == "compile"
    assert result.store == {"a": {"value": 1}}


def test_inputs_that_do_not_fit_are_a_result(bench: Bench) -> None:
    ir = flow(node("a", value="${x}"), inputs={"x": {"type": "integer"}, "y": {}})
    error = failed(attempt(bench, ir, {"x": "text", "z": 1}))
    assert (error.category, error.fault) == ("bad_input", "check")
    assert error.attempted == ("y", "z", "x")
    assert [problem["name"] for problem in error.data["problems"]] == ["y", "z", "x"]
    assert "input 'x' must be an integer, not 'text'" in error.message
    assert bench.calls == []


def test_what_it_refers_to_is_found_from_its_file(bench: Bench) -> None:
    bench.file(
        "deep/inner.json", '{"nodes": [{"id": "a", "type": "echo", "params": {"value": 1}}]}'
    )
    outer = flow(node("sub", "workflow", workflow_ref="inner.json"))
    assert attempt(bench, Workflow(outer, path=bench.path / "deep/outer.json")).passed
    assert failed(attempt(bench, outer)).category == "compile"


def taking(id: str, type: str, token: str, **params: Any) -> dict[str, Any]:
    return node(id, type, token=token, **params)


def test_secrets_are_in_nothing_that_comes_of_it(bench: Bench) -> None:
    ir = flow(
        taking("a", "secret", "${key}", public="${env.KEY}"),
        node("b", value="${a.said}"),
        taking("c", "fail", "${env.KEY}", message="${a.said.heard}"),
        inputs={"key": {}},
    )
    result = attempt(bench, ir, {"key": "hunter22"}, environment={"KEY": "correct-horse"})
    error = failed(result)
    assert error.node_id == "c"
    assert bench.calls[0] == "hunter22"
    for told in (result.store, vars(error), bench.events):
        assert "hunter22" not in repr(told)
        assert "correct-horse" not in repr(told)


# -- the deadline -------------------------------------------------------------------------------


def test_what_is_not_over_in_time_keeps_what_it_has(bench: Bench) -> None:
    """A fifo that nobody writes to is read for ever."""
    os.mkfifo(bench.path / "fifo")
    ir = flow(
        node("a", value="${x}"),
        node("b", "shell", command="cat fifo"),
        node("c", value=1),
        inputs={"x": {}},
    )
    result = attempt(bench, ir, {"x": 5}, seconds=0.3)
    error = failed(result)
    assert type(error) is NodeFailed
    assert (error.node_id, error.category, error.fault) == ("b", "deadline", "environment")
    assert error.transient is False
    assert str(error) == (
        "node 'b': was still running when the time for the whole run was over (0.3 s for this one)"
    )
    assert result.store == {"x": 5, "a": {"value": 5}}
    assert bench.calls == [5]


def test_all_of_a_loop_is_under_the_deadline(bench: Bench) -> None:
    ir = flow(node("a", "shell", command="sleep 0.05"), edges=[("a", "a")])
    assert failed(attempt(bench, ir, seconds=0.3)).category == "deadline"


@pytest.mark.parametrize("seconds", [None, 60])
def test_what_is_over_in_time_is_not_touched_by_it(bench: Bench, seconds: float | None) -> None:
    assert attempt(bench, flow(node("a", value=1, turns=100)), seconds=seconds).passed
    assert failed(attempt(bench, flow(node("a", "fail")), seconds=seconds)).category == "broken"


class Stubborn(Echo):
    type = "stubborn"

    async def run(self, params: Any, context: Context) -> Result:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise NodeFailed("the server was lost") from None
        raise AssertionError


def test_a_node_that_was_cut_off_and_says_that_it_failed_was_cut_off(bench: Bench) -> None:
    bench.registry = Registry(bench.home, bench.path, types=[Stubborn])
    error = failed(attempt(bench, flow(node("a", "stubborn", value=1)), seconds=0.1))
    assert error.category == "deadline"


# -- what is not the candidate's ----------------------------------------------------------------


def test_a_run_that_may_not_go_on_says_so(bench: Bench) -> None:
    with pytest.raises(RunCancelled):
        attempt(bench, flow(node("a", "fail", how="cancelled")))


def test_cancelling_is_no_deadline(bench: Bench) -> None:
    async def cancelled() -> None:
        ir = flow(node("a", "fail", how="interrupted"))
        await try_workflow(ir, {}, registry=bench.registry, seconds=60)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


# -- any data at all ----------------------------------------------------------------------------

Some = st.SearchStrategy[Any]

_TEXTS: Some = st.sampled_from(["a", "b", "echo", "give", "workflow", "${a.value}", "${x}", "${"])
_KEYS: Some = _TEXTS | st.text(max_size=5)
_JSON: Some = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _KEYS,
    lambda some: st.lists(some, max_size=3) | st.dictionaries(_KEYS, some, max_size=3),
    max_leaves=10,
)
_PARAMS: dict[str, dict[str, Some]] = {
    "echo": {"value": _JSON, "turns": st.integers(-1, 2)},
    "finish": {"value": _JSON | st.sampled_from(["bad", "bug"])},
    "resolve": {"value": _JSON},
    "give": {"outputs": st.dictionaries(_KEYS, _JSON, max_size=2), "action": _TEXTS},
    "fail": {"how": st.sampled_from(["failed", "mismatch", "bug"]), "times": st.integers(0, 2)},
    "workflow": {"workflow_ir": _JSON | st.just(flow(node("a", value="${x}"), inputs={"x": {}}))},
}


def _some(needed: dict[str, Some] | None = None, **parts: Some) -> Some:
    return st.fixed_dictionaries(needed or {}, optional=parts)


def _node(id: str) -> Some:
    retry = _some(attempts=st.integers(-1, 2), wait=st.sampled_from([0, -1, float("nan")]))
    batch = _some(
        {"items": st.lists(_JSON, max_size=2) | _TEXTS},
        parallel=st.booleans(),
        max_concurrent=st.integers(-1, 2),
        max_retries=st.integers(-1, 2),
        error_handling=st.just("continue"),
    )

    def of(type: str) -> Some:
        needed = {"id": st.just(id), "type": st.just(type), "params": _some(_PARAMS[type])}
        return _some(needed, retry=retry, batch=batch, on_error=st.just("continue"))

    return st.sampled_from(list(_PARAMS)).flatmap(of)


_EDGES = st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.none() | _TEXTS)
_WORKFLOWS: Some = _some(
    {"nodes": st.tuples(_node("a"), _node("b")).map(list)},
    edges=st.lists(_EDGES.map(lambda ends: edge(*ends)), max_size=3),
    start_node=st.sampled_from("ab"),
    inputs=_some({"x": _some(type=_TEXTS, default=_JSON)}),
    outputs=st.dictionaries(_KEYS, _some(source=_TEXTS), max_size=2),
)


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*way, key))


@st.composite
def _damaged(draw: st.DrawFn) -> Any:
    """A workflow in which anything may stand at one place."""
    ir = deepcopy(draw(_WORKFLOWS))
    *way, last = draw(st.sampled_from(list(_places(ir))[1:]))
    within = ir
    for key in way:
        within = within[key]
    within[last] = draw(_JSON)
    return ir


@given(ir=_WORKFLOWS | _damaged() | _JSON, inputs=st.dictionaries(_TEXTS, _JSON, max_size=2))
def test_no_data_whatever_makes_it_raise(ir: Any, inputs: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = attempt(Bench(Path(folder)), ir, inputs, seconds=5)
    assert result.passed is (result.error is None)
