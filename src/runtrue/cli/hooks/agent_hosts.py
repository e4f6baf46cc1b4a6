"""Coding agents whose hooks can call the gate: what each one reads, sends and understands.

Each row was looked up in the agent's own documentation or source; docs/agents.md has the links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtrue.code import PATIENCE

#: Seconds that an agent waits for a verdict.
TIMEOUT = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHost:
    """A coding agent, and how its stop hook is configured and answered."""

    name: str
    title: str
    #: Its file, as seen from the project, or from the top of the repository if `at_top`.
    file: str
    at_top: bool = False
    #: The event that it fires when the agent wants to stop.
    event: str = "Stop"
    #: The entry for a command: wrapped in a group of handlers, or the handler itself.
    grouped: bool = True
    settings: Mapping[str, Any] = field(default_factory=lambda: {"timeout": TIMEOUT})
    #: Other members that the file must have.
    members: Mapping[str, Any] = field(default_factory=dict)
    #: The JSON that keeps the agent working, on stdout with exit code 0. Without one, the exit
    #: code is 2 and the reason is on stderr.
    hold: Callable[[str], dict[str, Any]] | None = None
    #: True if the agent shows `systemMessage` of the JSON on stdout to the person.
    shows_messages: bool = False
    #: What the person has to do once the hook is installed.
    next_step: str = ""

    def entry(self, command: str) -> dict[str, Any]:
        """Return what is added to the list of the event's hooks."""
        handler = {"type": "command", "command": command, **self.settings}
        return {"hooks": [handler]} if self.grouped else handler


def _block(reason: str) -> dict[str, Any]:
    return {"decision": "block", "reason": reason}


def _block_for_copilot(reason: str) -> dict[str, Any]:
    # Copilot CLI reads the first form, VS Code the second.
    return {**_block(reason), "hookSpecificOutput": {"hookEventName": "Stop", **_block(reason)}}


AGENT_HOSTS = {
    host.name: host
    for host in (
        AgentHost(
            name="claude-code",
            title="Claude Code",
            file=".claude/settings.json",
            shows_messages=True,
        ),
        AgentHost(
            name="codex",
            title="Codex",
            file=".codex/hooks.json",
            hold=_block,
            shows_messages=True,
            next_step="Codex runs it once you have reviewed it with /hooks",
        ),
        AgentHost(
            name="copilot",
            title="Copilot",
            file=".github/hooks/runtrue.json",
            at_top=True,
            grouped=False,
            settings={"timeout": TIMEOUT, "timeoutSec": TIMEOUT},
            members={"version": 1},
            hold=_block_for_copilot,
        ),
        AgentHost(
            name="cursor",
            title="Cursor",
            file=".cursor/hooks.json",
            event="stop",
            grouped=False,
            settings={"timeout": TIMEOUT, "loop_limit": PATIENCE},
            members={"version": 1},
            hold=lambda reason: {"followup_message": reason},
        ),
        AgentHost(
            name="gemini",
            title="Gemini CLI",
            file=".gemini/settings.json",
            event="AfterAgent",
            settings={"name": "runtrue-gate", "timeout": TIMEOUT * 1000},
            hold=lambda reason: {"decision": "deny", "reason": reason},
            shows_messages=True,
        ),
        AgentHost(
            name="openhands",
            title="OpenHands",
            file=".openhands/hooks.json",
        ),
    )
}
