"""Analyses: asked for once after each attempt that failed, and kept with it."""

from __future__ import annotations

import pytest

from runtrue.flow import Journal
from runtrue.loop import Action, Analysis, History, Outcome, Policy
from tests.loop.make import NETWORK
from tests.loop.workshop import (
    Durable,
    Files,
    Killed,
    MemoryAnalyst,
    MemoryCheck,
    MemoryFixer,
    MemorySandbox,
    ScriptedTests,
    build,
    nothing,
    run,
    says,
    write,
)


def test_each_attempt_that_failed_is_analysed_once_in_the_light_of_all_before_it(
    sandbox: MemorySandbox,
) -> None:
    analyst = MemoryAnalyst()
    fixer = MemoryFixer(sandbox, "agent", [write(a="1"), nothing, write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [fixer], analyst=analyst)
    assert [a.analysis for a in told.history.attempts] == [
        Analysis(root_cause="1 in attempt 1"),
        Analysis(root_cause="1 in attempt 2"),
        None,
    ]
    # A fix that was rejected brought nothing new to analyse.
    assert [(a.number, len(seen.attempts)) for a, seen in analyst.asked] == [(1, 1), (2, 2)]
    assert analyst.asked[1][1].attempts[0].analysis == Analysis(root_cause="1 in attempt 1")


def test_the_fixers_are_given_the_analysis(sandbox: MemorySandbox) -> None:
    fixer = MemoryFixer(sandbox, "agent", [write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    run(sandbox, [tests], [fixer], analyst=MemoryAnalyst())
    assert fixer.tasks[0].history.latest.analysis == Analysis(root_cause="1 in attempt 1")


def test_a_candidate_that_passes_is_not_analysed_however_it_came_to(
    sandbox: MemorySandbox,
) -> None:
    analyst = MemoryAnalyst()
    flaky = ScriptedTests([{"t": Outcome.FAILED}, {"t": Outcome.PASSED}])
    told = run(sandbox, [flaky], [], analyst=analyst)
    assert (told.decision.action, analyst.asked) == (Action.ACCEPT, [])


def test_an_attempt_that_is_run_again_has_an_analysis_of_its_own(sandbox: MemorySandbox) -> None:
    analyst = MemoryAnalyst()
    told = run(sandbox, [ScriptedTests([NETWORK])], [], analyst=analyst)
    assert len(told.history.attempts) == len(analyst.asked) == 3
    assert all(a.analysis for a in told.history.attempts)


def test_after_a_crash_the_analysis_is_there_and_not_made_again(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    def crash(files: Files) -> None:
        raise Killed

    analyst = MemoryAnalyst()
    fixer = MemoryFixer(sandbox, "agent", [crash, write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    flow = build(sandbox, [tests], [fixer], Policy(), analyst=analyst)
    durable = Durable(journal, sandbox, flow)
    with pytest.raises(Killed):
        durable.drive()
    told: History = durable.drive().history
    assert len(analyst.asked) == 1
    assert told.attempts[0].analysis == Analysis(root_cause="1 in attempt 1")
    assert fixer.tasks[0] == fixer.tasks[1]
