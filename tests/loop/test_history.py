"""History: which attempt is best, what is a regression, and what was quietly not run."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from runtrue.loop import (
    COVERAGE_UNMET,
    SECURITY_ISSUE,
    TESTS_MISSING,
    Analysis,
    Fault,
    Finding,
    Fix,
    FixPart,
    History,
    Mode,
    Outcome,
    Reason,
    Verdict,
    drop_known_failures,
    fail_if_tests_vanished,
    is_one_of,
    may_be_one_of,
    merge_reruns,
)
from tests.loop.make import (
    NETWORK,
    NO_PROGRAM,
    answer,
    attempt,
    escalation,
    finding,
    fix,
    history,
    rejection,
    verdict,
)

PASSED, FAILED, ERROR, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED
A, B, C = finding("a"), finding("b"), finding("c")

# -- attempts -----------------------------------------------------------------------------------


def test_an_attempt_passes_when_no_required_check_failed() -> None:
    informational = verdict(A, check="lint", mode=Mode.INFORMATIONAL)
    assert attempt(1, verdict(), informational).passed
    assert not attempt(1, verdict(A)).passed


def test_the_blocking_findings_are_those_of_required_checks_that_failed() -> None:
    tested = attempt(
        1,
        verdict(A, check="tests"),
        verdict(B, check="lint", mode=Mode.INFORMATIONAL),
        verdict(C, check="types", passed=True),
    )
    assert tested.blocking == (A,)


def test_a_verdict_is_found_by_the_name_of_its_check() -> None:
    tests = verdict(check="tests")
    assert attempt(1, tests).verdict("tests") is tests
    assert attempt(1, tests).verdict("lint") is None


# -- the best attempt ---------------------------------------------------------------------------


def test_the_latest_attempt_is_the_last_one() -> None:
    assert history(attempt(1, verdict(A)), attempt(2, verdict(B))).latest.number == 2


@pytest.mark.parametrize(
    ("verdicts", "best"),
    [
        ([verdict(A, B), verdict(A)], 2),
        ([verdict(A), verdict(A, B)], 1),
        ([verdict(A, B), verdict(A), verdict(A, B, C)], 2),
        ([verdict(A, B), verdict()], 2),
        # Another failure in place of the old one is none less.
        ([verdict(A), verdict(B)], 1),
        # A change that left the failure as it was is not worth keeping.
        ([verdict(A), verdict(A)], 1),
    ],
    ids=["fewer", "more", "fewest", "passed", "another", "the same"],
)
def test_the_best_attempt_has_the_fewest_findings(verdicts: list[Verdict], best: int) -> None:
    attempts = [attempt(n, v) for n, v in enumerate(verdicts, 1)]
    assert history(*attempts).best.number == best


def test_another_wrong_value_is_not_better() -> None:
    wrong = [
        finding(f"assert {n} == 180", symbol="test_a", category="AssertionError") for n in (1, 2)
    ]
    cases = {"test_a": FAILED}
    attempts = [attempt(n, verdict(f, cases=cases)) for n, f in enumerate(wrong, 1)]
    assert history(*attempts).best.number == 1


def test_a_crash_that_is_gone_is_a_step_on_the_way() -> None:
    crash = finding("name 'x' is not defined", symbol="test_a", category="NameError")
    wrong = finding("assert 1 == 2", symbol="test_a", category="AssertionError")
    told = history(attempt(1, verdict(crash)), attempt(2, verdict(wrong)))
    assert told.best.number == 2


def test_a_runner_that_stops_at_the_first_failure_comes_further() -> None:
    first = verdict(finding("a", symbol="t1"), cases={"t1": FAILED})
    second = verdict(finding("b", symbol="t2"), cases={"t1": PASSED, "t2": FAILED})
    assert history(attempt(1, first), attempt(2, second)).best.number == 2


def test_an_attempt_that_makes_tests_vanish_is_not_better() -> None:
    some = verdict(finding("a"), finding("b"), cases={"t1": PASSED, "t2": FAILED, "t3": FAILED})
    none = verdict(finding("cannot be imported"), cases={"test_a.py": ERROR})
    none = fail_if_tests_vanished(some, none)
    assert history(attempt(1, some), attempt(2, none)).best.number == 1


def test_of_two_that_fix_as_much_the_smaller_change_is_better() -> None:
    before = verdict(A, B, cases={"t1": FAILED, "t2": FAILED})
    after = verdict(B, cases={"t1": PASSED, "t2": FAILED})
    large = attempt(2, after, fix=replace(fix("c2", "c1"), added=9))
    small = attempt(3, after, fix=replace(fix("c3", "c1"), added=1))
    assert history(attempt(1, before), large, small).best.number == 3
    assert history(attempt(1, before), small, large).best.number == 3


def test_an_attempt_that_broke_something_is_never_better_than_one_that_did_not() -> None:
    base = attempt(1, verdict(A, B, C, cases={"t1": PASSED, "t2": FAILED}))
    worse = attempt(2, verdict(A, cases={"t1": FAILED, "t2": PASSED}))
    assert history(base, worse).best is base


# -- regressions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "regression"),
    [
        (PASSED, FAILED, True),
        (PASSED, ERROR, True),
        (PASSED, PASSED, False),
        (PASSED, SKIPPED, False),
        (FAILED, FAILED, False),
        (FAILED, ERROR, False),
        (ERROR, FAILED, False),
        (SKIPPED, FAILED, False),
    ],
)
def test_a_regression_passed_in_the_baseline_and_fails_now(
    before: Outcome, after: Outcome, regression: bool
) -> None:
    base = attempt(1, verdict(A, cases={"t": before}))
    now = attempt(2, verdict(A, cases={"t": after}))
    assert history(base, now).regressions(now) == (("t",) if regression else ())


def test_a_test_that_is_new_or_was_not_run_again_is_no_regression() -> None:
    base = attempt(1, verdict(A, cases={"old": PASSED}))
    now = attempt(2, verdict(A, cases={"new": FAILED}))
    assert history(base, now).regressions(now) == ()
    without = attempt(2, verdict(check="lint"))
    assert history(base, without).regressions(without) == ()


def test_what_an_informational_check_says_is_no_regression() -> None:
    base = attempt(1, verdict(mode=Mode.INFORMATIONAL, cases={"t": PASSED}))
    now = attempt(2, verdict(A, mode=Mode.INFORMATIONAL, cases={"t": FAILED}))
    assert history(base, now).regressions(now) == ()


def test_regressions_are_told_against_the_baseline_not_against_the_attempt_before() -> None:
    base = attempt(1, verdict(A, cases={"t": FAILED}))
    better = attempt(2, verdict(B, cases={"t": PASSED}))
    back = attempt(3, verdict(A, cases={"t": FAILED}))
    assert history(base, better, back).regressions(back) == ()


# -- what counts --------------------------------------------------------------------------------


def test_time_is_that_of_all_checks_and_all_fixers_rejected_ones_too() -> None:
    told = history(
        attempt(1, verdict(A, seconds=1), verdict(seconds=2, mode=Mode.INFORMATIONAL)),
        attempt(2, verdict(A, seconds=4), fix=fix(seconds=8)),
        rejections=(rejection(Reason.UNCHANGED, seconds=16),),
    )
    assert told.seconds == 31


def test_since_the_last_answer_only_what_came_after_it_counts() -> None:
    told = history(
        attempt(1, verdict(A)),
        attempt(2, verdict(A), recheck=True),
        attempt(3, verdict(A)),
        rejections=(rejection(Reason.REPEATED), rejection(Reason.UNCHANGED, 3)),
        answers=(answer(1, 0), answer(2, 1)),
    )
    since = told.since_last_answer()
    assert since.attempts == told.attempts[2:]
    assert since.rejections == told.rejections[1:]
    assert (told.rechecks, since.rechecks) == (1, 0)
    assert since.answers == ()


def test_without_an_answer_everything_counts() -> None:
    told = history(attempt(1, verdict(A)), rejections=(rejection(Reason.NO_FIXER),))
    assert told.since_last_answer() is told


def test_a_fix_names_the_files_of_all_its_parts_once() -> None:
    parts = tuple(
        FixPart(fixer="tool", findings=(), description="", files=files, seconds=1.5)
        for files in (("b.py", "a.py"), ("a.py",))
    )
    whole = Fix(base="c1", candidate="c2", parts=parts)
    assert whole.files == ("a.py", "b.py")
    assert whole.seconds == 3.0


def test_a_history_survives_the_journal_with_everything_in_it() -> None:
    judged = replace(verdict(A, flaky=(B,)), known=(C,), coverage={"a.py": (3, 4)})
    analysis = Analysis(root_cause="a", confidence=0.5, patterns_matched=("p1",))
    told = history(
        attempt(1, verdict(A, finding("no", Fault.CHECK), cases={"t": SKIPPED})),
        attempt(1, judged, candidate="c1", recheck=True),
        replace(attempt(2, verdict(), fix=fix("c2")), at=1.5, analysis=analysis),
        rejections=(rejection(Reason.NOBODY_STRONGER),),
        answers=(answer(2, 1),),
        escalations=(escalation("senior_agent", 2, 1, above="tool"),),
        before=(verdict(A, cases={"t": ERROR}),),
    )
    assert msgspec.json.decode(msgspec.json.encode(told), type=History) == told


# -- still judged -------------------------------------------------------------------------------

BASELINE = verdict(A, cases={"test_good": PASSED, "test_bad": FAILED, "test_odd": SKIPPED})


@pytest.mark.parametrize(
    ("cases", "dodged"),
    [
        ({"test_good": PASSED, "test_bad": PASSED, "test_odd": SKIPPED}, []),
        ({"test_good": PASSED, "test_bad": PASSED}, []),
        ({"test_good": PASSED, "test_bad": SKIPPED}, ["test_bad"]),
        ({"test_good": PASSED}, ["test_bad"]),
        ({"test_good": SKIPPED, "test_bad": PASSED}, ["test_good"]),
        ({}, ["test_good", "test_bad"]),
        ({"test_new": PASSED}, ["test_good", "test_bad"]),
    ],
    ids=["all run", "skipped before", "skipped", "vanished", "good skipped", "none", "renamed"],
)
def test_a_check_does_not_pass_by_having_tests_skipped_or_made_to_vanish(
    cases: dict[str, Outcome], dodged: list[str]
) -> None:
    judged = fail_if_tests_vanished(BASELINE, verdict(cases=cases))
    assert judged.passed is (not dodged)
    assert list(judged.vanished) == dodged
    assert [case for found in judged.findings for case in found.attempted] == dodged
    assert all(found.fault is Fault.CANDIDATE for found in judged.findings)
    assert all(found.category == "not_run" for found in judged.findings)


def test_tests_that_vanish_are_noticed_where_another_one_fails() -> None:
    still = finding("still wrong", symbol="test_good")
    failed = verdict(still, cases={"test_good": FAILED, "test_odd": SKIPPED})
    judged = fail_if_tests_vanished(BASELINE, failed)
    assert judged.vanished == ("test_bad",)
    assert [found.category for found in judged.findings] == ["AssertionError", "not_run"]


def test_a_run_that_broke_off_has_lost_tests_and_says_why_in_its_own_finding() -> None:
    failed = verdict(finding("cannot import it", symbol="test_module.py"))
    judged = fail_if_tests_vanished(BASELINE, failed)
    assert judged.findings == failed.findings
    assert judged.vanished == ("test_good", "test_bad")


@pytest.mark.parametrize(
    "failed",
    [verdict(NETWORK), verdict(finding(category="timeout")), replace(verdict(B), cut_short=True)],
    ids=["environment", "timeout", "stopped at a failure"],
)
def test_a_run_that_was_cut_short_says_nothing_about_tests_it_did_not_come_to(
    failed: Verdict,
) -> None:
    assert fail_if_tests_vanished(BASELINE, failed) is failed


def test_a_command_without_a_report_before_is_not_missed_when_it_has_one() -> None:
    baseline = verdict(A, check="node", cases={"node": FAILED})
    after = verdict(check="node", cases={"adds": PASSED})
    assert fail_if_tests_vanished(baseline, after) is after


def test_a_test_that_could_not_even_be_collected_before_may_be_gone_afterwards() -> None:
    # It stands for a module that did not import; once it does, its tests appear instead.
    baseline = verdict(A, cases={"test_module.py": ERROR})
    after = verdict(cases={"test_module.py::test_a": PASSED})
    assert fail_if_tests_vanished(baseline, after) is after


def test_a_check_without_cases_is_judged_by_its_exit_code_alone() -> None:
    after = verdict(check="lint")
    assert fail_if_tests_vanished(verdict(A, check="lint"), after) is after


def test_the_tests_of_a_file_that_vanished_are_named_and_counted_in_one_finding() -> None:
    names = [f"test_{file}.py::test_{number}" for file in "ab" for number in range(7)]
    baseline = verdict(A, cases=dict.fromkeys(names, PASSED))
    judged = fail_if_tests_vanished(baseline, verdict())
    first, second = judged.findings
    assert first.message == (
        "7 tests ran before and are gone now: test_0, test_1, test_2, test_3, test_4 and 2 more"
    )
    assert (first.attempted, second.attempted) == (tuple(names[:7]), tuple(names[7:]))
    assert first.fingerprint != second.fingerprint


def test_tests_that_vanish_are_regressions() -> None:
    before = verdict(A, cases={"t1": PASSED, "t2": FAILED})
    gone = fail_if_tests_vanished(before, verdict(cases={"t2": PASSED}))
    told = history(attempt(1, before), attempt(2, gone))
    assert told.regressions(told.latest) == ("t1",)


def test_mending_four_of_five_equal_findings_is_progress() -> None:
    same = finding("comparison to None")
    told = history(attempt(1, verdict(*[same] * 5)), attempt(2, verdict(same)))
    assert told.best.number == 2


def test_an_attempt_whose_check_could_not_run_is_not_better_than_one_that_ran() -> None:
    told = history(attempt(1, verdict(finding("a"), finding("b"))), attempt(2, verdict(NO_PROGRAM)))
    assert told.best.number == 1


def test_the_baseline_of_a_check_that_was_run_again_is_its_last_verdict() -> None:
    again = verdict(finding("t2"), cases={"t1": Outcome.PASSED, "t2": Outcome.FAILED})
    told = history(
        attempt(1, verdict(NETWORK)),
        attempt(1, again, recheck=True),
        attempt(2, verdict(finding("t1"), cases={"t1": Outcome.FAILED, "t2": Outcome.PASSED})),
    )
    assert told.baseline == (again,)
    assert told.regressions(told.latest) == ("t1",)


# -- the best attempt, with gates ---------------------------------------------------------------

HOLE, UNCOVERED, UNTESTED = (
    finding(category, category=category)
    for category in (SECURITY_ISSUE, COVERAGE_UNMET, TESTS_MISSING)
)


@pytest.mark.parametrize(
    ("verdicts", "best"),
    [
        # What works and lacks something is better than what fails, however little is wrong.
        ([verdict(A), verdict(HOLE, UNCOVERED, UNTESTED)], 2),
        ([verdict(HOLE, UNCOVERED, UNTESTED), verdict(A)], 1),
        ([verdict(HOLE, UNCOVERED), verdict(HOLE)], 2),
        ([verdict(HOLE), verdict(HOLE, A)], 1),
        ([verdict(UNCOVERED), verdict()], 2),
        ([verdict(UNCOVERED), verdict(UNCOVERED)], 1),
    ],
    ids=["works", "worked", "fewer", "a bug more", "passed", "the same"],
)
def test_of_two_attempts_the_one_that_works_is_better(verdicts: list[Verdict], best: int) -> None:
    attempts = [attempt(n, v) for n, v in enumerate(verdicts, 1)]
    assert history(*attempts).best.number == best


def test_code_that_works_by_breaking_something_is_not_better() -> None:
    base = attempt(1, verdict(A, cases={"t": PASSED}))
    broke = attempt(2, verdict(UNCOVERED, cases={"t": FAILED}))
    assert history(base, broke).best is base


# -- the baseline of before ---------------------------------------------------------------------


def test_what_the_checks_said_before_a_generator_changed_the_code_is_the_baseline() -> None:
    old = verdict(A, cases={"t": PASSED, "u": FAILED})
    first = attempt(1, verdict(A, cases={"t": FAILED, "u": FAILED}))
    told = history(first, before=(old,))
    assert told.baseline == (old,)
    assert told.regressions(first) == ("t",)
    assert history(first).regressions(first) == ()


def test_a_case_that_was_flaky_in_the_baseline_is_no_regression() -> None:
    odd = finding("t", symbol="t")
    base = attempt(1, verdict(A, cases={"t": PASSED, "u": PASSED}, flaky=(odd,)))
    now = attempt(2, verdict(A, cases={"t": FAILED, "u": FAILED}))
    assert history(base, now).regressions(now) == ("u",)


def test_confirmed_are_the_cases_that_failed_before_or_in_any_attempt_of_that_check() -> None:
    told = history(
        attempt(1, verdict(A, cases={"t": FAILED, "u": PASSED}), verdict(check="more")),
        attempt(2, verdict(A, check="more", cases={"w": FAILED})),
        before=(verdict(A, cases={"v": ERROR}), verdict(A, check="more", cases={"x": FAILED})),
    )
    assert told.confirmed("tests") == {"t", "v"}
    assert told.confirmed("more") == {"w", "x"}
    assert told.confirmed("other") == frozenset()


# -- escalations --------------------------------------------------------------------------------


def test_an_escalation_to_stronger_fixers_lasts_until_there_is_an_attempt_or_nobody() -> None:
    asked = escalation("senior_agent", 1, 1, above="tool")
    told = history(
        attempt(1, verdict(A)),
        rejections=(rejection(Reason.REPEATED),),
        escalations=(asked,),
    )
    assert told.senior is asked
    again = replace(told, rejections=(*told.rejections, rejection(Reason.UNCHANGED)))
    assert again.senior is asked
    in_vain = replace(again, rejections=(*again.rejections, rejection(Reason.NOBODY_STRONGER)))
    assert (in_vain.senior, in_vain.in_vain(asked)) == (None, True)
    tried = replace(told, attempts=(*told.attempts, attempt(2, verdict(A))))
    assert (tried.senior, tried.in_vain(asked)) == (None, False)
    assert replace(told, escalations=(escalation("human_review", 1, 1),)).senior is None
    assert replace(told, escalations=()).senior is None


def test_since_the_last_answer_only_escalations_after_it_count() -> None:
    told = history(
        *(attempt(n, verdict(A)) for n in (1, 2, 3)),
        escalations=tuple(escalation("senior_agent", n) for n in (1, 2, 3)),
        answers=(answer(2),),
    )
    assert [e.attempts for e in told.since_last_answer().escalations] == [3]


# -- steady -------------------------------------------------------------------------------------


def _tested(**outcomes: Outcome) -> Verdict:
    """A run of tests, with a finding for each that failed."""
    bad = [case for case, outcome in outcomes.items() if outcome in (FAILED, ERROR)]
    found = (finding(f"{case} failed", symbol=case) for case in bad)
    return verdict(*found, cases=outcomes, seconds=1.0)


def _symbols(findings: tuple[Finding, ...]) -> list[str | None]:
    return [found.location.symbol for found in findings]


@pytest.mark.parametrize(
    ("runs", "left", "flaky"),
    [
        ([{"t": FAILED}, {"t": FAILED}], ["t"], []),
        ([{"t": FAILED}, {"t": ERROR}], ["t"], []),
        ([{"t": FAILED}, {"t": PASSED}], [], ["t"]),
        ([{"t": FAILED}, {"t": SKIPPED}], [], ["t"]),
        ([{"t": FAILED}, {}], [], ["t"]),
        ([{"t": FAILED, "u": FAILED}, {"t": PASSED, "u": FAILED}], ["u"], ["t"]),
        ([{"t": FAILED, "u": PASSED}, {"t": PASSED, "u": FAILED}], [], ["t", "u"]),
        ([{"t": FAILED, "u": PASSED}, {"t": FAILED, "u": FAILED}], ["t"], ["u"]),
        # One that is flaky in an earlier pair of runs stays so.
        (
            [
                {"t": FAILED, "u": FAILED, "v": FAILED},
                {"t": PASSED, "u": FAILED, "v": FAILED},
                {"t": PASSED, "u": PASSED, "v": FAILED},
            ],
            ["v"],
            ["t", "u"],
        ),
        (
            [
                {"t": FAILED, "u": FAILED},
                {"t": PASSED, "u": FAILED},
                {"t": FAILED, "u": FAILED},
            ],
            ["u"],
            ["t"],
        ),
    ],
    ids=str,
)
def test_what_holds_of_several_runs_is_what_failed_in_all_of_them(
    runs: list[dict[str, Outcome]], left: list[str], flaky: list[str]
) -> None:
    held, *others = [_tested(**outcomes) for outcomes in runs]
    for other in others:
        held = merge_reruns(held, other)
    assert (_symbols(held.findings), _symbols(held.flaky)) == (left, flaky)
    assert held.passed is (not left)
    assert held.seconds == len(runs)
    assert [c for c, outcome in held.cases.items() if outcome in (FAILED, ERROR)] == left


def test_a_case_that_was_skipped_the_second_time_is_not_said_to_have_passed() -> None:
    assert merge_reruns(_tested(t=FAILED), _tested(t=SKIPPED)).cases == {"t": SKIPPED}


def test_a_run_that_broke_off_says_nothing_about_the_cases_of_the_one_before() -> None:
    died = verdict(finding("died", symbol="tests", category="died"))
    held = merge_reruns(_tested(t=FAILED), died)
    assert (held.passed, held.findings, held.flaky) == (False, died.findings, ())


# -- within the task ----------------------------------------------------------------------------

OURS, THEIRS = "tests/test_ours.py::test_a", "tests/test_theirs.py::test_b"


@pytest.mark.parametrize(
    ("baseline", "left", "known"),
    [
        (None, [OURS], [THEIRS]),
        ({THEIRS: FAILED}, [OURS], [THEIRS]),
        ({THEIRS: ERROR}, [OURS], [THEIRS]),
        ({THEIRS: PASSED}, [OURS, THEIRS], []),
        ({THEIRS: SKIPPED}, [OURS, THEIRS], []),
        ({}, [OURS, THEIRS], []),
    ],
    ids=["first", "failed", "error", "passed", "skipped", "new"],
)
def test_failures_of_other_files_block_unless_they_were_there_before(
    baseline: dict[str, Outcome] | None, left: list[str], known: list[str]
) -> None:
    tested = _tested(**{OURS: FAILED, THEIRS: FAILED})
    before = None if baseline is None else verdict(cases=baseline)
    judged = drop_known_failures(tested, ("tests/test_ours.py",), before)
    assert (_symbols(judged.findings), _symbols(judged.known)) == (left, known)
    assert not judged.passed
    assert judged.cases == tested.cases


def test_with_nothing_but_failures_of_other_files_a_check_passes() -> None:
    judged = drop_known_failures(_tested(**{THEIRS: FAILED}), ("test_ours.py",), None)
    assert (judged.passed, _symbols(judged.known)) == (True, [THEIRS])


@pytest.mark.parametrize(
    "found",
    [finding("exit code 1", symbol="tests"), finding("syntax", symbol="tests/test_theirs.py")],
    ids=lambda found: found.message,
)
def test_what_is_no_failure_of_a_case_blocks_wherever_it_is(found: Finding) -> None:
    failed = verdict(found)
    assert drop_known_failures(failed, ("test_ours.py",), None) is failed


@pytest.mark.parametrize(
    ("file", "names", "expected"),
    [
        ("tests/test_a.py", ("tests/test_a.py",), True),
        ("part/tests/test_a.py", ("tests/test_a.py",), True),
        ("test_a.py", ("tests/test_a.py",), True),
        ("tests/latest_a.py", ("test_a.py",), False),
        ("tests/test_b.py", ("tests/test_a.py",), False),
        ("tests/test_a.py", (), False),
    ],
)
def test_a_file_is_known_by_any_name_it_may_have(
    file: str, names: tuple[str, ...], expected: bool
) -> None:
    assert may_be_one_of(file, names) is expected


def test_a_judge_of_the_same_name_below_makes_no_judge_of_a_file() -> None:
    assert not is_one_of("total.js", ("test/total.js",))
    assert is_one_of("part/test/total.js", ("test/total.js",))
