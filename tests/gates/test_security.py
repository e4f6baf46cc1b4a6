"""The security gate: real scanners on real files, and reports as other scanners write them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtrue.gates import SecurityGate, Severity
from runtrue.gates.scan_report import read_report
from runtrue.loop import (
    SECURITY_ISSUE,
    Cause,
    Fault,
    History,
    Mode,
    Trial,
    Verdict,
    Workplace,
    cause_of,
)

BIN = str(Path(sys.executable).parent)
UNSAFE = """\
import subprocess
import hashlib


def run(command):
    return subprocess.call(
        command,
        shell=True,
    )


def digest(data):
    return hashlib.md5(data).hexdigest()


def load(data):
    assert data
"""
ALL = frozenset(range(1, 18))
RUFF = "ruff check --isolated --no-cache --select S --output-format sarif {files}"


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """A project that is a part of a larger repository."""
    project, scratch = tmp_path / "repository" / "shop", tmp_path / "scratch"
    project.mkdir(parents=True)
    scratch.mkdir()
    (project / "app.py").write_text(UNSAFE)
    environment = {"PATH": os.pathsep.join([BIN, os.environ["PATH"]])}
    return Workplace(
        directory=project, root=project.parent, scratch=scratch, environment=environment
    )


def judge(
    workplace: Workplace,
    changed: Mapping[str, frozenset[int]],
    *,
    command: str | None = None,
    severity: Severity = "medium",
    timeout: float = 300.0,
    strict: bool = False,
) -> Verdict:
    asked: list[str] = []

    def lines(candidate: str) -> Mapping[str, frozenset[int]]:
        asked.append(candidate)
        return changed

    gate = SecurityGate(command, severity, lines, timeout=timeout, strict=strict)
    trial = Trial(candidate="c2", verdicts=(), history=History())
    verdict = asyncio.run(gate.judge(workplace, trial))
    assert asked == ["c2"]
    assert (verdict.check, verdict.mode) == ("security", Mode.REQUIRED)
    return verdict


def rules(verdict: Verdict) -> list[str]:
    return [str(finding.data["rule"]) for finding in verdict.findings]


# -- bandit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [BIN, ""], ids=["on PATH", "beside runtrue"])
def test_bandit_finds_what_is_not_safe(workplace: Workplace, path: str) -> None:
    workplace.environment["PATH"] = path
    verdict = judge(workplace, {"shop/app.py": ALL})
    assert not verdict.passed
    assert rules(verdict) == ["B602", "B324"]
    shell = verdict.findings[0]
    assert (shell.category, shell.fault) == (SECURITY_ISSUE, Fault.CANDIDATE)
    assert cause_of(shell) is Cause.SECURITY
    assert shell.message.startswith("B602: subprocess call with shell=True")
    assert (shell.location.file, shell.location.line) == ("shop/app.py", 6)
    assert shell.data == {"rule": "B602", "severity": "high", "confidence": "high"}


@pytest.mark.parametrize(
    ("severity", "expected"),
    [("low", ["B404", "B602", "B324", "B101"]), ("high", ["B602", "B324"])],
)
def test_only_what_is_bad_enough_counts(
    workplace: Workplace, severity: Severity, expected: list[str]
) -> None:
    assert rules(judge(workplace, {"shop/app.py": ALL}, severity=severity)) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [({13}, ["B324"]), ({8}, ["B602"]), ({5, 12}, [])],
    ids=["the line", "one line of several", "other lines"],
)
def test_only_changed_lines_count(
    workplace: Workplace, lines: set[int], expected: list[str]
) -> None:
    verdict = judge(workplace, {"shop/app.py": frozenset(lines)})
    assert rules(verdict) == expected
    assert verdict.passed is not bool(expected)
    assert "changed files looked at: 1;" in verdict.output


def test_what_the_candidate_imports_is_not_what_bandit_imports(workplace: Workplace) -> None:
    (workplace.directory / "argparse.py").write_text("raise SystemExit('taken over')")
    workplace.environment["PYTHONPATH"] = str(workplace.directory)
    assert rules(judge(workplace, {"shop/app.py": ALL})) == ["B602", "B324"]


def test_a_file_that_bandit_cannot_read_was_not_looked_at(workplace: Workplace) -> None:
    (workplace.directory / "bad.py").write_text("def (:\n")
    verdict = judge(workplace, {"shop/bad.py": frozenset({1})})
    assert not verdict.passed
    (finding,) = verdict.findings
    assert finding.fault is Fault.CHECK
    assert "bad.py: syntax error" in finding.message


@pytest.mark.parametrize(
    "changed",
    [{}, {"shop/gone.py": ALL}, {"shop/app.js": ALL}, {"shop/app.py": frozenset()}],
    ids=["nothing", "a removed file", "another language", "only removed lines"],
)
def test_where_nothing_was_changed_nothing_is_run(
    workplace: Workplace, changed: dict[str, frozenset[int]]
) -> None:
    (workplace.directory / "app.js").write_text("eval(x)")
    verdict = judge(workplace, changed)
    assert verdict.passed
    assert verdict.output == "nothing to scan: no Python file was changed"


@pytest.mark.parametrize("strict", [False, True], ids=["and passes", "and fails where strict"])
def test_without_a_scanner_the_verdict_says_so(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, strict: bool
) -> None:
    found = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> Any:
        return None if name == "bandit" else found(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    workplace.environment["PATH"] = ""
    verdict = judge(workplace, {"shop/app.py": ALL}, strict=strict)
    assert verdict.passed is not strict
    said = verdict.findings[0].message if strict else verdict.output
    assert said.startswith("no scanner: bandit is neither on PATH nor installed beside runtrue")
    assert [finding.fault for finding in verdict.findings] == [Fault.CHECK] * strict


# -- other scanners -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [RUFF, f"{RUFF} 2>&1 | cat"], ids=["plain", "shell"])
def test_any_scanner_that_writes_sarif_will_do(workplace: Workplace, command: str) -> None:
    """Ruff is a real one: its rules S602 and S324 are bandit's."""
    (workplace.directory / "-o dd.py").write_text(UNSAFE)
    changed = {"shop/app.py": frozenset({13}), "shop/-o dd.py": frozenset({13})}
    verdict = judge(workplace, changed, command=command)
    assert rules(verdict) == ["S324", "S324"]
    assert {f.location.file for f in verdict.findings} == set(changed)
    assert verdict.findings[0].data["severity"] == "high"


