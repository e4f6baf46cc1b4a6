"""History: which attempt is best, what is a regression, and what was quietly not run."""

from __future__ import annotations

import msgspec
import pytest

from runtrue.loop import Fault, Fix, FixPart, History, Mode, Outcome, Reason, Verdict, still_judged
from tests.loop.make import (
    NETWORK,
    NO_PROGRAM,
    answer,
    attempt,
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
        # Another failure in place of the old one may be a step on the way.
        ([verdict(A), verdict(B)], 2),
        # A change that left the failure as it was is not worth keeping.
        ([verdict(A), verdict(A)], 1),
    ],
    ids=["fewer", "more", "fewest", "passed", "another", "the same"],
)
def test_the_best_attempt_has_the_fewest_findings(verdicts: list[Verdict], best: int) -> None:
    attempts = [attempt(n, v) for n, v in enumerate(verdicts, 1)]
    assert history(*attempts).best.number == best


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
    told = history(
        attempt(1, verdict(A, finding("no", Fault.CHECK), cases={"t": SKIPPED})),
        attempt(1, verdict(A), candidate="c1", recheck=True),
        attempt(2, verdict(), fix=fix("c2")),
        rejections=(rejection(Reason.REPEATED),),
        answers=(answer(2, 1),),
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
    judged = still_judged(BASELINE, verdict(cases=cases))
    assert judged.passed is (not dodged)
    assert [found.location.symbol for found in judged.findings] == dodged
    assert all(found.fault is Fault.CANDIDATE for found in judged.findings)
    assert all(found.category == "not_run" for found in judged.findings)


def test_a_check_that_failed_anyway_keeps_its_own_findings() -> None:
    failed = verdict(B, cases={"test_good": PASSED})
    assert still_judged(BASELINE, failed) is failed


def test_a_test_that_could_not_even_be_collected_before_may_be_gone_afterwards() -> None:
    # It stands for a module that did not import; once it does, its tests appear instead.
    baseline = verdict(A, cases={"test_module.py": ERROR})
    after = verdict(cases={"test_module.py::test_a": PASSED})
    assert still_judged(baseline, after) is after


def test_a_check_without_cases_is_judged_by_its_exit_code_alone() -> None:
    after = verdict(check="lint")
    assert still_judged(verdict(A, check="lint"), after) is after


def test_each_test_that_was_not_run_has_a_finding_of_its_own() -> None:
    judged = still_judged(BASELINE, verdict())
    assert len({found.fingerprint for found in judged.findings}) == 2


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
