"""Showing things to people: plain text, coloured only on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from runtrue.errors import Problem

if TYPE_CHECKING:
    from runtrue.loop import Finding


def counted(number: int, noun: str) -> str:
    """`1 finding`, `2 findings`."""
    ending = "es" if noun.endswith(("x", "s")) else "s"
    return f"{number} {noun}{'' if number == 1 else ending}"


def finding_line(finding: Finding, *, with_source: bool = True) -> str:
    """Return a finding as one line."""
    location = finding.location
    places = [str(part) for part in (location.file, location.line, location.column) if part]
    where = ":".join(places)
    symbol = location.symbol or ""
    named = f" [{symbol}]" if symbol and symbol != finding.source else ""
    message = finding.message.strip().splitlines() or [""]
    source = f"{finding.source}: " if with_source else ""
    place = f"{where} " if where else ""
    return f"{source}{place}{finding.category} {message[0][:160]}{named}"


def printable(text: str) -> str:
    """Escape control characters, so that none of them reaches a terminal."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )


def is_terminal() -> bool:
    """Return whether there is a person at the terminal who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def print_json(document: Any) -> None:
    """Print one JSON document on stdout."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def print_diff(diff: str) -> None:
    """Print a patch, coloured on a terminal."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.splitlines():
        is_header = line.startswith(("+++", "---", "diff ", "index "))
        click.secho(line, fg=None if is_header else colours.get(line[:1]), bold=is_header)


def print_part(title: str, lines: list[str]) -> None:
    """Print a titled list, or nothing."""
    if lines:
        click.secho(title, bold=True)
        for line in lines:
            click.echo(f"  {line}")


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
