"""Runs with `--each`: a parent run that has a child run for each line of a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import click
import msgspec
from msgspec import UNSET, UnsetType

from runtrue.cli.console import Styled, echo, echo_json
from runtrue.cli.kinds import RunKind, Shown, kind_named, kind_of
from runtrue.cli.progress import Display, Narrator
from runtrue.cli.show import counted
from runtrue.errors import ChildrenFailed, RunWaiting
from runtrue.flow import (
    ChildDrive,
    ChildRow,
    Emitter,
    Event,
    Journal,
    Listener,
    NewRun,
    Outcome,
    Run,
    RunRow,
    RunState,
    Segment,
    bound_emit,
    drive_children,
)
from runtrue.foreign_text import cut
from runtrue.home import Home
from runtrue.loop import Finding
from runtrue.typed_data import convert

KIND = "each"
#: Where the context of a command says that results are printed as they come.
RESULTS = "runtrue.results"
_MARKS = {"passed": ("✓", "green"), "waiting": ("?", "yellow"), "running": ("·", "bright_black")}
#: How many children that did not pass the end of a run names.
_MOST_NAMED = 10
#: How many characters of a result a line on a terminal shows.
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedItem:
    """A line of the file that no run could be made of, and why."""

    label: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EachRequest:
    """What a parent run was asked to do, as it is recorded."""

    #: The kind of the children.
    of: str
    concurrency: int
    directory: str
    #: The lines that no run could be made of, and why.
    refused: tuple[RefusedItem, ...] = ()
    #: The children are on this queue; without one, this process drives them.
    queue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EachItem:
    """One child, as the report of its parent shows it."""

    n: int
    run_id: str
    label: str
    status: str
    error: str | None = None
    #: True if it failed and `runs resume` of the parent goes on with it.
    resumable: bool = False
    #: The outputs of a workflow that passed.
    result: dict[str, Any] | UnsetType = UNSET
    #: The patch of a fix, as a file and as text.
    patch: str | UnsetType | None = UNSET
    why: str | UnsetType | None = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class EachReport:
    """The report of a parent run: how many children are in which state, and each of them."""

    status: str
    run_id: str
    kind: str = KIND
    of: str = ""
    total: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    items: tuple[EachItem, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    attempts: tuple[()] = ()
    findings: tuple[Finding, ...] = ()
    isolation: None = None
    interrupted: bool | UnsetType = UNSET
    driven: bool | UnsetType = UNSET


class ChildBegun(Event):
    """A child run begins, or goes on."""

    recorded = False

    n: int
    label: str


class ChildStopped(Event):
    """A child run has ended, failed, or waits for a person."""

    recorded = False

    item: EachItem
    done: int
    total: int


class ChildDoing(Event):
    """What a child run is doing right now."""

    recorded = False

    n: int
    text: str


def start_each(
    journal: Journal, request: EachRequest, title: str, children: Iterable[tuple[str, NewRun]]
) -> str:
    """Record a parent run with its children, for a dispatcher to run."""
    data = msgspec.to_builtins(request)
    return journal.create_parent(NewRun(kind=KIND, title=title, input=data), children)


def request_of(run: RunRow) -> EachRequest:
    """Return what a parent run was asked to do."""
    return convert(run.input, EachRequest)


def item_of(child: ChildRow, run: RunRow) -> EachItem:
    """Return one child as its parent's report shows it."""
    resumable = run.state is RunState.FAILED and not run.is_over
    item = EachItem(
        n=child.n,
        run_id=run.id,
        label=child.label,
        status=run.state,
        error=run.error,
        resumable=resumable,
    )
    result = run.result
    if result is None:
        return item
    if run.kind == "workflow":
        passed = run.state is RunState.PASSED
        return replace(
            item, error=result.get("error"), result=result["result"] if passed else UNSET
        )
    return replace(item, why=result.get("why"), patch=result.get("patch"))


