"""The repair cycle: what is run, what is proposed, what is kept, and what a person is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.errors import SideEffectInterrupted
from runtrue.flow import Journal, RunState
from runtrue.loop import (
    Action,
    Budget,
    Fault,
    Finding,
    History,
    Mode,
    Outcome,
    Policy,
    Reason,
    Skip,
    Why,
)
from tests.loop.make import NETWORK, NO_KEY, finding
from tests.loop.strategies import policies
from tests.loop.workshop import (
    Durable,
    Edit,
    Files,
    Killed,
    MemoryCheck,
    MemoryFixer,
    MemorySandbox,
    build,
    nothing,
    run,
    says,
    write,
)


def verdicts_of(history: History) -> list[list[tuple[str, bool]]]:
    """For each attempt, which checks ran, in order, and whether they passed."""
    return [[(v.check, v.passed) for v in attempt.verdicts] for attempt in history.attempts]


# -- checking -----------------------------------------------------------------------------------


def test_a_candidate_that_passes_is_accepted_and_no_fixer_is_asked(sandbox: MemorySandbox) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "bad"))], [fixer])
    assert (told.decision.action, told.decision.status) == (Action.ACCEPT, RunState.PASSED)
    assert fixer.tasks == []
    assert told.state.candidate == sandbox.first


def test_the_baseline_runs_every_check_even_when_the_first_one_fails(
    sandbox: MemorySandbox,
) -> None:
    checks = [
        MemoryCheck(sandbox, "lint", says("a", "good"), Mode.INFORMATIONAL),
        MemoryCheck(sandbox, "tests", says("a", "good")),
        MemoryCheck(sandbox, "types", says("b", "bad")),
    ]
    told = run(sandbox, checks, [])
    assert verdicts_of(told.history) == [[("tests", False), ("types", True), ("lint", False)]]


def test_after_a_fix_what_failed_is_run_first_and_the_rest_only_when_that_passes(
    sandbox: MemorySandbox,
) -> None:
    checks = [
        MemoryCheck(sandbox, "types", says("b", "bad")),
        MemoryCheck(sandbox, "tests", says("a", "good")),
        MemoryCheck(sandbox, "lint", lambda files: [finding("ugly")], Mode.INFORMATIONAL),
    ]
    fixer = MemoryFixer(sandbox, "agent", [write(a="worse"), write(a="good")])
    told = run(sandbox, checks, [fixer])
    assert verdicts_of(told.history) == [
        [("types", True), ("tests", False), ("lint", False)],
        [("tests", False)],
        [("tests", True), ("types", True), ("lint", False)],
    ]
    assert told.decision.action is Action.ACCEPT


def test_nothing_is_accepted_before_every_required_check_has_passed_on_it(
    sandbox: MemorySandbox,
) -> None:
    checks = [
        MemoryCheck(sandbox, "tests", says("a", "good")),
        MemoryCheck(sandbox, "types", says("b", "bad")),
    ]
    fixer = MemoryFixer(sandbox, "agent", [write(a="good", b="broken"), write(a="good", b="bad")])
    told = run(sandbox, checks, [fixer])
    assert verdicts_of(told.history) == [
        [("tests", False), ("types", True)],
        [("tests", True), ("types", False)],
        [("types", True), ("tests", True)],
    ]
    assert told.decision.action is Action.ACCEPT


def test_informational_checks_run_last_and_neither_block_nor_get_a_fix(
    sandbox: MemorySandbox,
) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="good")])
    lint = MemoryCheck(sandbox, "lint", lambda files: [finding("ugly")], Mode.INFORMATIONAL)
    told = run(sandbox, [lint, MemoryCheck(sandbox, "tests", says("a", "bad"))], [fixer])
    assert verdicts_of(told.history) == [[("tests", True), ("lint", False)]]
    assert told.decision.action is Action.ACCEPT
    assert fixer.tasks == []


def test_the_checks_get_exactly_the_candidate_whatever_was_left_lying_about(
    sandbox: MemorySandbox,
) -> None:
    sandbox.files["left_over.py"] = "from an earlier, killed driver"
    seen: list[Files] = []

    def judge(files: Files) -> list[Finding]:
        seen.append(dict(files))
        return []

    run(sandbox, [MemoryCheck(sandbox, "tests", judge)], [])
    assert seen == [{"a.py": "bad", "b.py": "bad", "test_a.py": "strict"}]


def test_a_fix_that_makes_tests_vanish_does_not_pass(sandbox: MemorySandbox) -> None:
    def cases(files: Files) -> dict[str, Outcome]:
        if files["a.py"] == "skips everything":
            return {}
        return {"t1": Outcome.PASSED if files["a.py"] == "good" else Outcome.FAILED}

    def judge(files: Files) -> list[Finding]:
        return [finding("t1")] if Outcome.FAILED in cases(files).values() else []

    tests = MemoryCheck(sandbox, "tests", judge, cases=cases)
    fixer = MemoryFixer(sandbox, "agent", [write(a="skips everything"), write(a="good")])
    told = run(sandbox, [tests], [fixer])
    assert (told.decision.action, told.decision.regressions) == (Action.STOP, ("t1",))
    (dodged,) = told.history.attempts[1].verdicts[0].findings
    assert (dodged.category, dodged.location.symbol) == ("not_run", "t1")


def test_a_transient_fault_is_run_again_as_the_same_attempt(sandbox: MemorySandbox) -> None:
    answers = [[NETWORK], [NETWORK], []]
    tests = MemoryCheck(sandbox, "tests", lambda files: answers.pop(0))
    told = run(sandbox, [tests], [], Policy(max_attempts=1))
    assert [(a.number, a.recheck) for a in told.history.attempts] == [
        (1, False),
        (1, True),
        (1, True),
    ]
    assert {a.candidate for a in told.history.attempts} == {sandbox.first}
    assert told.decision.action is Action.ACCEPT


def test_a_good_fix_is_not_thrown_away_because_the_network_was_down_when_it_was_checked(
    sandbox: MemorySandbox,
) -> None:
    outages = [[NETWORK, finding("no name server", Fault.ENVIRONMENT, transient=True)]]

    def judge(files: Files) -> list[Finding]:
        if files["a.py"] == "good" and outages:
            return outages.pop()
        return list(says("a", "good")(files))

    fixer = MemoryFixer(sandbox, "agent", [write(a="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", judge)], [fixer])
    assert [(a.number, a.recheck) for a in told.history.attempts] == [
        (1, False),
        (2, False),
        (2, True),
    ]
    assert told.decision.action is Action.ACCEPT
    assert len(fixer.tasks) == 1


def test_a_fault_that_is_not_the_candidates_is_never_shown_to_a_fixer(
    sandbox: MemorySandbox,
) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", lambda files: [NO_KEY])], [fixer])
    assert (told.decision.why, told.decision.status) == (
        Why.NOT_THE_CANDIDATE,
        RunState.ESCALATED,
    )
    assert fixer.tasks == []


# -- fixing -------------------------------------------------------------------------------------


def test_a_fix_says_who_made_it_from_what_and_what_it_changed(sandbox: MemorySandbox) -> None:
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [MemoryFixer(sandbox, "agent", [write(a="good", new="file")])])
    fix = told.history.latest.fix
    assert fix is not None
    assert (fix.base, fix.candidate) == (sandbox.first, told.history.latest.candidate)
    assert (fix.added, fix.removed) == (2, 1)
    (part,) = fix.parts
    assert (part.fixer, part.files, part.description) == (
        "agent",
        ("a.py", "new.py"),
        "agent did it",
    )
    assert part.findings == (told.history.attempts[0].blocking[0].fingerprint,)
    assert told.state.candidate == fix.candidate
    assert told.state.fix is None


def test_no_more_attempts_are_made_than_the_policy_allows(sandbox: MemorySandbox) -> None:
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    fixer = MemoryFixer(sandbox, "agent", [write(a=f"try {n}") for n in range(9)])
    told = run(sandbox, [tests], [fixer], Policy(max_attempts=4))
    assert [a.number for a in told.history.attempts] == [1, 2, 3, 4]
    assert len(fixer.tasks) == 3
    assert (told.decision.why, told.decision.status) == (Why.ATTEMPTS_SPENT, RunState.FAILED)


def test_each_fix_is_made_from_the_best_candidate_not_from_the_last(
    sandbox: MemorySandbox,
) -> None:
    def judge(files: Files) -> Iterator[Finding]:
        yield from says("a", "good")(files)
        if files["a.py"] == "much worse":
            yield finding("another")

    fixer = MemoryFixer(sandbox, "agent", [write(a="much worse"), write(b="other"), nothing])
    run(sandbox, [MemoryCheck(sandbox, "tests", judge)], [fixer], Policy(max_attempts=4))
    assert fixer.saw[1]["a.py"] == "bad"


def test_a_fixer_sees_the_findings_and_all_that_came_before(sandbox: MemorySandbox) -> None:
    fixer = MemoryFixer(sandbox, "agent", [nothing, write(a="worse"), write(a="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "good"))], [fixer])
    first, second, third = fixer.tasks
    assert [f.message for f in first.findings] == ["a does not say good"]
    assert [r.reason for r in second.history.rejections] == [Reason.UNCHANGED]
    assert third.history.latest.number == 2
    assert told.decision.action is Action.ACCEPT


def test_a_candidate_that_already_failed_is_rejected_without_running_it_and_counted(
    sandbox: MemorySandbox,
) -> None:
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    fixer = MemoryFixer(sandbox, "agent", [write(a="worse")])
    told = run(sandbox, [tests], [fixer], Policy(max_attempts=3))
    assert tests.log == ["tests"] * 2
    assert [r.reason for r in told.history.rejections] == [Reason.REPEATED]
    assert told.decision.why is Why.ATTEMPTS_SPENT
    assert len(fixer.tasks) == 2


def test_a_fixer_that_is_told_of_its_repetition_can_do_something_else(
    sandbox: MemorySandbox,
) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="worse"), write(a="worse"), write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [fixer], Policy(max_attempts=4))
    (repeated,) = fixer.tasks[2].history.rejections
    assert (repeated.reason, repeated.after) == (Reason.REPEATED, 2)
    assert told.decision.action is Action.ACCEPT


def test_a_fixer_that_changes_nothing_is_asked_again_as_often_as_format_retries_say(
    sandbox: MemorySandbox,
) -> None:
    fixer = MemoryFixer(sandbox, "agent", [nothing])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [fixer], Policy(format_retries=2))
    assert len(fixer.tasks) == 3
    assert tests.log == ["tests"]
    assert (told.decision.why, told.decision.status) == (Why.NOTHING_USABLE, RunState.FAILED)


def test_a_fixer_that_changes_nothing_and_never_will_is_not_asked_again(
    sandbox: MemorySandbox,
) -> None:
    fixer = MemoryFixer(sandbox, "tool", [nothing], repeatable=False)
    told = run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "good"))], [fixer])
    assert len(fixer.tasks) == 1
    assert told.decision.why is Why.NO_FIXER


def _breaks(files: Files) -> str:
    files["a.py"] = "half done"
    return "ran out of credit"


def test_a_fixer_that_fails_itself_is_tried_again_as_often_as_transport_retries_say(
    sandbox: MemorySandbox,
) -> None:
    fixer = MemoryFixer(sandbox, "agent", [_breaks])
    told = run(
        sandbox,
        [MemoryCheck(sandbox, "tests", says("a", "good"))],
        [fixer],
        Policy(transport_retries=3),
    )
    assert len(fixer.tasks) == 4
    assert {r.reason for r in told.history.rejections} == {Reason.FIXER_FAILED}
    assert told.history.rejections[0].fix.parts[0].failure == "ran out of credit"
    assert told.decision.why is Why.FIXER_FAILED


def test_why_a_fixer_failed_is_never_shown_to_a_fixer_as_a_finding(sandbox: MemorySandbox) -> None:
    fixer = MemoryFixer(sandbox, "agent", [_breaks, write(a="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "good"))], [fixer])
    assert all("credit" not in f.message for task in fixer.tasks for f in task.findings)
    assert told.decision.action is Action.ACCEPT


def test_half_done_edits_of_a_fixer_that_failed_are_undone_before_the_next_rung(
    sandbox: MemorySandbox,
) -> None:
    broken = MemoryFixer(sandbox, "tool", [_breaks])
    agent = MemoryFixer(sandbox, "agent", [write(a="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "good"))], [broken, agent])
    assert agent.saw == [{"a.py": "bad", "b.py": "bad", "test_a.py": "strict"}]
    fix = told.history.latest.fix
    assert fix is not None
    assert [(part.fixer, part.files, part.failure) for part in fix.parts] == [
        ("tool", (), "ran out of credit"),
        ("agent", ("a.py",), None),
    ]


# -- the ladder ---------------------------------------------------------------------------------


def _both_bad(files: Files) -> Iterator[Finding]:
    yield from says("a", "good")(files)
    yield from says("b", "good")(files)


def _only(file: str) -> Any:
    return lambda found: found.location.file == file


def test_the_ladder_is_climbed_in_order_and_each_rung_takes_on_what_is_left(
    sandbox: MemorySandbox,
) -> None:
    tool = MemoryFixer(sandbox, "tool", [write(a="good")], only=_only("a.py"))
    agent = MemoryFixer(sandbox, "agent", [write(b="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", _both_bad)], [tool, agent])
    assert [f.location.file for f in tool.tasks[0].findings] == ["a.py"]
    assert [f.location.file for f in agent.tasks[0].findings] == ["b.py"]
    assert agent.saw[0]["a.py"] == "good"
    fix = told.history.latest.fix
    assert fix is not None
    assert [part.fixer for part in fix.parts] == ["tool", "agent"]
    assert fix.files == ("a.py", "b.py")
    assert told.decision.action is Action.ACCEPT


def test_a_dearer_rung_is_not_asked_when_a_cheaper_one_took_everything_on(
    sandbox: MemorySandbox,
) -> None:
    tool = MemoryFixer(sandbox, "tool", [write(a="good")])
    agent = MemoryFixer(sandbox, "agent", [write(a="good")])
    run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "good"))], [tool, agent])
    assert agent.tasks == []


def test_what_a_cheaper_rung_took_on_and_left_unchanged_goes_to_the_next(
    sandbox: MemorySandbox,
) -> None:
    tool = MemoryFixer(sandbox, "tool", [nothing], repeatable=False)
    agent = MemoryFixer(sandbox, "agent", [write(a="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "good"))], [tool, agent])
    assert len(agent.tasks) == 1
    assert told.decision.action is Action.ACCEPT


def test_a_rung_that_is_passed_over_says_why(sandbox: MemorySandbox) -> None:
    ladder: list[MemoryFixer | Skip] = [
        Skip(fixer="memory", reason="not built in yet"),
        MemoryFixer(sandbox, "tool", [nothing], missing="ruff is not installed"),
        MemoryFixer(sandbox, "search", [nothing], only=lambda found: False),
    ]
    told = run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "good"))], ladder)
    (rejected,) = told.history.rejections
    assert rejected.reason is Reason.NO_FIXER
    assert [(skip.fixer, skip.reason) for skip in rejected.fix.skipped] == [
        ("memory", "not built in yet"),
        ("tool", "ruff is not installed"),
        ("search", "has nothing for these findings"),
    ]
    assert (told.decision.why, told.decision.status) == (Why.NO_FIXER, RunState.FAILED)


def test_without_any_rung_there_is_no_fixer(sandbox: MemorySandbox) -> None:
    told = run(sandbox, [MemoryCheck(sandbox, "tests", says("a", "good"))], [])
    assert told.decision.why is Why.NO_FIXER


# -- files that judge ---------------------------------------------------------------------------


def _honest_tests(files: Files) -> Iterator[Finding]:
    """Passes when the code is good, or when somebody has made the test lenient."""
    if files.get("test_a.py") == "strict":
        yield from says("a", "good")(files)


def test_what_an_untrusted_fixer_did_to_the_tests_is_put_back_and_noted(
    sandbox: MemorySandbox,
) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(test_a="lenient", a="try", test_new="x")])
    told = run(
        sandbox, [MemoryCheck(sandbox, "tests", _honest_tests)], [fixer], Policy(max_attempts=2)
    )
    assert told.decision.status is RunState.FAILED
    tried = told.history.latest
    assert sandbox.kept[tried.candidate] == {"a.py": "try", "b.py": "bad", "test_a.py": "strict"}
    assert tried.fix is not None
    (part,) = tried.fix.parts
    assert (part.files, part.restored) == (("a.py",), ("test_a.py", "test_new.py"))


def test_a_test_that_an_untrusted_fixer_deleted_is_there_again(sandbox: MemorySandbox) -> None:
    def delete(files: Files) -> None:
        del files["test_a.py"]

    fixer = MemoryFixer(sandbox, "agent", [delete])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", _honest_tests)], [fixer])
    assert {r.reason for r in told.history.rejections} == {Reason.UNCHANGED}
    assert told.decision.status is RunState.FAILED


def test_a_trusted_fixer_such_as_a_formatter_may_edit_the_tests(sandbox: MemorySandbox) -> None:
    def judge(files: Files) -> Iterator[Finding]:
        yield from says("test_a", "formatted")(files)

    fixer = MemoryFixer(sandbox, "tool", [write(test_a="formatted")], trusted=True)
    told = run(sandbox, [MemoryCheck(sandbox, "format", judge)], [fixer])
    assert told.decision.action is Action.ACCEPT
    assert told.history.latest.fix is not None
    assert told.history.latest.fix.parts[0].restored == ()


# -- regressions --------------------------------------------------------------------------------


def _regressing(sandbox: MemorySandbox) -> MemoryCheck:
    """Two cases: `t1` is about a.py and fails at first, `t2` is about b.py and passes."""

    def cases(files: Files) -> dict[str, Outcome]:
        good = {"t1": files["a.py"] == "good", "t2": files["b.py"] == "bad"}
        return {case: Outcome.PASSED if passed else Outcome.FAILED for case, passed in good.items()}

    def judge(files: Files) -> Iterator[Finding]:
        for case, outcome in cases(files).items():
            if outcome is Outcome.FAILED:
                yield finding(case)

    return MemoryCheck(sandbox, "tests", judge, cases=cases)


def test_a_fix_that_breaks_what_worked_is_rolled_back_and_aborts(sandbox: MemorySandbox) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="good", b="broken"), write(a="good")])
    told = run(sandbox, [_regressing(sandbox)], [fixer])
    assert (told.decision.status, told.decision.regressions) == (RunState.ABORTED, ("t2",))
    assert told.state.candidate == sandbox.first
    assert len(fixer.tasks) == 1


def test_without_abort_on_regression_the_loop_goes_on_from_the_best_candidate(
    sandbox: MemorySandbox,
) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="good", b="broken"), write(a="good")])
    told = run(sandbox, [_regressing(sandbox)], [fixer], Policy(abort_on_regression=False))
    assert fixer.saw[1]["b.py"] == "bad"
    assert told.decision.action is Action.ACCEPT


def test_when_it_gives_up_the_best_attempt_is_kept(sandbox: MemorySandbox) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="good"), write(a="bad", b="worse")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", _both_bad)], [fixer], Policy(max_attempts=3))
    assert told.decision.status is RunState.FAILED
    assert sandbox.kept[told.state.candidate]["a.py"] == "good"


# -- progress -----------------------------------------------------------------------------------


def test_progress_tells_of_attempts_checks_and_fixers_in_order(sandbox: MemorySandbox) -> None:
    told = run(
        sandbox,
        [MemoryCheck(sandbox, "tests", says("a", "good"))],
        [MemoryFixer(sandbox, "agent", [write(a="good")])],
    )
    events = [event for event in told.events if not event.kind.startswith("node_")]
    assert [event.kind for event in events] == [
        *("attempt_started", "check_started", "check_finished"),
        *("fix_attempted", "fixer_started", "fixer_finished"),
        *("attempt_started", "check_started", "check_finished"),
    ]
    assert events[0].payload == {"number": 1, "limit": 3}
    assert events[2].payload["passed"] is False
    assert events[2].payload["findings"] == 1
    assert events[5].payload["fixer"] == "agent"
    assert events[5].payload["files"] == ["a.py"]
    assert events[5].payload["failure"] is None
    assert events[8].payload["passed"] is True


# -- durable: asking, and going on after a crash ------------------------------------------------


ASKING = Policy(max_attempts=2, ask_human=True)


def _asking(
    journal: Journal, sandbox: MemorySandbox, edits: list[Edit]
) -> tuple[Durable, MemoryFixer]:
    fixer = MemoryFixer(sandbox, "agent", edits)
    checks = [MemoryCheck(sandbox, "tests", says("a", "good"))]
    return Durable(journal, sandbox, build(sandbox, checks, [fixer], ASKING)), fixer


def test_a_person_is_handed_the_best_candidate_with_what_is_known_of_it(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    durable, _ = _asking(journal, sandbox, [write(a="worse")])
    question = durable.drive_to_question()
    assert question["why"] == Why.ATTEMPTS_SPENT
    assert [f.message for f in question["findings"]] == ["a does not say good"]
    assert question["sandbox"] == "sandbox"
    assert sandbox.files["a.py"] == "bad"
    assert journal.find(durable.run_id).state is RunState.WAITING


def test_what_the_person_edited_is_taken_back_and_checked_like_any_candidate(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    durable, fixer = _asking(journal, sandbox, [write(a="worse")])
    durable.drive_to_question()
    sandbox.files["a.py"] = "good"
    journal.answer(durable.run_id, "I did it myself")
    state = durable.drive()
    history: History = state.history
    assert state.last_decision.action is Action.ACCEPT
    assert [a.text for a in history.answers] == ["I did it myself"]
    assert (history.latest.number, history.latest.recheck) == (3, False)
    assert history.latest.fix is not None
    (part,) = history.latest.fix.parts
    assert (part.fixer, part.files) == ("human", ("a.py",))
    assert len(fixer.tasks) == 1


def test_a_person_may_edit_the_tests(journal: Journal, sandbox: MemorySandbox) -> None:
    checks = [MemoryCheck(sandbox, "tests", _honest_tests)]
    durable = Durable(journal, sandbox, build(sandbox, checks, [], ASKING))
    durable.drive_to_question()
    sandbox.files["test_a.py"] = "lenient"
    journal.answer(durable.run_id, None)
    assert durable.drive().last_decision.action is Action.ACCEPT


def test_advice_alone_opens_a_fresh_budget_and_reaches_the_fixer(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    durable, fixer = _asking(journal, sandbox, [write(a="worse"), write(a="good")])
    durable.drive_to_question()
    journal.answer(durable.run_id, "say good")
    state = durable.drive()
    assert state.last_decision.action is Action.ACCEPT
    # What was checked already is not checked once more for being talked about.
    assert [a.number for a in state.history.attempts] == [1, 2, 3]
    assert [a.text for a in fixer.tasks[1].history.answers] == ["say good"]


def test_asked_again_and_again_a_run_waits_each_time_and_remembers_every_answer(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    durable, _ = _asking(journal, sandbox, [write(a=f"try {n}") for n in range(9)])
    for n in range(3):
        durable.drive_to_question()
        journal.answer(durable.run_id, f"advice {n}")
    sandbox.files["a.py"] = "good"
    state = durable.drive()
    assert state.last_decision.action is Action.ACCEPT
    assert [a.text for a in state.history.answers] == ["advice 0", "advice 1", "advice 2"]


def test_after_a_crash_attempts_and_budgets_are_what_they_were(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    def crash(files: Files) -> None:
        files["a.py"] = "half done"
        raise Killed

    policy = Policy(max_attempts=4, transport_retries=3, format_retries=2)
    edits: list[Edit] = [_breaks, nothing, write(a="try"), crash, write(a="good")]
    fixer = MemoryFixer(sandbox, "agent", edits)
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    durable = Durable(journal, sandbox, build(sandbox, [tests], [fixer], policy))
    with pytest.raises(Killed):
        durable.drive()
    before: History = fixer.tasks[-1].history
    state = durable.drive()
    # The task after the crash is the task before it: nothing lost, nothing counted twice.
    assert _without_times(fixer.tasks[-1].history) == _without_times(before)
    assert Budget.left(policy, before) == Budget.left(policy, fixer.tasks[-1].history)
    assert [a.number for a in state.history.attempts] == [1, 2, 3]
    assert tests.log == ["tests"] * 3
    assert fixer.saw[-1]["a.py"] == "bad"
    assert state.last_decision.action is Action.ACCEPT


def _without_times(history: History) -> History:
    return replace(
        history,
        attempts=tuple(
            replace(a, verdicts=tuple(replace(v, seconds=0) for v in a.verdicts))
            for a in history.attempts
        ),
    )


def test_a_fixer_with_a_side_effect_is_not_fired_again_after_a_crash_without_consent(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    def crash(files: Files) -> None:
        raise Killed

    fixer = MemoryFixer(sandbox, "agent", [crash, write(a="good")], side_effect=True)
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    durable = Durable(journal, sandbox, build(sandbox, [tests], [fixer], Policy()))
    with pytest.raises(Killed):
        durable.drive()
    with pytest.raises(SideEffectInterrupted, match="stopped inside 'fix'"):
        durable.drive()
    assert durable.drive(force=True).last_decision.action is Action.ACCEPT


def test_a_cycle_without_such_a_fixer_is_just_continued_after_a_crash(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    def crash(files: Files) -> None:
        raise Killed

    harmless = MemoryFixer(sandbox, "agent", [crash, write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    durable = Durable(journal, sandbox, build(sandbox, [tests], [harmless], Policy()))
    with pytest.raises(Killed):
        durable.drive()
    assert durable.drive().last_decision.action is Action.ACCEPT


# -- any checks and fixers at all ---------------------------------------------------------------

FOUND = [finding(text, fault) for text in "ab" for fault in Fault] + [NETWORK]


@given(
    policies,
    st.lists(st.lists(st.lists(st.sampled_from(FOUND), max_size=2), max_size=3), max_size=12),
    st.lists(st.sampled_from(["nothing", "breaks", "0", "1", "2", "3", "test"]), max_size=20),
    st.booleans(),
)
def test_whatever_checks_and_fixers_do_the_cycle_ends_within_its_budgets(
    policy: Policy, script: list[list[list[Finding]]], edits: list[str], repeatable: bool
) -> None:
    policy = replace(policy, ask_human=False)
    sandbox = MemorySandbox({"a.py": "bad"})
    said = iter(found for row in script for found in row)
    checks = [MemoryCheck(sandbox, name, lambda files: next(said, [])) for name in ("one", "two")]
    todo = iter(edits)

    def edit(files: Files) -> str | None:
        match next(todo, "nothing"):
            case "nothing":
                return None
            case "breaks":
                return _breaks(files)
            case "test":
                files["test_a.py"] = "lenient"
            case text:
                files["a.py"] = text
        return None

    fixer = MemoryFixer(sandbox, "agent", [edit], repeatable=repeatable)
    told = run(sandbox, checks, [fixer], policy)
    history, decision = told.history, told.decision
    assert decision.action in (Action.ACCEPT, Action.STOP)
    assert sum(not a.recheck for a in history.attempts) <= policy.max_attempts
    assert history.rechecks <= policy.transport_retries
    assert all(f.fault is Fault.CANDIDATE for task in fixer.tasks for f in task.findings)
    assert not any("test_a.py" in sandbox.kept[a.candidate] for a in history.attempts)
    if decision.action is Action.ACCEPT:
        assert {v.check for v in history.latest.verdicts} == {"one", "two"}
        assert history.latest.passed
        assert told.state.candidate == history.latest.candidate
    tried = [a.candidate for a in history.attempts if not a.recheck]
    assert len(set(tried)) == len(tried)


def test_a_recheck_of_the_baseline_is_the_baseline_that_later_candidates_are_held_to(
    sandbox: MemorySandbox,
) -> None:
    runs: list[None] = []

    def cases(files: dict[str, str]) -> dict[str, Outcome]:
        vanished = len(runs) == 1 or files["a.py"] == "skips everything"
        return {} if vanished else {"t1": Outcome.FAILED}

    def judge(files: dict[str, str]) -> list[Finding]:
        runs.append(None)
        if len(runs) == 1:
            return [NETWORK]
        return [finding("t1")] if cases(files) else []

    told = run(
        sandbox,
        [MemoryCheck(sandbox, "tests", judge, cases=cases)],
        [MemoryFixer(sandbox, "agent", [write(a="skips everything")])],
    )
    assert told.decision.action is not Action.ACCEPT


def test_a_deterministic_rung_that_repeats_itself_lets_the_next_one_try(
    sandbox: MemorySandbox,
) -> None:
    def judge(files: dict[str, str]) -> Iterator[Finding]:
        yield from says("a", "good")(files)
        if files["a.py"] == "worse":
            yield finding("more")

    tool = MemoryFixer(sandbox, "tool", [write(a="worse")], repeatable=False)
    agent = MemoryFixer(sandbox, "agent", [write(a="good")])
    told = run(sandbox, [MemoryCheck(sandbox, "tests", judge)], [tool, agent])
    assert agent.tasks
    assert told.decision.action is Action.ACCEPT
