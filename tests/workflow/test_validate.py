"""Everything that can be told to be wrong without running is told, at once and with its place."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtrue.errors import InvalidWorkflow
from runtrue.workflow import InputError, Workflow, WorkflowResult, compile_workflow, run_workflow
from tests.workflow.support import Bench, flow, node

A = node("a", value=1)
B = node("b", value=2)
EACH = {"items": [1, 2]}


def refers(text: str, **keys: Any) -> dict[str, Any]:
    """Two nodes and an input, with a reference in the second node."""
    return flow(A, node("b", value=text), **{"inputs": {"city": {}}, **keys})


#: A workflow, the pointer of its only problem, and what its message says.
PROBLEMS: dict[str, tuple[dict[str, Any], str, str]] = {
    # its shape
    "no nodes": ({}, "", "the key 'nodes' is missing"),
    "empty nodes": (flow(), "/nodes", "non-empty"),
    "nodes not a list": ({"nodes": {}}, "/nodes", "is an object and should be array"),
    "unknown key": (flow(A, inptus={}), "/inptus", "unknown key 'inptus'; did you mean 'inputs'?"),
    "unknown key of a node": (
        flow({**A, "parms": {}}),
        "/nodes/0/parms",
        "unknown key 'parms'; did you mean 'params'?",
    ),
    "slash in a key": (flow(A, **{"a/b~c": 1}), "/a~1b~0c", "unknown key 'a/b~c'; known here: "),
    "no id": (flow({"type": "give"}), "/nodes/0", "the key 'id' is missing"),
    "no type": (flow({"id": "a"}), "/nodes/0", "the key 'type' is missing"),
    "bad id": (flow({**A, "id": "1 a"}), "/nodes/0/id", "'1 a' is not a usable name"),
    "dot in an id": (flow({**A, "id": "a.b"}), "/nodes/0/id", "'a.b' is not a usable name"),
    "bad input name": (flow(A, inputs={"a b": {}}), "/inputs", "'a b' is not a usable name"),
    "version": (flow(A, ir_version="2.0.0"), "/ir_version", "'2.0.0' is not a usable"),
    "on_error": (flow({**A, "on_error": "skip"}), "/nodes/0/on_error", "not one of: stop, conti"),
    "attempts": (flow({**A, "retry": {"attempts": 0}}), "/nodes/0/retry/attempts", "minimum of 1"),
    "endless wait": (
        flow({**A, "retry": {"attempts": 2, "wait": 10**400}}),
        "/nodes/0/retry/wait",
        "maximum",
    ),
    "batch": (
        flow({**A, "batch": {"items": [1], "max_concurrent": 0}}),
        "/nodes/0/batch/max_concurrent",
        "minimum of 1",
    ),
    "type of an input": (
        flow(A, inputs={"x": {"type": "text"}}),
        "/inputs/x/type",
        "not one of: s",
    ),
    "source of an output": (flow(A, outputs={"x": {"source": 1}}), "/outputs/x/source", "a number"),
    "one store for all": (flow(A, enable_namespacing=False), "/enable_namespacing", "only be True"),
    "lax references": (
        flow(A, template_resolution_mode="permissive"),
        "/template_resolution_mode",
        "can only be 'strict'",
    ),
    # its names
    "unknown type": (
        flow({"id": "a", "type": "ecoh"}),
        "/nodes/0/type",
        "there is no node type 'ecoh'; did you mean 'echo'?",
    ),
    "same id": (flow(A, B, A), "/nodes/2/id", "the id 'a' is already that of node 0"),
    "input and node": (flow(A, inputs={"a": {}}), "/nodes/0/id", "'a' is the name of an input"),
    "input env": (flow(A, inputs={"env": {}}), "/inputs/env", "'env' has a special meaning"),
    "node env": (flow({**A, "id": "env"}), "/nodes/0/id", "'env' has a special meaning"),
    "node __index__": (flow({**A, "id": "__index__"}), "/nodes/0/id", "has a special meaning"),
    "two stdins": (
        flow(A, inputs={"x": {"stdin": True}, "y": {"stdin": True}}),
        "/inputs/y/stdin",
        "only one input can take stdin, and 'x' already does",
    ),
    # its graph
    "start": (flow(A, B, start_node="c"), "/start_node", "there is no node 'c'"),
    "edge from nowhere": (
        flow(node("fetch", value=1), edges=[("fetsh", "fetch")]),
        "/edges/0/from",
        "there is no node 'fetsh'; did you mean 'fetch'?",
    ),
    "edge to nowhere": (flow(A, edges=[("a", "zz")]), "/edges/0/to", "there is no node 'zz'"),
    "unreachable": (
        flow(A, B, node("c", value=3), edges=[("a", "c")]),
        "/nodes/1",
        "node 'b' is never reached from 'a'",
    ),
    "no edges on purpose": (
        flow(A, B, edges=[]),
        "/nodes/1",
        "node 'b' is never reached from 'a'; without `edges` nodes run in order",
    ),
    "before the start": (
        flow(A, B, start_node="b", edges=[("a", "b")]),
        "/nodes/0",
        "node 'a' is never reached from 'b'",
    ),
    "one action, two ways": (
        flow(A, B, node("c", value=3), edges=[("a", "b"), ("a", "c", "default")]),
        "/edges/1",
        "the action 'default' of 'a' already leads on with edge 0",
    ),
    # params
    "missing param": (flow(node("a")), "/nodes/0/params", "the param 'value' of 'echo' is missing"),
    "unknown param": (
        flow(node("a", value=1, labl="x")),
        "/nodes/0/params/labl",
        "'echo' has no param 'labl'; did you mean 'label'?",
    ),
    "wrong type": (
        flow(node("a", value=1, count="two")),
        "/nodes/0/params/count",
        "is text and should be integer",
    ),
    "wrong type of several": (
        flow(node("a", value=1, label=5)),
        "/nodes/0/params/label",
        "is a number and should be string or null",
    ),
    "wrong choice": (
        flow(node("a", value=1, mode="shrill")),
        "/nodes/0/params/mode",
        "'shrill' is not one of: loud, quiet",
    ),
    # references
    "unknown root": (refers("${ciyt}"), "/nodes/1/params/value", "did you mean 'city'?"),
    "deep in params": (
        flow(node("a", value={"x": ["", {"y": "see ${no}"}]})),
        "/nodes/0/params/value/x/1/y",
        "${no}: there is no input or node 'no'",
    ),
    "later node": (
        flow(node("a", value="${b.value}"), B),
        "/nodes/0/params/value",
        "${b.value}: node 'b' does not run before this one",
    ),
    "other branch": (
        flow(A, B, node("c", value="${b.value}"), edges=[("a", "b"), ("a", "c", "error")]),
        "/nodes/2/params/value",
        "node 'b' does not run before this one",
    ),
    "itself": (
        flow(node("a", value="${a.value}")),
        "/nodes/0/params/value",
        "${a.value}: node 'a' is this node itself",
    ),
    "itself in a loop": (
        flow(node("a", value="${a.value}"), edges=[("a", "a", "error")]),
        "/nodes/0/params/value",
        "is this node itself",
    ),
    "unknown output": (
        refers("${a.valeu.x[0]}"),
        "/nodes/1/params/value",
        "${a.valeu.x[0]}: node 'a' has no output 'valeu'; did you mean 'value'?",
    ),
    "unknown output, index by reference": (
        refers("${a.valeu[${city}]}"),
        "/nodes/1/params/value",
        "node 'a' has no output 'valeu'; did you mean 'value'?",
    ),
    "unknown index": (
        refers("${a.value[${ciyt}]}"),
        "/nodes/1/params/value",
        "${ciyt}: there is no input or node 'ciyt'",
    ),
    "error of what never goes on failing": (
        refers("${a.error}"),
        "/nodes/1/params/value",
        "'error'",
    ),
    "output of a batch": (
        flow({**A, "batch": EACH}, node("b", value="${a.value}")),
        "/nodes/1/params/value",
        "${a.value}: node 'a' has no output 'value'",
    ),
    "item without batch": (refers("${item}"), "/nodes/1/params/value", "no input or node 'item'"),
    "index without batch": (refers("${__index__}"), "/nodes/1/params/value", "'__index__'"),
    "item by its old name": (
        flow(node("a", value="${item}", batch={**EACH, "as": "user"})),
        "/nodes/0/params/value",
        "no input or node 'item'",
    ),
    "item in its own list": (
        flow(node("a", value=1, batch={"items": "${item}"})),
        "/nodes/0/batch/items",
        "no input or node 'item'",
    ),
    "taken item name": (
        flow(A, node("b", value=1, batch={**EACH, "as": "a"})),
        "/nodes/1/batch/as",
        "'a' already names something else",
    ),
    "secret items": (
        flow(node("a", value=1, batch={"items": ["${env.KEY}"]})),
        "/nodes/0/batch/items/0",
        "${env.KEY}: a secret can only be used in params",
    ),
    "syntax": (refers("${city"), "/nodes/1/params/value", "this ${ is never closed"),
    "syntax where a number is due": (
        flow(node("a", value=1, count="${")),
        "/nodes/0/params/count",
        "a name is missing",
    ),
    "output from nowhere": (
        flow(A, outputs={"x": {"source": "${b.value}"}}),
        "/outputs/x/source",
        "${b.value}: there is no input or node 'b'",
    ),
    "bare output from nowhere": (
        flow(A, outputs={"x": {"source": "a.valeu"}}),
        "/outputs/x/source",
        "${a.valeu}: node 'a' has no output 'valeu'; did you mean 'value'?",
    ),
    "secret output": (
        flow(A, outputs={"x": {"source": "${env.KEY}"}}),
        "/outputs/x/source",
        "${env.KEY}: a secret can only be used in params",
    ),
}


@pytest.mark.parametrize(("ir", "pointer", "says"), PROBLEMS.values(), ids=PROBLEMS)
def test_each_problem_is_told_once_with_its_place(
    bench: Bench, ir: dict[str, Any], pointer: str, says: str
) -> None:
    (problem,) = bench.problems(ir)
    assert problem.pointer == pointer
    assert says in problem.message
    assert problem.line is None


@pytest.mark.parametrize("ir", [ir for ir, _, _ in PROBLEMS.values()], ids=PROBLEMS)
def test_a_message_is_one_sentence(bench: Bench, ir: dict[str, Any]) -> None:
    for problem in bench.problems(ir):
        assert re.fullmatch(r"\S[^\n]{5,600}[^.\s]", problem.message)


AVAILABLE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "edge": (flow(A, B, edges=[("a", "b"), ("b", "c")]), {"a", "b"}),
    "start": (flow(A, B, start_node="c"), {"a", "b"}),
    "param": (flow(node("a")), {"value", "count", "label", "mode", "turns"}),
    "root": (refers("${no}"), {"city", "a"}),
    "root in a batch": (
        flow(A, node("b", value="${no}", batch={**EACH, "as": "x"})),
        {"a", "x", "__index__"},
    ),
    "output": (refers("${a.no}"), {"value"}),
    "itself in a loop": (
        flow(A, node("b", value="${b.value}"), edges=[("a", "b"), ("b", "b", "error")]),
        {"a"},
    ),
    "output of a batch": (
        flow({**A, "batch": EACH}, node("b", value="${a.no}")),
        {"results", "count", "success_count", "error_count", "errors"},
    ),
    "output of what may fail": (
        flow({**A, "on_error": "continue"}, node("b", value="${a.no}")),
        {"value", "error"},
    ),
}


@pytest.mark.parametrize(("ir", "available"), AVAILABLE.values(), ids=AVAILABLE)
def test_a_problem_tells_what_was_available(
    bench: Bench, ir: dict[str, Any], available: set[str]
) -> None:
    (problem,) = bench.problems(ir)
    assert set(problem.available) == available


def test_a_problem_is_told_once(bench: Bench) -> None:
    assert [(problem.pointer, problem.message) for problem in bench.problems(flow({}))] == [
        ("/nodes/0", "the key 'id' is missing"),
        ("/nodes/0", "the key 'type' is missing"),
    ]


def test_an_unknown_type_tells_all_types(bench: Bench) -> None:
    (problem,) = bench.problems(flow({"id": "a", "type": "?"}))
    assert {"echo", "fail", "http", "workflow"} <= set(problem.available)


VALID: dict[str, dict[str, Any]] = {
    "only nodes": flow(A),
    "old version": flow(A, ir_version="0.1.0"),
    "new version": flow(A, ir_version="1.0.0"),
    "the origin's keys": flow(A, enable_namespacing=True, template_resolution_mode="strict"),
    "about it": flow(A, name="n", description="d", **{"$schema": "https://example.org"}),
    "reference for a number": refers("${city}", nodes=[node("a", value=1, count="${city}")]),
    "reference for a choice": refers("", nodes=[node("a", value=1, mode="x${city}")]),
    "secret": refers("Bearer ${env.KEY}"),
    "escaped": refers("$${no}"),
    "input": refers("${city.name[0]}"),
    "output": refers("${a.value.whatever[0]}"),
    "input as index": refers("${a.value[${city}]}"),
    "open outputs": flow(node("a", "give"), node("b", value="${a.whatever}")),
    "outputs of a batch": flow({**A, "batch": EACH}, node("b", value="${a.results[0].value}")),
    "item": flow(node("a", value=["${item}", "${__index__}"], batch=EACH)),
    "item with a name": flow(node("a", value="${user.name}", batch={**EACH, "as": "user"})),
    "error behind on_error": flow({**A, "on_error": "continue"}, node("b", value="${a.error}")),
    "error behind an edge": refers("${a.error}", edges=[("a", "b", "error")]),
    "one stdin": flow(A, inputs={"x": {"stdin": True}, "y": {"stdin": False}}),
    "loop": flow(A, B, edges=[("a", "b"), ("b", "a", "error")]),
    "earlier in a loop": flow(
        node("a", value=1),
        node("b", value="${c.value}"),
        node("c", value=1),
        edges=[("a", "b"), ("b", "c"), ("c", "b", "error")],
    ),
    "start in the middle": flow(A, B, start_node="b", edges=[("b", "a")]),
    "no output source": flow(A, outputs={"value": {"description": "d", "type": "str"}}),
    "text as source": flow(A, outputs={"x": {"source": "got ${a.value}"}}),
    "items in JSON": flow(node("a", value=1, batch={"items": "[1, 2]"})),
    "whole floats": flow(
        node("a", value=1, batch={**EACH, "max_concurrent": 2.0}, retry={"attempts": 2.0})
    ),
}


@pytest.mark.parametrize("ir", VALID.values(), ids=VALID)
def test_what_is_well_made_has_no_problems_and_compiles(bench: Bench, ir: dict[str, Any]) -> None:
    assert bench.problems(ir) == ()
    compile_workflow(ir, registry=bench.registry)


def test_outputs_of_an_unknown_type_are_not_told_to_be_wrong(bench: Bench) -> None:
    ir = flow({"id": "a", "type": "nope"}, node("b", value="${a.anything}"))
    assert [problem.pointer for problem in bench.problems(ir)] == ["/nodes/0/type"]


YAML = """\
inputs:
  env: {}
