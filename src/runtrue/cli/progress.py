"""Progress: what a run tells while it goes on. Live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import click

from runtrue.cli.show import counted, finding_line
from runtrue.flow import Event, Listener


@contextmanager
def open_progress(*, plain: bool) -> Iterator[Listener]:
    """A listener that shows a run's events on stderr: live on a terminal, unless `plain`."""
    if sys.stderr.isatty() and not plain:
        with _live() as display:
            yield _Narrator(display)
    else:
        with closing(_Plain()) as display:
            yield _Narrator(display)


class _Plain:
    """Lines on stderr, each written when something has happened, or takes its time.

    What takes longer than `patience` seconds is named; again when it has taken twice as long.
    """

    def __init__(self, patience: float = 10.0) -> None:
        self._patience = patience
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()

    def line(self, text: str, style: str = "") -> None:
        self.close()
        click.echo(text, err=True)

    def doing(self, text: str) -> None:
        self.close()
        self._name_after(self._patience, text, passed=0.0)

    def _name_after(self, seconds: float, text: str, passed: float) -> None:
        def name() -> None:
            with self._lock:
                # The work may have ended while this thread was waking up.
                if self._timer is timer:
                    total = passed + seconds
                    click.echo(f"  {text}: not done after {total:.0f} s", err=True)
                    self._name_after(total, text, total)

        self._timer = timer = threading.Timer(seconds, name)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Nothing is being done any more."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None


class _Live:
    """Lines on a terminal, and below them what is going on right now, with its time."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)

    def line(self, text: str, style: str = "") -> None:
        self._progress.console.print(text, style=style or None, markup=False, highlight=False)

    def doing(self, text: str) -> None:
        self._progress.reset(self._task, description=text, total=None)


@contextmanager
def _live() -> Iterator[_Live]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Live(progress)


def _amount(data: dict[str, Any]) -> str:
    """How much of a check failed: of its cases, where it has several, else its findings."""
    if data["cases"] > 1 and data["failed_cases"]:
        return f"{data['failed_cases']} of {data['cases']}"
    return counted(data["findings"], "finding")


class _Narrator:
    """Turns events into sentences."""

    def __init__(self, display: _Plain | _Live) -> None:
        self._display = display
        self._attempt = ""

    def __call__(self, event: Event) -> None:
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event.data, event.node)

    def _on_node_started(self, data: dict[str, Any], node: str) -> None:
        what = {"open": "making the sandbox", "settle": "settling", "apply": "applying"}
        if node in what:
            self._display.doing(what[node])

    def _on_attempt_started(self, data: dict[str, Any], node: str) -> None:
        self._attempt = f"attempt {data['number']} of {data['limit']}"
        self._display.line(self._attempt, "bold")

    def _on_check_started(self, data: dict[str, Any], node: str) -> None:
        self._display.doing(f"{self._attempt}: {data['check']}")

    def _on_check_finished(self, data: dict[str, Any], node: str) -> None:
        word, style = ("passed", "green") if data["passed"] else ("failed", "red")
        if not data["passed"] and data["mode"] == "informational":
            style = "yellow"
        facts = [] if data["passed"] else [_amount(data)]
        if data["mode"] == "informational":
            facts.append("informational")
        facts.append(f"{data['seconds']:.1f} s")
        self._display.line(f"  {data['check']}: {word} ({', '.join(facts)})", style)
        for finding in data["shown"]:
            self._display.line(f"    {finding_line(finding, with_source=False)}")
        more = data["findings"] - len(data["shown"])
        if more > 0:
            self._display.line(f"    … and {more} more", "dim")

    def _on_fixer_started(self, data: dict[str, Any], node: str) -> None:
        what = counted(data["findings"], "finding")
        self._display.doing(f"fixing {what}: {data['fixer']}")

    def _on_fixer_finished(self, data: dict[str, Any], node: str) -> None:
        if data["failure"]:
            text, style = f"failed itself: {data['failure']}", "red"
        elif data["files"]:
            text, style = f"changed {', '.join(data['files'])}", "cyan"
        else:
            text, style = "changed nothing", "yellow"
        if data["restored"]:
            text += f"; its edits to {', '.join(data['restored'])} were undone"
        self._display.line(f"fix by {data['fixer']}: {text}", style)
