"""Policy: the limits of a loop and what happens at them. Budget: what is left of the limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from runtrue.loop.attempt import Reason
from runtrue.loop.escalation import Response, Trigger
from runtrue.loop.history import History, Spent

#: No wait between attempts is longer, in seconds.
_LONGEST_WAIT = 60.0


class Backoff(StrEnum):
    """How the wait before a fix grows from round to round."""

    NONE = "none"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a loop may spend, and what it does at a regression; people set these.

    `max_attempts` counts executions of the checks, the first one included; no fix is ever left
    unverified. The two kinds of retries are counted apart from it and from each other.
    """

    max_attempts: Annotated[int, Meta(ge=1, le=10)] = 3
    #: How often a fixer or check that failed for outside reasons is tried again.
    transport_retries: Annotated[int, Meta(ge=0, le=10)] = 2
    #: How often a fixer that gave nothing usable is asked again.
    format_retries: Annotated[int, Meta(ge=0, le=10)] = 1
    #: Seconds for all checks and fixers together.
    max_time: Annotated[float, Meta(gt=0, le=86_400)] = 3600.0
    #: Roll back a fix that breaks what worked before, and abort.
    abort_on_regression: bool = True
    #: Let the trigger `max_attempts_reached` fire when the attempts are used up.
    escalation_on_max: bool = True
    backoff: Backoff = Backoff.NONE
    #: Seconds of the first wait.
    backoff_seconds: Annotated[float, Meta(gt=0, le=60)] = 1.0
    #: How often a new failure is run again, unchanged, to see whether it stays.
    flaky_reruns: Annotated[int, Meta(ge=0, le=3)] = 1
    #: A fix in which there is less confidence never passes by itself: a person is asked.
    confidence_floor: Annotated[float, Meta(ge=0, le=1)] = 0.5

    def wait(self, rounds: int) -> float:
        """Seconds to wait before a fix when so many rounds of fixing went before."""
        match self.backoff:
            case Backoff.LINEAR:
                seconds = self.backoff_seconds * rounds
            case Backoff.EXPONENTIAL:
                seconds = self.backoff_seconds * 2 ** (rounds - 1) if rounds else 0.0
            case _:
                seconds = 0.0
        return min(seconds, _LONGEST_WAIT)


class Revise(StrEnum):
    """When the strategy that bounds the fixes is revised, where there is one."""

    NEVER = "never"
    #: Only with what a person has said.
    ASKED = "asked"
    #: Once by itself, then with what a person has said.
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Limits):
    """The limits of a loop and what happens when they are reached."""

    #: Ask a person when the loop can do no more, instead of stopping.
    ask_human: bool = False
    #: Build each fix on the best attempt so far. Not where a run stops at its first failure: then
    #: one attempt has fewer findings than another because it came less far.
    keep_best: bool = True
    #: When to turn to somebody else; of several that hold, the first that can do something.
    triggers: tuple[Trigger, ...] = ()
    #: The names of the ladder's rungs, weakest first.
    rungs: tuple[str, ...] = ()
    #: Under `abort_on_regression`, have fixers try again with what their fix broke, as long as the
    #: budget lasts, and abort only then.
    retries_regressions: bool = False
    #: Fixers that only try what may help: a regression of theirs is rolled back, and the next rung
    #: is asked.
    tentative: tuple[str, ...] = ("memory", "tool", "search")
    #: How many fixes may be tried for each check over the whole run; then `max_attempts` is not
    #: looked at.
    retry_limit: int | None = None
    revision: Revise = Revise.NEVER
    #: Fix before a person has said anything.
    unasked: bool = True
    #: Let a person accept a candidate in spite of what gates found.
    acceptable: bool = True
    #: In US dollars, as far as the prices are known.
    max_cost: float | None = None
    #: Stop when time or money is spent, though a person could be asked, and cut off what runs then.
    stops_when_spent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What is left. Derived from the recorded history, so that no crash and no resume resets it.

    An answer by a person opens a fresh budget: only what came after the last answer counts.
    """

    attempts: int
    transport_retries: int
    format_retries: int
    seconds: float
    #: In US dollars; None where nothing bounds it.
    cost: float | None = None

    @classmethod
    def last_attempt(cls, policy: Policy, history: History) -> int:
        """The number of the last attempt that `policy` allows, as far as is known by now."""
        made = len(history.attempts) - history.rechecks
        return made + cls.left(policy, history).attempts

    @classmethod
    def left(cls, policy: Policy, history: History) -> Budget:
        """Return what `policy` still allows after `history`."""
        since = history.since_last_answer()
        spent = [rejection.reason for rejection in since.rejections]
        seniors = [
            escalation
            for escalation in since.escalations
            if escalation.trigger.action is Response.SENIOR_AGENT
            and not history.in_vain(escalation)
        ]
        used = history.spent
        if policy.retry_limit is None:
            attempts = (
                policy.max_attempts
                - (len(since.attempts) - since.rechecks)
                - spent.count(Reason.REPEATED)
            )
        else:
            attempts = policy.retry_limit - _most_tries(policy, history, used)
        return cls(
            attempts=attempts + len(seniors),
            transport_retries=(
                policy.transport_retries - spent.count(Reason.FIXER_FAILED) - since.rechecks
            ),
            format_retries=policy.format_retries - spent.count(Reason.UNCHANGED),
            seconds=policy.max_time - used.seconds,
            cost=None if policy.max_cost is None else policy.max_cost - used.cost,
        )

    @classmethod
    def deadline(cls, policy: Policy, history: History, used: float = 0.0) -> float | None:
        """The seconds after which whatever runs is cut off, `used` ones gone; none: it is not."""
        return cls.left(policy, history).seconds - used if policy.stops_when_spent else None


def _most_tries(policy: Policy, history: History, spent: Spent) -> int:
    """Of the checks that the next fix would be for, the most fixes that were tried for one."""
    if not history.attempts:
        return 0
    attempt = history.best if policy.keep_best else history.latest
    failing = (verdict.check for verdict in attempt.verdicts if verdict.blocks)
    return max((spent.fixes.get(check, 0) for check in failing), default=0)
