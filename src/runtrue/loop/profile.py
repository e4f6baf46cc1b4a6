"""Automation profiles: how far a plan goes by itself, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

#: Seconds in a week: how long a plan waits for a person by default.
_WEEK = 7 * 86_400.0

RetryLimit = Annotated[int, Meta(ge=0, le=100)]
MaxCost = Annotated[float, Meta(gt=0, le=1_000_000, title="US dollars")]
MaxTime = Annotated[float, Meta(gt=0, le=604_800)]
ConfidenceFloor = Annotated[float, Meta(ge=0, le=1)]
#: Up to a year.
AnswerWithin = Annotated[float, Meta(ge=0, le=31_536_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationProfile:
    """What a plan does without asking, and what bounds it."""

    #: A strategy that was made, or revised, is taken without a person's approval.
    auto_strategize: bool = True
    #: A plan with a strategy is executed as soon as it is made, without `plan execute`.
    auto_execute: bool = False
    #: What is complete is applied without `plan apply`.
    auto_apply: bool = False
    #: A required validation that fails is fixed; else the plan pauses for guidance.
    auto_validation_fix: bool = True
    #: A strategy within which nothing can be fixed is revised, once; else the plan pauses.
    auto_strategy_revision: bool = False
    #: Fixes for each validation over the whole plan.
    validation_retry_limit: RetryLimit = 3
    #: Work in a sandbox only: `sandbox: none` is refused.
    require_sandbox: bool = True
    #: US dollars for models, as far as their prices are known; none: no limit.
    max_cost: MaxCost | None = None
    #: Seconds for all actors, validations and fixes together.
    max_time: MaxTime = 3_600.0
    #: The least confidence with which a step or a fix counts unasked; none: that of `[policy]`.
    confidence_floor: ConfidenceFloor | None = None
    #: Commands of a strategy that a machine made need approval.
    approve_commands: bool = True
    #: Steps that say they need the network need approval.
    approve_network: bool = True
    #: Deleting files needs approval.
    approve_deletes: bool = True
    #: Seconds that a plan waits for a person; then it fails.
    answer_within: AnswerWithin = _WEEK


#: By name, from the one that does least by itself to the one that does most.
PROFILES: dict[str, AutomationProfile] = {
    # Every step of the way is a person's word.
    "manual": AutomationProfile(auto_strategize=False, auto_validation_fix=False),
    # Fixes what fails by itself; every strategy is looked at before it counts.
    "review": AutomationProfile(auto_strategize=False),
    # The default: starts and applies on command, and fixes within the strategy.
    "supervised": AutomationProfile(),
    # Executes by itself, within narrow limits.
    "cautious": AutomationProfile(auto_execute=True, validation_retry_limit=2, max_time=1_800.0),
    # May revise its strategy, and run the commands of one.
    "trusted": AutomationProfile(
        auto_execute=True, auto_strategy_revision=True, approve_commands=False
    ),
    # Deletes as well, and tries more often; asks before it goes out.
    "auto": AutomationProfile(
        auto_execute=True,
        auto_strategy_revision=True,
        approve_commands=False,
        approve_deletes=False,
        validation_retry_limit=5,
    ),
    # Nobody is there to be asked: it goes through, or fails at once.
    "ci": AutomationProfile(
        auto_execute=True,
        auto_strategy_revision=True,
        approve_commands=False,
        approve_network=False,
        approve_deletes=False,
        answer_within=0.0,
    ),
    # Applies what passed, and may work without a sandbox.
    "full-auto": AutomationProfile(
        auto_execute=True,
        auto_apply=True,
        auto_strategy_revision=True,
        validation_retry_limit=5,
        require_sandbox=False,
        approve_commands=False,
        approve_network=False,
        approve_deletes=False,
    ),
}

DEFAULT_PROFILE = "supervised"
