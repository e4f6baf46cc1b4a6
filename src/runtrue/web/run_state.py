"""How a run stands, in a word and a tone that all pages share."""

from __future__ import annotations

from dataclasses import dataclass

from runtrue.flow import RunRow, RunState, RunSummary


@dataclass(frozen=True, slots=True)
class RunStanding:
    """The word for a run's state, and its tone: good, bad, warn, live or quiet."""

    word: str
    tone: str


_STANDINGS = {
    RunState.PASSED: RunStanding("Passed", "good"),
    RunState.FAILED: RunStanding("Failed", "bad"),
    RunState.ABORTED: RunStanding("Aborted", "bad"),
    RunState.ESCALATED: RunStanding("Escalated", "warn"),
    RunState.WAITING: RunStanding("Waiting for you", "warn"),
    RunState.CANCELLED: RunStanding("Cancelled", "quiet"),
}


def standing_of_run(run: RunRow | RunSummary) -> RunStanding:
    """Return how a run stands: also whether anybody is at work on it."""
    if run.state is RunState.RUNNING:
        return (
            RunStanding("Running", "live") if run.is_driven else RunStanding("Interrupted", "warn")
        )
    if run.state is RunState.FAILED and not run.is_over:
        return RunStanding("Broke off", "bad")
    return _STANDINGS[run.state]
