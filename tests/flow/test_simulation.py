"""Two drivers, a crash, a late waker and an answer, at every interleaving of journal operations."""

from __future__ import annotations

from pathlib import Path

from runtrue.flow import RunState
from tests.flow.simulation import Explorer, World


def _check(world: World) -> None:
    """Go on to the end as the next process does, and look at what came of it all."""
    is_lost = "first" not in world.alive
    world.alive.clear()
    journal = world.journal
    waits = journal.find(world.run_id).state is RunState.WAITING
    assert not (waits and world.answered), "the answer is lost"
    world.drive("last")(journal)
    if journal.open_question(world.run_id) is not None:
        assert not world.answered, "the answer is lost"
        journal.answer(world.run_id, "yes")
        world.drive("last")(journal)
    run, cut_off = journal.find(world.run_id), journal.begun(world.run_id)
    questions = journal.questions(world.run_id)
    assert len(questions) == 1
    assert len(world.fired) <= 1, f"driven twice: {world.fired}"
    if cut_off:
        # Only who died, or was taken for dead, in the middle leaves a person to settle it.
        assert not run.is_over
        assert is_lost
    else:
        assert run.result == {"answer": "yes"}, run
        assert len(world.fired) == 1


def test_at_every_interleaving_no_answer_is_lost_and_no_step_is_driven_twice(
    tmp_path: Path,
) -> None:
    explorer = Explorer(tmp_path)
    explorer.explore(_check)
    assert len(explorer.states) > 100, "the simulation explores nothing"
