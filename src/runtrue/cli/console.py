"""The console: the one door through which the command line shows anything to a person.

Whatever is shown passes through `visible`, so that no text can steer a terminal or hide in it;
colours are added afterwards. Nothing else in this package prints: `tests/cli/test_console.py`.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from runtrue.foreign_text import visible, visible_json


@dataclass(frozen=True, slots=True)
class Styled:
    """A text with the colour and weight that it has on a terminal."""

    text: str
    fg: str | None = None
    bold: bool = False

    def __str__(self) -> str:
        text = visible(self.text)
        is_plain = self.fg is None and not self.bold
        return text if is_plain else click.style(text, fg=self.fg, bold=self.bold or None)


def echo(
    *parts: str | Styled,
    err: bool = False,
    nl: bool = True,
    fg: str | None = None,
    bold: bool = False,
) -> None:
    """Print a text, in one style or made of parts with their own, on stdout or stderr."""
    styled = (part if isinstance(part, Styled) else Styled(part, fg, bold) for part in parts)
    click.echo("".join(map(str, styled)), err=err, nl=nl)


def echo_json(text: str) -> None:
    """Print a JSON document on stdout; what cannot be seen in it becomes an escape of JSON."""
    click.echo(visible_json(text))


def write_result(text: str) -> None:
    """Print a text that is itself the result: as it is into a pipe or a file."""
    click.echo(visible(text) if sys.stdout.isatty() else text, nl=not text.endswith("\n"))


def write_bytes(data: bytes) -> None:
    """Write bytes to a pipe or a file, where a program reads them."""
    sys.stdout.buffer.write(data)


def show_usage_error(error: click.ClickException) -> None:
    """Print what click says about a command line."""
    said = io.StringIO()
    error.show(said)
    echo(said.getvalue(), err=True, nl=False)


def confirm(question: str, *, default: bool = False, abort: bool = False) -> bool:
    """Ask the person at the terminal for a yes or no."""
    return click.confirm(visible(question), default=default, abort=abort, err=True)


def choose(question: str, choices: Sequence[str], *, default: str) -> str:
    """Ask the person at the terminal for one of some words."""
    return str(
        click.prompt(visible(question), type=click.Choice(choices), default=default, err=True)
    )


def ask_secret(question: str) -> str:
    """Ask the person at the terminal for something that is not shown."""
    return str(click.prompt(visible(question), hide_input=True, err=True))


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Styled]],
    *,
    right: Sequence[str] = (),
    pad_edge: bool = True,
) -> None:
    """Print a table on a terminal; the columns in `right` end in line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=pad_edge)
    for name in columns:
        table.add_column(Text(visible(name)), justify="right" if name in right else "left")
    for row in rows:
        cells = [cell if isinstance(cell, Styled) else Styled(cell) for cell in row]
        table.add_row(*(Text(visible(cell.text), style=cell.fg or "") for cell in cells))
    Console().print(table)


class LiveLines:
    """Lines on a terminal, and below them what is going on right now, with its time."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)

    def line(self, text: str, style: str = "") -> None:
        """Print a line about something that has happened."""
        self._progress.console.print(
            visible(text), style=style or None, markup=False, highlight=False
        )

    def doing(self, text: str) -> None:
        """Set the text of the running task."""
        self._progress.reset(self._task, description=visible(text, keep=""), total=None)

    def still(self, text: str) -> None:
        """Update the text of the running task."""
        self._progress.update(self._task, description=visible(text, keep=""))


@contextmanager
def live_lines() -> Iterator[LiveLines]:
    """Show progress on stderr, which is a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield LiveLines(progress)
