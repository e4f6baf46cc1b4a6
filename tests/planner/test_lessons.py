"""Learning: a run that has passed teaches what things are called, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtrue.memory import Memory, OperationScope, scope_of
from runtrue.planner.lessons import learn, scope_of_node
from runtrue.workflow import Interface
from tests.planner.support import fetch

URL = "https://api.example.org/users/${user}"
STORE = {"user": "torvalds", "fetch": {"response": {"login": "s3cret-value"}}}
USERS = scope_of("GET", "https://api.example.org/users/torvalds")
TOOLS = (Interface("mcp-time-now", "", {}, server="time"),)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path) as memory:
        yield memory
        assert memory.trouble is None
    assert b"s3cret" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def known(memory: Memory) -> dict[str, str]:
    return {f"{repair.kind} {repair.wanted}": repair.found for repair in memory.list()}


def test_a_corrected_path_is_kept_under_what_was_guessed(memory: Memory) -> None:
    first = fetch(URL, {"username": "$.username", "x": "$.owner.user_name", "id": "$.id"})
    proven = fetch(URL, {"username": "$.login", "x": "$.login", "id": "$.id"})
    learn(memory, first, proven, STORE, fixer="fields")
    assert known(memory) == {"path username": "$.login", "path owner user name": "$.login"}
    assert {repair.scope for repair in memory.list()} == {USERS}
    assert {repair.fixer for repair in memory.list()} == {"fields"}
    # For the next one who asks for it, of another object.
    scope = scope_of_node(fetch(URL)["nodes"][0], {"user": "gvanrossum"})
    assert scope is not None
    assert memory.recall(scope, "username") == "$.login"


def test_what_was_recalled_and_has_proven_right_again_is_a_use(memory: Memory) -> None:
    first = fetch(URL, {"username": "$.username"})
    proven = fetch(URL, {"username": "$.login"})
    learn(memory, first, proven, STORE, fixer="model")
    # By a repair, and by a plan that had it right from the first.
    learn(memory, first, proven, STORE, fixer="fields")
    learn(memory, proven, proven, STORE, fixer="")
    (repair,) = memory.list()
    assert (repair.uses, repair.fixer) == (2, "model")


def test_what_is_gone_is_replaced_under_the_same_name(memory: Memory) -> None:
    memory.remember(USERS, "username", "$.login", fixer="fields")
    first = fetch(URL, {"username": "$.login"})
    proven = fetch(URL, {"username": "$.handle"})
    learn(memory, first, proven, STORE, fixer="fields")
    assert known(memory) == {"path username": "$.handle"}


def test_a_corrected_reference_teaches_the_same_as_an_extraction(memory: Memory) -> None:
    first = {
        **fetch(URL),
        "outputs": {
            "a": {"source": "<${fetch.response.user.name}> of ${user}"},
            "b": {"source": "fetch.response.biography"},
            "c": {"source": "${fetch.status}"},
        },
    }
    proven = copy.deepcopy(first)
    proven["outputs"] = {
        "a": {"source": "<${fetch.response.login}> of ${user}"},
        "b": {"source": "fetch.response.bio"},
        "c": {"source": "${fetch.status_code}"},
    }
    learn(memory, first, proven, STORE, fixer="fields")
    assert known(memory) == {"path user name": "$.login", "path biography": "$.bio"}


def test_renamed_arguments_are_kept(memory: Memory) -> None:
    def calls(tool: dict[str, Any], json: dict[str, Any]) -> dict[str, Any]:
        send = fetch("https://h/users", method="POST", json=json)["nodes"][0]
        call = {"id": "call", "type": "mcp-time-now", "params": tool}
        return {"nodes": [send, call], "outputs": {"z": {"source": "${call.zone}"}}}

    first = calls({"tz": "s3cret"}, {"who": "s3cret", "mail": "s3cret 2", "n": 1})
    proven = calls({"timezone": "s3cret"}, {"name": "s3cret", "email": "s3cret 2", "n": 1})
    proven["outputs"]["z"]["source"] = "${call.result.timezone}"
    learn(memory, first, proven, {}, fixer="model", components=TOOLS)
    assert known(memory) == {
        "argument tz": "timezone",
        "argument who": "name",
        "argument mail": "email",
        "path zone": "$.timezone",
    }
    assert memory.recall(OperationScope.of_tool("time", "now"), "zone") == "$.timezone"
    assert memory.recall(scope_of("POST", "https://h/users"), "who", kind="argument") == "name"


@pytest.mark.parametrize(
    ("node", "scope"),
    [
        ({"url": "https://h/x?key=${env.KEY}"}, OperationScope("h", "GET /x?key")),
        ({"url": "https://h/${env.KEY}/x"}, OperationScope("h", "GET /{}/x")),
        ({"url": "https://h/x", "params": {"page": 2}}, OperationScope("h", "GET /x")),
        ({"url": "https://h/x", "json": None}, OperationScope("h", "POST /x")),
        ({"url": "https://h/x", "method": "put"}, OperationScope("h", "PUT /x")),
        ({"url": "https://h/${nobody}"}, None),
        ({"url": "https://h/${"}, None),
        ({}, None),
    ],
)
def test_the_scope_of_a_request_is_that_of_what_was_sent(
    node: dict[str, Any], scope: OperationScope | None
) -> None:
    assert scope_of_node({"id": "a", "type": "http", "params": node}, {}) == scope


def test_the_items_of_a_batch_are_objects_of_one_operation(memory: Memory) -> None:
    batch = {"batch": {"items": ["a", "b"], "as": "user"}}
    first = fetch(URL, {"username": "$.username"})
    proven = fetch(URL, {"username": "$.login"})
    for workflow in (first, proven):
        workflow["nodes"][0] |= batch
    store = {"fetch": {"results": [{"item": "a"}, {"item": "b"}]}}
    learn(memory, first, proven, store, fixer="fields")
    assert memory.recall(USERS, "username") == "$.login"


def test_a_node_that_calls_nothing_that_could_be_known_again_teaches_nothing(
    memory: Memory,
) -> None:
    first = {"nodes": [{"id": "a", "type": "shell", "params": {"command": "a", "x": 1}}]}
    proven = {"nodes": [{"id": "a", "type": "shell", "params": {"command": "b", "y": 1}}]}
    learn(memory, first, proven, {}, fixer="model")
    assert memory.list() == ()
