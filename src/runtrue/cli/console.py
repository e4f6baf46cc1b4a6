"""The console: the one door through which the command line shows anything to a person.

Whatever is shown passes through `visible`, so no text can steer a terminal or hide in it;
colours are added afterwards. Nothing else in this package prints: `tests/cli/test_console.py`.
"""

from __future__ import annotations

import errno
import io
import os
import select
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO

import click

from runtrue.cli.shared_options import color
from runtrue.foreign_text import visible, visible_json

_STDERR = 2
#: Milliseconds that a full pipe gets to be read before what is said there is dropped.
_PATIENCE = 1000
#: So many characters fit into a pipe that has room at all, in any encoding.
_PIECE = 1000


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


def open_closed_streams() -> None:
    """Open what the program was started without, as by `2>&-`, on the null device.

    Otherwise the next file would get its number, and what is meant for a person would go there.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(number)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # for good
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # for good


@contextmanager
def _outliving_reader(*, err: bool = False) -> Iterator[None]:
    """Go on where nobody reads any more: a closed pipe, a terminal that is gone.

    What cannot be written to stderr for other reasons is dropped, too; a result is not.
    """
    try:
        yield
    except OSError as error:
        if not err and error.errno not in (errno.EPIPE, errno.EIO):
            raise
        give_up(sys.stderr if err else sys.stdout)


class _Stderr:
    """Notices that nobody reads: a run must not wait forever for a pipe that stays full."""

    def __init__(self) -> None:
        self._patience = _PATIENCE

    def has_room(self) -> bool:
        """True if a piece can be written now; the first time, after some patience."""
        poll = select.poll()
        try:
            poll.register(sys.stderr.fileno(), select.POLLOUT)
        except (OSError, ValueError):
            return True  # no file: nothing can be full
        # A pipe that is closed is ready, too, and writing to it says so.
        ready = bool(poll.poll(self._patience))
        self._patience = _PATIENCE if ready else 0
        return ready


_stderr = _Stderr()


def give_up(stream: TextIO) -> None:
    """Let whatever is still to be written there, at the latest when Python ends, go nowhere."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def echo(
    *parts: str | Styled,
    err: bool = False,
    nl: bool = True,
    fg: str | None = None,
    bold: bool = False,
    as_is: bool = False,
) -> None:
    """Print a text, in one style or made of parts with their own, on stdout or stderr.

    On a terminal it is broken between words, unless `as_is`.
    """
    styled = (part if isinstance(part, Styled) else Styled(part, fg, bold) for part in parts)
    text = "".join(map(str, styled)) + "\n" * nl
    if not as_is:
        text = _fitted(text, sys.stderr if err else sys.stdout)
    with _outliving_reader(err=err):
        for start in range(0, len(text), _PIECE):
            if err and not _stderr.has_room():
                return
            click.echo(text[start : start + _PIECE], err=err, nl=False)


def _fitted(text: str, stream: TextIO) -> str:
    """Return a text for a stream: wrapped, if it is a terminal."""
    try:
        is_wide = not stream.isatty()
    except ValueError:  # closed
        is_wide = True
    if is_wide:
        return text
    from runtrue.cli.text_wrap import wrap

    return wrap(text, shutil.get_terminal_size().columns)


def streams_are_one() -> bool:
    """True if stdout and stderr go to the same place, so that a reader sees both."""
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):
        return False


def echo_json(text: str) -> None:
    """Print a JSON document on stdout; what cannot be seen in it becomes an escape of JSON."""
    with _outliving_reader():
        click.echo(visible_json(text))


def echo_document(text: str) -> None:
    """Print a document on stdout in which everything from outside is escaped already."""
    with _outliving_reader():
        click.echo(text)


def write_result(text: str) -> None:
    """Print a text that is itself the result: as it is into a pipe or a file."""
    with _outliving_reader():
        click.echo(visible(text) if sys.stdout.isatty() else text, nl=not text.endswith("\n"))


def write_bytes(data: bytes) -> None:
    """Write bytes to a pipe or a file, where a program reads them."""
    with _outliving_reader():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


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


def edit_text(text: str, suffix: str) -> str | None:
    """Return a text as the person left it in their editor; None if they changed nothing."""
    return click.edit(text, extension=suffix)


def ask_text(question: str) -> str:
    """Ask the person at the terminal for a line, which may be empty."""
    return str(click.prompt(visible(question), default="", show_default=False, err=True)).strip()


def ask_secret(question: str) -> str:
    """Ask the person at the terminal for something that is not shown."""
    return str(click.prompt(visible(question), hide_input=True, err=True))


def _rich_console(*, err: bool = False) -> Any:
    """Return rich's console, with colours as asked for by `--color`."""
    from rich.console import Console

    wanted = color()
    return Console(
        stderr=err,
        no_color=wanted is False,
        color_system="standard" if wanted else "auto",
        force_terminal=True if wanted else None,
    )


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Styled]],
    *,
    right: Sequence[str] = (),
    pad_edge: bool = True,
) -> None:
    """Print a table on a terminal; the columns in `right` end in line."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=pad_edge)
    for name in columns:
        table.add_column(Text(visible(name)), justify="right" if name in right else "left")
    for row in rows:
        cells = [cell if isinstance(cell, Styled) else Styled(cell) for cell in row]
        table.add_row(*(Text(visible(cell.text), style=cell.fg or "") for cell in cells))
    _rich_console().print(table)


class LiveLines:
    """Lines on a terminal, and below them what is going on right now, with its time."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)
        self._rows: dict[int, Any] = {}

    def line(self, text: str, style: str = "") -> None:
        """Print a line about something that has happened."""
        from runtrue.cli.text_wrap import wrap

        with _outliving_reader(err=True):
            console = self._progress.console
            console.print(
                wrap(visible(text), console.width),
                style=style or None,
                markup=False,
                highlight=False,
                soft_wrap=True,
            )

    def doing(self, text: str) -> None:
        """Set the text of the running task."""
        with _outliving_reader(err=True):
            self._progress.reset(self._task, description=visible(text, keep=""), total=None)

    def still(self, text: str) -> None:
        """Update the text of the running task."""
        with _outliving_reader(err=True):
            self._progress.update(self._task, description=visible(text, keep=""))

    def begin_row(self, row: int, text: str) -> None:
        """Show one of several tasks that run at once, with its own time."""
        with _outliving_reader(err=True):
            self.end_row(row)
            task = self._progress.add_task(f"  {visible(text, keep='')}", total=None)
            self._rows[row] = task

    def update_row(self, row: int, text: str) -> None:
        """Update the text of one of several tasks."""
        with _outliving_reader(err=True):
            if (task := self._rows.get(row)) is not None:
                self._progress.update(task, description=f"  {visible(text, keep='')}")

    def end_row(self, row: int) -> None:
        """Take a task away that runs no more."""
        with _outliving_reader(err=True):
            if (task := self._rows.pop(row, None)) is not None:
                self._progress.remove_task(task)


@contextmanager
def live_lines() -> Iterator[LiveLines]:
    """Show progress on stderr, which is a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=_rich_console(err=True), transient=True) as progress:
        yield LiveLines(progress)
