"""The workshop: what the nodes of one repair cycle work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runtrue.flow import Node
from runtrue.loop.hiding import Hide
from runtrue.loop.history import Skip
from runtrue.loop.policy import Policy
from runtrue.loop.seams import Analyst, Check, Escalator, Fixer, Gate, Sandbox
from runtrue.redaction import Redactor

Shared = dict[str, Any]

_NOTHING_HIDDEN = Redactor()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What one loop's cycle works with. A rung with nothing on it says why."""

    sandbox: Sandbox
    checks: tuple[Check, ...]
    ladder: tuple[Fixer | Skip, ...]
    policy: Policy
    gates: tuple[Gate, ...] = ()
    analyst: Analyst | None = None
    escalator: Escalator | None = None
    #: The file that the task is about, where it is about one.
    artifact: str | None = None
    #: The tests that the task is about, where that is not all of them.
    tests: tuple[str, ...] = ()
    #: Takes out of what checks and fixers say what must not be kept, shown or sent.
    hide: Hide = _NOTHING_HIDDEN
    #: Whether a check has anything to say about a change to some files; by default all have.
    concerns: Callable[[Check, tuple[str, ...]], bool] = field(default=lambda check, files: True)
    #: Whether the first candidate is expected to fail: a fixer may begin while it is checked.
    expects_failure: bool = False

    @property
    def fixers(self) -> tuple[Fixer, ...]:
        """The rungs that hold a fixer."""
        return tuple(rung for rung in self.ladder if not isinstance(rung, Skip))


class WorkshopNode(Node):
    """A node of the cycle."""

    def __init__(self, name: str, workshop: Workshop) -> None:
        super().__init__(name)
        self.workshop = workshop


def readable(files: tuple[str, ...]) -> tuple[str, ...]:
    """File names for the record, which holds text: bytes that are none are replaced."""
    return tuple(name.encode("utf-8", "surrogateescape").decode(errors="replace") for name in files)
