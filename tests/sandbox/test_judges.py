"""The files that judge a candidate are known by their names and by the commands of checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.sandbox import is_judge, judges_of_command
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
        ("make test", ("Makefile",)),
        ("make -C . check", ("Makefile",)),
        ("/usr/bin/make", ("Makefile",)),
        ("just verify", ()),
        ("npm test", ("package.json",)),
        ("cargo test", ("Cargo.toml",)),
        ("go test ./...", ("go.mod",)),
        ("sh verify.sh", ("verify.sh",)),
        ("./verify.sh --fast", ("verify.sh",)),
        ("bash scripts/check.sh && make", ("Makefile", "scripts/check.sh")),
        ("python scripts/lint.py app.py", ("scripts/lint.py",)),
        ("python app.py", ()),
        ("python -m pytest", ()),
        ("verify.sh 'unbalanced", ("verify.sh",)),
        ("test -f app.py", ()),
        ("sh no-such-verify.sh", ()),
    ],
)
def test_a_command_names_what_it_runs_as_its_judge(
    tmp_path: Path, command: str, expected: tuple[str, ...]
) -> None:
    files = ["Makefile", "package.json", "Cargo.toml", "go.mod", "verify.sh", "app.py"]
    write_files(tmp_path, dict.fromkeys([*files, "scripts/check.sh", "scripts/lint.py"], ""))
    assert judges_of_command(command, tmp_path) == expected
