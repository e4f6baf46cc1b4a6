"""What the tests of checks need: a small project, and a check that is really run on it."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from pathlib import Path

from runtrue.checks import CommandCheck, Coverage, Measured, load_measured
from runtrue.loop import Finding, Verdict, Workplace

PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


class Project:
    """A directory with files, and a workplace for checks on it."""

    def __init__(self, root: Path, *, inside: str = ".") -> None:
        self.root = root
        self.directory = root / inside
        self.scratch = root.with_name(f"{root.name}-scratch")
        self.directory.mkdir(parents=True)
        self.scratch.mkdir()
        self.environment = {
            "PATH": PATH,
            "HOME": str(self.scratch),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
            # Those installed beside runtrue take most of the time that a small test takes.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    @property
    def workplace(self) -> Workplace:
        return Workplace(
            directory=self.directory,
            root=self.root,
            scratch=self.scratch,
            environment=self.environment,
        )

    def check(
        self,
        command: str,
        *,
        timeout: float = 300,
        name: str = "tests",
        directory: str = ".",
        env: dict[str, str] | None = None,
        cover: bool = False,
        fail_fast: bool = False,
        verbose: bool = False,
        test_seconds: float = 0,
    ) -> Verdict:
        check = CommandCheck(
            name=name,
            command=command,
            timeout=timeout,
            directory=directory,
            env=env or {},
            cover=cover,
            fail_fast=fail_fast,
            verbose=verbose,
            test_seconds=test_seconds,
        )
        return asyncio.run(check.run(self.workplace))

    def measured(self, name: str = "tests") -> Measured:
        """What the last check measured."""
        measured = load_measured(self.scratch, name)
        assert measured is not None
        return measured

    def lines(self, name: str = "tests") -> dict[str, tuple[list[int], list[int]]]:
        """By file, the lines that ran and those that did not."""
        coverage = self.measured(name).coverage
        assert coverage is not None, self.measured(name).why_not
        return lines_of(coverage)


def lines_of(coverage: Coverage) -> dict[str, tuple[list[int], list[int]]]:
    """By file, the lines that ran and those that did not."""
    return {f: (sorted(c.executed), sorted(c.missing)) for f, c in coverage.files.items()}


def only(verdict: Verdict) -> Finding:
    """The one finding of a check that failed."""
    assert not verdict.passed
    (finding,) = verdict.findings
    return finding
