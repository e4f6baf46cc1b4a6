"""Seams: what the repair cycle needs from checks, fixers and sandboxes. Others implement them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runtrue.loop.finding import Finding, Mode, Verdict
from runtrue.loop.history import History


class Check(Protocol):
    """Something executable that gives a verdict on the candidate in a directory."""

    @property
    def name(self) -> str:
        """Unique among the checks of one loop."""
        ...

    @property
    def mode(self) -> Mode:
        """Whether its failure blocks."""
        ...

    @property
    def command(self) -> str:
        """How a person would run it."""
        ...

    async def run(self, workplace: Workplace) -> Verdict:
        """Check the candidate that lies in the workplace now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where checks and fixers do their work.

    `directory` is where commands run, `root` what the paths in findings are relative to (they
    differ when a project is a part of a larger repository), `scratch` a directory for reports and
    prompts outside of the candidate, `environment` all that commands get to see of the user's.
    """

    directory: Path
    root: Path
    scratch: Path
    environment: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixTask:
    """What a fixer is asked to do: the findings it took on, with all that came before."""

    findings: tuple[Finding, ...]
    history: History
    #: The commands of the checks that the findings came from.
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a fixer says it did. Whether it changed anything is seen from the files.

    `failure` is set when the fixer itself failed, for reasons that have nothing to do with the
    candidate: those are never shown to a fixer as if they were findings.
    """

    description: str
    failure: str | None = None


class Fixer(Protocol):
    """One rung of the ladder."""

    @property
    def name(self) -> str:
        """As in the configuration's `order`."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether it may edit the files that judge the candidate, as a formatter may."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether asking it a second time may give something else."""
        ...

    @property
    def side_effect(self) -> bool:
        """Whether it acts outside of the sandbox, so that it must not be fired twice unasked."""
        ...

    def unavailable(self) -> str | None:
        """Why it cannot be used at all, if it cannot."""
        ...

    def accepts(self, finding: Finding) -> bool:
        """Whether it can take this finding on."""
        ...

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Edit the files in the workplace so that the findings go away."""
        ...


class Sandbox(Protocol):
    """Where candidates live, each under an id that is the same for the same content."""

    def restore(self, candidate: str) -> None:
        """Make the files exactly those of a candidate."""
        ...

    def snapshot(self) -> str:
        """Keep the files as they are now as a candidate."""
        ...

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        """The files in which two candidates differ."""
        ...

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        """Make some files, present or absent, those of a candidate again."""
        ...

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        """How many lines were added and removed between two candidates."""
        ...

    def protected(self, files: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `files` that judge the candidate: tests and the configuration of checks."""
        ...

    def workplace(self) -> Workplace:
        """Where commands on the candidate run."""
        ...
