"""Flows: what is checked when one is made."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from runtrue.errors import FlowError
from runtrue.flow import Flow, Node

if TYPE_CHECKING:
    from decimal import Decimal


class Add(Node):
    terminal = True

    def prep(self, shared: dict[str, Any]) -> int:
        return int(shared.get("n", 0))

    def exec(self, inputs: int) -> int:
        return inputs + 1

    def post(self, shared: dict[str, Any], inputs: int, result: int) -> None:
        shared["n"] = result


def test_a_flow_holds_everything_that_can_be_reached_from_its_start() -> None:
    a, b, c, unreached = Node("a"), Node("b"), Node("c"), Node("unreached")
    a >> b >> c
    c - "back" >> a
    unreached >> a
    assert [node.name for node in Flow(a).steps] == ["a", "b", "c"]


def test_two_nodes_of_one_name_are_refused_since_the_journal_could_not_tell_them_apart() -> None:
    a, b = Node("same"), Node("same")
    a >> b
    with pytest.raises(FlowError, match="two nodes of the flow are named 'same'"):
        Flow(a)


def test_two_nodes_that_nobody_named_are_two_nodes_of_one_name() -> None:
    a = Add()
    a >> Add()
    with pytest.raises(FlowError, match="are named 'Add'"):
        Flow(a)


def test_an_annotation_that_cannot_be_resolved_is_an_error_that_names_the_node() -> None:
    class Unclear(Node):
        def exec(self, inputs: Any) -> Decimal:
            raise NotImplementedError

    with pytest.raises(FlowError, match=r"annotations of Unclear\.exec cannot be used"):
        Flow(Unclear())


class Loose(Node):
    def exec(self, inputs: Any) -> dict[str, int] | list[int] | set[int]:
        return []


def test_an_annotation_that_cannot_be_read_back_is_an_error_that_names_the_node() -> None:
    with pytest.raises(FlowError, match=r"annotations of Loose\.exec cannot be used"):
        Flow(Loose())


def test_running_in_memory_gives_the_shared_store_back() -> None:
    shared = {"n": 41}
    assert asyncio.run(Flow(Add()).run(shared)) is shared
    assert shared == {"n": 42}


def test_running_without_a_shared_store_begins_with_an_empty_one() -> None:
    assert asyncio.run(Flow(Add()).run()) == {"n": 1}


def test_a_node_wired_after_the_flow_was_made_is_an_error_that_says_so() -> None:
    start = Add("start")
    flow = Flow(start)
    start >> Add("late")
    with pytest.raises(FlowError, match="'late' was wired to 'start' after the flow was made"):
        asyncio.run(flow.run())
