"""What the tests of escalations need: a run that did not get there, and its report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from runtrue.escalation import (
    EscalationDetails,
    EscalationSubject,
    Message,
    report_on,
    write_report,
)
from runtrue.loop import (
    COVERAGE_UNMET,
    SECURITY_ISSUE,
    TIMEOUT,
    Analysis,
    Attempt,
    Condition,
    Escalation,
    Fault,
    Finding,
    Fix,
    FixPart,
    History,
    Item,
    Location,
    Mode,
    Outcome,
    Reason,
    Rejection,
    Response,
    Trigger,
    Verdict,
)

CODE = "def total(prices):\n    return max(prices)\n"
SECRET = "s3cr3t-t0k3n-of-mine"  # noqa: S105 - it is nobody's
TRACE = "Traceback (most recent call last):\n  File shop.py, line 2\nAssertionError: 3 != 6"


def finding(
    message: str = "assert 3 == 6",
    *,
    category: str = "AssertionError",
    symbol: str | None = "test_shop.py::test_total",
    trace: str | None = TRACE,
    source: str = "pytest",
    data: dict[str, object] | None = None,
) -> Finding:
    return Finding(
        source=source,
        category=category,
        message=message,
        fault=Fault.CANDIDATE,
        location=Location(file="shop.py", line=2, symbol=symbol),
        sample=trace,
        data=data or {},
    )


def verdict(*findings: Finding, passed: int = 1) -> Verdict:
    """A run of pytest with some tests that pass, and those of the findings that do not."""
    good = {f"test_shop.py::test_good_{n}": Outcome.PASSED for n in range(passed)}
    bad = {f.location.symbol or "": Outcome.FAILED for f in findings}
    return Verdict(
        check="pytest",
        mode=Mode.REQUIRED,
        passed=not findings,
        findings=findings,
        cases=good | bad,
        seconds=0.25,
    )


def part(description: str = "sum, not max", *, fixer: str = "model", **more: object) -> FixPart:
    made = FixPart(fixer=fixer, findings=("f",), description=description, files=("shop.py",))
    return replace(made, **more)  # type: ignore[arg-type]


def history(last: Finding | None = None) -> History:
    """Two failed attempts with a fix between them, and one fix that was rejected at the end."""
    tried = part(
        restored=("test_shop.py",),
        analysis=Analysis(root_cause="max is not sum", fix_strategy="use sum", confidence=0.9),
    )
    broken = part("no answer", fixer="agent", files=(), failure="exited with code 3")
    return History(
        attempts=(
            Attempt(
                number=1,
                candidate="c1",
                verdicts=(verdict(finding(), passed=2),),
                analysis=Analysis(root_cause="a value is wrong", patterns_matched=("fix-12",)),
            ),
            Attempt(
                number=2,
                candidate="c2",
                verdicts=(verdict(last or finding("assert 4 == 6", trace="the second trace")),),
                fix=Fix(base="c1", candidate="c2", parts=(tried,), added=2, removed=1),
            ),
        ),
        rejections=(
            Rejection(
                after=2,
                fix=Fix(base="c2", candidate="c2", parts=(broken,)),
                reason=Reason.FIXER_FAILED,
            ),
        ),
    )


def subject(**more: object) -> EscalationSubject:
    made = EscalationSubject(
        run_id="0198-run",
        workflow_id="6f1c1c52-0d9c-4a59-a3a4-3d4f5f1f7f11",
        project="/home/me/shop",
        title="Add up the prices",
        sandbox="/home/me/.runtrue/sandboxes/0198-run",
        original_code={"shop.py": CODE},
        debug_memory="seen twice: max where sum was meant",
    )
    return replace(made, **more)  # type: ignore[arg-type]


def escalation(
    condition: Condition = Condition.MAX_ATTEMPTS_REACHED,
    action: Response = Response.HUMAN_REVIEW,
    items: tuple[Item, ...] = tuple(Item),
) -> Escalation:
    trigger = Trigger(condition=condition, action=action, include_in_report=items)
    return Escalation(trigger=trigger, attempts=2, rejections=1)


def report(*items: Item, **more: object) -> EscalationDetails:
    return report_on(escalation(items=items or tuple(Item)), history(), subject(**more))


def message(directory: Path, template: str | None = None, **more: object) -> Message:
    made = report(project=str(directory), **more)
    files = write_report(directory / "reports", made)
    return Message(report=made, files=files, template=template)


#: A last attempt for every condition, and what its sentence must tell.
LAST: dict[Condition, tuple[Finding, str]] = {
    Condition.MAX_ATTEMPTS_REACHED: (finding(), "After 2 attempts 1 failure is left in `pytest`."),
    Condition.REGRESSION_DETECTED: (
        finding(symbol="test_shop.py::test_good_0"),
        "attempt 2 ran broke what worked before: `test_shop.py::test_good_0`.",
    ),
    Condition.SECURITY_ISSUE_FOUND: (
        finding(category=SECURITY_ISSUE, data={"rule": "B602"}),
        "unsafe code in attempt 2: `B602 at shop.py:2`.",
    ),
    Condition.COVERAGE_THRESHOLD_UNMET: (
        finding("71 % of 80 % needed", category=COVERAGE_UNMET),
        "attempt 2 pass and cover too little: `71 % of 80 % needed`.",
    ),
    Condition.TIMEOUT_EXCEEDED: (
        finding(category=TIMEOUT),
        "In attempt 2 `pytest` did not finish within its time.",
    ),
    Condition.UNKNOWN_ERROR_TYPE: (
        finding(category="exit_code"),
        "Attempt 2 failed for an unknown reason: `exit_code`.",
    ),
}
