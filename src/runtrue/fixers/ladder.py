"""The ladder: which fixers there are, in which order they are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtrue.loop import Fixer


def build_ladder(order: Sequence[str], fixers: Mapping[str, Fixer]) -> tuple[Fixer, ...]:
    """The fixers in their configured order.

    `human` is not a rung that proposes: it is what the policy does when the ladder ends.
    """
    return tuple(fixers[name] for name in order if name != "human")
