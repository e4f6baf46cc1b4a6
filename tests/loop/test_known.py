"""Known findings: what the baseline has never blocks; what a change adds does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.loop import Finding, Known, Mode, Outcome, Verdict, drop_known_findings
from tests.loop.make import NETWORK, finding, verdict

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
UNUSED = finding("`os` imported but unused", category="F401", file="a.py", symbol=None)
ELSEWHERE = finding("`os` imported but unused", category="F401", file="b.py", symbol=None)


def lint(*findings: Finding, exit_code: int | None = 1) -> Verdict:
    return Verdict(
        check="ruff",
        mode=Mode.REQUIRED,
        passed=not findings,
        findings=findings,
        exit_code=exit_code,
    )


def ignored(now: Verdict, before: Verdict | None) -> tuple[tuple[Finding, ...], ...]:
    judged = drop_known_findings(now, before, Known.IGNORE)
    assert judged.passed is (not judged.findings)
    return judged.findings, judged.known


def test_all_that_the_baseline_finds_is_known() -> None:
    assert ignored(lint(UNUSED, ELSEWHERE), None) == ((), (UNUSED, ELSEWHERE))


def test_the_same_finding_in_another_file_is_new() -> None:
    assert ignored(lint(UNUSED, ELSEWHERE), lint(UNUSED)) == ((ELSEWHERE,), (UNUSED,))


@given(st.integers(1, 5), st.integers(1, 5))
def test_a_finding_is_known_as_often_as_the_baseline_has_it(before: int, now: int) -> None:
    left, known = ignored(lint(*[UNUSED] * now), lint(*[UNUSED] * before))
    assert (len(left), len(known)) == (max(now - before, 0), min(now, before))


def test_what_the_baseline_took_as_known_is_known_later() -> None:
    baseline = drop_known_findings(lint(UNUSED), None, Known.IGNORE)
    assert ignored(lint(UNUSED, ELSEWHERE), baseline) == ((ELSEWHERE,), (UNUSED,))


def test_what_a_syntax_error_hid_in_its_file_is_known() -> None:
    broken = finding("unexpected end", category="invalid-syntax", file="a.py", symbol=None)
    assert ignored(lint(UNUSED, ELSEWHERE), lint(broken)) == ((ELSEWHERE,), (UNUSED,))


@pytest.mark.parametrize("exit_code", [2, -9, None])
def test_a_check_that_broke_off_before_cannot_say_what_is_new(exit_code: int | None) -> None:
    broken = finding("crashed", category="not_runnable", symbol="mypy")
    assert ignored(lint(UNUSED), lint(broken, exit_code=exit_code)) == ((), (UNUSED,))


def test_a_test_that_failed_before_is_known_whatever_it_says_now() -> None:
    before = verdict(finding("1 == 2", symbol="t"), cases={"t": FAILED, "u": PASSED})
    now = verdict(
        finding("1 == 3", symbol="t"),
        finding("broken", symbol="u"),
        cases={"t": FAILED, "u": FAILED},
    )
    left, known = ignored(now, before)
    assert [f.location.symbol for f in left] == ["u"]
    assert [f.location.symbol for f in known] == ["t"]


def test_of_a_check_to_be_fixed_only_failures_from_outside_are_known() -> None:
    outside = replace(NETWORK, location=replace(NETWORK.location, symbol="net"), fingerprint="")
    failing = finding("1 == 2", symbol="t")
    before = verdict(outside, failing, cases={"net": FAILED, "t": FAILED})
    judged = drop_known_findings(before, before, Known.FIX)
    assert (judged.findings, judged.known) == ((failing,), (outside,))
    fixed = verdict(outside, cases={"net": FAILED, "t": PASSED})
    assert drop_known_findings(fixed, before, Known.FIX).passed
    # In the baseline itself, and of a test that ran before, they are not.
    assert drop_known_findings(before, None, Known.FIX) is before
    ran = verdict(failing, cases={"net": PASSED, "t": FAILED})
    assert not drop_known_findings(fixed, ran, Known.FIX).passed
