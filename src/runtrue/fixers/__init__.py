"""Fixers: what proposes a new candidate from findings, as a ladder, cheapest first."""

from runtrue.fixers.agent import AgentFixer, write_prompt
from runtrue.fixers.ladder import build_ladder
from runtrue.fixers.tool import ToolFixer, mending_command

__all__ = ["AgentFixer", "ToolFixer", "build_ladder", "mending_command", "write_prompt"]
