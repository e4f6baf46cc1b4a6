"""Nodes: their defaults, and how they are wired."""

from enum import StrEnum

import pytest

from runtrue.errors import FlowError
from runtrue.flow import Ask, Flow, Node


class Door(StrEnum):
    OPEN = "open"


class Other(Node):
    pass


def test_a_node_is_named_after_its_class_unless_it_is_given_a_name() -> None:
    assert Other().name == "Other"
    assert Other("first").name == "first"
    assert repr(Other("first")) == "<Other 'first'>"


def test_the_arrow_leads_to_the_default_successor_and_can_be_chained() -> None:
    a, b, c = Node("a"), Node("b"), Node("c")
    assert a >> b >> c is c
    assert a.successors == {"default": b}
    assert b.successors == {"default": c}


def test_an_action_leads_to_its_own_successor_and_can_be_chained() -> None:
    a, b, c = Node("a"), Node("b"), Node("c")
    assert a - "left" >> b >> c is c
    a - "right" >> c
    assert a.successors == {"left": b, "right": c}
    assert b.successors == {"default": c}


def test_an_action_may_be_a_member_of_an_enum() -> None:
    a, b = Node("a"), Node("b")
    a - Door.OPEN >> b
    assert a.successors["open"] is b


def test_two_wirings_of_one_action_are_refused_and_the_first_stays() -> None:
    a, b, c = Node("a"), Node("b"), Node("c")
    a - Door.OPEN >> b
    with pytest.raises(FlowError, match="action 'open' of 'a' already leads to 'b'"):
        a - "open" >> c
    assert a.successors == {"open": b}


def test_wiring_an_action_twice_to_the_same_node_is_no_contradiction() -> None:
    a, b = Node("a"), Node("b")
    a >> b
    a >> b
    assert a.successors == {"default": b}


def test_a_node_may_lead_back_to_itself() -> None:
    a = Node("a")
    a - "again" >> a
    assert list(Flow(a).steps) == [a]


def test_by_default_a_node_is_tried_once_and_is_neither_terminal_nor_a_side_effect() -> None:
    node = Node()
    assert (node.retries, node.wait) == (0, 0.0)
    assert (node.side_effect, node.terminal, node.blocking) == (False, False, False)


def test_asking_is_a_kind_of_node_and_wired_like_one() -> None:
    ask, end = Ask("ask"), Node("end")
    ask - "yes" >> end
    assert isinstance(ask, Node)
    assert ask.successors == {"yes": end}