def test_a_scanner_that_is_given_no_files_scans_what_it_wants(workplace: Workplace) -> None:
    (workplace.directory / "other.py").write_text(UNSAFE)
    command = "ruff check --isolated --no-cache --select S324 --output-format sarif ."
    verdict = judge(workplace, {"shop/app.py": ALL}, command=command)
    assert [finding.location.file for finding in verdict.findings] == ["shop/app.py"]
    assert ": 1 of 2" in verdict.output


def test_a_scanner_of_the_users_looks_at_any_language(workplace: Workplace) -> None:
    (workplace.directory / "app.js").write_text("eval(x)")
    report = workplace.scratch / "report.json"
    report.write_text(json.dumps(sarif({"ruleId": "no-eval"}, uri="app.js")))
    command = f"cat {shlex.quote(str(report))}"
    verdict = judge(workplace, {"shop/app.js": frozenset({3})}, command=command)
    assert rules(verdict) == ["no-eval"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-scanner {files}", "'no-such-scanner' cannot be run: No such file or directory"),
        ("no-such-scanner {files} | cat", "gave no readable report"),
        ("echo fine", "gave no readable report (exit code 0)"),
        ("sh -c 'exit 3'", "gave no readable report (exit code 3)"),
        ("echo '[1, 2]'", "gave no readable report"),
        ("""echo '{"runs": 5}'""", "gave no readable report"),
        ("""echo '{"results": [{}], "errors": []}'""", "gave no readable report"),
        (
            """echo '{"runs": [{"tool": {"driver": {}}, "results": [],"""
            """ "invocations": [{"executionSuccessful": false}]}]}'""",
            "it reports a failure",
        ),
    ],
)
def test_a_scanner_that_breaks_is_the_checks_fault(
    workplace: Workplace, command: str, why: str
) -> None:
    verdict = judge(workplace, {"shop/app.py": ALL}, command=command)
    assert not verdict.passed
    (finding,) = verdict.findings
    assert finding.fault is Fault.CHECK
    assert why in finding.message


