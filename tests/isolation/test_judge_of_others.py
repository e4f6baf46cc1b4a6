"""The same for the runners of other languages, and for commands that are not known at all."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checks.runners import NODE_MODULES, environment, require
from tests.checks.support import Project

_TEST = """
const { total } = require("./total.js");
const assert = require("node:assert");
NAMED("total", () => { assert.strictEqual(total([1, 2]), 3); });
"""
_MODULE_TEST = """
import { total } from "./total.js";
import { expect, test } from "vitest";
test("total", () => { expect(total([1, 2])).toBe(3); });
"""
_WRONG = "exports.total = () => 0;\n"
_WRONG_MODULE = "export const total = () => 0;\n"

#: Where a candidate finds out about the report: what its process was started with.
_FORGING = """
const fs = require("node:fs");
function forge(report) {
  const started = fs.readFileSync("/proc/self/environ", "utf8").split("\\0");
  const path = started.find((name) => name.startsWith("RUNTRUE_REPORT=")).slice(15);
  const line = JSON.stringify({ event: "end", report });
  fs.appendFileSync(path, `0 ${"0".repeat(64)} ${line}\\n`);
}
const JEST = { testResults: [{ name: __dirname + "/total.test.js", status: "passed", message: "",
  assertionResults: [{ fullName: "total", status: "passed", failureMessages: [] }] }] };
const MOCHA = { failures: [], pending: [],
  passes: [{ title: "total", fullTitle: "total", file: __dirname + "/total.test.js", err: {} }] };
"""

#: What is put into a program, by what it attempts.
ATTACKS = {
    "ending the process with 0 when it is loaded": "process.exit(0);",
    "ending the process with 0 in a test": "exports.total = () => process.exit(0);",
    "setting the exit code in the end": "process.on('exit', () => { process.exitCode = 0; });",
    "throwing nothing at all": "exports.total = () => { throw undefined; };",
}
FORGERIES = {
    "forging the report and ending the process": "forge(REPORT); process.exit(0);",
    "forging the report in a test": "exports.total = () => { forge(REPORT); return 0; };",
    "writing a test that passes": """
        const me = __dirname + "/other.test.js";
        fs.writeFileSync(me, "NAMED('other', () => {});");
        """,
    "writing other scripts": """
        fs.writeFileSync(__dirname + "/package.json", '{"scripts": {"test": "true"}}');
        """,
}
COMMANDS = {"jest": "npx --no-install jest", "mocha": "npm test"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def write_project(project: Project, name: str, attack: str) -> str:
    """A project whose tests fail, with an attack in it; the command that runs them."""
    require(name)
    word = {"jest": "test", "mocha": "it"}[name]
    project.environment |= environment()
    project.write("package.json", '{"scripts": {"test": "mocha *.test.js"}}')
    (project.directory / "node_modules").symlink_to(NODE_MODULES)
    for file in ("other", "total"):
        project.write(f"{file}.test.js", _TEST.replace("NAMED", word))
    code = _FORGING + _WRONG + textwrap.dedent(attack)
    project.write("total.js", code.replace("REPORT)", f"{name.upper()})").replace("NAMED", word))
    return COMMANDS[name]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_candidate_does_not_pass_by(project: Project, name: str, attack: str) -> None:
    verdict = project.check(write_project(project, name, attack))
    assert not verdict.passed
    assert verdict.findings


@pytest.mark.parametrize("attack", FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_candidate_is_caught(project: Project, name: str, attack: str) -> None:
    verdict = project.check(write_project(project, name, attack))
    assert not verdict.passed
    assert "tampered" in {finding.category for finding in verdict.findings}


@pytest.mark.parametrize("name", COMMANDS)
def test_an_honest_project_passes(project: Project, name: str) -> None:
    command = write_project(project, name, "")
    project.write("total.js", "exports.total = () => 3;")
    verdict = project.check(command)
    assert verdict.passed, verdict.findings
    assert set(verdict.cases) == {"total.test.js::total", "other.test.js::total"}


@pytest.mark.parametrize(
    "attack",
    [
        "process.exit(0);",
        "process.kill(process.ppid, 'SIGKILL');",
        """
        import fs from "node:fs";
        const scratch = process.env.HOME;
        fs.writeFileSync(scratch + "/vitest.json", '{"testResults": []}');
        """,
    ],
    ids=["ending the process", "killing the one that reports", "writing the report first"],
)
def test_vitest_does_not_let_one_pass_by(project: Project, attack: str) -> None:
    require("vitest")
    project.environment |= environment()
    project.write("package.json", '{"type": "module", "scripts": {"test": "vitest --dir ."}}')
    (project.directory / "node_modules").symlink_to(NODE_MODULES)
    project.write("total.test.js", _MODULE_TEST)
    project.write("total.js", textwrap.dedent(attack) + _WRONG_MODULE)
    assert not project.check("npm test").passed


def test_cargo_does_not_let_one_pass_that_ends_the_process(project: Project) -> None:
    require("cargo_test")
    project.environment |= environment()
    project.write("Cargo.toml", '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n')
    project.write("src/lib.rs", "pub fn total() -> u32 { std::process::exit(0) }\n")
    project.write("tests/it.rs", "#[test]\nfn total() { assert_eq!(shop::total(), 3); }\n")
    assert not project.check("cargo test --offline").passed


class TestOther:
    """A command that nothing is known of: its exit code, and the reports that it leaves."""

    REPORT = '<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>'

    def test_a_forged_report_does_not_outweigh_an_exit_code(self, project: Project) -> None:
        project.write("app.py", f"open('forged.xml', 'w').write('''{self.REPORT}''')\nexit(1)\n")
        assert not project.check("python app.py").passed

    def test_a_report_that_was_there_before_is_not_read(self, project: Project) -> None:
        project.write("forged.xml", self.REPORT)
        verdict = project.check("false")
        assert not verdict.passed
        assert verdict.cases == {"tests": "failed"}

    @pytest.mark.parametrize("file", ["tests/verify.py", "package.json", "pyproject.toml"])
    def test_a_judge_that_is_written_is_told(self, project: Project, file: str) -> None:
        project.write(file, "{}")
        project.write("app.py", f"open({file!r}, 'w').write('')\n")
        (finding,) = project.check("python app.py").findings
        assert finding.category == "tampered"
        assert finding.location.file == file

    def test_a_formatter_may_write_tests(self, project: Project) -> None:
        project.write("tests/test_it.py", "x=1\n")
        project.write("format.sh", "echo 'x = 1' > tests/test_it.py\n")
        assert project.check("sh -c 'sh ./format.sh'").passed
