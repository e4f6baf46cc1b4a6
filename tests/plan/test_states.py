"""A plan moves by its table, and by nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.errors import PlanError
from runtrue.plan.states import (
    FIRST,
    TRANSITIONS,
    Happening,
    Phase,
    PlanState,
    Position,
    transition,
)

MOVES = [
    (position, happening, after)
    for position, possible in TRANSITIONS.items()
    for happening, after in possible.items()
]
POSITIONS = {FIRST, *TRANSITIONS, *(after for *_, after in MOVES)}


def reachable(start: Position) -> set[Position]:
    found, left = {start}, [start]
    while left:
        for after in TRANSITIONS.get(left.pop(), {}).values():
            if after not in found:
                found.add(after)
                left.append(after)
    return found


def test_every_position_can_be_reached() -> None:
    assert reachable(FIRST) == POSITIONS


def test_every_state_and_every_happening_is_in_the_table() -> None:
    assert {position.state for position in POSITIONS} == set(PlanState)
    assert {happening for _, happening, _ in MOVES} == set(Happening)


@pytest.mark.parametrize("position", sorted(POSITIONS, key=str), ids=str)
def test_nothing_leads_on_from_where_a_plan_has_ended_and_only_from_there(
    position: Position,
) -> None:
    assert (not TRANSITIONS.get(position)) is position.state.is_terminal


@pytest.mark.parametrize("position", sorted(TRANSITIONS, key=str), ids=str)
def test_a_plan_that_has_not_ended_can_be_cancelled_and_stays_in_its_phase(
    position: Position,
) -> None:
    assert transition(position, Happening.CANCELLED) == Position(
        position.phase, PlanState.CANCELLED
    )


@pytest.mark.parametrize("position", sorted(TRANSITIONS, key=str), ids=str)
def test_from_anywhere_a_plan_can_still_be_applied(position: Position) -> None:
    assert Position(Phase.APPLY, PlanState.APPLIED) in reachable(position)


def test_only_what_is_being_applied_becomes_applied() -> None:
    into = [(p, h) for p, h, after in MOVES if after.state is PlanState.APPLIED]
    assert into == [(Position(Phase.APPLY, PlanState.PROCESSING), Happening.APPLIED)]


def test_only_what_was_complete_is_being_applied() -> None:
    applying = Position(Phase.APPLY, PlanState.PROCESSING)
    into = [(p, h) for p, h, after in MOVES if after == applying]
    assert into == [(Position(Phase.APPLY, PlanState.COMPLETE), Happening.STARTED)]


def test_nothing_becomes_complete_but_what_was_validated() -> None:
    into = {(p, h) for p, h, after in MOVES if after.state is PlanState.COMPLETE}
    assert into == {
        (Position(Phase.EXECUTE, PlanState.PROCESSING), Happening.VALIDATED),
        # It was complete before: see above.
        (Position(Phase.APPLY, PlanState.PROCESSING), Happening.REFUSED),
    }


def test_what_is_changed_after_it_was_complete_is_validated_again() -> None:
    complete = Position(Phase.APPLY, PlanState.COMPLETE)
    changed = transition(complete, Happening.CHANGED)
    assert changed == Position(Phase.EXECUTE, PlanState.PROCESSING)


def test_nothing_is_executed_without_a_strategy() -> None:
    into = {(p.phase, h) for p, h, after in MOVES if after.phase is Phase.EXECUTE != p.phase}
    assert into == {
        (Phase.STRATEGIZE, Happening.STRATEGIZED),
        (Phase.APPLY, Happening.CHANGED),
    }


@pytest.mark.parametrize("phase", [Phase.STRATEGIZE, Phase.EXECUTE])
def test_a_plan_that_waits_goes_on_where_it_paused(phase: Phase) -> None:
    processing = Position(phase, PlanState.PROCESSING)
    waiting = transition(processing, Happening.PAUSED)
    assert waiting == Position(phase, PlanState.WAITING)
    assert transition(waiting, Happening.ANSWERED) == processing


@given(st.lists(st.sampled_from(Happening)))
def test_whatever_happens_a_plan_moves_within_the_table_or_stays(
    happenings: list[Happening],
) -> None:
    position = FIRST
    has_passed = False
    for happening in happenings:
        possible = dict(TRANSITIONS.get(position, {}))
        if happening not in possible:
            with pytest.raises(PlanError) as caught:
                transition(position, happening)
            message = str(caught.value)
            assert all(word in message for word in (str(position), happening, *possible))
            assert dict(TRANSITIONS.get(position, {})) == possible
            continue
        after = transition(position, happening)
        assert possible[happening] == after
        position = after
        if happening in (Happening.VALIDATED, Happening.CHANGED):
            has_passed = happening is Happening.VALIDATED
        if position.state in (PlanState.COMPLETE, PlanState.APPLIED):
            assert has_passed
    assert position in POSITIONS


def test_what_cannot_happen_is_said_with_what_can() -> None:
    with pytest.raises(PlanError) as caught:
        transition(Position(Phase.APPLY, PlanState.APPLIED), Happening.STARTED)
    assert str(caught.value) == (
        "a plan in state apply/applied cannot be started; allowed now: nothing"
    )
    with pytest.raises(PlanError, match=r"allowed now: cancelled, started$"):
        transition(FIRST, Happening.APPLIED)
