"""Test commands can be told where to run, with what, when to stop, and how much to say."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.checks.check import reader_of
from runtrue.loop import Fault
from tests.checks.runners import NODE_MODULES, environment, require
from tests.checks.support import Project, only

FAILING = {
    "jest": {
        "package.json": "{}",
        "a.test.js": "test('a', () => expect(1).toBe(2));",
        "b.test.js": "test('b', () => expect(1).toBe(2));",
    },
    "vitest": {
        "package.json": '{"type": "module"}',
        "a.test.js": """
            import { expect, test } from "vitest";
            test("a", () => expect(1).toBe(2));
            test("b", () => expect(1).toBe(2));
        """,
    },
    "mocha": {
        "package.json": "{}",
        "test/a.js": "it('a', () => { throw Error('a') }); it('b', () => { throw Error('b') });",
    },
    "go_test": {
        "go.mod": "module example.org/shop\n\ngo 1.19\n",
        "a_test.go": """
            package shop

            import "testing"

            func TestA(t *testing.T) { t.Error("a") }
            func TestB(t *testing.T) { t.Error("b") }
        """,
    },
}
COMMANDS = {
    "jest": "npx --no-install jest -i",
    "vitest": "npx --no-install vitest",
    "mocha": "npx --no-install mocha",
    "go_test": "go test ./...",
}


class TestFailFast:
    @pytest.mark.parametrize("name", FAILING)
    def test_the_first_failure_is_the_only_one(self, project: Project, name: str) -> None:
        runner = require(name)
        for file, text in FAILING[name].items():
            project.write(file, text)
        if runner.package:
            (project.root / "node_modules").symlink_to(NODE_MODULES)
        project.environment |= environment()
        assert len(project.check(COMMANDS[name]).findings) == 2
        verdict = project.check(COMMANDS[name], fail_fast=True)
        finding = only(verdict)
        assert finding.fault is Fault.CANDIDATE
        failed = [case for case, outcome in verdict.cases.items() if outcome in ("failed", "error")]
        assert failed == [finding.location.symbol]

    def test_of_pytest(self, project: Project) -> None:
        project.write("test_it.py", "def test_a():\n    assert 0\n\ndef test_b():\n    assert 0\n")
        assert len(project.check("pytest").findings) == 2
        assert only(project.check("pytest", fail_fast=True)).location.symbol == "test_it.py::test_a"

    def test_of_cargo_it_is_the_first_program(self, project: Project) -> None:
        require("cargo_test")
        project.environment |= environment()
        manifest = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
        project.write("Cargo.toml", manifest)
        for file in ("src/lib.rs", "tests/outer.rs"):
            project.write(file, "#[test]\nfn fails() { assert!(false) }\n")
        assert len(project.check("cargo test").findings) == 2
        finding = only(project.check("cargo test", fail_fast=True))
        assert finding.location.file == "src/lib.rs"


class TestVerbose:
    def test_pytest_tells_differences_whole(self, project: Project) -> None:
        project.write(
            "test_it.py",
            "def test_it():\n    assert list(range(100)) == [*range(99), 'the last']\n",
        )
        brief, full = (
            only(project.check("pytest -q", verbose=verbose)).sample or ""
            for verbose in (False, True)
        )
        assert "Use -v" in brief or "-vv" in brief
        assert "+     99," in full
        assert "-     'the last'," in full

    def test_jest_tells_differences_whole(self, project: Project) -> None:
        require("jest")
        (project.root / "node_modules").symlink_to(NODE_MODULES)
        project.write("package.json", "{}")
        project.write(
            "a.test.js",
            "const a = [...Array(30).keys()]; test('a', () => expect(a).toEqual([...a, 30]));",
        )
        brief, full = (
            only(project.check("npx --no-install jest", verbose=verbose)).data["stack_trace"]
            for verbose in (False, True)
        )
        assert "    3," not in brief
        assert "    3," in full

    def test_cargo_tells_the_way_to_a_panic(self, project: Project) -> None:
        require("cargo_test")
        check = CommandCheck(name="tests", command="cargo test", verbose=True)
        call = reader_of(check, project.directory).prepare((), {}, project.scratch)
        assert call.environment["RUST_BACKTRACE"] == "1"


@pytest.mark.parametrize(
    ("command", "added"),
    [
        ("mvn test", ("-Dsurefire.skipAfterFailureCount=1", "-DtrimStackTrace=false")),
        ("./mvnw -q verify", ("-Dsurefire.skipAfterFailureCount=1", "-DtrimStackTrace=false")),
        ("./gradlew test", ()),
        ("make test", ()),
        ("ruff check", ("--output-format=json",)),
    ],
)
def test_what_other_tools_are_told(project: Project, command: str, added: tuple[str, ...]) -> None:
    check = CommandCheck(name="tests", command=command, fail_fast=True, verbose=True)
    argv = reader_of(check, project.directory).prepare(check.argv, {}, project.scratch).argv
    options = tuple(word for word in argv if word not in check.argv and "output-file" not in word)
    assert options == added


class TestEnv:
    def test_it_comes_over_that_of_the_workplace(self, project: Project) -> None:
        project.environment |= {"ONE": "workplace", "TWO": "workplace"}
        verdict = project.check("echo $ONE $TWO $THREE", env={"TWO": "check", "THREE": "check"})
        assert verdict.output == "workplace check check"

    def test_a_program_is_looked_for_on_its_path(self, project: Project) -> None:
        project.write("bin/it", "#!/bin/sh\necho here\n").chmod(0o755)
        path = f"{project.directory}/bin"
        assert project.check("sh -c it", env={"PATH": f"{path}:/bin:/usr/bin"}).output == "here"

    def test_checks_can_still_be_told_apart_in_a_set(self) -> None:
        checks = {CommandCheck(name=name, command="it", env={"A": "b"}) for name in "xyx"}
        assert len(checks) == 2


class TestDirectory:
    def test_the_command_runs_there(self, project: Project) -> None:
        project.write("web/it", "")
        assert project.check("ls", directory="web").output == "it"

    def test_findings_are_told_as_seen_from_the_root(self, tmp_path: Path) -> None:
        project = Project(tmp_path / "many", inside="shop")
        project.write("api/total.py", "def total():\n    raise ValueError\n")
        project.write("api/test_it.py", "import total\n\ndef test_it():\n    total.total()\n")
        verdict = project.check("pytest", directory="api", cover=True)
        assert str(only(verdict).location) == "shop/api/total.py:2"
        assert verdict.coverage == {"shop/api/total.py": (2, 2)}

    def test_what_the_command_comes_to_is_seen_there(self, project: Project) -> None:
        require("mocha")
        project.write("web/package.json", '{"scripts": {"test": "mocha"}}')
        project.write("web/test/a.js", "it('a', () => { throw Error('a') });")
        (project.root / "web/node_modules").symlink_to(NODE_MODULES)
        verdict = project.check("npm test", directory="web")
        assert verdict.cases == {"web/test/a.js::a": "failed"}

    @pytest.mark.parametrize("directory", ["absent", "file", "..", "/", "web/../.."])
    def test_one_that_is_not_the_projects_is_the_checks_fault(
        self, project: Project, directory: str
    ) -> None:
        project.write("file", "")
        project.write("web/it", "")
        finding = only(project.check("true", directory=directory, cover=True))
        assert (finding.category, finding.fault) == ("not_runnable", Fault.CHECK)
        assert finding.message == f"the directory {directory!r} is not in the project"
        assert project.measured().why_not == "the command could not be run: see its finding"
