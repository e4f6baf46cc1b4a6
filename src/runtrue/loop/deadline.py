"""Deadlines: what checks and fixers are given of the time that is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

#: What is said of whatever was cut off.
TIME_IS_UP = "stopped: the time limit of the run is reached"

_T = TypeVar("_T")


async def in_time(begin: Callable[[], Awaitable[_T]], seconds: float | None) -> _T | None:
    """Return the result of some work, or None if it does not finish within so many seconds.

    With no seconds left it is not started. Without a number, there is no limit.
    """
    if seconds is not None and seconds <= 0:
        return None
    try:
        async with asyncio.timeout(seconds) as limit:
            return await begin()
    except TimeoutError:
        if not limit.expired():
            raise
        return None
