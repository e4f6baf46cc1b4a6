"""The `tool` fixer: runs programs that fix what their check finds, always in the same way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from runtrue.fixers.autofix import run_autofix
from runtrue.loop import Confidence, Finding, FixTask, Proposal, Workplace

_SURE = Confidence(value=0.9, reason="a tool fixed what it found itself")


class ToolFixer:
    """Runs the autofix command of each check that has findings.

    `safe` names the checks whose command fixes only what their report calls fixable.
    """

    name = "tool"
    # A formatter may format tests, too: what it does to them is known and changes no meaning.
    trusted = True
    repeatable = False
    side_effect = False

    def __init__(self, commands: Mapping[str, str], *, safe: Collection[str] = ()) -> None:
        self._commands = dict(commands)
        self._safe = frozenset(safe)

    def unavailable(self) -> str | None:
        """Return why there is nothing to run, or None."""
        return None if self._commands else "no check here has a command that fixes its findings"

    def accepts(self, finding: Finding) -> bool:
        """Return whether the finding's check has an autofix command, and it can fix this one."""
        if finding.source in self._safe and not finding.data.get("fixable", True):
            return False
        return finding.source in self._commands

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Run the commands. Whether findings remain is for the checks to say."""
        done = await run_autofix([self._commands[f.source] for f in task.findings], workplace)
        return replace(done, confidence=_SURE)
