"""`--output`: what other programs read of a run, and the steps of the action that use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from runtrue.cli.report_formats import CheckResult, Outcomes, OutputFormat, render
from runtrue.loop import Fault, Finding, Location
from tests.cli.conftest import Done, Machine, MakeProject, write
from tests.cli.test_gate import READY, SHOP, WRONG, git
from tests.workflow.mcp.support import MODULES

ROOT = Path(__file__).parents[2]
NODE = Path(sys.executable).with_name("node")
BROKEN = "def total(prices):\n    return sum(prices) + 1\n"
SUM = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
HOSTILE = "it`s |broken|\n::error::x%0A]]> <script>alert(1)</script> \x1b[31m\u202e"


def finding(message: str = "assert 1 == 2", file: str | None = "a b.py") -> Finding:
    return Finding(
        source="pytest",
        category="AssertionError",
        message=message,
        fault=Fault.CANDIDATE,
        location=Location(file=file, line=3, column=7, symbol="t.py::test"),
    )


def outcomes(*findings: Finding) -> Outcomes:
    check = CheckResult(name="pytest", passed=not findings, findings=findings)
    return Outcomes(title="runtrue gate: failed", status="failed", checks=(check,), prefix="web/")


def judged(machine: Machine, project: Path, *words: str) -> Done:
    write(project, WRONG)
    return machine.runtrue("gate", *words, cwd=project)


def test_sarif_names_the_rule_the_line_and_a_stable_fingerprint() -> None:
    document = json.loads(render(outcomes(finding()), OutputFormat.SARIF))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert run["tool"]["driver"]["name"] == "runtrue"
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["ruleId"] == "pytest/AssertionError"
    assert result["partialFingerprints"] == {"runtrue/v1": finding().fingerprint}
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "web/a%20b.py"
    assert place["region"] == {"startLine": 3, "startColumn": 7}


def test_what_is_outside_of_the_project_has_no_place() -> None:
    document = json.loads(render(outcomes(finding(file="/etc/passwd")), OutputFormat.SARIF))
    assert "locations" not in document["runs"][0]["results"][0]


def test_junit_can_be_read_back() -> None:
    read = JUnitXml.fromstring(render(outcomes(finding(), finding("other")), OutputFormat.JUNIT))
    assert (read.tests, read.failures) == (2, 2)
    passed = JUnitXml.fromstring(render(outcomes(), OutputFormat.JUNIT))
    assert (passed.tests, passed.failures) == (1, 0)


@pytest.mark.parametrize("form", [f for f in OutputFormat if f is not OutputFormat.JSON])
def test_hostile_text_stays_text_in_every_format(form: OutputFormat) -> None:
    text = render(outcomes(finding(HOSTILE)), form)
    assert "\x1b" not in text
    assert "\u202e" not in text
    match form:
        case OutputFormat.SARIF:
            assert "broken" in json.loads(text)["runs"][0]["results"][0]["message"]["text"]
        case OutputFormat.JUNIT:
            JUnitXml.fromstring(text)
        case OutputFormat.GITHUB:
            commands = [line for line in text.splitlines() if line.startswith("::error")]
            assert len(commands) == 1
            assert "%250A" in commands[0]
        case _:
            assert "``it`s ¦broken¦``" in text
            assert "<script>" not in text


def test_github_gets_at_most_what_it_shows() -> None:
    text = render(outcomes(*(finding(f"number {n}") for n in range(15))), OutputFormat.GITHUB)
    assert text.count("::error ") == 10
    assert "5 more" in text
    assert "file=web/a b.py,line=3,col=7,title=pytest%3A AssertionError::number 0" in text


def test_a_gate_prints_one_document_in_the_format_that_is_asked_for(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    done = judged(machine, project, "--output", "sarif")
    assert done.code == 2
    (result,) = json.loads(done.out)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "tests/test_shop.py"
    shown = machine.runtrue("runs", "show", "--output", "github", cwd=project)
    line = place["region"]["startLine"]
    assert f"::error file=tests/test_shop.py,line={line}" in shown.out
    markdown = machine.runtrue("runs", "show", "--output", "markdown", cwd=project).out
    assert markdown.startswith("## ❌ runtrue gate: failed")
    write(project, READY)
    ready = machine.runtrue("gate", "--output", "markdown", cwd=project)
    assert (ready.code, ready.out.partition("\n")[0]) == (0, "## ✅ runtrue gate: passed")
    git(project, "checkout", ".")
    nothing = machine.runtrue("gate", "--output", "sarif", cwd=project)
    assert (nothing.code, json.loads(nothing.out)["runs"][0]["results"]) == (0, [])


def test_a_fix_prints_its_change_in_the_summary(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "shop.py": "def total(prices):\n    return len(prices)\n"})
    agent = "sed -i s/len/sum/ shop.py"
    done = machine.runtrue("fix", "--agent", agent, "--output", "markdown", cwd=project)
    assert "runtrue fix:" in done.out.partition("\n")[0]
    assert "```diff" in done.out
    assert "+    return sum(prices)" in done.out
    assert "confidence" in done.out


def test_a_workflow_has_no_such_formats(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("nodes: [{id: a, type: shell, params: {command: 'true'}}]\n")
    assert machine.runtrue("run", str(file)).code == 0
    done = machine.runtrue("runs", "show", "--output", "sarif")
    assert done.code == 2
    assert "use --json" in done.err


def action(machine: Machine, project: Path, out: Path, **variables: str) -> Done:
    done = subprocess.run(
        [ROOT / "scripts" / "action"],
        cwd=project,
        env={
            **machine.env,
            "RUNTRUE_PROGRAM": str(Path(machine.argv()[0]).with_name("runtrue")),
            "RUNTRUE_OUT": str(out),
            "GITHUB_OUTPUT": str(out.with_suffix(".outputs")),
            "GITHUB_STEP_SUMMARY": str(out.with_suffix(".summary")),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_steps_of_the_action_annotate_and_leave_their_reports(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project, out = make_project(SHOP), tmp_path / "out"
    base = git(project, "rev-parse", "HEAD").strip()
    write(project, WRONG)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "change")
    done = action(machine, project, out, RUNTRUE_BASE=base)
    assert done.code == 2, done.said
    assert "::error file=tests/test_shop.py,line=" in done.out
    outputs = dict(
        line.split("=", 1) for line in out.with_suffix(".outputs").read_text().splitlines()
    )
    assert outputs["status"] == "failed"
    results: list[Any] = json.loads(Path(outputs["sarif"]).read_text())["runs"][0]["results"]
    assert [r["ruleId"] for r in results] == ["pytest/AssertionError"]
    assert "runtrue gate: failed" in out.with_suffix(".summary").read_text()
    assert JUnitXml.fromfile(str(out / "junit.xml")).failures == 1


def test_the_action_pushes_a_fix_and_comments_where_it_is_asked_to(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    top = make_project(
        {"README.md": "two projects\n", "web/shop.py": BROKEN, "web/test_shop.py": SUM}
    )
    remote = tmp_path / "remote.git"
    git(top, "init", "--bare", "--quiet", str(remote))
    git(top, "remote", "add", "origin", str(remote))
    programs = tmp_path / "programs"
    write(programs, {"gh": '#!/bin/sh\necho "$@" > "$0.asked"\n'})
    (programs / "gh").chmod(0o755)
    agent = tmp_path / "agent.sh"
    agent.write_text("sed -i 's/ + 1//' shop.py\n")
    done = action(
        machine,
        top,
        tmp_path / "out",
        RUNTRUE_COMMAND="fix",
        RUNTRUE_PATH="web",
        RUNTRUE_ARGS=f"--agent 'sh {agent}'",
        RUNTRUE_BRANCH="fix/totals",
        RUNTRUE_COMMENT="17",
        PATH=f"{programs}:{machine.env['PATH']}",
    )
    assert done.code == 0, done.said
    assert git(remote, "show", "fix/totals:web/shop.py") == BROKEN.replace(" + 1", "")
    assert git(remote, "log", "--format=%s", "fix/totals").startswith("fix: make failing checks")
    asked = (programs / "gh.asked").read_text()
    assert asked.startswith("pr comment 17 --edit-last --create-if-none --body-file ")


@pytest.mark.usefixtures("npm_servers")
def test_the_validator_of_the_format_accepts_sarif(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    files = {"hostile": render(outcomes(finding(HOSTILE)), OutputFormat.SARIF)}
    files["gate"] = judged(machine, make_project(SHOP), "--output", "sarif").out
    files["passed"] = render(outcomes(), OutputFormat.SARIF)
    # What it says of this shows that it looks.
    files["wrong"] = files["gate"].replace('"ruleId"', '"rule"')
    for name, text in files.items():
        (tmp_path / f"{name}.sarif").write_text(text)
    log = tmp_path / "log.sarif"
    validator = MODULES.parent / "@microsoft/sarif-multitool/bin.js"
    names = [tmp_path / f"{name}.sarif" for name in files]
    done = subprocess.run(
        [NODE, validator, "validate", *names, "--output", log, "--log", "ForceOverwrite"],
        env={**machine.env, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    (run,) = json.loads(log.read_text("utf-8-sig"))["runs"]
    refused = {
        place["physicalLocation"]["artifactLocation"]["uri"].rpartition("/")[2]
        for result in run["results"]
        if result.get("level") == "error"
        for place in result["locations"]
    }
    assert refused == {"wrong.sarif"}, done.stdout + done.stderr


def test_the_action_refuses_another_command(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    done = action(machine, make_project(SHOP), tmp_path / "out", RUNTRUE_COMMAND="rm")
    assert (done.code, done.err) == (2, "command is 'rm': it is gate or fix\n")
