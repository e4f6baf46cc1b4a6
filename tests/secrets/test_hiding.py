"""What checks and fixers say is kept without secrets, and still names the same things."""

from __future__ import annotations

from runtrue.loop import Analysis, Fault, Finding, Location, Mode, Outcome, Proposal, Verdict
from runtrue.loop.redact import redacted_proposal, redacted_verdict
from runtrue.redaction import Redactor

VALUE = "swordfish-4711"
HIDE = Redactor({"PHRASE": VALUE})
MARK = "[redacted: PHRASE]"


def finding() -> Finding:
    return Finding(
        source="tests",
        category="ValueError",
        message=f"got {VALUE}",
        fault=Fault.CANDIDATE,
        location=Location(file="test_it.py", line=3, symbol=f"test_it.py::test[{VALUE}]"),
        attempted=(VALUE, "a"),
        available=(f"x{VALUE}",),
        sample=f"password = '{VALUE}'",
        data={"out": [f"a {VALUE}", 5], VALUE: {"deep": (VALUE, None)}},
    )


def test_no_part_of_a_verdict_keeps_a_secret() -> None:
    verdict = Verdict(
        check="tests",
        mode=Mode.REQUIRED,
        passed=False,
        findings=(finding(),),
        flaky=(finding(),),
        known=(finding(),),
        cases={f"test_it.py::test[{VALUE}]": Outcome.FAILED},
        output=f"... {VALUE} ...",
    )
    hidden = redacted_verdict(verdict, HIDE)
    assert VALUE not in repr(hidden)
    assert (
        list(hidden.cases) == [hidden.findings[0].location.symbol] == [f"test_it.py::test[{MARK}]"]
    )
    assert hidden.findings[0].data == {"out": [f"a {MARK}", 5], MARK: {"deep": (MARK, None)}}
    assert redacted_verdict(hidden, HIDE) == hidden


def test_a_finding_is_still_the_same_one() -> None:
    verdict = Verdict(check="tests", mode=Mode.REQUIRED, passed=False, findings=(finding(),))
    hidden = redacted_verdict(verdict, HIDE)
    assert hidden.findings[0].fingerprint == finding().fingerprint
    assert hidden.findings[0].location.line == 3


def test_names_are_only_changed_where_a_value_is_in_them() -> None:
    name = "t.py::test_login[token=abcdef123456]"
    verdict = Verdict(check="tests", mode=Mode.REQUIRED, passed=True, cases={name: Outcome.PASSED})
    assert redacted_verdict(verdict, HIDE) == verdict


def test_no_part_of_a_proposal_keeps_a_secret_and_its_files_are_as_they_were_made() -> None:
    proposal = Proposal(
        description=f"said {VALUE}",
        failure=f"failed with {VALUE}",
        analysis=Analysis(root_cause=f"since {VALUE}", fix_strategy=f"use {VALUE}"),
        texts={"app.py": f"key = {VALUE!r}"},
        trace={"tried": [VALUE]},
    )
    hidden = redacted_proposal(proposal, HIDE)
    assert hidden.texts == proposal.texts
    assert VALUE not in repr((hidden.description, hidden.failure, hidden.analysis, hidden.trace))
    bare = Proposal(description="nothing")
    assert redacted_proposal(bare, HIDE) == bare
