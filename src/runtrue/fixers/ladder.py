"""The ladder: which fixers there are, in which order they are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtrue.loop import Fixer, Skip


def build_ladder(order: Sequence[str], fixers: Mapping[str, Fixer]) -> tuple[Fixer | Skip, ...]:
    """The fixers in their configured order; a rung with nothing on it yet says so.

    `human` is not a rung that proposes: it is what the policy does when the ladder ends.
    """
    missing = "not part of this version of runtrue"
    return tuple(
        fixers[name] if name in fixers else Skip(fixer=name, reason=missing)
        for name in order
        if name != "human"
    )
