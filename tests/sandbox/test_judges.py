"""The files that judge a candidate are known by their names and by the commands of checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.sandbox import JudgeSearch, is_judge, is_test
from tests.sandbox.support import write_files


@pytest.mark.parametrize(
    "file",
    [
        "test_app.py",
        "pkg/test_app.py",
        "pkg/app_test.py",
        "pkg/tests.py",
        "conftest.py",
        "pkg/deep/conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        "sub/pyproject.toml",
        "noxfile.py",
        ".coveragerc",
        "ruff.toml",
        ".ruff.toml",
        "mypy.ini",
        ".mypy.ini",
        "runtrue.toml",
        "tests/data/expected.json",
        "pkg/tests/helper.py",
        "test/helper.rb",
        "web/__tests__/button.js",
        "spec/app_spec.rb",
        "button.test.tsx",
        "app.spec.ts",
        "main_test.go",
        "src/AppTest.java",
        "sitecustomize.py",
        "src/usercustomize.py",
        "lib/evil.pth",
        ".gitattributes",
        ".gitignore",
        "pkg/.gitignore",
        ".ignore",
        "pytest.toml",
        ".flake8",
        ".eslintrc.json",
        "web/eslint.config.mjs",
        "test.js",
        "test.mjs",
        "tests.ts",
        "spec.js",
        "test.py",
        "src/parse-test.js",
        "ava.config.js",
        ".taprc",
    ],
)
def test_tests_and_the_configuration_of_checks_are_judges(file: str) -> None:
    assert is_judge(file)


@pytest.mark.parametrize(
    "file",
    [
        "app.py",
        "contest.py",
        "latest/app.py",
        "testing.py",
        "pkg/attest.py",
        "README.md",
        "tests",
        "src/protest/app.py",
        "requirements.txt",
        "src/test.js",
        "lib/spec.ts",
        "latest.js",
    ],
)
def test_the_program_itself_is_none(file: str) -> None:
    assert not is_judge(file)


@pytest.mark.parametrize(
    ("file", "pattern", "expected"),
    [
        ("golden/a.txt", "golden/*", True),
        ("golden/deep/a.txt", "golden/*", True),
        ("verify.sh", "verify.sh", True),
        ("other/verify.sh", "verify.sh", False),
        ("a.yaml", "*.yaml", True),
        ("A.YAML", "*.yaml", False),
    ],
)
def test_patterns_name_further_ones(file: str, pattern: str, expected: bool) -> None:
    assert is_judge(file, [pattern]) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make test", {"Makefile", "part/Makefile"}),
        ("make -C part check", {"Makefile", "part/Makefile"}),
        ("/usr/bin/make", {"Makefile", "part/Makefile"}),
        ("just verify", set()),
        ("npm test", {"package.json"}),
        ("cargo test", {"Cargo.toml"}),
        ("go test ./...", {"go.mod"}),
        ("sh verify.sh", {"verify.sh"}),
        ("./verify.sh --fast", {"verify.sh"}),
        ("bash scripts/check.sh && make", {"Makefile", "part/Makefile", "scripts/check.sh"}),
        ("cd scripts && sh check.sh", {"scripts/check.sh"}),
        ("python scripts/lint.py app.py", {"scripts/lint.py"}),
        ("python app.py", set()),
        ("python -m pytest", set()),
        ("verify.sh 'unbalanced", {"verify.sh"}),
        ("test -f app.py", set()),
        ("sh no-such-verify.sh", set()),
    ],
)
def test_a_command_names_what_it_runs_as_its_judge(
    tmp_path: Path, command: str, expected: set[str]
) -> None:
    files = ["Makefile", "part/Makefile", "package.json", "Cargo.toml", "go.mod", "verify.sh"]
    files += ["app.py", "scripts/check.sh", "scripts/lint.py"]
    write_files(tmp_path, dict.fromkeys(files, ""))
    patterns = JudgeSearch().of_command(command, tmp_path)
    assert {file for file in files if is_judge(file, patterns)} == expected


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pytest.ini", "[pytest]\npython_files = check_*.py *.py\n    prove_?.py\n"),
        (".pytest.ini", "[pytest]\npython_files = check_*.py\n    prove_?.py\n"),
        ("tox.ini", "[pytest]\npython_files = check_*.py prove_?.py\n"),
        ("setup.cfg", "[tool:pytest]\npython_files = check_*.py prove_?.py\n"),
        ("pytest.toml", "[pytest]\npython_files = ['check_*.py', 'prove_?.py']\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\npython_files = 'check_*.py prove_?.py'\n"),
    ],
)
def test_what_pytest_is_configured_to_take_for_tests_judges(
    tmp_path: Path, file: str, text: str
) -> None:
    write_files(tmp_path, {file: text})
    patterns = JudgeSearch().of_command("python -m pytest -q", tmp_path)
    files = ["check_tax.py", "suite/check_tax.py", "part/prove_1.py", "tax.py", "part/proven.py"]
    assert [name for name in files if is_judge(name, patterns)] == files[:3]
    assert not JudgeSearch().of_command("ruff check .", tmp_path)


@pytest.mark.parametrize("text", ["[pytest", "[pytest]\npython_files = 3\n", "\udcff"])
def test_configuration_that_cannot_be_read_names_no_judges(tmp_path: Path, text: str) -> None:
    (tmp_path / "pytest.ini").write_text(text, errors="surrogateescape")
    (tmp_path / "pytest.toml").write_text("[pytest]\npython_files = 3\n")
    assert not is_judge("app.py", JudgeSearch().of_command("pytest", tmp_path))


def test_a_file_that_a_runner_would_prefer_judges_before_it_is_there(tmp_path: Path) -> None:
    write_files(tmp_path, {"Makefile": ""})
    assert is_judge("GNUmakefile", JudgeSearch().of_command("make test", tmp_path))


@pytest.mark.parametrize(
    "file",
    ["pytest.py", "_pytest/reports.py", "runtrue_report.py", "evil.egg-info/entry_points.txt"],
)
def test_what_would_stand_in_for_the_test_runner_is_a_judge(file: str) -> None:
    assert is_judge(file)


@pytest.mark.parametrize(
    "file",
    [
        "test_app.py",
        "pkg/app_test.py",
        "tests/test_helpers.py",
        "tests/unit/checkout.py",
        "main_test.go",
        "src/test/java/shop/BasketTest.java",
        "src/test/java/shop/Basket.java",
        "tests/it_works.rs",
        "web/button.test.tsx",
        "web/setup.spec.ts",
        "web/__tests__/button.js",
        "test/basket.mjs",
        "tests/modules.py",
    ],
)
def test_a_file_of_tests_is_known_by_its_name_or_its_place(file: str) -> None:
    assert is_test(file)
    assert is_judge(file)


@pytest.mark.parametrize(
    "file",
    [
        "app.py",
        "tests",
        "tests/data.json",
        "tests/README.md",
        # What prepares tests.
        "tests/conftest.py",
        "tests/__init__.py",
        "tests/helpers.py",
        "tests/helper_functions.py",
        "tests/setup_db.py",
        "test/setup.js",
        "__tests__/setupTests.ts",
        "tests/common/mod.rs",
        # Configuration, in whatever language.
        "tests/jest.config.js",
        "tests/vitest.config.ts",
        "tests/eslint.config.mjs",
        "tests/noxfile.py",
        "test/.mocharc.js",
        # What would stand in for the test runner, or runs before it.
        "tests/pytest.py",
        "tests/runtrue_report.py",
        "tests/sitecustomize.py",
        "_pytest/reports.py",
        "pytest/main.py",
    ],
)
def test_what_prepares_tests_or_configures_them_holds_none(file: str) -> None:
    assert not is_test(file)


PACKAGE, SUITE = "package.json", {"suite/a.js"}


@pytest.mark.parametrize(
    ("file", "text", "judges"),
    [
        (PACKAGE, '{"scripts": {"test": "node run.js"}}', {"run.js"}),
        (PACKAGE, '{"scripts": {"test": "node index.js"}}', set()),
        (PACKAGE, '{"scripts": {"test": "eslint lib/a.js && ava"}}', set()),
        (PACKAGE, '{"scripts": {"test": "npm run u", "u": "tape suite/*.js"}}', SUITE),
        (PACKAGE, '{"scripts": {"test": "mocha suite"}}', SUITE),
        (PACKAGE, '{"scripts": {"test": "mocha -r lib/b.js lib suite/a.js"}}', SUITE),
        (PACKAGE, '{"scripts": {"test": "uvu lib"}}', set()),
        (PACKAGE, '{"scripts": {"test": "jest suite"}}', set()),
        (PACKAGE, '{"ava": {"files": ["suite/**/*", "!suite/b.js"]}}', SUITE),
        (PACKAGE, '{"ava": {"files": ["**/*.js"]}}', set()),
        (PACKAGE, '{"jest": {"testMatch": ["<rootDir>/{suite,more}/*.js"]}}', SUITE),
        (PACKAGE, '{"jest": {"testMatch": ["**/?(*.)+(spec|test).[jt]s?(x)"]}}', set()),
        (".mocharc.yml", "spec: suite/*.js\n", SUITE),
        ("jest.config.js", 'module.exports = { testMatch: ["**/check/*.js"] }', {"check/a.js"}),
        ("vitest.config.ts", "{ include: ['check/*'], a: { include: ['lib/*'] } }", {"check/a.js"}),
    ],
)  # fmt: skip
def test_what_settings_and_scripts_name_as_tests_judges_and_the_program_does_not(
    tmp_path: Path, file: str, text: str, judges: set[str]
) -> None:
    program = ["index.js", "run.js", "lib/a.js", "suite/a.js", "check/a.js"]
    write_files(tmp_path, {**dict.fromkeys(program, ""), file: text})
    patterns = JudgeSearch().of_command("npm test", tmp_path)
    assert {file for file in program if is_judge(file, patterns)} == judges


@pytest.mark.parametrize("command", ["npx ava suite/a.js", "node --test suite/", "tape suite/*.js"])
def test_what_a_command_gives_a_runner_judges(tmp_path: Path, command: str) -> None:
    write_files(tmp_path, {"suite/a.js": "", "lib/a.js": ""})
    patterns = JudgeSearch().of_command(command, tmp_path)
    assert is_judge("suite/a.js", patterns)
    assert not is_judge("lib/a.js", patterns)


def test_paths_that_pytest_is_configured_to_look_in_judge_if_they_look_like_tests(
    tmp_path: Path,
) -> None:
    write_files(tmp_path, {"pytest.ini": "[pytest]\ntestpaths = src unit_tests\n"})
    patterns = JudgeSearch().of_command("pytest", tmp_path)
    assert is_judge("unit_tests/helper.py", patterns)
    assert not is_judge("src/helper.py", patterns)
