"""What the tests of fixers need: a workplace and findings to work on."""

from __future__ import annotations

from pathlib import Path

from runtrue.loop import Fault, Finding, FixTask, History, Location, Workplace
from tests.project_python import project_path


def make_workplace(directory: Path) -> Workplace:
    tree, scratch = directory / "tree", directory / "scratch"
    tree.mkdir(parents=True)
    scratch.mkdir()
    environment = {"PATH": project_path(), "HOME": str(scratch), "RUFF_NO_CACHE": "true"}
    return Workplace(directory=tree, root=tree, scratch=scratch, environment=environment)


def make_finding(
    message: str = "assert 1 == 2",
    *,
    source: str = "tests",
    category: str = "AssertionError",
    symbol: str | None = "test_app.py::test_it",
    sample: str | None = None,
    available: tuple[str, ...] = (),
    data: dict[str, object] | None = None,
) -> Finding:
    return Finding(
        source=source,
        category=category,
        message=message,
        fault=Fault.CANDIDATE,
        location=Location(file="app.py", line=3, symbol=symbol),
        sample=sample,
        available=available,
        data=data or {},
    )


def make_task(*findings: Finding, history: History | None = None) -> FixTask:
    return FixTask(findings=findings or (make_finding(),), history=history or History())
