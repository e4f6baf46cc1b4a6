"""Progress of a run: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from runtrue.cli.console import LiveLines, echo, live_lines
from runtrue.cli.shared_options import verbosity
from runtrue.flow import Event


class Display:
    """Where progress is shown. This one shows nothing."""

    def line(self, text: str, style: str = "") -> None:
        """Print a line about something that has happened."""

    def doing(self, text: str) -> None:
        """Set the text of the running task."""

    def still(self, text: str) -> None:
        """Update the text of the running task."""

    def begin_row(self, row: int, text: str) -> None:
        """Show one of several tasks that run at once, below the others."""

    def update_row(self, row: int, text: str) -> None:
        """Update the text of one of several tasks."""

    def end_row(self, row: int) -> None:
        """Take a task away that runs no more."""


class Narrator:
    """Turns a run's events into sentences on a display."""

    def __init__(self, display: Display) -> None:
        self.display = display

    def __call__(self, event: Event) -> None:
        """Show an event, if there is anything to show."""

    def close(self) -> None:
        """Show what is still to be shown, since nothing more will come."""


@contextmanager
def open_display(*, plain: bool) -> Iterator[Display]:
    """A display on stderr: live on a terminal, unless `plain`; none with `--quiet`."""
    if verbosity() < 0:
        yield Display()
    elif sys.stderr.isatty() and not plain:
        with live_lines() as lines:
            yield _Live(lines)
    else:
        with closing(_Lines()) as display:
            yield display


class _Lines(Display):
    """Lines on stderr, each written when something has happened, or takes its time.

    A task that takes longer than `patience` seconds is named, and again after twice as long.
    """

    def __init__(self, patience: float = 10.0) -> None:
        self._patience = patience
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()
        self._text = ""

    def line(self, text: str, style: str = "") -> None:
        self.close()
        echo(text, err=True)

    def doing(self, text: str) -> None:
        self.close()
        self._text = text
        self._name_after(self._patience, passed=0.0)

    def still(self, text: str) -> None:
        self._text = text

    def _name_after(self, seconds: float, passed: float) -> None:
        def name() -> None:
            with self._lock:
                # The work may have ended while this thread was waking up.
                if self._timer is timer:
                    total = passed + seconds
                    echo(f"  {self._text}: still running after {total:.0f} s", err=True)
                    self._name_after(total, total)

        self._timer = timer = threading.Timer(seconds, name)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """End the running task."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None


class _Live(Display):
    """Lines on a terminal, and below them what is going on right now, with its time."""

    def __init__(self, lines: LiveLines) -> None:
        self._lines = lines

    def line(self, text: str, style: str = "") -> None:
        self._lines.line(text, style)

    def doing(self, text: str) -> None:
        self._lines.doing(text)

    def still(self, text: str) -> None:
        self._lines.still(text)

    def begin_row(self, row: int, text: str) -> None:
        self._lines.begin_row(row, text)

    def update_row(self, row: int, text: str) -> None:
        self._lines.update_row(row, text)

    def end_row(self, row: int) -> None:
        self._lines.end_row(row)
