"""Run the candidate: what really happens is what counts."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from runtrue.flow import Event, bound_emit, emit
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
from runtrue.planner.consent import Consent
from runtrue.planner.context import MOST_FIXES, PlannerContext, PlannerNode, Shared
from runtrue.planner.events import AttemptFinished, FindingSummary, MemoryTrouble, WorkflowEvent
from runtrue.planner.findings import findings_of, runtime_error
from runtrue.planner.lessons import learn
from runtrue.planner.nodes.agreement import ask_for
from runtrue.planner.nodes.generator import GeneratorResult
from runtrue.workflow import (
    PATHS,
    Effect,
    EffectReport,
    EffectsNotAgreed,
    Interface,
    NodeHandled,
    Surroundings,
    effects_of_candidate,
    try_workflow,
)

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
    #: The effects that a person has agreed to. Left out where there are none.
    agreed: tuple[Effect, ...] | UnsetType = UNSET
    #: The seconds that earlier runs of this validation took, if there were any.
    spent: float | UnsetType = UNSET
    #: A model chose this saved workflow, and the task does not name it.
    chosen_by_model: bool | UnsetType = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowTrial:
    """The outputs of a run, its final store, and everything that was wrong."""

    outputs: dict[str, Any]
    store: dict[str, Any]
    findings: tuple[Finding, ...]
    seconds: float = 0.0
    #: The nodes whose side effects have happened, in this attempt or before.
    done: tuple[str, ...] = ()
    #: The effects of the workflow, as far as they are known, and those that a person is asked for.
    effects: tuple[EffectReport, ...] = ()
    asks: tuple[Effect, ...] = ()


class RuntimeValidationNode(PlannerNode):
    """Runs the candidate once, and acts on it: `default`, `runtime_fix` or `failed_runtime`.

    A call that an earlier attempt made in the very same way is not made again. Static checks are
    the validator's. Where the flow can ask a person, effects that the task does not name lead to
    `agree` first; a dry run ends with `planned`.
    """

    def prep(self, shared: Shared) -> RunInputs:
        """Return the workflow to run, with its inputs."""
        tried = shared.get("tried_workflows")
        made: GeneratorResult | None = shared.get("fix")
        return RunInputs(
            task=str(shared.get("task", "")),
            workflow=shared["generated_workflow"],
            params=shared.get("execution_params", {}),
            number=shared.get("runtime_attempts", 0) + 1,
            first=tried[0] if tried else None,
            fixer=made.fixer or "" if made else "",
            components=tuple(shared.get("components", ())),
            agreed=shared.get("agreed_effects", UNSET),
            spent=shared.get("seconds_spent", UNSET),
        )

    async def exec(self, inputs: RunInputs) -> WorkflowTrial:
        """Run it once with a fresh store, within the time limit, and learn from a pass.

        The limit is for all runs of the validation together; what a model or a person takes in
        between does not count.
        """
        guarded = "agree" in self.successors and self.context.guards_effects
        consent = _consent(self.context, inputs) if guarded else None
        effects = await asyncio.to_thread(_effects, self.context, inputs)
        asks = consent.first_objections(effects) if consent else ()
        if asks or self.context.dry_run:
            return _not_run(consent, effects, asks)
        emit(AttemptStarted(number=inputs.number, limit=MOST_FIXES + 1))
        spent = 0.0 if isinstance(inputs.spent, UnsetType) else inputs.spent
        left = round(max(self.context.seconds - spent, 0.0), 1)
        ran = await _run(self.context, inputs, consent, effects, seconds=left)
        if ran.asks:
            return ran
        findings = tuple(map(FindingSummary.of, ran.findings))
        emit(AttemptFinished(number=inputs.number, findings=findings))
        if not ran.findings:
            memory = self.context.memory
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
        return ran

    def post(self, shared: Shared, inputs: RunInputs, ran: WorkflowTrial) -> str:
        """Add the attempt to the history, and go where `decide` says."""
        if ran.effects:
            shared["effects"] = ran.effects
        if self.context.dry_run:
            return "planned"
        if ran.asks:
            return ask_for(shared, ran.asks, can_ask=bool(self.context.run_id))
        fixes = shared.setdefault("runtime_attempts", 0)
        if ran.seconds:
            shared["seconds_spent"] = shared.get("seconds_spent", 0.0) + ran.seconds
        history = _with_attempt(shared, inputs, ran)
        decision = decide(_policy(history, fixes), history)
        if decision.action is Action.ACCEPT and shared.pop("continues", False):
            # What came back is needed to plan the rest. Its calls are not made again.
            shared["planned_so_far"], shared["done"] = ran.store, ran.done
            for key in ("runtime_errors", "runtime_findings", "fix", "workflow_metadata"):
                shared.pop(key, None)
            return "plan_rest"
        shared["history"], shared["decision"] = history, decision
        _store_outputs(shared, ran)
        if decision.action is Action.ACCEPT:
            # What was wrong before is fixed, and must not look like a failure any more.
            for key in ("runtime_errors", "runtime_findings"):
                shared.pop(key, None)
            return "default"
        _store_findings(shared, ran)
        shared.setdefault("tried_workflows", []).append(inputs.workflow)
        if decision.action is not Action.FIX:
            if decision.why is Why.ATTEMPTS_SPENT:
                shared["planner_error"] = f"it still fails, and all {MOST_FIXES} fixes are used up"
            return "failed_runtime"
        shared["runtime_attempts"] = fixes + 1
        # The static check of a fixed workflow has its whole budget again.
        shared["generation_attempts"] = 0
        return "runtime_fix"


class WorkflowRunNode(PlannerNode):
    """Runs a saved workflow that was found. It is deterministic: it is never fixed.

    It is a person's own. Where a model chose it and the task does not name it, its effects are
    asked for like those of a plan: `agree`.
    """

    def prep(self, shared: Shared) -> RunInputs:
        """Return the workflow and its inputs."""
        return RunInputs(
            task=str(shared["task"]),
            workflow=shared["generated_workflow"],
            params=shared.get("execution_params", {}),
            agreed=shared.get("agreed_effects", UNSET),
            chosen_by_model=shared.get("chosen_by_model", UNSET),
        )

    async def exec(self, inputs: RunInputs) -> WorkflowTrial:
        """Run it without a time limit."""
        consent = _consent(self.context, inputs) if inputs.chosen_by_model else None
        effects = await asyncio.to_thread(_effects, self.context, inputs)
        asks = consent.first_objections(effects) if consent else ()
        if asks or self.context.dry_run:
            return _not_run(consent, effects, asks)
        return await _run(self.context, inputs, consent, effects, seconds=None)

    def post(self, shared: Shared, inputs: RunInputs, ran: WorkflowTrial) -> str | None:
        """Store its outputs and what was wrong."""
        if ran.effects:
            shared["effects"] = ran.effects
        if self.context.dry_run:
            return None
        if ran.asks:
            return ask_for(shared, ran.asks, can_ask=bool(self.context.run_id))
        shared["history"] = _with_attempt(shared, inputs, ran)
        _store_outputs(shared, ran)
        if ran.findings:
            _store_findings(shared, ran)
        return None


def _surroundings(context: PlannerContext, inputs: RunInputs) -> Surroundings:
    agreed = () if inputs.agreed is UNSET else inputs.agreed
    return Surroundings(
        context.registry,
        context.registry.directory,
        context.environment,
        named=(inputs.task,),
        agreed_files=tuple(Path(effect.target) for effect in agreed if effect.kind in PATHS),
        agrees=context.agrees,
    )


def _consent(context: PlannerContext, inputs: RunInputs) -> Consent:
    agreed = () if inputs.agreed is UNSET else inputs.agreed
    surroundings = _surroundings(context, inputs)
    return Consent.of(inputs.task, surroundings, agreed, everything=context.agrees)


def _effects(context: PlannerContext, inputs: RunInputs) -> tuple[Effect, ...]:
    return effects_of_candidate(inputs.workflow, inputs.params, _surroundings(context, inputs))


def _reported(
    consent: Consent | None, effects: tuple[Effect, ...], asks: tuple[Effect, ...] = ()
) -> tuple[EffectReport, ...]:
    known = {effect.identity for effect in effects}
    found = (*effects, *(effect for effect in asks if effect.identity not in known))
    return consent.report(found) if consent else tuple(map(EffectReport.of, found))


def _not_run(
    consent: Consent | None, effects: tuple[Effect, ...], asks: tuple[Effect, ...]
) -> WorkflowTrial:
    reported = _reported(consent, effects)
    return WorkflowTrial(outputs={}, store={}, findings=(), effects=reported, asks=asks)


async def _run(
    context: PlannerContext,
    inputs: RunInputs,
    consent: Consent | None,
    effects: tuple[Effect, ...],
    *,
    seconds: float | None,
) -> WorkflowTrial:
    handled: dict[str, dict[str, Any]] = {}
    report = bound_emit()

    def listen(event: Event) -> None:
        if isinstance(event, NodeHandled):
            handled[event.origin] = event.payload
        report(WorkflowEvent(event=event))

    began = time.monotonic()
    context.calls.begin_attempt(keep=report)
    try:
        result = await try_workflow(
            inputs.workflow,
            inputs.params,
            registry=context.registry,
            surroundings=_surroundings(context, inputs),
            listeners=[listen],
            calls=context.calls,
            seconds=seconds,
            run_id=context.run_id,
            objections=consent.objections if consent else None,
        )
    except EffectsNotAgreed as stopped:
        trial = _not_run(consent, effects, stopped.effects)
        return replace(trial, effects=_reported(consent, effects, stopped.effects))
    findings = findings_of(
        inputs.workflow, result, handled=handled, registry=context.registry, task=inputs.task
    )
    return WorkflowTrial(
        outputs=result.outputs,
        store=result.store,
        findings=findings,
        seconds=time.monotonic() - began,
        done=tuple(sorted(context.calls.done())),
        effects=_reported(consent, effects),
    )


def _store_outputs(shared: Shared, ran: WorkflowTrial) -> None:
    shared["result"], shared["runtime_store"] = ran.outputs, ran.store
    shared["done"] = ran.done


def _store_findings(shared: Shared, ran: WorkflowTrial) -> None:
    shared["runtime_errors"] = [runtime_error(finding) for finding in ran.findings]
    shared["runtime_findings"] = ran.findings


def _policy(history: History, fixes: int) -> Policy:
    """Return the limits of the seed: so many fixes, and nothing is run again unchanged."""
    return Policy(
        max_attempts=len(history.attempts) + max(0, MOST_FIXES - fixes),
        transport_retries=0,
        abort_on_regression=False,
        keep_best=False,
    )


def _with_attempt(shared: Shared, inputs: RunInputs, ran: WorkflowTrial) -> History:
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
    made: GeneratorResult | None = shared.pop("fix", None)
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
    base = _digest(shared["tried_workflows"][-1])
    return Fix(base=base, candidate=_digest(inputs.workflow), parts=(part,))


def _digest(workflow: dict[str, Any]) -> str:
    encoded = msgspec.json.encode(workflow, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=8).hexdigest()
