"""Runs of `runtrue fix`, `code` and `gate`: how they are prepared, narrated and shown."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runtrue.cli.console import Styled, echo
from runtrue.cli.kinds import RunKind, Shown, is_yes_or_no
from runtrue.cli.repair import (
    WHY,
    RepairNarrator,
    confidence_line,
    print_findings,
    print_fix,
    print_verdict,
)
from runtrue.cli.show import counted, print_diff
from runtrue.code import (
    BeforeStarted,
    CodeReport,
    GenerationFailed,
    GenerationFinished,
    GenerationStarted,
    Recalled,
    prepare_run,
    report_of,
    request_of,
    sandbox_of_run,
)
from runtrue.errors import UsageError
from runtrue.flow import Event, Journal, Question, RunRow, Segment, replay
from runtrue.foreign_text import hidden_characters
from runtrue.home import Home
from runtrue.loop import AttemptStarted, CheckFinished, FixPart, Skip, is_yes
from runtrue.sandbox import GitSandbox

#: Checks that say something also when they pass.
_GATES = ("coverage", "test_kinds", "security")
#: How many tests or files the end of a run names; all of them are in its JSON.
_MOST_LINES = 10
_BAD = ("failed", "error")
#: How many tests a line names.
_NAMED = 3
_COLOURS = {"passed": "green", "waiting": "yellow", "running": "yellow"}


def _reason(report: CodeReport) -> list[str]:
    return [f"because: {report.skipped}"] if report.skipped else []


def _decided(run: RunRow, question: Question, said: str) -> str:
    """Return yes, no, or the number of another edit; what is neither must not count as a no."""
    text = said.strip().lower()
    # The edits that may be chosen are numbered from 2: the one that is shown is the first.
    if is_yes(text) or text == "1":
        return "yes"
    if text in _NO:
        return "no"
    last = (question.question.get("alternatives") or 0) + 1
    if text.isdecimal() and 2 <= int(text) <= last:
        return text
    numbers = f", or the number of another edit (2 to {last})" if last > 1 else ""
    raise UsageError(
        f"run {run.id} asks whether its diff is right, and {said!r} is no answer to that: "
        f"pass --answer yes, --answer no{numbers}"
    )


def _why(report: CodeReport) -> str:
    """Return in words why a run ended, or asks."""
    if report.why == "nothing_usable" and report.restored:
        return "the fixer changed only tests and check settings, which judge the fix"
    if report.why == "no_fixer" and report.findings:
        return f"could not fix {counted(len(report.findings), 'finding')}"
    return WHY.get(report.why, report.why) if report.why else ""


def _regressions(report: CodeReport) -> list[str]:
    broken = [case for case in report.regressions if case not in set(report.vanished)]
    lines = _few([f"broken by the fix: {case}" for case in broken])
    if report.vanished:
        count = len(report.vanished)
        verb = "runs" if count == 1 else "run"
        lines.append(f"{counted(count, 'test')} ran before the fix and no longer {verb}:")
        lines += _few([f"  {case}" for case in report.vanished])
    return lines


def _restored(report: CodeReport) -> list[str]:
    """Return which edits were undone; a fix that passed may have left the tests alone."""
    if not report.restored or report.status == "passed":
        return []
    files = ", ".join(_few(list(report.restored)))
    return [f"undone: edits to {files}. Tests and their settings judge the fix"]


def _few(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"… and {more} more"] if more > 0 else lines


def _proof(report: CodeReport) -> list[str]:
    if report.why not in ("passed", "flagged", "allowed", "unsure", "agreed", "declined"):
        return []
    first, last = report.attempts[0], report.attempts[-1]
    lines = []
    for verdict in last.verdicts:
        before = next((v for v in first.verdicts if v.check == verdict.check), None)
        passed = verdict.cases.get("passed", 0)
        tests = f", {passed} passed" if passed else ""
        if verdict.known:
            how = "failed before the fix and still fail" if verdict.cases else "known before"
            tests += f", {len(verdict.known)} {how}"
        fixed = len(before.findings) if before else 0
        change = f", {counted(fixed, 'finding')} fixed" if fixed else ""
        informational = verdict.mode == "informational"
        bad = "fails (informational)" if informational else f"fails ({report.why})"
        word = "passes" if verdict.passed else bad
        said = f" ({verdict.output})" if verdict.check in _GATES and verdict.output else ""
        lines.append(f"{verdict.check} {word}{tests}{change if verdict.passed else ''}{said}")
    lines += [f"flaky: {case} failed and passed unchanged" for case in report.flaky]
    return lines


def _confidence(report: CodeReport) -> list[str]:
    if report.confidence is None:
        return []
    # The reason names the first of them.
    return [confidence_line(report), *(f"suspicious: {sign}" for sign in report.suspicious[1:])]


def _alternatives(report: CodeReport) -> list[str]:
    """Return an input for each other fix that passes, and what it gives there."""
    if report.why in ("agreed", "declined"):
        return []  # the person has chosen
    lines = []
    for one in report.alternatives:
        call, gives, instead = one.example.call, one.example.gives, one.example.instead
        lines.append(f"{one.number}. {one.says} (confidence {one.confidence:.2f})")
        lines.append(f"   {call}: {gives}, and not {instead} as above")
    return ["other edits that pass and behave differently:", *lines] if lines else []


def _test(report: CodeReport) -> list[str]:
    test = report.proposed_test
    return ["as a test:", *(f"  {line}" for line in test.splitlines())] if test else []


def _gained(report: CodeReport) -> list[str]:
    """Return what a run that failed has fixed all the same, and how to take that."""
    if report.status == "running" or not (report.gained and report.patch):
        return []
    failing = sum(v.cases.get(o, 0) for v in report.attempts[0].verdicts for o in _BAD)
    fixed = f"{len(report.gained)} of {counted(failing, 'failing test')} fixed"
    tests = ", ".join(report.gained[:_NAMED]) + (" …" if len(report.gained) > _NAMED else "")
    return [
        f"{fixed}, nothing broken: {tests}",
        f"show it: runtrue runs diff {report.run_id}",
        f"apply it: runtrue runs apply {report.run_id}",
    ]


def _reduced(report: CodeReport) -> list[str]:
    """Return the places that a fix changes and that no failing test needs."""
    fix = next((one.fix for one in reversed(report.attempts) if one.fix), None)
    spare = [hunk for hunk in fix.hunks if not hunk.needed] if fix else []
    if not spare:
        return []
    where = ", ".join(f"{hunk.file}:{hunk.line}" for hunk in spare[:_NAMED])
    places = f"{counted(len(spare), 'place')} that no failing test needs: {where}"
    if report.reduced_patch is None:
        return [f"dropped {places}"]
    return [f"it changes {places}", f"a smaller patch without them: {report.reduced_patch}"]


def _escalations(report: CodeReport) -> list[str]:
    lines = [f"flagged: {flag.replace('_', ' ')}" for flag in report.flags]
    for notice in report.notices:
        notified = "notified" if notice.delivered else "could not be notified"
        detail = f": {notice.detail}" if notice.detail else ""
        lines.append(f"escalation report: {notice.report}")
        if notice.channel != "cli":
            lines.append(f"{notified} by {notice.channel.replace('_', ' ')}{detail}")
    return lines


def _memory(report: CodeReport) -> list[str]:
    memory = report.memory
    if memory is None or not (memory.trouble or memory.reused):
        return []
    return [memory.trouble or f"fixed from memory: {', '.join(memory.reused)}"]


def _in_vain(part: FixPart) -> str:
    """Return what a fixer tried in vain, or why it could not."""
    said = f': "{part.said}"' if part.said else ""
    if part.failure:
        return f"{part.failure}{said}"
    if part.refused:
        return f"refused: {part.refused}{said}"
    return part.description if part.trace else f"changed nothing{said}"


def _tried_fixers(report: CodeReport) -> list[str]:
    """Return what each fixer tried that could not help."""
    if report.why not in ("no_fixer", "fixer_failed", "nothing_usable") or not report.rejected:
        return []
    return [f"{part.fixer}: {_in_vain(part)}" for part in report.rejected[-1].fix.parts]


def _skipped_fixers(report: CodeReport) -> list[str]:
    """Return why the other fixers of the ladder were not asked."""
    if report.why != "no_fixer" or not report.rejected:
        return []
    skipped = report.rejected[-1].fix.skipped
    return [f"{skip.fixer}: {skip.reason}" for skip in skipped if not _is_unset(skip)]


def _is_unset(skip: Skip) -> bool:
    return skip.fixer in ("model", "agent") and "configured" in skip.reason


def _more_fixers(report: CodeReport) -> list[str]:
    """Return how to have more tried where nothing helped."""
    if report.why != "no_fixer" or not report.rejected or report.status == "running":
        return []
    unset = {skip.fixer for skip in report.rejected[-1].fix.skipped if _is_unset(skip)}
    ways = {"model": "set RUNTRUE_MODEL=provider:model", "agent": "pass --agent CMD"}
    named = ", or ".join(way for fixer, way in ways.items() if fixer in unset)
    return [f"next: {named}"] if named else []


def _known(report: CodeReport) -> list[str]:
    """Return how to have fixed what linters found before and nobody asked to fix."""
    if report.status != "passed" or report.kind != "fix":
        return []
    last = report.attempts[-1].verdicts
    linters = [verdict.check for verdict in last if verdict.known and not verdict.cases]
    if not linters:
        return []
    options = " ".join(f"--check {shlex.quote(check)}" for check in linters)
    return [f"findings from before this run were left alone; to fix them: runtrue fix {options}"]


def _hidden(report: CodeReport) -> list[str]:
    """Return a warning of what a reader of the diff would not see in the lines that it adds."""
    added = "\n".join(line[1:] for line in report.diff.split("\n") if line[:1] == "+")
    hidden = hidden_characters(added)
    if not hidden or report.applied:
        return []
    return [f"the diff adds invisible characters: {', '.join(_few([*hidden]))}"]


def _self_running(report: CodeReport) -> list[str]:
    """Return the changed files that run by themselves once they are applied."""
    if report.applied or report.kind == "gate":
        return []
    return _few([f"runs automatically: {one.file}: {one.why}" for one in report.self_running])


def _next(report: CodeReport) -> list[str]:
    go_on = f"continue: runtrue runs resume {report.run_id}"
    if report.error:
        patch = [f"the patch: {report.patch}"] if report.patch else []
        return [f"stopped by: {report.error}", *patch, go_on]
    if report.status == "passed":
        if report.applied:
            return [f"applied to {report.project}"]
        if not report.patch:
            return ["no change was needed"]
        return [f"not applied; apply it: runtrue runs apply {report.run_id}"]
    lines = []
    if report.sandbox:
        lines.append(f"your files are unchanged; best attempt: {report.sandbox}")
    if report.status == "running":
        # Somebody who is at work on it needs nobody to go on.
        return lines if report.driven else [*lines, go_on]
    if report.status != "waiting":
        lines.append(f"details: runtrue runs show {report.run_id}")
    return lines


_PARTS = (
    *(_reason, _regressions, _restored, _proof, _gained, _known, _reduced, _confidence),
    *(_alternatives, _test, _escalations, _memory, _tried_fixers, _skipped_fixers, _hidden),
    *(_self_running, _more_fixers, _next),
)
#: What declines a fix.
_NO = ("n", "no", "reject", "rejected", "decline", "declined")
#: The parts that repeat what a person has seen.
_SHOWN_BY = {
    Shown.NOTHING: (),
    Shown.PROGRESS: (_tried_fixers,),
    Shown.DETAILS: (_tried_fixers, _skipped_fixers),
}


class CodeNarrator(RepairNarrator):
    """As with all repairs, and what is written before the first attempt."""

    def __call__(self, event: Event) -> None:
        """Show what is recalled and written."""
        match event:
            case Recalled():
                if event.lessons:
                    self.display.line(f"recalled {counted(len(event.lessons), 'lesson')}", "dim")
            case BeforeStarted():
                self._attempt = "before"
            case GenerationStarted():
                self.display.doing(f"{event.by} writes {event.what}")
            case GenerationFinished():
                text = f"wrote {', '.join(event.files) or 'nothing'}"
                if event.restored:
                    text += f"; edits to {', '.join(event.restored)} were undone"
                self.display.line(f"{event.what}: {text}", "cyan")
            case GenerationFailed():
                self.display.line(f"{event.what}: failed: {event.failure}", "red")
            case _:
                super().__call__(event)


class GateNarrator(CodeNarrator):
    """The checks as they end: there is one attempt, and the verdict lists the findings."""

    def __call__(self, event: Event) -> None:
        """Show a check."""
        if isinstance(event, AttemptStarted):
            self._attempt = "gate"
        else:
            super().__call__(event)

    def _list_findings(self, event: CheckFinished) -> None:
        """Leave them to the verdict, which comes next."""


class CodeKind(RunKind[CodeReport]):
    """Runs of `runtrue fix` and `code`."""

    report_type = CodeReport
    narrator = CodeNarrator

    def prepare(
        self, run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool
    ) -> Segment:
        """Return the work of a run, which takes no secrets."""
        return prepare_run(run, home)

    def sandbox(self, run: RunRow, home: Home) -> GitSandbox | None:
        """The sandbox of a run."""
        return sandbox_of_run(run, home)

    def report(self, journal: Journal, home: Home, run: RunRow) -> CodeReport:
        """Return the report of a run that is not over, from its replayed steps."""
        segment = prepare_run(run, home)
        asyncio.run(replay(segment.work, journal.load(run.id)))
        return replace(report_of(segment.state, run.state), error=run.error)

    def answer(
        self, journal: Journal, home: Home, run: RunRow, said: str | None, *, can_ask: bool
    ) -> Any:
        """Return what was said.

        A person who edited the candidate need say nothing; one who is asked yes or no must.
        """
        # What is said to a run that cannot go on would be lost.
        request_of(run)
        question = journal.open_question(run.id)
        if question is None or not is_yes_or_no(question):
            return said or ""
        if said is not None:
            return _decided(run, question, said)
        if not can_ask:
            raise UsageError(
                f"run {run.id} asks whether its diff is right: pass --answer yes or --answer no"
            )
        return None

    def unapplied_patch(self, report: CodeReport) -> str | None:
        """Return the patch, unless it was applied."""
        return None if report.applied else report.patch

    def print_report(
        self, report: CodeReport, *, asked: bool = False, shown: Shown = Shown.NOTHING
    ) -> None:
        """Print the diff, what remains, what was proven, and what to do next."""
        is_offered = report.status == "passed" or report.why == "unsure"
        if not asked and report.diff and is_offered and not report.applied:
            print_diff(report.diff)
        if report.findings:
            print_findings(report, shown=shown is not Shown.NOTHING)
        status = report.status
        summary = _why(report)
        attempts = sum(not attempt.recheck for attempt in report.attempts)
        spent = f"{counted(attempts, 'attempt')}, {report.seconds:.1f} s"
        head = Styled(status, fg=_COLOURS.get(status, "red"), bold=True)
        echo(head, f": {summary} ({spent})" if summary else f" ({spent})")
        for part in _PARTS:
            if part not in _SHOWN_BY[shown]:
                for line in part(report):
                    echo(f"  {line}")

    def print_details(self, report: CodeReport) -> None:
        """Print every attempt with its fix and verdicts, and the rejected fixes in between."""
        for written in report.written or ():
            what = written.skipped or f"changed {', '.join(written.files) or 'nothing'}"
            echo(f"written by {written.by}: {what}")
        for attempt in report.attempts:
            again = " (again)" if attempt.recheck else ""
            echo(f"attempt {attempt.number} of {attempt.limit}{again}", bold=True)
            if attempt.fix:
                print_fix(attempt.fix)
            for verdict in attempt.verdicts:
                print_verdict(verdict.check, verdict)
            if attempt.analysis:
                echo(f"  cause: {attempt.analysis.root_cause}")
            for rejected in report.rejected:
                if rejected.after == attempt.number:
                    echo(f"  not run: {rejected.reason.replace('_', ' ')}")
                    print_fix(rejected.fix)

    def print_question(self, run_id: str, question: Question | None) -> None:
        """Print what a waiting run wants, and how to answer."""
        asked = question.question if question else {}
        if asked.get("why") == "unsure":
            echo(f"  read the diff: {asked['patch']}")
            echo(f"  accept it: runtrue runs resume {run_id} --answer yes")
            echo(f"  reject it: runtrue runs resume {run_id} --answer no")
            if asked["alternatives"]:
                echo(f"  choose another: runtrue runs resume {run_id} --answer NUMBER")
            return
        if asked.get("apply"):
            if asked.get("self_running"):
                echo("  files that run automatically (above) are applied only if you agree")
            echo(f"  read the diff: runtrue runs diff {run_id}")
            echo(f"  apply it: runtrue runs resume {run_id} --answer yes")
            return
        echo(f"  edit the candidate in {asked.get('sandbox')} or give advice, then:")
        echo(f"  runtrue runs resume {run_id} [--answer ADVICE]")
        if asked.get("acceptable"):
            echo(f"  accept it as it is: runtrue runs resume {run_id} --answer accept")

    def print_offer(self, report: CodeReport, question: Question) -> None:
        """Print the diff that may be applied, and what the checks said of it."""
        print_diff(question.question["diff"])
        for line in (
            *_proof(report),
            *_confidence(report),
            *_alternatives(report),
            *_hidden(report),
            *_self_running(report),
        ):
            echo(line)


class GateKind(CodeKind):
    """Runs of `runtrue gate`."""

    narrator = GateNarrator
