"""Reports of workflows: a dataclass whose JSON is what `--json` prints."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import UNSET, UnsetType

from runtrue.errors import NodeFailed
from runtrue.flow import RunRow, RunState, StepRow, unpacked
from runtrue.loop import Fault, Finding, Location
from runtrue.sandbox import IsolationRecord
from runtrue.typed_data import decode_json
from runtrue.workflow.ir import NodeIR, WorkflowIR
from runtrue.workflow.outputs import outputs_of
from runtrue.workflow.step import NodeOutcome, as_data


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowAttempt:
    """The one attempt of a run that fixes nothing, in the form of all attempts."""

    number: int = 1
    passed: bool = False
    fix: None = None
    verdicts: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """How one node ended: `passed`, `failed`, `handled` or `not_run`."""

    id: str
    type: str
    status: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowReport:
    """The report of a run of a workflow."""

    status: str
    run_id: str
    kind: str = ""
    workflow: str = ""
    attempts: tuple[WorkflowAttempt, ...] = ()
    findings: tuple[Finding, ...] = ()
    nodes: tuple[NodeReport, ...] = ()
    result: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    resumable: bool = False
    seconds: float = 0.0
    #: The node inside of which the run stopped, and whose side effect may have happened.
    begun: str | UnsetType | None = UNSET
    #: All nodes, and items of batches, whose side effects were cut off and may have happened.
    cut_off: tuple[str, ...] | UnsetType = UNSET
    isolation: IsolationRecord | UnsetType | None = UNSET
    interrupted: bool | UnsetType = UNSET
    driven: bool | UnsetType = UNSET


def report_of(
    run: RunRow, name: str, ir: WorkflowIR, store: dict[str, Any]
) -> tuple[RunState, WorkflowReport]:
    """Return the outcome of a run that came to its end."""
    try:
        outputs, failure = outputs_of(ir, store), None
    except NodeFailed as error:
        outputs, failure = {}, {**as_data(error), "source": "outputs"}
    state = RunState.FAILED if failure else RunState.PASSED
    report = unfinished_report(run, name, ir, store, state, failure)
    return state, replace(report, result=outputs)


def unfinished_report(
    run: RunRow,
    name: str,
    ir: WorkflowIR,
    store: Mapping[str, Any],
    state: RunState,
    failure: Mapping[str, Any] | None,
) -> WorkflowReport:
    """Return the report of a run as far as it has come; `failure` is what it stopped at."""
    findings = (finding_of(failure),) if failure else ()
    return WorkflowReport(
        status=state,
        run_id=run.id,
        kind=run.kind,
        workflow=name,
        attempts=(WorkflowAttempt(passed=state is RunState.PASSED, findings=findings),),
        findings=findings,
        nodes=tuple(_node(node, store, failure) for node in ir.nodes),
        error=failure["message"] if failure else run.error,
        seconds=round((run.ended_at or time.time()) - run.created_at, 3),
    )


def recorded_outputs(steps: Iterable[StepRow]) -> dict[str, Any]:
    """Return the outputs of the nodes that finished, from their recorded steps."""
    store: dict[str, Any] = {}
    for step in steps:
        if step.result is not None:
            done = decode_json(unpacked(step.result), NodeOutcome)
            failed = sum(item.failed for item in done.items or ())
            counts = {"count": len(done.items), "error_count": failed} if done.items else {}
            store[step.node] = {**done.outputs, **counts}
    return store


def finding_of(failure: Mapping[str, Any]) -> Finding:
    """Return a node's recorded failure as a finding."""
    return Finding(
        source=failure["source"],
        category=failure["category"],
        message=failure["message"],
        fault=Fault(failure["fault"]),
        location=Location(symbol=failure["node_id"]),
        attempted=tuple(failure["attempted"]),
        available=tuple(failure["available"]),
        sample=failure["sample"],
        data=failure["data"],
        transient=failure["transient"],
    )


def _node(node: NodeIR, store: Mapping[str, Any], failure: Mapping[str, Any] | None) -> NodeReport:
    """Return how one node ended, with a failure that was handled, or the items that failed."""
    outputs = store.get(node.id)
    status, error = "not_run", None
    # Of `outer.inner` it is the outer one that is a node here.
    if failure and (failure["node_id"] or "").partition(".")[0] == node.id:
        status, error = "failed", failure["message"]
    elif outputs is not None and outputs.get("error"):
        status, error = "handled", str(outputs["error"])
    elif outputs is not None and node.batch and outputs.get("error_count"):
        status = "handled"
        error = f"{outputs['error_count']} of {outputs['count']} items failed"
    elif outputs is not None:
        status = "passed"
    return NodeReport(id=node.id, type=node.type, status=status, error=error)
