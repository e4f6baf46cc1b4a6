"""The workshop: what a repair works with, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtrue.loop.attempt import Fix, Skip
from runtrue.loop.bounds import Bounds
from runtrue.loop.decide import Decision
from runtrue.loop.history import History
from runtrue.loop.known import Known
from runtrue.loop.policy import Policy
from runtrue.loop.redact import Redact
from runtrue.loop.seams import Analyst, Check, Escalator, Fixer, Gate, Notice, Sandbox
from runtrue.redaction import Redactor

_NOTHING_HIDDEN = Redactor()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What one loop's cycle works with. A rung with nothing on it says why."""

    sandbox: Sandbox
    checks: tuple[Check, ...]
    ladder: tuple[Fixer | Skip, ...]
    policy: Policy
    gates: tuple[Gate, ...] = ()
    analyst: Analyst | None = None
    escalator: Escalator | None = None
    #: The file that the task is about, where it is about one.
    artifact: str | None = None
    #: What was asked for, where something was, and the documents that it names.
    requirement: str | None = None
    documents: tuple[str, ...] = ()
    #: The tests that the task is about, where that is not all of them.
    tests: tuple[str, ...] = ()
    #: What is done about the findings that a check had before, by its name. Of a check that is not
    #: named here, whatever it finds counts.
    known: Mapping[str, Known] = field(default_factory=dict)
    #: Takes out of what checks and fixers say what must not be kept, shown or sent.
    redact: Redact = _NOTHING_HIDDEN
    #: Whether a check has anything to say about a change to some files; by default all have.
    concerns: Callable[[Check, tuple[str, ...]], bool] = field(default=lambda check, files: True)
    #: The file for the patch of a fix that a person is asked about, where there is to be one.
    patch: Path | None = None
    #: Whether the first candidate is expected to fail: a fixer may begin while it is checked.
    expects_failure: bool = False

    @property
    def fixers(self) -> tuple[Fixer, ...]:
        """The rungs that hold a fixer."""
        return tuple(rung for rung in self.ladder if not isinstance(rung, Skip))


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A fix that a person is asked about: its diff, the file of that, and where it can be seen."""

    diff: str
    patch: str | None
    sandbox: str


@dataclass(slots=True, kw_only=True)
class RepairState:
    """How far a repair is. It depends on recorded steps alone, so that a replay brings it back."""

    #: What is checked next, or was last decided on.
    candidate: str = ""
    history: History = field(default_factory=History)
    decision: Decision | None = None
    #: The fix that made the candidate, until it is checked.
    fix: Fix | None = None
    notices: tuple[Notice, ...] = ()
    #: The fix that a person was last asked about, if one was.
    offer: Offer | None = None
    #: The part of a plan's strategy that is carried out: the bounds of a fix, the candidate before
    #: it (only checks that watch what changed since are run), the one that the plan began with,
    #: the command that made it, and what paths of the project begin with as seen from the root.
    bounds: Bounds | None = None
    since: str | None = None
    origin: str | None = None
    redo: str | None = None
    prefix: str = ""

    @property
    def last_decision(self) -> Decision:
        """The decision, which there is as soon as anything was checked."""
        assert self.decision is not None  # noqa: S101 - `repair` decides before it returns
        return self.decision


def readable(files: tuple[str, ...]) -> tuple[str, ...]:
    """File names for the record, which holds text: bytes that are none are replaced."""
    return tuple(name.encode("utf-8", "surrogateescape").decode(errors="replace") for name in files)