nodes:
  - id: a
    type: ecoh
  - id: b
    type: echo
    params:
      count: two
      value: ${c.value}
  - id: c
    type: echo
    params: {valu: 1}
edges:
  - {from: a, to: b}
  - from: b
    to: d
colour: red
"""
JSON = """\
{
  "inputs": {"env": {}},
  "nodes": [
    {"id": "a", "type": "ecoh"},
    {"id": "b", "type": "echo",
     "params": {"count": "two", "value": "${c.value}"}},
    {"id": "c", "type": "echo", "params": {"valu": 1}}
  ],
  "edges": [{"from": "a", "to": "b"},
    {"from": "b", "to": "d"}],
  "colour": "red"
}
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("w.yaml", YAML, [2, 5, 9, 10, 11, 13, 13, 17, 18]),
        ("w.json", JSON, [2, 4, 6, 6, 7, 7, 7, 10, 11]),
    ],
)
def test_all_problems_of_a_file_are_told_at_once_in_its_order_and_with_their_lines(
    bench: Bench, name: str, text: str, lines: list[int]
) -> None:
    workflow = bench.file(name, text)
    problems = bench.problems(workflow)
    assert [(problem.pointer, problem.line) for problem in problems] == list(
        zip(
            [
                "/inputs/env",
                "/nodes/0/type",
                "/nodes/1/params/count",
                "/nodes/1/params/value",
                "/nodes/2",
                "/nodes/2/params",
                "/nodes/2/params/valu",
                "/edges/1/to",
                "/colour",
            ],
            lines,
            strict=True,
        )
    )
    with pytest.raises(InvalidWorkflow) as caught:
        compile_workflow(workflow, registry=bench.registry)
    assert caught.value.problems == problems
    assert str(caught.value).splitlines()[1] == (
        f"{workflow.name}:{lines[1]}: /nodes/0/type: "
        "there is no node type 'ecoh'; did you mean 'echo'?"
    )


