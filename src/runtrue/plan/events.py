"""Events of a plan: its strategy, its steps, and how they are applied."""

from __future__ import annotations

from runtrue.flow import Event
from runtrue.loop import Action, Finding, Why


class StrategizeStarted(Event):
    """A strategist is asked for the strategy."""

    by: str


class StrategizeFinished(Event):
    """The strategy is made, or could not be."""

    by: str
    failure: str | None


class BaselineStarted(Event):
    """The required validations are run before the first step.

    Or on the user's files `alone`, when they fail together with the plan's change.
    """

    validations: tuple[str, ...]
    alone: bool = False


class BaselineFinished(Event):
    """They have run; what failed is known, with how many findings.

    What was cut off, since it took half of the plan's time, is not.
    """

    failed: dict[str, int]
    cut_off: tuple[str, ...] = ()
    alone: bool = False


class PlanAmended(Event):
    """A person has changed the plan."""

    what: tuple[str, ...]


class StepStarted(Event):
    """An actor begins a step."""

    step: str
    actor: str
    description: str


class StepFailed(Event):
    """A step failed and is tried again."""

    step: str
    failure: str


class StepRefused(Event):
    """A step's changes are not kept."""

    step: str
    failure: str | None
    outside: tuple[str, ...]


class StepDone(Event):
    """A step's changes are kept."""

    step: str
    files: tuple[str, ...]
    #: Files it edited and must not edit; its edits were undone.
    restored: tuple[str, ...]
    #: Files that git ignores, so that they are no part of the result.
    ignored: tuple[str, ...] = ()


class StepMerged(Event):
    """What a step did beside others is in the sandbox of the plan, or why not: it is done again."""

    step: str
    files: tuple[str, ...]
    failure: str | None = None


class FixSucceeded(Event):
    """Every required validation passes after one fix or more."""

    step: str | None
    action: Action
    why: Why
    fixes: dict[str, int]
    findings: tuple[Finding, ...]
    needed: tuple[str, ...]


class StrategyRevisionStarted(Event):
    """A step's part of the strategy is to be made again."""

    step: str
    needed: tuple[str, ...]


class StrategyRevised(Event):
    """A step has new steps in its stead, or could not be revised."""

    step: str
    by: str
    steps: tuple[str, ...]
    failure: str | None


class ApplyRefused(Event):
    """The result could not be applied."""

    why: str


class ApplyRenewed(Event):
    """The user changed files meanwhile, so that the result is validated with them first."""

    files: tuple[str, ...]


class PlanCommitted(Event):
    """The result is a commit on a branch."""

    journal_name = "committed"

    branch: str
    commit: str
    files: tuple[str, ...]


class PlanApplied(Event):
    """The result is in the user's files."""

    journal_name = "applied"

    files: tuple[str, ...]
