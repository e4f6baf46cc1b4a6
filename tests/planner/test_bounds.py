"""Bounds: what a fix has changed, and everything that it may not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.home import Home
from runtrue.planner.bounds import ABSENT, WorkflowChange, changes_between, violations
from runtrue.workflow import Registry, validate_workflow
from tests.workflow.support import install

BEFORE: dict[str, Any] = {
    "name": "user",
    "description": "Fetch a user.",
    "inputs": {"user": {"type": "string", "default": "torvalds"}, "city": {"required": True}},
    "nodes": [
        {
            "id": "fetch",
            "type": "http",
            "purpose": "get the user",
            "params": {
                "url": "https://api.example.org/users/${user}",
                "headers": {"X-Key": "${env.KEY}"},
                "params": {"q": "${city}", "limit": 5},
                "extract": {"username": "$.username"},
            },
            "retry": {"attempts": 2},
        },
        {
            "id": "each",
            "type": "shell",
            "params": {"command": "echo ${item}"},
            "batch": {"items": "${fetch.response.repos}", "parallel": True},
        },
        {
            "id": "save",
            "type": "write-file",
            "params": {"file_path": "out.txt", "content": "${fetch.extracted.username}"},
            "on_error": "continue",
        },
    ],
    "edges": [{"from": "fetch", "to": "each"}, {"from": "each", "to": "save"}],
    "start_node": "fetch",
    "outputs": {
        "username": {"description": "Who.", "source": "${fetch.extracted.username}"},
        "count": {"source": "each.count"},
    },
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    path = tmp_path_factory.mktemp("bounds")
    return Registry(Home(path / "home"), path)


def edited(edit: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    after = copy.deepcopy(BEFORE)
    edit(after)
    return after


def node(workflow: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in workflow["nodes"] if one["id"] == name)
    return found


def params(name: str, **changed: Any) -> Callable[[dict[str, Any]], object]:
    return lambda workflow: node(workflow, name)["params"].update(changed)


def test_the_example_is_a_workflow(registry: Registry) -> None:
    assert validate_workflow(BEFORE, registry=registry) == ()


# -- changes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (
            params("fetch", extract={"username": "$.login"}),
            "fetch: extract.username  $.username → $.login",
        ),
        (params("fetch", timeout=5), "fetch: timeout  added: 5"),
        (
            lambda w: w["nodes"][0]["params"].pop("headers"),
            'fetch: headers  removed: {"X-Key":"${env.KEY}"}',
        ),
        (
            lambda w: w["nodes"][1]["batch"].update(items="${fetch.response}"),
            "each: batch.items  ${fetch.response.repos} → ${fetch.response}",
        ),
        (
            lambda w: w["outputs"]["count"].update(source="each.n"),
            "outputs.count.source  each.count → each.n",
        ),
        (lambda w: w["nodes"].pop(1), "each  removed: "),
        (
            lambda w: w["nodes"].reverse(),
            'nodes  ["fetch","each","save"] → ["save","each","fetch"]',
        ),
        (
            params("save", content="a\n\x1b[31mb" + "x" * 200),
            "save: content  ${fetch.extracted.username} → a\\n\\x1b[31mbxx",
        ),
        (params("save", content=""), "save: content  ${fetch.extracted.username} → ''"),
        (lambda w: w.update({"a/b~c": 1}), "a/b~c  added: 1"),
    ],
)
def test_a_change_is_one_line_for_people(
    edit: Callable[[dict[str, Any]], object], line: str
) -> None:
    (change,) = changes_between(BEFORE, edited(edit))
    assert str(change).startswith(line)
    assert len(str(change)) < 300
    assert str(change).isprintable()


def test_a_change_tells_its_place_its_node_and_both_values() -> None:
    after = edited(params("fetch", extract={"username": "$.login", "bio": None}))
    place = "/nodes/0/params/extract"
    assert repr(ABSENT) == "ABSENT"
    assert changes_between(BEFORE, after) == (
        WorkflowChange(
            pointer=f"{place}/username", node_id="fetch", before="$.username", after="$.login"
        ),
        WorkflowChange(pointer=f"{place}/bio", node_id="fetch", before=ABSENT, after=None),
    )


@pytest.mark.parametrize(
    ("before", "after"), [(1, True), (1, 1.0), (0, False), (None, ""), ([], {})]
)
def test_values_that_are_sent_differently_differ(before: Any, after: Any) -> None:
    assert len(changes_between({"x": before}, {"x": after})) == 1


def test_nodes_are_compared_by_their_ids() -> None:
    def edit(workflow: dict[str, Any]) -> None:
        workflow["nodes"].insert(0, {"id": "new", "type": "shell"})
        node(workflow, "save")["params"]["file_path"] = "other.txt"

    found = changes_between(BEFORE, edited(edit))
    assert [(change.node_id, change.pointer) for change in found] == [
        ("new", "/nodes/0"),
        ("save", "/nodes/2/params/file_path"),
    ]


def test_the_order_of_keys_is_no_difference() -> None:
    assert changes_between(BEFORE, dict(reversed(BEFORE.items()))) == ()


# -- what a fix may do --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        params("fetch", extract={"username": "$.login"}),
        params("fetch", url="https://api.example.org/v2/people/${user}"),
        params("fetch", params={"query": "${city}", "limit": "5"}),
        params("fetch", params={"q": "in ${city}", "limit": 5, "page": 1}),
        params("save", content="${fetch.response.login}"),
        lambda w: node(w, "each")["batch"].update(items="${fetch.response.items[0].repos}"),
        lambda w: w["outputs"]["username"].update(source="${fetch.response.login}"),
        lambda w: w["outputs"]["username"].update(source="fetch.response.login"),
        lambda w: w["outputs"]["count"].update(source="${each.success_count}"),
    ],
)
def test_argument_names_values_and_output_paths_may_change(
    edit: Callable[[dict[str, Any]], object], registry: Registry
) -> None:
    after = edited(edit)
    assert changes_between(BEFORE, after)
    assert violations(BEFORE, after, registry) == ()


# -- what it may not do -------------------------------------------------------------------------

FORBIDDEN: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda w: w["nodes"].pop(1), "node 'each' was removed"),
    (lambda w: w["nodes"].append({"id": "new", "type": "shell"}), "node 'new' was added"),
    (lambda w: w["nodes"].reverse(), "the nodes were reordered"),
    (lambda w: node(w, "each").update(id="other"), "node 'each' was removed"),
    (lambda w: node(w, "each").update(id="save"), "lost their ids"),
    (lambda w: w["nodes"].append("text"), "lost their ids"),
    (lambda w: w.update(nodes=None), "lost their ids"),
    (lambda w: w.pop("nodes"), "lost their ids"),
    (lambda w: node(w, "fetch").update(type="shell"), "the type of node 'fetch' was changed"),
    (lambda w: node(w, "fetch").update(purpose="x"), "the purpose of node 'fetch' was changed"),
    (lambda w: node(w, "save").update(purpose="x"), "the purpose of node 'save' was added"),
    (lambda w: node(w, "fetch").pop("retry"), "the retry of node 'fetch' was removed"),
    (
        lambda w: node(w, "fetch")["retry"].update(attempts=9),
        "the retry of node 'fetch' was changed",
    ),
    (lambda w: node(w, "save").pop("on_error"), "the on_error of node 'save' was removed"),
    (lambda w: node(w, "each").pop("batch"), "the batch of node 'each' was removed"),
    (
        lambda w: node(w, "each")["batch"].update(parallel=False),
        "the batch of node 'each' was changed",
    ),
    (
        lambda w: node(w, "each")["batch"].update(items="${save.x}"),
        "node 'each' would run for other items",
    ),
    (lambda w: node(w, "each")["batch"].update(items=[]), "node 'each' would run for other items"),
    (
        lambda w: node(w, "each")["batch"].update(items="${"),
        "node 'each' would run for other items",
    ),
    (lambda w: w["edges"].pop(), "'edges' of the workflow was changed"),
    (lambda w: w.pop("edges"), "'edges' of the workflow was removed"),
    (lambda w: w.update(start_node="save"), "'start_node' of the workflow was changed"),
    (lambda w: w.update(name="x"), "'name' of the workflow was changed"),
    (lambda w: w.pop("description"), "'description' of the workflow was removed"),
    (lambda w: w.update(ir_version="1.0.0"), "'ir_version' of the workflow was added"),
    (lambda w: w["inputs"].pop("city"), "the input 'city' was removed"),
    (lambda w: w["inputs"].update(new={}), "the input 'new' was added"),
    (lambda w: w["inputs"]["user"].update(type="integer"), "the input 'user' was changed"),
    (lambda w: w["inputs"]["user"].pop("default"), "the input 'user' was changed"),
    (lambda w: w["inputs"]["city"].update(required=False), "the input 'city' was changed"),
    (lambda w: w["outputs"].pop("count"), "the output 'count' was removed"),
    (lambda w: w["outputs"].update(new={"source": "x.y"}), "the output 'new' was added"),
    (lambda w: w.pop("outputs"), "'outputs' of the workflow was removed"),
    (
        lambda w: w["outputs"]["username"].update(description="x"),
        "the description of output 'username'",
    ),
    (
        lambda w: w["outputs"]["count"].update(type="integer"),
        "the type of output 'count' was added",
    ),
    (lambda w: w["outputs"]["count"].pop("source"), "the source of output 'count' was removed"),
    # What is wanted is not left out to get rid of an error.
    (
        lambda w: w["outputs"]["username"].update(source="$${none}"),
        "the output 'username' would have another source",
    ),
    (
        lambda w: w["outputs"]["username"].update(source="${save.written}"),
        "the output 'username' would have another source",
    ),
    (
        lambda w: w["outputs"]["username"].update(source=None),
        "the output 'username' would have another source",
    ),
    (params("fetch", extract={}), "node 'fetch' would ask for something else"),
    (params("fetch", extract={"name": "$.login"}), "node 'fetch' would ask for something else"),
    (lambda w: node(w, "fetch").pop("params"), "node 'fetch' would no longer use 'user'"),
    (
        params("fetch", params={"q": "${city}"}),
        "node 'fetch' would be given 4 values, and was given 5",
    ),
    (params("fetch", params={"q": "Paris", "limit": 5}), "node 'fetch' would no longer use 'city'"),
    (params("save", content="nothing"), "node 'save' would no longer use 'fetch'"),
    (params("save", content="${"), "node 'save' would no longer use 'fetch'"),
    # What a node is for.
    (
        params("fetch", url="https://evil.example.org/users/${user}"),
        "its url leads to another host",
    ),
    (params("fetch", method="DELETE"), "node 'fetch' would ask for something else"),
    (params("each", command="rm -rf ${item}"), "node 'each' would ask for something else"),
    (params("save", file_path="/etc/passwd"), "node 'save' would ask for something else"),
    # Secrets.
    (
        params("save", content="${fetch.extracted.username} ${env.KEY}"),
        "node 'save' would get the secret 'KEY'",
    ),
    (
        params("fetch", params={"q": "${city}", "limit": "${env.OTHER}"}),
        "would get the secret 'OTHER'",
    ),
    (
        lambda w: w["outputs"]["username"].update(source="${env.KEY}"),
        "the output 'username' would have another source",
    ),
]


@pytest.mark.parametrize(("edit", "breach"), FORBIDDEN)
def test_everything_else_is_a_breach(
    edit: Callable[[dict[str, Any]], object], breach: str, registry: Registry
) -> None:
    found = violations(BEFORE, edited(edit), registry)
    assert any(breach in sentence for sentence in found), found
    assert all("\n" not in sentence for sentence in found)


def test_an_output_may_be_told_for_the_first_time_where_it_comes_from(registry: Registry) -> None:
    before = edited(lambda w: w["outputs"]["count"].pop("source"))
    assert violations(before, BEFORE, registry) == ()
    after = edited(lambda w: w["outputs"]["count"].update(source="${env.KEY}"))
    assert violations(before, after, registry) != ()


@pytest.mark.parametrize("kind", ["nobody-knows", "broken"])
def test_a_node_type_that_cannot_be_asked_is_still_kept_in_bounds(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", {"broken": "no.such.package:Node"})
    monkeypatch.syspath_prepend(tmp_path / "site")
    registry = Registry(Home(tmp_path / "home"), tmp_path)
    before, renamed, dropped = (
        {"nodes": [{"id": "a", "type": kind, "params": params}]}
        for params in ({"x": "${b.c}", "y": 1}, {"z": "${b.d}", "y": 1}, {"y": 1})
    )
    assert violations(before, renamed, registry) == ()
    assert len(violations(before, dropped, registry)) == 2


# -- anything at all ----------------------------------------------------------------------------

KEYS = st.sampled_from(
    ["nodes", "edges", "inputs", "outputs", "id", "type", "params", "batch", "items", "source"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(["${a.b}", "${a.b} and ${env.K}", "${", "http", "shell", "a", "b"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), inner),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS | st.text(max_size=4), JSON)


@given(OBJECTS)
def test_a_workflow_does_not_differ_from_itself(
    registry: Registry, workflow: dict[str, Any]
) -> None:
    copied = copy.deepcopy(workflow)
    assert changes_between(workflow, copied) == ()
    assert violations(workflow, copied, registry) == ()


@given(OBJECTS, OBJECTS)
def test_whatever_is_proposed_can_be_compared(
    registry: Registry, before: dict[str, Any], after: dict[str, Any]
) -> None:
    found = changes_between(before, after)
    assert bool(found) == (json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True))
    assert all(str(change).isprintable() for change in found)
    violations(before, after, registry)


def test_a_proposal_nested_without_end_can_be_compared(registry: Registry) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    after = edited(params("save", content=deep))
    (change,) = changes_between(BEFORE, after)
    assert str(change)
    assert violations(BEFORE, after, registry) != ()


NAMES = st.from_regex(r"[a-z]{1,6}", fullmatch=True)


@st.composite
def workflows(draw: st.DrawFn) -> dict[str, Any]:
    """Workflows that are valid: shell commands one after the other, with inputs and outputs."""
    ids = draw(st.lists(NAMES.map("n_{}".format), min_size=2, max_size=4, unique=True))
    inputs = draw(st.lists(NAMES.map("i_{}".format), min_size=1, max_size=3, unique=True))
    nodes = []
    for n, name in enumerate(ids):
        source = draw(st.sampled_from([*inputs, *(f"{one}.stdout" for one in ids[:n])]))
        given = {"command": "cat", "stdin": f"{draw(NAMES)} ${{{source}}}"}
        nodes.append({"id": name, "type": "shell", "params": given})
    return {
        "nodes": nodes,
        "inputs": {name: {"type": "string"} for name in inputs},
        "outputs": {name: {"source": f"${{{name}.stdout}}"} for name in ids},
    }


MUTATIONS: dict[str, Callable[[dict[str, Any], int], object]] = {
    "node removed": lambda w, n: w["nodes"].pop(n),
    "node added": lambda w, n: w["nodes"].insert(n, {"id": "added", "type": "shell"}),
    "nodes reordered": lambda w, n: w["nodes"].insert(0, w["nodes"].pop()),
    "id": lambda w, n: w["nodes"][n].update(id="renamed"),
    "type": lambda w, n: w["nodes"][n].update(type="python"),
    "purpose": lambda w, n: w["nodes"][n].update(purpose="another"),
    "command": lambda w, n: w["nodes"][n]["params"].update(command="rm"),
    "value dropped": lambda w, n: w["nodes"][n]["params"].pop("stdin"),
    "value made constant": lambda w, n: w["nodes"][n]["params"].update(stdin="x"),
    "secret": lambda w, n: w["nodes"][n]["params"].update(env={"A": "${env.A}"}),
    "batch": lambda w, n: w["nodes"][n].update(batch={"items": [1]}),
    "retry": lambda w, n: w["nodes"][n].update(retry={"attempts": 3}),
    "on_error": lambda w, n: w["nodes"][n].update(on_error="continue"),
    "edges": lambda w, n: w.update(edges=[]),
    "start_node": lambda w, n: w.update(start_node=w["nodes"][n]["id"]),
    "input removed": lambda w, n: w["inputs"].popitem(),
    "input added": lambda w, n: w["inputs"].update(added={}),
    "input changed": lambda w, n: next(iter(w["inputs"].values())).update(default="x"),
    "output removed": lambda w, n: w["outputs"].popitem(),
    "output added": lambda w, n: w["outputs"].update(added={"source": "${a.b}"}),
    "output made constant": lambda w, n: next(iter(w["outputs"].values())).update(source="$${x}"),
    "name": lambda w, n: w.update(name="another"),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
@settings(max_examples=20)
@given(workflow=workflows(), n=st.integers(0, 1), also=st.booleans())
def test_a_forbidden_mutation_of_any_workflow_is_caught(
    registry: Registry, mutation: str, workflow: dict[str, Any], n: int, also: bool
) -> None:
    assert validate_workflow(workflow, registry=registry) == ()
    after = copy.deepcopy(workflow)
    if also:
        # Among changes that are allowed.
        last = after["nodes"][-1]["params"]
        last["stdin"] = last["stdin"].replace(".stdout", ".stderr")
        assert violations(workflow, after, registry) == ()
    MUTATIONS[mutation](after, n)
    assert changes_between(workflow, after)
    assert violations(workflow, after, registry) != ()
