"""What every test of the command line needs: the real program, run on real projects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.collector import Collector, running_collector
from tests.cli.warm import run_runtrue
from tests.project_python import project_path
from tests.trusting import trust_all


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def said(self) -> str:
        return self.out + self.err


class Machine:
    """A fresh home and the `runtrue` command, as a user has them.

    Without `search`, nothing is mended by trying edits: for tests of what others do. Its user wrote
    the projects of the tests, and says yes to all that they ask for before each command, as
    `runtrue trust --yes` does; without `trusting`, nobody does.
    """

    def __init__(self, root: Path, *, search: bool = True, trusting: bool = True) -> None:
        self.trusting = trusting
        self.home = root / "home"
        self.home.mkdir()
        keep = ("LANG", "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")
        self.env = {
            **{name: os.environ[name] for name in keep if name in os.environ},
            "HOME": str(self.home),
            # The servers of tests are on this machine.
            "RUNTRUE_ALLOW_LOOPBACK": "1",
            # What is held in the middle of a side effect does not finish by itself.
            "RUNTRUE_GRACE_SECONDS": "0.1",
            # What agents and checks of tests leave for the tests to look at is in here.
            "RUNTRUE_ISOLATION_WRITE": str(root),
            **({} if search else {"RUNTRUE_SEARCH_SECONDS": "0"}),
        }
        self.env["PATH"] = project_path()

    @property
    def journal(self) -> Path:
        return self.home / ".runtrue" / "journal.db"

    def argv(self, *args: str | Path) -> list[str]:
        return [sys.executable, "-m", "runtrue", *map(str, args)]

    def runtrue(
        self,
        *args: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        fork: bool = True,
    ) -> Done:
        environment = {**self.env, **(env or {})}
        if self.trusting:
            trust_all([cwd or self.home, *args], environment)
        if (own := self.home / ".runtrue").is_dir():
            own.chmod(0o700)  # as runtrue makes it; tests put files there by hand
        done = run_runtrue(
            [*map(str, args)],
            cwd=cwd or self.home,
            env=environment,
            stdin=stdin,
            fork=fork,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, search=False)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as collector:
        yield collector


@pytest.fixture
def searching(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    return directory


MakeProject = Callable[..., Path]


@pytest.fixture
def make_project(tmp_path: Path) -> MakeProject:
    """Makes a project of the given files, as a git repository with one commit unless told not."""
    return make_in(tmp_path)


def make_in(directory: Path) -> MakeProject:
    """Return what makes projects in a directory."""

    def make(files: Mapping[str, str], *, name: str = "project", git: bool = True) -> Path:
        project = directory / name
        write(project, files)
        if git:
            identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
            for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "begin"]):
                subprocess.run(["git", *args], cwd=project, check=True)
        return project

    return make


def write(directory: Path, files: Mapping[str, str]) -> None:
    for file, text in files.items():
        path = directory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))


def content(directory: Path) -> dict[str, bytes]:
    """Every file of a project and what it holds; git's own files aside."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(directory).parts
    }


#: Three lint errors that are to be fixed, and a test that passes.
LINT_ONLY = {
    "pyproject.toml": """
        [tool.ruff.lint]
        select = ["F"]
        [tool.pytest.ini_options]
        testpaths = ["tests"]
        [tool.runtrue.checks.pytest]
        command = "python -m pytest -q"
        [tool.runtrue.checks.ruff]
        command = "ruff check ."
        known = "fix"
    """,
    "shop.py": '''
        import os
        import sys


        def total(prices):
            """What an order costs."""
            label = f"total"
            return {label: sum(prices)}[label]
    ''',
    "tests/test_shop.py": """
        from shop import total


        def test_total():
            assert total([1, 2]) == 3
    """,
}

#: As LINT_ONLY, with a test that fails and that no deterministic tool can mend.
WITH_BUG = {
    **LINT_ONLY,
    "tax.py": """
        def with_tax(net):
            return net * 1.9
    """,
    "tests/test_tax.py": """
        from tax import with_tax


        def test_with_tax():
            assert with_tax(100) == 119


        def test_nothing_costs_nothing():
            assert with_tax(0) == 0
    """,
}

MENDS_TAX = "sed -i s/1.9/1.19/ tax.py"
