"""Plans as text: the strategy, the state, the history, and what can be done next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from runtrue.cli.console import Styled, echo
from runtrue.cli.repair import (
    WHY,
    confidence_line,
    print_findings,
    print_fix,
    print_verdict,
)
from runtrue.cli.show import counted, print_diff
from runtrue.loop import Bounds, Fault, as_pattern
from runtrue.plan import (
    STEP,
    FixEntry,
    PlanAttempt,
    PlanReport,
    PlanState,
    PlanVerdict,
    QuestionReport,
    Step,
    StepResult,
    Strategizing,
    Wanted,
    wanted_by,
)
from runtrue.typed_data import convert

_COLOURS = {"applied": "green", "complete": "green", "failed": "red", "cancelled": "red"}
_MARKS = {
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "processing": ("▸", "yellow"),
    "undone": ("↶", "yellow"),
    "skipped": ("-", "dim"),
}
REASONS = {
    **WHY,
    "out_of_bounds": "the fix needs files outside the bounds of the strategy",
    "needs_approval": "the next step needs approval",
    "unasked": "a required validation fails, and the profile leaves fixes to a person",
    "edited": "the sandbox was edited beyond what the strategy allows",
    "unanswered": "nobody answered in time",
    "declined": "a person said no to a step",
    "budget": "the time or cost limit is reached",
    "attempts_spent": "no fixes left for a validation",
}


def next_commands(report: PlanReport, is_driven: bool = False) -> list[str]:
    """Return the commands to go on with, the likeliest first."""
    plan = f"runtrue plan {{}} {report.run_id}"
    if _is_lost(report):
        return [] if is_driven else [plan.format("cancel")]
    match wanted_by(report.question):
        case Wanted.BEGIN:
            return [plan.format("execute")]
        case Wanted.APPLY if report.refused:
            # The same again would be refused again, as long as the files are as they are.
            if plan.format("execute") in report.refused:  # the sandbox was edited
                other = plan.format("execute")
            elif report.refused_branch:
                other = plan.format("apply")
            else:
                other = f"{plan.format('apply')} --branch NAME"
            return [other, plan.format("diff")]
        case Wanted.APPLY:
            return [plan.format("apply"), plan.format("diff")]
        case Wanted.APPROVAL:
            return [f"{plan.format('answer')} yes", f"{plan.format('answer')} no"]
        case Wanted.GUIDANCE:
            inside = (file for file in report.needed if not file.startswith("../"))
            allowed = "".join(f" --allow {shlex.quote(as_pattern(file))}" for file in inside)
            if undone := (report.question or {}).get("undone"):
                correct = f"runtrue plan correct {undone} --plan {report.run_id}"
                return [f"{correct} --command COMMAND", f"{correct} --skip REASON"]
            if failed := _failed_command(report):
                correct = f"runtrue plan correct {failed} --plan {report.run_id}"
                return [f"{correct} --command COMMAND", plan.format("explain")]
            if broken := _broken_validation(report):
                # Validated again once the program is there, or with another command.
                correct = f"runtrue plan correct {shlex.quote(broken)} --plan {report.run_id}"
                again = f'{plan.format("answer")} "TRY AGAIN"'
                return [f"{correct} --command COMMAND", f"{correct} --waive REASON", again]
            return [f'{plan.format("answer")} "GUIDANCE"{allowed}', plan.format("explain")]
    if report.state.is_terminal:
        return [] if report.applied else [plan.format("explain")]
    command = "apply" if report.phase == "apply" else "execute"
    return [] if is_driven else [plan.format(command)]


def _failed_command(report: PlanReport) -> str | None:
    """Return the step whose command could not do it: guidance is nothing to a command."""
    found = (f for f in report.findings if f.source == STEP and f.data.get("actor") == "command")
    return next((f.data["step"] for f in found if f.category == "step_not_done"), None)


def _broken_validation(report: PlanReport) -> str | None:
    """Return the validation whose own command is at fault: no change to the code can fix that."""
    names = {validation.name for validation in report.plan.validations}
    found = (f for f in report.findings if f.fault is Fault.CHECK and f.source in names)
    return next((f.source for f in found), None)


def _is_lost(report: PlanReport) -> bool:
    """Return whether a plan that is not over has lost its sandbox."""
    sandbox = report.sandbox
    if not sandbox or report.state.is_terminal:
        return False
    return not Path(sandbox).parent.exists()


# -- where a plan stands ------------------------------------------------------------------------


def print_standing(report: PlanReport) -> None:
    """Print the state and why, the strategy, the validations, and what can be done next."""
    print_head(report)
    print_tree(report)
    print_validations(report)
    if report.findings:
        print_findings(report)
    print_asked(report)
    print_next(report)


def print_head(report: PlanReport) -> None:
    """Print one line: which plan, its state, its phase and why."""
    state = Styled(report.state, fg=_COLOURS.get(report.state, "yellow"), bold=True)
    is_said = report.state in (PlanState.APPLIED, PlanState.CANCELLED) and not report.error
    phase = "" if is_said else f" ({report.phase}): "
    echo(f"plan {report.run_id}: ", state, f"{phase}{_summary(report)}")


def _summary(report: PlanReport) -> str:
    if report.error:
        return f"stopped by: {report.error}"
    match report.state:
        case PlanState.QUEUED:
            return "not started"
        case PlanState.PROCESSING if report.driven:
            return "in progress"
        case PlanState.PROCESSING:
            is_applying = report.phase == "apply"
            return "interrupted while applying" if is_applying else "not running"
        case PlanState.COMPLETE if _has_none(report):
            return "every required validation passes; your files already have the changes"
        case PlanState.CANCELLED if _has_none(report):
            return "; your files stay as they are"
        case PlanState.COMPLETE:
            return "every required validation passes; nothing is applied yet"
        case PlanState.APPLIED if report.committed:
            return f": committed to {report.committed.branch} as {report.committed.commit}"
        case PlanState.APPLIED:
            return f" to {report.project}"
        case PlanState.CANCELLED:
            return ""
    why = report.why
    if why == "out_of_bounds" and not report.needed:
        return "a step cannot be done as planned"
    return REASONS.get(why, why) if why else "waiting for a person"


def _has_none(report: PlanReport) -> bool:
    """Return whether a plan works on the user's own files."""
    return report.plan.sandbox == "none"


