"""Reports: the facts of one escalation, exactly those that its trigger asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from runtrue.checks import Totals, totals, trim
from runtrue.escalation.why import sentence
from runtrue.loop import (
    Condition,
    Escalation,
    Finding,
    Fix,
    FixPart,
    History,
    Item,
    Response,
)
from runtrue.redaction import Redactor, plain

Redact = Callable[[str], str]

#: The characters of a stack trace, of a diff and of a fixer's words, to report, at each end.
_TRACE = 3_000
_DIFF = 6_000
_SAID = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationSubject:
    """The work of a loop: all that a report needs and a history does not have.

    `redact` removes from the report what must not be in it: keys, and the values of the variables
    that the user set for the commands or let through to them.
    """

    run_id: str
    project: str
    title: str
    workflow_id: str | None = None
    sandbox: str | None = None
    original_code: dict[str, str] = field(default_factory=dict)
    debug_memory: str = ""
    #: What each fix changed, by the candidates before and after it.
    diffs: dict[tuple[str, str], str] = field(default_factory=dict)
    redact: Redactor = field(default_factory=Redactor, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedResult:
    """The verdict of one check in one attempt."""

    attempt: int
    recheck: bool
    check: str
    mode: str
    passed: bool
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The reason for a failed attempt, according to the loop's analyst or to a fixer."""

    attempt: int
    by: str
    root_cause: str
    fix_strategy: str | None
    confidence: float | None
    patterns_matched: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """The part of one fixer in a fix."""

    fixer: str
    files: tuple[str, ...]
    description: str
    #: Files whose edits were undone, because they judge the candidate.
    restored: tuple[str, ...]
    failure: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixAttempt:
    """One fix. `ran_as` is the attempt that proved it; one that was rejected never ran."""

    after: int
    ran_as: int | None
    outcome: str
    added: int
    removed: int
    parts: tuple[Contribution, ...]
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The stack trace of one failure; `attempt` is the first that failed so."""

    attempt: int
    check: str
    case: str | None
    category: str
    message: str
    place: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationDetails:
    """One escalation. A section that the trigger does not list is None, and never shown."""

    run_id: str
    workflow_id: str | None
    project: str
    title: str
    sandbox: str | None
    condition: Condition
    action: Response
    #: What happened, in one sentence.
    why: str
    attempts: int
    rejections: int
    original_code: dict[str, str] | None = None
    all_test_results: tuple[ReportedResult, ...] | None = None
    failure_analyses: tuple[Explanation, ...] | None = None
    fix_attempts: tuple[FixAttempt, ...] | None = None
    debug_memory_summary: str | None = None
    stack_traces: tuple[Trace, ...] | None = None

    @property
    def sections(self) -> tuple[Item, ...]:
        """The sections that it has."""
        return tuple(item for item in Item if getattr(self, item) is not None)

    @property
    def answer(self) -> str:
        """The next step for a person, in one sentence with a command."""
        if self.action is Response.HUMAN_REVIEW:
            command = f'runtrue runs resume {self.run_id} --answer "…"'
            return f"The run waits for advice; answer with `{command}`"
        after = {
            Response.SENIOR_AGENT: "A stronger fixer comes next",
            Response.ABORT_WITH_REPORT: "The run is over",
            Response.FLAG_AND_CONTINUE: "The run continues",
        }[self.action]
        return f"{after}; see `runtrue runs show {self.run_id}`"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, without the sections that it does not have."""
        data = {**msgspec.json.decode(msgspec.json.encode(self)), "answer": self.answer}
        return {k: v for k, v in data.items() if k not in set(Item) or v is not None}

    def to_markdown(self, *, limit: int | None = None) -> str:
        """Return the report for people, without some sections if it would exceed `limit`."""
        from runtrue.escalation.markdown import render

        return render(self, limit=limit)


