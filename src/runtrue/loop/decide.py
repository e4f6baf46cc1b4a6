"""Deciding what happens next: one pure function for every loop."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runtrue.flow import RunState
from runtrue.loop.fault import Fault
from runtrue.loop.finding import Finding
from runtrue.loop.history import Attempt, History, Reason
from runtrue.loop.policy import Budget, Policy


class Action(StrEnum):
    """What happens next."""

    ACCEPT = "accept"
    FIX = "fix"
    #: Run the same candidate again: what failed may have been a passing fault of the environment.
    RECHECK = "recheck"
    ASK = "ask"
    STOP = "stop"


class Why(StrEnum):
    """The fact that led to a decision."""

    PASSED = "passed"
    FIXABLE = "fixable"
    TRANSIENT = "transient"
    REGRESSION = "regression"
    NOT_THE_CANDIDATE = "not_the_candidate"
    ATTEMPTS_SPENT = "attempts_spent"
    TIME_SPENT = "time_spent"
    NO_FIXER = "no_fixer"
    FIXER_FAILED = "fixer_failed"
    NOTHING_USABLE = "nothing_usable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What happens next and why; `findings` are those it is about.

    `status` is how the run ends: set for `accept` and `stop` only.
    """

    action: Action
    why: Why
    findings: tuple[Finding, ...] = ()
    regressions: tuple[str, ...] = ()
    status: RunState | None = None


def decide(policy: Policy, history: History) -> Decision:
    """What happens after `history` under `policy`. The same history gives the same decision."""
    latest = history.latest
    best = history.best if policy.keep_best else latest
    if latest.passed:
        return Decision(action=Action.ACCEPT, why=Why.PASSED, status=RunState.PASSED)
    regressions = history.regressions(latest)
    if regressions and policy.abort_on_regression:
        return Decision(
            action=Action.STOP,
            why=Why.REGRESSION,
            findings=best.blocking,
            regressions=regressions,
            status=RunState.ABORTED,
        )
    budget = Budget.left(policy, history)
    if budget.seconds <= 0:
        return _give_up(policy, Why.TIME_SPENT, best.blocking)
    if budget.transport_retries > 0 and _may_pass_by_itself(latest):
        return Decision(action=Action.RECHECK, why=Why.TRANSIENT, findings=latest.blocking)
    fixable = tuple(f for f in best.blocking if f.fault is Fault.CANDIDATE)
    if not fixable:
        return _give_up(policy, Why.NOT_THE_CANDIDATE, best.blocking)
    if obstacle := _obstacle(budget, history):
        return _give_up(policy, obstacle, best.blocking)
    return Decision(action=Action.FIX, why=Why.FIXABLE, findings=fixable)


def _may_pass_by_itself(attempt: Attempt) -> bool:
    """Whether nothing is known against the candidate, and something failed that may be gone now."""
    faults = {finding.fault for finding in attempt.blocking}
    return Fault.CANDIDATE not in faults and any(f.transient for f in attempt.blocking)


def _obstacle(budget: Budget, history: History) -> Why | None:
    """What stands in the way of one more fix."""
    since = history.since_last_answer()
    rejections = [r for r in since.rejections if r.after == history.latest.number]
    if rejections:
        match rejections[-1].reason:
            case Reason.NO_FIXER:
                return Why.NO_FIXER
            case Reason.FIXER_FAILED if budget.transport_retries < 0:
                return Why.FIXER_FAILED
            case Reason.UNCHANGED if budget.format_retries < 0:
                return Why.NOTHING_USABLE
    return Why.ATTEMPTS_SPENT if budget.attempts <= 0 else None


def _give_up(policy: Policy, why: Why, findings: tuple[Finding, ...]) -> Decision:
    if policy.ask_human:
        return Decision(action=Action.ASK, why=why, findings=findings)
    # What no change to the candidate can mend is for a person; the rest simply failed.
    status = RunState.ESCALATED if why is Why.NOT_THE_CANDIDATE else RunState.FAILED
    return Decision(action=Action.STOP, why=why, findings=findings, status=status)
