"""Showing things to people: plain text, coloured only on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from runtrue.cli.console import echo, echo_document, echo_json, write_bytes
from runtrue.errors import Problem, UsageError
from runtrue.foreign_text import visible_name

if TYPE_CHECKING:
    from runtrue.loop import Finding


_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def counted(number: int, noun: str) -> str:
    """`1 finding`, `2 findings`."""
    ending = "es" if noun.endswith(("x", "s")) else "s"
    return f"{number} {noun}{'' if number == 1 else ending}"


def ago(when: float) -> str:
    """Return how long ago it was: `2 minutes ago`."""
    seconds = time.time() - when
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{counted(int(seconds // size), unit)} ago"
    return "just now"


def finding_line(finding: Finding, *, with_source: bool = True) -> str:
    """Return a finding as one line."""
    location = finding.location
    places = [str(part) for part in (location.file, location.line, location.column) if part]
    where = visible_name(":".join(places))
    symbol = visible_name(location.symbol or "")
    named = f" [{symbol}]" if symbol and symbol != finding.source else ""
    message = finding.message.strip().splitlines() or [""]
    source = f"{finding.source}: " if with_source else ""
    place = f"{where}: " if where else ""
    text = message[0].rstrip()
    if text.endswith(":"):
        # What was expected and what came comes below it.
        text = " ".join([text, *(line.strip() for line in message[1:] if line.strip())][:3])
    said = f": {text[:160]}" if text else ""
    return f"{source}{place}{finding.category}{said}{named}"


def is_terminal() -> bool:
    """Return whether there is a person at the terminal who can be asked."""
    # Either is None if it was closed when the program began.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def print_json(document: Any) -> None:
    """Print one JSON document on stdout."""
    import msgspec

    echo_json(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def print_document(report: Any) -> None:
    """Print a report on stdout in the format that `--output` names, or else as JSON."""
    from runtrue.cli.options import OUTPUT

    context = click.get_current_context(silent=True)
    form = context.meta.get(OUTPUT) if context else None
    if form in (None, "json"):
        print_json(report)
        return
    from runtrue.cli.report_formats import Outcomes, OutputFormat, render
    from runtrue.code import CodeReport

    if not isinstance(report, CodeReport):
        raise UsageError(
            f"--output {form} is for runs of fix, code and gate; use --json for this one"
        )
    echo_document(render(Outcomes.of(report), OutputFormat(form)))


def write_patch(patch: str) -> None:
    """Print a patch: as it is into a pipe or a file, so `git apply` takes it."""
    if sys.stdout.isatty():
        print_diff(patch)
    else:
        write_bytes(patch.encode("utf-8", "surrogateescape"))


def print_diff(diff: str) -> None:
    """Print a patch for people, coloured on a terminal; nothing in it stays unseen."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    # Not splitlines: it also divides at characters that divide no line of a file.
    for line in diff.removesuffix("\n").split("\n"):
        is_header = line.startswith(("+++", "---", "diff ", "index "))
        echo(line, fg=None if is_header else colours.get(line[:1]), bold=is_header, as_is=True)


def print_part(title: str, lines: list[str]) -> None:
    """Print a titled list, or nothing."""
    if lines:
        echo(title, bold=True)
        for line in lines:
            echo(f"  {line}")


def problem_as_finding(workflow: str, problem: Problem) -> dict[str, Any]:
    """Return a problem of a workflow in the form of all other findings."""
    return {
        "source": "check",
        "category": "invalid_workflow",
        "message": problem.message,
        "fault": "candidate",
        "location": {"file": workflow, "line": problem.line, "column": None, "symbol": None},
        "pointer": problem.pointer,
        "available": list(problem.available),
    }
