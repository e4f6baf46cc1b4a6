"""Seams: what the repair cycle needs from checks, fixers and sandboxes. Others implement them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from runtrue.confinement import Confinement
from runtrue.loop.alternatives import Alternative
from runtrue.loop.attempt import Analysis, Attempt, Confidence
from runtrue.loop.bounds import Bounds
from runtrue.loop.escalation import Escalation
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
        """`required` if its failure blocks, `informational` if it is only recorded."""
        ...

    @property
    def command(self) -> str:
        """How a person would run it."""
        ...

    async def run(self, workplace: Workplace) -> Verdict:
        """Check the candidate that lies in the workplace now."""
        ...


@runtime_checkable
class Adjustable(Protocol):
    """A check of named cases that can be run for some of them, and with other limits."""

    def select(self, cases: Iterable[str], workplace: Workplace) -> Check | None:
        """The same check for some of its cases alone; None if they cannot be selected there."""
        ...

    def limited_by(self, baseline: Verdict) -> Check:
        """The same check with the limits that follow from how long its baseline took."""
        ...

    def with_more_time(self, verdict: Verdict) -> Check | None:
        """A check that gives more time to tests which exceeded a limit that nobody set."""
        ...


class Gate(Protocol):
    """A check that says something only about a candidate that has passed all others.

    It gets the results of the checks: the coverage of failed tests means nothing.
    """

    @property
    def name(self) -> str:
        """Unique among the checks and gates of one loop."""
        ...

    @property
    def mode(self) -> Mode:
        """`required` if its failure blocks, `informational` if it is only recorded."""
        ...

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Judge the candidate that is in the workplace now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a gate gets: the candidate, the verdicts of the checks, and all attempts before."""

    candidate: str
    verdicts: tuple[Verdict, ...]
    history: History


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where checks and fixers do their work.

    `directory` is where commands run, `root` what the paths in findings are relative to (they
    differ when a project is a part of a larger repository), `scratch` a directory for reports and
    prompts outside of the candidate, `environment` all that commands get to see of the user's, and
    `confinement` what they are confined to; without one they can do whatever the user can.
    """

    directory: Path
    root: Path
    scratch: Path
    environment: dict[str, str]
    confinement: Confinement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixTask:
    """What a fixer is asked to do: the findings it took on, with all that came before."""

    findings: tuple[Finding, ...]
    history: History
    #: What is to be fixed, as it is in the workplace.
    candidate: str = ""
    #: The commands of the checks that the findings came from.
    commands: tuple[str, ...] = ()
    #: What may be changed, where a strategy says so.
    bounds: Bounds | None = None
    #: The command that made what is to be fixed, where one did.
    redo: str | None = None
    #: What was asked for in the first place, where something was, and the documents it names, as
    #: seen from the directory of the workplace.
    requirement: str | None = None
    documents: tuple[str, ...] = ()
    #: Returns the patch from one candidate to another.
    difference: Callable[[str, str], str] = field(default=lambda old, new: "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a fixer says it did. Whether it changed anything is seen from the files.

    `failure` is set when the fixer itself failed, for reasons that have nothing to do with the
    candidate: those are never shown to a fixer as if they were findings.
    """

    description: str
    failure: str | None = None
    #: False if asking again cannot help: its program or its key is missing.
    transient: bool = True
    #: The seconds after which it may be asked again, where somebody named them.
    retry_after: float | None = None
    #: Why what it proposed was not made, where it proposed something.
    refused: str | None = None
    #: Its own words in one line, for people.
    said: str | None = None
    #: What the fixer found out about the failure, where it says so.
    analysis: Analysis | None = None
    #: What it used up, where that is known: requests, tokens, money.
    usage: dict[str, float] | None = None
    #: The files as they are to be, named from the root, of a fixer that leaves its edits to be
    #: made: whatever else it did to files is undone.
    texts: dict[str, str] | None = None
    #: What it tried, step by step, as data for the record.
    trace: dict[str, Any] | None = None
    #: How sure the fix is to be right and why, where something besides the checks says so.
    confidence: Confidence | None = None
    #: Other edits that pass and behave otherwise, for a person to choose from.
    alternatives: tuple[Alternative, ...] = ()


