"""Policy: the limits of a loop and what happens at them. Budget: what is left of the limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from runtrue.loop.history import History, Reason


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
    #: Roll back and stop when a fix breaks what worked before.
    abort_on_regression: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Limits):
    """The limits of a loop and what happens when they are reached."""

    #: Ask a person when the loop can do no more, instead of stopping.
    ask_human: bool = False
    #: Build each fix on the best attempt so far. Not where a run stops at its first failure: then
    #: one attempt has fewer findings than another because it came less far.
    keep_best: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What is left. Derived from the recorded history, so that no crash and no resume resets it.

    An answer by a person opens a fresh budget: only what came after the last answer counts.
    """

    attempts: int
    transport_retries: int
    format_retries: int
    seconds: float

    @classmethod
    def left(cls, policy: Policy, history: History) -> Budget:
        """What `policy` still allows after `history`."""
        since = history.since_last_answer()
        spent = [rejection.reason for rejection in since.rejections]
        return cls(
            attempts=(
                policy.max_attempts
                - (len(since.attempts) - since.rechecks)
                - spent.count(Reason.REPEATED)
            ),
            transport_retries=(
                policy.transport_retries - spent.count(Reason.FIXER_FAILED) - since.rechecks
            ),
            format_retries=policy.format_retries - spent.count(Reason.UNCHANGED),
            seconds=policy.max_time - since.seconds,
        )
