"""What the tests of checks need: a small project, and a check that is really run on it."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from pathlib import Path

from runtrue.checks import CommandCheck
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

    def check(self, command: str, *, timeout: float = 60, name: str = "tests") -> Verdict:
        check = CommandCheck(name=name, command=command, timeout=timeout)
        return asyncio.run(check.run(self.workplace))


def only(verdict: Verdict) -> Finding:
    """The one finding of a check that failed."""
    assert not verdict.passed
    (finding,) = verdict.findings
    return finding
