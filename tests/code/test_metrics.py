"""The metrics: what a run says of them, and what many runs come to."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.code import Facts, metrics_of, periods_of
from runtrue.code.metrics import facts_of
from runtrue.flow import RunState
from runtrue.loop import (
    Action,
    Attempt,
    Condition,
    Decision,
    Escalation,
    Fault,
    Finding,
    Fix,
    FixPart,
    History,
    Mode,
    Response,
    Trigger,
    Verdict,
    Why,
)

GOOD = Facts(
    attempts=1,
    passed=True,
    passed_at_once=True,
    escalated=False,
    reused_memory=None,
    coverage_met=True,
)
BAD = replace(
    GOOD,
    attempts=3,
    passed=False,
    passed_at_once=False,
    escalated=True,
    reused_memory=False,
    coverage_met=False,
)
TARGETS = {
    "first_attempt_pass_rate": (0.70, "more"),
    "average_attempts": (2.0, "less"),
    "escalation_rate": (0.10, "less"),
    "debug_memory_reuse": (0.30, "more"),
    "coverage_met_rate": (0.90, "more"),
}


def test_the_five_have_the_targets_of_the_seed() -> None:
    told = [metric.to_dict() for metric in metrics_of([GOOD])]
    targets = {one["name"]: (one["target"], one["better"]) for one in told}
    assert targets.pop("success_rate") == (0.90, "more")
    assert targets == TARGETS


def test_few_attempts_that_do_not_pass_are_no_success() -> None:
    gave_up = replace(BAD, attempts=1)
    met = {metric.name: metric.met for metric in metrics_of([GOOD, gave_up])}
    assert (met["average_attempts"], met["success_rate"]) == (True, False)


def test_what_no_run_tells_is_not_known_and_neither_met_nor_missed() -> None:
    assert {(m.value, m.met, m.runs) for m in metrics_of([])} == {(None, None, 0)}
    reuse = metrics_of([GOOD])[4]
    assert (reuse.name, reuse.value, reuse.met) == ("debug_memory_reuse", None, None)


def test_values_are_means_over_the_runs_that_tell_something() -> None:
    values = {m.name: (m.value, m.runs) for m in metrics_of([GOOD, GOOD, GOOD, BAD])}
    assert values == {
        "first_attempt_pass_rate": (0.75, 4),
        "success_rate": (0.75, 4),
        "average_attempts": (1.5, 4),
        "escalation_rate": (0.25, 4),
        "debug_memory_reuse": (0.0, 1),
        "coverage_met_rate": (0.75, 4),
    }


@pytest.mark.parametrize(
    ("good", "bad", "met"),
    [(7, 3, False), (71, 29, True)],  # more than 70 %, not 70 %
)
def test_a_target_is_met_beyond_it(good: int, bad: int, met: bool) -> None:
    assert metrics_of([GOOD] * good + [BAD] * bad)[0].met is met


# -- the facts of one run -----------------------------------------------------------------------

_FINDING = Finding(source="tests", category="E", message="no", fault=Fault.CANDIDATE)


def _attempt(number: int, *, passed: bool, fixer: str | None = None) -> Attempt:
    fix = (
        Fix(
            candidate=f"c{number}",
            base=f"c{number - 1}",
            added=1,
            removed=1,
            parts=(FixPart(fixer=fixer, findings=(), description="", files=("a.py",)),),
        )
        if fixer
        else None
    )
    verdict = Verdict(
        check="tests",
        mode=Mode.REQUIRED,
        passed=passed,
        findings=() if passed else (_FINDING,),
    )
    return Attempt(number=number, candidate=f"c{number}", verdicts=(verdict,), fix=fix)


def _decision(candidate: str, *, accepted: bool) -> Decision:
    return Decision(
        action=Action.ACCEPT if accepted else Action.STOP,
        why=Why.PASSED if accepted else Why.ATTEMPTS_SPENT,
        candidate=candidate,
        status=RunState.PASSED if accepted else RunState.FAILED,
    )


@pytest.mark.parametrize(
    ("fixers", "accepted", "reused"),
    [
        ([], True, None),
        (["memory"], True, True),
        (["tool"], True, False),
        (["memory", "tool"], True, True),  # what was accepted is built on it
        (["memory"], False, False),  # tried and not verified
    ],
)
def test_memory_is_reused_when_a_verified_pass_follows(
    fixers: list[str], accepted: bool, reused: bool | None
) -> None:
    last = len(fixers) + 1
    attempts = [
        _attempt(n, passed=accepted and n == last, fixer=fixers[n - 2] if n > 1 else None)
        for n in range(1, last + 1)
    ]
    history = History(attempts=tuple(attempts))
    decision = _decision(f"c{last}", accepted=accepted)
    facts = facts_of(history, decision)
    assert (facts.attempts, facts.passed, facts.reused_memory) == (last, accepted, reused)
    assert facts.passed_at_once is (not fixers)
    assert facts_of(history, decision, repairs=False).reused_memory is None


@pytest.mark.parametrize(
    ("action", "escalated"),
    [
        (Response.HUMAN_REVIEW, True),
        (Response.ABORT_WITH_REPORT, True),
        (Response.SENIOR_AGENT, False),
    ],
)
def test_a_run_is_escalated_when_it_is_left_to_a_person(action: Response, escalated: bool) -> None:
    trigger = Trigger(condition=Condition.MAX_ATTEMPTS_REACHED, action=action)
    history = History(
        attempts=(_attempt(1, passed=False),),
        escalations=(Escalation(trigger=trigger, attempts=1, rejections=0),),
    )
    assert facts_of(history, _decision("c1", accepted=False)).escalated is escalated


@pytest.mark.parametrize(
    ("passed", "coverage", "met"),
    [(True, {"a.py": (9, 10)}, True), (False, {"a.py": (1, 10)}, False), (True, None, False)],
)
def test_coverage_that_is_not_known_is_not_met(
    passed: bool, coverage: dict[str, tuple[int, int]] | None, met: bool
) -> None:
    attempt = _attempt(1, passed=True)
    gate = Verdict(check="coverage", mode=Mode.REQUIRED, passed=passed, coverage=coverage)
    history = History(attempts=(replace(attempt, verdicts=(*attempt.verdicts, gate)),))
    assert facts_of(history, None).coverage_met is met
    assert facts_of(History(attempts=(attempt,)), None).coverage_met is None


# -- over time ----------------------------------------------------------------------------------

_DAY = 86_400.0


@given(st.lists(st.floats(0, 20 * 365 * _DAY), min_size=1, max_size=60), st.integers(1, 40))
def test_every_run_is_in_one_period_and_periods_follow_one_another(
    times: list[float], most: int
) -> None:
    periods = periods_of([(at, GOOD) for at in times], most=max(most, 22))
    assert len(periods) <= max(most, 22)
    assert sum(period.runs for period in periods) == len(times)
    assert periods[0].runs
    assert periods[-1].runs
    for before, after in pairwise(periods):
        assert after.start == pytest.approx(before.start + before.seconds)


def test_a_period_without_runs_has_no_values() -> None:
    first, empty, last = periods_of([(0.0, GOOD), (2 * 3600.0, BAD)])
    assert (first.metrics[0].value, empty.metrics[0].value, last.metrics[0].value) == (1, None, 0)
    assert periods_of([]) == ()
