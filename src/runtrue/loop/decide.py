"""Deciding what happens next: one pure function for every loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from runtrue.flow import RunState
from runtrue.loop.attempt import Attempt, Reason
from runtrue.loop.cause import (
    COVERAGE_UNMET,
    NEEDS_APPROVAL,
    SECURITY_ISSUE,
    TESTS_MISSING,
    TIMEOUT,
    Cause,
    cause_of,
)
from runtrue.loop.escalation import Condition, Escalation, Response, Trigger
from runtrue.loop.evidence import confidence_in
from runtrue.loop.fault import Fault
from runtrue.loop.finding import Finding
from runtrue.loop.history import History
from runtrue.loop.policy import Budget, Policy, Revise

#: What a person answers to accept a candidate in spite of what gates have against it.
ACCEPT_ANSWER = "accept"
_YES = ("y", "yes", "true", "approve", "approved", "go", "ok", ACCEPT_ANSWER)


class Action(StrEnum):
    """What happens next."""

    ACCEPT = "accept"
    FIX = "fix"
    #: Run the same candidate again: what failed may have been a passing fault of the environment.
    RECHECK = "recheck"
    #: Have the strategy revised that bounds the fixes.
    REVISE = "revise"
    ASK = "ask"
    STOP = "stop"


class Why(StrEnum):
    """The fact that led to a decision."""

    PASSED = "passed"
    #: Only what the policy flags, and goes on with, is left.
    FLAGGED = "flagged"
    #: Only what gates found is left, and a person said to accept that.
    ALLOWED = "allowed"
    FIXABLE = "fixable"
    TRANSIENT = "transient"
    REGRESSION = "regression"
    NOT_THE_CANDIDATE = "not_the_candidate"
    ATTEMPTS_SPENT = "attempts_spent"
    TIME_SPENT = "time_spent"
    MONEY_SPENT = "money_spent"
    #: The fix is outside of what the strategy allows.
    OUT_OF_BOUNDS = "out_of_bounds"
    #: What would be done is a person's to approve: no revision of the strategy gets around that.
    NEEDS_APPROVAL = "needs_approval"
    #: Nothing is fixed before a person has said something.
    UNASKED = "unasked"
    #: A person was asked, and did not answer in time.
    UNANSWERED = "unanswered"
    NO_FIXER = "no_fixer"
    FIXER_FAILED = "fixer_failed"
    NOTHING_USABLE = "nothing_usable"
    #: A trigger fired that does not wait until nothing else can be done.
    TRIGGERED = "triggered"
    #: Every check passes, with less confidence in the fix than the policy asks for.
    UNSURE = "unsure"
    #: The same, and a person said that the fix is right, or that it is not.
    AGREED = "agreed"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What happens next and why; `findings` are those it is about, `candidate` what it is done to.

    `status` is how the run ends: set for `accept` and `stop` only. `flags` are conditions that
    hold and that the policy does nothing about but to say so.
    """

    action: Action
    why: Why
    candidate: str
    findings: tuple[Finding, ...] = ()
    regressions: tuple[str, ...] = ()
    status: RunState | None = None
    escalation: Escalation | None = None
    flags: tuple[Condition, ...] = ()


def decide(policy: Policy, history: History) -> Decision:
    """Decide what happens next. The same history gives the same decision."""
    decision = _unescalated(policy, history)
    conditions = set(_conditions(policy, history, decision))
    flags = _flags(policy, history, conditions)
    for condition, trigger in _rules(policy).items():
        if condition in conditions and trigger.action is not Response.FLAG_AND_CONTINUE:
            escalated = _escalated(trigger, decision, policy, history)
            if escalated is not None:
                return replace(escalated, flags=flags)
    return replace(decision, flags=flags)


# -- what the loop does by itself ---------------------------------------------------------------


def _unescalated(policy: Policy, history: History) -> Decision:
    latest = history.latest
    best = history.best if policy.keep_best else latest
    if latest.passed:
        return _passed(policy, history)
    if policy.acceptable and latest.works and _is_allowed(history):
        return Decision(
            action=Action.ACCEPT,
            why=Why.ALLOWED,
            candidate=latest.candidate,
            findings=latest.blocking,
            status=RunState.PASSED,
        )
    regressions = history.regressions(latest)
    onward = _onward(policy, history, best)
    goes_on = _is_flagged(policy, Condition.REGRESSION_DETECTED) or _is_tentative(latest, policy)
    if not regressions or not policy.abort_on_regression or goes_on:
        return onward
    if policy.retries_regressions and onward.action is Action.FIX:
        return onward
    return Decision(
        action=Action.STOP,
        why=Why.REGRESSION,
        candidate=best.candidate,
        findings=best.blocking,
        regressions=regressions,
        status=RunState.ABORTED,
    )


