"""The `agent` fixer: runs any coding agent's command line; prompt in, edited files out."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from runtrue import process
from runtrue.checks import files_named, find_program, is_shell, output_of, trim
from runtrue.config import AgentConfig
from runtrue.confinement import Confinement
from runtrue.fixers.context import Redact, fill, sendable, task_text
from runtrue.fixers.editor import one_line
from runtrue.loop import Finding, FixTask, Proposal, Workplace
from runtrue.redaction import Redactor, secrets_in
from runtrue.secrets import StoreRefused, secrets_of

_PLACEHOLDER = re.compile(r"\{prompt(?:_file)?\}")
#: Programs that run one of their arguments as a shell command.
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
#: A shell's exit codes for a program that cannot be run or found.
_NO_PROGRAM = (126, 127)
#: Seconds in which a program must say its version.
_VERSION_SECONDS = 10.0
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
#: Programs that start another one: their own version says nothing about that.
_LAUNCHERS = re.compile(
    r"(?:python|pypy|node|deno|bun|ruby|perl|java|ba|da|k|z)?(?:sh)?[\d.]*"
    r"|npx|bunx|uv|uvx|pipx|npm|pnpm|yarn|poetry|conda|env|sudo|timeout|nice|docker|podman|ssh"
)


class AgentFixer:
    """Runs a command in the sandbox. `{prompt_file}` and `{prompt}` in it are filled in.

    Where neither occurs, the prompt goes to the command's standard input. `redact` redacts the
    prompt; by default, the values of secrets that the agent is given.
    """

    name = "agent"
    trusted = False
    repeatable = True

    def __init__(self, agent: AgentConfig, *, redact: Redact | None = None) -> None:
        self._agent = agent
        self._redact = redact
        self.side_effect = agent.once and agent.command is not None

    def unavailable(self) -> str | None:
        """Return why it cannot be used, or None."""
        return None if self._agent.command else "no agent is configured ([fixers.agent] command)"

    def accepts(self, finding: Finding) -> bool:
        """Accept anything."""
        return True

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Run the agent. A broken agent is a failure of the fixer, never a finding."""
        prompt = write_prompt(task, workplace, self._redact or str)
        return await run_agent(self._agent, prompt, workplace, redact=self._redact)


async def run_agent(
    agent: AgentConfig, prompt: str, workplace: Workplace, *, redact: Redact | None = None
) -> Proposal:
    """Run an agent's command on a prompt, confined to the sandbox and what it is allowed to use."""
    command, timeout = agent.command or "", agent.timeout
    try:
        passed_on = secrets_of(agent.env, os.environ)
    except StoreRefused as error:
        return Proposal(description=command, failure=str(error), transient=False)
    redact = redact or Redactor({**secrets_in(workplace.environment), **passed_on})
    prompt = redact(prompt)
    prompt_file = workplace.scratch / "prompt.md"
    prompt_file.write_text(prompt, encoding="utf-8")
    try:
        argv, uses_prompt = _argv(command, prompt, str(prompt_file))
    except ValueError as error:
        failure = f"its command cannot be read: {error}"
        return Proposal(description=command, failure=failure, transient=False)
    try:
        ended = await process.run(
            argv,
            cwd=workplace.directory,
            env={**workplace.environment, **passed_on},
            timeout=timeout,
            stdin=None if uses_prompt else prompt.encode(),
            confinement=_confinement(agent, workplace),
        )
    except OSError as error:
        failure = f"{argv[0]} cannot be run: {error.strerror}"
        return Proposal(description=argv[0], failure=failure, transient=False)
    proposal = Proposal(description=trim(redact(output_of(ended)), 500), said=_said(ended, redact))
    if ended.exceeded:
        return replace(proposal, failure=ended.exceeded.message)
    if ended.timed_out:
        return replace(proposal, failure=f"did not finish within {timeout:.0f} s")
    if ended.exit_code in _NO_PROGRAM:
        failure = f"its command names a program that cannot be run (code {ended.exit_code})"
        return replace(proposal, failure=failure, transient=False)
    if ended.exit_code != 0:
        return replace(proposal, failure=f"exited with code {ended.exit_code}")
    return proposal


def _said(ended: process.Ended, redact: Redact) -> str | None:
    """Return the last words of an agent, for people: of its output, and of its errors."""
    out, errors = (
        one_line(next((line for line in reversed(text.splitlines()) if line.strip()), ""))
        for text in (redact(ended.stdout.text), redact(ended.stderr.text))
    )
    if out and errors:
        return f"{out} (stderr: {errors})"
    return out or (f"stderr: {errors}" if errors else None)


def _confinement(agent: AgentConfig, workplace: Workplace) -> Confinement | None:
    if workplace.confinement is None:
        return None
    return workplace.confinement.also(
        read=[*files_named(agent.command or ""), *map(_expanded, agent.read)],
        write=map(_expanded, agent.write),
        network=agent.network,
    )


def _expanded(place: str) -> Path:
    return Path(place).expanduser()


def write_prompt(task: FixTask, workplace: Workplace, redact: Redact = str) -> str:
    """Return the prompt for a task, from the templates beside this module."""
    commands = "\n".join(f"  - `{command}`" for command in task.commands) or "  - not known"
    text = task_text(task, workplace, redact)
    return sendable(fill("agent", commands=commands, task=text) + "\n")


def _argv(command: str, prompt: str, prompt_file: str) -> tuple[list[str], bool]:
    """Return the command with the prompt filled in, and whether it holds the prompt at all."""
    uses_prompt = _PLACEHOLDER.search(command) is not None
    values = {"{prompt}": prompt, "{prompt_file}": prompt_file}

    def fill(text: str, quote: Callable[[str], str]) -> str:
        return _PLACEHOLDER.sub(lambda match: quote(values[match[0]]), text)

    if is_shell(_PLACEHOLDER.sub("", command)):
        return ["/bin/sh", "-c", fill(command, shlex.quote)], uses_prompt
    words = shlex.split(command)
    if not words:
        raise ValueError("it is empty")
    # Each word of a plain command is filled in as it is, unless a shell runs it.
    has_shell = any(Path(word).name in _SHELLS for word in words)
    is_line = [has_shell and re.search(r"\s", word) is not None for word in words]
    argv = [fill(w, shlex.quote if line else str) for w, line in zip(words, is_line, strict=True)]
    return argv, uses_prompt


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
            timeout=_VERSION_SECONDS,
            confinement=_bare_confinement(agent, workplace),
        )
    except OSError:
        return None
    found = _VERSION.search(ended.stdout.text) if ended.exit_code == 0 else None
    return found[0] if found else None


def _bare_confinement(agent: AgentConfig, workplace: Workplace) -> Confinement | None:
    if workplace.confinement is None:
        return None
    places = (Path(place).expanduser() for place in agent.read)
    return workplace.confinement.also(read=[*files_named(agent.command or ""), *places])
