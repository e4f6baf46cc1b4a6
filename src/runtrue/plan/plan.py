"""Plans: what is to be done, under which strategy and profile, and what it is validated by.

The request is recorded with the run, so that a resumed plan does what was asked at first, whatever
has happened to its file or to the configuration since.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtrue.config import AgentConfig, IsolationConfig, SearchConfig, Validation, ValidationKind
from runtrue.loop import AutomationProfile, Limits
from runtrue.plan.strategy import Strategy
from runtrue.record_format import RECORD_FORMAT

__all__ = ["KIND", "PlanRequest", "Validation", "ValidationKind"]

#: What a run of this package is called in the journal.
KIND = "plan"

_SEARCH = SearchConfig()
_ISOLATION = IsolationConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """All that a plan needs to know."""

    project: str
    instruction: str
    #: The plan's file, if it has one.
    source: str | None
    #: None: the strategist makes it.
    strategy: Strategy | None
    #: Who makes a strategy, and revises it: `model`, `agent`, or nobody.
    strategist: str | None
    validations: tuple[Validation, ...]
    profile: AutomationProfile
    profile_name: str
    #: The plan's own, over the profile's.
    validation_retry_limit: int | None
    #: `worktree`, `copy`, `none`, or whatever fits.
    sandbox: str | None
    #: The ladder of fixers.
    order: tuple[str, ...]
    agent: AgentConfig
    model: str | None
    #: The commands of the `tool` fixer, by validation, and those that fix only what is safe to fix.
    autofix: dict[str, str]
    safe: tuple[str, ...]
    judges: tuple[str, ...]
    pass_environment: tuple[str, ...]
    limits: Limits
    search: SearchConfig = _SEARCH
    #: With the level that was found to be the strongest here.
    isolation: IsolationConfig = _ISOLATION
    #: The form in which the steps are recorded.
    record_format: int = RECORD_FORMAT

    @property
    def retry_limit(self) -> int:
        """Fixes for each validation over the whole plan."""
        own = self.validation_retry_limit
        return self.profile.validation_retry_limit if own is None else own
