"""Attempts: a candidate, the verdicts on it, why it failed, and the fix that led on from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtrue.loop.alternatives import Alternative
from runtrue.loop.cause import COVERAGE_UNMET, SECURITY_ISSUE, TESTS_MISSING
from runtrue.loop.finding import Finding, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Why an attempt failed, and what is to be done about it.

    `confidence` is there only where something stands behind it: how often a remembered fix has
    held, or what a model said of its own proposal.
    """

    root_cause: str
    fix_strategy: str | None = None
    confidence: float | None = None
    #: Known failures and fixes of the memory that this one is like, as `runtrue memory show` takes.
    patterns_matched: tuple[str, ...] = ()
    #: What is remembered of those failures: what failed, and the change that fixed it.
    recalled: tuple[str, ...] = ()


#: A fix with a suspicious sign is not surer than this.
SUSPICIOUS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """A probability from 0 to 1, and what it rests on."""

    value: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FixPart:
    """What one fixer contributed: the findings it took on (by fingerprint) and what it did."""

    fixer: str
    findings: tuple[str, ...]
    description: str
    files: tuple[str, ...] = ()
    #: Files it edited that judge the candidate; they were put back as they were.
    restored: tuple[str, ...] = ()
    #: Files outside of the bounds that it edited; because of them none of its edits was kept.
    outside: tuple[str, ...] = ()
    #: Those of them that it only deleted, where it may change them.
    deleted: tuple[str, ...] = ()
    seconds: float = 0.0
    #: Why it gave nothing: the fixer itself failed, for reasons outside of the candidate.
    failure: str | None = None
    #: False if asking it again cannot help: its program or its key is missing.
    transient: bool = True
    #: The seconds after which it may be asked again, where somebody named them.
    retry_after: float | None = None
    #: Why what it proposed was not made or not kept.
    refused: str | None = None
    #: Its own words in one line, for people.
    said: str | None = None
    analysis: Analysis | None = None
    #: What it used up, where that is known: requests, tokens, money.
    usage: dict[str, float] | None = None
    #: What it tried, step by step, where it says so.
    trace: dict[str, Any] | None = None
    #: How sure it is to be right and why, where something besides the checks says so.
    confidence: Confidence | None = None
    #: The candidate after its edits.
    candidate: str = ""
    #: Other edits of its that pass and behave otherwise.
    alternatives: tuple[Alternative, ...] = ()
    #: What its edits have in common with edits that only get around the tests.
    signs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A fixer of the ladder that was passed over, and why."""

    fixer: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One place that a fix changes: who changed it, and the failing tests that need it.

    In place of tests, `tests` names a check that has none of its own, such as a linter.
    """

    file: str
    line: int
    removed: int
    added: int
    fixer: str
    tests: tuple[str, ...] = ()
    needed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A new candidate, and who made it from which one."""

    base: str
    candidate: str
    parts: tuple[FixPart, ...] = ()
    skipped: tuple[Skip, ...] = ()
    #: The checks whose findings it is for.
    checks: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    #: The seconds that were waited before any fixer was asked.
    waited: float = 0.0
    #: The places that it changes, where there are several and it passes.
    hunks: tuple[Hunk, ...] = ()
    #: The diff without the places that no failing test needs, where that is only offered, and the
    #: file of its patch.
    reduced: str = ""
    reduced_patch: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that differ from the base."""
        return tuple(sorted({file for part in self.parts for file in part.files}))

    @property
    def seconds(self) -> float:
        """The time all fixers took together, and the wait before them."""
        return self.waited + sum(part.seconds for part in self.parts)


class Reason(StrEnum):
    """Why a proposed fix was not run."""

    #: No fixer took on any of the findings.
    NO_FIXER = "no_fixer"
    #: It was escalated to fixers stronger than those that tried, and none took it on.
    NOBODY_STRONGER = "nobody_stronger"
    #: A fixer failed for reasons of its own: its program broke, timed out, was refused.
    FIXER_FAILED = "fixer_failed"
    #: The fixers left the candidate as it was.
    UNCHANGED = "unchanged"
    #: The candidate has already been run and failed.
    REPEATED = "repeated"
    #: What was changed lies outside of what the strategy allows.
    OUT_OF_BOUNDS = "out_of_bounds"
    #: All that is not allowed about it is that files were deleted, which a person may approve.
    NEEDS_APPROVAL = "needs_approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A fix that was proposed after attempt `after` and never run."""

    after: int
    fix: Fix
    reason: Reason

    @property
    def is_transient(self) -> bool:
        """True if a fixer that failed may succeed when it is asked again."""
        failed = [part for part in self.fix.parts if part.failure is not None]
        return not failed or any(part.transient for part in failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One execution of the checks on one candidate. The first has no fix: it is the baseline.

    `at` is when it began. `recheck` marks one that ran the same candidate again because of a
    transient fault; it has the number of the attempt that it repeats.
    """

    number: int
    candidate: str
    verdicts: tuple[Verdict, ...]
    fix: Fix | None = None
    recheck: bool = False
    at: float = 0.0
    #: The SHA-256 of the file that the task is about, where it is about one.
    code_hash: str | None = None
    analysis: Analysis | None = None

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """The findings of the required checks that failed."""
        return tuple(f for v in self.verdicts if v.blocks for f in v.findings)

    @property
    def passed(self) -> bool:
        """True if every required check that was run passed."""
        return not any(verdict.blocks for verdict in self.verdicts)

    @property
    def works(self) -> bool:
        """True if all that still blocks was found by gates, on code that passes its checks."""
        gates = (COVERAGE_UNMET, SECURITY_ISSUE, TESTS_MISSING)
        return all(finding.category in gates for finding in self.blocking)

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other fixes that pass as well, and behave otherwise."""
        return next((p.alternatives for p in self._parts if p.alternatives), ())

    @property
    def base_of_alternatives(self) -> str:
        """The candidate that the alternatives are edits of."""
        base = self.fix.base if self.fix else self.candidate
        for part in self._parts:
            if part.alternatives:
                return base
            base = part.candidate or base
        return base

    @property
    def _parts(self) -> tuple[FixPart, ...]:
        return self.fix.parts if self.fix else ()

    def verdict(self, check: str) -> Verdict | None:
        """Return what the named check said, if it was run."""
        return next((v for v in self.verdicts if v.check == check), None)