class Fixer(Protocol):
    """One rung of the ladder."""

    @property
    def name(self) -> str:
        """As in the configuration's `order`."""
        ...

    @property
    def trusted(self) -> bool:
        """True if it may edit the files that judge the candidate, as a formatter may."""
        ...

    @property
    def repeatable(self) -> bool:
        """True if asking it a second time may give a different result."""
        ...

    @property
    def side_effect(self) -> bool:
        """True if it acts outside the sandbox, so it must not be fired twice without asking."""
        ...

    def unavailable(self) -> str | None:
        """Return why it cannot be used at all, if it cannot."""
        ...

    def accepts(self, finding: Finding) -> bool:
        """True if it can handle this finding."""
        ...

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Edit the files in the workplace so that the findings go away."""
        ...


@runtime_checkable
class Anticipating(Protocol):
    """A fixer that can begin, before it is asked, with what takes long and changes nothing."""

    def anticipate(self, check: str, workplace: Workplace) -> None:
        """Begin, since a check, by its name, fails or is expected to. Nobody has to ask for it."""

    async def fails_again(
        self, verdict: Verdict, tests: Set[str], workplace: Workplace
    ) -> bool | None:
        """True if all of some tests that failed do so in another process; None if it cannot tell.

        It has to run them anyway, and less is done twice than if the check were run again.
        """
        ...


class Analyst(Protocol):
    """Finds out why an attempt failed, and keeps it for later."""

    @property
    def blocking(self) -> bool:
        """True if that takes long enough to be worth a thread."""
        ...

    def analyse(self, attempt: Attempt, history: History) -> Analysis:
        """Analyse the failures of an attempt, the last of `history`. Asked twice, nothing more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The report of an escalation, and whether anybody was notified."""

    report: str
    channel: str
    delivered: bool
    detail: str


class Escalator(Protocol):
    """Writes the report of an escalation and tells those who are to know."""

    async def escalate(self, escalation: Escalation, history: History) -> Notice:
        """Report on the last attempt of `history`. A failure to tell is in the notice."""
        ...


class Sandbox(Protocol):
    """Where candidates live, each under an id that is the same for the same content."""

    def restore(self, candidate: str) -> None:
        """Make the files exactly those of a candidate."""
        ...

    def snapshot(self) -> str:
        """Keep the files as they are now as a candidate."""
        ...

    def found(self, left: str) -> str:
        """The candidate that the files are now, which were left as another to be looked at."""
        ...

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        """The files in which two candidates differ."""
        ...

    def difference(self, old: str, new: str) -> str:
        """The patch from one candidate to another."""
        ...

    def settle(self, candidate: str, patch: Path) -> str:
        """Leave a candidate as the result, write its patch to a file, and return it as text."""
        ...

    def demand_leaving(self, candidate: str) -> None:
        """Raise RefusedFiles for files that must not be applied."""
        ...

    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        """Make some files, present or absent, those of a candidate again."""
        ...

    def missing(self, files: tuple[str, ...], candidate: str) -> tuple[str, ...]:
        """Return those of `files` that a candidate has not got."""
        ...

    def read(self, file: str, candidate: str) -> bytes | None:
        """Return the content of a file, named from the root, in a candidate, if it is there."""
        ...

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        """Return how many lines were added and removed between two candidates."""
        ...

    def protected(
        self, files: tuple[str, ...], between: tuple[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return the judges among `files`: tests and the configuration of checks.

        Where only a part of a file judges, it counts if that differs `between` two candidates.
        """
        ...

    def content_hash(self, file: str, candidate: str) -> str | None:
        """The SHA-256 of a file of the project's in a candidate, if it is there."""
        ...

    def may_add(self, file: str, candidate: str) -> bool:
        """True if a file is a test that a candidate has not got, so that it may be added."""
        ...

    def workplace(self) -> Workplace:
        """Return where commands on the candidate run."""
        ...
