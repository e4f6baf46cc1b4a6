"""What the pages stand on: a home, a program, and what the command line does with a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtrue.code import CodeReport, Facts, JudgedFix
from runtrue.errors import UnknownRun
from runtrue.flow import Journal, RunRow
from runtrue.home import Home
from runtrue.plan import PlanReport
from runtrue.planner import TaskReport
from runtrue.workflow import WorkflowReport

Report = CodeReport | PlanReport | TaskReport | WorkflowReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAnswer:
    """What a person said, and to which question."""

    #: The step whose question the person saw.
    seq: int
    said: str | None
    #: Files that may be changed from now on.
    allow: tuple[str, ...] = ()
    #: Files that run by themselves may be applied, too.
    self_running: bool = False
    #: The paths of fields that the run was in doubt about.
    paths: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebService:
    """The settings of a server, and the functions of the command line that it calls."""

    home: Home
    #: The words that start runtrue, and the directory that it is started in.
    program: tuple[str, ...]
    directory: Path
    #: Returns the report of a run, finished or not.
    report_of: Callable[[Journal, RunRow], Report]
    #: Records what a person said to an open question of a run.
    answer: Callable[[Journal, str, PersonAnswer], None]
    #: Returns what each ended run says of the metrics, with the time of its end, by kind.
    facts: Callable[[], dict[str, list[tuple[float, Facts]]]]
    #: Returns the fixes that people judged, with how sure they were.
    judged_fixes: Callable[[], list[JudgedFix]] = list
    #: Returns the workers and queues of the shared database; None where there is none.
    workers: Callable[[], dict[str, Any]] | None = None
    #: Returns what each step of a plan has changed, as a diff, where the sandbox is still there.
    step_diffs: Callable[[Journal, RunRow], Mapping[str, str]] = lambda journal, run: {}
    #: Why a run ended or asks, in words.
    reasons: Mapping[str, str] = field(default_factory=dict)
    #: Nothing can be answered, started or changed.
    read_only: bool = False

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        """Open the journal. Raises UnknownRun where there is none: looking makes nothing."""
        if not self.home.has_journal:
            raise UnknownRun(f"there are no runs yet: {self.home.journal_name} does not exist")
        with Journal(self.home.journal) as journal:
            yield journal

    @property
    def has_runs(self) -> bool:
        """True if anything was ever recorded."""
        return self.home.has_journal
