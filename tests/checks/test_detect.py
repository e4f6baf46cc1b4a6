"""The checks of a project are found from its own configuration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtrue.checks import detect_checks

PYTEST, MYPY, RUFF = "pytest", "mypy", "ruff"


def found(project: Path) -> dict[str, str]:
    return {detected.check.name: detected.because for detected in detect_checks(project)}


def commands(project: Path) -> dict[str, str]:
    return {detected.check.name: detected.check.command for detected in detect_checks(project)}


def write(project: Path, name: str, text: str | bytes = "") -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture
def bin_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All there is on PATH."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


@pytest.fixture
def managers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """All package managers are on PATH."""
    directory = tmp_path_factory.mktemp("bin")
    for name in ("npm", "pnpm", "yarn"):
        (directory / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=os.pathsep)


@pytest.mark.usefixtures("bin_directory")
def test_scripts_are_run_by_npm_where_the_projects_manager_is_missing(tmp_path: Path) -> None:
    write(tmp_path, "project/package.json", '{"scripts": {"test": "jest"}}')
    write(tmp_path, "project/pnpm-lock.yaml")
    assert commands(tmp_path / "project") == {"jest": "npm test"}


def test_a_project_without_any_has_none(tmp_path: Path) -> None:
    write(tmp_path, "app.py")
    write(tmp_path, "pyproject.toml", "[project]\nname = 'x'\n")
    write(tmp_path, "setup.cfg", "[metadata]\n")
    assert detect_checks(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "text", "tool", "because"),
    [
        ("pytest.ini", "", PYTEST, "pytest.ini"),
        (".pytest.ini", "", PYTEST, ".pytest.ini"),
        ("pytest.toml", "", PYTEST, "pytest.toml"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\n",
            PYTEST,
            "pyproject.toml:1 [tool.pytest]",
        ),
        ("setup.cfg", "[tool:pytest]\n", PYTEST, "setup.cfg:1 [tool:pytest]"),
        ("tox.ini", "[pytest]\n", PYTEST, "tox.ini:1 [pytest]"),
        ("test_app.py", "", PYTEST, "test_app.py"),
        ("app_test.py", "", PYTEST, "app_test.py"),
        ("tests/unit/test_app.py", "", PYTEST, "tests/unit/test_app.py"),
        ("test/test_app.py", "", PYTEST, "test/test_app.py"),
        ("mypy.ini", "[mypy]\n", MYPY, "mypy.ini"),
        (".mypy.ini", "[mypy]\n", MYPY, ".mypy.ini"),
        ("pyproject.toml", "[tool.mypy]\n", MYPY, "pyproject.toml:1 [tool.mypy]"),
        ("setup.cfg", "[mypy]\n", MYPY, "setup.cfg:1 [mypy]"),
        ("ruff.toml", "", RUFF, "ruff.toml"),
        (".ruff.toml", "", RUFF, ".ruff.toml"),
        ("pyproject.toml", "[tool.ruff.lint]\n", RUFF, "pyproject.toml:1 [tool.ruff]"),
    ],
)
def test_each_form_of_configuration_gives_a_check(
    tmp_path: Path, file: str, text: str, tool: str, because: str
) -> None:
    write(tmp_path, file, text)
    assert found(tmp_path) == {tool: because}


def test_the_line_is_that_of_the_table(tmp_path: Path) -> None:
    text = "[dependency-groups]\npytest = []\nmypy = []\n\n[tool.mypy]\n"
    write(tmp_path, "pyproject.toml", text)
    assert found(tmp_path) == {MYPY: "pyproject.toml:5 [tool.mypy]"}


def test_tests_come_first_then_types_then_lint(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", "[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n")
    assert list(found(tmp_path)) == [PYTEST, MYPY, RUFF]


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        ("mypy.ini", "[mypy]\n", "mypy ."),
        ("mypy.ini", "[mypy]\nfiles = src\n", "mypy"),
        ("setup.cfg", "[mypy]\npackages = app\n", "mypy"),
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", "mypy ."),
        ("pyproject.toml", "[tool.mypy]\nfiles = ['src']\n", "mypy"),
        ("pyproject.toml", "[tool.mypy]\nmodules = ['app']\n", "mypy"),
    ],
)
def test_mypy_is_told_what_to_check_where_nothing_else_does(
    tmp_path: Path, file: str, text: str, command: str
) -> None:
    write(tmp_path, file, text)
    assert commands(tmp_path) == {"mypy": command}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "[tool.pytest\n"),
        ("pyproject.toml", "tool = 1\n"),
        ("pyproject.toml", b"# \xff\n[tool.ruff]\n"),
        ("setup.cfg", "pytest\n"),
        ("setup.cfg", b"# \xff\n[mypy]\n"),
        ("tox.ini", "[pytest\n"),
    ],
)
def test_what_cannot_be_read_gives_none(tmp_path: Path, file: str, text: str | bytes) -> None:
    write(tmp_path, file, text)
    assert detect_checks(tmp_path) == []


def test_a_setting_that_is_no_table_is_one_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", "[tool]\nmypy = 1\n")
    assert commands(tmp_path) == {"mypy": "mypy ."}


@pytest.mark.parametrize(
    ("files", "name", "command", "because"),
    [
        (
            {"package.json": '{"scripts": {"test": "jest --ci"}, "dependencies": {"jest": "1"}}'},
            *("jest", "npm test", "package.json:1 script test"),
        ),
        (
            {"package.json": '{"scripts": {"test": "vitest"}}', "pnpm-lock.yaml": ""},
            *("vitest", "pnpm test", "package.json:1 script test"),
        ),
        (
            {"package.json": '{"scripts": {"test": "ava"}}', "yarn.lock": ""},
            *("yarn-test", "yarn test", "package.json:1 script test"),
        ),
        (
            {
                "package.json": '{"scripts": {"test": '
                '"echo \\"Error: no test specified\\" && exit 1"}}'
            },
            *(None, None, None),
        ),
        (
            {"package.json": '{"devDependencies": {"vitest": "1"}}'},
            *("vitest", "npx --no-install vitest run", 'package.json:1 "vitest"'),
        ),
        (
            {"package.json": '{"jest": {}}'},
            *("jest", "npx --no-install jest", 'package.json:1 "jest"'),
        ),
        (
            {"package.json": "{}", ".mocharc.yml": ""},
            *("mocha", "npx --no-install mocha", ".mocharc.yml"),
        ),
        ({"package.json": "{}"}, None, None, None),
        ({"go.mod": "", "a/b_test.go": ""}, "go_test", "go test ./...", "go.mod"),
        ({"go.mod": "", "a/b.go": ""}, None, None, None),
        ({"Cargo.toml": ""}, "cargo_test", "cargo test", "Cargo.toml"),
        ({"pom.xml": ""}, "junit", "mvn -B test", "pom.xml"),
        ({"pom.xml": "", "mvnw": ""}, "junit", "./mvnw -B test", "pom.xml"),
        ({"build.gradle": ""}, "junit", "gradle test", "build.gradle"),
        ({"build.gradle.kts": "", "gradlew": ""}, "junit", "./gradlew test", "build.gradle.kts"),
    ],
)
@pytest.mark.usefixtures("managers")
def test_the_tests_of_other_languages_are_found(
    tmp_path: Path,
    files: dict[str, str],
    name: str | None,
    command: str | None,
    because: str | None,
) -> None:
    for file, text in files.items():
        write(tmp_path, file, text)
    assert found(tmp_path) == ({name: because} if name else {})
    assert commands(tmp_path) == ({name: command} if name else {})


class TestPython:
    @pytest.fixture(autouse=True)
    def _test(self, tmp_path: Path) -> None:
        write(tmp_path, "project/test_app.py")

    def command(self, tmp_path: Path) -> str:
        return commands(tmp_path / "project")["pytest"]

    def test_it_is_python(self, tmp_path: Path, bin_directory: Path) -> None:
        (bin_directory / "python").touch(mode=0o755)
        (bin_directory / "python3").touch(mode=0o755)
        assert self.command(tmp_path) == "python -m pytest -q"

    def test_where_there_is_only_python3_it_is_that(
        self, tmp_path: Path, bin_directory: Path
    ) -> None:
        (bin_directory / "python3").touch(mode=0o755)
        assert self.command(tmp_path) == "python3 -m pytest -q"

    @pytest.mark.parametrize("name", [".venv", "venv"])
    def test_a_projects_own_counts(self, tmp_path: Path, bin_directory: Path, name: str) -> None:
        (bin_directory / "python3").touch(mode=0o755)
        own = tmp_path / "project" / name / "bin" / "python"
        own.parent.mkdir(parents=True)
        own.touch(mode=0o755)
        assert self.command(tmp_path) == "python -m pytest -q"

    @pytest.mark.usefixtures("bin_directory")
    def test_without_any_the_check_will_say_so(self, tmp_path: Path) -> None:
        assert self.command(tmp_path) == "python -m pytest -q"
