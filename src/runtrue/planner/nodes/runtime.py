"""Running the candidate: what it is worth is what really happens."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from runtrue.flow import Emitter, Event, Listener, bound_emit, emit
from runtrue.loop import (
    Action,
    Attempt,
    AttemptStarted,
    Finding,
    Fix,
    FixPart,
    History,
    Mode,
    Policy,
    Verdict,
    Why,
    decide,
)
from runtrue.planner.events import AttemptFinished, FindingSummary, MemoryTrouble, WorkflowEvent
from runtrue.planner.findings import findings_of, runtime_error
from runtrue.planner.nodes.base import PlannerNode, Shared
from runtrue.planner.nodes.generator import Generated
from runtrue.planner.planning import MOST_FIXES, Planning
from runtrue.planner.repair import learn
from runtrue.workflow import Interface, NodeHandled, try_workflow

_CHECK = "runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """The workflow to run, with its inputs, and the one that was run first."""

    task: str
    workflow: dict[str, Any]
    params: dict[str, Any]
    number: int = 1
    first: dict[str, Any] | None = None
    fixer: str = ""
    components: tuple[Interface, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run came to: its outputs, the final store, and everything that was wrong."""

    outputs: dict[str, Any]
    store: dict[str, Any]
    findings: tuple[Finding, ...]
    seconds: float
    #: The nodes whose side effects have happened, in this attempt or before.
    done: tuple[str, ...] = ()


class RuntimeValidationNode(PlannerNode):
    """Runs the candidate once, and acts on it: `default`, `runtime_fix` or `failed_runtime`.

    What an earlier attempt has called in the very same way is not called again. No static check
    is made here: that is the validator's.
    """

    def prep(self, shared: Shared) -> RunInputs:
        """What is to be run, as it is."""
        tried = shared.get("tried_workflows")
        made: Generated | None = shared.get("fix")
        return RunInputs(
            task=str(shared.get("task", "")),
            workflow=shared["generated_workflow"],
            params=shared.get("execution_params", {}),
            number=shared.get("runtime_attempts", 0) + 1,
            first=tried[0] if tried else None,
            fixer=made.fixer or "" if made else "",
            components=tuple(shared.get("components", ())),
        )

    async def exec(self, inputs: RunInputs) -> Ran:
        """Run it with a fresh store, within the time there is, and look at all that happened."""
        emit(AttemptStarted(number=inputs.number, limit=MOST_FIXES + 1))
        ran = await _run(self.planning, inputs, seconds=self.planning.seconds)
        findings = tuple(map(FindingSummary.of, ran.findings))
        emit(AttemptFinished(number=inputs.number, findings=findings))
        if not ran.findings:
            self._learn(inputs, ran)
        return ran

    def _learn(self, inputs: RunInputs, ran: Ran) -> None:
        """Remember what the run has proven."""
        memory = self.planning.memory
        learn(
            memory,
            inputs.first or inputs.workflow,
            inputs.workflow,
            ran.store,
            fixer=inputs.fixer,
            components=inputs.components,
        )
        if memory.trouble is not None:
            emit(MemoryTrouble(message=memory.trouble))

    def post(self, shared: Shared, inputs: RunInputs, ran: Ran) -> str:
        """Add the attempt to the history, and go where `decide` says."""
        fixes = shared.setdefault("runtime_attempts", 0)
        history = _with_attempt(shared, inputs, ran)
        decision = decide(_policy(history, fixes), history)
        shared["history"], shared["decision"] = history, decision
        _keep(shared, ran)
        if decision.action is Action.ACCEPT:
            # What was wrong before is mended: nobody may take it for a failure any more.
            for key in ("runtime_errors", "runtime_findings"):
                shared.pop(key, None)
            return "default"
        shared["runtime_errors"] = [runtime_error(finding) for finding in ran.findings]
        shared["runtime_findings"] = ran.findings
        shared.setdefault("tried_workflows", []).append(inputs.workflow)
        if decision.action is not Action.FIX:
            if decision.why is Why.ATTEMPTS_SPENT:
                shared["planner_error"] = f"it still fails, and all {MOST_FIXES} fixes are used up"
            return "failed_runtime"
        shared["runtime_attempts"] = fixes + 1
        # What the static check says of a mended workflow is counted afresh.
        shared["generation_attempts"] = 0
        return "runtime_fix"