def test_a_scanner_that_does_not_end_is_stopped(workplace: Workplace) -> None:
    verdict = judge(workplace, {"shop/app.py": ALL}, command="sleep 60", timeout=0.3)
    assert [finding.fault for finding in verdict.findings] == [Fault.CHECK]
    assert "did not finish within" in verdict.findings[0].message


# -- SARIF ----------------------------------------------------------------------------------------


def sarif(
    result: dict[str, Any],
    *rules: dict[str, Any],
    uri: str = "app.py",
    region: dict[str, int] | None = None,
) -> dict[str, Any]:
    region = {"startLine": 3} if region is None else region
    place = {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
    whole = {"message": {"text": "not safe"}, "locations": [place], **result}
    return {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "s", "rules": list(rules)}}, "results": [whole]}],
    }


SCORED = {"id": "r", "properties": {"security-severity": "5.5", "precision": "high"}}
LEVELLED = {"id": "r", "defaultConfiguration": {"level": "note"}}


@pytest.mark.parametrize(
    ("report", "severity"),
    [
        (sarif({"level": "error"}), "high"),
        (sarif({"level": "warning"}), "medium"),
        (sarif({"level": "note"}), "low"),
        (sarif({}), "medium"),
        (sarif({"ruleId": "r", "level": "error"}, SCORED), "medium"),
        (sarif({"ruleIndex": 0}, SCORED), "medium"),
        (sarif({"ruleId": "r"}, LEVELLED), "low"),
        (sarif({"ruleId": "r"}, {"id": "r", "properties": {"security-severity": 9.1}}), "high"),
        (sarif({"ruleId": "r"}, {"id": "r", "properties": {"security-severity": "?"}}), "medium"),
        (sarif({"level": "none"}), None),
        (sarif({"kind": "pass"}), None),
        (sarif({"suppressions": [{"kind": "inSource"}]}), None),
        (sarif({"suppressions": []}), "medium"),
        (sarif({}, region={}), None),
        (sarif({"locations": []}), None),
    ],
)
def test_how_bad_an_issue_of_sarif_is(
    workplace: Workplace, report: dict[str, Any], severity: str | None
) -> None:
    issues, trouble = read_report(json.dumps(report), workplace)
    assert [issue.severity for issue in issues] == ([severity] if severity else [])
    assert trouble is None


def test_a_rule_tells_its_name_and_how_sure_it_is(workplace: Workplace) -> None:
    (issue,), _ = read_report(json.dumps(sarif({"ruleIndex": 0}, SCORED)), workplace)
    assert (issue.rule, issue.confidence) == ("r", "high")


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("app.py", "shop/app.py"),
        ("./a%20b.py", "shop/a b.py"),
        ("../lib.py", "lib.py"),
        ("file://{root}/shop/app.py", "shop/app.py"),
        ("file:///elsewhere/app.py", "/elsewhere/app.py"),
        ("http://[broken", None),
    ],
)
def test_files_of_sarif_are_seen_from_the_root(
    workplace: Workplace, uri: str, file: str | None
) -> None:
    report = sarif({}, uri=uri.format(root=workplace.root))
    (issue,), _ = read_report(json.dumps(report), workplace)
    assert file is None or issue.file == file


def test_an_issue_of_several_lines_is_on_each_of_them(workplace: Workplace) -> None:
    report = sarif({}, region={"startLine": 3, "endLine": 5})
    (issue,), _ = read_report(json.dumps(report), workplace)
    assert list(issue.lines) == [3, 4, 5]


@pytest.mark.parametrize("text", ["", "{", "null", "{}", '{"runs": [{}]}'])
def test_what_is_no_report_is_not_read_as_one_without_issues(
    workplace: Workplace, text: str
) -> None:
    with pytest.raises(msgspec.MsgspecError):
        read_report(text, workplace)
