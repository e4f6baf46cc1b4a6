"""Secrets reach the node that needs them, and nothing that is written, told or shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from runtrue.errors import NodeFailed, RuntimeValidationError, UsageError
from runtrue.flow import RunState
from runtrue.workflow import checked
from runtrue.workflow.recorded_secrets import RedactedWorkflow, redact_workflow, restore_secrets
from runtrue.workflow.secrets import EnvironmentName, SecretText
from tests.workflow.support import Bench, Durable, flow, node

KEY = "s3cr3t-Välue-8841"
HEARD = {"heard": "Bearer [redacted]", "deep": {}}


def sealed(bench: Bench, ir: dict[str, Any], inputs: Mapping[str, Any]) -> RedactedWorkflow:
    workflow, parsed = checked(ir, bench.registry)
    return redact_workflow(workflow, parsed, inputs, bench.registry)


def takes(value: Any, id: str = "a", /, **more: Any) -> dict[str, Any]:
    return node(id, "secret", token=value, **more)


# -- in memory ----------------------------------------------------------------------------------


def test_an_environment_reference_is_revealed_to_its_node_alone(bench: Bench) -> None:
    ir = flow(
        takes("${env.KEY}"), node("b", value="${a.said}"), outputs={"o": {"source": "b.value"}}
    )
    result = bench.run(ir, environment={"KEY": KEY})
    assert bench.calls == [KEY, HEARD]
    assert result.outputs == {"o": HEARD}
    assert KEY not in repr((result, bench.events))


def test_it_may_stand_within_text_and_in_any_param(bench: Bench) -> None:
    ir = flow(takes("x ${env.KEY} ${n}", deep={"l": ["${env.KEY}"]}), inputs={"n": {}})
    result = bench.run(ir, {"n": 5}, {"KEY": KEY})
    assert bench.calls == [f"x {KEY} 5"]
    assert KEY not in repr(result)


def test_what_works_the_outputs_up_knows_no_secret(bench: Bench) -> None:
    ir = flow(node("a", "finish", value=1, label="as ${env.KEY}"))
    outputs = bench.run(ir, environment={"KEY": KEY}).outputs
    assert outputs["value"] == [1, SecretText(("as ", EnvironmentName("KEY")))]


def test_a_variable_that_is_not_set_is_told_and_not_tried_again(bench: Bench) -> None:
    result = bench.run(flow(takes("${env.KEY}", retry={"attempts": 3})))
    assert result.error is not None
    assert result.error.message == "the environment variable KEY is not set"
    assert (result.error.fault, result.error.category) == ("credentials", "missing_secret")
    assert bench.calls == []


@pytest.mark.parametrize("params", [{"token": "${env.KEY}"}, {"message": "no ${env.KEY}"}])
def test_what_a_failure_tells_is_without_secrets(bench: Bench, params: dict[str, Any]) -> None:
    broken = node("b", "fail", outputs={"said": "${env.KEY}"}, retry={"attempts": 2}, **params)
    result = bench.run(flow(broken), environment={"KEY": KEY})
    error = result.error
    assert error is not None
    assert "[redacted]" in error.message
    assert result.store["b"] == {"said": "[redacted]"}
    assert KEY not in repr((vars(error), str(error), error.args, result.store, bench.events))


@pytest.mark.parametrize(
    ("ir", "inputs"),
    [
        (flow(takes(KEY), node("b", value="${a.said}")), {}),
        (flow(takes(None, deep={"key": KEY}), node("b", value="${a.said}")), {}),
        (flow(takes("${k}"), node("b", value="hello ${k}"), inputs={"k": {}}), {"k": KEY}),
        (flow(takes("${k.x}"), node("b", value="${k}"), inputs={"k": {}}), {"k": {"x": KEY}}),
        (flow(takes("${k}"), inputs={"k": {}}, outputs={"o": {"source": "k"}}), {"k": KEY}),
        (flow(takes("${k}"), inputs={"k": {"default": KEY}}), {}),
        (flow(node("b", "workflow", workflow_ir=flow(takes(KEY)))), {}),
    ],
    ids=["literal", "deep literal", "input", "in an input", "as output", "default", "within"],
)
def test_no_result_holds_a_secret_that_was_given_in_the_clear(
    bench: Bench, ir: dict[str, Any], inputs: dict[str, Any]
) -> None:
    result = bench.run(ir, inputs)
    assert result.error is None
    assert KEY not in repr((result, bench.events))


def test_nor_one_that_stands_in_the_file_of_a_workflow_within(bench: Bench) -> None:
    bench.file("inner.json", json.dumps(flow(takes(KEY))))
    result = bench.run(flow(node("b", "workflow", workflow_ref="inner.json")))
    assert result.outputs["said"] == HEARD
    assert bench.calls == [KEY]


# -- seals --------------------------------------------------------------------------------------


def test_literals_and_inputs_of_secret_params_are_sealed_and_nothing_else(bench: Bench) -> None:
    ir = flow(
        takes("lit", public="open", deep={"key": "deep", "other": 1}),
        takes("Bearer ${k}", "b", public="${p}"),
        takes("${env.KEY}", "c"),
        inputs={"k": {}, "p": {}},
    )
    found = sealed(bench, ir, {"k": KEY, "p": 1})
    assert found.secrets == {
        "nodes.0.params.token": "lit",
        "nodes.0.params.deep.key": "deep",
        "inputs.k": KEY,
    }
    assert found.inputs == {"k": {"$sealed": "inputs.k"}, "p": 1}
    assert found.ir["nodes"][0]["params"] == {
        "token": {"$sealed": "nodes.0.params.token"},
        "public": "open",
        "deep": {"key": {"$sealed": "nodes.0.params.deep.key"}, "other": 1},
    }
    assert found.ir["nodes"][1:] == ir["nodes"][1:]
    assert restore_secrets(found.ir, found.secrets) == ir
    assert restore_secrets(found.inputs, found.secrets) == {"k": KEY, "p": 1}
    with pytest.raises(KeyError, match=r"inputs\.k"):
        restore_secrets(found.inputs, {})


def test_what_is_null_was_not_given(bench: Bench) -> None:
    for spec in {"required": False}, {"default": None}:
        ir = flow(takes("${k}"), takes(None, "b"), inputs={"k": spec})
        found = sealed(bench, ir, {"k": None})
        assert (found.ir, found.inputs, found.secrets) == (ir, {"k": None}, {})


def test_a_default_is_sealed_where_it_is_written(bench: Bench) -> None:
    ir = flow(takes("${k}"), inputs={"k": {"default": KEY}, "o": {"default": "open"}})
    by_default = sealed(bench, ir, {"k": KEY, "o": "open"})
    assert by_default.secrets == {"inputs.k.default": KEY}
    assert by_default.inputs == {"k": {"$sealed": "inputs.k.default"}, "o": "open"}
    assert by_default.ir["inputs"] == {
        "k": {"default": {"$sealed": "inputs.k.default"}},
        "o": {"default": "open"},
    }
    given = sealed(bench, ir, {"k": "mine", "o": "open"})
    assert given.secrets == {"inputs.k.default": KEY, "inputs.k": "mine"}
    assert given.inputs["k"] == {"$sealed": "inputs.k"}


INNER = flow(takes("${k}"), inputs={"k": {}})


def test_what_a_workflow_within_takes_for_a_secret_is_one(bench: Bench) -> None:
    ir = flow(
        node("a", "workflow", workflow_ir=INNER, param_mapping={"k": "${mine}"}),
        node("b", "workflow", workflow_ir=INNER, param_mapping={"k": "lit"}),
        node("c", "workflow", workflow_ir=flow(takes("within"))),
        inputs={"mine": {}, "k": {}},
    )
    found = sealed(bench, ir, {"mine": KEY, "k": "open"})
    assert found.secrets == {
        "inputs.mine": KEY,
        "nodes.1.params.param_mapping.k": "lit",
        "nodes.2.params.workflow_ir.nodes.0.params.token": "within",
    }
    assert restore_secrets(found.ir, found.secrets) == ir


# -- on disk ------------------------------------------------------------------------------------

WRITTEN = """
inputs: {k: {}}
nodes:
- {id: a, type: secret, params: {token: LITERAL}}
- {id: b, type: secret, params: {token: "${k}", public: "for ${k}"}}
- {id: c, type: secret, params: {token: "${env.KEY}", public: "${env.KEY}"}}
- {id: d, type: echo, params: {value: ["${k}", "${a.said}", "${b.said}"]}}
- {id: e, type: fail, params: {token: "${env.KEY}", times: 1, value: ["${k}"]}}
- {id: f, type: workflow, params: {workflow_ref: inner.yaml, param_mapping: {k: "${k}"}}}
outputs: {o: {source: "${d.value} ${k}"}}
"""
SECRETS = {"LITERAL": "lit-0815-x", "k": "input-4711-y", "KEY": KEY}


def test_no_secret_is_in_anything_that_is_written(durable: Durable) -> None:
    durable.file("inner.yaml", msgspec.json.encode(INNER).decode())
    text = WRITTEN.replace("LITERAL", SECRETS["LITERAL"])
    run_id = durable.start(durable.file("w.yaml", text), {"k": SECRETS["k"]})
    assert durable.started is not None
    secrets, environment = durable.started.secrets, {"KEY": KEY}
    with pytest.raises(NodeFailed) as caught:
        durable.drive(run_id, secrets=secrets, environment=environment)
    report = durable.report(run_id)
    run = durable.drive(run_id, secrets=secrets, environment=environment)
    assert run.state is RunState.PASSED
    assert set(SECRETS.values()) <= set(durable.calls[:3])

    told = repr((durable.started, caught.value, vars(caught.value), durable.events, report, run))
    for secret in SECRETS.values():
        for spelled in {secret, json.dumps(secret)[1:-1]}:
            assert spelled not in told
            assert spelled.encode() not in durable.written()
    assert b"[redacted]" in durable.written()


def test_a_run_goes_on_elsewhere_with_its_secrets_given_again(durable: Durable) -> None:
    text = WRITTEN.replace("LITERAL", SECRETS["LITERAL"]).replace("times: 1", "times: 2")
    durable.file("inner.yaml", msgspec.json.encode(INNER).decode())
    workflow = durable.file("w.yaml", text)
    run_id = durable.start(workflow, {"k": SECRETS["k"]})
    given = {"inputs.k": SECRETS["k"]}  # the literal is in the file
    with pytest.raises(NodeFailed):
        durable.drive(run_id, secrets=given, environment={"KEY": KEY})
    with pytest.raises(
        UsageError,
        match=f"run {run_id} was given a secret that is not kept: give it again with "
        f"`runtrue runs resume {run_id} --input k=…`",
    ):
        durable.drive(run_id)
    # What was recorded does not depend on the value of a variable.
    with pytest.raises(NodeFailed):
        durable.drive(run_id, secrets=given, environment={"KEY": "another-value"})
    run = durable.drive(run_id, secrets=given, environment={"KEY": KEY})
    assert run.state is RunState.PASSED
    assert durable.calls.count(SECRETS["LITERAL"]) == 1


def test_a_literal_whose_file_is_gone_cannot_be_given_again(durable: Durable) -> None:
    workflow = durable.file("w.yaml", "nodes: [{id: a, type: secret, params: {token: lit-0815}}]")
    run_id = durable.start(workflow)
    assert workflow.path is not None
    workflow.path.unlink()
    with pytest.raises(UsageError, match=r"the secret at /nodes/0/params/token .*w\.yaml"):
        durable.drive(run_id)


def test_what_an_input_was_left_at_need_not_be_given(durable: Durable) -> None:
    ir = flow(takes("${k}"), inputs={"k": {"required": False}})
    assert durable.drive(durable.start(ir)).state is RunState.PASSED
    assert durable.calls == [None]


def test_a_failing_reference_shows_nothing_of_a_secret_input(durable: Durable) -> None:
    ir = flow(takes("${k.x}"), node("b", value="${k.y}"), inputs={"k": {}})
    run_id = durable.start(ir, {"k": {"x": KEY}})
    assert durable.started is not None
    with pytest.raises(RuntimeValidationError) as caught:
        durable.drive(run_id, secrets=durable.started.secrets)
    assert caught.value.sample == '{"x": "[redacted]"}'
    assert KEY.encode() not in durable.written()


@pytest.mark.parametrize(
    "data", [{"$sealed": "inputs.t"}, {"$sealed": ["x"]}, [{"a": {"$sealed": {"$sealed": None}}}]]
)
def test_data_that_looks_like_a_seal_is_data(data: Any, bench: Bench) -> None:
    ir = flow(node("a", value=data), inputs={"d": {}})
    found = sealed(bench, ir, {"d": data})
    assert found.secrets == {}
    assert restore_secrets(found.inputs, {"inputs.t": KEY}) == {"d": data}
    assert restore_secrets(found.ir, {"inputs.t": KEY}) == ir


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("http://joe:pass@h.example/users/${user}", set()),
        ("http://h.example/users/${user}?token=${token}", {"token"}),
        ("http://${token}@h.example/users/${user}", {"token"}),
        ("http://h.example/users/${user}", set()),
    ],
)
def test_of_a_url_only_the_user_and_the_secrets_in_its_query_are_sealed(
    bench: Bench, url: str, secrets: set[str]
) -> None:
    inputs = {"user": "torvalds", "token": "s3cr3t"}
    ir = flow(node("a", "http", url=url), inputs={name: {} for name in inputs})
    kept = sealed(bench, ir, inputs).inputs
    assert {name for name, value in kept.items() if value != inputs[name]} == secrets
