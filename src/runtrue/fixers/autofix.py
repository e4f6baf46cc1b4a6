"""Autofix: the commands with which linters and formatters fix their own findings."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from runtrue import process
from runtrue.checks import is_shell, tool_of
from runtrue.loop import Proposal, Workplace

_TIMEOUT = 300.0
#: The options with which a formatter only reads, and those with which it writes.
_FORMATTERS: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "ruff": (frozenset({"--check", "--diff"}), ()),
    "black": (frozenset({"--check", "--diff"}), ()),
    "isort": (frozenset({"--check", "--check-only", "-c", "--diff", "--df"}), ()),
    "gofmt": (frozenset({"-l", "-d"}), ("-w",)),
    "prettier": (frozenset({"--check", "-c", "--list-different", "-l"}), ("--write",)),
    "rustfmt": (frozenset({"--check"}), ()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AutofixCommands:
    """The commands by check, and the checks whose command fixes only what is safe to fix."""

    commands: dict[str, str]
    safe: tuple[str, ...] = ()
    #: The commands that fix the rest as well, of checks that somebody asked to have fixed.
    unsafe: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, checks: Mapping[str, tuple[str | None, str | None]], *, asked: Collection[str] = ()
    ) -> AutofixCommands:
        """Return those for checks by name, each with its command and its configured autofix.

        Those of the checks that were `asked` for may fix what is unsafe to fix.
        """
        own = {name: fix for name, (_, fix) in checks.items() if fix}
        derived = {
            name: fix
            for name, (command, _) in checks.items()
            if command and (fix := autofix_command(command))
        }
        return cls(
            commands={**derived, **own},
            safe=tuple(name for name in derived if name not in own),
            unsafe={
                name: shlex.join(_with_option(shlex.split(command), "--unsafe-fixes", "--fix"))
                for name, (command, fix) in checks.items()
                if name in asked and command and not fix and tool_of(command) == "ruff"
            },
        )

    def in_directories(self, directories: Mapping[str, str]) -> AutofixCommands:
        """Return the commands as they run where each check runs, as seen from the project."""

        def moved(commands: Mapping[str, str]) -> dict[str, str]:
            return {
                name: command if place == "." else f"cd {shlex.quote(place)} && {command}"
                for name, command in commands.items()
                for place in [directories.get(name, ".")]
            }

        return replace(self, commands=moved(self.commands), unsafe=moved(self.unsafe))


async def run_autofix(commands: Iterable[str], workplace: Workplace) -> Proposal:
    """Run autofix commands, each once, until one of them cannot be run."""
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


def autofix_command(command: str) -> str | None:
    """Return the command that fixes what `command` finds, for tools that have one."""
    if is_shell(command):
        return None
    words = shlex.split(command)
    names = [Path(word).name for word in words]
    for index, name in enumerate(names):
        rest = words[index + 1 :]
        before = words[: index + 1]
        if name in ("eslint", "stylelint", "biome") or (name == "ruff" and "check" in rest):
            return shlex.join([*before, *_with_option(rest, "--fix")])
        if name in _FORMATTERS:
            read_only, write = _FORMATTERS[name]
            kept = [word for word in rest if word not in read_only]
            return shlex.join([*before, *write, *kept]) if kept != rest else None
    return None


def _with_option(words: list[str], *options: str) -> list[str]:
    # Behind `--` it would be read as a file.
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], *options, *words[end:]]
