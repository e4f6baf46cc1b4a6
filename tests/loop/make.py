"""Facts to decide on, made short: only what a test is about needs to be said."""

from __future__ import annotations

from runtrue.loop import (
    Answer,
    Attempt,
    Condition,
    Escalation,
    Fault,
    Finding,
    Fix,
    FixPart,
    History,
    Location,
    Mode,
    Outcome,
    Reason,
    Rejection,
    Response,
    Trigger,
    Verdict,
)


def finding(
    message: str = "broken",
    fault: Fault = Fault.CANDIDATE,
    *,
    transient: bool = False,
    source: str = "tests",
    file: str | None = "a.py",
    category: str = "AssertionError",
    symbol: str | None = None,
) -> Finding:
    return Finding(
        source=source,
        category=category,
        message=message,
        fault=fault,
        location=Location(file=file, symbol=symbol),
        transient=transient,
    )


NETWORK = finding("the network is down", Fault.ENVIRONMENT, transient=True)
NO_PROGRAM = finding("no such program", Fault.CHECK)
NO_KEY = finding("not let in", Fault.CREDENTIALS)


def verdict(
    *findings: Finding,
    check: str = "tests",
    mode: Mode = Mode.REQUIRED,
    cases: dict[str, Outcome] | None = None,
    passed: bool | None = None,
    seconds: float = 0.0,
    flaky: tuple[Finding, ...] = (),
) -> Verdict:
    """A verdict that failed if there are findings."""
    return Verdict(
        check=check,
        mode=mode,
        passed=not findings if passed is None else passed,
        findings=findings,
        cases=cases or {},
        seconds=seconds,
        flaky=flaky,
    )


def attempt(
    number: int,
    *verdicts: Verdict,
    candidate: str | None = None,
    recheck: bool = False,
    fix: Fix | None = None,
) -> Attempt:
    return Attempt(
        number=number,
        candidate=candidate or f"c{number}",
        verdicts=verdicts or (verdict(),),
        recheck=recheck,
        fix=fix,
    )


def fix(candidate: str = "c1", base: str = "c1", *, seconds: float = 0.0, by: str = "agent") -> Fix:
    part = FixPart(fixer=by, findings=(), description="", seconds=seconds)
    return Fix(base=base, candidate=candidate, parts=(part,))


def rejection(
    reason: Reason, after: int = 1, *, seconds: float = 0.0, by: str = "agent"
) -> Rejection:
    return Rejection(after=after, fix=fix(seconds=seconds, by=by), reason=reason)


def history(
    *attempts: Attempt,
    rejections: tuple[Rejection, ...] = (),
    answers: tuple[Answer, ...] = (),
    escalations: tuple[Escalation, ...] = (),
    before: tuple[Verdict, ...] = (),
) -> History:
    return History(
        attempts=attempts,
        rejections=rejections,
        answers=answers,
        escalations=escalations,
        before=before,
    )


def answer(attempts: int, rejections: int = 0, text: str = "try this") -> Answer:
    return Answer(text=text, attempts=attempts, rejections=rejections)


def trigger(condition: str, action: str) -> Trigger:
    return Trigger(condition=Condition(condition), action=Response(action))


def escalation(
    action: str,
    attempts: int,
    rejections: int = 0,
    *,
    above: str | None = None,
    condition: str = "max_attempts_reached",
) -> Escalation:
    fired = trigger(condition, action)
    return Escalation(trigger=fired, attempts=attempts, rejections=rejections, above=above)
