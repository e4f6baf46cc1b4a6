"""Events of the code loop around the repair cycle: what is recalled, tried before and written."""

from __future__ import annotations

from runtrue.flow import Event


class Recalled(Event):
    """The debug memory was asked for what failed here before."""

    lessons: tuple[str, ...]


class BeforeStarted(Event):
    """The checks run on the code before the change."""


class GenerationStarted(Event):
    """A generator is asked to write code or tests."""

    what: str
    by: str


class GenerationFinished(Event):
    """A generator has written files."""

    what: str
    files: tuple[str, ...]
    #: Files it edited and must not edit; its edits were undone.
    restored: tuple[str, ...]


class GenerationFailed(Event):
    """A generator failed and may be asked again."""

    what: str
    failure: str | None
