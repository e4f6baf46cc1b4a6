"""The workshop of a plan: its validations and fixers, made from the request."""

from __future__ import annotations

from pathlib import Path

from runtrue.config import load_config
from runtrue.fixers import AutofixCommands, FixerSettings, make_ladder
from runtrue.loop import Policy, Revise, Workshop
from runtrue.plan.context import PlanContext
from runtrue.plan.diagnosis import PlanAnalyst
from runtrue.plan.plan import PlanRequest
from runtrue.plan.validation import checks_of, concerns, test_checks


def workshop_of(context: PlanContext) -> Workshop:
    """Return what validates and fixes the candidates of a plan."""
    request = context.request
    fixers = FixerSettings(
        # Those who do steps by a command can be asked to do it again, with what was found.
        order=(*request.order, "command"),
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
        checks=checks_of(request, context.sandbox),
        ladder=make_ladder(fixers),
        policy=policy_of(request),
        analyst=PlanAnalyst(),
        requirement=request.instruction,
        concerns=concerns(request, context.sandbox),
        redact=context.redact,
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