def _onward(policy: Policy, history: History, best: Attempt) -> Decision:
    """Return what follows an attempt that is not accepted: another try, a question, or the end."""
    latest = history.latest
    budget = Budget.left(policy, history)
    if why := what_is_spent(budget):
        return _give_up(policy, why, best)
    if why := _what_is_not_allowed(best, history):
        return _beyond(policy, why, best, history)
    if budget.transport_retries > 0 and _may_pass_by_itself(latest):
        return Decision(
            action=Action.RECHECK,
            why=Why.TRANSIENT,
            candidate=latest.candidate,
            findings=latest.blocking,
        )
    fixable = tuple(f for f in best.blocking if f.fault is Fault.CANDIDATE)
    if not fixable:
        return _give_up(policy, Why.NOT_THE_CANDIDATE, best)
    if not policy.unasked and not history.answers:
        return _give_up(policy, Why.UNASKED, best)
    if obstacle := _obstacle(budget, history):
        return _beyond(policy, obstacle, best, history)
    return Decision(action=Action.FIX, why=Why.FIXABLE, candidate=best.candidate, findings=fixable)


def _passed(policy: Policy, history: History) -> Decision:
    """Accept what passed, unless there is too little confidence in the fix: then ask."""
    candidate = history.latest.candidate
    confidence = confidence_in(history, history.latest)
    if confidence is None or confidence.value >= policy.confidence_floor:
        action, why, status = Action.ACCEPT, Why.PASSED, RunState.PASSED
    elif not _is_asked(history):
        return Decision(action=Action.ASK, why=Why.UNSURE, candidate=candidate)
    elif is_yes(history.answers[-1].text):
        action, why, status = Action.ACCEPT, Why.AGREED, RunState.PASSED
    else:
        action, why, status = Action.STOP, Why.DECLINED, RunState.FAILED
    return Decision(action=action, why=why, candidate=candidate, status=status)


def _is_asked(history: History) -> bool:
    """True if a person was asked about the latest attempt, and answered."""
    return bool(history.answers) and history.answers[-1].attempts == len(history.attempts)


def is_yes(text: str) -> bool:
    """True if a person agrees. Anything else is a no."""
    return text.strip().lower() in _YES


def what_is_spent(budget: Budget) -> Why | None:
    """True if time or money is used up, so that nothing more may be done."""
    if budget.seconds <= 0:
        return Why.TIME_SPENT
    return Why.MONEY_SPENT if budget.cost is not None and budget.cost <= 0 else None


#: Reasons for a rejection that no fixer can do anything about.
_NOT_ALLOWED = {
    Reason.OUT_OF_BOUNDS: Why.OUT_OF_BOUNDS,
    Reason.NEEDS_APPROVAL: Why.NEEDS_APPROVAL,
}


def _what_is_not_allowed(best: Attempt, history: History) -> Why | None:
    """True if what a step did, or a fixer did last, is outside of the bounds or to be approved."""
    if any(finding.category == NEEDS_APPROVAL for finding in best.blocking):
        return Why.NEEDS_APPROVAL
    faults = {finding.fault for finding in best.blocking}
    if Fault.STRATEGY in faults and Fault.CANDIDATE not in faults:
        return Why.OUT_OF_BOUNDS
    last = history.rejections[-1] if history.rejections else None
    if last is None or last.after != history.latest.number:
        return None
    return _NOT_ALLOWED.get(last.reason)


def _beyond(policy: Policy, why: Why, best: Attempt, history: History) -> Decision:
    """Return what happens when no fix within the strategy is left: revise it, or give up."""
    # Once a person has spoken, nothing is allowed but what they say.
    untold = not (history.is_later or history.answers or history.revisions)
    by_itself = policy.revision is Revise.AUTO and untold and why is not Why.NEEDS_APPROVAL
    is_bound = why in _NOT_ALLOWED.values()
    if by_itself or (history.is_advised and is_bound and policy.revision is not Revise.NEVER):
        return Decision(
            action=Action.REVISE,
            why=why,
            candidate=best.candidate,
            findings=best.blocking,
        )
    return _give_up(policy, why, best)


def _is_allowed(history: History) -> bool:
    """True if a person, asked about the latest attempt, said to accept what gates found.

    It may have been checked once more since: as it was edited, or as it is.
    """
    if not history.answers:
        return False
    last = history.answers[-1]
    is_recent = last.attempts >= len(history.attempts) - 1
    return is_recent and last.text.strip().lower() == ACCEPT_ANSWER


