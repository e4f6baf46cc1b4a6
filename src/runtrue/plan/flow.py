"""A plan, from its instruction to what is applied.

    strategize ─▶ begin ─▶ open ─▶ next ── step ─▶ act ─ done ──▶ check ⇄ analyse, decide, fix, ask
       ▲  │      (parks:            ▲ │              └─ refused ─▶ decide            │
       └ approve  queued)           │ └ whole ─▶ check (every validation)            ▼
                                    └───── validated, revised ────────── orchestrate, revise
    next ── complete ─▶ learn ─▶ settle ─▶ offer (parks: complete) ─▶ apply ─▶ end
                                   └ edited ─▶ approve_edits (and settle, or look and next again)
    orchestrate ── stopped ─▶ learn ─▶ settle ─▶ end

`FixThenRevalidateOrchestrator` is all of the right side. What a person must say is asked for by
nodes that park the run; the command line answers them with `plan execute`, `prompt` and `apply`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from runtrue.errors import FlowError
from runtrue.fixers import FixerSettings, make_ladder
from runtrue.flow import Flow, Journal, Outcome, Run, RunRow, RunState, Segment
from runtrue.home import Home
from runtrue.loop import (
    Policy,
    Revise,
    Workshop,
)
from runtrue.plan.acting import ActNode
from runtrue.plan.diagnosis import PlanAnalyst
from runtrue.plan.ending import (
    ApplyNode,
    ApproveEditsNode,
    EndNode,
    LookNode,
    OfferNode,
    SettleNode,
)
from runtrue.plan.learning import LearnNode
from runtrue.plan.orchestrator import FixThenRevalidateOrchestrator
from runtrue.plan.picking import NextNode, OpenNode
from runtrue.plan.place import Place
from runtrue.plan.plan import KIND, PlanRequest
from runtrue.plan.progress import Shared, progress_of
from runtrue.plan.report import report_of
from runtrue.plan.states import PlanState
from runtrue.plan.strategists import strategist_of
from runtrue.plan.strategizing import ApproveStrategyNode, BeginNode, GuideNode, StrategizeNode
from runtrue.plan.validation import checks_of, concerns, test_checks

#: How much of an instruction is shown in lists of runs.
_SHOWN_TITLE = 80


def start_plan(journal: Journal, request: PlanRequest) -> str:
    """Record a new plan, to be driven by a dispatcher, and return its id."""
    line = " ".join(request.instruction.split())
    title = line if len(line) <= _SHOWN_TITLE else f"{line[: _SHOWN_TITLE - 1]}…"
    return journal.create(KIND, title, msgspec.to_builtins(request))


def request_of(run: RunRow) -> PlanRequest:
    """What was asked for. Raises FlowError for a plan that another version has recorded."""
    try:
        return msgspec.convert(run.input, PlanRequest)
    except msgspec.ValidationError as error:
        raise FlowError(
            f"plan {run.id} was recorded by another version of runtrue ({error}); make a new one"
        ) from error


def prepare_plan(run: RunRow, home: Home) -> Segment:
    """The flow of a recorded plan, ready to be driven from wherever it stands."""
    request = request_of(run)
    place = Place.of(run, request, home)
    shared: Shared = {"run_id": run.id, "request": request, "started_at": run.created_at}
    flow = plan_flow(place)

    async def work(recorded: Run) -> Outcome:
        await flow.walk(recorded, shared)
        return _outcome(shared)

    return Segment(work, state=shared, take_over=place.sandbox.take_over)


def plan_flow(place: Place) -> Flow:
    """Wire the journey."""
    request, profile = place.request, place.request.profile
    strategist = strategist_of(request, place.hide)
    workshop = workshop_of(place)
    orchestrator = FixThenRevalidateOrchestrator(
        workshop,
        strategist,
        instruction=request.instruction,
        approves_revisions=not (profile.auto_strategize and profile.auto_strategy_revision),
    )
    strategize = StrategizeNode("strategize", place, strategist, workshop.checks)
    approve, guide = ApproveStrategyNode("approve_strategy"), GuideNode("guide")
    begin, opened = BeginNode("begin"), OpenNode("open", place)
    following, act = NextNode("next", workshop.policy), ActNode("act", place)
    learn = LearnNode("learn", place)
    settle, offer = SettleNode("settle", place), OfferNode("offer")
    approve_edits, look = ApproveEditsNode("approve_edits"), LookNode("look", place)
    apply, end = ApplyNode("apply", place), EndNode("end", place)

    strategize - "made" >> (opened if profile.auto_execute else begin)
    strategize - "approve" >> approve
    strategize - "failed" >> guide
    strategize - "ended" >> end
    approve - "approved" >> (opened if profile.auto_execute else begin)
    approve - "again" >> strategize
    approve - "ended" >> end
    guide - "again" >> strategize
    guide - "ended" >> end
    begin >> opened >> following
    following - "step" >> act
    following - "whole" >> orchestrator.check
    following - "complete" >> learn
    following - "spent" >> learn
    learn >> settle
    act - "done" >> orchestrator.check
    act - "refused" >> orchestrator.decide
    orchestrator.wire(validated=following, revised=following, stopped=learn)
    settle - "failed" >> end
    settle - "complete" >> (apply if profile.auto_apply else offer)
    settle - "edited" >> approve_edits
    approve_edits - "approved" >> settle
    approve_edits - "again" >> look >> following
    approve_edits - "expired" >> end
    offer - "apply" >> apply
    offer - "validate" >> following
    apply - "applied" >> end
    apply - "refused" >> offer
    apply - "renewed" >> following
    settle - "apply" >> apply
    return Flow(strategize)


def workshop_of(place: Place) -> Workshop:
    """What validates and mends the candidates of a plan."""
    request = place.request
    fixers = FixerSettings(
        # Those who do steps by a command can be asked to do it again, with what was found.
        order=(*request.order, "command"),
        memory=place.memory,
        project=place.project,
        judges=request.judges,
        autofix=request.mending,
        safe=request.safe,
        tests=test_checks(request),
        search=request.search,
        model=request.model,
        agent=request.agent,
        hide=place.hide,
    )
    return Workshop(
        sandbox=place.sandbox,
        checks=checks_of(request, place.sandbox),
        ladder=make_ladder(fixers),
        policy=policy_of(request),
        analyst=PlanAnalyst(),
        concerns=concerns(request, place.sandbox),
        hide=place.hide,
    )


def policy_of(request: PlanRequest) -> Policy:
    """The limits of a plan: those of the loop, and what its profile says."""
    profile = request.profile
    limits = {name: getattr(request.limits, name) for name in request.limits.__slots__}
    return Policy(
        **{
            **limits,
            "max_time": profile.max_time,
            # A fix that breaks another validation is not accepted, and the next one is tried.
            "abort_on_regression": False,
            # Only in a sandbox can what a validation has written be put back, and a fix be undone:
            # without one, each fix goes on with what the last one left.
            **({"flaky_reruns": 0, "keep_best": False} if request.sandbox == "none" else {}),
        },
        ask_human=profile.answer_within > 0,
        rungs=request.order,
        retry_limit=request.retry_limit,
        revision=Revise.AUTO if profile.auto_strategy_revision else Revise.ASKED,
        unasked=profile.auto_validation_fix,
        # What is required of a plan must pass, whatever anybody says.
        acceptable=False,
        max_cost=profile.max_cost,
        stops_when_spent=True,
    )


def _outcome(shared: Shared) -> tuple[RunState, dict[str, Any]]:
    applied = progress_of(shared).position.state is PlanState.APPLIED
    status = RunState.PASSED if applied else RunState.FAILED
    return status, report_of(shared, status)
