"""Facts to decide on, made short: only what a test is about needs to be said."""

from __future__ import annotations

from runtrue.loop import (
    Answer,
    Attempt,
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
    Verdict,
)


def finding(
    message: str = "broken",
    fault: Fault = Fault.CANDIDATE,
    *,
    transient: bool = False,
    source: str = "tests",
    file: str | None = "a.py",
) -> Finding:
    return Finding(
        source=source,
        category="AssertionError",
        message=message,
        fault=fault,
        location=Location(file=file),
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
) -> Verdict:
    """A verdict that failed if there are findings."""
    return Verdict(
        check=check,
        mode=mode,
        passed=not findings if passed is None else passed,
        findings=findings,
        cases=cases or {},
        seconds=seconds,
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


def fix(candidate: str = "c1", base: str = "c1", *, seconds: float = 0.0) -> Fix:
    part = FixPart(fixer="agent", findings=(), description="", seconds=seconds)
    return Fix(base=base, candidate=candidate, parts=(part,))


def rejection(reason: Reason, after: int = 1, *, seconds: float = 0.0) -> Rejection:
    return Rejection(after=after, fix=fix(seconds=seconds), reason=reason)


def history(
    *attempts: Attempt,
    rejections: tuple[Rejection, ...] = (),
    answers: tuple[Answer, ...] = (),
) -> History:
    return History(attempts=attempts, rejections=rejections, answers=answers)


def answer(attempts: int, rejections: int = 0, text: str = "try this") -> Answer:
    return Answer(text=text, attempts=attempts, rejections=rejections)
