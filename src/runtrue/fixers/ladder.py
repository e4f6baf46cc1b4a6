"""The ladder: one table of all fixers, and which of them a run tries, in which order."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from runtrue.checks import CommandCheck
from runtrue.config import AgentConfig, ModelConfig, SearchConfig
from runtrue.fixers.agent import AgentFixer
from runtrue.fixers.autofix import AutofixCommands
from runtrue.fixers.command import CommandFixer
from runtrue.fixers.context import Redact
from runtrue.fixers.memory import MemoryFixer
from runtrue.fixers.model import ModelFixer
from runtrue.fixers.search import SearchFixer
from runtrue.fixers.tool import ChangedLines, ToolFixer
from runtrue.loop import Fixer
from runtrue.memory import DebugMemory, Project


@dataclass(frozen=True, slots=True, kw_only=True)
class FixerSettings:
    """The settings of all fixers of a run."""

    #: The names of the rungs, cheapest first.
    order: tuple[str, ...]
    memory: DebugMemory
    project: Project
    judges: tuple[str, ...]
    #: The commands of the `tool` fixer, the checks whose old findings it leaves alone, and the
    #: lines that a candidate has changed, by file: all that it may touch for these.
    autofix: AutofixCommands
    narrow: tuple[str, ...] = ()
    changed: ChangedLines = lambda candidate: {}
    #: The checks among which `search` finds Python tests.
    tests: tuple[CommandCheck, ...]
    search: SearchConfig
    model: str | None
    #: The endpoint of the model, if the project configures one.
    endpoint: ModelConfig | None = None
    agent: AgentConfig
    #: The files that a model is shown whatever the findings say.
    files: tuple[str, ...] = ()
    redact: Redact

    @property
    def rungs(self) -> tuple[str, ...]:
        """The names of the rungs without a model or an agent that is not there."""
        absent = {"model"} if self.model is None else set()
        absent |= {"agent"} if self.agent.command is None else set()
        return tuple(name for name in self.order if name not in absent)

    @property
    def has_stronger(self) -> bool:
        """True if a model or an agent can be asked where a search is not sure."""
        return not {"model", "agent"}.isdisjoint(self.rungs)


_FIXERS: dict[str, Callable[[FixerSettings], Fixer]] = {
    "memory": lambda its: MemoryFixer(its.memory, project=its.project, judges=its.judges),
    "tool": lambda its: ToolFixer(its.autofix, narrow=its.narrow, changed=its.changed),
    "search": lambda its: SearchFixer(
        its.tests,
        its.search,
        judges=its.judges,
        held=its.memory.edit_counts,
        stronger=its.has_stronger,
    ),
    "model": lambda its: ModelFixer(
        its.model, os.environ, files=its.files, redact=its.redact, config=its.endpoint
    ),
    "agent": lambda its: AgentFixer(its.agent, redact=its.redact),
    "command": lambda its: CommandFixer(timeout=its.agent.timeout, redact=its.redact),
}


def make_ladder(settings: FixerSettings) -> tuple[Fixer, ...]:
    """Make the fixers of a run, in their configured order.

    `human` is not a rung that proposes: it is what the policy does when the ladder ends.
    """
    return tuple(_FIXERS[name](settings) for name in settings.order if name != "human")