def report_on(
    escalation: Escalation, history: History, subject: EscalationSubject
) -> EscalationDetails:
    """Return the report of an escalation that `history` led to."""

    def redact(text: str) -> str:
        return subject.redact(plain(text))

    trigger = escalation.trigger
    sections: dict[Item, Any] = {
        Item.ORIGINAL_CODE: {redact(p): redact(text) for p, text in subject.original_code.items()},
        Item.ALL_TEST_RESULTS: tuple(_results(history)),
        Item.FAILURE_ANALYSES: tuple(_explanations(history, redact)),
        Item.FIX_ATTEMPTS: tuple(_fixes(history, subject.diffs, redact)),
        Item.DEBUG_MEMORY_SUMMARY: redact(subject.debug_memory),
        Item.STACK_TRACES: tuple(_traces(history, redact)),
    }
    return EscalationDetails(
        run_id=subject.run_id,
        workflow_id=subject.workflow_id,
        project=subject.project,
        title=redact(subject.title),
        sandbox=subject.sandbox,
        condition=trigger.condition,
        action=trigger.action,
        why=redact(sentence(trigger.condition, history)),
        attempts=escalation.attempts,
        rejections=escalation.rejections,
        **{item.value: sections[item] for item in trigger.include_in_report},
    )


def _results(history: History) -> Iterator[ReportedResult]:
    for attempt in history.attempts:
        for verdict in attempt.verdicts:
            yield ReportedResult(
                attempt=attempt.number,
                recheck=attempt.recheck,
                check=verdict.check,
                mode=verdict.mode,
                passed=verdict.passed,
                totals=totals(verdict),
            )


def _explanations(history: History, redact: Redact) -> Iterator[Explanation]:
    """Yield the analyst's explanation of each attempt, and then those of the fixers."""
    said = [(attempt.number, "runtrue", attempt.analysis) for attempt in history.attempts]
    fixes = [(rejection.after, rejection.fix) for rejection in history.rejections]
    fixes += [(attempt.number - 1, attempt.fix) for attempt in history.attempts if attempt.fix]
    said += [(after, part.fixer, part.analysis) for after, fix in fixes for part in fix.parts]
    for number, by, analysis in sorted(said, key=lambda one: one[0]):
        if analysis is None:
            continue
        strategy = analysis.fix_strategy
        yield Explanation(
            attempt=number,
            by=by,
            root_cause=trim(redact(analysis.root_cause), _SAID),
            fix_strategy=trim(redact(strategy), _SAID) if strategy else None,
            confidence=analysis.confidence,
            patterns_matched=analysis.patterns_matched,
        )


def _fixes(
    history: History, diffs: Mapping[tuple[str, str], str], redact: Redact
) -> Iterator[FixAttempt]:
    fixes = [
        (r.fix, _fix(r.fix, redact, after=r.after, ran_as=None, outcome=f"rejected: {r.reason}"))
        for r in history.rejections
    ]
    for attempt in history.attempts:
        if fix := attempt.fix:
            n, outcome = attempt.number, "passed" if attempt.passed else "failed"
            fixes.append((fix, _fix(fix, redact, after=n - 1, ran_as=n, outcome=outcome)))
    # Those rejected after an attempt came before the one that the next attempt ran.
    for fix, reported in sorted(fixes, key=lambda one: one[1].after):
        diff = diffs.get((fix.base, fix.candidate), "")
        yield replace(reported, diff=trim(redact(diff), _DIFF))


def _fix(fix: Fix, redact: Redact, *, after: int, ran_as: int | None, outcome: str) -> FixAttempt:
    return FixAttempt(
        after=after,
        ran_as=ran_as,
        outcome=outcome,
        added=fix.added,
        removed=fix.removed,
        parts=tuple(_contribution(part, redact) for part in fix.parts),
    )


def _contribution(part: FixPart, redact: Redact) -> Contribution:
    return Contribution(
        fixer=part.fixer,
        files=part.files,
        description=trim(redact(part.description), _SAID),
        restored=part.restored,
        failure=trim(redact(part.failure), _SAID) if part.failure else None,
    )


def _traces(history: History, redact: Redact) -> Iterator[Trace]:
    seen = set()
    for attempt in history.attempts:
        for finding in attempt.blocking:
            if not (text := _trace(finding)):
                continue
            # The line numbers move with each fix; a failure that stayed the same is shown once.
            key = (finding.source, finding.location.symbol, finding.fingerprint)
            if key in seen:
                continue
            seen.add(key)
            yield Trace(
                attempt=attempt.number,
                check=finding.source,
                case=redact(finding.location.symbol) if finding.location.symbol else None,
                category=finding.category,
                message=trim(redact(finding.message), _SAID),
                place=redact(str(finding.location)),
                text=trim(redact(text).strip("\n"), _TRACE),
            )


def _trace(finding: Finding) -> str:
    trace = finding.data.get("stack_trace")
    return trace if isinstance(trace, str) and trace else finding.sample or ""
