"""The names of profiles mean what they say."""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations, pairwise

import pytest

from runtrue.loop import DEFAULT_PROFILE, PROFILES, AutomationProfile

ORDER = ["manual", "review", "supervised", "cautious", "trusted", "auto", "ci", "full-auto"]
#: Flags with which more is done by itself, and flags with which more is asked.
FREEDOMS = (
    *("auto_strategize", "auto_execute", "auto_apply"),
    *("auto_validation_fix", "auto_strategy_revision"),
)
REINS = ("require_sandbox", "approve_commands", "approve_network", "approve_deletes")


def does_by_itself(profile: AutomationProfile) -> set[str]:
    allowed = {flag for flag in FREEDOMS if getattr(profile, flag)}
    return allowed | {flag for flag in REINS if not getattr(profile, flag)}


def test_there_are_these_from_the_least_to_the_most() -> None:
    assert list(PROFILES) == ORDER


def test_every_flag_is_one_of_these_or_a_limit() -> None:
    limits = {"validation_retry_limit", "max_cost", "max_time", "answer_within", "confidence_floor"}
    assert {f.name for f in fields(AutomationProfile)} == {*FREEDOMS, *REINS} | limits


@pytest.mark.parametrize(("less", "more"), [*pairwise(ORDER)])
def test_each_does_all_by_itself_that_those_before_it_do(less: str, more: str) -> None:
    assert does_by_itself(PROFILES[less]) <= does_by_itself(PROFILES[more])


@pytest.mark.parametrize(("one", "other"), [*combinations(ORDER, 2)])
def test_no_two_are_the_same(one: str, other: str) -> None:
    assert PROFILES[one] != PROFILES[other]


def test_manual_does_nothing_by_itself() -> None:
    assert does_by_itself(PROFILES["manual"]) == set()


def test_review_has_every_strategy_looked_at() -> None:
    assert not PROFILES["review"].auto_strategize
    assert PROFILES["review"].auto_validation_fix


def test_supervised_is_the_default_and_starts_and_applies_nothing_by_itself() -> None:
    assert DEFAULT_PROFILE == "supervised"
    supervised = PROFILES[DEFAULT_PROFILE]
    assert supervised == AutomationProfile()
    assert not supervised.auto_execute
    assert not supervised.auto_apply
    assert supervised.validation_retry_limit == 3


def test_cautious_has_narrower_limits_than_any_other() -> None:
    cautious = PROFILES["cautious"]
    others = [profile for name, profile in PROFILES.items() if name != "cautious"]
    assert all(cautious.max_time < other.max_time for other in others)
    assert all(cautious.validation_retry_limit < p.validation_retry_limit for p in others)


def test_trusted_may_revise_and_run_commands_but_not_delete_or_go_out() -> None:
    trusted = PROFILES["trusted"]
    assert trusted.auto_strategy_revision
    assert not trusted.approve_commands
    assert trusted.approve_deletes
    assert trusted.approve_network


def test_ci_waits_for_nobody_and_alone_does_so() -> None:
    assert [name for name, p in PROFILES.items() if p.answer_within == 0] == ["ci"]
    assert not any(getattr(PROFILES["ci"], f) for f in REINS if f.startswith("approve"))


def test_only_full_auto_applies_by_itself_or_works_without_a_sandbox() -> None:
    assert [name for name, p in PROFILES.items() if p.auto_apply] == ["full-auto"]
    assert [name for name, p in PROFILES.items() if not p.require_sandbox] == ["full-auto"]
    assert does_by_itself(PROFILES["full-auto"]) == {*FREEDOMS, *REINS}
