"""Checking: what is run again, what a gate judges, and whose failures block."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.flow import Journal, RunState
from runtrue.loop import (
    COVERAGE_UNMET,
    TIMEOUT,
    Action,
    Finding,
    History,
    Mode,
    Outcome,
    Policy,
    Verdict,
    Why,
    Workplace,
)
from tests.loop.make import NETWORK, finding, verdict
from tests.loop.strategies import escalating
from tests.loop.workshop import (
    Durable,
    Files,
    Killed,
    MemoryCheck,
    MemoryFixer,
    MemoryGate,
    MemorySandbox,
    Script,
    ScriptedTests,
    Told,
    build,
    nothing,
    run,
    says,
    write,
)

PASSED, FAILED, ERROR, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED
SLOW = finding("took too long", category=TIMEOUT)
GOOD, BAD = {"t": PASSED}, {"t": FAILED}


def _flaky(told: Told, number: int = 1) -> list[str | None]:
    """The failures of an attempt that did not stay."""
    found = [v.flaky for a in told.history.attempts if a.number == number for v in a.verdicts]
    return [finding.location.symbol for flaky in found for finding in flaky]


def _agent(sandbox: MemorySandbox, *texts: str) -> MemoryFixer:
    return MemoryFixer(sandbox, "agent", [write(a=text) for text in texts or ("1", "2", "3", "4")])


# -- flaky tests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "flaky"),
    [
        ([BAD, GOOD], ["t"]),
        ([{"t": ERROR}, GOOD], ["t"]),
        ([{"t": FAILED, "u": PASSED}, {"t": PASSED, "u": FAILED}], ["t", "u"]),
        ([BAD, {"t": SKIPPED}], ["t"]),
    ],
    ids=["gone", "an error gone", "another came", "skipped"],
)
def test_a_failure_that_changes_on_an_identical_run_is_flagged_and_reaches_no_fixer(
    sandbox: MemorySandbox, runs: Script, flaky: list[str]
) -> None:
    tests, fixer = ScriptedTests(runs), _agent(sandbox)
    told = run(sandbox, [tests], [fixer])
    assert (told.decision.action, fixer.tasks) == (Action.ACCEPT, [])
    assert _flaky(told) == flaky
    assert tests.count == 2
    assert told.of_kind("check_repeated") == [{"check": "tests"}]
    assert told.of_kind("check_finished")[0]["flaky"] == flaky
    assert told.history.latest.verdicts[0].seconds == 2.0


def test_the_run_that_is_repeated_gets_exactly_the_candidate_again(
    sandbox: MemorySandbox,
) -> None:
    seen: list[Files] = []

    def judge(files: Files) -> list[Finding]:
        seen.append(dict(files))
        files["left_over.py"] = "by the first run"
        return [finding("t", symbol="t")]

    tests = MemoryCheck(sandbox, "tests", judge, cases=lambda files: BAD)
    run(sandbox, [tests], [])
    assert seen == [sandbox.kept[sandbox.first]] * 2


def test_a_failure_that_stays_goes_to_a_fixer_and_is_not_run_again_after_that(
    sandbox: MemorySandbox,
) -> None:
    tests, fixer = ScriptedTests([BAD, BAD, BAD, GOOD]), _agent(sandbox)
    told = run(sandbox, [tests], [fixer])
    assert [f.location.symbol for f in fixer.tasks[0].findings] == ["t"]
    assert (len(told.history.attempts), tests.count) == (3, 4)
    assert told.decision.action is Action.ACCEPT
    assert _flaky(told) == []


def test_only_the_flaky_one_of_two_failures_is_kept_from_the_fixer(
    sandbox: MemorySandbox,
) -> None:
    both = {"t": FAILED, "u": FAILED}
    tests, fixer = ScriptedTests([both, {"t": PASSED, "u": FAILED}]), _agent(sandbox)
    told = run(sandbox, [tests], [fixer], Policy(max_attempts=2))
    assert [f.location.symbol for f in fixer.tasks[0].findings] == ["u"]
    assert _flaky(told) == ["t"]


def test_a_new_failure_beside_a_known_one_is_run_again(sandbox: MemorySandbox) -> None:
    known, more = {"t": PASSED, "u": FAILED}, {"t": FAILED, "u": FAILED}
    tests = ScriptedTests([known, known, more, known])
    told = run(sandbox, [tests], [_agent(sandbox)], Policy(max_attempts=2))
    assert tests.count == 4
    assert _flaky(told, 2) == ["t"]
    assert told.decision.why is Why.ATTEMPTS_SPENT


def test_a_regression_aborts_only_when_it_happens_twice(sandbox: MemorySandbox) -> None:
    start = {"t": FAILED, "u": PASSED}
    broken = {"t": PASSED, "u": FAILED}
    once = ScriptedTests([start, start, broken, {"t": PASSED, "u": PASSED}])
    told = run(sandbox, [once], [_agent(sandbox)])
    assert (told.decision.status, _flaky(told, 2)) == (RunState.PASSED, ["u"])
    twice = ScriptedTests([start, start, broken])
    told = run(sandbox, [twice], [_agent(sandbox)])
    assert (told.decision.status, told.decision.regressions) == (RunState.ABORTED, ("u",))
    assert twice.count == 4


def test_a_test_that_was_flaky_in_the_baseline_is_no_regression_later(
    sandbox: MemorySandbox,
) -> None:
    first: Script = [{"t": FAILED, "u": FAILED}, {"t": FAILED, "u": PASSED}]
    tests = ScriptedTests([*first, {"t": PASSED, "u": FAILED}])
    told = run(sandbox, [tests], [_agent(sandbox)], Policy(max_attempts=2))
    assert (told.decision.regressions, told.decision.why) == ((), Why.ATTEMPTS_SPENT)


def test_without_reruns_every_failure_counts(sandbox: MemorySandbox) -> None:
    tests, fixer = ScriptedTests([BAD, GOOD]), _agent(sandbox)
    told = run(sandbox, [tests], [fixer], Policy(flaky_reruns=0))
    assert (len(fixer.tasks), tests.count, len(told.history.attempts)) == (1, 2, 2)


def test_what_cannot_be_read_is_not_read_again(sandbox: MemorySandbox) -> None:
    unread = replace(finding("invalid syntax", symbol="t"), category="SyntaxError")
    tests = MemoryCheck(sandbox, "tests", lambda files: [unread], cases=lambda files: BAD)
    run(sandbox, [tests], [])
    assert tests.log == ["tests"]


# -- what fixers may begin beforehand -------------------------------------------------------------


@dataclass
class Eager(MemoryFixer):
    """Tells how often the tests had run when it was told that it may begin."""

    tests: ScriptedTests | None = None
    began: list[int] = field(default_factory=list)
    sees: bool | None = None
    asked: list[frozenset[str]] = field(default_factory=list)

    def anticipate(self, check: str, workplace: Workplace) -> None:
        assert self.tests is not None
        assert check == self.tests.name
        self.began.append(self.tests.count)

    async def fails_again(
        self, verdict: Verdict, tests: Set[str], workplace: Workplace
    ) -> bool | None:
        assert self.tests is not None
        assert verdict.check == self.tests.name
        self.asked.append(frozenset(tests))
        return self.sees


def _eager(sandbox: MemorySandbox, tests: ScriptedTests, sees: bool | None = None) -> Eager:
    return Eager(sandbox, "eager", [write(a="mended")], tests=tests, sees=sees)


def test_what_a_fixer_has_seen_fail_again_is_not_run_again(sandbox: MemorySandbox) -> None:
    tests = ScriptedTests([BAD, GOOD])
    fixer = _eager(sandbox, tests, sees=True)
    run(sandbox, [tests], [fixer])
    assert (tests.count, len(fixer.tasks)) == (2, 1)
    assert fixer.asked == [{"t"}]


def test_where_a_fixer_cannot_tell_the_check_is_run_again(sandbox: MemorySandbox) -> None:
    tests = ScriptedTests([BAD, BAD, GOOD])
    fixer = _eager(sandbox, tests)
    run(sandbox, [tests], [fixer])
    assert (tests.count, len(fixer.tasks)) == (3, 1)


def test_what_a_fixer_has_seen_pass_is_looked_at_twice_for_it_may_fail_by_turns(
    sandbox: MemorySandbox,
) -> None:
    tests = ScriptedTests([BAD, BAD, GOOD])
    fixer = _eager(sandbox, tests, sees=False)
    told = run(sandbox, [tests], [fixer])
    assert (tests.count, fixer.tasks, _flaky(told)) == (3, [], ["t"])


def test_a_fixer_may_begin_before_the_first_check_where_that_is_expected_to_fail(
    sandbox: MemorySandbox,
) -> None:
    tests = ScriptedTests([BAD, BAD, GOOD])
    fixer = _eager(sandbox, tests)
    run(sandbox, [tests], [fixer], expects_failure=True)
    assert fixer.began == [0]


def test_no_fixer_begins_where_none_will_be_asked(sandbox: MemorySandbox) -> None:
    tests = ScriptedTests([BAD])
    fixer = _eager(sandbox, tests)
    run(sandbox, [tests], [fixer], Policy(max_attempts=1), expects_failure=True)
    assert (tests.count, fixer.began) == (2, [])


# -- how often ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reruns", "count"), [(1, 2), (2, 3), (3, 4)])
def test_a_failure_is_run_again_as_often_as_the_policy_says_and_no_oftener(
    sandbox: MemorySandbox, reruns: int, count: int
) -> None:
    tests = ScriptedTests([BAD])
    run(sandbox, [tests], [], Policy(flaky_reruns=reruns))
    assert tests.count == count
    tests = ScriptedTests([BAD, GOOD])
    run(sandbox, [tests], [], Policy(flaky_reruns=reruns))
    assert tests.count == 2


@pytest.mark.parametrize(
    "found", [SLOW, finding("unused import", category="F401"), NETWORK], ids=lambda f: f.category
)
def test_a_time_out_and_what_has_no_cases_is_not_run_again(
    sandbox: MemorySandbox, found: Finding
) -> None:
    tests = ScriptedTests([found])
    told = run(sandbox, [tests], [], Policy(transport_retries=0))
    assert (tests.count, _flaky(told)) == (1, [])


def test_a_time_out_among_failures_is_not_run_again(sandbox: MemorySandbox) -> None:
    runs: list[None] = []

    def judge(files: Files) -> list[Finding]:
        runs.append(None)
        return [finding("t", symbol="t"), SLOW]

    run(sandbox, [MemoryCheck(sandbox, "tests", judge, cases=lambda files: BAD)], [])
    assert len(runs) == 1


def test_an_informational_check_is_not_run_again(sandbox: MemorySandbox) -> None:
    tests = ScriptedTests([BAD], mode=Mode.INFORMATIONAL)
    assert run(sandbox, [tests], []).decision.action is Action.ACCEPT
    assert tests.count == 1


# -- gates --------------------------------------------------------------------------------------

UNCOVERED = finding("60 of 80 percent", category=COVERAGE_UNMET, source="coverage")


def _gate(sandbox: MemorySandbox, name: str = "coverage", mode: Mode = Mode.REQUIRED) -> MemoryGate:
    """Wants new tests."""
    judge = says("test_new", "more")
    found = [replace(UNCOVERED, source=name)]
    return MemoryGate(sandbox, lambda files: found if list(judge(files)) else [], name, mode)


def test_gates_are_judged_only_when_all_required_checks_pass(sandbox: MemorySandbox) -> None:
    gate = _gate(sandbox, mode=Mode.INFORMATIONAL)
    checks = [
        MemoryCheck(sandbox, "tests", says("a", "good")),
        MemoryCheck(sandbox, "lint", lambda files: [finding("ugly")], Mode.INFORMATIONAL),
    ]
    told = run(sandbox, checks, [_agent(sandbox, "try", "good")], gates=(gate,))
    names = [[v.check for v in a.verdicts] for a in told.history.attempts]
    assert names == [["tests", "lint"], ["tests"], ["tests", "lint", "coverage"]]
    (trial,) = gate.trials
    assert trial.candidate == told.history.latest.candidate
    assert [(v.check, v.passed) for v in trial.verdicts] == [("tests", True), ("lint", False)]
    assert trial.history.attempts == told.history.attempts[:2]
    assert told.decision.action is Action.ACCEPT


def test_a_gate_judges_the_first_attempt_too_and_its_finding_goes_to_the_fixers(
    sandbox: MemorySandbox,
) -> None:
    gate = _gate(sandbox)
    fixer = MemoryFixer(sandbox, "agent", [write(test_new="more")])
    tests = MemoryCheck(sandbox, "tests", lambda files: [])
    told = run(sandbox, [tests], [fixer], gates=(gate,))
    assert [task.findings for task in fixer.tasks] == [(UNCOVERED,)]
    assert told.decision.action is Action.ACCEPT
    assert len(gate.trials) == 2


def test_every_gate_is_judged_even_when_the_first_one_blocks(sandbox: MemorySandbox) -> None:
    gates = tuple(_gate(sandbox, name) for name in ("coverage", "test_kinds"))
    tests = MemoryCheck(sandbox, "tests", lambda files: [])
    told = run(sandbox, [tests], [], gates=gates)
    assert [f.source for f in told.decision.findings] == ["coverage", "test_kinds"]


def test_code_that_works_and_lacks_tests_is_built_on_rather_than_code_that_fails(
    sandbox: MemorySandbox,
) -> None:
    gates = tuple(_gate(sandbox, name) for name in ("coverage", "test_kinds"))
    fixer = _agent(sandbox, "broken", "bad")
    told = run(
        sandbox,
        [MemoryCheck(sandbox, "tests", says("a", "bad"))],
        [fixer],
        Policy(max_attempts=2),
        gates=gates,
    )
    # One finding in place of two, and yet worse.
    assert [len(a.blocking) for a in told.history.attempts] == [2, 1]
    assert told.state.candidate == sandbox.first
    assert told.decision.findings == told.history.attempts[0].blocking


# -- failures outside of the task ---------------------------------------------------------------

OURS, THEIRS = "tests/test_ours.py::test_a", "tests/test_theirs.py::test_b"
TASK = ("test_ours.py",)


def test_failures_outside_of_the_task_never_block_and_are_recorded(
    sandbox: MemorySandbox,
) -> None:
    both: dict[str, Outcome] = {OURS: FAILED, THEIRS: FAILED}
    tests = ScriptedTests([both, both, {OURS: PASSED, THEIRS: FAILED}])
    fixer = _agent(sandbox)
    told = run(sandbox, [tests], [fixer], tests=TASK)
    assert [f.location.symbol for f in fixer.tasks[0].findings] == [OURS]
    assert told.decision.action is Action.ACCEPT
    for attempt in told.history.attempts:
        assert [f.location.symbol for f in attempt.verdicts[0].known] == [THEIRS]
    # Known to fail: only the first attempt was run twice.
    assert tests.count == 3


def test_a_new_failure_outside_of_the_task_blocks(sandbox: MemorySandbox) -> None:
    start: dict[str, Outcome] = {OURS: FAILED, THEIRS: PASSED}
    tests = ScriptedTests([start, start, {OURS: PASSED, THEIRS: FAILED}])
    told = run(sandbox, [tests], [_agent(sandbox)], tests=TASK)
    assert (told.decision.status, told.decision.regressions) == (RunState.ABORTED, (THEIRS,))


def test_where_no_tests_are_named_all_of_them_are_the_task(sandbox: MemorySandbox) -> None:
    told = run(sandbox, [ScriptedTests([{THEIRS: FAILED}])], [])
    assert [f.location.symbol for f in told.decision.findings] == [THEIRS]


# -- what was there before ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "first", "regressions"),
    [(PASSED, FAILED, (THEIRS,)), (FAILED, FAILED, ()), (SKIPPED, FAILED, ())],
)
def test_with_a_baseline_of_before_the_first_attempt_can_regress(
    sandbox: MemorySandbox, before: Outcome, first: Outcome, regressions: tuple[str, ...]
) -> None:
    old = verdict(finding("x"), cases={THEIRS: before})
    told = run(sandbox, [ScriptedTests([{THEIRS: first}])], [], before=(old,))
    assert told.decision.regressions == regressions
    assert (told.decision.status is RunState.ABORTED) is bool(regressions)


def test_with_a_baseline_of_before_new_failures_outside_of_the_task_block_at_once(
    sandbox: MemorySandbox,
) -> None:
    known = {OURS: PASSED, THEIRS: FAILED}
    told = run(
        sandbox,
        [ScriptedTests([known])],
        [],
        before=(verdict(finding("x"), cases={THEIRS: FAILED}),),
        tests=TASK,
    )
    assert told.decision.action is Action.ACCEPT
    told = run(
        sandbox,
        [ScriptedTests([known])],
        [],
        before=(verdict(cases={THEIRS: PASSED}),),
        tests=TASK,
    )
    assert told.decision.why is Why.REGRESSION


def test_what_failed_before_is_not_run_again_to_see_whether_it_stays(
    sandbox: MemorySandbox,
) -> None:
    tests = ScriptedTests([BAD])
    run(sandbox, [tests], [], before=(verdict(finding("x"), cases=BAD),))
    assert tests.count == 1


def test_a_first_attempt_in_which_tests_of_before_vanished_does_not_pass(
    sandbox: MemorySandbox,
) -> None:
    told = run(sandbox, [ScriptedTests([{}])], [], before=(verdict(cases=GOOD),))
    assert [f.category for f in told.decision.findings] == ["not_run"]


# -- durable ------------------------------------------------------------------------------------


def test_after_a_crash_what_was_flaky_and_what_the_gates_said_is_as_it_was(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    def crash(files: Files) -> None:
        raise Killed

    tests = ScriptedTests([BAD, GOOD, GOOD])
    gate = _gate(sandbox)
    fixer = MemoryFixer(sandbox, "agent", [crash, write(test_new="more")])
    flow = build(sandbox, [tests], [fixer], Policy(), gates=(gate,))
    durable = Durable(journal, sandbox, flow)
    with pytest.raises(Killed):
        durable.drive()
    state = durable.drive()
    history: History = state.history
    assert fixer.tasks[0] == fixer.tasks[1]
    assert [f.location.symbol for f in history.attempts[0].verdicts[0].flaky] == ["t"]
    assert (tests.count, len(gate.trials)) == (3, 2)
    assert history.attempts[0].at == fixer.tasks[0].history.attempts[0].at > 0
    assert state.last_decision.action is Action.ACCEPT


# -- any tests, gates and triggers at all -------------------------------------------------------


@given(
    escalating,
    st.lists(
        st.dictionaries(st.sampled_from([OURS, THEIRS]), st.sampled_from(Outcome))
        | st.sampled_from([SLOW, NETWORK, finding("?", category="exit_code")]),
        min_size=1,
        max_size=20,
    ),
    st.lists(st.sampled_from(["nothing", "0", "1", "2", "test"]), max_size=20),
    st.integers(0, 3),
)
def test_whatever_tests_gates_and_triggers_there_are_the_cycle_ends(
    policy: Policy, runs: Script, edits: list[str], reruns: int
) -> None:
    no_people = tuple(t for t in policy.triggers if t.action != "human_review")
    policy = replace(
        policy,
        ask_human=False,
        triggers=no_people,
        flaky_reruns=reruns,
        backoff_seconds=1e-9,
        max_time=1e6,
    )
    sandbox = MemorySandbox({"a.py": "bad"})
    todo = iter(edits)

    def edit(files: Files) -> None:
        match next(todo, "nothing"):
            case "nothing":
                nothing(files)
            case "test":
                files["test_new.py"] = "more"
            case text:
                files["a.py"] = text

    ladder = [MemoryFixer(sandbox, rung, [edit]) for rung in policy.rungs if rung != "human"]
    gates = (_gate(sandbox),)
    told = run(sandbox, [ScriptedTests(runs)], ladder, policy, gates=gates, tests=TASK)
    assert told.decision.action in (Action.ACCEPT, Action.STOP)
    real = [a for a in told.history.attempts if not a.recheck]
    assert len(real) <= policy.max_attempts + len(told.history.escalations)
    accepted = next(
        a for a in reversed(told.history.attempts) if a.candidate == told.state.candidate
    )
    if told.decision.action is Action.ACCEPT:
        assert accepted.verdict("coverage")
        assert accepted.passed is (told.decision.why is Why.PASSED)
        assert accepted.works


# -- some of the tests alone, and limits that nobody set ----------------------------------------


@dataclass
class SlowTests(ScriptedTests):
    """Tests of which some can be run alone; with `others` seconds for those that pass."""

    others: float = 60.0
    alone: Script = field(default_factory=list)
    asked: list[frozenset[str]] = field(default_factory=list)
    limits: list[Verdict] = field(default_factory=list)
    patient: ScriptedTests | None = None

    def select(self, cases: Iterable[str], workplace: Workplace) -> ScriptedTests:
        self.asked.append(frozenset(cases))
        said = self.alone.pop(0) if len(self.alone) > 1 else self.alone[0]
        return ScriptedTests([said])

    def limited_by(self, baseline: Verdict) -> SlowTests:
        self.limits.append(baseline)
        return self

    def with_more_time(self, verdict: Verdict) -> ScriptedTests | None:
        patient, self.patient = self.patient, None
        return patient

    async def run(self, workplace: Workplace) -> Verdict:
        return replace(await super().run(workplace), seconds_passed=self.others)


START = {"t": FAILED, "u": PASSED}
DONE = {"t": PASSED, "u": PASSED}


def test_what_fails_again_by_itself_is_no_chance_and_the_others_are_not_run_for_it(
    sandbox: MemorySandbox,
) -> None:
    tests = SlowTests([START], alone=[BAD], others=0.0)
    told = run(sandbox, [tests], [], Policy(max_attempts=1))
    assert (tests.count, tests.asked) == (1, [frozenset({"t"})])
    assert told.history.latest.verdicts[0].seconds == 2.0
    assert not told.decision.flags
    assert _flaky(told) == []


def test_what_passes_by_itself_is_run_again_with_the_others(sandbox: MemorySandbox) -> None:
    """It may need the others to fail: then it is no flaky test."""
    tests = SlowTests([START], alone=[GOOD], others=0.0)
    told = run(sandbox, [tests], [], Policy(max_attempts=1))
    assert (tests.count, _flaky(told)) == (2, [])
    assert told.history.latest.blocking


def test_a_candidate_that_leaves_the_failing_tests_as_they_are_costs_no_whole_run(
    sandbox: MemorySandbox,
) -> None:
    tests = SlowTests([START, DONE], alone=[BAD, BAD, GOOD])
    told = run(sandbox, [tests], [_agent(sandbox)], Policy(max_attempts=3))
    first, second, third = told.history.attempts
    assert [v.partial for a in (first, second, third) for v in a.verdicts] == [False, True, False]
    assert second.verdicts[0].cases == BAD
    # The last one is accepted by nothing but the whole.
    assert (tests.count, third.verdicts[0].cases) == (2, DONE)
    assert told.decision.status is RunState.PASSED


def test_a_part_that_passes_accepts_nothing(sandbox: MemorySandbox) -> None:
    broken = {"t": PASSED, "u": FAILED}
    tests = SlowTests([START, broken], alone=[BAD, GOOD, {"u": FAILED}])
    told = run(sandbox, [tests], [_agent(sandbox)], Policy(max_attempts=2))
    assert (told.decision.status, told.decision.regressions) == (RunState.ABORTED, ("u",))


def test_where_one_of_two_failing_tests_passes_all_of_them_are_run(
    sandbox: MemorySandbox,
) -> None:
    start = {"t": FAILED, "u": FAILED, "v": PASSED}
    half = {"t": PASSED, "u": FAILED}
    tests = SlowTests([start, {**half, "v": PASSED}], alone=[start, half])
    told = run(sandbox, [tests], [_agent(sandbox)], Policy(max_attempts=2))
    assert not told.history.latest.verdicts[0].partial
    assert told.history.best is told.history.latest
    assert tests.count == 2


def test_where_the_other_tests_take_no_time_all_are_run_at_once(sandbox: MemorySandbox) -> None:
    tests = SlowTests([START, DONE], alone=[BAD], others=0.1)
    told = run(sandbox, [tests], [_agent(sandbox)], Policy(max_attempts=2))
    assert told.decision.status is RunState.PASSED
    assert tests.asked == [frozenset({"t"})]


def test_a_candidate_of_which_only_a_part_was_run_is_not_the_best(
    sandbox: MemorySandbox,
) -> None:
    tests = SlowTests([START], alone=[BAD, {"t": ERROR}])
    told = run(sandbox, [tests], [_agent(sandbox)], Policy(max_attempts=2))
    assert told.history.latest.verdicts[0].partial
    assert told.history.best is told.history.attempts[0]


def test_a_test_that_only_needs_more_time_is_no_finding(sandbox: MemorySandbox) -> None:
    patient = ScriptedTests([GOOD])
    tests = SlowTests([{"t": FAILED, "u": PASSED}], patient=patient)
    told = run(sandbox, [tests], [])
    [verdict] = told.history.latest.verdicts
    assert (verdict.passed, verdict.cases, verdict.seconds) == (True, DONE, 2.0)
    assert (tests.count, patient.count) == (1, 1)


def test_limits_that_nobody_set_follow_from_the_baseline(sandbox: MemorySandbox) -> None:
    tests = SlowTests([START, DONE], alone=[BAD, GOOD])
    told = run(sandbox, [tests], [_agent(sandbox)], Policy(max_attempts=2))
    assert tests.limits == [told.history.attempts[0].verdicts[0]]
