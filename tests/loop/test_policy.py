"""Policy and budget: what is allowed, what is left of it, each counted apart."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from runtrue.loop import Backoff, Budget, Policy, Reason
from tests.loop.make import answer, attempt, escalation, finding, history, rejection, verdict

POLICY = Policy(max_attempts=5, transport_retries=4, format_retries=3, max_time=100.0)
BASELINE = attempt(1, verdict(finding(), seconds=1.0))
FULL = Budget(attempts=4, transport_retries=4, format_retries=3, seconds=99.0)


def test_the_defaults_are_those_that_are_documented() -> None:
    policy = Policy()
    assert (policy.max_attempts, policy.transport_retries, policy.format_retries) == (3, 2, 1)
    assert (policy.max_time, policy.abort_on_regression, policy.ask_human) == (3600.0, True, False)
    assert (policy.backoff, policy.escalation_on_max) == (Backoff.NONE, True)
    assert (policy.flaky_reruns, policy.triggers) == (1, ())


@pytest.mark.parametrize(
    "limits",
    [
        {"max_attempts": 0},
        {"max_attempts": 11},
        {"transport_retries": -1},
        {"transport_retries": 11},
        {"format_retries": -1},
        {"max_time": 0},
        {"max_attempts": 1.5},
        {"max_attempts": "3"},
        {"backoff": "quadratic"},
        {"backoff_seconds": 0},
        {"backoff_seconds": 61},
        {"flaky_reruns": -1},
        {"flaky_reruns": 4},
        {"triggers": [{"condition": "full_moon", "action": "human_review"}]},
        {"triggers": [{"condition": "timeout_exceeded", "action": "panic"}]},
        {"triggers": [{"condition": "timeout_exceeded"}]},
    ],
    ids=str,
)
def test_limits_out_of_range_are_refused_where_a_policy_is_read(limits: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(limits, Policy)


def test_the_first_execution_of_the_checks_is_an_attempt() -> None:
    assert Budget.left(POLICY, history(BASELINE)) == FULL


def test_each_further_execution_costs_an_attempt_and_its_time() -> None:
    left = Budget.left(POLICY, history(BASELINE, attempt(2, verdict(finding(), seconds=2.0))))
    assert left == replace(FULL, attempts=3, seconds=97.0)


def test_a_repeated_candidate_costs_an_attempt_though_it_is_not_run() -> None:
    left = Budget.left(POLICY, history(BASELINE, rejections=(rejection(Reason.REPEATED),)))
    assert left == replace(FULL, attempts=3)


def test_a_fixer_that_failed_itself_costs_a_transport_retry_and_nothing_else() -> None:
    left = Budget.left(POLICY, history(BASELINE, rejections=(rejection(Reason.FIXER_FAILED),)))
    assert left == replace(FULL, transport_retries=3)


def test_running_the_same_candidate_again_costs_a_transport_retry_and_no_attempt() -> None:
    recheck = attempt(1, verdict(finding(), seconds=1.0), recheck=True)
    left = Budget.left(POLICY, history(BASELINE, recheck))
    assert left == replace(FULL, transport_retries=3, seconds=98.0)


def test_a_fixer_that_changed_nothing_costs_a_format_retry_and_nothing_else() -> None:
    left = Budget.left(POLICY, history(BASELINE, rejections=(rejection(Reason.UNCHANGED),)))
    assert left == replace(FULL, format_retries=2)


def test_that_no_fixer_took_it_on_costs_nothing() -> None:
    left = Budget.left(POLICY, history(BASELINE, rejections=(rejection(Reason.NO_FIXER),)))
    assert left == FULL


def test_an_answer_opens_a_fresh_budget() -> None:
    spent = history(
        BASELINE,
        *(attempt(n, verdict(finding(), seconds=30.0)) for n in (2, 3, 4, 5)),
        rejections=tuple(rejection(reason, 5) for reason in Reason for _ in range(3)),
    )
    answered = replace(spent, answers=(answer(len(spent.attempts), len(spent.rejections)),))
    after = replace(
        answered, attempts=(*answered.attempts, attempt(6, verdict(finding(), seconds=1.0)))
    )
    assert Budget.left(POLICY, spent) == Budget(
        attempts=-3, transport_retries=1, format_retries=0, seconds=-21.0
    )
    assert Budget.left(POLICY, after) == FULL


@pytest.mark.parametrize(
    ("action", "reason", "attempts"),
    [
        ("senior_agent", None, 5),
        ("senior_agent", Reason.UNCHANGED, 5),
        ("senior_agent", Reason.NOBODY_STRONGER, 4),
        ("human_review", None, 4),
        ("abort_with_report", None, 4),
    ],
)
def test_a_stronger_fixer_gets_one_more_attempt_unless_there_is_none(
    action: str, reason: Reason | None, attempts: int
) -> None:
    told = history(
        BASELINE,
        rejections=(rejection(reason),) if reason else (),
        escalations=(escalation(action, 1, above="tool"),),
    )
    assert Budget.left(POLICY, told).attempts == attempts


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        (Backoff.NONE, [0, 0, 0, 0, 0]),
        (Backoff.LINEAR, [0, 5, 10, 15, 20]),
        (Backoff.EXPONENTIAL, [0, 5, 10, 20, 40]),
    ],
)
def test_the_wait_grows_from_round_to_round(backoff: Backoff, waits: list[float]) -> None:
    policy = Policy(backoff=backoff, backoff_seconds=5.0)
    assert [policy.wait(rounds) for rounds in range(5)] == waits


@pytest.mark.parametrize("backoff", [Backoff.LINEAR, Backoff.EXPONENTIAL])
def test_no_wait_is_longer_than_a_minute(backoff: Backoff) -> None:
    assert Policy(backoff=backoff, backoff_seconds=60.0).wait(40) == 60.0