class EachNarrator(Narrator):
    """A row for each child that is being driven, and a line for each that has stopped."""

    def __init__(self, display: Display) -> None:
        super().__init__(display)
        context = click.get_current_context(silent=True)
        wanted = bool(context and context.meta.get(RESULTS))
        # On a terminal they are in the lines.
        self._prints_results = wanted and not sys.stdout.isatty()

    def __call__(self, event: Event) -> None:
        """Show what becomes of the children."""
        match event:
            case ChildBegun():
                self.display.begin_row(event.n, event.label)
            case ChildDoing():
                self.display.update_row(event.n, event.text)
            case ChildStopped(item=item):
                self.display.end_row(item.n)
                self.display.doing(f"{event.done} of {event.total} done")
                mark, colour = _MARKS.get(item.status, ("✗", "red"))
                self.display.line(
                    f"  {mark} {event.done}/{event.total} {item.label}: {_said(item)}", colour
                )
                if self._prints_results:
                    echo_json(msgspec.json.encode(item).decode())


def _said(item: EachItem) -> str:
    if item.status == RunState.WAITING:
        return f"waiting: runtrue runs show {item.run_id}"
    if item.result is not UNSET and sys.stdout.isatty():
        return cut(msgspec.json.encode(item.result).decode(), _LONGEST)
    if item.patch not in (None, UNSET):
        return f"{item.status}; apply it: runtrue runs apply {item.run_id}"
    why = item.error or (item.why if item.why not in (UNSET, item.status) else None)
    return f"{item.status}: {why}" if why else item.status


class _Row(Display):
    """Where a child's own narrator shows progress: in the row of the child."""

    def __init__(self, child: ChildRow, emit: Emitter) -> None:
        self._child = child
        self._emit = emit

    def doing(self, text: str) -> None:
        self._emit(ChildDoing(n=self._child.n, text=f"{self._child.label}: {text}"))

    still = doing


class EachKind(RunKind[EachReport]):
    """Runs with a child for each line of a file."""

    report_type = EachReport
    narrator = EachNarrator
    is_derived = True

    def prepare(
        self, run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool
    ) -> Segment:
        """Return the work of a parent: to drive its children, unless workers do, and to count."""
        request = request_of(run)

        async def work(recorded: Run) -> Outcome:
            with Journal(home.journal) as journal:
                children = journal.children(run.id)
            if request.queue is None:
                left = [child for child in children if not child.is_over]
                await drive_children(_drive(request, children, home, secrets, force=force), left)
            with Journal(home.journal) as journal:
                report = self.report(journal, home, run)
            return ended(report), replace(report, items=())

        return Segment(work)

    def report(self, journal: Journal, home: Home, run: RunRow) -> EachReport:
        """Return the report of a parent, which is made of its children whenever it is looked at."""
        request = request_of(run)
        children = journal.children(run.id)
        rows = {row.id: row for row in journal.runs(of=run.id, limit=None)}
        items = (
            *(item_of(child, rows[child.run_id]) for child in children if child.run_id in rows),
            *_refused(request, len(children)),
        )
        counts: dict[str, int] = {}
        for item in items:
            counts[item.status] = counts.get(item.status, 0) + 1
        end = run.ended_at or time.time()
        return EachReport(
            status=run.state if run.is_over else _status(counts),
            run_id=run.id,
            of=request.of,
            total=len(items),
            counts=counts,
            items=items,
            error=run.error,
            seconds=round(end - run.created_at, 3),
        )

    def news(self, journal: Journal, run: RunRow) -> Callable[[], Iterable[Event]]:
        """Return what yields which children have begun and stopped since the last time."""
        begun: set[int] = set()
        stopped: set[int] = set()

        def events() -> Iterator[Event]:
            children = journal.children(run.id)
            for child in children:
                if child.owner is not None and child.n not in begun:
                    begun.add(child.n)
                    yield ChildBegun(n=child.n, label=child.label)
            for child in children:
                if child.is_stopped and child.n not in stopped:
                    stopped.add(child.n)
                    item = item_of(child, journal.find(child.run_id))
                    yield ChildStopped(item=item, done=len(stopped), total=len(children))

        return events

    def is_stopped(self, journal: Journal, run: RunRow) -> bool:
        """True if the parent has ended, or all that is left of it waits for people."""
        if run.is_over or run.state is not RunState.RUNNING:
            return True
        states = {child.state for child in journal.children(run.id)}
        return RunState.WAITING in states and RunState.RUNNING not in states

    def exit_code(self, run: RunRow, report: EachReport) -> int:
        """Return 0 if all passed, 3 if the rest waits for a person, else 1."""
        return {"passed": 0, "waiting": 3}.get(report.status, 1)

    def print_report(
        self, report: EachReport, *, asked: bool = False, shown: Shown = Shown.NOTHING
    ) -> None:
        """Print how many children passed, and which did not."""
        colour = {"passed": "green", "running": "yellow", "waiting": "yellow"}
        head = Styled(report.status, fg=colour.get(report.status, "red"), bold=True)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(report.counts.items()))
        echo(head, f": {counts or 'nothing to do'} ({report.seconds:.1f} s)", err=True)
        if shown is not Shown.DETAILS:
            other = [item for item in report.items if item.status not in ("passed", "running")]
            for item in other[:_MOST_NAMED]:
                echo(f"  {item.run_id or '-':<8}  {item.label}: {_said(item)}", err=True)
            if len(other) > _MOST_NAMED:
                echo(
                    f"  … and {len(other) - _MOST_NAMED} more: runtrue runs show {report.run_id}",
                    err=True,
                )
        is_left = report.status == "running" or any(item.resumable for item in report.items)
        if is_left and report.driven is not True:
            echo(f"  continue the rest: runtrue runs resume {report.run_id}", err=True)

    def print_details(self, report: EachReport) -> None:
        """Print a line for each child."""
        for item in report.items:
            mark, colour = _MARKS.get(item.status, ("✗", "red"))
            echo(
                f"  {mark} {item.n}  {item.run_id or '-':<8}  {item.label}: {_said(item)}",
                fg=colour,
            )