class WorkflowRunNode(PlannerNode):
    """Runs a saved workflow that was found. It is deterministic: nothing in it is ever mended."""

    def prep(self, shared: Shared) -> RunInputs:
        """The workflow and its inputs."""
        return RunInputs(
            task=str(shared["task"]),
            workflow=shared["generated_workflow"],
            params=shared.get("execution_params", {}),
        )

    async def exec(self, inputs: RunInputs) -> Ran:
        """Run it."""
        return await _run(self.planning, inputs, seconds=None)

    def post(self, shared: Shared, inputs: RunInputs, ran: Ran) -> None:
        """Keep what came of it."""
        shared["history"] = _with_attempt(shared, inputs, ran)
        _keep(shared, ran)
        if ran.findings:
            shared["runtime_errors"] = [runtime_error(finding) for finding in ran.findings]
            shared["runtime_findings"] = ran.findings


# -- running ------------------------------------------------------------------------------------


async def _run(planning: Planning, inputs: RunInputs, *, seconds: float | None) -> Ran:
    handled: dict[str, dict[str, Any]] = {}
    began = time.monotonic()
    planning.calls.begin_attempt(keep=bound_emit())
    result = await try_workflow(
        inputs.workflow,
        inputs.params,
        registry=planning.registry,
        environment=planning.environment,
        listeners=[_listener(handled, bound_emit())],
        calls=planning.calls,
        seconds=seconds,
        run_id=planning.run_id,
    )
    findings = findings_of(
        inputs.workflow, result, handled=handled, registry=planning.registry, task=inputs.task
    )
    return Ran(
        outputs=result.outputs,
        store=result.store,
        findings=findings,
        seconds=time.monotonic() - began,
        done=tuple(sorted(planning.calls.done())),
    )


def _listener(handled: dict[str, dict[str, Any]], emit: Emitter) -> Listener:
    """Keeps the failures that the workflow handles, and passes on what its nodes are doing."""

    def listen(event: Event) -> None:
        if isinstance(event, NodeHandled):
            handled[event.origin] = event.payload
        emit(WorkflowEvent(event=event))

    return listen


def _keep(shared: Shared, ran: Ran) -> None:
    shared["result"], shared["runtime_store"] = ran.outputs, ran.store
    shared["done"] = ran.done


# -- history ------------------------------------------------------------------------------------


def _policy(history: History, fixes: int) -> Policy:
    """The limits of the seed: so many fixes, and nothing is run again unchanged."""
    return Policy(
        max_attempts=len(history.attempts) + max(0, MOST_FIXES - fixes),
        transport_retries=0,
        abort_on_regression=False,
        keep_best=False,
    )


def _with_attempt(shared: Shared, inputs: RunInputs, ran: Ran) -> History:
    history: History = shared.get("history", History())
    verdict = Verdict(
        check=_CHECK,
        mode=Mode.REQUIRED,
        passed=not ran.findings,
        findings=ran.findings,
        seconds=ran.seconds,
    )
    attempt = Attempt(
        number=len(history.attempts) + 1,
        candidate=_digest(inputs.workflow),
        verdicts=(verdict,),
        fix=_fix(shared, inputs),
    )
    return replace(history, attempts=(*history.attempts, attempt))


def _fix(shared: Shared, inputs: RunInputs) -> Fix | None:
    """What made this candidate out of the one before, as the loop's history has it."""
    made: Generated | None = shared.pop("fix", None)
    if made is None or made.fixer is None:
        return None
    findings: tuple[Finding, ...] = shared.get("runtime_findings", ())
    number = shared.get("runtime_attempts", 0) + 1
    shared.setdefault("changes", {})[number] = list(made.changes)
    part = FixPart(
        fixer=made.fixer,
        findings=tuple(finding.fingerprint for finding in findings),
        description=made.description,
    )
    return Fix(
        base=_digest(shared["tried_workflows"][-1]),
        candidate=_digest(inputs.workflow),
        parts=(part,),
    )


def _digest(workflow: dict[str, Any]) -> str:
    encoded = msgspec.json.encode(workflow, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=8).hexdigest()
