"""`runtrue doctor`: what is available here, and what is not."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from runtrue import __version__
from runtrue.checks import detect_checks
from runtrue.cli.show import print_json
from runtrue.config import load_config
from runtrue.errors import RuntrueError
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.memory import DebugMemory
from runtrue.models import model_name, open_model
from runtrue.sandbox import repository_of, search_path
from runtrue.workflow import Registry

_LITTLE_SPACE = 200 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was looked at. `needed` facts that are not `ok` make runtrue useless here."""

    name: str
    ok: bool
    detail: str
    needed: bool = False


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def doctor(path: Path, as_json: bool) -> int:
    """Tell what is available here and what is not.

    Exits with 1 when something is missing without which nothing works.
    """
    facts = list(_facts(path.resolve()))
    healthy = all(fact.ok for fact in facts if fact.needed)
    if as_json:
        document = {
            "status": "passed" if healthy else "failed",
            "facts": [asdict(f) for f in facts],
        }
        print_json(document)
    else:
        for fact in facts:
            word, colour = (
                ("ok", "green") if fact.ok else ("no", "red" if fact.needed else "yellow")
            )
            click.echo(f"{click.style(f'{word:>3}', fg=colour)}  {fact.name:<10} {fact.detail}")
    return 0 if healthy else 1


def _facts(project: Path) -> Iterator[Fact]:
    python = f"{platform.python_version()} at {sys.executable}"
    yield Fact("runtrue", True, f"{__version__}, Python {python}")
    yield _git()
    yield _home(Home.find(project))
    yield _sandbox(project)
    yield Fact(
        "isolation",
        False,
        "commands run as you, in a sandbox directory with an allow-listed environment and time "
        "limits; nothing confines what they read, write or connect to",
    )
    path = search_path(project, os.environ.get("PATH", os.defpath))
    for tool in ("pytest", "ruff", "mypy"):
        yield _tool(tool, path)
    yield _scanner(project, path)
    yield _memory(Home.find(project))
    yield _model(project)
    yield _servers(project)
    yield from _project(project)


def _git() -> Fact:
    found = shutil.which("git")
    if found is None:
        return Fact("git", False, "not found; install it: candidates are kept with it", needed=True)
    return Fact("git", True, f"{_version([found, '--version'])} at {found}", needed=True)


def _home(home: Home) -> Fact:
    if not home.journal.exists():
        existing = next(place for place in home.journal.parents if place.exists())
        writable = existing.is_dir() and os.access(existing, os.W_OK)
        detail = f"{home.journal} will be made by the first run"
        refused = f"{existing} is not a directory that can be written; set RUNTRUE_HOME"
        return Fact("journal", writable, detail if writable else refused, needed=True)
    try:
        with Journal(home.journal) as journal:
            count = len(journal.runs(limit=1000))
    except RuntrueError as error:
        return Fact("journal", False, str(error), needed=True)
    free = shutil.disk_usage(home.path).free
    detail = f"{home.journal}, {count} runs, SQLite {sqlite3.sqlite_version}"
    if free < _LITTLE_SPACE:
        return Fact("journal", False, f"{detail}; only {free // 2**20} MB free", needed=True)
    return Fact("journal", True, detail, needed=True)


def _sandbox(project: Path) -> Fact:
    try:
        top = repository_of(project)
    except RuntrueError as error:
        return Fact("sandbox", False, str(error), needed=True)
    return Fact("sandbox", True, f"git worktree of {top}" if top else f"copy of {project}")


def _model(project: Path) -> Fact:
    try:
        name = model_name(os.environ, load_config(project).model.name)
        return Fact("model", True, open_model(name, os.environ).name)
    except RuntrueError as error:
        return Fact("model", False, str(error))


def _servers(project: Path) -> Fact:
    try:
        servers = Registry(Home.find(project), project).servers
    except RuntrueError as error:
        return Fact("mcp", False, str(error))
    names = ", ".join(servers) or "no servers; add one with `runtrue mcp add NAME COMMAND`"
    return Fact("mcp", bool(servers), names)


def _tool(name: str, path: str) -> Fact:
    found = shutil.which(name, path=path)
    if found is None:
        return Fact(name, False, "not found; checks that use it cannot run")
    return Fact(name, True, f"{_version([found, '--version'])} at {found}")


def _scanner(project: Path, path: str) -> Fact:
    try:
        command = load_config(project).security.command
    except RuntrueError as error:
        return Fact("scanner", False, str(error))
    if command:
        return Fact("scanner", True, command)
    found = shutil.which("bandit", path=path)
    if found is None and importlib.util.find_spec("bandit") is None:
        return Fact("scanner", False, "no bandit; code is not scanned ([security] command)")
    return Fact("scanner", True, f"bandit at {found or sys.executable}")


def _memory(home: Home) -> Fact:
    with DebugMemory(home.path) as memory:
        counts = memory.counts()
        if memory.trouble:
            return Fact("memory", False, memory.trouble)
    return Fact("memory", True, f"{counts.failures} failures and {counts.fixes} fixes of code")


def _project(project: Path) -> Iterator[Fact]:
    try:
        config = load_config(project)
    except RuntrueError as error:
        yield Fact("config", False, str(error))
        return
    configured = {name: check.command for name, check in config.checks.items()}
    detected = {d.check.name: f"{d.check.command} ({d.because})" for d in detect_checks(project)}
    checks = configured or detected
    yield Fact(
        "checks",
        bool(checks),
        "; ".join(f"{name}: {command}" for name, command in checks.items())
        or f"none found in {project}",
    )
    agent = config.fixers.agent.command
    yield Fact("agent", agent is not None, agent or "none configured ([fixers.agent] command)")


def _version(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run ({error})"
    found = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return found[0] if found else "version unknown"