def ended(report: EachReport) -> RunState:
    """Return the state that a parent ends in. Raises if it cannot end, or can be resumed."""
    states = set(report.counts)
    if RunState.RUNNING in states:
        left = report.counts[RunState.RUNNING]
        raise RunWaiting(
            f"{counted(left, 'run')} of {report.total} continue elsewhere; "
            f"`runtrue runs show {report.run_id}` shows their progress"
        )
    if RunState.WAITING in states:
        waiting = report.counts[RunState.WAITING]
        raise RunWaiting(
            f"{counted(waiting, 'run')} of {report.total} wait for an answer: answer each with "
            f"`runtrue runs resume ID`, then run `runtrue runs resume {report.run_id}`"
        )
    bad = report.total - report.counts.get(RunState.PASSED, 0)
    if any(item.resumable for item in report.items):
        raise ChildrenFailed(f"{counted(bad, 'run')} of {report.total} did not pass")
    return RunState.FAILED if bad else RunState.PASSED


def _status(counts: Mapping[str, int]) -> RunState:
    """Return the state of a parent by those of its children."""
    for state in (RunState.RUNNING, RunState.WAITING):
        if state in counts:
            return state
    return RunState.PASSED if counts.keys() <= {RunState.PASSED} else RunState.FAILED


def _refused(request: EachRequest, before: int) -> Iterator[EachItem]:
    for n, one in enumerate(request.refused, before + 1):
        yield EachItem(n=n, run_id="", label=one.label, status="refused", error=one.why)


def _drive(
    request: EachRequest,
    children: list[ChildRow],
    home: Home,
    secrets: Mapping[str, Any],
    *,
    force: bool,
) -> ChildDrive:
    emit = bound_emit()
    done = sum(child.is_over for child in children)
    total = len(children)
    common = {name: value for name, value in secrets.items() if not isinstance(value, Mapping)}

    def prepare(run: RunRow) -> Segment:
        given = secrets.get(run.id)
        own = given if isinstance(given, Mapping) else {}
        return kind_of(run).prepare(run, home, {**common, **own}, force=force)

    def begins(child: ChildRow) -> Iterable[Listener]:
        emit(ChildBegun(n=child.n, label=child.label))
        return [kind_named(request.of).narrator(_Row(child, emit))]

    def stopped(child: ChildRow, run: RunRow) -> None:
        nonlocal done
        done += 1
        emit(ChildStopped(item=item_of(child, run), done=done, total=total))

    return ChildDrive(
        location=home.journal,
        prepare=prepare,
        concurrency=request.concurrency,
        begins=begins,
        stopped=stopped,
        force=force,
    )