def print_tree(report: PlanReport) -> None:
    """Print every step of the strategy with its state, its actor and its bounds."""
    strategy = report.plan.strategy
    if strategy is None:
        echo("  no strategy yet")
        return
    if bounds := _bounds(strategy.bounds):
        echo(f"  bounds: {bounds}")
    states = {step.id: step.state for step in report.plan.steps}
    for depth, step in _steps(strategy.steps):
        mark, colour = _MARKS.get(states[step.id], ("·", None))
        echo(f"  {'  ' * depth}{mark} {_step(step)}", fg=colour)


def _steps(steps: Iterable[Step], depth: int = 0) -> Iterator[tuple[int, Step]]:
    for step in steps:
        yield depth, step
        yield from _steps(step.steps, depth + 1)


def _step(step: Step) -> str:
    facts = []
    if not step.steps:
        command = f": {step.command}" if step.command else ""
        facts.append(f"{step.actor}{command}")
    facts += filter(None, [_bounds(step.bounds)])
    if step.network:
        facts.append("needs the network")
    if isinstance(step.needs, tuple):
        facts.append(f"needs {', '.join(step.needs) or 'no other step'}")
    about = f" ({'; '.join(facts)})" if facts else ""
    return f"{step.id} {step.description}{about}"


def _bounds(bounds: Bounds) -> str:
    parts = []
    if bounds.paths is not None:
        parts.append(f"only {', '.join(bounds.paths) or 'nothing'}")
    if bounds.commands is not None:
        parts.append(f"commands: {', '.join(bounds.commands) or 'none'}")
    for most, noun in ((bounds.max_files, "file"), (bounds.max_lines, "line")):
        if most is not None:
            parts.append(f"at most {counted(most, noun)}")
    if not bounds.deletes:
        parts.append("no deletions")
    return "; ".join(parts)


