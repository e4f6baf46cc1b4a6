"""`runtrue doctor`: what is available here, and what is not."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from runtrue import __version__
from runtrue.checks import Detected, detect_checks, find_program, is_shell
from runtrue.cli import options
from runtrue.cli.console import Styled, echo
from runtrue.cli.hook_commands import statuses
from runtrue.cli.show import counted, print_json
from runtrue.config import Config, FoundConfig, find_config
from runtrue.errors import RuntrueError
from runtrue.flow import Journal
from runtrue.foreign_text import visible_name
from runtrue.home import Home
from runtrue.memory import DebugMemory
from runtrue.models import BadOutput, model_name, open_model
from runtrue.sandbox import (
    Isolation,
    Level,
    allowed,
    missing,
    repository_of,
    search_path,
    unavailable,
    weaknesses,
)
from runtrue.telemetry import asked_for, why_off
from runtrue.workflow import Registry

_LITTLE_SPACE = 200 * 1024 * 1024
_PYTHON_TOOLS = ("pytest", "ruff", "mypy")
#: What a project with Python has where one looks first.
_PYTHON_SIGNS = ("pyproject.toml", "setup.py", "*.py", "*/*.py", "src/*/*.py")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was looked at. `needed` facts that are not `ok` make runtrue useless here."""

    name: str
    ok: bool
    detail: str
    needed: bool = False
    #: The parts of the detail that are long, which people see on lines of their own.
    parts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The detail for people."""
        if len(self.parts) < 2:
            return self.detail
        begin = self.detail.removesuffix("; ".join(self.parts)).rstrip("; ")
        return f"\n{'':16}".join([begin or f"{len(self.parts)} of them:", *self.parts])


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, exists=True, file_okay=False))
@options.as_json
def doctor(path: Path, as_json: bool) -> int:
    """Show what is available here and what is missing.

    Exit code 1 means that something required is missing.
    """
    facts = list(_facts(path.resolve()))
    healthy = all(fact.ok for fact in facts if fact.needed)
    if as_json:
        document = {
            "status": "passed" if healthy else "failed",
            "facts": [_document(fact) for fact in facts],
        }
        print_json(document)
    else:
        for fact in facts:
            word, colour = (
                ("ok", "green") if fact.ok else ("no", "red" if fact.needed else "yellow")
            )
            echo(Styled(f"{word:>3}", fg=colour), f"  {fact.name:<10} {fact.text}")
    return 0 if healthy else 1


def _document(fact: Fact) -> dict[str, Any]:
    document = asdict(fact)
    del document["parts"]
    return document


def _facts(project: Path) -> Iterator[Fact]:
    python = f"{platform.python_version()} at {sys.executable}"
    yield Fact("runtrue", True, f"{__version__}, Python {python}")
    yield _git(project)
    yield _home(Home.find(project))
    yield _sandbox(project)
    path = search_path(project, os.environ.get("PATH", os.defpath))
    detected = detect_checks(project)
    for tool in _tools(project, detected):
        yield _tool(tool, path, project)
    yield _memory(Home.find(project))
    yield _servers(project)
    yield _hooks(project)
    try:
        found = find_config(project)
    except RuntrueError as error:
        yield Fact("config", False, str(error), needed=True)
        return
    config = found.config
    if (fact := _trust(found, project)) is not None:
        yield fact
    yield _isolation(config)
    yield _scanner(project, config, path)
    yield _model(config)
    yield _checks(project, config, detected, path)
    if (fact := _telemetry()) is not None:
        yield fact
    agent = config.fixers.agent.command
    yield Fact("agent", agent is not None, agent or "none configured ([fixers.agent] command)")


def _telemetry() -> Fact | None:
    """Return where traces and metrics go; None where no variable asks for them."""
    exporters = {signal: asked_for(os.environ, signal) for signal in ("TRACES", "METRICS")}
    asked = [f"{signal.lower()} by {name}" for signal, name in exporters.items() if name]
    if not asked:
        return None
    why = why_off(os.environ)
    return Fact("telemetry", why is None, why or " and ".join(asked))


def _git(project: Path) -> Fact:
    found = shutil.which("git")
    if found is None:
        return Fact("git", False, "not found; install it: sandboxes need it", needed=True)
    if _is_of_project(found, project):
        return Fact("git", False, f"the project's own comes first, at {found}", needed=True)
    return Fact("git", True, f"{_version([found, '--version'])} at {found}", needed=True)


def _home(home: Home) -> Fact:
    location = home.journal
    if isinstance(location, Path) and not location.exists():
        existing = next(place for place in location.parents if place.exists())
        writable = existing.is_dir() and os.access(existing, os.W_OK)
        detail = f"{location} (created by the first run)"
        refused = f"{existing} is not a writable directory; set RUNTRUE_HOME"
        return Fact("journal", writable, detail if writable else refused, needed=True)
    try:
        with Journal(home.journal) as journal:
            name, count = journal.name, len(journal.runs(limit=1000))
    except RuntrueError as error:
        return Fact("journal", False, str(error), needed=True)
    free = shutil.disk_usage(home.path).free
    if not isinstance(location, Path):
        return Fact("journal", True, f"{name}, {counted(count, 'run')}", needed=True)
    detail = f"{name}, {counted(count, 'run')}, SQLite {sqlite3.sqlite_version}"
    if free < _LITTLE_SPACE:
        return Fact("journal", False, f"{detail}; only {free // 2**20} MB free", needed=True)
    return Fact("journal", True, detail, needed=True)


def _trust(found: FoundConfig, project: Path) -> Fact | None:
    """Whether what the project's file asks for counts; None if it asks for nothing."""
    if found.request is None:
        return Fact("trust", False, "; ".join(found.passed_over)) if found.passed_over else None
    items = tuple(map(visible_name, found.request.items))
    if found.is_trusted:
        return Fact("trust", True, f"you trust {found.request.path}")
    begin = f"{found.request.path} is left out, in part; `runtrue trust {project}` asks"
    return Fact("trust", False, f"{begin}: {'; '.join(items)}", parts=items)


