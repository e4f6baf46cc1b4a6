"""`runtrue init`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.errors import UsageError

if TYPE_CHECKING:
    from runtrue.checks import Detected

_FILE = "runtrue.toml"
_HEAD = """\
# How runtrue checks this project, as `runtrue init` found it. Correct what is wrong: what is in
# this file counts, and nothing else is looked for. Delete the file to have checks found each time.
"""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, readable=False))
@click.option("--print", "only_print", is_flag=True, help="Print the file, and write nothing.")
@click.option("--force", is_flag=True, help="Replace a runtrue.toml that is there.")
@options.as_json
def init(path: Path, only_print: bool, force: bool, as_json: bool) -> int:
    """Write the checks that were found to runtrue.toml, each with the reason for it.

    Reads how the project runs its tests (tox, nox, scripts, Makefile, CI files, package.json, …)
    and runs nothing. Correct the file by hand where it is wrong.

    \b
    Exit codes: 0 written, 1 no check was found, 2 bad input, or runtrue.toml is there already.

    \b
    Examples:
      runtrue init
      runtrue init --print
      runtrue init packages/api --force
    """
    from runtrue.atomic_file import write_atomically
    from runtrue.checks import detect_checks
    from runtrue.cli.project import find_project

    project = find_project(path)
    if not only_print:
        _refuse_to_overwrite(project, force)
    found = detect_checks(project)
    text = "".join([_HEAD, *map(_table, found)])
    is_written = bool(found) and not only_print
    if is_written:
        write_atomically(project / _FILE, text.encode(), mode=0o644)
    if as_json:
        _print_document(project, found, text, is_written)
    elif not found:
        echo(
            f"no check was found in {project}; write {_FILE} yourself:\n"
            '[checks.tests]\ncommand = "COMMAND THAT RUNS YOUR TESTS"'
        )
    elif only_print:
        echo(text, nl=False)
    else:
        echo(f"wrote {project / _FILE}")
        for one in found:
            echo(f"  {one.check.name}: {one.check.line} ({one.because})")
        echo("correct it where it is wrong, then: runtrue fix")
    return 0 if found else 1


def _refuse_to_overwrite(project: Path, force: bool) -> None:
    if force:
        return
    # Also a link that leads nowhere: it would be replaced.
    if os.path.lexists(project / _FILE):
        raise UsageError(f"{project / _FILE} is there already; replace it with --force")
    from runtrue.settings_file import read_settings, subtable

    if "runtrue" in subtable(read_settings(project / "pyproject.toml"), "tool"):
        raise UsageError(
            f"{project / 'pyproject.toml'} has [tool.runtrue], which {_FILE} would replace; "
            "write it all the same with --force, or see what is found with --print"
        )


def _print_document(project: Path, found: Sequence[Detected], text: str, is_written: bool) -> None:
    from runtrue.cli.show import print_json

    print_json(
        {
            "status": "passed" if found else "failed",
            "file": str(project / _FILE),
            "written": is_written,
            "checks": [
                {
                    "name": one.check.name,
                    "command": one.check.command,
                    "env": one.check.env,
                    "directory": one.check.directory,
                    "because": one.because,
                }
                for one in found
            ],
            "text": text if found else "",
        }
    )


def _table(found: Detected) -> str:
    """Return the table of a check, with a comment above each line."""
    return "\n".join(["", *_lines(found), ""])


def _lines(found: Detected) -> Iterator[str]:
    check = found.check
    because = "".join(one if one.isprintable() else "?" for one in found.because)
    where = because.partition(";")[0]
    yield f"[checks.{_key(check.name)}]"
    yield f"# {because}"
    yield f"command = {_string(check.command)}"
    if check.directory != ".":
        yield f"# where it runs: {where}"
        yield f"directory = {_string(check.directory)}"
    if check.env:
        yield f"[checks.{_key(check.name)}.env]"
    for name, value in check.env.items():
        yield f"# set by {where}"
        yield f"{_key(name)} = {_string(value)}"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    # TOML's strings are JSON's, but for one more character that is escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
