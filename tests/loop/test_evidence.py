"""What speaks for a fix: its fixer's record, tests that turned green, and nothing suspicious."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtrue.flow import RunState
from runtrue.loop import (
    Action,
    Confidence,
    FixPart,
    History,
    Outcome,
    Policy,
    Why,
    confidence_in,
    decide,
    turned_green,
)
from tests.loop.make import answer, attempt, finding, fix, history, verdict

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


def repaired(by: str = "agent", *, green: int = 1, **part: object) -> History:
    """A history in which one fix turned so many tests green."""
    names = [f"test_it.py::test_{number}" for number in range(green)]
    made = fix("c2", "c1")
    parts = (
        FixPart(fixer=by, findings=(), description="", files=("a.py",), **part),  # type: ignore[arg-type]
    )
    return history(
        attempt(1, verdict(finding(), cases=dict.fromkeys(names, FAILED))),
        attempt(2, verdict(cases=dict.fromkeys(names, PASSED)), fix=replace(made, parts=parts)),
    )


def sure(happened: History) -> float:
    found = confidence_in(happened, happened.latest)
    assert found is not None
    return found.value


def test_what_nobody_fixed_has_no_confidence() -> None:
    passing = history(attempt(1))
    assert confidence_in(passing, passing.latest) is None


def test_the_more_tests_turn_green_the_surer_is_an_agents_edit() -> None:
    values = [sure(repaired(green=count)) for count in (1, 2, 5, 100)]
    assert values == sorted(set(values))
    assert values[0] >= Policy().confidence_floor
    assert values[-1] < 1
    assert len(turned_green(repaired(green=5), repaired(green=5).latest)) == 5


def test_a_fixers_own_record_counts_and_not_what_a_model_says() -> None:
    told = Confidence(value=0.42, reason="3 other edits would pass")
    happened = repaired("search", confidence=told)
    assert confidence_in(happened, happened.latest) == told
    assert sure(repaired("model")) == sure(repaired("agent"))


def test_an_edit_by_a_person_is_sure() -> None:
    assert sure(repaired("human")) == 1.0


def test_a_suspicious_edit_is_never_above_half_whoever_made_it() -> None:
    for by in ("agent", "model", "memory", "search"):
        told = Confidence(value=0.95, reason="it held 20 of 20 times")
        happened = repaired(by, green=50, confidence=told, signs=("a.py is emptied",))
        found = confidence_in(happened, happened.latest)
        assert found is not None
        assert found.value < 0.5
        assert "a.py is emptied" in found.reason


UNSURE = repaired("search", confidence=Confidence(value=0.4, reason="6 others would pass"))


def test_below_the_floor_a_person_is_asked() -> None:
    decision = decide(Policy(), UNSURE)
    assert (decision.action, decision.why, decision.status) == (Action.ASK, Why.UNSURE, None)
    assert decide(Policy(confidence_floor=0.4), UNSURE).why is Why.PASSED
    assert decide(Policy(confidence_floor=0.0), UNSURE).status is RunState.PASSED


@pytest.mark.parametrize(
    ("said", "action", "why", "status"),
    [
        ("yes", Action.ACCEPT, Why.AGREED, RunState.PASSED),
        (" Accept ", Action.ACCEPT, Why.AGREED, RunState.PASSED),
        ("no", Action.STOP, Why.DECLINED, RunState.FAILED),
        ("I do not know", Action.STOP, Why.DECLINED, RunState.FAILED),
        ("", Action.STOP, Why.DECLINED, RunState.FAILED),
    ],
)
def test_only_a_yes_makes_an_unsure_fix_pass(
    said: str, action: Action, why: Why, status: RunState
) -> None:
    asked = replace(UNSURE, answers=(answer(2, text=said),))
    decision = decide(Policy(), asked)
    assert (decision.action, decision.why, decision.status) == (action, why, status)


def test_a_yes_to_an_earlier_candidate_is_none_to_this_one() -> None:
    asked = replace(UNSURE, answers=(answer(1, text="yes"),))
    assert decide(Policy(), asked).why is Why.UNSURE
