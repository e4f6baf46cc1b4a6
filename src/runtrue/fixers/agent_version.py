"""The version of a coding agent, as its program says it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from runtrue import process
from runtrue.checks import files_named, find_program, is_shell
from runtrue.config import AgentConfig
from runtrue.confinement import Confinement
from runtrue.loop import Workplace

_SECONDS = 10.0
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
#: Programs that start another one: their own version says nothing about that.
_LAUNCHERS = re.compile(
    r"(?:python|pypy|node|deno|bun|ruby|perl|java|ba|da|k|z)?(?:sh)?[\d.]*"
    r"|npx|bunx|uv|uvx|pipx|npm|pnpm|yarn|poetry|conda|env|sudo|timeout|nice|docker|podman|ssh"
)


async def ask_version(agent: AgentConfig, workplace: Workplace) -> str | None:
    """Ask an installed program with `--version`; None where that is not safe, or says nothing.

    A script that is named by its path may do its work whatever it is given: it is not asked. No
    program is asked with the secrets or the network that an agent has.
    """
    command = agent.command or ""
    if not command or is_shell(command):
        return None
    try:
        name = shlex.split(command)[0]
    except (ValueError, IndexError):
        return None
    path = workplace.environment.get("PATH", "")
    if "/" in name or _LAUNCHERS.fullmatch(name) or not find_program(name, path):
        return None
    try:
        ended = await process.run(
            [name, "--version"],
            cwd=workplace.scratch,
            env=workplace.environment,
            timeout=_SECONDS,
            confinement=_confinement(agent, workplace),
        )
    except OSError:
        return None
    found = _VERSION.search(ended.stdout.text) if ended.exit_code == 0 else None
    return found[0] if found else None


def _confinement(agent: AgentConfig, workplace: Workplace) -> Confinement | None:
    if workplace.confinement is None:
        return None
    places = (Path(place).expanduser() for place in agent.read)
    return workplace.confinement.also(read=[*files_named(agent.command or ""), *places])
