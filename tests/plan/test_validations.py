"""Validations are checks of every kind that leave the candidate as it was and say what they saw."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from runtrue.errors import UsageError
from runtrue.loop import COVERAGE_UNMET, SECURITY_ISSUE, Fault, Mode, Outcome
from runtrue.plan.plan import Validation, ValidationKind
from runtrue.plan.validation import checks_of, concerns, judges_of, settled
from runtrue.sandbox import GitSandbox, JudgeSearch, UsersTree, is_judge
from tests.plan.requests import make_request
from tests.plan.validating import Bench
from tests.sandbox.support import contents, write_files

TAX = "def with_tax(net):\n    if net < 0:\n        return -with_tax(-net)\n    return net * 1.19\n"
TEST = "from tax import with_tax\n\n\ndef test_tax():\n    assert with_tax(100) == 119\n"
UNSAFE = "import subprocess\n\n\ndef run(line):\n    subprocess.call(line, shell=True)\n"
RUFF = "[lint]\nselect = ['F']\n"


def command(name: str, line: str, mode: Mode = Mode.REQUIRED) -> Validation:
    return Validation(name=name, command=line, mode=mode)


# -- the kinds ------------------------------------------------------------------------------------


def test_a_command_is_judged_by_its_exit_code(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.txt": "1\n"})
    passed, failed = bench.run(
        command("there", "test -f a.txt"),
        command("absent", "sh -c 'echo no >&2; exit 3'", Mode.INFORMATIONAL),
    )
    assert (passed.passed, passed.mode, passed.findings) == (True, Mode.REQUIRED, ())
    assert (failed.passed, failed.mode, failed.blocks) == (False, Mode.INFORMATIONAL, False)
    (finding,) = failed.findings
    assert (finding.message, finding.fault) == ("exited with code 3", Fault.CANDIDATE)
    assert finding.data == {"expected": 0, "actual": 3}
    assert finding.sample == "no"


def test_a_command_gets_its_variables_and_runs_in_its_directory(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"part/b.txt": "1\n"})
    own = {"WANTED": "b.txt"}
    line = 'test -f "$WANTED"'
    (verdict,) = bench.run(Validation(name="v", command=line, env=own, directory="part"))
    assert verdict.passed


def test_a_command_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    finding = Bench(tmp_path, {}).finding(Validation(name="v", command="sleep 60", timeout=0.3))
    assert finding.category == "timeout"


@pytest.mark.parametrize("own", [None, "python -m pytest -q test_tax.py"])
def test_tests_are_those_that_are_named_or_that_the_project_has(
    tmp_path: Path, own: str | None
) -> None:
    bench = Bench(tmp_path, {"tax.py": TAX, "test_tax.py": TEST})
    bench.change({"tax.py": TAX.replace("1.19", "1.2")})
    kind = ValidationKind.TESTS
    verdict = bench.verdict(Validation(name="tests", kind=kind, command=own))
    assert verdict.cases == {"test_tax.py::test_tax": Outcome.FAILED}
    (finding,) = verdict.findings
    assert "120.0 == 119" in finding.message
    assert (finding.data["paths"], finding.data["lines"]) == (["test_tax.py"], [5])


def test_lint_and_types_are_those_that_the_project_has(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"ruff.toml": RUFF, "mypy.ini": "[mypy]\n", "a.py": "x: int = 1\n"})
    bench.change({"a.py": "import os\n\nx: int = ''\n"})
    lint = bench.finding(Validation(name="style", kind=ValidationKind.LINT))
    assert (lint.category, lint.data["paths"], lint.data["lines"]) == ("F401", ["a.py"], [1])
    types = bench.finding(Validation(name="types", kind=ValidationKind.TYPES))
    assert (types.category, types.data["paths"], types.data["lines"]) == (
        "assignment",
        ["a.py"],
        [3],
    )


@pytest.mark.parametrize(
    ("files", "validation", "expected"),
    [
        (
            {"ruff.toml": RUFF},
            Validation(name="t", kind=ValidationKind.TESTS),
            "the validation t of kind tests finds no command for tests in {} "
            "(available: ruff check .); give it one with `command`",
        ),
        (
            {},
            Validation(name="c", kind=ValidationKind.COVERAGE),
            "the validation c of kind coverage finds no command for tests in {} "
            "(available: none); give it one with `command`",
        ),
        (
            {"test_a.py": "", "Cargo.toml": ""},
            Validation(name="t", kind=ValidationKind.TESTS),
            "the validation t of kind tests could be any of these in {}: "
            "python -m pytest -q, cargo test; say which with `command`",
        ),
        (
            {},
            Validation(name="v"),
            "the validation v has no `command`; give it one",
        ),
        (
            {},
            Validation(name="v", kind=ValidationKind.CALLABLE),
            "the validation v has no `callable`; name an entry point, or module:function",
        ),
    ],
    ids=["none of the kind", "none at all", "several", "no command", "no callable"],
)
def test_what_comes_to_nothing_is_refused_with_what_to_do(
    tmp_path: Path, files: dict[str, str | bytes], validation: Validation, expected: str
) -> None:
    write_files(tmp_path, files)
    with pytest.raises(UsageError) as caught:
        settled(validation, tmp_path)
    assert str(caught.value) == expected.format(tmp_path)


def test_what_is_settled_stays_so(tmp_path: Path) -> None:
    write_files(tmp_path, {"test_a.py": ""})
    once = settled(Validation(name="t", kind=ValidationKind.TESTS), tmp_path)
    assert once.command == "python -m pytest -q"
    write_files(tmp_path, {"Cargo.toml": ""})
    assert settled(once, tmp_path) == once


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        (Validation(name="v", command="make test"), "make test"),
        (Validation(name="v", kind=ValidationKind.TESTS), "python -m pytest -q"),
        (Validation(name="v", kind=ValidationKind.COVERAGE), "python -m pytest -q"),
        (Validation(name="v", kind=ValidationKind.SECURITY), "bandit"),
        (Validation(name="v", kind=ValidationKind.SECURITY, command="scan"), "scan"),
        (Validation(name="v", kind=ValidationKind.CALLABLE, callable="a:b"), "a:b"),
    ],
    ids=lambda value: value.kind if isinstance(value, Validation) else None,
)
def test_a_validation_tells_how_it_is_run(
    tmp_path: Path, validation: Validation, expected: str
) -> None:
    write_files(tmp_path, {"test_a.py": ""})
    request = make_request(project=str(tmp_path), validations=(validation,))
    (check,) = checks_of(request, GitSandbox(tmp_path / "home", tmp_path))
    assert (check.name, check.mode, check.command) == ("v", Mode.REQUIRED, expected)


def test_what_a_validation_judges_by_is_no_fixers_to_change(tmp_path: Path) -> None:
    command_ = judges_of(
        Validation(name="v", command="make test", judges=("x.sh",)), tmp_path, JudgeSearch()
    )
    assert {"x.sh", "Makefile"} <= set(command_)
    own = Validation(name="v", kind=ValidationKind.CALLABLE, callable="shop.rules:judge")
    patterns = judges_of(own, tmp_path, JudgeSearch())
    for file in ("shop/rules.py", "src/shop/rules.py", "shop/rules/__init__.py"):
        assert is_judge(file, patterns)
    assert not is_judge("shop/tax.py", patterns)
    installed = Validation(name="v", kind=ValidationKind.CALLABLE, callable="rules")
    assert judges_of(installed, tmp_path, JudgeSearch()) == ()


# -- coverage -------------------------------------------------------------------------------------

COVERAGE = Validation(name="covered", kind=ValidationKind.COVERAGE)


def test_coverage_is_that_of_the_changed_lines(tmp_path: Path) -> None:
    plain = "def with_tax(net):\n    return net * 1.19\n"
    bench = Bench(tmp_path, {"tax.py": plain, "test_tax.py": TEST})
    assert bench.verdict(COVERAGE).passed
    bench.change({"tax.py": TAX})
    verdict = bench.verdict(COVERAGE)
    assert verdict.cases == {"test_tax.py::test_tax": Outcome.PASSED}
    (finding,) = verdict.findings
    assert (finding.category, finding.fault) == (COVERAGE_UNMET, Fault.CANDIDATE)
    assert finding.data["paths"] == ["tax.py"]
    assert finding.data["lines"] == [3]
    assert (finding.data["expected"], finding.data["actual"]) == (80.0, 50.0)
    assert str(finding.location) == "tax.py:3"
    half = Validation(name="covered", kind=ValidationKind.COVERAGE, minimum=50)
    assert bench.verdict(half).passed


def test_tests_that_fail_are_told_instead_of_their_coverage(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"tax.py": TAX, "test_tax.py": TEST})
    bench.change({"tax.py": TAX.replace("1.19", "1.2")})
    finding = bench.finding(COVERAGE)
    assert finding.category == "AssertionError"


def test_coverage_that_cannot_be_measured_is_the_checks_fault(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"tax.py": TAX})
    bench.change({"tax.py": f"{TAX}\nRATE = 1\n"})
    unmeasured = Validation(name="covered", kind=ValidationKind.COVERAGE, command="true")
    finding = bench.finding(unmeasured)
    assert (finding.category, finding.fault) == ("coverage_unknown", Fault.CHECK)


# -- security -------------------------------------------------------------------------------------


def test_security_is_that_of_the_changed_lines(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"part/old.py": UNSAFE}, part="part")
    validation = Validation(name="safe", kind=ValidationKind.SECURITY)
    assert bench.verdict(validation).passed
    bench.change({"part/new.py": UNSAFE})
    finding = bench.finding(validation)
    assert (finding.category, finding.fault) == (SECURITY_ISSUE, Fault.CANDIDATE)
    assert finding.data["rule"] == "B602"
    assert (finding.data["paths"], finding.data["lines"]) == (["part/new.py"], [5])


def test_a_scanner_of_ones_own_is_run_as_the_validation_says(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"part/a.py": ""})
    bench.change({"part/a.py": UNSAFE})
    line = 'test "$PWD" = "$HERE" && ruff check --isolated --no-cache --select S '
    validation = Validation(
        name="safe",
        kind=ValidationKind.SECURITY,
        command=f"{line} --output-format sarif {{files}}",
        severity="low",
        directory="part",
        env={"HERE": str(bench.sandbox.directory / "part")},
    )
    assert {f.data["rule"] for f in bench.verdict(validation).findings} == {"S602"}


def test_a_scanner_that_is_not_there_is_the_checks_fault(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {})
    bench.change({"a.py": UNSAFE})
    validation = Validation(name="safe", kind=ValidationKind.SECURITY, command="no-such-scanner")
    assert bench.finding(validation).fault is Fault.CHECK


# -- what is watched ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("watches", "files", "expected"),
    [
        (None, (), True),
        (None, ("docs/a.md",), True),
        (("src/**",), ("part/src/deep/a.py",), True),
        (("src",), ("other.py", "part/src/a.py"), True),
        (("*.py",), ("part/src/a.py",), False),
        (("src/**",), ("src/a.py",), False),
        ((".",), ("part/src/a.py",), True),
        ((".",), ("elsewhere.py",), False),
        (("src/**",), (), False),
    ],
)
def test_a_validation_is_concerned_by_what_it_watches_in_the_project(
    tmp_path: Path, watches: tuple[str, ...] | None, files: tuple[str, ...], expected: bool
) -> None:
    bench = Bench(tmp_path, {"part/a.py": ""}, part="part")
    validation = Validation(name="v", command="true", watches=watches)
    concern = concerns(bench.request(validation), bench.sandbox)
    (check,) = bench.checks(validation)
    assert concern(check, files) is expected


# -- read-only ------------------------------------------------------------------------------------

WRITES = "echo more >> a.txt; echo new > b.txt; rm c.txt; mkdir -p out && echo x > out/d.txt"


def test_what_a_validation_writes_is_put_back_and_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.txt": "1\n", "c.txt": "3\n", ".gitignore": "out\n"})
    bench.change({"a.txt": "2\n"})
    before = contents(bench.sandbox.directory)
    (verdict,) = bench.run(command("writes", WRITES))
    assert verdict.passed
    assert verdict.wrote == ("a.txt", "b.txt", "c.txt")
    assert contents(bench.sandbox.directory) == before


@pytest.mark.parametrize("kind", [ValidationKind.COVERAGE, ValidationKind.CALLABLE])
def test_every_kind_leaves_the_candidate_as_it_was(tmp_path: Path, kind: ValidationKind) -> None:
    writes = "from pathlib import Path\n\n\ndef test_writes(path=Path()):\n"
    writes += "    (path / 'a.txt').write_text('2')\n"
    bench = Bench(
        tmp_path,
        {"a.txt": "1", "test_a.py": writes, "rules.py": f"{writes}    return {{'passed': True}}\n"},
    )
    before = contents(bench.sandbox.directory)
    validation = Validation(name="v", kind=kind, callable="rules:test_writes")
    verdict = bench.verdict(validation)
    assert (verdict.passed, verdict.wrote) == (True, ("a.txt",))
    assert contents(bench.sandbox.directory) == before


def test_a_validation_does_not_see_what_another_one_wrote(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.txt": "1\n", ".gitignore": "out\n"})
    first, second = bench.run(
        command("first", WRITES.replace("rm c.txt; ", "")),
        command("second", "! test -e b.txt && ! test -e out && ! grep more a.txt"),
    )
    assert first.wrote == ("a.txt", "b.txt")
    assert (second.passed, second.wrote) == (True, ())


def test_a_failed_validation_is_undone_as_well(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.txt": "1\n"})
    (verdict,) = bench.run(command("v", "rm -r ./*; exit 1"))
    assert (verdict.passed, verdict.wrote) == (False, ("a.txt",))
    assert (bench.sandbox.directory / "a.txt").read_text() == "1\n"


def test_in_the_users_own_tree_what_was_written_is_only_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.txt": "1\n"}, kind=UsersTree)
    first, second = bench.run(command("v", "echo 2 > a.txt"), command("w", "grep 2 a.txt"))
    assert (first.passed, first.wrote) == (True, ("a.txt",))
    assert (second.passed, second.wrote) == (True, ())
    assert (bench.project / "a.txt").read_text() == "2\n"


def test_names_that_are_no_text_can_be_recorded(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.txt": "1\n"})
    (verdict,) = bench.run(command("v", r"touch $(printf 'b\377')"))
    assert verdict.wrote == ("b�",)
    assert msgspec.json.encode(verdict)