@pytest.mark.parametrize(
    "text",
    ["[]", "null", "- a\n- b", '"text"', "5"],
    ids=["list", "null", "yaml", "text", "number"],
)
def test_a_file_that_is_no_object_is_no_workflow(bench: Bench, text: str) -> None:
    with pytest.raises(InvalidWorkflow, match=r"w\.yaml:1: the workflow: a workflow is an object"):
        bench.file("w.yaml", text)


@pytest.mark.parametrize("ir", [[], None, "text", 5])
def test_data_that_is_no_object_is_no_workflow(bench: Bench, ir: Any) -> None:
    assert bench.problems(ir) == bench.problems({})
    with pytest.raises(InvalidWorkflow):
        bench.run(ir)


# -- garbage ------------------------------------------------------------------------------------

SOUND: dict[str, Any] = {
    "ir_version": "0.1.0",
    "inputs": {"city": {"type": "string", "default": "x", "stdin": True}},
    "nodes": [
        node("a", value={"deep": ["${city}"]}, count=2, retry={"attempts": 2, "wait": 0}),
        node("b", value="${item} of ${a.value.deep[0]}", batch={**EACH, "as": "item"}),
        node("c", "give", outputs={"x": [1]}, on_error="continue"),
        node(
            "d",
            "workflow",
            workflow_ir=flow(node("in", value="${x}"), inputs={"x": {}}),
            param_mapping={"x": "${c.x[0]}"},
            output_mapping={"value": "out"},
        ),
    ],
    "edges": [
        {"from": "a", "to": "b"},
        {"from": "b", "to": "c", "action": "default"},
        {"from": "c", "to": "d"},
    ],
    "start_node": "a",
    "outputs": {"y": {"source": "${d.out}", "type": "string"}, "z": {"source": "b.count"}},
}
WORDS = [*"abcd", "", "echo", "give", "workflow", "error", "item", "env", "x", "city", "default"]
TEXTS = [*WORDS, "${", "$${", "${a}", "${a.value}", "${item}", "${env.X}", "a.value", "[1]", "\n"]
KEYS = [*WORDS, "id", "type", "params", "nodes", "edges", "from", "to", "action", "batch", "items"]

