"""Kinds of runs: a class for each, which knows how such a run is prepared, narrated and shown."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from runtrue.cli.console import choose, confirm
from runtrue.cli.progress import Narrator
from runtrue.errors import UsageError
from runtrue.flow import Event, Journal, Question, RunRow, RunState, Segment
from runtrue.home import Home

if TYPE_CHECKING:
    from runtrue.cli.kinds.each import EachReport
    from runtrue.code import CodeReport
    from runtrue.plan import PlanReport
    from runtrue.planner import TaskReport
    from runtrue.sandbox import GitSandbox
    from runtrue.workflow import WorkflowReport

    Report: TypeAlias = CodeReport | EachReport | PlanReport | TaskReport | WorkflowReport

R = TypeVar("R")

#: Every kind, by the name that is in the journal; imported when it is needed.
KINDS = {
    "do": "runtrue.cli.kinds.do:TaskKind",
    "each": "runtrue.cli.kinds.each:EachKind",
    **dict.fromkeys(("fix", "code"), "runtrue.cli.kinds.code:CodeKind"),
    "gate": "runtrue.cli.kinds.code:GateKind",
    "plan": "runtrue.cli.kinds.plan:PlanKind",
    "workflow": "runtrue.cli.kinds.workflow:WorkflowKind",
}

_EXIT_CODES = {RunState.PASSED: 0, RunState.WAITING: 3}


class Shown(Enum):
    """What the person has seen of a run before its report, and need not read twice."""

    NOTHING = auto()
    #: Its progress, as it went.
    PROGRESS = auto()
    #: Every attempt with its findings and fixers.
    DETAILS = auto()


class RunKind(ABC, Generic[R]):
    """A kind of run, as a surface needs to know it. By default a run asks nothing."""

    #: The report of such a run, as data.
    report_type: type[R]
    #: Shows the progress of such a run.
    narrator: type[Narrator] = Narrator
    #: True if the report is made of other runs whenever somebody looks, and not recorded.
    is_derived = False
    #: What a yes or no at a terminal is about.
    asks = "Apply these changes"

    @abstractmethod
    def prepare(
        self, run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool
    ) -> Segment:
        """Return what there is to run; `secrets` were given to the run and are not recorded.

        `force` allows what was interrupted in the middle to be done again.
        """

    def sandbox(self, run: RunRow, home: Home) -> GitSandbox | None:
        """Return the sandbox of a run away from the user's files, if it has one. Makes nothing."""
        return None

    @abstractmethod
    def report(self, journal: Journal, home: Home, run: RunRow) -> R:
        """Return the report of a run that is not over."""

    def stopped(self, run: RunRow, home: Home, report: R) -> R:
        """Do what is left to do when a run has stopped, and return the report with it."""
        return report

    def exit_code(self, run: RunRow, report: R) -> int:
        """Return 0 for what passed, 3 for what waits for a person, 1 for the rest."""
        return _EXIT_CODES.get(run.state, 1)

    def news(self, journal: Journal, run: RunRow) -> Callable[[], Iterable[Event]]:
        """Return what yields the events since it was last called, of a run driven elsewhere."""
        seen = 0

        def events() -> Iterator[Event]:
            nonlocal seen
            for number, event in journal.events(run.id, after=seen):
                seen = number
                yield event

        return events

    def is_stopped(self, journal: Journal, run: RunRow) -> bool:
        """True if nothing more will come of a run until somebody resumes or answers it."""
        return run.is_over or run.state is not RunState.RUNNING

    def unapplied_patch(self, report: R) -> str | None:
        """Return the file with the patch that could not be applied, if there is one."""
        return None

    def expire(self, journal: Journal, run: RunRow) -> bool:
        """Give up on a person who has not answered in time, and return whether there was one.

        The run can then go on.
        """
        return False

    def answer(
        self, journal: Journal, home: Home, run: RunRow, said: str | None, *, can_ask: bool
    ) -> Any:
        """Return what to record as the answer when a person said this, or nothing.

        None: the person is still to be asked, which `can_ask` allows.
        """
        return said

    def choose(self, journal: Journal, run: RunRow, paths: Mapping[str, str]) -> Any:
        """Return what to record as the answer when a person set these paths of fields."""
        raise UsageError(
            f"run {run.id} is a run of `runtrue {run.kind}`, which asks for no field: "
            "--set is for runs of `runtrue do` that ask which field is meant"
        )

    def ask_here(self, report: R, question: Question) -> Any:
        """Ask the person at the terminal, and return the answer; None if there is none.

        Raises click.Abort when the person wants to stop.
        """
        if not is_yes_or_no(question):
            return None
        self.print_offer(report, question)
        alternatives = question.question.get("alternatives") or 0
        if not alternatives:
            return "yes" if confirm(f"{self.asks}?") else "no"
        numbers = [str(number) for number in range(2, alternatives + 2)]
        asks = f"{self.asks}, or number {', '.join(numbers)}?"
        return choose(asks, ["y", "n", *numbers], default="n")

    def conclude(self, home: Home, report: R) -> None:
        """Print what comes after the report, or ask."""

    @abstractmethod
    def print_report(self, report: R, *, asked: bool = False, shown: Shown = Shown.NOTHING) -> None:
        """Print the outcome of a run; `asked` when a person has just seen its diff."""

    @abstractmethod
    def print_details(self, report: R) -> None:
        """Print what happened in a run, step by step."""

    def print_question(self, run_id: str, question: Question | None) -> None:
        """Print what a waiting run wants."""

    def print_offer(self, report: R, question: Question) -> None:
        """Print what a yes or no is about, before it is asked for."""


def is_yes_or_no(question: Question) -> bool:
    """True if a yes or no is all that a question asks for."""
    asked = question.question
    return bool(asked.get("apply") or asked.get("effects")) or (
        "diff" in asked and asked.get("why") == "unsure"
    )


def kind_of(run: RunRow) -> RunKind[Any]:
    """Return the kind of a run."""
    if run.kind not in KINDS:
        raise UsageError(
            f"run {run.id} is a {run.kind!r} run, which this version of runtrue does not know"
        )
    return kind_named(run.kind)


def kind_named(name: str) -> RunKind[Any]:
    """Return a kind by its name in the journal."""
    module, _, name = KINDS[name].partition(":")
    kind: RunKind[Any] = getattr(importlib.import_module(module), name)()
    return kind
