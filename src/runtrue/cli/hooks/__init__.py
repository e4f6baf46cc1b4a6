"""Hooks: how other tools are made to call the gate, each in its own convention.

Installing twice changes nothing. Removing takes away what was installed and leaves the rest as it
was. A file that cannot be read for what it is, is never written.
"""

from __future__ import annotations

from runtrue.cli.hooks.arranged import Arranged
from runtrue.cli.hooks.claude_code import ClaudeCode
from runtrue.cli.hooks.git import Git
from runtrue.cli.hooks.pre_commit import PreCommit

__all__ = ["HOOKS", "Arranged"]


#: By the name that the command line takes.
HOOKS: dict[str, ClaudeCode | Git | PreCommit] = {
    "claude-code": ClaudeCode(),
    "git": Git(),
    "pre-commit": PreCommit(),
}
