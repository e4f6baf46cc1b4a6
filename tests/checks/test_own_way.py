"""A project's tests are run as the project itself runs them, found without running anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runtrue.checks import Detected, detect_checks

PLAIN = "python -m pytest -q"
NPX = "npx --no-install"
TEST = "def test_it(): ...\n"


@dataclass(frozen=True)
class Case:
    """The files of a project, what is installed for it, and the one check that it has."""

    files: dict[str, str]
    command: str = PLAIN
    env: dict[str, str] = field(default_factory=dict)
    directory: str = "."
    because: str = ""
    name: str = "pytest"
    modules: tuple[str, ...] = ("pytest",)


def make(project: Path, files: dict[str, str], modules: tuple[str, ...] = ("pytest",)) -> None:
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    make_environment(project / ".venv", modules)


def make_environment(place: Path, modules: tuple[str, ...]) -> None:
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").touch(mode=0o755)
    (place / "pyvenv.cfg").touch()
    for module in modules:
        (place / "lib" / "python3.12" / "site-packages" / module).mkdir(parents=True)


def check_of(project: Path, case: Case) -> Detected:
    make(project, case.files, case.modules)
    (detected,) = detect_checks(project)
    return detected


def holds(case: Case, detected: Detected) -> None:
    check = detected.check
    found = (check.name, check.command, dict(check.env), check.directory)
    assert found == (case.name, case.command, case.env, case.directory)
    if case.because:
        assert detected.because == case.because


def tox(commands: str, more: str = "", test: str = "tests/test_a.py") -> dict[str, str]:
    return {"tox.ini": f"[testenv]\ncommands =\n    {commands}\n{more}", test: TEST}


TOX = {
    "flags are kept, what only shows is not": Case(
        tox('pytest -v -ra --tb=short --doctest-modules -m "not slow" --durations 5 tests'),
        "python -m pytest -q --doctest-modules -m 'not slow' tests",
        because="tox.ini:3 [testenv]",
    ),
    "arguments of a person's are left out": Case(tox("pytest {posargs}")),
    "the default of such arguments counts": Case(
        tox("pytest {posargs:{toxinidir}/tests -k fast}"), f"{PLAIN} ./tests -k fast"
    ),
    "a folder that needs what is not installed is left out": Case(
        tox("pytest tests docs")
        | {"docs/conftest.py": "import os\nfrom sybil.parsers import skip\n"},
        f"{PLAIN} tests",
        because="tox.ini:3 [testenv]; without docs: its conftest.py needs sybil",
    ),
    "it stays where that is installed, is the project's own, or is not needed": Case(
        tox("pytest tests docs more")
        | {"docs/conftest.py": "import helper\nimport sybil\n", "src/helper.py": ""}
        | {"more/conftest.py": "try:\n    import nowhere\nexcept ImportError:\n    pass\n"},
        f"{PLAIN} tests docs more",
        modules=("pytest", "sybil"),
    ),
    "it stays where nothing else would": Case(
        tox("pytest tests") | {"tests/conftest.py": "import sybil\n"}, f"{PLAIN} tests"
    ),
    "coverage is not measured": Case(
        tox("coverage run --source pkg -p -m pytest --strict-markers tests\n    coverage report"),
        f"{PLAIN} --strict-markers tests",
    ),
    "coverage by a plugin neither": Case(
        tox("pytest --cov=pkg --cov-report term-missing --cov-fail-under=90 tests"),
        f"{PLAIN} tests",
        modules=("pytest", "pytest_cov"),
    ),
    "variables are set, those for tools are not": Case(
        tox("pytest", "setenv =\n    SQLITE = 1\n    COVERAGE_FILE = x\n    PIP_PRE = 1\n"),
        env={"SQLITE": "1"},
    ),
    "it runs where the project runs it": Case(
        tox("pytest unit", "changedir = {toxinidir}/tests\n", "tests/unit/test_a.py"),
        f"{PLAIN} unit",
        directory="tests",
        name="pytest-tests",
    ),
    "lines for other environments do not count": Case(
        tox("lint: ruff check\n    py27: pytest old\n    !py27: pytest tests"), f"{PLAIN} tests"
    ),
    "sections are referred to": Case(
        tox("{[base]runner} tests", "[base]\nrunner = python -bb -m pytest -s\n"),
        "python -bb -m pytest -q -s tests",
    ),
    "a runner may be the project's own": Case(
        {**tox("nose2 -s src"), "nose2/main.py": ""}, "python -m nose2 -s src", name="nose2"
    ),
    "the environment of tests is one of several": Case(
        {
            "tox.ini": "[tox]\nenvlist = lint, unit\n[testenv:lint]\ncommands = ruff check\n"
            "[testenv:unit]\ncommands = pytest tests\n[testenv]\ndeps = pytest\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
        because="tox.ini:6 [testenv:unit]",
    ),
    "a Django app has settings": Case(
        tox("python -W error -m django test --settings=tests.settings"),
        "python -W error -m django test --settings=tests.settings",
        name="django",
        modules=("pytest", "django"),
    ),
    "what is not known makes the file useless": Case(
        tox("pytest {env:WHICH_TESTS}"), because="tests/test_a.py"
    ),
    "as does a path that is not there": Case(
        tox("pytest {envsitepackagesdir}/pkg"), because="tests/test_a.py"
    ),
    "as does a runner that is not installed": Case(tox("nose2 -v"), because="tests/test_a.py"),
    "what is only for a report may be unknown": Case(
        tox("pytest --basetemp={envtmpdir} --junitxml={toxworkdir}/x.xml tests"), f"{PLAIN} tests"
    ),
    "tox.toml": Case(
        {
            "tox.toml": "[env_run_base]\nset_env = { A = '1' }\ncommands = [['pytest', '-x', "
            "{ replace = 'posargs', default = ['tests'], extend = true }]]\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
        {"A": "1"},
        because="tox.toml:3 [env_run_base]",
    ),
    "in pyproject.toml": Case(
        {
            "pyproject.toml": '[tool.tox]\nlegacy_tox_ini = """\n[testenv]\n'
            'commands = pytest tests\n"""\n',
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
    ),
}
NOX_TOP = "import nox\n\nARGS = ['-m', 'not slow']\n\n@nox.session(python=['3.11'])\n"
NOX = {
    "a session": Case(
        {
            "noxfile.py": NOX_TOP
            + "def tests(session):\n    session.install('.')\n"
            + "    session.run('pytest', *ARGS, *session.posargs, env={'SQLITE': '1'})\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} -m 'not slow'",
        {"SQLITE": "1"},
        because="noxfile.py:8 session tests",
    ),
    "its directory, and the default for arguments": Case(
        {
            "noxfile.py": NOX_TOP
            + "def lint(session):\n    session.run('ruff')\n\n@nox.session\ndef unit(session):\n"
            + "    args = session.posargs or ['tests']\n    session.chdir('part')\n"
            + "    session.run('coverage', 'run', '-m', 'pytest', *args)\n",
            "part/tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
        directory="part",
        name="pytest-part",
    ),
    "variables with a name, and what is for Windows alone": Case(
        {
            "noxfile.py": NOX_TOP
            + "def tests(session):\n    env = {'A': '1', 'COVERAGE_FILE': session.python}\n"
            + "    slow = [] if sys.platform.startswith('win32') else ['-s']\n"
            + "    session.run('pytest', *slow, 'tests', env=env)\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} -s tests",
        {"A": "1"},
    ),
    "what is put together while it runs is not known": Case(
        {
            "noxfile.py": NOX_TOP
            + "def tests(session):\n    args = ['tests']\n    args.append(__file__)\n"
            + "    session.run('pytest', *args)\n",
            "tests/test_a.py": TEST,
        },
        because="tests/test_a.py",
    ),
}
SCRIPTS = {
    "hatch": Case(
        {
            "pyproject.toml": "[tool.hatch.envs.default.env-vars]\nA = '1'\n"
            "[tool.hatch.envs.default.scripts]\ncov = 'coverage run -m pytest'\n"
            "test = 'pytest {args:tests}'\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
        {"A": "1"},
        because="pyproject.toml:5 [tool.hatch.envs.default.scripts] test",
    ),
    "pdm": Case(
        {
            "pyproject.toml": "[tool.pdm.scripts]\n_.env = { B = '2' }\n"
            "test = { cmd = 'pytest -n auto tests', env = { A = '1' } }\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
        {"A": "1", "B": "2"},
        because="pyproject.toml:3 [tool.pdm.scripts] test; without -n: xdist is not installed",
    ),
    "poe": Case(
        {
            "pyproject.toml": "[tool.poe.tasks]\nunit = 'pytest tests'\n"
            "test = ['lint', 'unit']\nlint = 'ruff check'\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
    ),
    "rye": Case(
        {
            "pyproject.toml": "[tool.rye.scripts]\ntest = ['pytest', '-n', '4', 'tests']\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} -n 4 tests",
        modules=("pytest", "xdist"),
    ),
}
MAKE = {
    "variables, wrappers and what runs before": Case(
        {
            "Makefile": "PYTHON ?= python3\nFLAGS = --doctest-modules\nexport SQLITE = 1\n"
            "test: lint unit\nlint:\n\truff check\n"
            "unit: install\n\t@A=2 $(PYTHON) -m pytest $(FLAGS) ${ARGS} \\\n\t  tests\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} --doctest-modules tests",
        {"SQLITE": "1", "A": "2"},
        because="Makefile:8 target unit",
    ),
    "another directory": Case(
        {
            "Makefile": "check:\n\tcd src && uv run --frozen pytest tests\n",
            "src/tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
        directory="src",
        name="pytest-src",
    ),
    "uv runs modules, too": Case(
        {
            "Makefile": "test:\n\tuv run --with x --frozen -m pytest tests\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} tests",
    ),
    "what only a shell knows": Case(
        {"Makefile": "test:\n\tpytest $(shell ls tests)\n", "tests/test_a.py": TEST},
        because="tests/test_a.py",
    ),
    "just": Case(
        {
            "justfile": "export A := '1'\n\n# all of them\ntest *ARGS: build\n"
            "    uv run pytest --strict-config {{ARGS}}\n\nbuild:\n    python -m build\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} --strict-config",
        {"A": "1"},
        because="justfile:5 recipe test",
    ),
}
GITHUB = """\
on: push
env:
  PIP_NO_INPUT: 1
  DJANGO_SETTINGS_MODULE: site.settings
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: python -m build
  unit:
    strategy:
      matrix: {python: ["3.11", "3.12"], marks: [fast, slow]}
    defaults: {run: {working-directory: part}}
    steps:
      - uses: actions/checkout@v4
      - run: |
          pip install -e .[test]
          python -m pytest -m ${{ matrix.marks }} tests
        env:
          CODE: ${{ secrets.CODE }}
          DEBUG: true
      - run: codecov
"""
CI = {
    "a workflow": Case(
        {".github/workflows/ci.yml": GITHUB, "part/tests/test_a.py": TEST},
        f"{PLAIN} -m fast tests",
        {"DJANGO_SETTINGS_MODULE": "site.settings", "DEBUG": "true"},
        directory="part",
        name="pytest-part",
        because=".github/workflows/ci.yml:16 job unit",
    ),
    "a job that needs a service is none": Case(
        {
            ".github/workflows/ci.yml": "jobs:\n  test:\n    services: {db: {image: postgres}}\n"
            "    steps:\n      - run: pytest --integration\n",
            "tests/test_a.py": TEST,
        },
        because="tests/test_a.py",
    ),
    "GitLab": Case(
        {
            ".gitlab-ci.yml": "variables:\n  SQLITE: '1'\ntest:\n  script:\n"
            "    - pip install .\n    - pytest -p no:cacheprovider tests\n",
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} -p no:cacheprovider tests",
        {"SQLITE": "1"},
        because=".gitlab-ci.yml:4 job test",
    ),
}
ORDER = {
    "tox before the Makefile": Case(
        {**tox("pytest tests"), "Makefile": "test:\n\tpytest --strict\n"}, f"{PLAIN} tests"
    ),
    "a file that cannot be used gives way to the next": Case(
        {**tox("pytest {env:X}"), "Makefile": "test:\n\tpytest tests\n"},
        f"{PLAIN} tests",
        because="Makefile:2 target test",
    ),
    "a file that runs no tests does, too": Case(
        {**tox("sphinx-build docs"), "pytest.ini": "[pytest]\n"}, because="pytest.ini"
    ),
}
LOOKS = {
    "options of a plugin that is not installed are left out of addopts": Case(
        {"pytest.ini": "[pytest]\naddopts = -ra --cov=pkg -n 2\n", "test_a.py": TEST},
        f"{PLAIN} -o addopts=-ra",
        because="pytest.ini; without --cov=pkg, -n of addopts: not installed",
    ),
    "they stay where it is": Case(
        {"pytest.ini": "[pytest]\naddopts = -ra --cov=pkg -n 2\n", "test_a.py": TEST},
        modules=("pytest", "pytest_cov", "xdist"),
    ),
    "an option of the project's own stays": Case(
        {
            **tox("pytest --run-slow --odd=1 tests"),
            "tests/conftest.py": "def pytest_addoption(parser):\n"
            "    parser.addoption('--run-slow')\n",
        },
        f"{PLAIN} --run-slow tests",
        because="tox.ini:3 [testenv]; without --odd=1: neither pytest nor the project has it",
    ),
    "as does a plugin of its own": Case(
        {
            "pytest.ini": "[pytest]\naddopts = -p pkg.plug '-p pkg.plug' -p gone\n",
            "src/pkg/plug.py": "",
        },
        f"""{PLAIN} -o 'addopts=-p pkg.plug '"'"'-p pkg.plug'"'"''""",
    ),
    "CircleCI": Case(
        {
            ".circleci/config.yml": (
                "version: 2.1\njobs:\n  lint:\n    steps: [checkout, {run: ruff check}]\n"
                "  tests:\n    docker: [{image: python}]\n    environment: {SQLITE: 1}\n"
                "    steps:\n      - checkout\n      - run: pip install -e .\n"
                "      - run:\n          name: tests\n          command: pytest -m 'not slow'\n"
            ),
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} -m 'not slow'",
        env={"SQLITE": "1"},
        because=".circleci/config.yml:11 job tests",
    ),
    "Travis": Case(
        {
            ".travis.yml": (
                "language: python\nenv:\n  global:\n    - SQLITE=1\n"
                "install: pip install .\nscript:\n  - pytest --doctest-modules tests\n"
            ),
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} --doctest-modules tests",
        env={"SQLITE": "1"},
        because=".travis.yml:6 script",
    ),
    "Azure": Case(
        {
            "azure-pipelines.yml": (
                "variables: {where: tests}\njobs:\n- job: a\n  steps:\n"
                "  - script: pip install .\n  - bash: python -m pytest -k fast $(where)\n"
            ),
            "tests/test_a.py": TEST,
        },
        f"{PLAIN} -k fast tests",
        env={"WHERE": "tests"},
        because="azure-pipelines.yml",
    ),
    "a program at the top that runs all tests": Case(
        {"runtests.py": "", "tests/models.py": "", "shop/test_utils.py": "def make(): ...\n"},
        "python runtests.py",
        name="runtests",
        because="runtests.py",
    ),
    "tests that pytest finds come before such a program": Case(
        {"runtests.py": "", "tests/test_a.py": TEST}, because="tests/test_a.py"
    ),
    "unittest where pytest is not installed": Case(
        {"tests/test_a.py": "import unittest\n"},
        "python -m unittest discover -s tests",
        name="unittest",
        modules=(),
        because="tests/test_a.py imports unittest; pytest is not installed",
    ),
    "unittest in a package": Case(
        {"tests/__init__.py": "", "tests/a/test_a.py": "from unittest import TestCase\n"},
        "python -m unittest discover -s tests -t .",
        name="unittest",
        modules=(),
    ),
    "pytest where it is, as it reads cases": Case({"tests/test_a.py": "import unittest\n"}),
    "unittest that the project names is run by pytest where it is": Case(
        {**tox("python -m unittest discover -v -s tests -t ."), "tests/b/testing.py": TEST},
        f"{PLAIN} -o 'python_files=test*.py' tests",
        because="tox.ini:3 [testenv]; run by pytest, whose report names each test",
    ),
    "but for suites that are put together": Case(
        {**tox("python -m unittest"), "tests/test_a.py": "def load_tests(a, b, c): ...\n"},
        "python -m unittest",
        name="unittest",
    ),
    "files by name are pytest's, too": Case(
        tox("python -m unittest tests/test_*.py"), f"{PLAIN} tests/test_*.py"
    ),
    "and modules by name": Case(
        tox("coverage run -m unittest tests.test_a -v"),
        "python -m unittest tests.test_a",
        name="unittest",
    ),
    "tests within the package": Case(
        {"pyproject.toml": "", "src/pkg/tests/test_a.py": TEST}, because="src/pkg/tests/test_a.py"
    ),
    "a file of tests with a name that pytest leaves out": Case(
        {"app.py": "", "tests.py": TEST}, f"{PLAIN} tests.py", because="tests.py"
    ),
    "a Django project": Case(
        {
            "manage.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 's.set')\n"
            "from django.core import management\n",
            "app/tests.py": "from django.test import TestCase\n",
        },
        "python manage.py test",
        name="django",
        because="manage.py:2",
    ),
    "a Django project with pytest's plugin": Case(
        {
            "manage.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 's.set')\n"
            "from django.core import management\n",
            "app/tests.py": "from django.test import TestCase\n",
        },
        "python -m pytest -q -o 'python_files=test*.py *_test.py'",
        {"DJANGO_SETTINGS_MODULE": "s.set"},
        modules=("pytest", "pytest_django"),
        because="manage.py:2; pytest-django is installed",
    ),
}
ALL = {**TOX, **NOX, **SCRIPTS, **MAKE, **CI, **ORDER, **LOOKS}


@pytest.mark.parametrize("name", ALL)
def test_the_own_way_of_a_project_is_found(tmp_path: Path, name: str) -> None:
    holds(ALL[name], check_of(tmp_path, ALL[name]))


def test_what_needs_more_to_be_installed_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, tox("pytest tests\n    pip install -e .[more]\n    pytest -m more"))
    assert [one.check.command for one in detect_checks(tmp_path)] == [f"{PLAIN} tests"]


def test_several_commands_of_one_place_are_several_checks(tmp_path: Path) -> None:
    make(tmp_path, tox("pytest tests\n    pytest --doctest-modules tests/test_a.py"))
    found = {one.check.name: one.check.command for one in detect_checks(tmp_path)}
    assert found == {
        "pytest": f"{PLAIN} tests",
        "pytest-2": f"{PLAIN} --doctest-modules tests/test_a.py",
    }


@pytest.mark.parametrize(
    "files",
    [
        {"tox.ini": "[testenv]\ncommands = {{{\n"},
        {"tox.toml": "env_run_base = 1\nenv = ['x']\n"},
        {"noxfile.py": "import nox\n@nox.session\ndef tests(): ...\n@nox.session\ndef x(s: 1\n"},
        {"Makefile": "test: test\n\t$(MAKE) test\nA = $(A)\n"},
        {"justfile": "test: test\n  {{ x }} {{\n"},
        {"pyproject.toml": "[tool.poe.tasks]\ntest = 'tests'\ntests = [1, { cwd = 2 }, 'test']\n"},
        {".github/workflows/a.yml": "jobs: {test: {steps: [1, {run: 2}, {run: pytest -k $}]}}\n"},
        {".gitlab-ci.yml": "test: {script: [1, {}]}\nx: [\n"},
    ],
)
def test_files_that_make_no_sense_leave_the_plain_command(
    tmp_path: Path, files: dict[str, str]
) -> None:
    make(tmp_path, {**files, "tests/test_a.py": TEST})
    (detected,) = detect_checks(tmp_path)
    assert (detected.check.command, detected.because) == (PLAIN, "tests/test_a.py")


class TestPackages:
    """A repository of several packages has the checks of each, in its own directory."""

    def found(self, project: Path) -> dict[str, tuple[str, str, str]]:
        return {
            one.check.name: (one.check.command, one.check.directory, one.because)
            for one in detect_checks(project)
        }

    def test_each_package_with_a_manifest_has_its_own(self, tmp_path: Path) -> None:
        make(
            tmp_path,
            {
                "packages/a/pyproject.toml": "[tool.ruff]\n",
                "packages/a/tests/test_a.py": TEST,
                "src/pkg-b/pyproject.toml": "",
                "src/pkg-b/tox.ini": "[testenv]\ncommands = pytest -m fast\n",
                "src/pkg-b/test_b.py": TEST,
                "packages/none/pyproject.toml": "",
                "examples/c/pyproject.toml": "",
                "examples/c/test_c.py": TEST,
            },
        )
        assert self.found(tmp_path) == {
            "pytest-packages-a": (PLAIN, "packages/a", "packages/a/tests/test_a.py"),
            "pytest-src-pkg-b": (
                f"{PLAIN} -m fast",
                "src/pkg-b",
                "src/pkg-b/tox.ini:2 [testenv]",
            ),
            "ruff-packages-a": (
                "ruff check .",
                "packages/a",
                "packages/a/pyproject.toml:1 [tool.ruff]",
            ),
        }

    def test_the_roots_own_tests_are_run_without_those_of_packages(self, tmp_path: Path) -> None:
        make(
            tmp_path,
            {
                "pyproject.toml": "",
                "tests/test_all.py": TEST,
                "packages/a/pyproject.toml": "",
                "packages/a/tests/test_a.py": TEST,
            },
        )
        assert self.found(tmp_path) == {
            "pytest": (f"{PLAIN} tests", ".", "tests/test_all.py"),
            "pytest-packages-a": (PLAIN, "packages/a", "packages/a/tests/test_a.py"),
        }

    def test_a_root_that_says_how_its_tests_are_run_runs_all(self, tmp_path: Path) -> None:
        make(
            tmp_path,
            {
                "pyproject.toml": "[tool.pytest.ini_options]\n",
                "packages/a/pyproject.toml": "",
                "packages/a/tests/test_a.py": TEST,
            },
        )
        assert self.found(tmp_path) == {"pytest": (PLAIN, ".", "pyproject.toml:1 [tool.pytest]")}

    def test_directories_with_tests_are_packages_where_no_file_says_so(
        self, tmp_path: Path
    ) -> None:
        make(tmp_path, {"packages/a/tests/test_a.py": TEST, "packages/b/test_b.py": TEST})
        assert self.found(tmp_path) == {
            "pytest-packages-b": (PLAIN, "packages/b", "packages/b/test_b.py"),
            "pytest-packages-a": (PLAIN, "packages/a", "packages/a/tests/test_a.py"),
        }

    def test_a_package_with_an_environment_uses_it(self, tmp_path: Path) -> None:
        make(tmp_path, {"a/pyproject.toml": "", "a/test_a.py": "import unittest\n"})
        make_environment(tmp_path / "a" / ".venv", ())
        command = ".venv/bin/python -m unittest discover"
        because = "a/test_a.py imports unittest; pytest is not installed"
        assert self.found(tmp_path) == {"unittest-a": (command, "a", because)}

    def test_names_that_would_be_one_are_numbered(self, tmp_path: Path) -> None:
        make(
            tmp_path,
            {
                "a-b/setup.py": "",
                "a-b/test_x.py": TEST,
                "a/b/setup.py": "",
                "a/b/test_x.py": TEST,
            },
        )
        assert sorted(self.found(tmp_path)) == ["pytest-a-b", "pytest-a-b-2"]

    @pytest.mark.parametrize(
        "root",
        [
            {"package.json": '{"workspaces": ["packages/*", "!packages/no"]}'},
            {"package.json": '{"workspaces": {"packages": ["packages/a", "packages/b"]}}'},
            {
                "package.json": '{"scripts": {"test": "npm test --workspaces"}}',
                "pnpm-workspace.yaml": "packages:\n  - packages/*\n  - '!**/no'\n",
            },
            {
                "package.json": '{"scripts": {"test": "lerna run test"}}',
                "lerna.json": '{"packages": ["packages/a", "packages/b"]}',
            },
        ],
    )
    def test_workspaces_name_packages(self, tmp_path: Path, root: dict[str, str]) -> None:
        packages = {
            "packages/a/package.json": '{"scripts": {"test": "jest"}}',
            "packages/b/package.json": '{"devDependencies": {"mocha": "1"}}',
            "packages/no/package.json": '{"scripts": {"test": "jest"}}',
        }
        make(tmp_path, {**root, **packages})
        assert self.found(tmp_path) == {
            "jest-packages-a": ("npm test", "packages/a", "packages/a/package.json:1 script test"),
            "mocha-packages-b": (
                "npx --no-install mocha",
                "packages/b",
                'packages/b/package.json:1 "mocha"',
            ),
        }

    def test_a_workspace_with_a_runner_for_all_runs_that(self, tmp_path: Path) -> None:
        make(
            tmp_path,
            {
                "package.json": '{"scripts": {"test": "vitest run"}, "workspaces": ["packages/*"]}',
                "packages/a/package.json": '{"scripts": {"test": "vitest run"}}',
            },
        )
        assert self.found(tmp_path) == {"vitest": ("npm test", ".", "package.json:1 script test")}

    def test_a_package_of_another_language_counts_once_it_is_installed(
        self, tmp_path: Path
    ) -> None:
        web = '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}'
        make(tmp_path, {"pytest.ini": "[pytest]\n", "web/package.json": web})
        assert list(self.found(tmp_path)) == ["pytest"]
        (tmp_path / "web" / "node_modules").mkdir()
        assert list(self.found(tmp_path)) == ["pytest", "jest-web"]

    def test_modules_of_go_and_crates_are_packages(self, tmp_path: Path) -> None:
        make(tmp_path, {"a/go.mod": "", "a/a_test.go": "", "b/c/Cargo.toml": "[workspace]\n"})
        assert self.found(tmp_path)["go_test-a"] == ("go test ./...", "a", "a/go.mod")


class TestJavaScript:
    def found(self, tmp_path: Path, package: str, files: tuple[str, ...] = ()) -> Detected:
        (tmp_path / "package.json").write_text(package)
        for file in files:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text("import test from 'node:test'\n")
        (detected,) = detect_checks(tmp_path)
        return detected

    @pytest.mark.parametrize(
        ("scripts", "command"),
        [
            ('"test": "xo && ava"', "npx --no-install ava"),
            ('"test": "xo && c8 node --test test"', "node --test test"),
            ('"test": "c8 ava --serial && tsd && c8 report"', "npx --no-install ava --serial"),
            ('"test": "npm run lint && npm run t", "lint": "eslint .", "t": "tap"', "npm run t"),
            ('"test": "standard && A=1 tape test/*.js"', "npx --no-install tape test/*.js"),
            ('"test": "npm run lint && tape a.js | tap-dot", "lint": "eslint"', f"{NPX} tape a.js"),
            (
                '"test": "c8 --include a.js --100 npm run unit && tstyche", "unit": "tape"',
                "npm run unit",
            ),
            ('"test": "c8 --include a.js npx mocha --exit && tsd"', f"{NPX} mocha --exit"),
            ('"test": "ava && tsc -p test"', f"{NPX} ava"),
            ('"test": "npm run types && ava", "types": "tsc && tsd"', f"{NPX} ava"),
            # A build may be what the tests run.
            ('"test": "tsc && ava"', "npm test"),
            ('"test": "npm run build && ava", "build": "tsc"', "npm test"),
            ('"test": "mocha", "pretest": "eslint ."', "npm test --ignore-scripts"),
            ('"test": "mocha", "pretest": "tsc"', "npm test"),
            ('"test": "node --test"', "npm test"),
        ],
    )
    def test_of_a_script_only_the_tests_are_run(
        self, tmp_path: Path, scripts: str, command: str
    ) -> None:
        assert self.found(tmp_path, f'{{"scripts": {{{scripts}}}}}').check.command == command

    def test_several_runners_beside_something_else_are_a_check_each(self, tmp_path: Path) -> None:
        scripts = '"test": "npm run unit && jest a.test.js && tstyche", "unit": "c8 node --test"'
        (tmp_path / "package.json").write_text(f'{{"scripts": {{{scripts}}}}}')
        found = {d.check.name: d.check.command for d in detect_checks(tmp_path)}
        assert found == {"node-test": "npm run unit", "jest": f"{NPX} jest a.test.js"}

    def test_variables_of_a_part_are_kept(self, tmp_path: Path) -> None:
        package = '{"scripts": {"test": "xo && cross-env A=1 ava"}}'
        check = self.found(tmp_path, package).check
        assert (check.name, check.env) == ("ava", {"A": "1"})

    @pytest.mark.parametrize("script", ["nyc make test", "xo && make", "npm run t"])
    def test_what_a_script_leaves_to_make_is_found_there(self, tmp_path: Path, script: str) -> None:
        makefile = "test:\n\t@echo test\n\tA=1 ./node_modules/.bin/mocha \\\n\t  --exit\n"
        (tmp_path / "Makefile").write_text(makefile)
        package = f'{{"scripts": {{"test": "{script}", "t": "make test"}}}}'
        detected = self.found(tmp_path, package)
        check = detected.check
        command = "./node_modules/.bin/mocha --exit"
        assert (check.name, check.command, check.env) == ("mocha", command, {"A": "1"})
        assert "Makefile:3 target test" in detected.because

    @pytest.mark.parametrize("file", ["test/a.js", "a.test.mjs", "test.cjs", "lib/test-a.js"])
    def test_the_runner_of_node_needs_no_script(self, tmp_path: Path, file: str) -> None:
        detected = self.found(tmp_path, "{}", (file,))
        check = detected.check
        assert (check.name, check.command) == ("node-test", "node --test")
        assert detected.because == f"{file} imports node:test"

    @pytest.mark.parametrize("tool", ["ava", "tap"])
    def test_other_runners_need_none_either(self, tmp_path: Path, tool: str) -> None:
        detected = self.found(tmp_path, f'{{"devDependencies": {{"{tool}": "1"}}}}')
        assert detected.check.command == f"npx --no-install {tool}"
