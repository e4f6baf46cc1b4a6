"""What goes wrong outside of tests: none to run, code that cannot be loaded, no runner."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from runtrue.loop import Fault, Finding, Verdict
from tests.checks.runners import NODE_MODULES, RUNNERS, copy_project, environment, require
from tests.checks.support import Project, only

PACKAGE = {"package.json": '{ "scripts": { "test": "RUNNER" } }'}
MODULE = {"go.mod": "module example.org/shop\n\ngo 1.19\n"}
CARGO = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "shop"\nversion = "0.1.0"\n',
}
JAVA = {
    "src/main/java/shop/Total.java": "package shop; class Total {}\n",
    "src/test/java/shop/TotalTest.java": "package shop; class TotalTest {}\n",
}


def check(project: Project, name: str, files: Mapping[str, str]) -> Verdict:
    runner = require(name)
    for file, text in files.items():
        project.write(file, text.replace("RUNNER", name))
    if runner.package:
        (project.root / "node_modules").symlink_to(NODE_MODULES)
    project.environment |= environment()
    return project.check("npm test" if runner.package else runner.command)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("jest", PACKAGE),
        ("vitest", PACKAGE),
        ("mocha", {**PACKAGE, "test/empty.js": ""}),
        ("go_test", {**MODULE, "total.go": "package shop\n"}),
        ("cargo_test", {**CARGO, "src/lib.rs": ""}),
        ("junit", JAVA),
    ],
)
def test_a_run_without_tests_proves_nothing(
    project: Project, name: str, files: Mapping[str, str]
) -> None:
    finding = only(check(project, name, files))
    assert (finding.category, finding.fault) == ("nothing_collected", Fault.CHECK)
    assert finding.message.endswith("found no test to run")


@pytest.mark.parametrize(
    ("name", "files", "category", "place"),
    [
        (
            "mocha",
            {**PACKAGE, "total.js": "const = 1\n", "test/it.js": 'require("../total.js")\n'},
            *("SyntaxError", "total.js:1"),
        ),
        (
            "go_test",
            {**MODULE, "a.go": "package shop\nvar x int = nil\n", "a_test.go": "package shop\n"},
            *("build", "a.go:2:13"),
        ),
        ("cargo_test", {**CARGO, "src/lib.rs": "const X: i8 = nil;\n"}, "E0425", "src/lib.rs:1:15"),
        (
            "junit",
            {**JAVA, "src/main/java/shop/Total.java": "package shop;\nclass Total { nil x; }\n"},
            *("build", "src/main/java/shop/Total.java:2"),
        ),
    ],
)  # fmt: skip
def test_code_that_cannot_be_loaded_is_told_by_its_place(
    project: Project, name: str, files: Mapping[str, str], category: str, place: str
) -> None:
    finding = only(check(project, name, files))
    assert (finding.category, str(finding.location)) == (category, place)
    assert finding.fault is Fault.CANDIDATE
    assert finding.sample


@pytest.mark.parametrize("name", ["go_test", "cargo_test"])
def test_a_test_program_that_ends_by_itself_is_told(project: Project, name: str) -> None:
    quits = {
        "go_test": {
            **MODULE,
            "a_test.go": """
                package shop

                import ("os"; "testing")

                func TestFirst(t *testing.T) {}
                func TestQuits(t *testing.T) { os.Exit(3) }
            """,
        },
        "cargo_test": {
            **CARGO,
            "src/lib.rs": """
                #[test]
                fn quits() { std::process::exit(3) }
            """,
        },
    }
    finding = only(check(project, name, quits[name]))
    assert finding.category == "died"
    assert finding.fault is Fault.CANDIDATE


@pytest.mark.parametrize(
    ("command", "category"),
    [
        ("npx --no-install --offline jest", "no_report"),
        ("node_modules/.bin/mocha", "not_runnable"),
        ("nowhere/go test ./...", "not_runnable"),
        ("nowhere/cargo test", "not_runnable"),
        ("nowhere/mvn test", "not_runnable"),
        ("cd . && nowhere/jest", "not_runnable"),
    ],
)
def test_a_missing_program_is_the_checks_fault(
    project: Project, command: str, category: str
) -> None:
    finding: Finding = only(project.check(command))
    assert (finding.category, finding.fault) == (category, Fault.CHECK)


def test_a_runner_that_hangs_is_told_with_what_it_had_reported(project: Project) -> None:
    require("go_test")
    project.environment |= environment()
    project.write("go.mod", MODULE["go.mod"])
    project.write(
        "a_test.go",
        """
        package shop

        import "testing"

        func TestPasses(t *testing.T) {}
        func TestHangs(t *testing.T) { select {} }
        """,
    )
    verdict = project.check(f"{RUNNERS['go_test'].command} -timeout 100ms")
    assert verdict.cases["a_test.go::TestPasses"] == "passed"
    assert verdict.cases["a_test.go::TestHangs"] == "error"
    assert only(verdict).category == "panic"


def test_junits_own_reports_directory_is_kept(project: Project) -> None:
    runner = require("junit")
    copy_project("junit", project.root)
    verdict = project.check(f"{runner.command} --reports-dir out")
    assert "src/test/java/shop/TotalTest.java::adds" in verdict.cases
    assert len(list((project.root / "out").glob("TEST-*.xml"))) == 3


@pytest.mark.parametrize("place", ["target/surefire-reports", "part/build/test-results/test"])
def test_a_report_that_was_there_before_is_not_believed(project: Project, place: str) -> None:
    report = project.write(f"{place}/TEST-old.xml", "<testsuite><testcase name='it'/></testsuite>")
    project.write("mvnw", "#!/bin/sh\nexit 0\n").chmod(0o755)
    finding = only(project.check("./mvnw test"))
    assert (finding.category, finding.fault) == ("no_report", Fault.CHECK)
    assert not report.exists()


def test_gradles_reports_are_found_in_every_module(project: Project) -> None:
    report = "<testsuite><testcase name='it()' classname='shop.ATest'/></testsuite>"
    project.write(
        "gradlew",
        f"""
        #!/bin/sh
        mkdir -p part/build/test-results/test
        echo "{report}" > part/build/test-results/test/TEST-shop.ATest.xml
        """,
    ).chmod(0o755)
    project.write("part/src/test/java/shop/ATest.java", "")
    verdict = project.check("./gradlew test")
    assert verdict.passed
    assert verdict.cases == {"part/src/test/java/shop/ATest.java::it": "passed"}


def test_a_runner_that_is_too_old_for_our_options_is_judged_by_its_exit_code(
    project: Project,
) -> None:
    """mocha 1 ends at the first option that it does not know, without a word."""
    refuses = 'case "$*" in *--full-trace*) exit 1;; esac\nexit $(cat code)\n'
    project.write("node_modules/.bin/mocha", f"#!/bin/sh\n{refuses}").chmod(0o755)
    project.write("node_modules/mocha/package.json", '{"version": "1.21.5"}')
    project.write("code", "0")
    assert project.check("node_modules/.bin/mocha").passed
    project.write("code", "3")
    finding = only(project.check("node_modules/.bin/mocha"))
    assert (finding.category, finding.fault) == ("exit_code", "candidate")


def test_code_that_pytest_itself_runs_is_blamed_when_pytest_does_not_start(
    project: Project,
) -> None:
    project.write("test_a.py", "def test_a():\n    pass\n")
    project.write("early.py", "def pytest_addoption(parser):\n    parser.tables[0]\n")
    finding = only(project.check("python -m pytest -p early"))
    assert (finding.fault, finding.location.file, finding.location.line) == (
        "candidate",
        "early.py",
        2,
    )
