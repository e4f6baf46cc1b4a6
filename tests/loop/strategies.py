"""Arbitrary policies and histories, and a loop played through to its end.

`histories` builds any history that could be put together; `plays` builds those that the cycle
really produces, by following `decide` with checks and fixers that behave in any way at all.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from runtrue.loop import (
    COVERAGE_UNMET,
    SECURITY_ISSUE,
    TIMEOUT,
    Action,
    Answer,
    Attempt,
    Backoff,
    Condition,
    Decision,
    Escalation,
    Fault,
    Finding,
    Fix,
    FixPart,
    History,
    Location,
    Mode,
    Outcome,
    Policy,
    Reason,
    Rejection,
    Response,
    Trigger,
    Verdict,
    decide,
)

CHECKS = {"tests": Mode.REQUIRED, "types": Mode.REQUIRED, "lint": Mode.INFORMATIONAL}

RUNGS = ("tool", "model", "agent", "human")

triggers = st.builds(
    Trigger, condition=st.sampled_from(Condition), action=st.sampled_from(Response)
)

policies = st.builds(
    Policy,
    max_attempts=st.integers(1, 10),
    transport_retries=st.integers(0, 10),
    format_retries=st.integers(0, 10),
    max_time=st.floats(0.1, 10_000),
    abort_on_regression=st.booleans(),
    retries_regressions=st.booleans(),
    ask_human=st.booleans(),
)
#: The same with any triggers, several for one condition among them.
escalating = st.builds(
    replace,
    policies,
    triggers=st.lists(triggers, max_size=6).map(tuple),
    escalation_on_max=st.booleans(),
    keep_best=st.booleans(),
    backoff=st.sampled_from(Backoff),
    rungs=st.sampled_from([RUNGS[:n] for n in range(5)]),
)

seconds = st.sampled_from([0.0, 0.5, 100.0])


#: What may be told of an error's type, and what a gate finds.
CATEGORIES = ("KeyError", "exit_code", TIMEOUT, SECURITY_ISSUE, COVERAGE_UNMET)

#: One of every kind that makes a difference to a decision.
FINDINGS = [
    Finding(
        source="check",
        category=category,
        message=message,
        fault=fault,
        location=Location(file=file),
        transient=transient,
    )
    for fault in Fault
    for transient in ((False, True) if fault is Fault.ENVIRONMENT else (False,))
    for message in ("a", "b")
    for file in ("a.py", "b.py")
    for category in CATEGORIES
]
CASES: list[dict[str, Outcome]] = [
    {},
    {"t1": Outcome.PASSED, "t2": Outcome.PASSED},
    {"t1": Outcome.PASSED, "t2": Outcome.FAILED},
    {"t1": Outcome.FAILED, "t2": Outcome.PASSED},
    {"t1": Outcome.ERROR},
    {"t1": Outcome.SKIPPED, "t2": Outcome.FAILED},
]


def findings(faults: tuple[Fault, ...] = tuple(Fault)) -> st.SearchStrategy[Finding]:
    return st.sampled_from([finding for finding in FINDINGS if finding.fault in faults])


@st.composite
def verdicts(
    draw: st.DrawFn, check: str = "tests", faults: tuple[Fault, ...] = tuple(Fault)
) -> Verdict:
    """What the named check may say: a failure has findings, a success has none."""
    found = tuple(draw(st.lists(findings(faults), max_size=3)))
    return Verdict(
        check=check,
        mode=CHECKS[check],
        passed=not found,
        findings=found,
        cases=draw(st.sampled_from(CASES if found else CASES[:2])),
        seconds=draw(seconds),
    )


@st.composite
def verdict_lists(draw: st.DrawFn, faults: tuple[Fault, ...] = tuple(Fault)) -> tuple[Verdict, ...]:
    return tuple(draw(verdicts(check, faults)) for check in CHECKS)


fixes = st.builds(
    lambda candidate, fixer, time: Fix(
        base="c0",
        candidate=candidate,
        parts=(FixPart(fixer=fixer, findings=(), description="", seconds=time),),
    ),
    st.sampled_from(["c0", "c1"]),
    st.sampled_from(RUNGS),
    seconds,
)


@st.composite
def histories(draw: st.DrawFn, faults: tuple[Fault, ...] = tuple(Fault)) -> History:
    """Any attempts, rejections and answers that fit together."""
    attempts: list[Attempt] = []
    for n in range(draw(st.integers(1, 4))):
        recheck = n > 0 and draw(st.booleans())
        attempts.append(
            Attempt(
                number=attempts[-1].number + (not recheck) if attempts else 1,
                candidate=attempts[-1].candidate if recheck else f"c{n}",
                verdicts=draw(verdict_lists(faults)),
                fix=None if recheck or n == 0 else draw(fixes),
                recheck=recheck,
            )
        )
    rejections = draw(
        st.lists(
            st.builds(
                Rejection,
                after=st.integers(1, attempts[-1].number),
                fix=fixes,
                reason=st.sampled_from(Reason),
            ),
            max_size=5,
        ).map(lambda made: sorted(made, key=lambda rejection: rejection.after))
    )
    answers = st.builds(
        Answer,
        text=st.text(max_size=5),
        # An answer is always followed by an attempt, on what the person left.
        attempts=st.integers(1, len(attempts) - 1) if len(attempts) > 1 else st.nothing(),
        rejections=st.integers(0, len(rejections)),
    )
    return History(
        attempts=tuple(attempts),
        rejections=tuple(rejections),
        answers=tuple(draw(st.lists(answers, max_size=2)) if len(attempts) > 1 else ()),
    )


@st.composite
def escalated(draw: st.DrawFn) -> History:
    """The same with any escalations that fit it, and any baseline before the first attempt."""
    told = draw(histories())
    escalations = st.builds(
        Escalation,
        trigger=triggers,
        attempts=st.integers(1, len(told.attempts)),
        rejections=st.integers(0, len(told.rejections)),
        above=st.none() | st.sampled_from(RUNGS),
    )
    return replace(
        told,
        escalations=tuple(draw(st.lists(escalations, max_size=3))),
        before=draw(st.just(()) | verdict_lists()),
    )


#: More steps than any loop can take: whoever gets here is going round in circles.
ENDLESS = 500


@st.composite
def plays(draw: st.DrawFn, policy: Policy, most_answers: int = 2) -> list[tuple[History, Decision]]:
    """Every history of one loop with its decision, up to the one that ends it."""
    first = Attempt(number=1, candidate="c1", verdicts=draw(verdict_lists()))
    history = History(attempts=(first,))
    trail: list[tuple[History, Decision]] = []
    while len(trail) < ENDLESS:
        decision = decide(policy, history)
        trail.append((history, decision))
        if decision.escalation:
            escalations = (*history.escalations, decision.escalation)
            history = replace(history, escalations=escalations)
        match decision.action:
            case Action.ACCEPT | Action.STOP:
                return trail
            case Action.FIX:
                history = draw(_fixed(policy, history))
            case Action.RECHECK:
                history = _checked(history, draw(verdict_lists()), recheck=True)
            case Action.ASK:
                if len(history.answers) == most_answers:
                    return trail
                said = Answer(
                    text="", attempts=len(history.attempts), rejections=len(history.rejections)
                )
                history = replace(history, answers=(*history.answers, said))
                history = _checked(history, draw(verdict_lists()))
    return trail


@st.composite
def _fixed(draw: st.DrawFn, policy: Policy, history: History) -> History:
    """One climb of the ladder, of the rungs that may be climbed, and what came of it."""
    above = history.senior.above if history.senior else None
    rungs = [rung for rung in policy.rungs if rung != "human"] or ["agent"]
    rungs = rungs[rungs.index(above) + 1 :] if above in rungs else rungs
    nobody = Reason.NO_FIXER if above is None else Reason.NOBODY_STRONGER
    reasons = [nobody, Reason.FIXER_FAILED, Reason.UNCHANGED, Reason.REPEATED]
    reason = draw(st.none() | st.sampled_from(reasons)) if rungs else nobody
    tried = [] if reason is nobody else draw(st.lists(st.sampled_from(rungs), min_size=1))
    parts = (FixPart(fixer=rung, findings=(), description="") for rung in tried)
    fix = replace(draw(fixes), parts=tuple(parts))
    if reason is None:
        return _checked(history, draw(verdict_lists()), fix=fix)
    rejection = Rejection(after=history.latest.number, fix=fix, reason=reason)
    return replace(history, rejections=(*history.rejections, rejection))


def _checked(
    history: History,
    found: tuple[Verdict, ...],
    *,
    recheck: bool = False,
    fix: Fix | None = None,
) -> History:
    number = history.latest.number + (not recheck)
    attempt = Attempt(
        number=number,
        candidate=history.best.candidate if recheck else f"c{number}",
        verdicts=found,
        recheck=recheck,
        fix=fix,
    )
    return replace(history, attempts=(*history.attempts, attempt))
