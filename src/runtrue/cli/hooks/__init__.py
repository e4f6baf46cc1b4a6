"""Hooks: how other tools are made to call the gate, each in its own convention.

Installing twice changes nothing. Removing takes away what was installed and leaves the rest as it
was. A file that cannot be read for what it is, is never written.
"""

from __future__ import annotations

from runtrue.cli.hooks.agent_hook import AgentHook
from runtrue.cli.hooks.agent_hosts import AGENT_HOSTS, AgentHost
from runtrue.cli.hooks.firings import Firings, note_firing, read_firings
from runtrue.cli.hooks.git import Git
from runtrue.cli.hooks.hook_change import HookChange
from runtrue.cli.hooks.pre_commit import PreCommit

__all__ = [
    "AGENT_HOSTS",
    "HOOKS",
    "AgentHook",
    "AgentHost",
    "Firings",
    "HookChange",
    "note_firing",
    "read_firings",
]


#: By the name that the command line takes.
HOOKS: dict[str, AgentHook | Git | PreCommit] = {
    **{name: AgentHook(host) for name, host in AGENT_HOSTS.items()},
    "git": Git(),
    "pre-commit": PreCommit(),
}
