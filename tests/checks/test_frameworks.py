"""Each framework's report is read the same, whether recorded from the real runner or made now."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

import runtrue.checks
from runtrue.checks import CommandCheck, totals
from runtrue.checks.check import reader_of
from runtrue.checks.reader import Reading
from runtrue.loop import Fault, Finding, Mode, Verdict
from runtrue.process import Captured, Ended
from tests.checks.runners import (
    MAVEN,
    REPORTS,
    RUNNERS,
    copy_project,
    environment,
    require,
)
from tests.checks.support import Project

#: By runner: its cases, and for each finding the category, the place, what was expected and found.
CASES: dict[str, dict[str, str]] = {
    "jest": {
        "total.test.js::total adds prices": "failed",
        "total.test.js::total of nothing": "failed",
        "total.test.js::total later": "skipped",
        "total.test.js::passes": "passed",
        "total.test.js::labels nothing": "failed",
        "total.test.js::asks the network": "failed",
    },
    "vitest": {
        "total.test.ts::total adds prices": "failed",
        "total.test.ts::total of nothing": "failed",
        "total.test.ts::total later": "skipped",
        "total.test.ts::passes": "passed",
        "total.test.ts::labels nothing": "failed",
        "total.test.ts::asks the network": "failed",
    },
    "mocha": {
        "test/total.js::total adds prices": "failed",
        "test/total.js::total of nothing": "failed",
        "test/total.js::total later": "skipped",
        "test/total.js::passes": "passed",
        "test/total.js::labels nothing": "failed",
        "test/total.js::asks the network": "failed",
        'test/total.js::with a database "before all" hook for "works"': "error",
    },
    "go_test": {
        "total_test.go::TestTotal": "failed",
        "total_test.go::TestParts/passes": "passed",
        "total_test.go::TestParts/fails_too": "failed",
        "total_test.go::TestLater": "skipped",
        "sub/label_test.go::TestPasses": "passed",
        "sub/label_test.go::TestLabel": "failed",
    },
    "cargo_test": {
        "src/lib.rs::tests::adds": "failed",
        "src/lib.rs::tests::labels_nothing": "failed",
        "src/lib.rs::tests::later": "skipped",
        "src/lib.rs::tests::returns_an_error": "failed",
        "src/lib.rs::tests::says_so": "failed",
        "src/lib.rs::total (doc test)": "failed",
        "tests/outer.rs::passes": "passed",
        "tests/outer.rs::prints": "failed",
    },
    "junit": {
        "src/test/java/shop/TotalTest.java::adds": "failed",
        "src/test/java/shop/TotalTest.java::labelsNothing": "failed",
        "src/test/java/shop/TotalTest.java::later": "skipped",
        "src/test/java/shop/TotalTest.java::TotalTest$Inside.passes": "passed",
    },
    "other": {
        "total adds prices": "failed",
        "total later": "skipped",
        "passes": "passed",
        "labels nothing": "failed",
    },
}
CASES["maven"] = CASES["junit"]
FINDINGS: dict[str, list[tuple[str, str, str | None, str | None]]] = {
    "jest": [
        ("AssertionError", "total.test.js:6:36", '{"sum": 3}', '{"sum": 4}'),
        ("AssertionError", "total.test.js:9:12", None, None),
        ("Error", "total.test.js:18:23", None, None),
        ("TypeError", "total.js:2:32", None, None),
        ("suite", "broken.test.js", None, None),
    ],
    "vitest": [
        ("AssertionError", "total.test.ts:10:12", None, None),
        ("AssertionError", "total.test.ts:7:36", None, None),
        ("Error", "total.test.ts:19:23", None, None),
        ("TypeError", "total.js:2:37", None, None),
        ("suite", "broken.test.js", None, None),
    ],
    "mocha": [
        ("AssertionError", "test/total.js:6:12", '{\n  "sum": 3\n}', '{\n  "sum": 4\n}'),
        ("AssertionError", "test/total.js:9:12", "0", "1"),
        ("Error", "test/total.js:18:23", None, None),
        ("RangeError", "test/total.js:22:11", None, None),
        ("TypeError", "total.js:2:32", None, None),
    ],
    "go_test": [
        ("build", "broken/broken_test.go:5:49", None, None),
        ("failure", "total_test.go:13", None, None),
        ("failure", "total_test.go:7", None, None),
        ("panic", "total.go:13", None, None),
    ],
    "cargo_test": [
        ("assertion", "src/lib.rs:1", "0", "1"),
        ("assertion", "src/lib.rs:18:9", "3", "4"),
        ("assertion", "src/lib.rs:23:9", None, None),
        ("assertion", "tests/outer.rs:7:5", None, None),
        ("failure", "src/lib.rs", None, None),
        ("panic", "src/lib.rs:9:10", None, None),
    ],
    "junit": [
        ("AssertionFailedError", "src/test/java/shop/TotalTest.java:12", "3", "4"),
        ("NullPointerException", "src/main/java/shop/Total.java:11", None, None),
    ],
    "other": [
        ("AssertionError", "total.test.js:7:12", "3", "4"),
        ("TypeError", "total.js:2:32", None, None),
    ],
    # Surefire shows of a stack only what is in the test's own class.
    "maven": [
        ("AssertionFailedError", "src/test/java/shop/TotalTest.java:12", "3", "4"),
        ("NullPointerException", "src/test/java/shop/TotalTest.java:17", None, None),
    ],
}
RECORDED = {**RUNNERS, "maven": MAVEN}


def text(name: str, file: str, project: Project) -> str:
    path = REPORTS / name / file
    return path.read_text().replace("{root}", str(project.root)) if path.exists() else ""


def captured(content: str) -> Captured:
    return Captured(head=content.encode(), tail=b"", dropped=0)


def seal(report: Path) -> None:
    """Write a report under seal, if a key for one lies there, as the runner's side would."""
    sealed = report.with_suffix(".jsonl")
    if not sealed.with_name(f"{sealed.name}.key").exists():
        return
    source = Path(runtrue.checks.__file__).parent / "pytest_plugin" / "runtrue_signed.py"
    tell = runpy.run_path(str(source))["open_report"](str(sealed))
    tell({"event": "start"})
    tell({"event": "end", "report": json.loads(report.read_text())})


