"""The IR: what a workflow leaves unsaid is filled in, and the schema says the same as the types."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from runtrue.workflow import Workflow, schema
from runtrue.workflow.ir import (
    Batch,
    Edge,
    NodeIR,
    Retry,
    WorkflowIR,
    parse_ir,
    reachable,
    successors,
)
from tests.workflow.support import flow, node

TWO = [node("a", value=1), node("b", value=2)]


def test_the_schema_is_a_schema_in_which_everything_is_found() -> None:
    Draft202012Validator.check_schema(schema())
    assert list(Draft202012Validator(schema()).iter_errors(flow(*TWO))) == []


@pytest.mark.parametrize(
    ("name", "struct"), [("node", NodeIR), ("batch", Batch), ("retry", Retry), ("edge", Edge)]
)
def test_the_schema_and_the_types_have_the_same_keys_and_defaults(name: str, struct: type) -> None:
    written = schema()["$defs"][name]
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    assert fields.keys() == written["properties"].keys()
    for key, property in written["properties"].items():
        found = {**_referred(property), **property}
        if "default" in found:
            assert fields[key].default == found["default"]
    optional = {key for key, field in fields.items() if not field.required}
    assert not optional & set(written.get("required", ())) or struct is Retry


def _referred(property: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema()["$defs"].get(property.get("$ref", "").rpartition("/")[2], {})
    return found


def test_without_edges_nodes_follow_one_another() -> None:
    ir = parse_ir(flow(*TWO, node("c", value=3)))
    assert ir.edges == [Edge(source="a", target="b"), Edge(source="b", target="c")]
    assert ir.start_node == "a"


def test_what_is_written_stays() -> None:
    full = node(
        "a", value=1, batch={"items": [1], "as": "x"}, retry={"attempts": 3}, on_error="stop"
    )
    ir = parse_ir(
        flow(
            full,
            node("b", value=2),
            edges=[("b", "a", "error")],
            start_node="b",
            inputs={"i": {}},
            outputs={"o": {"source": "a.value"}},
        )
    )
    assert ir == WorkflowIR(
        nodes=[
            NodeIR(
                id="a",
                type="echo",
                params={"value": 1},
                batch=Batch(items=[1], alias="x"),
                retry=Retry(attempts=3),
            ),
            NodeIR(id="b", type="echo", params={"value": 2}),
        ],
        edges=[Edge(source="b", target="a", action="error")],
        start_node="b",
        inputs={"i": {}},
        outputs={"o": {"source": "a.value"}},
    )


def test_a_workflow_stays_the_one_that_it_is() -> None:
    workflow = Workflow(flow(*TWO), name="w")
    assert Workflow.of(workflow) is workflow
    assert Workflow.of(flow(*TWO)) == workflow
    assert workflow.line(("nodes",)) is None


def test_reachable_is_what_comes_after_and_itself_only_in_a_loop() -> None:
    following = successors([("a", "b"), ("a", "c"), ("c", "d"), ("d", "c"), ("x", "a")])
    assert following["a"] == ["b", "c"]
    assert [reachable(name, following) for name in "abcx"] == [
        {"b", "c", "d"},
        set(),
        {"c", "d"},
        {"a", "b", "c", "d"},
    ]
