"""The workshop of a plan: its validations and fixers, made from the request."""

from __future__ import annotations

from pathlib import Path

from runtrue.config import load_config
from runtrue.fixers import AutofixCommands, FixerSettings, make_ladder
from runtrue.loop import Policy, Revise, Workshop
from runtrue.plan.baseline import BaselineComparison
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.diagnosis import PlanAnalyst
from runtrue.plan.plan import PlanRequest
from runtrue.plan.validation import Compare, checks_of, concerns, test_checks


def workshop_of(context: PlanContext, plan: PlanRun, compare: Compare | None = None) -> Workshop:
    """Return what validates and fixes the candidates of a plan.

    Verdicts are compared with the baseline, unless `compare` does that with something else.
    """
    request = context.request
    fixers = FixerSettings(
        order=(*(["command"] if _has_fixing_command(plan) else []), *request.order),
        memory=context.memory,
        project=context.project,
        judges=request.judges,
        autofix=AutofixCommands(commands=request.autofix, safe=request.safe),
        tests=test_checks(request),
        search=request.search,
        model=request.model,
        endpoint=load_config(Path(request.project)).model if request.model else None,
        agent=request.agent,
        redact=context.redact,
    )
    return Workshop(
        sandbox=context.sandbox,
        checks=checks_of(
            request, context.sandbox, compare or BaselineComparison(plan, context.sandbox)
        ),
        ladder=make_ladder(fixers),
        policy=policy_of(request),
        analyst=PlanAnalyst(),
        requirement=request.instruction,
        concerns=concerns(request, context.sandbox),
        redact=context.redact,
    )


def _has_fixing_command(plan: PlanRun) -> bool:
    """True if a step's command fixes what it did: the one who did a step is asked first."""
    strategy = plan.progress.strategy
    return strategy is not None and any(step.fixes for _, step in strategy.all_steps())


def policy_of(request: PlanRequest) -> Policy:
    """The limits of a plan: those of the loop, and what its profile says."""
    profile = request.profile
    floor = profile.confidence_floor
    limits = {name: getattr(request.limits, name) for name in request.limits.__slots__}
    return Policy(
        **{
            **limits,
            "max_time": profile.max_time,
            **({} if floor is None else {"confidence_floor": floor}),
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
