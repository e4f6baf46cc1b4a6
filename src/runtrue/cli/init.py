"""`runtrue init`."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtrue.cli import options
from runtrue.cli.console import ask_text, confirm, echo
from runtrue.cli.show import is_terminal
from runtrue.errors import UsageError
from runtrue.foreign_text import visible_name

if TYPE_CHECKING:
    from runtrue.checks import Detected

_FILE = "runtrue.toml"
_HEAD = """\
# How runtrue checks this project, as `runtrue init` found it. Correct what is wrong: with this
# file, runtrue looks for no other checks. Without it, it looks for them on every run.
"""
_SCHEMA = "runtrue.schema.json"
_HAS_SCHEMA = f"#:schema ./{_SCHEMA}\n"
_NO_SCHEMA = "# `runtrue init --schema` writes the JSON Schema of this file too, for your editor.\n"
_MORE = """
# Every check can also have: mode = "informational" (never blocks), timeout = 120 (seconds),
# fix = "COMMAND" (repairs what it finds), directory, env.

# What runtrue may try when a check fails, cheapest first.
# [fixers]
# order = ["memory", "tool", "search", "model", "agent"]

# A coding agent, for what tools and search cannot fix. It runs in the sandbox.
# [fixers.agent]
# command = "claude -p --permission-mode acceptEdits"
# env = ["ANTHROPIC_API_KEY"]
"""
_NO_MODEL = """
# A language model, for what tools and search cannot fix. RUNTRUE_MODEL overrides it.
# [model]
# name = "openai:some-model"
"""
#: Coding agents, each with what shows that this project or machine has it.
_AGENTS = {
    "claude-code": ("claude", ".claude"),
    "codex": ("codex", ".codex"),
    "copilot": ("copilot", ".github/copilot-instructions.md"),
    "cursor": ("cursor-agent", ".cursor"),
    "gemini": ("gemini", ".gemini"),
}
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, readable=False))
@click.option("--print", "only_print", is_flag=True, help="Print the file instead of writing it.")
@click.option("--force", is_flag=True, help="Replace an existing runtrue.toml.")
@click.option("--schema", is_flag=True, help=f"Write {_SCHEMA} too, and name it for editors.")
@options.as_json
def init(path: Path, only_print: bool, force: bool, schema: bool, as_json: bool) -> int:
    """Find the project's checks and write them to runtrue.toml.

    Reads how the project runs its tests (tox, nox, scripts, Makefile, CI files, package.json, …)
    and runs nothing. Each check is written with the reason for it; correct what is wrong. On a
    terminal, init then offers a language model, hooks for your agents and git, and asks whether
    you trust what the project brings along.

    \b
    Exit codes: 0 written, 1 no check found, 2 bad input, or the file exists.

    \b
    Examples:
      runtrue init
      runtrue init --print
      runtrue init packages/api --force
      runtrue init --schema
    """
    from runtrue.atomic_file import write_atomically
    from runtrue.checks import detect_checks
    from runtrue.cli.project import find_project

    project = find_project(path)
    if not only_print:
        _refuse_to_overwrite(project, force)
    found = detect_checks(project)
    model = _ask_model() if found and not (only_print or as_json) and is_terminal() else None
    head = _HAS_SCHEMA + _HEAD if schema else _HEAD + _NO_SCHEMA
    text = "".join([head, *map(_table, found), _MORE, _model_table(model)])
    is_written = bool(found) and not only_print
    if is_written:
        write_atomically(project / _FILE, text.encode(), mode=0o644)
        if schema:
            _write_schema(project)
    if as_json:
        _print_document(project, found, text, is_written)
    elif not found:
        echo(
            f"No check found in {project}. Write {_FILE} yourself:\n"
            '[checks.tests]\ncommand = "COMMAND THAT RUNS YOUR TESTS"'
        )
    elif only_print:
        echo(text, nl=False, as_is=True)
    else:
        echo(f"wrote {project / _FILE}")
        for one in found:
            echo(f"  {one.check.name}: {one.check.line} ({one.because})")
        _set_up(project)
    return 0 if found else 1


def _write_schema(project: Path) -> None:
    from runtrue.atomic_file import write_atomically
    from runtrue.cli.file_schemas import file_schema

    text = json.dumps(file_schema(_FILE), indent=2, ensure_ascii=False) + "\n"
    write_atomically(project / _SCHEMA, text.encode(), mode=0o644)


def _ask_model() -> str | None:
    """Ask for a language model, unless the environment names one."""
    if os.environ.get("RUNTRUE_MODEL"):
        return None
    return ask_text("A language model (provider:model; empty for none)") or None


def _model_table(model: str | None) -> str:
    return _NO_MODEL if model is None else f"\n[model]\nname = {_string(model)}\n"


def _set_up(project: Path) -> None:
    """Offer hooks and trust on a terminal, and say what comes next."""
    from runtrue.cli.hook_commands import arrange
    from runtrue.cli.hooks import HOOKS
    from runtrue.cli.trust import confirm_trust
    from runtrue.sandbox import repository_of

    hosts = [host for host, signs in _AGENTS.items() if _is_used(project, *signs)]
    if repository_of(project) is not None:
        hosts.append("git")
        hosts = [host for host in hosts if HOOKS[host].installed(project) is None]
    else:
        hosts = []  # the gate compares with git
    if is_terminal():
        for host in hosts:
            if confirm(f"Hold {host} back until a change is tested (a hook in this project)?"):
                arrange(project, host, remove=False, as_json=False)
        confirm_trust(project, servers=True)
        hosts = []
    echo("Next: correct the file where it is wrong, then run `runtrue fix`.")
    if hosts:
        echo(f"To gate changes: runtrue hooks install {hosts[0]}")


def _is_used(project: Path, program: str, file: str) -> bool:
    return shutil.which(program) is not None or (project / file).exists()


def _refuse_to_overwrite(project: Path, force: bool) -> None:
    if force:
        return
    # Also a link that leads nowhere: it would be replaced.
    if os.path.lexists(project / _FILE):
        raise UsageError(f"{project / _FILE} exists already; --force replaces it")
    from runtrue.settings_file import read_settings, subtable

    if "runtrue" in subtable(read_settings(project / "pyproject.toml"), "tool"):
        raise UsageError(
            f"{project / 'pyproject.toml'} has [tool.runtrue], which {_FILE} would override; "
            "--force writes it anyway, --print only shows what was found"
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
    because = visible_name(found.because)
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
