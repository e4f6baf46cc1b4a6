"""Events of the repair cycle: attempts, checks, fixers and escalations."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from runtrue.flow import Event
from runtrue.loop.decide import Action, Why
from runtrue.loop.escalation import Condition, Response
from runtrue.loop.finding import Finding, Mode


class AttemptStarted(Event):
    """A candidate is about to be checked."""

    number: int
    limit: int


class CheckStarted(Event):
    """A check begins."""

    check: str


class CheckRepeated(Event):
    """A check runs again, since its failure may be chance."""

    check: str


class CheckFinished(Event):
    """A check gave its verdict: how much failed, and the first of its findings."""

    number: int
    check: str
    mode: Mode
    passed: bool
    findings: int
    shown: tuple[Finding, ...]
    cases: int
    flaky: tuple[str | None, ...]
    known: int
    failed_cases: int
    seconds: float
    #: Only the cases that are to be fixed were run.
    partial: bool = False


class FixAttempted(Event):
    """Fixers are asked to fix the findings of some checks."""

    checks: tuple[str, ...]
    findings: int


class BackingOff(Event):
    """The loop waits before the next fix; `why` is set where a fixer that failed is the reason."""

    seconds: float
    why: str | None = None


class FixerStarted(Event):
    """A fixer begins."""

    fixer: str
    findings: int


class FixerFinished(Event):
    """A fixer has edited the candidate, or failed to."""

    fixer: str
    files: tuple[str, ...]
    #: Files it edited and must not edit; its edits were undone.
    restored: tuple[str, ...]
    outside: tuple[str, ...]
    failure: str | None
    tried: str | None
    refused: str | None = None
    said: str | None = None


class FixExhausted(Event):
    """No budget is left for another fix; a plan also says for which step."""

    step: str | UnsetType | None = UNSET
    action: Action | UnsetType = UNSET
    why: Why
    fixes: dict[str, int] | UnsetType = UNSET
    findings: tuple[Finding, ...] | UnsetType = UNSET
    needed: tuple[str, ...] | UnsetType = UNSET


class Escalated(Event):
    """A person is to look at what happened: as the policy says, or since the loop cannot go on."""

    condition: Condition | None
    action: Response
    why: str | UnsetType = UNSET