texts = st.sampled_from(TEXTS) | st.text(max_size=5)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | texts, inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if not isinstance(value, dict | list):
        return [place]
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [place, *(found for key, inner in pairs for found in places(inner, (*place, key)))]


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    """A sound workflow in which some places hold something else."""
    ir = copy.deepcopy(SOUND)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(places(ir)[1:]))
        value: Any = ir
        for part in way:
            value = value[part]
        if draw(st.booleans()):
            value[last] = draw(json_values)
        else:
            del value[last]
    return ir


def told(ir: Any, bench: Bench) -> bool:
    """Whether garbage is refused; whatever it is, nothing but that may come of it."""
    problems = bench.problems(ir)
    assert all(problem.message for problem in problems)
    try:
        result = run_workflow(ir, {}, registry=bench.registry, environment={})
    except (InvalidWorkflow, InputError) as error:
        refused = getattr(error, "problems", ()) == problems
    else:
        refused = False
        assert isinstance(result, WorkflowResult)
    assert refused == bool(problems)
    return refused


no_limits = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200
)


@no_limits
@given(st.dictionaries(st.sampled_from(list(SOUND)), json_values) | json_values)
def test_garbage_is_told_to_be_wrong_and_nothing_else_happens(bench: Bench, ir: Any) -> None:
    told(ir, bench)


@no_limits
@given(spoiled())
def test_a_spoiled_workflow_is_told_to_be_wrong_or_runs(bench: Bench, ir: dict[str, Any]) -> None:
    told(ir, bench)


def test_what_is_spoiled_was_sound(bench: Bench) -> None:
    assert not told(SOUND, bench)
    assert bench.run(SOUND).outputs == {"y": 1, "z": 2}


def test_validating_changes_nothing(bench: Bench) -> None:
    before = copy.deepcopy(SOUND)
    bench.problems(Workflow(SOUND))
    assert before == SOUND
