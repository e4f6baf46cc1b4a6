"""Fixing: which tests a fixer may add, and how long is waited before it is asked."""

from __future__ import annotations

import pytest

from runtrue.flow import Journal
from runtrue.loop import COVERAGE_UNMET, SECURITY_ISSUE, TESTS_MISSING, Action, Backoff, Policy
from tests.loop.make import finding
from tests.loop.workshop import (
    Durable,
    Edit,
    Files,
    MemoryCheck,
    MemoryFixer,
    MemoryGate,
    MemorySandbox,
    Told,
    build,
    nothing,
    run,
    says,
    write,
)

# -- tests that are wanted ----------------------------------------------------------------------


def _delete(files: Files) -> None:
    del files["test_a.py"]


def _run(sandbox: MemorySandbox, category: str, *edits: Edit) -> Told:
    """One gate that is never content, on code that works."""
    found = finding("more", category=category)
    return run(
        sandbox,
        [MemoryCheck(sandbox, "tests", lambda files: [])],
        [MemoryFixer(sandbox, "agent", list(edits))],
        Policy(max_attempts=len(edits) + 1),
        gates=(MemoryGate(sandbox, lambda files: [found]),),
    )


@pytest.mark.parametrize(
    ("category", "files", "restored"),
    [
        (COVERAGE_UNMET, ("a.py", "test_new.py"), ("test_a.py",)),
        (TESTS_MISSING, ("a.py", "test_new.py"), ("test_a.py",)),
        (SECURITY_ISSUE, ("a.py",), ("test_a.py", "test_new.py")),
        ("AssertionError", ("a.py",), ("test_a.py", "test_new.py")),
    ],
)
def test_tests_may_be_added_where_they_are_wanted_and_none_that_is_there_may_be_changed(
    sandbox: MemorySandbox, category: str, files: tuple[str, ...], restored: tuple[str, ...]
) -> None:
    told = _run(sandbox, category, write(a="other", test_a="lenient", test_new="more"))
    fix = told.history.latest.fix
    assert fix is not None
    assert (fix.parts[0].files, fix.parts[0].restored) == (files, restored)
    assert sandbox.kept[fix.candidate]["test_a.py"] == "strict"
    assert ("test_new.py" in sandbox.kept[fix.candidate]) is ("test_new.py" in files)


def test_where_tests_are_wanted_none_may_be_deleted(sandbox: MemorySandbox) -> None:
    told = _run(sandbox, COVERAGE_UNMET, _delete)
    assert len(told.history.attempts) == 1
    assert told.history.rejections[0].fix.parts[0].restored == ("test_a.py",)


def test_a_test_that_one_attempt_added_is_no_other_attempts_to_change(
    sandbox: MemorySandbox,
) -> None:
    def judge(files: Files) -> list[str]:
        return ["one", "two"] if "test_new.py" not in files else ["one"]

    gate = MemoryGate(
        sandbox, lambda files: [finding(text, category=COVERAGE_UNMET) for text in judge(files)]
    )
    fixer = MemoryFixer(sandbox, "agent", [write(test_new="1"), write(test_new="2", test_more="3")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", lambda files: [])], [fixer], gates=(gate,))
    assert sandbox.kept[told.history.latest.candidate]["test_new.py"] == "1"
    assert sandbox.kept[told.history.latest.candidate]["test_more.py"] == "3"


# -- backoff ------------------------------------------------------------------------------------

WAIT = 0.001


def _backing(backoff: Backoff, attempts: int = 5) -> Policy:
    return Policy(max_attempts=attempts, backoff=backoff, backoff_seconds=WAIT, format_retries=2)


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        (Backoff.NONE, []),
        (Backoff.LINEAR, [1, 2, 3]),
        (Backoff.EXPONENTIAL, [1, 2, 4]),
    ],
)
def test_from_the_second_fix_on_each_one_waits_for_its_turn(
    sandbox: MemorySandbox, backoff: Backoff, waits: list[int]
) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a=str(n)) for n in range(9)])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [fixer], _backing(backoff))
    assert [e["seconds"] for e in told.of_kind("backing_off")] == [WAIT * n for n in waits]
    assert len(fixer.tasks) == 4


def test_a_fix_that_was_rejected_is_waited_for_too(sandbox: MemorySandbox) -> None:
    fixer = MemoryFixer(sandbox, "agent", [nothing, nothing, write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [fixer], _backing(Backoff.LINEAR))
    assert [e["seconds"] for e in told.of_kind("backing_off")] == [WAIT, WAIT * 2]


def test_the_wait_comes_before_the_fixer_is_asked(sandbox: MemorySandbox) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="1"), write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [fixer], _backing(Backoff.LINEAR))
    kinds = [e.kind for e in told.events if e.kind in ("fixer_started", "backing_off")]
    assert kinds == ["fixer_started", "backing_off", "fixer_started"]


def test_after_an_answer_the_first_fix_does_not_wait(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    # Long enough to be noticed by whoever runs this.
    policy = Policy(max_attempts=2, ask_human=True, backoff=Backoff.LINEAR, backoff_seconds=60.0)
    fixer = MemoryFixer(sandbox, "agent", [write(a="1"), write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    durable = Durable(journal, sandbox, build(sandbox, [tests], [fixer], policy))
    durable.drive_to_question()
    journal.answer(durable.run_id, "say good")
    assert durable.drive().last_decision.action is Action.ACCEPT
    kinds = [event.kind for _, event in journal.events(durable.run_id)]
    assert kinds.count("fixer_started") == 2
    assert "backing_off" not in kinds
