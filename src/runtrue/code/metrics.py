"""Metrics: how well the loop does, over the runs that the journal holds.

The five of the seed with their targets, and the share of runs that passed: few attempts are good
only where they succeed. A metric that no run says anything about is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runtrue.loop import Action, Decision, History, Response

#: The fixer whose fixes come out of the debug memory.
_MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What one run says about the metrics; None where it says nothing."""

    attempts: int
    passed: bool
    #: Whether the very first attempt passed everything.
    passed_at_once: bool
    escalated: bool
    #: Of a run that needed a fix: whether a verified pass came of a remembered one.
    reused_memory: bool | None
    coverage_met: bool | None


def facts_of(history: History, decision: Decision | None, *, repairs: bool = True) -> Facts:
    """The facts of a run that has come to its end.

    One that never repairs anything, as a gate does not, says nothing about how it was repaired.
    """
    attempts = [attempt for attempt in history.attempts if not attempt.recheck]
    accepted = decision is not None and decision.action is Action.ACCEPT
    human = (Response.HUMAN_REVIEW, Response.ABORT_WITH_REPORT)
    failed_once = any(not attempt.passed for attempt in attempts)
    return Facts(
        attempts=len(attempts),
        passed=accepted,
        passed_at_once=bool(attempts) and attempts[0].passed,
        escalated=any(e.trigger.action in human for e in history.escalations),
        reused_memory=accepted and _reused(history, decision) if failed_once and repairs else None,
        coverage_met=_coverage_met(history),
    )


def _reused(history: History, decision: Decision | None) -> bool:
    """True if a remembered fix is part of what was accepted."""
    made = {attempt.candidate: attempt.fix for attempt in history.attempts if attempt.fix}
    candidate = decision.candidate if decision else ""
    seen: set[str] = set()
    while candidate in made and candidate not in seen:
        seen.add(candidate)
        fix = made[candidate]
        if any(part.fixer == _MEMORY and part.files for part in fix.parts):
            return True
        candidate = fix.base
    return False


def _coverage_met(history: History) -> bool | None:
    """True if the coverage was enough when it was last judged; what was not known is not met."""
    verdicts = [v for a in history.attempts for v in a.verdicts if v.check == "coverage"]
    return verdicts[-1].passed and verdicts[-1].coverage is not None if verdicts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric: its value over all runs that say something about it, and its target."""

    name: str
    value: float | None
    target: float
    #: Whether more is better.
    upward: bool
    runs: int
    purpose: str

    @property
    def met(self) -> bool | None:
        """True if the target is met; None when nothing is known."""
        if self.value is None:
            return None
        return self.value > self.target if self.upward else self.value < self.target

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "name": self.name,
            "value": self.value,
            "target": self.target,
            "better": "more" if self.upward else "less",
            "met": self.met,
            "runs": self.runs,
            "purpose": self.purpose,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The metrics over the runs that ended in one stretch of time, from `start` on."""

    start: float
    seconds: float
    runs: int
    metrics: tuple[Metric, ...]


Take = Callable[[Facts], float | None]


def _flag(value: bool | None) -> float | None:
    return None if value is None else float(value)


#: Name, target, whether more is better, what it tells, and what a run contributes.
_METRICS: tuple[tuple[str, float, bool, str, Take], ...] = (
    (
        "first_attempt_pass_rate",
        0.70,
        True,
        "code generation quality",
        lambda f: _flag(f.passed_at_once),
    ),
    ("success_rate", 0.90, True, "runs that passed", lambda f: _flag(f.passed)),
    ("average_attempts", 2.0, False, "iteration efficiency", lambda f: float(f.attempts)),
    ("escalation_rate", 0.10, False, "self-sufficiency", lambda f: _flag(f.escalated)),
    ("debug_memory_reuse", 0.30, True, "learning effectiveness", lambda f: _flag(f.reused_memory)),
    ("coverage_met_rate", 0.90, True, "test completeness", lambda f: _flag(f.coverage_met)),
)


def metrics_of(facts: Sequence[Facts]) -> tuple[Metric, ...]:
    """The metrics over some runs."""
    found = []
    for name, target, upward, purpose, take in _METRICS:
        values = [value for one in facts if (value := take(one)) is not None]
        found.append(
            Metric(
                name=name,
                value=sum(values) / len(values) if values else None,
                target=target,
                upward=upward,
                runs=len(values),
                purpose=purpose,
            )
        )
    return tuple(found)


_HOUR = 3600.0
#: How long a period may be: an hour, a day, a week, four weeks, and about a year.
_LENGTHS = (_HOUR, 24 * _HOUR, 168 * _HOUR, 672 * _HOUR, 8766 * _HOUR)


def periods_of(facts: Sequence[tuple[float, Facts]], *, most: int = 30) -> tuple[Period, ...]:
    """The metrics over time: at most so many periods, of one length, the empty ones included.

    Each fact comes with the time at which its run ended.
    """
    if not facts:
        return ()
    first, last = min(at for at, _ in facts), max(at for at, _ in facts)
    length = next(
        (length for length in _LENGTHS if last // length - first // length < most), _LENGTHS[-1]
    )
    begin, end = int(first // length), int(last // length)
    inside: dict[int, list[Facts]] = {number: [] for number in range(begin, end + 1)}
    for at, one in facts:
        inside[int(at // length)].append(one)
    return tuple(
        Period(start=number * length, seconds=length, runs=len(some), metrics=metrics_of(some))
        for number, some in inside.items()
    )
