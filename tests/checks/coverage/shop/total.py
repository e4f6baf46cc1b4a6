"""What a basket costs."""

from __future__ import annotations


def total(prices: list[int]) -> int:
    # Nothing is free.
    if not prices:
        return 0
    return sum(prices)


def label(name: str) -> str:
    return name.upper()
