"""A batch runs its node once for each item, in order or beside one another, and tells all."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.workflow.step import as_data
from tests.workflow.support import Bench, Durable, flow, node

ITEMS = ["a", "b", "c"]


def results(*values: Any) -> list[dict[str, Any]]:
    return [{"value": value, "item": value} for value in values]


def told(results: list[Any], *errors: tuple[int, Any, str]) -> dict[str, Any]:
    """The outputs of a batch."""
    ran = sum(result is not None for result in results)
    return {
        "results": results,
        "count": len(results),
        "success_count": ran - len(errors),
        "error_count": len(errors),
        "errors": [{"index": n, "item": item, "error": text} for n, item, text in errors] or None,
    }


# -- items --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "inputs", "ran"),
    [
        ("${x}", {"x": ITEMS}, ITEMS),
        ("${x.y[0]}", {"x": {"y": [ITEMS]}}, ITEMS),
        ("${x}", {"x": '["a", {"b": null}]'}, ["a", {"b": None}]),
        ("${x.y}", {"x": '{"y": [1]}'}, [1]),
        ("[1, 2]", {"x": 0}, [1, 2]),
        (["lit", "${x}", ["${x}"]], {"x": None}, ["lit", None, [None]]),
        ("${x}", {"x": []}, []),
        ([], {"x": 0}, []),
    ],
)
@pytest.mark.parametrize("parallel", [False, True])
def test_items_are_a_list_by_reference_or_in_place_or_in_json(
    bench: Bench, items: Any, inputs: dict[str, Any], ran: list[Any], parallel: bool
) -> None:
    each = node("a", value="${item}", batch={"items": items, "parallel": parallel})
    result = bench.run(flow(each, inputs={"x": {}}), inputs)
    assert result.store["a"] == told(results(*ran))
    assert result.passed


def test_the_item_has_a_name_and_an_index(bench: Bench) -> None:
    each = {"items": [{"name": "x"}], "as": "user"}
    store = bench.store(node("a", value="${__index__} ${user.name}", batch=each))
    assert store["a"]["results"] == [{"value": "0 x", "item": {"name": "x"}}]
    assert list(store) == ["a"]


def test_an_item_may_have_a_field_like_an_output(bench: Bench) -> None:
    each = node("a", "give", outputs={"item": 1}, batch={"items": [7]})
    assert bench.store(each)["a"]["results"] == [{"item": 7}]


@pytest.mark.parametrize(
    ("x", "says", "available"),
    [
        ("text", "is text", ()),
        ({"b": 1, "a": 2}, "is an object", ("b", "a")),
        ('{"a": 1}', "is an object", ("a",)),
        (None, "is null", ()),
        (5, "is a number", ()),
        ("[" * 100_000, "is text", ()),
    ],
)
def test_what_is_not_a_list_stops_the_node_before_it_does_anything(
    bench: Bench, x: Any, says: str, available: tuple[str, ...]
) -> None:
    each = node("a", value="${item}", batch={"items": "${x}"}, on_error="continue")
    error = bench.run(flow(each, inputs={"x": {}}), {"x": x}).error
    assert type(error) is RuntimeValidationError
    assert error.message == f"batch needs a list, and '${{x}}' {says}"
    assert (error.category, error.attempted, error.available) == (
        "not_a_list",
        ("${x}",),
        available,
    )
    assert bench.calls == []


def test_an_item_that_lacks_a_field_stops_the_node_before_it_does_anything(bench: Bench) -> None:
    each = {"items": [{"x": 1}, {"y": 1}], "error_handling": "continue"}
    error = bench.failure(node("a", value="${item.x}", batch=each))
    assert type(error) is RuntimeValidationError
    assert error.message == "item 1 of 2: ${item.x}: 'x' is not in item; available there: y"
    assert (error.data, error.sample, bench.calls) == ({"index": 1}, '{"y": 1}', [])


# -- beside one another -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "at_once"),
    [
        ({}, 1),
        ({"max_concurrent": 5}, 1),
        ({"parallel": True}, 10),
        ({"parallel": True, "max_concurrent": 3}, 3),
        ({"parallel": True, "max_concurrent": 1}, 1),
        ({"parallel": True, "max_concurrent": 1000}, 30),
    ],
)
def test_as_many_run_at_once_as_the_limit_says_and_the_order_is_kept(
    bench: Bench, batch: dict[str, Any], at_once: int
) -> None:
    items = [{"n": n, "turns": 40 - n} for n in range(30)]  # the later, the sooner done
    each = node("a", value="${item.n}", turns="${item.turns}", batch={"items": items, **batch})
    store = bench.store(each)
    assert [result["value"] for result in store["a"]["results"]] == list(range(30))
    assert bench.world.most_running == at_once
    progress = [event.payload for event in bench.events if event.kind == "item_finished"]
    assert progress == [{"done": n, "of": 30} for n in range(1, 31)]


# -- failures -----------------------------------------------------------------------------------


def failing(*items: Any, type: str = "finish", **batch: Any) -> dict[str, Any]:
    """A batch of which the items that are `bad` fail."""
    return node("a", type, value="${item}", batch={"items": list(items), **batch})


def broken(*items: Any, **batch: Any) -> dict[str, Any]:
    """A batch of which the items that are true fail."""
    params: dict[str, Any] = {"value": "ok", "times": "${item}", "outputs": {"code": 1}}
    return node("a", "fail", batch={"items": list(items), **batch}, **params)


def test_fail_fast_stops_at_the_first_failure_and_tells_its_index(bench: Bench) -> None:
    result = bench.run(flow(broken(0, 9, 0), node("b", value=1)))
    error = result.error
    assert type(error) is NodeFailed
    assert (error.message, error.data["index"]) == ("item 1 of 3: it broke", 1)
    assert (error.node_id, error.category) == ("a", "broken")
    assert len(bench.calls) == 2
    assert result.store == {
        "a": told(
            [{"value": "ok", "item": 0}, {"code": 1, "error": "it broke", "item": 9}, None],
            (1, 9, "it broke"),
        )
    }


def test_fail_fast_ends_those_that_run_beside_it(bench: Bench) -> None:
    items = [{"value": "x", "turns": 1_000_000}, {"value": [], "turns": "no number"}]
    each = {"items": items, "parallel": True}
    error = bench.failure(node("a", value="${item.value}", turns="${item.turns}", batch=each))
    assert error.message.startswith("item 1 of 2: param 'turns'")
    assert bench.calls == ["x"]


@pytest.mark.parametrize("parallel", [False, True])
def test_with_continue_the_others_go_on_and_the_failed_ones_are_told(
    bench: Bench, parallel: bool
) -> None:
    store = bench.store(
        broken(0, 9, 0, 9, error_handling="continue", parallel=parallel),
        node("b", value="${a.errors[1].index}"),
    )
    good = {"value": "ok", "item": 0}
    bad = {"code": 1, "error": "it broke", "item": 9}
    assert store["a"] == told([good, bad, good, bad], (1, 9, "it broke"), (3, 9, "it broke"))
    assert store["b"] == {"value": 3}


def test_when_all_items_fail_the_node_does(bench: Bench) -> None:
    each = broken(9, 8, error_handling="continue")
    result = bench.run(flow(each))
    assert type(result.error) is NodeFailed
    assert result.error.message == "all 2 items failed, the first with: it broke"
    assert result.error.category == "all_items_failed"
    assert result.store["a"]["error_count"] == 2
    handled = bench.store({**each, "on_error": "continue"}, node("b", value="${a.error}"))
    assert handled["a"]["error_count"] == 2
    assert handled["b"]["value"] == result.error.message


@pytest.mark.parametrize(
    ("faults", "fault"),
    [
        (["environment", "environment"], "environment"),
        (["credentials", "credentials"], "credentials"),
        (["environment", "candidate"], "candidate"),
    ],
)
def test_it_is_whose_fault_its_items_say(bench: Bench, faults: list[str], fault: str) -> None:
    each = {"items": faults, "error_handling": "continue"}
    assert bench.failure(node("a", "fail", fault="${item}", batch=each)).fault == fault


@pytest.mark.parametrize("batch", [{}, {"error_handling": "continue"}])
def test_a_failed_batch_takes_the_error_edge_with_all_its_outputs(
    bench: Bench, batch: dict[str, Any]
) -> None:
    store = bench.store(
        broken(9, **batch),
        node("rescue", value=["${a.error_count}", "${a.error}", "${a.results[0].code}"]),
        edges=[("a", "rescue", "error")],
    )
    assert store["rescue"]["value"] == [1, store["a"]["error"], 1]


def test_what_the_workflow_assumed_wrongly_is_told_for_the_item_that_shows_it(bench: Bench) -> None:
    result = bench.run(flow({**failing("x", "bad", "y"), "on_error": "continue"}))
    error = result.error
    assert type(error) is RuntimeValidationError
    assert (error.message, error.data["index"]) == ("item 1 of 3: there is no x", 1)
    assert (error.attempted, error.available) == (("x",), ("y",))
    assert result.store["a"]["error_count"] == 1
    assert result.store["a"]["results"][0] == {"value": ["x", None], "item": "x"}


def test_with_continue_it_is_the_failure_of_its_item(bench: Bench) -> None:
    store = bench.store(failing("x", "bad", error_handling="continue"))
    assert store["a"] == told(
        [
            {"value": ["x", None], "item": "x"},
            {"value": "bad", "error": "there is no x", "item": "bad"},
        ],
        (1, "bad", "there is no x"),
    )


def test_when_all_items_show_that_the_workflow_is_wrong_no_edge_handles_it(bench: Bench) -> None:
    error = bench.failure(
        {**failing("bad", "bad", error_handling="continue"), "on_error": "continue"}
    )
    assert type(error) is RuntimeValidationError
    assert error.message == "all 2 items failed, the first with: there is no x"
    assert (error.attempted, error.available) == (("x",), ("y",))


@pytest.mark.parametrize(
    ("batch", "retry", "tries"),
    [
        ({"max_retries": 3, "retry_wait": 0}, None, 3),
        ({}, {"attempts": 2}, 2),
        ({"max_retries": 3}, {"attempts": 2}, 3),
        ({"max_retries": 1}, None, 1),
    ],
)
def test_an_item_is_tried_again_by_itself(
    bench: Bench, batch: dict[str, Any], retry: Any, tries: int
) -> None:
    each = {"items": [0, 9], "error_handling": "continue", **batch}
    store = bench.store(node("a", "fail", times="${item}", value="ok", batch=each, retry=retry))
    assert len(bench.calls) == 1 + tries
    assert (store["a"]["success_count"], store["a"]["error_count"]) == (1, 1)


def test_the_first_item_that_the_run_goes_on_after_is_told(bench: Bench) -> None:
    bench.store(broken(0, 9, 9, error_handling="continue"))
    (handled,) = [event for event in bench.events if event.kind == "node_handled"]
    told = {key: handled.payload[key] for key in ("source", "node_id", "message", "category")}
    assert told == {"source": "fail", "node_id": "a", "message": "it broke", "category": "broken"}
    assert handled.payload["data"]["index"] == 1
    assert set(handled.payload) == {"source", *as_data(NodeFailed("x"))}


# -- reports ------------------------------------------------------------------------------------


def test_partial_failure_is_never_reported_as_plain_success(durable: Durable) -> None:
    run_id = durable.start(flow(broken(0, 9, error_handling="continue"), node("b", value=1)))
    run = durable.drive(run_id)
    assert run.result is not None
    assert run.result["nodes"] == [
        {"id": "a", "type": "fail", "status": "handled", "error": "1 of 2 items failed"},
        {"id": "b", "type": "echo", "status": "passed", "error": None},
    ]


def test_nor_is_it_while_the_run_is_not_over(durable: Durable) -> None:
    parts = broken(0, 9, error_handling="continue"), node("b", "fail", how="mismatch")
    run_id = durable.start(flow(*parts))
    with pytest.raises(RuntimeValidationError):
        durable.drive(run_id)
    report = durable.report(run_id)
    assert [(n["status"], n["error"]) for n in report["nodes"]] == [
        ("handled", "1 of 2 items failed"),
        ("failed", "not so"),
    ]
    assert report["result"] == {}
