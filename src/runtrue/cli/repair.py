"""Attempts, checks and fixes as text, for all runs that repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue.cli.console import echo
from runtrue.cli.progress import Narrator
from runtrue.cli.show import counted, finding_line
from runtrue.fixers import Searching
from runtrue.flow import Event, NodeStarted
from runtrue.loop import (
    AttemptStarted,
    BackingOff,
    CheckFinished,
    CheckRepeated,
    CheckStarted,
    Fault,
    Fix,
    FixerFinished,
    FixerStarted,
    Mode,
)

if TYPE_CHECKING:
    from runtrue.code import CodeReport, FixReport, VerdictReport
    from runtrue.plan import PlanReport, PlanVerdict

_MOST_FINDINGS = 20

#: What led to the end of a run, or to a question, in words.
WHY = {
    "passed": "every required check passes",
    "allowed": "every required check passes, and a person accepted the other findings",
    "flagged": "every required check passes; the policy only flags the remaining findings",
    "regression": "the fix broke something that worked, and was rolled back",
    "not_the_candidate": "the code is not at fault: no code change can fix this",
    "attempts_spent": "no attempts left",
    "time_spent": "no time left",
    "no_fixer": "could not fix what fails",
    "fixer_failed": "a fixer failed",
    "nothing_usable": "the fixer changed nothing",
    "skipped": "skipped, not checked",
    "unsure": "every required check passes, but there is too little evidence that the fix is right",
    "agreed": "every required check passes, and a person accepted the fix",
    "declined": "every required check passes, but a person declined the fix",
    "triggered": "a person has to decide about these findings",
}


def confidence_line(report: CodeReport | PlanReport) -> str:
    """Return how sure the fix is to be right, and what that rests on."""
    return f"confidence {report.confidence:.2f}: {report.confidence_reason}"


def print_findings(report: CodeReport | PlanReport, *, shown: bool = False) -> None:
    """Print the findings that are left, and what may help with them.

    Of those that a person has `shown` to them before, only what helps.
    """
    findings = report.findings
    for finding in findings[:_MOST_FINDINGS]:
        if not shown or finding.fault is not Fault.CANDIDATE:
            echo(finding_line(finding))
        if finding.fault is not Fault.CANDIDATE:
            for line in (finding.sample or "").strip().splitlines()[-3:]:
                echo(f"    {line}")
            if finding.available:
                names = ", ".join(finding.available)
                is_bound = finding.fault is Fault.STRATEGY
                echo(f"    allowed: {names}" if is_bound else f"    did you mean: {names}?")
    more = len(findings) - _MOST_FINDINGS
    if more > 0 and not shown:
        echo(f"… and {more} more (runtrue runs show {report.run_id} --json)")


def print_fix(fix: Fix | FixReport) -> None:
    """Print what each fixer did, and why others did nothing."""
    for part in fix.parts:
        files = ", ".join(part.files) or "nothing"
        failed = f"; failed: {part.failure}" if part.failure else ""
        refused = f"; refused: {part.refused}" if part.refused and not part.restored else ""
        restored = f"; restored: {', '.join(part.restored)}" if part.restored else ""
        said = f': "{part.said}"' if part.said and not part.files else ""
        text = f"  fix by {part.fixer}: changed {files}{restored}{refused}{failed}{said}"
        echo(text)
        if part.trace:
            echo(f"    {part.description}")
    for skip in fix.skipped:
        echo(f"  {skip.fixer} skipped: {skip.reason}")


def print_verdict(name: str, verdict: PlanVerdict | VerdictReport) -> None:
    """Print a check's verdict."""
    word = "passed" if verdict.passed else "failed"
    cases = ", ".join(f"{count} {outcome}" for outcome, count in verdict.cases.items())
    by = f"judged by {verdict.judged_by}" if verdict.judged_by else ""
    facts = ", ".join(filter(None, [cases, f"{verdict.seconds:.1f} s", by]))
    echo(f"  {name}: {word} ({facts})")
    for finding in verdict.findings[:_MOST_FINDINGS]:
        echo(f"    {finding_line(finding, with_source=False)}")


#: What the nodes around the checks do.
_DOING = {"open": "creating the sandbox", "settle": "finishing", "apply": "applying"}


class RepairNarrator(Narrator):
    """Attempts, checks and fixes as they come."""

    _attempt = ""

    def __call__(self, event: Event) -> None:
        """Show an attempt, a check or a fix."""
        display = self.display
        match event:
            case NodeStarted() if event.origin in _DOING:
                display.doing(_DOING[event.origin])
            case AttemptStarted():
                self._attempt = f"attempt {event.number} of {event.limit}"
                display.line(self._attempt, "bold")
            case CheckStarted():
                display.doing(f"{self._attempt}: {event.check}")
            case CheckRepeated():
                display.doing(
                    f"{self._attempt}: {event.check} again, to see if the failure is stable"
                )
            case CheckFinished():
                self._check_finished(event)
            case BackingOff():
                wait = f"waiting {event.seconds:g} s"
                if event.why:
                    display.line(f"{wait}: {event.why}", "yellow")
                display.doing(wait)
            case FixerStarted():
                display.doing(f"fixing {counted(event.findings, 'finding')}: {event.fixer}")
            case Searching():
                passing = f", {event.passing} of them pass; first {event.best}"
                tried = f"search: {counted(event.tried, 'edit')} tried ({event.rate}/s)"
                display.still(tried + passing if event.best else tried)
            case FixerFinished():
                self._fixer_finished(event)

    def _check_finished(self, event: CheckFinished) -> None:
        word, style = ("passed", "green") if event.passed else ("failed", "red")
        facts = [] if event.passed else [_amount(event)]
        if event.mode is Mode.INFORMATIONAL:
            style = style if event.passed else "yellow"
            facts.append("informational")
        if event.partial:
            facts.append("only the failing tests were run")
        if event.flaky:
            facts.append(f"{len(event.flaky)} flaky")
        if event.known:
            facts.append(f"{event.known} known before")
        facts.append(f"{event.seconds:.1f} s")
        self.display.line(f"  {event.check}: {word} ({', '.join(facts)})", style)
        self._list_findings(event)

    def _list_findings(self, event: CheckFinished) -> None:
        for finding in event.shown:
            self.display.line(f"    {finding_line(finding, with_source=False)}")
        more = event.findings - len(event.shown)
        if more > 0:
            self.display.line(f"    … and {more} more", "dim")

    def _fixer_finished(self, event: FixerFinished) -> None:
        said = f': "{event.said}"' if event.said else ""
        if event.failure:
            text, style = f"failed: {event.failure}{said}", "red"
        elif event.outside:
            needed = ", ".join(event.outside)
            text, style = f"dropped: it changed {needed}, outside the bounds", "yellow"
        elif event.files:
            text, style = f"changed {', '.join(event.files)}", "cyan"
            if event.refused:
                text, style = f"{text}; refused: {event.refused}", "yellow"
        elif event.refused:
            text, style = f"refused: {event.refused}{said}", "yellow"
        else:
            text, style = event.tried or f"changed nothing{said}", "yellow"
        if event.restored and event.files:
            text += f"; edits to {', '.join(event.restored)} were undone"
        self.display.line(f"fix by {event.fixer}: {text}", style)
        if event.tried and event.files:
            self.display.line(f"  {event.tried}", "dim")


def _amount(event: CheckFinished) -> str:
    """Return how much of a check failed: of its cases, where it has several, else its findings."""
    if event.cases > 1 and event.failed_cases:
        return f"{event.failed_cases} of {event.cases}"
    return counted(event.findings, "finding")