def _sandbox(project: Path) -> Fact:
    try:
        top = repository_of(project)
    except RuntrueError as error:
        return Fact("sandbox", False, str(error), needed=True)
    return Fact("sandbox", True, f"git worktree of {top}" if top else f"copy of {project}")


def _isolation(config: Config) -> Fact:
    try:
        level = Isolation.of(config.isolation).level
    except RuntrueError as error:
        return Fact("isolation", False, str(error), needed=True)
    minimum = config.isolation.minimum
    facts = [f"{level} (at least {minimum})"]
    others = [one for one in (Level.BUBBLEWRAP, Level.LANDLOCK, Level.PROCESS) if one is not level]
    reasons = {other: unavailable(other) for other in others}
    facts += [f"no {other}: {reason}" for other, reason in reasons.items() if reason]
    if without := missing(level):
        lost = f"without {', '.join(without)}: weaker guarantees, see SECURITY.md"
        facts.append(f"{lost}: install bubblewrap, or enable user namespaces")
    facts += weaknesses(level)
    routes = config.isolation.network
    facts.append(f"network: {', '.join(routes)}" if routes else "no network")
    if possible := [other for other, reason in reasons.items() if reason is None]:
        facts.append(f"also available: {', '.join(possible)}")
    return Fact("isolation", True, "; ".join(facts), needed=True)


#: Seconds that the endpoint of a model has for its answer.
_MODEL_SECONDS = 10.0


def _model(config: Config) -> Fact:
    """Ask the endpoint of the model for one word, where one is configured."""
    name = model_name(os.environ, config.model.name)
    try:
        model = open_model(name, os.environ, config=config.model)
        asked = model.ask("Answer with the word ok.", max_tokens=16, timeout=_MODEL_SECONDS)
        asyncio.run(asked)
    except BadOutput:
        pass  # It answers, which is all that is asked here.
    except RuntrueError as error:
        return Fact("model", False, str(error))
    return Fact("model", True, f"{model.name} answers at {model.host}")


def _servers(project: Path) -> Fact:
    try:
        servers = Registry(Home.find(project), project, only_looks=True).servers
    except RuntrueError as error:
        return Fact("mcp", False, str(error))
    names = ", ".join(
        f"{name} (not trusted)" if server.origin == "untrusted" else name
        for name, server in servers.items()
    )
    names = names or "no servers; add one with `runtrue mcp add NAME COMMAND`"
    return Fact("mcp", bool(servers), names)


