"""The fix-then-revalidate loop (seed 003), with actors and validations in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.flow import Journal
from runtrue.loop import Bounds, History, Policy, Reason, Revise, Why
from runtrue.plan.progress import StepState
from tests.loop.workshop import Edit, Files, Killed, MemoryFixer, MemorySandbox, nothing, write
from tests.plan.orchestra import (
    AUTO,
    POLICY,
    MemoryStrategist,
    Orchestra,
    fail,
    orchestra,
    same,
    spent,
    wants,
    widen,
)

WRONG = {"a.py": "no", "b.py": "yes"}
TESTS = ("tests", wants("tests", a="yes"))
LINT = ("lint", wants("lint", b="yes"))


def actor(*edits: Edit) -> Callable[[MemorySandbox], list[MemoryFixer]]:
    """One fixer, which makes these edits."""
    return lambda sandbox: [MemoryFixer(sandbox, "actor", list(edits))]


def wrongly() -> list[Edit]:
    """Edits that mend nothing, each in another way."""
    return [write(a=f"no {n}") for n in range(20)]


class TestSelfFix:
    def test_a_required_failure_is_fixed_and_validated_again(self, journal: Journal) -> None:
        loop = orchestra(journal, WRONG, TESTS, edits=actor(write(a="yes")))
        plan = loop.drive()
        progress = plan.progress
        assert progress.states == {"s1": StepState.DONE}
        assert progress.proved == {"tests": plan.candidate}
        assert spent(plan).fixes == {"tests": 1}
        assert loop.told("fix_succeeded")[0]["fixes"] == {"tests": 1}

    def test_the_actor_is_given_message_and_data_of_the_validation(self, journal: Journal) -> None:
        loop = orchestra(journal, WRONG, TESTS, edits=actor(write(a="yes")))
        loop.drive()
        (fixer,) = loop.fixers
        assert isinstance(fixer, MemoryFixer)
        (task,) = fixer.tasks
        assert [finding.message for finding in task.findings] == ["a does not say yes"]
        assert task.findings[0].location.file == "a.py"
        assert task.commands == ("run tests",)

    def test_the_failing_validation_comes_first_and_then_every_other(
        self, journal: Journal
    ) -> None:
        loop = orchestra(
            journal, WRONG, LINT, TESTS, edits=actor(write(a="still not"), write(a="yes"))
        )
        loop.drive()
        log = loop.checks[0].log
        assert log == ["lint", "tests", "tests", "tests", "lint"]

    def test_a_fix_that_breaks_another_validation_is_counted_and_not_accepted(
        self, journal: Journal
    ) -> None:
        edits = actor(write(a="yes", b="no"), write(b="yes"))
        loop = orchestra(journal, WRONG, TESTS, LINT, edits=edits)
        plan = loop.drive()
        assert loop.sandbox.kept[plan.candidate] == {"a.py": "yes", "b.py": "yes"}
        assert spent(plan).fixes == {"tests": 1, "lint": 1}
        attempts = plan.progress.chapters[0].history.attempts
        assert [attempt.passed for attempt in attempts] == [False, False, True]

    def test_informational_failures_are_recorded_and_start_no_fix(self, journal: Journal) -> None:
        style = ("style", wants("style", b="beautiful"))
        loop = orchestra(
            journal, {"a.py": "yes"}, TESTS, edits=actor(write(a="x")), informational=[style]
        )
        plan = loop.drive()
        (chapter,) = plan.progress.chapters
        assert [(v.check, v.passed) for v in chapter.history.latest.verdicts] == [
            ("tests", True),
            ("style", False),
        ]
        assert spent(plan).fixes == {}


class TestRetryLimit:
    def test_by_default_three_fixes_are_tried_for_a_validation(self, journal: Journal) -> None:
        loop = orchestra(journal, WRONG, TESTS, edits=actor(*wrongly()))
        assert loop.question()["why"] == Why.ATTEMPTS_SPENT
        assert len(loop.checks[0].log) == 4
        assert [told["checks"] for told in loop.told("fix_attempted")] == 3 * [["tests"]]
        assert len(loop.told("fix_exhausted")) == len(loop.told("escalated")) == 1

    @pytest.mark.parametrize("limit", [0, 1, 5])
    def test_the_limit_is_the_policy_s(self, limit: int, journal: Journal) -> None:
        policy = replace(POLICY, retry_limit=limit)
        loop = orchestra(journal, WRONG, TESTS, edits=actor(*wrongly()), policy=policy)
        assert loop.question()["why"] == Why.ATTEMPTS_SPENT
        assert len(loop.checks[0].log) == 1 + limit

    def test_each_validation_has_a_limit_of_its_own(self, journal: Journal) -> None:
        edits = [write(a="no 1"), write(a="no 2"), write(a="yes", b="no"), write(b="yes")]
        plan = orchestra(journal, WRONG, TESTS, LINT, edits=actor(*edits)).drive()
        assert spent(plan).fixes == {"tests": 3, "lint": 1}

    def test_what_was_tried_before_a_crash_still_counts(self, journal: Journal) -> None:
        def dies(files: Files) -> None:
            raise Killed

        edits = [write(a="no 1"), dies, write(a="no 2"), write(a="no 3"), write(a="no 4")]
        loop = orchestra(journal, WRONG, TESTS, edits=actor(*edits))
        with pytest.raises(Killed):
            loop.drive()
        assert loop.question()["why"] == Why.ATTEMPTS_SPENT
        assert len(loop.checks[0].log) == 4

    def test_guidance_is_recorded_and_opens_a_fresh_budget(self, journal: Journal) -> None:
        edits = [*wrongly()[:4], write(a="yes")]
        loop = orchestra(journal, WRONG, TESTS, edits=actor(*edits))
        loop.question()
        loop.answer({"text": "say yes"})
        plan = loop.drive()
        assert plan.progress.guidance() == ("say yes",)
        assert spent(plan).fixes == {"tests": 2}

    def test_money_that_is_spent_ends_the_plan(self, journal: Journal) -> None:
        policy = replace(AUTO, max_cost=0.2)
        loop = orchestra(journal, WRONG, TESTS, edits=actor(*wrongly()), policy=policy)
        plan = loop.drive()  # the revision that failed was the last that could be paid
        assert plan.last_decision.why is Why.MONEY_SPENT
        assert plan.progress.states == {"s1": StepState.FAILED}


class TestBounds:
    BOUNDS = Bounds(paths=("a.py",))
    OUTSIDE = staticmethod(write(a="yes", model="too"))

    @classmethod
    def orchestra(cls, journal: Journal, *edits: Edit, **given: Any) -> Orchestra:
        """A plan whose edit, if no others are given, goes beyond its bounds."""
        given = {"bounds": cls.BOUNDS, **given}
        return orchestra(journal, WRONG, TESTS, edits=actor(*(edits or (cls.OUTSIDE,))), **given)

    def test_a_change_outside_of_the_bounds_is_not_kept_and_its_paths_are_told(
        self, journal: Journal
    ) -> None:
        loop = self.orchestra(journal)
        assert loop.question()["why"] == Why.OUT_OF_BOUNDS
        assert loop.sandbox.files == WRONG

    def test_the_strategy_is_revised_with_the_paths_that_were_needed(
        self, journal: Journal
    ) -> None:
        strategist = MemoryStrategist([widen])
        loop = self.orchestra(journal, policy=AUTO, strategist=strategist)
        plan = loop.drive()
        (task,) = strategist.tasks
        assert task.needed == ("model.py",)
        assert task.subtree is not None
        assert task.subtree.id == "s1"
        assert loop.sandbox.kept[plan.candidate]["model.py"] == "too"
        assert loop.told("strategy_revised")

    def test_without_automatic_revision_a_person_is_asked_and_then_it_is_revised(
        self, journal: Journal
    ) -> None:
        loop = self.orchestra(journal)
        loop.question()
        loop.answer({"text": "yes"})
        plan = loop.drive()
        assert loop.sandbox.kept[plan.candidate]["model.py"] == "too"

    def test_what_a_person_allows_is_allowed_whatever_they_say(self, journal: Journal) -> None:
        loop = self.orchestra(journal)
        loop.question()
        loop.answer({"text": "go on", "allow": ["model.py"]})
        assert loop.drive().progress.states == {"s1": StepState.DONE}

    @pytest.mark.parametrize("said", ["no, stay where you are", "never change model.py"])
    @pytest.mark.parametrize("policy", [POLICY, AUTO])
    def test_what_a_person_does_not_allow_stays_out(
        self, said: str, policy: Policy, journal: Journal
    ) -> None:
        policy, strategist = replace(policy, unasked=False), MemoryStrategist([fail])
        loop = self.orchestra(journal, policy=policy, strategist=strategist)
        loop.question()
        loop.answer({"text": said})
        for _ in range(4):
            assert loop.question()["why"] in (Why.OUT_OF_BOUNDS, Why.UNASKED)
            assert loop.sandbox.files == WRONG
            loop.answer({"text": said})

    def test_what_is_allowed_holds_for_fixes_as_well(self, journal: Journal) -> None:
        loop = self.orchestra(journal, *wrongly()[:3], self.OUTSIDE)
        assert loop.question()["why"] == Why.ATTEMPTS_SPENT
        loop.answer({"text": "change the model", "allow": ["model.py"]})
        assert loop.drive().progress.states == {"s1": StepState.DONE}

    def test_what_a_machine_makes_of_what_a_person_said_is_approved_first(
        self, journal: Journal
    ) -> None:
        loop = self.orchestra(journal, strategist=MemoryStrategist([widen]))
        loop.question()
        loop.answer({"text": "do something about it"})
        assert loop.question()["approve"] == "revision"

    def test_limits_hold_for_fixes_as_well(self, journal: Journal) -> None:
        loop = self.orchestra(journal, bounds=Bounds(max_files=1))
        assert loop.question()["why"] == Why.OUT_OF_BOUNDS
        assert loop.sandbox.files == WRONG


class TestRevision:
    def test_exhaustion_leads_to_one_revision_and_then_to_a_person(self, journal: Journal) -> None:
        strategist = MemoryStrategist([same])
        loop = orchestra(
            journal,
            WRONG,
            TESTS,
            edits=actor(*wrongly()),
            policy=AUTO,
            strategist=strategist,
        )
        assert loop.question()["why"] == Why.ATTEMPTS_SPENT
        assert len(strategist.tasks) == 1

    def test_a_revision_that_fails_pauses_the_plan(self, journal: Journal) -> None:
        loop = orchestra(journal, WRONG, TESTS, edits=actor(*wrongly()), policy=AUTO)
        assert loop.question()["why"] == Why.ATTEMPTS_SPENT
        assert [event["failure"] for event in loop.told("strategy_revised")] == [
            "nothing comes to mind"
        ]

    def test_a_revision_that_needs_approval_pauses_the_plan(self, journal: Journal) -> None:
        strategist = MemoryStrategist([widen])
        loop = TestBounds.orchestra(journal, policy=AUTO, strategist=strategist, approves=True)
        assert loop.question()["approve"] == "revision"
        assert [told["why"] for told in loop.told("escalated")] == ["revision"]
        loop.answer("yes")
        assert loop.drive().progress.states == {"s1": StepState.DONE}

    def test_a_revision_that_is_not_approved_is_not_taken(self, journal: Journal) -> None:
        strategist = MemoryStrategist([widen])
        loop = TestBounds.orchestra(journal, policy=AUTO, strategist=strategist, approves=True)
        loop.question()
        loop.answer({"text": "no"})
        assert loop.question()["why"] == Why.OUT_OF_BOUNDS
        assert loop.sandbox.files == WRONG


class TestEnds:
    def test_nobody_answers_and_the_plan_has_failed(self, journal: Journal) -> None:
        loop = orchestra(journal, WRONG, TESTS, edits=actor(*wrongly()))
        plan = loop.play()
        assert plan.last_decision.why is Why.UNANSWERED
        assert plan.progress.states == {"s1": StepState.FAILED}

    def test_nothing_is_fixed_unasked_where_the_profile_says_so(self, journal: Journal) -> None:
        policy = replace(POLICY, unasked=False)
        loop = orchestra(journal, WRONG, TESTS, edits=actor(write(a="yes")), policy=policy)
        assert loop.question()["why"] == Why.UNASKED
        assert loop.checks[0].log == ["tests"]
        loop.answer({"text": "go on"})
        assert loop.drive().progress.states == {"s1": StepState.DONE}


# -- whatever happens -----------------------------------------------------------------------------

EDITS: dict[str, Edit] = {
    "mends": write(a="yes"),
    "mends and breaks": write(a="yes", b="no"),
    "repeats": write(a="no"),
    "nothing": nothing,
    "outside": write(a="yes", model="too"),
    "breaks down": lambda files: "broken",
}
WAYS = {"widen": widen, "same": same, "fail": fail}


@st.composite
def edit_lists(draw: st.DrawFn) -> list[Edit]:
    kinds = st.sampled_from([*EDITS, "wrong"])
    chosen = draw(st.lists(kinds, min_size=1, max_size=12))
    return [EDITS.get(kind, write(a=f"wrong {n}")) for n, kind in enumerate(chosen)]


@settings(max_examples=80, deadline=None)
@given(
    edits=edit_lists(),
    limit=st.integers(0, 3),
    revision=st.sampled_from([Revise.ASKED, Revise.AUTO]),
    ways=st.lists(st.sampled_from(sorted(WAYS)), min_size=1, max_size=3),
    bounded=st.booleans(),
    answers=st.lists(st.sampled_from(["go on", "yes", "no", "done"]), max_size=3),
    max_time=st.sampled_from([3600.0, 0.0]),
    max_cost=st.sampled_from([None, 0.2]),
)
def test_limits_hold_it_ends_and_only_what_passed_is_accepted(
    edits: list[Edit],
    limit: int,
    revision: Revise,
    ways: list[str],
    bounded: bool,
    answers: list[str],
    max_time: float,
    max_cost: float | None,
) -> None:
    style = ("style", wants("style", a="beautiful"))
    with TemporaryDirectory() as directory, Journal(Path(directory, "journal.db")) as journal:
        strategist = MemoryStrategist([WAYS[way] for way in ways])
        loop = orchestra(
            journal,
            WRONG,
            TESTS,
            LINT,
            edits=actor(*edits),
            informational=[style],
            policy=replace(
                POLICY,
                retry_limit=limit,
                revision=revision,
                max_time=max_time,
                max_cost=max_cost,
            ),
            strategist=strategist,
            bounds=Bounds(paths=("a.py", "b.py")) if bounded else Bounds(),
        )
        plan = loop.play([{"text": text} for text in answers])
    progress = plan.progress
    histories = [chapter.history for chapter in progress.chapters]
    state = progress.states["s1"]
    assert state in (StepState.DONE, StepState.FAILED)
    if state is StepState.DONE:
        content = loop.sandbox.kept[plan.candidate]
        assert (content["a.py"], content["b.py"]) == ("yes", "yes")
        assert progress.proved["tests"] == progress.proved["lint"] == plan.candidate
        allowed = [one for one in progress.strategies if one.step and not one.failure]
        assert not (bounded and "model.py" in content) or allowed
    if max_time <= 0:
        assert (state, plan.last_decision.why) == (StepState.FAILED, Why.TIME_SPENT)
        assert not any(check.log for check in loop.checks)
    elif max_cost is not None and spent(plan).cost >= max_cost:
        assert (state, plan.last_decision.why) == (StepState.FAILED, Why.MONEY_SPENT)
    for tries in _tries(histories):
        assert all(count <= limit for count in tries.values())
        assert "style" not in tries


def _tries(histories: list[History]) -> list[Counter[str]]:
    """How many fixes were tried for each validation, from one answer of a person to the next."""
    epochs = [Counter[str]()]
    for history in histories:
        counted = (Reason.REPEATED, Reason.OUT_OF_BOUNDS)
        fixes = [(n, a.fix) for n, a in enumerate(history.attempts) if a.fix]
        rejected = [(n, r.fix) for n, r in enumerate(history.rejections) if r.reason in counted]
        marks = [(answer.attempts, answer.rejections) for answer in history.answers]
        before = (0, 0)
        for mark in [*marks, (len(history.attempts), len(history.rejections))]:
            within = chain(
                (fix for n, fix in fixes if before[0] <= n < mark[0]),
                (fix for n, fix in rejected if before[1] <= n < mark[1]),
            )
            epochs[-1].update(check for fix in within for check in fix.checks)
            if mark in marks:
                epochs.append(Counter())
            before = mark
    return epochs
