"""Commands see an allow-list of the environment, and import the candidate, not the user's tree."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtrue import process
from runtrue.checks import CommandCheck
from runtrue.loop import Workplace
from runtrue.sandbox import GitSandbox, allowed, search_path
from runtrue.sandbox.environment import find_behind_shims, imports
from tests.sandbox.support import make_repository, make_sandbox, write_files


def run(workplace: Workplace, *argv: str) -> str:
    ended = asyncio.run(
        process.run(argv, cwd=workplace.directory, env=workplace.environment, timeout=60)
    )
    assert ended.exit_code == 0, ended.stderr.text
    return ended.stdout.text


class TestAllowed:
    def test_secrets_stay_behind(self) -> None:
        environment = {
            "PATH": "/bin",
            "HOME": "/home/me",
            "LC_ALL": "C",
            "LC_TIME": "C",
            "SECRET_TOKEN": "x",
            "OPENAI_API_KEY": "x",
            "AWS_SECRET_ACCESS_KEY": "x",
            "GIT_DIR": "x",
            "LD_PRELOAD": "x",
            "PYTHONPATH": "x",
            "PYTEST_ADDOPTS": "x",
            "XLC_ALL": "x",
        }
        assert set(allowed(environment)) == {"PATH", "HOME", "LC_ALL", "LC_TIME"}

    def test_the_user_may_let_more_through(self) -> None:
        environment = {"DATABASE_URL": "x", "OTHER": "y"}
        assert allowed(environment, ["DATABASE_URL", "NOT_SET"]) == {"DATABASE_URL": "x"}

    def test_a_command_in_a_sandbox_sees_no_more(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET_TOKEN", "planted")
        monkeypatch.setenv("DATABASE_URL", "let through")
        monkeypatch.setenv("LC_TIME", "C")
        project = make_repository(tmp_path / "project", {"app.py": ""})
        sandbox = make_sandbox(project, pass_environment=("DATABASE_URL",))
        sandbox.open()
        seen = run(sandbox.workplace(), "env")
        assert "planted" not in seen
        assert "DATABASE_URL=let through\n" in seen
        assert "LC_TIME=C\n" in seen


class TestSearchPath:
    def test_runtrues_own_programs_come_last(self, tmp_path: Path) -> None:
        own = str(Path(sys.executable).parent)
        assert search_path(tmp_path, "/bin").split(os.pathsep) == ["/bin", own]

    def test_those_of_the_repository_come_before_others(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        for place in (".venv", "packages/a/.venv"):
            (tmp_path / place / "bin").mkdir(parents=True)
        found = search_path(tmp_path / "packages" / "a", "/bin").split(os.pathsep)
        assert found[:3] == [
            f"{tmp_path}/packages/a/.venv/bin",
            f"{tmp_path}/.venv/bin",
            "/bin",
        ]

    @pytest.mark.parametrize("name", [".venv", "venv"])
    def test_the_projects_own_come_first(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name / "bin").mkdir(parents=True)
        assert search_path(tmp_path, "/bin").split(os.pathsep)[0] == str(tmp_path / name / "bin")


class TestBehindShims:
    """pyenv's shims take longer than Python; they are asked once for the way."""

    @pytest.fixture
    def shims(self, tmp_path: Path) -> Path:
        """A directory of shims with one for Python, which notes that it was run."""
        shims = tmp_path / "pyenv" / "shims"
        shims.mkdir(parents=True)
        asked = shims / "asked"
        shim = f'#!/bin/sh\necho pyenv >>"{asked}"\nexec "{sys.executable}" "$@"\n'
        (shims / "python").write_text(shim)
        (shims / "python").chmod(0o755)
        return shims

    def test_commands_find_what_they_lead_to(
        self, tmp_path: Path, shims: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", f"{shims}{os.pathsep}{os.defpath}")
        sandbox = make_sandbox(make_repository(tmp_path / "project", {"app.py": ""}))
        sandbox.open()
        assert run(sandbox.workplace(), "sh", "-c", "command -v python").strip() == sys.executable
        assert (shims / "asked").read_text() == "pyenv\n"

    @pytest.mark.parametrize("where", [".", "project"])
    def test_not_where_a_directory_chooses_a_version_of_its_own(
        self, tmp_path: Path, shims: Path, where: str
    ) -> None:
        (tmp_path / "project").mkdir()
        (tmp_path / where / ".python-version").write_text("3.11\n")
        assert find_behind_shims(tmp_path / "project", {"PATH": str(shims)}) is None

    @pytest.mark.parametrize("shim", [None, "#!/bin/sh\nexit 1 # pyenv\n", "#!/bin/sh\n: other\n"])
    def test_not_where_there_is_none_or_it_leads_nowhere(
        self, tmp_path: Path, shims: Path, shim: str | None
    ) -> None:
        (shims / "python").unlink() if shim is None else (shims / "python").write_text(shim)
        assert find_behind_shims(tmp_path, {"PATH": str(shims)}) is None


def make_venv(directory: Path) -> Path:
    """A virtual environment with nothing in it; returns its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    (site_packages,) = directory.glob("lib/python*/site-packages")
    return site_packages


FINDER = """
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location

MAPPING = {mapping!r}

class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            return spec_from_file_location(fullname, MAPPING[fullname] + "/__init__.py")

def install():
    sys.meta_path.append(_EditableFinder)
"""


def install_editable(site_packages: Path, style: str, directory: Path) -> None:
    """What `pip install -e` leaves, in the two styles there are."""
    if style == "path":
        (site_packages / "lib.pth").write_text(f"{directory}\n")
    else:
        name = "__editable___lib_1_0_finder"
        mapping = {"lib": str(directory / "lib")}
        (site_packages / f"{name}.py").write_text(FINDER.format(mapping=mapping))
        (site_packages / "lib.pth").write_text(f"import {name}; {name}.install()\n")


def imported(sandbox: GitSandbox) -> str:
    return run(sandbox.workplace(), "python", "-c", "import lib; print(lib.__file__)").strip()


class TestPythonPath:
    def test_an_editable_install_of_a_package_leads_into_the_sandbox(self, tmp_path: Path) -> None:
        project = make_repository(
            tmp_path / "project", {"packages/a/lib/__init__.py": "", ".gitignore": ".venv\n"}
        )
        package = project / "packages" / "a"
        install_editable(make_venv(package / ".venv"), "path", package)
        sandbox = make_sandbox(project)
        sandbox.open()
        inside = sandbox.directory / "packages" / "a"
        command = (str(inside / ".venv/bin/python"), "-c", "import lib; print(lib.__file__)")
        assert run(sandbox.workplace(), *command).strip() == str(inside / "lib" / "__init__.py")

    @pytest.mark.parametrize("style", ["path", "finder"])
    @pytest.mark.parametrize("layout", ["src", "."])
    @pytest.mark.parametrize("place", ["inside", "outside"])
    def test_an_editable_install_leads_into_the_sandbox(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str, layout: str, place: str
    ) -> None:
        project = make_repository(tmp_path / "project", {f"{layout}/lib/__init__.py": ""})
        venv = project / ".venv" if place == "inside" else tmp_path / "env"
        site_packages = make_venv(venv)
        install_editable(site_packages, style, project / layout)
        monkeypatch.setenv("PATH", f"{venv}/bin{os.pathsep}{os.environ['PATH']}")
        sandbox = make_sandbox(project)
        sandbox.open()
        (sandbox.directory / "elsewhere").mkdir()
        assert imported(sandbox) == str(sandbox.directory / layout / "lib" / "__init__.py")

    def test_a_real_editable_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        project = make_repository(
            tmp_path / "project",
            {
                "src/lib/__init__.py": "",
                "pyproject.toml": """
                    [build-system]
                    requires = ["hatchling"]
                    build-backend = "hatchling.build"
                    [project]
                    name = "lib"
                    version = "1"
                    """,
            },
        )
        target = make_venv(tmp_path / "env")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation"]
        options = ["--no-deps", "--no-index", "--disable-pip-version-check", "--target"]
        if subprocess.run([*pip[:3], "--version"], check=False, capture_output=True).returncode:
            pytest.skip("there is no pip beside this Python")
        subprocess.run([*pip, *options, str(target), "--editable", str(project)], check=True)
        monkeypatch.setenv("PATH", f"{tmp_path}/env/bin{os.pathsep}{os.environ['PATH']}")
        sandbox = make_sandbox(project)
        sandbox.open()
        assert imported(sandbox) == str(sandbox.directory / "src" / "lib" / "__init__.py")

    def test_pytest_and_mypy_judge_the_candidate(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = make_repository(
            tmp_path / "project",
            {
                "src/lib/__init__.py": "def f() -> int:\n    return 1\n",
                "src/lib/py.typed": "",
                "tests/test_lib.py": (
                    "import lib\ndef test_f() -> None:\n    x: str = lib.f()\n    assert x == ''\n"
                ),
            },
        )
        site_packages = make_venv(tmp_path / "env")
        install_editable(site_packages, "path", project / "src")
        # The tools themselves come from here.
        (here,) = (Path(p) for p in sys.path if p.endswith("site-packages"))
        (site_packages / "tools.pth").write_text(f"{here}\n")
        monkeypatch.setenv("PATH", f"{tmp_path}/env/bin{os.pathsep}{os.environ['PATH']}")
        sandbox = make_sandbox(project)
        sandbox.open()
        write_files(sandbox.directory, {"src/lib/__init__.py": "def f() -> str:\n    return ''\n"})
        for command in ("python -m pytest -q tests", "python -m mypy --strict tests"):
            verdict = asyncio.run(
                CommandCheck(name="check", command=command).run(sandbox.workplace())
            )
            assert verdict.passed, verdict

    def test_a_python_path_of_the_users_leads_into_the_sandbox(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = make_repository(tmp_path / "project", {"src/lib/__init__.py": ""})
        outside = tmp_path / "outside"
        outside.mkdir()
        places = [f"{project}/src/", str(outside) + "/", ""]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
        sandbox = make_sandbox(project)
        sandbox.open()
        path = sandbox.workplace().environment["PYTHONPATH"].split(os.pathsep)
        assert path[:2] == [str(sandbox.directory / "src"), str(outside)]
        assert imported(sandbox) == str(sandbox.directory / "src" / "lib" / "__init__.py")

    def test_nothing_to_lead_anywhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
        project = make_repository(tmp_path / "project", {"app.py": ""})
        sandbox = make_sandbox(project)
        sandbox.open()
        assert "PYTHONPATH" not in sandbox.workplace().environment

    def test_without_any_python(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
        assert imports(tmp_path, tmp_path / "sandbox", {"PATH": str(tmp_path)}).path is None
