"""Runs of workflows: how they are prepared, narrated and shown."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runtrue.cli.console import Styled, echo
from runtrue.cli.kinds import RunKind, Shown
from runtrue.cli.progress import Narrator
from runtrue.cli.values import print_value
from runtrue.flow import (
    Event,
    Journal,
    NodeFinished,
    NodeReplayed,
    NodeStarted,
    RunRow,
    Segment,
)
from runtrue.foreign_text import one_line
from runtrue.home import Home
from runtrue.loop import Finding
from runtrue.workflow import (
    CallReplayed,
    ItemFinished,
    NodeFailure,
    NodeHandled,
    NodeRetried,
    WorkflowReport,
    prepare_workflow,
    report_so_far,
)

_MOST_AVAILABLE, _LONGEST_SAID = 20, 200
_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "handled": ("!", "yellow")}


def print_finding(finding: Finding) -> None:
    """Print what was wrong at a node, and what there was instead, on stderr."""
    where = finding.location.symbol
    place = f"{where}: " if where else ""
    echo(f"{place}{finding.message}", err=True)
    if "status" in finding.data and finding.sample:
        echo(f"  output: {one_line(finding.sample, _LONGEST_SAID + 1)}", err=True)
    available = finding.available
    # Most messages name the nearest of what there is by themselves.
    if available and not set(available) & set(re.findall(r"[\w.-]+", finding.message)):
        more = len(available) - _MOST_AVAILABLE
        rest = f" … and {more} more" if more > 0 else ""
        names = ", ".join(available[:_MOST_AVAILABLE])
        echo(f"  available: {names}{rest}", err=True)


class WorkflowNarrator(Narrator):
    """One line for each node, with its time."""

    _began = 0.0
    #: The node whose work is done and whose outputs are still to be looked at, and its time.
    _done: tuple[str, float] | None = None
    #: The node whose failure the workflow handles.
    _handled: str | None = None
    #: Whether an earlier attempt has made the call that the node makes.
    _replayed = False

    def close(self) -> None:
        """Tell of the last node."""
        if self._done is not None:
            node, seconds = self._done
            mark, colour = _MARKS["handled" if node == self._handled else "passed"]
            how = "as before, not called again" if self._replayed else f"{seconds:.1f} s"
            self.display.line(f"  {mark} {node} ({how})", colour)
        self._done = self._handled = None
        self._replayed = False

    def __call__(self, event: Event) -> None:
        """Show a node's progress."""
        node = event.origin
        match event:
            case NodeStarted():
                self.close()
                self._began = time.monotonic()
                self.display.doing(node)
            case ItemFinished():
                self.display.doing(f"{node}: {event.done} of {event.of}")
            case NodeRetried():
                self.display.line(f"  {node}: failed, retrying: {event.error}", "yellow")
            case NodeHandled():
                self._handled = node
            case NodeFinished():
                self._done = node, time.monotonic() - self._began
            case NodeReplayed():
                self.display.line(f"  ✓ {node} (done before)", "dim")
            case CallReplayed():
                self._replayed = True
            case NodeFailure():
                if self._done is not None and self._done[0] == node:
                    # What it did is recorded, and what came of it is not what was assumed.
                    self._done = None
                self.close()
                self.display.line(f"  ✗ {node}", "red")

    def forget(self) -> None:
        """Drop the node whose work is done: what came of it is shown elsewhere."""
        self._done = None


class WorkflowKind(RunKind[WorkflowReport]):
    """Runs of workflows."""

    report_type = WorkflowReport
    narrator = WorkflowNarrator

    def prepare(
        self, run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool
    ) -> Segment:
        """The flow of a run."""
        return prepare_workflow(run, home, secrets)

    def report(self, journal: Journal, home: Home, run: RunRow) -> WorkflowReport:
        """The report of a run that is not over: its finished nodes, and what it stopped at.

        `cut_off` are nodes with side effects that may have happened: a person settles them.
        """
        cut_off = tuple(journal.begun(run.id))
        begun = cut_off[0] if cut_off else None
        return replace(report_so_far(journal, run), begun=begun, cut_off=cut_off)

    def print_report(
        self, report: WorkflowReport, *, asked: bool = False, shown: Shown = Shown.NOTHING
    ) -> None:
        """The result on stdout, so it can be piped; everything about the run on stderr."""
        status = report.status
        if status == "passed":
            print_value(report.result)
        for finding in report.findings:
            print_finding(finding)
        handled = [node for node in report.nodes if node.status == "handled"]
        colour = {"passed": "green", "running": "yellow"}.get(status, "red")
        head = Styled(status, fg="yellow" if handled and status == "passed" else colour, bold=True)
        finished = sum(node.status in ("passed", "handled") for node in report.nodes)
        echo(head, f": {finished} of {len(report.nodes)} nodes finished", err=True)
        for node in handled:
            echo(f"  {node.id} failed, and the run went on: {node.error}", err=True)
        is_interrupted = status == "running" and not report.driven
        if report.resumable or is_interrupted:
            begun = report.begun
            go_on = f"runtrue runs resume {report.run_id}"
            if not begun:
                echo(f"  continue: {go_on}", err=True)
                return
            named = shlex.quote(begun)
            for option, what in (
                ("--force", f"repeats {begun}"),
                (f"--done {named}", "it did happen"),
                (f"--skip {named}", "skip it"),
            ):
                echo(f"  continue: {go_on} {option} ({what})", err=True)
        elif status == "failed":
            echo("  fix the workflow file and rerun; runtrue did not change it", err=True)

    def print_details(self, report: WorkflowReport) -> None:
        """Every node and how it ended."""
        for node in report.nodes:
            mark, colour = _MARKS.get(node.status, ("·", "bright_black"))
            error = f"  {node.error}" if node.error else ""
            echo(f"  {mark} {node.id} ({node.type}){error}", fg=colour)