def _hooks(project: Path) -> Fact:
    try:
        if repository_of(project) is None:
            return Fact("hooks", True, "none: not a git repository")
        found = [f"{one.host}: {one.text}" for one in statuses(project) if one.installed]
    except RuntrueError as error:
        return Fact("hooks", False, str(error))
    return Fact("hooks", True, "; ".join(found) or "none (runtrue hooks install HOST)")


def _tools(project: Path, detected: Sequence[Detected]) -> Iterator[str]:
    """The tools of Python where there is some, and what runs the tests of other languages."""
    commands = [one.check for one in detected if one.check.tool not in _PYTHON_TOOLS]
    others = [check.argv[0] for check in commands if not is_shell(check.command)]
    if not others or any(next(project.glob(sign), None) for sign in _PYTHON_SIGNS):
        yield from _PYTHON_TOOLS
    # A program of the project's own, as ./gradlew, is not started only to be looked at.
    yield from dict.fromkeys(name for name in others if "/" not in name)


def _tool(name: str, path: str, project: Path) -> Fact:
    found = find_program(name, path)
    if found is None:
        return Fact(name, False, "not found; checks that use it cannot run")
    if _is_of_project(found, project):
        return Fact(name, True, f"the project's own (not run here), at {found}")
    asked = "version" if name == "go" else "--version"
    return Fact(name, True, f"{_version([found, asked])} at {found}")


def _is_of_project(program: str, project: Path) -> bool:
    found = Path(program)
    return any(one.is_relative_to(project) for one in (found.absolute(), found.resolve()))


def _scanner(project: Path, config: Config, path: str) -> Fact:
    command = config.security.command
    if command:
        missing = _missing(command, project, path)
        detail = f"not found: {missing}; {command}" if missing else command
        return Fact("scanner", not missing, detail)
    found = find_program("bandit", path)
    if found is None and importlib.util.find_spec("bandit") is None:
        return Fact("scanner", False, "bandit not found; code is not scanned ([security] command)")
    return Fact("scanner", True, f"bandit at {found or sys.executable}")


def _checks(project: Path, config: Config, detected: Sequence[Detected], path: str) -> Fact:
    facts, missing = [], []
    for name, check in config.checks.items():
        facts.append(f"{name}: {check.command}")
        its_path = check.env.get("PATH", path)
        missing.append(_missing(check.command, project / check.directory, its_path))
    for one in () if config.checks else detected:
        facts.append(f"{one.check.name}: {one.check.line} ({one.because})")
        missing.append(_missing(one.check.command, project / one.check.directory, path))
    if not facts:
        return Fact("checks", False, f"none found in {project}")
    absent = ", ".join(dict.fromkeys(name for name in missing if name))
    detail = (f"not found: {absent}; " if absent else "") + "; ".join(facts)
    return Fact("checks", not absent, detail, parts=tuple(facts))


def _missing(command: str, directory: Path, path: str) -> str | None:
    """The program that a command begins with, if it cannot be found."""
    program = next(iter(shlex.split(command)), "")
    if is_shell(program):  # only a shell knows what that comes to
        return None
    if "/" in program:
        return None if shutil.which(str(directory / program)) else program
    if find_program(program, path) or (is_shell(command) and _is_shells_own(program)):
        return None
    return program


def _is_shells_own(word: str) -> bool:
    asked = ["/bin/sh", "-c", 'command -v "$0"', word]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def _memory(home: Home) -> Fact:
    with DebugMemory(home.path) as memory:
        counts = memory.counts()
        if memory.trouble:
            return Fact("memory", False, memory.trouble)
    return Fact(
        "memory",
        True,
        f"{counted(counts.failures, 'failure')} and {counted(counts.fixes, 'fix')} of code",
    )


def _version(command: list[str]) -> str:
    """Ask a program for its version, where no file of a project can have a say in what it runs."""
    try:
        done = subprocess.run(
            command,
            # Tools read settings of the directory they are started in, and of those above it.
            cwd="/",
            env=allowed(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run ({error})"
    found = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return found[0] if found else "version unknown"
