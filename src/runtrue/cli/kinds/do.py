"""Runs of `runtrue do`: how they are prepared, narrated and shown."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import click
import msgspec

from runtrue.cli.console import Styled, ask_text, confirm, echo
from runtrue.cli.kinds import RunKind, Shown
from runtrue.cli.kinds.workflow import WorkflowNarrator, print_finding
from runtrue.cli.progress import Display, Narrator
from runtrue.cli.show import counted, is_terminal, print_json
from runtrue.cli.values import print_value
from runtrue.errors import RuntrueError, UsageError
from runtrue.flow import (
    Event,
    Journal,
    NodeStarted,
    Question,
    RunRow,
    RunState,
    Segment,
    replay,
)
from runtrue.home import Home
from runtrue.loop import AttemptStarted
from runtrue.planner import (
    AttemptFinished,
    Doubt,
    FindingSummary,
    FixProposed,
    FixRejected,
    FoundExisting,
    InvalidWorkflowMade,
    MemoryTrouble,
    MissingInput,
    PlanningStarted,
    TaskReport,
    WorkflowEvent,
    WorkflowMade,
    is_dry_run,
    prepare_task,
    report_of,
    save_task,
)
from runtrue.workflow import (
    REDACTED,
    NodeFailure,
    PathSyntaxError,
    WorkflowStore,
    parse_path,
    propose_name,
)

#: Less than this is no better than chance: to show it would only send people the wrong way.
_LEAST_CONFIDENCE = 0.03
_MOST_CANDIDATES = 5
#: What the planner's nodes do, where that may take its time.
_DOING = {
    "component_browsing": "collecting node types and servers",
    "workflow_generator": "planning",
    "workflow_run": "running",
}
_COLOURS = {"passed": "green", "running": "yellow", "waiting": "yellow"}


def _events(journal: Journal, run: RunRow) -> list[Event]:
    return [event for _, event in journal.events(run.id)]


def _offered(home: Home, report: TaskReport) -> str | None:
    """Offer to save the workflow, and return its name if the person accepts."""
    if not is_terminal() or report.save_error:
        return None
    name = free_name(home, report.name)
    try:
        if not confirm(f"Save this workflow as {name!r}?", default=True):
            return None
        WorkflowStore(home).save(name, report.workflow or {})
    except click.Abort:
        echo(err=True)
        return None
    except RuntrueError as error:
        _say(f"not saved: {error}")
        return None
    return name


def free_name(home: Home, proposed: str | None) -> str:
    """The proposed name, with a number where it is taken."""
    store = WorkflowStore(home)
    proposed = name = propose_name(proposed or "workflow")
    number = 2
    while store.find(name):
        name = propose_name(f"{proposed[:56]}-{number}")
        number += 1
    return name


def _typed(value: Any) -> str:
    """A value as it is typed for `runtrue run`; a secret is left for the user to type."""
    if value == REDACTED:
        return "…"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _say(text: str) -> None:
    echo(text, err=True)


def _about(missing: MissingInput) -> str:
    parts = [part for part in (missing.type, missing.description) if part]
    return f" ({', '.join(parts)})" if parts else ""


def _print_candidates(doubt: Doubt, *, numbered: bool = False) -> tuple[str, ...]:
    """Print what could be meant, and return it."""
    if doubt.problem:
        _say(f"  {doubt.node_id}: {doubt.problem}")
    likely = [one for one in doubt.candidates if one.confidence >= _LEAST_CONFIDENCE]
    candidates = likely[:_MOST_CANDIDATES]
    if not candidates:
        _say(f"  {doubt.node_id}: no field in the response resembles {doubt.attempted}")
        return ()
    _say(f"  {doubt.node_id}: {doubt.attempted} could be:")
    width = max(len(candidate.text) for candidate in candidates)
    for number, candidate in enumerate(candidates, 1):
        sample = f"  {candidate.sample}" if candidate.sample else ""
        head = f"{number}  " if numbered else ""
        _say(f"    {head}{candidate.text:<{width}}  {candidate.confidence:4.0%}{sample}")
    return tuple(candidate.text for candidate in candidates)


def _fields(question: Question) -> tuple[str, ...]:
    """Return the fields that a question asks the paths of; none where it asks for agreement."""
    return tuple(doubt["field"] for doubt in question.question.get("doubts", ()))


def _check_path(field: str, path: str) -> None:
    """Raise UsageError for what is no path."""
    try:
        parse_path(path)
    except PathSyntaxError as error:
        raise UsageError(f"{path!r} is not a path for {field}: {error}") from error


def _print_effects(title: str, effects: Iterable[str]) -> None:
    _say(title)
    for effect in effects:
        _say(f"  {effect}")


def _print_plan(report: TaskReport) -> None:
    """Print a workflow that was not run on stdout, and what it would do on stderr."""
    print_value(report.workflow or {})
    agreed = {None: "would be asked for", "task": "the task names it", "yes": "agreed by --yes"}
    for effect in report.effects:
        who = "" if report.found else f" ({agreed.get(effect.agreed, 'agreed')})"
        _say(f"  {effect.node}: {effect.text}{who}")
    if not report.effects:
        _say("  no effects outside the run")


def _summary(report: TaskReport) -> str:
    runs = len(report.attempts)
    cost = report.cost
    spent = [f"{report.seconds:.1f} s"]
    if runs:
        spent.insert(0, "run once" if runs == 1 else f"run {runs} times")
    if cost.requests:
        asked = f"{counted(cost.requests, 'question')} to {', '.join(cost.models)}"
        price = "" if cost.cost is None else f", ${cost.cost:.4f}"
        spent.append(f"{asked}{price}")
    fixes = sum(attempt.fix is not None for attempt in report.attempts)
    after = f" after {counted(fixes, 'fix')}" if fixes else ""
    if report.dry_run and report.status == "passed":
        return "planned, and nothing was called"
    if report.status == "waiting" and report.candidates:
        fields = ", ".join(doubt.field or doubt.attempted for doubt in report.candidates)
        return f"unclear which field you mean by {fields}"
    if report.status == "waiting":
        return "the plan does more than the task names"
    what = f"the saved workflow {report.name}" if report.found else "the task"
    done = "is done" if report.status == "passed" else "was not done"
    if report.found:
        done = "has run" if report.status == "passed" else "has failed"
    return f"{what} {done}{after} ({', '.join(spent)})"


class TaskNarrator(Narrator):
    """A line for each thing that a person would want to know."""

    def __init__(self, display: Display) -> None:
        super().__init__(display)
        self._steps = WorkflowNarrator(display)

    def close(self) -> None:
        """Tell of the last step."""
        self._steps.close()

    def __call__(self, event: Event) -> None:
        """Show what the planner does."""
        line, doing = self.display.line, self.display.doing
        match event:
            case PlanningStarted():
                doing(f"planning ({event.generator})")
            case FoundExisting():
                line(f"found the saved workflow {event.name}", "green")
            case WorkflowMade() if event.nodes:
                line(f"planned: {' → '.join(event.nodes)}")
                if event.understood:
                    line(f"understood: {event.understood}")
            case InvalidWorkflowMade():
                line(f"  invalid plan: {event.problems[0]}", "yellow")
            case NodeStarted() if event.origin in _DOING:
                doing(_DOING[event.origin])
            case AttemptStarted(number=number):
                again = "" if number == 1 else " again"
                line(f"running{again} ({number} of at most {event.limit})")
            case WorkflowEvent(event=NodeFailure()):
                # What was wrong is shown when the run is over, all of it together.
                self._steps.forget()
            case WorkflowEvent():
                self._steps(event.event)
            case AttemptFinished():
                self._steps.close()
                for finding in event.findings:
                    line(f"  ✗ {_finding_text(finding)}", "red")
            case MemoryTrouble():
                line(f"  {event.message}", "yellow")
            case FixProposed():
                for change in event.changes:
                    line(f"  changed ({event.fixer}): {change}", "yellow")
            case FixRejected():
                for reason in event.reasons:
                    line(f"  not run ({event.fixer}): {reason}", "yellow")


def _finding_text(finding: FindingSummary) -> str:
    where = f"{finding.node_id}: " if finding.node_id else ""
    about = f" {', '.join(finding.attempted)}" if finding.attempted else ""
    return f"{where}{finding.category.replace('_', ' ')}{about}"


class TaskKind(RunKind[TaskReport]):
    """Runs of `runtrue do`."""

    report_type = TaskReport
    narrator = TaskNarrator
    asks = "Go ahead"

    def prepare(
        self, run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool
    ) -> Segment:
        """The flow of a run, which knows what calls the run has already made."""
        with Journal(home.journal) as journal:
            return prepare_task(run, home, _events(journal, run), force=force)

    def report(self, journal: Journal, home: Home, run: RunRow) -> TaskReport:
        """The report of a run that is not over, out of its replayed steps."""
        segment = prepare_task(run, home, _events(journal, run))
        asyncio.run(replay(segment.work, journal.load(run.id)))
        report = report_of(run, segment.state, run.state, dry_run=is_dry_run(run))
        can_go_on = run.state is RunState.FAILED
        return replace(report, error=report.error or run.error, resumable=can_go_on)

    def stopped(self, run: RunRow, home: Home, report: TaskReport) -> TaskReport:
        """Save the workflow, if that was asked for. A result is not lost because that fails."""
        try:
            return replace(report, saved=save_task(run, home, report), save_error=None)
        except RuntrueError as error:
            return replace(report, saved=None, save_error=str(error))

    def exit_code(self, run: RunRow, report: TaskReport) -> int:
        """The usual one, unless the workflow was to be saved and could not be."""
        return 1 if report.save_error else super().exit_code(run, report)

    def answer(
        self, journal: Journal, home: Home, run: RunRow, said: str | None, *, can_ask: bool
    ) -> Any:
        """Return yes or no: nothing else answers whether a person agrees to effects."""
        question = journal.open_question(run.id)
        if question is not None and (fields := _fields(question)):
            if said is None:
                return None
            if said.strip().lower() in ("n", "no"):
                return "no"
            if "=" in said:
                pairs = (pair.partition("=") for pair in said.split(";"))
                paths = {name.strip(): path.strip() for name, _, path in pairs}
                return self.choose(journal, run, paths)
            raise UsageError(
                f"run {run.id} asks for the path of {', '.join(fields)}: give "
                f"--set {fields[0]}=PATH, or --answer no to end it"
            )
        if said is None:
            return None
        answer = {"y": "yes", "n": "no"}.get(said.strip().lower(), said.strip().lower())
        if answer not in ("yes", "no"):
            raise UsageError(
                f"run {run.id} asks whether to go ahead: give --answer yes or --answer no"
            )
        return answer

    def print_question(self, run_id: str, question: Question | None) -> None:
        """Print what a waiting run would do, and how to agree; or the fields to set."""
        if question is not None and (fields := _fields(question)):
            chosen = " ".join(f"--set {shlex.quote(field)}=PATH" for field in fields)
            _say(f"  set: runtrue runs resume {run_id} {chosen}")
            _say(f"  give up: runtrue runs resume {run_id} --answer no")
            return
        _print_effects("it would:", question.question["effects"] if question else ())
        _say(f"  agree: runtrue runs resume {run_id} --answer yes")
        _say(f"  decline: runtrue runs resume {run_id} --answer no")

    def print_offer(self, report: TaskReport, question: Question) -> None:
        """Print the effects that a yes would agree to."""
        _print_effects(
            "The plan would also, beyond what the task names:", question.question["effects"]
        )

    def choose(self, journal: Journal, run: RunRow, paths: Mapping[str, str]) -> dict[str, str]:
        """Return the paths of fields, if the run asks for these and they are paths."""
        question = journal.open_question(run.id)
        fields = _fields(question) if question else ()
        if not fields:
            raise UsageError(
                f"run {run.id} does not ask for a field; see `runtrue runs show {run.id}`"
            )
        for name, path in paths.items():
            if name not in fields:
                raise UsageError(
                    f"run {run.id} does not ask for {name!r}; it asks for: {', '.join(fields)}"
                )
            _check_path(name, path)
        return dict(paths)

    def ask_here(self, report: TaskReport, question: Question) -> Any:
        """Ask for the path of each field in doubt, by number or as typed; or for agreement."""
        if not _fields(question):
            return super().ask_here(report, question)
        for name, value in report.partial.items():
            _say(f"  sure: {name}: {_typed(value)}")
        found = {}
        for doubt in report.candidates:
            shown = _print_candidates(doubt, numbered=True)
            while True:
                asked = f"{doubt.field}: number or path (empty to leave it open)"
                said = ask_text(asked).strip()
                if said.isdecimal() and 0 < int(said) <= len(shown):
                    said = shown[int(said) - 1]
                try:
                    _check_path(doubt.field, said or "$")
                except UsageError as error:
                    _say(str(error))
                    continue
                break
            if said:
                found[doubt.field] = said
        return found or None

    def conclude(self, home: Home, report: TaskReport) -> None:
        """Print how to run the workflow again, or to save it; ask a person at a terminal."""
        if report.status != "passed" or report.dry_run:
            return
        if report.save_error:
            _say(f"not saved: {report.save_error}")
        if report.saved:
            _say(f"  saved as {report.saved}")
        name = report.saved or (report.name if report.found else None)
        name = name or _offered(home, report)
        if name is None:
            free = free_name(home, report.name)
            _say(f"  save it: runtrue workflow save --run {report.run_id} --name {free}")
            return
        given = report.parameters.items()
        values = "".join(f" {shlex.quote(f'{key}={_typed(value)}')}" for key, value in given)
        _say(f"  run it again: runtrue run {name}{values}")

    def print_report(
        self, report: TaskReport, *, asked: bool = False, shown: Shown = Shown.NOTHING
    ) -> None:
        """The result on stdout, so it can be piped; everything about the run on stderr."""
        status = report.status
        if report.dry_run and status == "passed":
            _print_plan(report)
        elif status == "passed":
            print_value(report.result)
        elif report.partial:
            print_json(report.partial)
        findings = () if status == "waiting" or shown is Shown.DETAILS else report.findings
        for finding in findings:
            print_finding(finding)
        for doubt in report.candidates:
            _print_candidates(doubt)
        for missing in report.missing:
            _say(f"missing: {missing.name}{_about(missing)}")
        if report.missing:
            _say("  add it to the task and try again")
        if report.error:
            _say(report.error)
        for note in report.notes:
            _say(f"  note: {note}")
        for server in report.silent_servers:
            _say(f"  the MCP server {server!r} did not list its tools: runtrue mcp tools")
        head = Styled(status, fg=_COLOURS.get(status, "red"), bold=True)
        echo(head, f": {_summary(report)}", err=True)
        if report.done and status != "passed":
            again = "is not done again" if status == "waiting" else "a new run would do it again"
            _say(f"  already done: {', '.join(report.done)}; {again}")
        if status in ("failed", "running") and report.resumable:
            _say(f"  continue: runtrue runs resume {report.run_id}")

    def print_details(self, report: TaskReport) -> None:
        """Every attempt: what was changed before it, and what was wrong."""
        for attempt in report.attempts:
            echo(f"run {attempt.number}", bold=True)
            if attempt.fix:
                echo(f"  changed by {attempt.fix.fixer}: {attempt.fix.description}")
            if attempt.passed:
                echo("  ✓ passed", fg="green")
            for finding in attempt.findings:
                where = finding.location.symbol
                echo(f"  ✗ {where}: {finding.message}", fg="red")
        for reason in report.rejected:
            echo(f"  not run: {reason}")