def print_validations(report: PlanReport) -> None:
    """Print each validation's last verdict, and how many fixes were tried for it."""
    budget = report.plan.budget
    last = last_verdicts(report)
    waived = report.plan.waived
    for validation in report.plan.validations:
        name, verdict = validation.name, last.get(validation.name)
        word, colour = ("not run", None)
        if verdict is not None:
            word, colour = ("passed", "green") if verdict.passed else ("failed", "red")
        facts = []
        if validation.mode == "informational":
            facts.append("informational")
            colour = "yellow" if colour == "red" else colour
        elif tried := budget.fixes.get(name):
            facts.append(f"{tried} of {budget.validation_retry_limit} retries used")
        if name in waived:
            facts.append(f"waived: {waived[name]}")
        if verdict is not None and verdict.known:
            facts.append(f"{len(verdict.known)} failed before the plan as well")
        if verdict is not None and verdict.wrote:
            what = "which stays" if _has_none(report) else "which was restored"
            facts.append(f"wrote {', '.join(verdict.wrote)}, {what}")
        about = f" ({', '.join(facts)})" if facts else ""
        echo(f"  {name}: {word}{about}", fg=colour)


def last_verdicts(report: PlanReport) -> dict[str, PlanVerdict]:
    """Return each validation's verdict on the current candidate, or else its last one."""
    # What was tried and not kept comes first, so that the rest prevails.
    attempts = sorted(report.attempts, key=lambda a: a.candidate == report.candidate)
    return {v.validation: v for attempt in attempts for v in attempt.verdicts}


def print_asked(report: PlanReport) -> None:
    """Print what a plan asks a person, if it does."""
    question = report.question or {}
    if question.get("approve") == "strategy":
        echo("  question: is this strategy right?")
    elif question.get("approve") == "revision":
        echo(f"  question: may this replace step {question['before']['id']}?")
        for depth, step in _steps(convert(question["steps"], list[Step])):
            echo(f"    {'  ' * depth}{_step(step)}")
    elif question.get("approve") == "edits":
        what = question["more"] or f"{', '.join(question['outside'])}, not allowed by the strategy"
        echo(f"  question: is this edit of the sandbox allowed? {what}")
        echo("  `yes` approves it; any other answer validates the sandbox again")
    elif question.get("guide"):
        echo(f"  needs guidance: no strategy was made: {question['why']}")
    elif question.get("why") == "unsure":
        echo(f"  {confidence_line(report)}")
        echo("  question: is this fix right? `yes` continues with it, `no` undoes the step")
    elif question.get("undone"):
        echo(f"  question: step {question['undone']} is undone; what should the plan do instead?")
    elif wanted_by(report.question) is Wanted.APPROVAL:
        echo("  question: may the plan do this? `yes` approves exactly this")
    elif wanted_by(report.question) is Wanted.GUIDANCE:
        where = "where they are" if _has_none(report) else "in the sandbox"
        echo(f"  needs guidance; you can also edit the files {where}")
    if report.needed and question:
        echo(f"  needed but not allowed: {', '.join(report.needed)}")


def print_next(report: PlanReport) -> None:
    """Print why it was not applied, its sandbox, and the commands to go on with."""
    if report.refused and not report.applied:
        echo(f"  {not_applied(report.refused)}")
    if report.sandbox:
        name = "no sandbox: it works on" if _has_none(report) else "sandbox:"
        echo(f"  {name} {report.sandbox}")
    for label, command in zip(
        chain(["next"], repeat("  or")), next_commands(report, bool(report.driven)), strict=False
    ):
        echo(f"  {label}: {command}")


def not_applied(why: str) -> str:
    """Return a sentence on why a plan was not applied."""
    return why if why.startswith("not applied") else f"not applied: {why}"


# -- what has happened --------------------------------------------------------------------------