def _is_tentative(attempt: Attempt, policy: Policy) -> bool:
    """True if only fixers that try what may help made the fix of an attempt, or a tool took part.

    Which of several broke something is not known, and a tool does not try the same again.
    """
    fixers = {part.fixer for part in attempt.fix.parts if part.files} if attempt.fix else set()
    return bool(fixers) and ("tool" in fixers or fixers <= set(policy.tentative))


def _may_pass_by_itself(attempt: Attempt) -> bool:
    """True if nothing is known against the candidate, and something failed that may be gone now."""
    faults = {finding.fault for finding in attempt.blocking}
    return Fault.CANDIDATE not in faults and any(f.transient for f in attempt.blocking)


def _obstacle(budget: Budget, history: History) -> Why | None:
    """Return what stands in the way of one more fix."""
    since = history.since_last_answer()
    rejections = [
        rejection
        for rejection in since.rejections
        # That nobody stronger took it on says nothing about the others.
        if rejection.after == history.latest.number
        and rejection.reason is not Reason.NOBODY_STRONGER
    ]
    if rejections:
        last = rejections[-1]
        match last.reason:
            case Reason.NO_FIXER:
                return Why.NO_FIXER
            case Reason.FIXER_FAILED if budget.transport_retries < 0 or not last.is_transient:
                return Why.FIXER_FAILED
            case Reason.UNCHANGED if budget.format_retries < 0:
                return Why.NOTHING_USABLE
    return Why.ATTEMPTS_SPENT if budget.attempts <= 0 else None


def _give_up(policy: Policy, why: Why, best: Attempt) -> Decision:
    findings = best.blocking
    if findings and all(_is_flagged(policy, _gate_of(finding)) for finding in findings):
        return Decision(
            action=Action.ACCEPT,
            why=Why.FLAGGED,
            candidate=best.candidate,
            findings=findings,
            status=RunState.PASSED,
        )
    is_spent = why in (Why.TIME_SPENT, Why.MONEY_SPENT) and policy.stops_when_spent
    if policy.ask_human and not is_spent:
        return Decision(action=Action.ASK, why=why, candidate=best.candidate, findings=findings)
    # What no change to the candidate can fix is for a person; the rest simply failed.
    status = RunState.ESCALATED if why is Why.NOT_THE_CANDIDATE else RunState.FAILED
    return Decision(
        action=Action.STOP, why=why, candidate=best.candidate, findings=findings, status=status
    )


# -- escalation ---------------------------------------------------------------------------------


def _conditions(policy: Policy, history: History, decision: Decision) -> Iterator[Condition]:
    """The conditions that hold now."""
    if decision.why in (Why.PASSED, Why.ALLOWED, Why.UNSURE, Why.AGREED, Why.DECLINED):
        return
    for condition in _AT_ONCE:
        tried = condition is Condition.REGRESSION_DETECTED and _is_tentative(history.latest, policy)
        if not tried and _signs(condition, history, history.latest):
            yield condition
    # As long as something can be tried, these two may go away by themselves.
    if decision.why in (Why.FIXABLE, Why.TRANSIENT, Why.REGRESSION):
        return
    unmet = {finding.category for finding in decision.findings} & {COVERAGE_UNMET, TESTS_MISSING}
    if unmet:
        yield Condition.COVERAGE_THRESHOLD_UNMET
    ends = decision.why is Why.ATTEMPTS_SPENT or (decision.why in _ENDS_EARLY and not unmet)
    if ends and policy.escalation_on_max:
        yield Condition.MAX_ATTEMPTS_REACHED


#: Reasons for which nobody makes the attempts that are left.
_ENDS_EARLY = (Why.NO_FIXER, Why.FIXER_FAILED, Why.NOTHING_USABLE)


