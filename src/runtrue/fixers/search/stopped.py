"""Stopped: why a search ended."""

from __future__ import annotations

from enum import StrEnum


class Stopped(StrEnum):
    """Why a search ended."""

    ENOUGH = "enough"
    EXHAUSTED = "exhausted"
    TIME = "time"
    CANDIDATES = "candidates"
    #: The tests could no longer be run; the last of the steps says why.
    UNPROVABLE = "unprovable"
