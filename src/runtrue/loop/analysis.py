"""Analyses: what is known about why an attempt failed, and where that is known from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Why an attempt failed, and what is to be done about it.

    `confidence` is there only where something stands behind it: how often a remembered fix has
    held, or what a model said of its own proposal.
    """

    root_cause: str
    fix_strategy: str | None = None
    confidence: float | None = None
    #: Known failures and fixes of the memory that this one is like, as `runtrue memory show` takes.
    patterns_matched: tuple[str, ...] = ()
    #: What is remembered of those failures: what failed, and the change that fixed it.
    recalled: tuple[str, ...] = ()