def _escalated(
    trigger: Trigger, decision: Decision, policy: Policy, history: History
) -> Decision | None:
    """Return what a trigger makes of a decision; nothing when it has done all that it can."""
    findings = decision.findings or history.latest.blocking
    escalation = Escalation(
        trigger=trigger, attempts=len(history.attempts), rejections=len(history.rejections)
    )
    at_the_end = decision.action not in (Action.ACCEPT, Action.FIX, Action.RECHECK)
    why = decision.why if at_the_end else Why.TRIGGERED
    turned = replace(decision, why=why, findings=findings, status=None, escalation=escalation)
    match trigger.action:
        case Response.HUMAN_REVIEW:
            # What somebody has answered to is first worked on, with what they said.
            if not at_the_end and _is_answered(trigger.condition, history):
                return None
            return replace(turned, action=Action.ASK)
        case Response.SENIOR_AGENT:
            above = _strongest(policy, history)
            fixable = tuple(f for f in findings if f.fault is Fault.CANDIDATE)
            if fixable and _can_be_asked(above, policy, history):
                return replace(
                    turned,
                    action=Action.FIX,
                    findings=fixable,
                    escalation=replace(escalation, above=above),
                )
            # There is nobody stronger: go on as far as it goes, then it is for a person.
            if not at_the_end:
                return None
            if decision.action is Action.ASK:
                return turned
            return replace(turned, action=Action.STOP, status=RunState.ESCALATED)
        case _:
            return replace(turned, action=Action.STOP, status=RunState.ABORTED)


def _strongest(policy: Policy, history: History) -> str | None:
    """The strongest fixer that has tried."""
    fixes = [*(a.fix for a in history.attempts), *(r.fix for r in history.rejections)]
    tried = {part.fixer for fix in fixes if fix for part in fix.parts}
    # A person who edited the candidate, or answered, leaves all fixers below them to be asked.
    rungs = [rung for rung in policy.rungs if rung != "human"]
    return next((rung for rung in reversed(rungs) if rung in tried), None)


def _can_be_asked(above: str | None, policy: Policy, history: History) -> bool:
    """True if there is time, and a stronger fixer that has not been asked already."""
    asked = history.senior is not None or any(
        escalation.above == above and history.in_vain(escalation)
        for escalation in history.escalations
    )
    stronger = policy.rungs[policy.rungs.index(above) + 1 :] if above else policy.rungs
    in_time = Budget.left(policy, history).seconds > 0
    return in_time and not asked and any(rung != "human" for rung in stronger)


def _is_answered(condition: Condition, history: History) -> bool:
    """True if all that a condition holds for now was there when a person last answered."""
    if not history.answers:
        return False
    before = history.attempts[: history.answers[-1].attempts]
    seen = {sign for attempt in before for sign in _signs(condition, history, attempt)}
    return seen.issuperset(_signs(condition, history, history.latest))


def _flags(policy: Policy, history: History, conditions: set[Condition]) -> tuple[Condition, ...]:
    """Return what holds, or held after an earlier attempt, and is only flagged."""
    held = {c for c in _AT_ONCE for a in history.attempts if _signs(c, history, a)}
    return tuple(c for c in Condition if c in conditions | held and _is_flagged(policy, c))


#: The conditions that do not wait until nothing else can be done.
_AT_ONCE = (
    Condition.REGRESSION_DETECTED,
    Condition.SECURITY_ISSUE_FOUND,
    Condition.TIMEOUT_EXCEEDED,
    Condition.UNKNOWN_ERROR_TYPE,
)


def _signs(condition: Condition, history: History, attempt: Attempt) -> set[tuple[str, str | None]]:
    """Return the cases, or the findings by fingerprint and file, that a condition is about."""
    if condition is Condition.REGRESSION_DETECTED:
        return {(case, None) for case in history.regressions(attempt)}
    return {(f.fingerprint, f.location.file) for f in attempt.blocking if _sign_of(f) is condition}


def _sign_of(finding: Finding) -> Condition | None:
    if finding.category == SECURITY_ISSUE:
        return Condition.SECURITY_ISSUE_FOUND
    if finding.category == TIMEOUT:
        return Condition.TIMEOUT_EXCEEDED
    unknown = finding.fault is Fault.CANDIDATE and cause_of(finding) is Cause.UNKNOWN
    return Condition.UNKNOWN_ERROR_TYPE if unknown else None


def _gate_of(finding: Finding) -> Condition | None:
    """The condition that a gate's finding stands for."""
    gates = {
        SECURITY_ISSUE: Condition.SECURITY_ISSUE_FOUND,
        COVERAGE_UNMET: Condition.COVERAGE_THRESHOLD_UNMET,
        TESTS_MISSING: Condition.COVERAGE_THRESHOLD_UNMET,
    }
    return gates.get(finding.category)


def _is_flagged(policy: Policy, condition: Condition | None) -> bool:
    """True if a condition is only flagged."""
    rules = _rules(policy)
    return condition in rules and rules[condition].action is Response.FLAG_AND_CONTINUE


def _rules(policy: Policy) -> dict[Condition, Trigger]:
    """The trigger of each condition, in order; of several for the same one, the first."""
    rules: dict[Condition, Trigger] = {}
    for trigger in policy.triggers:
        rules.setdefault(trigger.condition, trigger)
    return rules
