"""What a plan waits for, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.flow import Journal, Owner, RunState
from runtrue.loop import EXPIRED
from runtrue.plan import Wanted, expire, wanted_by


def parked(journal: Journal, question: dict[str, Any], *, within: float) -> str:
    """The id of a plan that waits for the answer to a question."""
    run_id = journal.create("plan", "a plan", {"profile": {"answer_within": within}})
    claim = journal.claim(run_id, Owner.this_process())
    journal.ask(claim, 0, question)
    journal.park(claim, 0)
    return run_id


@pytest.mark.parametrize(
    ("question", "wanted", "for_people"),
    [
        (None, None, False),
        ({"begin": True}, Wanted.BEGIN, False),
        ({"offer": True, "diff": ""}, Wanted.APPLY, False),
        ({"approve": "strategy"}, Wanted.APPROVAL, True),
        ({"approve": "revision", "findings": []}, Wanted.APPROVAL, True),
        ({"guide": "strategy", "why": "no"}, Wanted.GUIDANCE, True),
        ({"why": "no_fixer", "findings": []}, Wanted.GUIDANCE, True),
    ],
)
def test_only_what_a_person_has_to_think_about_runs_out(
    question: dict[str, Any] | None,
    wanted: Wanted | None,
    for_people: bool,
    journal: Journal,
) -> None:
    assert wanted_by(question) is wanted
    if question is not None:
        run = journal.find(parked(journal, question, within=0))
        assert expire(journal, run) is for_people
        answers = [one.answer for one in journal.questions(run.id)]
        assert answers == [EXPIRED if for_people else None]


def test_a_plan_waits_as_long_as_its_profile_says(journal: Journal) -> None:
    run = journal.find(parked(journal, {"why": "no_fixer"}, within=3_600))
    assert not expire(journal, run)
    assert journal.find(run.id).state is RunState.WAITING


def test_of_several_who_look_one_gives_up_waiting(journal: Journal) -> None:
    run = journal.find(parked(journal, {"why": "no_fixer"}, within=0))
    assert expire(journal, run)
    assert not expire(journal, run)


def test_a_question_that_is_asked_later_is_not_answered_for_an_earlier_one(
    journal: Journal,
) -> None:
    before = journal.find(parked(journal, {"why": "no_fixer"}, within=0))
    journal.answer(before.id, "go on")
    claim = journal.claim(before.id, Owner.this_process())
    journal.ask(claim, 1, {"begin": True})
    journal.park(claim, 1)
    assert not expire(journal, before)
