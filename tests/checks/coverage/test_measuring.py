"""Every other framework is made to measure too, or it is said what it lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runtrue.checks import CaseInfo, load_cases
from tests.checks.coverage.record import REPORTS, SHOP
from tests.checks.coverage.test_report import C8, JAVASCRIPT, PYTHON, READ
from tests.checks.runners import NODE_MODULES, environment, require
from tests.checks.support import Project

GO = READ["cover.out"]
TESTS = {
    "jest": {
        "package.json": '{"scripts": {"test": "jest"}, "jest": {"coverageThreshold":'
        ' {"global": {"lines": 100}}}}',
        "total.test.js": "test('adds', () => expect(require('./total.js').total([1, 2])).toBe(3));",
    },
    "mocha": {
        "package.json": '{"scripts": {"test": "mocha"}}',
        "test/total.js": "it('adds', () =>"
        " require('assert').equal(require('../total.js').total([1, 2]), 3));",
    },
    "vitest": {
        "package.json": '{"type": "module", "scripts": {"test": "vitest"}}',
        "vitest.config.js": "export default { test: { coverage: { thresholds: { lines: 99 } } } };",
        "total.js": (SHOP / "total.js").read_text().replace("exports.", "export const "),
        "total.test.js": """
            import { expect, test } from "vitest";
            import { total } from "./total.js";
            test("adds", () => expect(total([1, 2])).toBe(3));
        """,
    },
    "go_test": {
        "total_test.go": """
            package shop

            import ("testing"; "example.org/shop/money")

            func TestTotal(t *testing.T) {
                if money.Total([]int{1, 2}) != 3 { t.Fatal() }
            }
        """,
    },
}


def lay(project: Project, name: str) -> None:
    require(name)
    shutil.copytree(SHOP, project.root, dirs_exist_ok=True)
    for file, text in TESTS[name].items():
        project.write(file, text)
    if name != "go_test":
        (project.root / "node_modules").symlink_to(NODE_MODULES)
    project.environment |= environment()


def require_package(name: str) -> None:
    if not (NODE_MODULES / name).is_dir():
        pytest.skip(f"tests/runners has no {name}: add it to package.json there")


@pytest.mark.parametrize(
    ("name", "package", "command", "lines"),
    [
        ("jest", None, "npm test", JAVASCRIPT),
        ("jest", None, "npx --no-install jest --coverageDirectory=out", JAVASCRIPT),
        ("mocha", "c8", "npm test", C8),
        ("mocha", "c8", "npx --no-install c8 --reporter=lcov mocha", C8),
        ("mocha", "nyc", "npx --no-install nyc --reporter=json mocha", JAVASCRIPT),
        ("vitest", "@vitest/coverage-v8", "npm test", None),
        ("go_test", None, "go test ./...", GO),
        ("go_test", None, "go test -coverprofile=cover.out -coverpkg=./money ./...", GO),
    ],
)
def test_a_framework_measures(
    project: Project,
    name: str,
    package: str | None,
    command: str,
    lines: tuple[str, list[int], list[int]] | None,
) -> None:
    if package:
        require_package(package)
    lay(project, name)
    verdict = project.check(command, cover=True)
    assert verdict.passed, verdict.findings
    found = project.lines()
    if lines is None:
        # Which statements there are depends on the version; what ran does not.
        ((file, (executed, missing)),) = found.items()
        assert file == "total.js"
        assert {5, 8} <= set(executed)
        assert {6, 13} <= set(missing)
    else:
        file, executed, missing = lines
        assert found == {file: (executed, missing)}
        assert verdict.coverage == {file: (len(executed), len(executed) + len(missing))}


@pytest.mark.parametrize(
    ("name", "package"),
    [("jest", None), ("mocha", "c8"), ("vitest", "@vitest/coverage-v8"), ("go_test", None)],
)
def test_tests_that_fail_are_measured_too(project: Project, name: str, package: str | None) -> None:
    if package:
        require_package(package)
    lay(project, name)
    for file, text in TESTS[name].items():
        project.write(file, text.replace("toBe(3)", "toBe(4)").replace(", 3)", ", 4)"))
        if name == "go_test":
            project.write(file, text.replace("!= 3", "!= 4"))
    verdict = project.check(
        "go test ./..." if name == "go_test" else "npm test", cover=True, fail_fast=True
    )
    assert not verdict.passed
    ((_, (ran, _)),) = (verdict.coverage or {}).items()
    assert ran >= 4


class TestWhyNot:
    @pytest.mark.parametrize(
        ("command", "why_not"),
        [
            (
                "./mocha",
                "mocha's coverage needs c8 or nyc in node_modules: npm install --save-dev c8",
            ),
            (
                "./vitest",
                "vitest's coverage needs @vitest/coverage-v8 in node_modules:"
                " npm install --save-dev @vitest/coverage-v8",
            ),
            (
                "./c8 mocha",
                "c8 wrote no readable coverage report: give it the option --reporter=json",
            ),
            (
                "./cargo test",
                "cargo's coverage needs cargo-llvm-cov: cargo install cargo-llvm-cov",
            ),
            (
                "./ruff check .",
                "coverage needs a test command; runtrue does not recognise this one",
            ),
        ],
    )
    def test_what_is_lacking_is_said(self, project: Project, command: str, why_not: str) -> None:
        project.environment["PATH"] = "/usr/bin:/bin"
        project.write(command.split(maxsplit=1)[0], "#!/bin/sh\nexit 1\n").chmod(0o755)
        assert project.check(command, cover=True).coverage is None
        assert project.measured().why_not == why_not

    def test_a_runner_that_leaves_none(self, project: Project) -> None:
        project.write("jest", "#!/bin/sh\nexit 0\n").chmod(0o755)
        assert project.check("./jest", cover=True).coverage is None
        assert project.measured().why_not == (
            "jest left no readable coverage report; see its output"
        )

    @pytest.mark.parametrize(
        ("command", "begins"),
        [
            ("./mvnw test", "the build left no JaCoCo report: have it write target/site/jacoco/"),
            ("true", "the command left no coverage report; have it write one of coverage-final"),
        ],
    )
    def test_a_build_that_leaves_none(self, project: Project, command: str, begins: str) -> None:
        project.write("mvnw", "#!/bin/sh\nexit 0\n").chmod(0o755)
        project.check(command, cover=True)
        assert (project.measured().why_not or "").startswith(begins)


class TestLeft:
    """What a command writes by itself is read from where it is usually looked for."""

    @pytest.mark.parametrize(
        ("report", "place"),
        [
            ("jacoco.xml", "target/site/jacoco/jacoco.xml"),
            ("jacoco.xml", "build/reports/jacoco/test/jacocoTestReport.xml"),
            ("cobertura.xml", "coverage.xml"),
            ("cobertura.xml", "cobertura.xml"),
            ("lcov.info", "lcov.info"),
            ("lcov.info", "coverage/lcov.info"),
            ("coverage-final.json", "coverage/coverage-final.json"),
            ("coveragepy.json", "coverage.json"),
            ("cover.out", "cover.out"),
            ("cover.out", "coverage.out"),
        ],
    )
    @pytest.mark.parametrize("builder", ["mvnw", "verify"])
    def test_reports_of_this_run_are_read(
        self, project: Project, report: str, place: str, builder: str
    ) -> None:
        shutil.copytree(SHOP, project.root, dirs_exist_ok=True)
        text = (REPORTS / report).read_text().replace("{root}", str(project.root))
        (project.scratch / "made").write_text(text)
        script = f"#!/bin/sh\nmkdir -p {Path(place).parent}\ncp {project.scratch}/made {place}\n"
        project.write(builder, script).chmod(0o755)
        project.check(f"./{builder} test", cover=True)
        file, executed, missing = READ[report]
        assert project.lines() == {file: (executed, missing)}

    def test_one_that_was_there_before_is_not_believed(self, project: Project) -> None:
        shutil.copytree(SHOP, project.root, dirs_exist_ok=True)
        shutil.copy(REPORTS / "lcov.info", project.root)
        assert project.check("true", cover=True).coverage is None
        assert project.check("touch lcov.info", cover=True).coverage == {PYTHON[0]: (5, 7)}

    def test_those_of_several_parts_are_one(self, project: Project) -> None:
        for part in ("a", "b"):
            project.write(f"{part}/it.py", "x\n")
            project.write(f"{part}.made", f"SF:{part}/it.py\nDA:1,1\nend_of_record\n")
        verdict = project.check("cp a.made a/lcov.info; cp b.made b/lcov.info", cover=True)
        assert verdict.coverage == {"a/it.py": (1, 1), "b/it.py": (1, 1)}


def test_cargo_measures_through_its_extension(project: Project) -> None:
    """The extension is not available here: a stand-in runs the tests and reports as it would."""
    require("cargo_test")
    project.environment |= environment()
    project.write("Cargo.toml", '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n')
    project.write("src/lib.rs", "#[test]\nfn fails() { assert!(false) }\n")
    programs = project.scratch / "programs"
    programs.mkdir()
    (programs / "cargo-llvm-cov").write_text(
        """#!/bin/sh
        shift
        case "$1" in
            test) shift
                for word; do shift; [ "$word" = --no-report ] || set -- "$@" "$word"; done
                exec cargo test "$@" ;;
            report) [ "$2" = --lcov ] || exit 9
                printf 'SF:src/lib.rs\\nDA:2,1\\nend_of_record\\n' > "${3#--output-path=}" ;;
        esac
        """
    )
    (programs / "cargo-llvm-cov").chmod(0o755)
    project.environment["PATH"] += f":{programs}"
    for command in ("cargo test", "cd . && cargo t"):
        verdict = project.check(command, cover=True)
        assert verdict.cases == {"src/lib.rs::fails": "failed"}, verdict.findings
        assert verdict.exit_code == 101
        assert verdict.coverage == {"src/lib.rs": (1, 1)}


def test_cases_of_other_frameworks_are_placed_by_their_names(project: Project) -> None:
    project.write("tests/it.sh", "")
    project.check("printf '1..2\\nok 1 - tests/it.sh::adds\\nok 2 - std::adds\\n'", cover=True)
    assert load_cases(project.scratch, "tests") == {
        "tests/it.sh::adds": CaseInfo(file="tests/it.sh"),
        "std::adds": CaseInfo(),
    }
