"""Where a plan's result goes, and the commit that it became."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyTarget:
    """Where a plan's result goes, if not into the user's files alone."""

    #: A new branch that begins at HEAD.
    branch: str | None = None
    #: A branch that is there.
    onto: str | None = None
    #: The branch that is checked out, after the files were applied.
    commit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """The commit of a plan, or why there is none."""

    at: float
    branch: str = ""
    commit: str | None = None
    refused: str | None = None
