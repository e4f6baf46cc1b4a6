"""Kinds of runs: one module for each, which knows how such a run is prepared, told and shown."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, cast

from runtrue.cli.progress import Display, Narrator
from runtrue.errors import UsageError
from runtrue.flow import Journal, Question, RunRow, RunState, Segment
from runtrue.home import Home

#: Where each kind lives, by the name that is in the journal.
KINDS = {
    "do": "runtrue.cli.kinds.do",
    **dict.fromkeys(("fix", "code", "gate"), "runtrue.cli.kinds.code"),
    "plan": "runtrue.cli.kinds.plan",
    "workflow": "runtrue.cli.kinds.workflow",
}

_EXIT_CODES = {RunState.PASSED: 0, RunState.WAITING: 3}


def usual_exit_code(run: RunRow) -> int:
    """0 for what passed, 3 for what waits for a person, 1 for the rest."""
    return _EXIT_CODES.get(run.state, 1)


class Kind(Protocol):
    """What a kind's module has."""

    def prepare(
        self, run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool
    ) -> Segment:
        """The flow of a run; `secrets` are what was given to it and is not kept.

        `force` allows what was interrupted in the middle to be done again.
        """
        ...

    def narrate(self, display: Display) -> Narrator:
        """What tells the progress of such a run."""
        ...

    def report(self, journal: Journal, home: Home, run: RunRow) -> dict[str, Any]:
        """The report of a run that is not over, as far as it has come."""
        ...

    def settle(self, run: RunRow, home: Home, report: dict[str, Any]) -> dict[str, Any]:
        """Do what is left to do when a run has stopped; the report with what was done."""
        ...

    def exit_code(self, run: RunRow, report: dict[str, Any]) -> int:
        """The exit code of the command that has driven a run to where it stands."""
        ...

    def expire(self, journal: Journal, run: RunRow) -> bool:
        """Give up on a person who has not answered in time; whether there was one.

        The run is then to be driven on.
        """
        ...

    def answer(
        self, journal: Journal, home: Home, run: RunRow, said: str | None, *, can_ask: bool
    ) -> Any:
        """What is recorded as the answer to a run's question when a person said this, or nothing.

        None: that is still to be asked, which `can_ask` allows.
        """
        ...

    def conclude(self, home: Home, report: dict[str, Any]) -> None:
        """Say what is to be said after the report, or ask."""
        ...

    def print_report(self, report: dict[str, Any], *, asked: bool = False) -> None:
        """Show what a run came to; `asked` when a person has just seen what it is about."""
        ...

    def print_details(self, report: dict[str, Any]) -> None:
        """Show what happened in a run, step by step."""
        ...

    def print_question(self, run_id: str, question: Question | None) -> None:
        """Show what a waiting run wants."""
        ...

    def print_offer(self, report: dict[str, Any], question: Question) -> None:
        """Show what a yes or no is about, before it is asked for."""
        ...


def kind_of(run: RunRow) -> Kind:
    """The module of a run's kind."""
    if run.kind not in KINDS:
        raise UsageError(
            f"run {run.id} is of the kind {run.kind!r}, which this runtrue has not got"
        )
    return cast(Kind, importlib.import_module(KINDS[run.kind]))
