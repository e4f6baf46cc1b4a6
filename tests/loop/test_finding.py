"""Findings and verdicts: what a check said, as data."""

import dataclasses

import msgspec
import pytest

from runtrue.loop import Fault, Finding, Location, Mode, Outcome, Verdict, fingerprint


def test_a_finding_knows_its_fingerprint_from_category_message_and_symbol() -> None:
    finding = Finding(
        source="tests",
        category="KeyError",
        message="'name'",
        fault=Fault.CANDIDATE,
        location=Location(file="a.py", line=3, symbol="test_a"),
    )
    assert finding.fingerprint == fingerprint("KeyError", "'name'", "test_a")


def test_where_a_finding_is_in_its_file_does_not_change_its_fingerprint() -> None:
    first, second = (
        Finding(
            source="lint",
            category="F401",
            message="unused",
            fault=Fault.CANDIDATE,
            location=Location(file=file, line=line, column=line),
        )
        for file, line in (("a.py", 1), ("b.py", 99))
    )
    assert first.fingerprint == second.fingerprint
    assert first != second


def test_a_fingerprint_that_is_given_is_kept() -> None:
    finding = Finding(
        source="", category="", message="", fault=Fault.CANDIDATE, fingerprint="given"
    )
    assert finding.fingerprint == "given"


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        (Location(), ""),
        (Location(file="a.py"), "a.py"),
        (Location(file="a.py", line=3), "a.py:3"),
        (Location(file="a.py", line=3, column=7), "a.py:3:7"),
        (Location(symbol="node-1"), "node-1"),
        (Location(file="a.py", line=3, symbol="test_a"), "a.py:3"),
        (Location(file="a.py", line=0), "a.py:0"),
    ],
    ids=repr,
)
def test_a_location_is_shown_as_editors_understand_it(location: Location, shown: str) -> None:
    assert str(location) == shown


@pytest.mark.parametrize(
    ("mode", "passed", "blocks"),
    [
        (Mode.REQUIRED, False, True),
        (Mode.REQUIRED, True, False),
        (Mode.INFORMATIONAL, False, False),
        (Mode.INFORMATIONAL, True, False),
    ],
)
def test_only_a_required_check_that_failed_blocks(mode: Mode, passed: bool, blocks: bool) -> None:
    assert Verdict(check="c", mode=mode, passed=passed).blocks is blocks


def test_a_verdict_survives_the_journal_with_everything_in_it() -> None:
    verdict = Verdict(
        check="tests",
        mode=Mode.REQUIRED,
        passed=False,
        findings=(
            Finding(
                source="tests",
                category="KeyError",
                message="'id'",
                fault=Fault.ENVIRONMENT,
                location=Location(file="a.py", line=1, column=2, symbol="test_a"),
                attempted=("id",),
                available=("login", "name"),
                sample='{"login": "x"}',
                data={"nested": [None, 1, {"a": True}]},
                transient=True,
            ),
        ),
        cases={"test_a": Outcome.FAILED, "test_b": Outcome.SKIPPED},
        exit_code=-9,
        seconds=1.25,
        output="head … tail",
    )
    encoded = msgspec.json.encode(verdict)
    assert msgspec.json.decode(encoded, type=Verdict) == verdict


@pytest.mark.parametrize("kind", [Finding, Location, Verdict])
def test_facts_cannot_be_changed_afterwards(kind: type) -> None:
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]  # not in the stubs