def replay(name: str, project: Project, **how: int) -> Reading:
    """Read the record of a runner as if it had just been run in `project`."""
    copy_project("junit" if name == "maven" else name, project.root)
    command = RECORDED[name].command
    reader = reader_of(CommandCheck(name="tests", command=command), project.directory)
    reader.prepare((), project.environment, project.scratch)
    for part, target in (("scratch", project.scratch), ("left", project.root)):
        for path in (REPORTS / name / part).rglob("*"):
            if path.is_file():
                place = target / path.relative_to(REPORTS / name / part)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text(name, str(path.relative_to(REPORTS / name)), project))
                seal(place)
    ended = Ended(
        **{**json.loads((REPORTS / name / "ended.json").read_text()), **how},
        stdout=captured(text(name, "stdout", project)),
        stderr=captured(text(name, "stderr", project)),
    )
    return reader.read(ended, project.workplace)


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str, str | None, str | None]]:
    return sorted(
        (f.category, str(f.location), f.data.get("expected"), f.data.get("actual"))
        for f in findings
    )


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_report_is_read(name: str, project: Project) -> None:
    reading = replay(name, project)
    assert not reading.passed
    assert reading.cases == CASES[name]
    assert told(reading.findings) == FINDINGS[name]


@pytest.mark.parametrize("name", RUNNERS)
def test_the_real_runner_reports_the_same(name: str, project: Project) -> None:
    runner = require(name)
    copy_project(name, project.root)
    project.environment |= environment()
    verdict = project.check(runner.command)
    assert verdict.cases == CASES[name]
    # Columns and messages may change with the version of a runner, files and lines may not.
    assert [_without_column(one) for one in told(verdict.findings)] == [
        _without_column(one) for one in FINDINGS[name]
    ]
    for finding in verdict.findings:
        if finding.location.symbol in verdict.cases:
            assert str(project.root) not in finding.data["stack_trace"]


def _without_column(one: tuple[str, str, str | None, str | None]) -> tuple[str | None, ...]:
    return (one[0], ":".join(one[1].split(":")[:2]), *one[2:])


def test_what_a_finding_says(project: Project) -> None:
    reading = replay("junit", project)
    finding = next(f for f in reading.findings if f.category == "NullPointerException")
    assert finding.message == (
        'Cannot invoke "String.toUpperCase()" because "<parameter1>" is null'
    )
    assert finding.location.symbol == "src/test/java/shop/TotalTest.java::labelsNothing"
    assert finding.data["stack_trace"].splitlines()[1:] == [
        "\tat shop.Total.label(Total.java:11)",
        "\tat shop.TotalTest.labelsNothing(TotalTest.java:17)",
    ]


@pytest.mark.parametrize("name", ["jest", "mocha"])
def test_an_error_of_the_network_is_nobodys_bug(name: str, project: Project) -> None:
    findings = replay(name, project).findings
    network = {f.location.symbol: f for f in findings if f.fault is Fault.ENVIRONMENT}
    assert [symbol and symbol.partition("::")[2] for symbol in network] == ["asks the network"]
    assert all(f.transient for f in network.values())


def test_totals_count_what_went_wrong_outside_of_tests_as_errors(
    project: Project,
) -> None:
    reading = replay("jest", project)
    verdict = Verdict(
        check="tests",
        mode=Mode.REQUIRED,
        passed=False,
        findings=reading.findings,
        cases=reading.cases,
        seconds=0.45,
    )
    numbers = totals(verdict)
    assert (numbers.total, numbers.passed, numbers.failed) == (7, 1, 4)
    assert (numbers.errors, numbers.skipped, numbers.duration_ms) == (1, 1, 450)


@pytest.mark.parametrize("name", RECORDED)
def test_an_exit_code_of_0_does_not_hide_failures(name: str, project: Project) -> None:
    reading = replay(name, project, exit_code=0)
    assert not reading.passed
    contradiction = reading.findings[-1]
    assert contradiction.category == "contradiction"
    assert contradiction.message.startswith("exited with code 0, although")
    assert contradiction.fault is Fault.CHECK
    assert told(reading.findings[:-1]) == FINDINGS[name]


@pytest.mark.parametrize("name", [name for name in RECORDED if name != "other"])
@pytest.mark.parametrize("state", ["absent", "cut off"])
def test_without_a_report_that_can_be_read_the_check_is_at_fault(
    name: str, state: str, project: Project
) -> None:
    copy_project("junit" if name == "maven" else name, project.root)
    reader = reader_of(
        CommandCheck(name="tests", command=RECORDED[name].command), project.directory
    )
    reader.prepare((), project.environment, project.scratch)
    if state == "cut off":
        for file in ("jest.jsonl", "vitest.json", "mocha.jsonl", "junit/TEST-it.xml"):
            place = project.scratch / file
            place.parent.mkdir(exist_ok=True)
            place.write_text('{"testResults": [' if ".json" in place.suffix else "<testsuite><te")
    ended = Ended(exit_code=0, stdout=captured(""), stderr=captured("what it said"), seconds=1)
    (finding,) = reader.read(ended, project.workplace).findings
    assert (finding.category, finding.fault) == ("no_report", Fault.CHECK)
    assert finding.sample == "what it said"
