"""The `tool` fixer: programs that mend what a check of theirs finds, always in the same way."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from runtrue import process
from runtrue.checks import is_shell
from runtrue.loop import Finding, FixTask, Proposal, Workplace

_TIMEOUT = 300.0


class ToolFixer:
    """Runs the mending command of each check that has findings."""

    name = "tool"
    # A formatter may format tests, too: what it does to them is known and changes no meaning.
    trusted = True
    repeatable = False
    side_effect = False

    def __init__(self, commands: Mapping[str, str], *, safe: Collection[str] = ()) -> None:
        self._commands = dict(commands)
        #: The checks whose command mends only what their report calls fixable.
        self._safe = frozenset(safe)

    def unavailable(self) -> str | None:
        """Why it cannot be used at all: no check has a mending command."""
        return None if self._commands else "no check here has a command that mends its findings"

    def accepts(self, finding: Finding) -> bool:
        """Whether the finding's check has a mending command, and it can mend this one."""
        if finding.source in self._safe and not finding.data.get("fixable", True):
            return False
        return finding.source in self._commands

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Run the commands. That findings remain afterwards is for the checks to say."""
        return await mend([self._commands[f.source] for f in task.findings], workplace)


async def mend(commands: Iterable[str], workplace: Workplace) -> Proposal:
    """Run mending commands, each once, until one of them cannot be run."""
    once = dict.fromkeys(commands)
    for command in once:
        try:
            ended = await process.run(
                ["/bin/sh", "-c", command],
                cwd=workplace.directory,
                env=workplace.environment,
                timeout=_TIMEOUT,
                confinement=workplace.confinement,
            )
        except OSError as error:
            return Proposal(description=command, failure=f"cannot be run: {error.strerror}")
        if ended.exceeded:
            return Proposal(description=command, failure=f"`{command}` {ended.exceeded.message}")
        if ended.timed_out or ended.exit_code in (126, 127):
            how = "timed out" if ended.timed_out else "cannot be run"
            return Proposal(description=command, failure=f"`{command}` {how}")
    return Proposal(description="; ".join(once))


def mending_command(command: str) -> str | None:
    """The command that mends what `command` finds, for tools that have one."""
    if is_shell(command):
        return None
    words = shlex.split(command)
    names = [Path(word).name for word in words]
    for index, name in enumerate(names):
        rest = words[index + 1 :]
        before = words[: index + 1]
        if name in ("eslint", "stylelint", "biome") or (name == "ruff" and "check" in rest):
            return shlex.join([*before, *_with_fix(rest)])
        if name in _FORMATTERS:
            looking, writing = _FORMATTERS[name]
            acting = [word for word in rest if word not in looking]
            return shlex.join([*before, *writing, *acting]) if acting != rest else None
    return None


#: The options with which a formatter only looks, and those with which it writes.
_FORMATTERS: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "ruff": (frozenset({"--check", "--diff"}), ()),
    "black": (frozenset({"--check", "--diff"}), ()),
    "isort": (frozenset({"--check", "--check-only", "-c", "--diff", "--df"}), ()),
    "gofmt": (frozenset({"-l", "-d"}), ("-w",)),
    "prettier": (frozenset({"--check", "-c", "--list-different", "-l"}), ("--write",)),
    "rustfmt": (frozenset({"--check"}), ()),
}


def _with_fix(words: list[str]) -> list[str]:
    """`--fix` added where it is still read as an option."""
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], "--fix", *words[end:]]
