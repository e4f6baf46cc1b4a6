"""A step fills its params in, runs its node, keeps what came of it, and follows the action."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from runtrue.errors import NodeFailed, RunCancelled, RuntimeValidationError
from runtrue.workflow import Registry, Result, WorkflowNode, compile_workflow
from runtrue.workflow.context import Context, Surroundings, opened
from runtrue.workflow.step import MOST_VISITS, as_data
from tests.workflow.support import Bench, Echo, EchoParams, flow, node, world_of

# -- params -------------------------------------------------------------------------------------


def test_without_edges_nodes_run_in_order(bench: Bench) -> None:
    store = bench.store(node("c", value=1), node("a", value=2), node("b", value=3))
    assert bench.calls == [1, 2, 3]
    assert list(store) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("${a.x}", {"y": [1, None]}),
        ("${a.x.y[1]}", None),
        ("<${a.x.y[1]}>", "<null>"),
        ("<${a.x}>", '<{"y":[1,null]}>'),
        ("${a.json.z}", 1),
        ("$${a.x}", "${a.x}"),
        (["${a.x.y[0]}", {"k": "${a.x.y[0]}"}], [1, {"k": 1}]),
    ],
)
def test_params_are_filled_in_and_null_is_a_value(bench: Bench, template: Any, value: Any) -> None:
    outputs = {"x": {"y": [1, None]}, "json": '{"z": 1}'}
    store = bench.store(node("a", "give", outputs=outputs), node("b", value=template))
    assert store["b"] == {"value": value}


def test_a_node_sees_nothing_but_its_params(bench: Bench) -> None:
    seen: list[Any] = []

    class Spy(Echo):
        type = "spy"

        async def run(self, params: EchoParams, context: Context) -> Result:
            seen.append(params)
            return Result({"value": None})

    bench.registry = Registry(bench.home, bench.path, types=[Spy, Echo])
    ir = flow(node("a", value="hidden"), node("b", "spy", value="${x}"), inputs={"x": {}, "y": {}})
    assert bench.run(ir, {"x": 1, "y": "hidden"}).passed
    assert seen == [EchoParams(value=1)]


UNRESOLVED = [
    ("${a.x.z}", "'z' is not in a.x; available there: y", ("y",)),
    ("${a.x.y.z}", "a.x.y is a list of 2, it has no 'z'", ("[0] … [1]",)),
    ("${a.x.y[2]}", "a.x.y has 2 entries, [2] is not one of them", ("[0] … [1]",)),
    ("${a.n.m}", "a.n is null, it has no 'm'", ()),
    ("${a.gone}", "'gone' is not in a; available there: n, x", ("n", "x")),
    ("${skipped.value}", "'skipped' is not in the store; available there: a", ("a",)),
]


@pytest.mark.parametrize(("reference", "says", "available"), UNRESOLVED)
def test_an_unresolved_reference_stops_the_node_before_it_does_anything(
    bench: Bench, reference: str, says: str, available: tuple[str, ...]
) -> None:
    error = bench.failure(
        node("a", "give", outputs={"x": {"y": [1, 2]}, "n": None}),
        node("skipped", value=1),
        node("b", value=["fine", f"see {reference}"], retry={"attempts": 3}, on_error="continue"),
        edges=[("a", "b"), ("a", "skipped", "other"), ("skipped", "b")],
    )
    assert type(error) is RuntimeValidationError
    assert bench.calls == ["give"]
    assert (error.node_id, error.category) == ("b", "missing_template_path")
    assert (error.fault, error.attempted, error.available) == ("candidate", (reference,), available)
    assert error.message.startswith(f"{reference}: {says}")
    assert "\n" not in str(error)


def test_the_sample_of_an_unresolved_reference_is_of_what_is_there_without_secrets(
    bench: Bench,
) -> None:
    outputs = {"x": {"password": "hunter22", "y": 1}}
    error = bench.failure(node("a", "give", outputs=outputs), node("b", value="${a.x.z}"))
    assert error.sample == '{"x": {"password": "[redacted]", "y": 1}}'


def test_a_value_of_the_wrong_type_stops_the_node_before_it_does_anything(bench: Bench) -> None:
    error = bench.failure(
        node("a", "give", outputs={"x": "two"}), node("b", value=1, count="${a.x}")
    )
    assert type(error) is RuntimeValidationError
    assert (error.category, error.attempted, bench.calls) == ("bad_param", ("count",), ["give"])


def test_a_number_in_text_is_a_number_where_one_is_wanted(bench: Bench) -> None:
    store = bench.store(
        node("a", "give", outputs={"n": "2"}), node("b", "finish", value=1, turns="${a.n}")
    )
    assert store["b"] == {"value": [1, None]}


# -- actions ------------------------------------------------------------------------------------

BRANCHES = [("a", "b"), ("a", "c", "found"), ("c", "d")]


@pytest.mark.parametrize(("action", "ran"), [("default", ["a", "b"]), ("found", ["a", "c", "d"])])
def test_an_action_leads_on_by_its_edge(bench: Bench, action: str, ran: list[str]) -> None:
    others = [node(name, value=name) for name in "bcd"]
    store = bench.store(node("a", "give", action=action), *others, edges=BRANCHES)
    assert list(store) == ran


def test_the_start_node_need_not_be_the_first(bench: Bench) -> None:
    nodes = [node("a", value=1), node("b", value=2)]
    assert list(bench.store(*nodes, start_node="b", edges=[("b", "a")])) == ["b", "a"]


def test_an_action_without_an_edge_stops_the_run_and_its_outputs_stay(bench: Bench) -> None:
    chosen = node("a", "give", action="other", outputs={"x": 1})
    result = bench.run(flow(chosen, *[node(n, value=n) for n in "bcd"], edges=BRANCHES))
    error = result.error
    assert type(error) is RuntimeValidationError
    assert error.message == "its action 'other' leads nowhere; there are edges for: default, found"
    assert (error.attempted, error.available) == (("other",), ("default", "found"))
    assert result.store == {"a": {"x": 1}}


def test_a_loop_ends_by_its_action_and_each_round_replaces_the_last(bench: Bench) -> None:
    store = bench.store(
        node("a", "give", action="again", times=3, outputs={"x": 1}),
        node("b", value="${a.x}"),
        edges=[("a", "b", "again"), ("b", "a")],
    )
    assert bench.calls == ["give", 1, "give", 1, "give", 1, "give"]
    assert list(store) == ["b", "a"]  # in the order in which they finished last


def test_an_endless_loop_is_stopped(bench: Bench) -> None:
    error = bench.failure(node("a", value=1), edges=[("a", "a")])
    assert len(bench.calls) == MOST_VISITS
    assert (error.node_id, error.category) == ("a", "endless_loop")
    assert error.message == "has run 1000 times: its edges form a loop"
    assert [event.payload["category"] for event in bench.events if event.kind == "node_failed"] == [
        "endless_loop"
    ]


# -- failures -----------------------------------------------------------------------------------


def test_a_failure_stops_the_run_and_what_was_finished_stays(bench: Bench) -> None:
    broken = node("b", "fail", outputs={"status_code": 500})
    result = bench.run(flow(node("a", value=1), broken, node("c", value=3)))
    error = result.error
    assert type(error) is NodeFailed
    assert (error.node_id, error.category, str(error)) == ("b", "broken", "node 'b': it broke")
    assert result.store == {"a": {"value": 1}, "b": {"status_code": 500}}
    assert bench.calls == [1, "fail"]


def test_a_failure_in_a_later_round_leaves_what_that_round_produced(bench: Bench) -> None:
    class Turn(WorkflowNode[EchoParams]):
        type = "turn"
        Params = EchoParams
        Outputs = EchoParams

        async def run(self, params: EchoParams, context: Context) -> Result:
            calls = world_of(context).calls
            calls.append(None)
            if len(calls) == 2:
                raise NodeFailed("late", outputs={"round": 2})
            return Result({"round": 1}, "again")

    bench.registry = Registry(bench.home, bench.path, types=[Turn])
    result = bench.run(flow(node("a", "turn", value=1), edges=[("a", "a", "again")]))
    assert result.store == {"a": {"round": 2}}


@pytest.mark.parametrize("how", ["failed", "bug", "refused"])
def test_a_failure_takes_the_error_edge_where_there_is_one(bench: Bench, how: str) -> None:
    outputs = {"code": 7}
    store = bench.store(
        node("b", "fail", how=how, outputs=outputs, on_error="continue"),
        node("next", value=1),
        node("rescue", value="${b.error}"),
        edges=[("b", "next"), ("b", "rescue", "error")],
    )
    assert list(store) == ["b", "rescue"]
    assert store["rescue"]["value"] == store["b"]["error"]
    assert (store["b"].get("code") == 7) == (how == "failed")


def test_on_error_continue_goes_on_as_if_it_had_passed(bench: Bench) -> None:
    store = bench.store(node("b", "fail", on_error="continue"), node("next", value="${b.error}"))
    assert store == {"b": {"error": "it broke"}, "next": {"value": "it broke"}}


@pytest.mark.parametrize("where", ["run", "finish"])
def test_no_edge_handles_what_the_workflow_assumed_wrongly(bench: Bench, where: str) -> None:
    wrong = (
        node("b", "fail", how="mismatch") if where == "run" else node("b", "finish", value="bad")
    )
    error = bench.failure(
        {**wrong, "on_error": "continue"},
        node("rescue", value=1),
        edges=[("b", "rescue", "error")],
    )
    assert type(error) is RuntimeValidationError
    assert (error.node_id, error.attempted, error.available) == ("b", ("x",), ("y",))


UNFORESEEN = [
    ("bug", "ValueError: a bug", "ValueError", "candidate"),
    ("lines", "Exception: a b", "Exception", "candidate"),
    ("refused", "ConnectionResetError: refused", "ConnectionResetError", "environment"),
    ("disk", "OSError: [Errno 28] full", "OSError", "environment"),
    ("config", "runtrue.toml:1: no", "ConfigError", "candidate"),
    ("host", "no bash here", "HostError", "environment"),
]


@pytest.mark.parametrize(("how", "message", "category", "fault"), UNFORESEEN)
def test_an_exception_that_a_node_type_did_not_foresee_is_a_failure_too(
    bench: Bench, how: str, message: str, category: str, fault: str
) -> None:
    result = bench.run(flow(node("a", value=1), node("b", "fail", how=how)))
    error = result.error
    assert type(error) is NodeFailed
    assert (error.node_id, error.message) == ("b", message)
    assert (error.category, error.fault) == (category, fault)
    assert result.store == {"a": {"value": 1}}


def test_so_is_one_in_what_works_the_outputs_up(bench: Bench) -> None:
    result = bench.run(flow(node("a", value=1), node("b", "finish", value="bug")))
    assert result.error is not None
    assert str(result.error) == "node 'b': ValueError: a bug in finish"
    assert result.store == {"a": {"value": 1}}
    handled = bench.store(node("b", "finish", value="bug", on_error="continue"))
    assert handled == {"b": {"error": "ValueError: a bug in finish"}}


@pytest.mark.parametrize(
    ("params", "kind"),
    [({"type": "fail", "fault": "environment"}, "broken"), ({"type": "finish"}, "ValueError")],
)
def test_a_failure_that_is_handled_is_told_with_all_that_is_known_of_it(
    bench: Bench, params: dict[str, Any], kind: str
) -> None:
    ir = flow(node("a", **{"value": "bug", **params}, on_error="continue"))
    assert bench.run(ir).passed
    (handled,) = [event for event in bench.events if event.kind == "node_handled"]
    ir["nodes"][0].pop("on_error")
    error = bench.run(ir).error
    assert error is not None
    assert error.category == kind
    assert handled.origin == "a"
    assert handled.payload == {"source": params["type"], **as_data(error)}


@pytest.mark.parametrize(
    ("value", "says"), [(0, "ZeroDivisionError: division by zero"), ("bad", "there is no x")]
)
def test_so_is_one_in_what_fills_the_params_in(bench: Bench, value: Any, says: str) -> None:
    error = bench.failure(node("a", "resolve", value=value))
    assert str(error) == f"node 'a': {says}"
    assert bench.calls == []
    assert bench.store(node("a", "resolve", value=2)) == {"a": {"value": 0.5}}


@pytest.mark.parametrize("batch", [None, {"items": [1, 2], "parallel": True}])
def test_what_is_of_the_run_is_no_failure_of_the_node(bench: Bench, batch: Any) -> None:
    broken = node("a", "fail", how="cancelled", batch=batch, on_error="continue")
    with pytest.raises(RunCancelled):
        bench.run(flow({**broken, "retry": {"attempts": 3}}))
    assert bench.calls.count("fail") == (2 if batch else 1)


def test_a_failure_is_told_as_an_event(bench: Bench) -> None:
    bench.failure(node("a", value=1), node("b", "fail", outputs={"x": 1}))
    (event,) = [event for event in bench.events if event.kind == "node_failed"]
    assert event.origin == "b"
    assert event.payload["source"] == "fail"
    assert (event.payload["node_id"], event.payload["outputs"]) == ("b", {"x": 1})
    assert event.payload["fixable"] is False


# -- retry --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "attempts", "tries"),
    [
        ({}, 1, 1),
        ({}, 3, 3),
        ({"times": 2}, 3, 3),
        ({"times": 1}, 3, 2),
        ({"how": "bug"}, 3, 3),
        ({"fault": "environment"}, 2, 2),
        ({"fault": "credentials"}, 3, 1),
        ({"how": "mismatch"}, 3, 1),
    ],
)
def test_a_node_is_tried_again_unless_that_cannot_help(
    bench: Bench, params: dict[str, Any], attempts: int, tries: int
) -> None:
    broken = node("a", "fail", retry={"attempts": attempts, "wait": 0}, value="done", **params)
    result = bench.run(flow(broken))
    assert len(bench.calls) == tries
    assert result.passed == (params.get("times", attempts) < attempts)
    left = [event.payload["left"] for event in bench.events if event.kind == "node_retried"]
    assert left == list(range(attempts - 1, attempts - tries, -1))


def test_a_retry_waits_as_long_as_it_says(bench: Bench) -> None:
    began = time.monotonic()
    bench.store(node("a", "fail", times=2, retry={"attempts": 3, "wait": 0.02}))
    assert time.monotonic() - began >= 0.04


def test_retries_come_before_the_error_edge(bench: Bench) -> None:
    store = bench.store(
        node("a", "fail", retry={"attempts": 3}),
        node("rescue", value=1),
        edges=[("a", "rescue", "error")],
    )
    assert bench.calls == ["fail", "fail", "fail", 1]
    assert store["rescue"] == {"value": 1}


# -- runs beside one another --------------------------------------------------------------------


def test_runs_of_one_compiled_flow_do_not_mix(bench: Bench) -> None:
    """Each is in the middle of its nodes while the other is."""
    nodes = [node("a", value="${x}", turns=5), node("b", value=["${a.value}", "${x}"], turns=5)]
    compiled = compile_workflow(flow(*nodes, inputs={"x": {}}), registry=bench.registry)

    async def one(x: int) -> dict[str, Any]:
        store: dict[str, Any] = {"x": x}
        async with opened(Context(Surroundings(bench.registry, bench.path))):
            await compiled.run(store)
        return store

    async def all_of_them() -> list[dict[str, Any]]:
        return await asyncio.gather(*map(one, range(20)))

    stores = asyncio.run(all_of_them())
    assert stores == [{"x": x, "a": {"value": x}, "b": {"value": [x, x]}} for x in range(20)]
    assert bench.world.most_running == 20
