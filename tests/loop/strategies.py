"""Arbitrary policies and histories, and a loop played through to its end.

`histories` builds any history that could be put together; `plays` builds those that the cycle
really produces, by following `decide` with checks and fixers that behave in any way at all.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from runtrue.loop import (
    Action,
    Answer,
    Attempt,
    Decision,
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
    Verdict,
    decide,
)

CHECKS = {"tests": Mode.REQUIRED, "types": Mode.REQUIRED, "lint": Mode.INFORMATIONAL}

policies = st.builds(
    Policy,
    max_attempts=st.integers(1, 10),
    transport_retries=st.integers(0, 10),
    format_retries=st.integers(0, 10),
    max_time=st.floats(0.1, 10_000),
    abort_on_regression=st.booleans(),
    ask_human=st.booleans(),
)

seconds = st.sampled_from([0.0, 0.5, 100.0])


#: One of every kind that makes a difference to a decision.
FINDINGS = [
    Finding(
        source="check",
        category="KeyError",
        message=message,
        fault=fault,
        location=Location(file=file),
        transient=transient,
    )
    for fault in Fault
    for transient in ((False, True) if fault is Fault.ENVIRONMENT else (False,))
    for message in ("a", "b")
    for file in ("a.py", "b.py")
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
    lambda candidate, time: Fix(
        base="c0",
        candidate=candidate,
        parts=(FixPart(fixer="agent", findings=(), description="", seconds=time),),
    ),
    st.sampled_from(["c0", "c1"]),
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
        match decision.action:
            case Action.ACCEPT | Action.STOP:
                return trail
            case Action.FIX:
                history = draw(_fixed(history))
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
def _fixed(draw: st.DrawFn, history: History) -> History:
    reason = draw(st.none() | st.sampled_from(Reason))
    if reason is None:
        return _checked(history, draw(verdict_lists()), fix=draw(fixes))
    rejection = Rejection(after=history.latest.number, fix=draw(fixes), reason=reason)
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