def print_history(report: PlanReport) -> None:
    """Print the plan's history: strategies, steps, validations, fixes, answers."""
    plan = report.plan
    echo(f"instruction: {plan.instruction}")
    for made in plan.strategies:
        _print_strategizing(made)
    for amended in plan.amendments:
        said = f' ("{amended.text}")' if amended.text else ""
        echo(f"changed by a person: {'; '.join(amended.what) or 'guidance'}{said}")
    for result in plan.deeds:
        _print_result(result)
    for attempt in report.attempts:
        _print_attempt(attempt)
    for fix in plan.metadata.validation_fix_history:
        _print_fix_result(fix)
    for rejected in report.rejected[-1:]:
        # Who else could have been asked, and why they were not.
        print_fix(replace(rejected.fix, parts=()))
    for asked in report.questions or ():
        _print_answered(asked)


def _print_strategizing(made: Strategizing) -> None:
    what = f"step {made.step} revised" if made.step else "strategy"
    as_said = ", as a person asked" if made.told else ""
    failed = f": failed: {made.failure}" if made.failure else ""
    is_said = made.description and made.description != made.by and not failed
    about = f": {made.description}" if is_said else ""
    echo(f"{what} by {made.by}{as_said}{about}{failed}", bold=True)
    if made.needed:
        echo(f"  needed: {', '.join(made.needed)}")
    for finding in made.findings:
        echo(f"  because: {finding.strip().splitlines()[0] if finding else ''}")


def _print_result(result: StepResult) -> None:
    what = result.refused or f"changed {', '.join(result.files) or 'nothing'}"
    dropped = "all its edits were dropped: "
    kept = dropped if result.refused else "undone: " if result.undone else ""
    ignored = f"; git ignores {', '.join(result.ignored)}" if result.ignored else ""
    echo(f"step {result.step} by {result.actor}: {kept}{what}{ignored}")


def _print_attempt(attempt: PlanAttempt) -> None:
    where = f"step {attempt.step}" if attempt.step else "the whole"
    again = " again" if attempt.fix else ""
    # A step that could not be done has nothing to validate.
    is_refused = [verdict.validation for verdict in attempt.verdicts] == [STEP]
    echo(f"{where} {'refused' if is_refused else 'validated'}{again}", bold=True)
    for verdict in attempt.verdicts:
        print_verdict(verdict.validation, verdict)
        if not verdict.passed and verdict.data:
            echo(f"    data: {_data(verdict.data)}")
    if attempt.diagnosis:
        echo(f"  diagnosis: {attempt.diagnosis}")


def _data(data: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in data.items() if value not in ([], None))


def _print_fix_result(fix: FixEntry) -> None:
    files = ", ".join(fix.files or fix.outside) or "nothing"
    result = fix.result.replace("_", " ")
    by = fix.fixer or "nobody"
    echo(f"fix for {fix.validation} by {by}: {result} ({files})", bold=True)
    if fix.diff:
        print_diff(fix.diff)


def _print_answered(asked: QuestionReport) -> None:
    said = asked.answer
    text = said.get("text") if isinstance(said, dict) else said
    if isinstance(said, dict) and said.get("expired"):
        text = "nobody answered in time"
    allowed = said.get("allow") if isinstance(said, dict) else None
    more = f" (allowed: {', '.join(allowed)})" if allowed else ""
    answer = f"{text}{more}" if asked.answered else "not answered yet"
    echo(f"asked ({asked.wanted}): {answer}")


# -- patches ------------------------------------------------------------------------------------


def patch_stat(diff: str) -> list[tuple[str, int, int]]:
    """The files of a patch, each with how many lines it adds and removes."""
    found: list[list[Any]] = []
    in_hunk = False
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            # Both names are the same, since nothing is renamed.
            names = line.removeprefix("diff --git ")
            found.append([_unquoted(names[: (len(names) - 1) // 2]).removeprefix("a/"), 0, 0])
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk and line[:1] in ("+", "-"):
            found[-1][1 if line[0] == "+" else 2] += 1
    return [(name, added, removed) for name, added, removed in found]


def _unquoted(name: str) -> str:
    """A name as git writes it in a patch: in quotes, with escapes, where it has odd characters."""
    if not name.startswith('"'):
        return name
    plain = name[1:-1].encode("utf-8", "surrogateescape")
    return plain.decode("unicode_escape").encode("latin-1").decode(errors="replace")
