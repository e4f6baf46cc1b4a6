"""Tasks: what a run of the code loop is to bring about, and on whose behalf."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runtrue.code.generate import mentions
from runtrue.errors import UsageError
from runtrue.loop import CodeType
from runtrue.sandbox import is_test


class AgentType(StrEnum):
    """The part that a run plays, by the names that records give it."""

    SOFTWARE_IMPLEMENTER = "software_implementer"
    TEST_ENGINEER = "test_engineer"
    DEBUGGER = "debugger"
    CODE_REVIEWER = "code_reviewer"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeTask:
    """What is wanted of one file. All paths are as seen from the project."""

    requirement: str
    path: str
    code_type: CodeType
    #: The tests it is judged by, where they were named; else those found for `path`.
    tests: tuple[str, ...] = ()
    #: Paths to requirements that the requirement mentions.
    mentions: tuple[str, ...] = ()

    @property
    def agent_type(self) -> AgentType:
        """The role of the agent that does this task."""
        if is_test(self.path):
            return AgentType.TEST_ENGINEER
        if self.code_type is CodeType.BUG_FIX:
            return AgentType.DEBUGGER
        return AgentType.SOFTWARE_IMPLEMENTER


def plan_task(
    project: Path,
    requirement: str,
    path: str,
    *,
    code_type: CodeType | None = None,
    tests: Sequence[str] = (),
) -> CodeTask:
    """Return the task for a file of the project. Raises UsageError where there can be none.

    By default, code that exists is fixed and code that does not is written.
    """
    if not requirement.strip():
        raise UsageError("the requirement is empty; say what the code should do")
    path = _inside(project, path)
    default = CodeType.BUG_FIX if (project / path).is_file() else CodeType.NEW_FUNCTION
    return CodeTask(
        requirement=requirement,
        path=path,
        code_type=code_type or default,
        tests=tuple(_inside(project, test) for test in tests),
        mentions=mentions(requirement),
    )


def _inside(project: Path, file: str) -> str:
    """A file of the project's, as seen from there."""
    path = Path(os.path.normpath(project / file))
    # What a link in it leads to must be the project's, too; and git's own files are nobody's code.
    inside = path.is_relative_to(project) and path.resolve().is_relative_to(project.resolve())
    if not inside or path == project or ".git" in path.relative_to(project).parts:
        raise UsageError(f"{file!r} is not a file in {project}; give a path relative to it")
    if path.is_dir():
        raise UsageError(f"{file} is a directory; give a file")
    return path.relative_to(project).as_posix()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The stop of a coding agent that a gate's verdict is waited for in."""

    session: str
    #: Whether the agent was held back before, and has worked on since.
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """The place of a run within a loop around it."""

    loop_id: str
    number: int
    require_passing_tests: bool = True
    allow_skip: bool = False
    persist_per_iteration: bool = True
    cross_iteration_learning: bool = True
    include_test_pass_rate: bool = True
    weight: float = 0.3
