"""Attacks: what hostile code attempts, in groups, and the levels at which it is to fail.

The body of an attack has code run in an arena and asserts what became of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runtrue.sandbox.isolation import Level

if TYPE_CHECKING:
    from tests.isolation.arena import Arena

#: Where commands are confined, and where they are not: a process only has limits.
CONFINED = frozenset({Level.BUBBLEWRAP, Level.LANDLOCK})
EVERYWHERE = CONFINED | {Level.PROCESS}
BUBBLEWRAP = frozenset({Level.BUBBLEWRAP})
LEVELS = (Level.BUBBLEWRAP, Level.LANDLOCK, Level.PROCESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What is attempted, as a phrase, and the levels at which it is promised to fail."""

    name: str
    group: str
    promised: frozenset[Level]
    body: Callable[[Arena], None]


@dataclass(frozen=True, slots=True)
class Group:
    """Attacks of one kind. Called with a name, it is a decorator for the body of an attack."""

    name: str
    title: str
    attacks: list[Attack] = field(default_factory=list)

    def __call__(
        self, name: str, promised: frozenset[Level] = EVERYWHERE
    ) -> Callable[[Callable[[Arena], None]], Callable[[Arena], None]]:
        def register(body: Callable[[Arena], None]) -> Callable[[Arena], None]:
            self.attacks.append(Attack(name=name, group=self.name, promised=promised, body=body))
            return body

        return register

    def code(
        self, name: str, code: str, *, promised: frozenset[Level] = EVERYWHERE, says: str = ""
    ) -> None:
        """An attack that is all in its code; the finding has to contain what it `says`."""

        def body(arena: Arena) -> None:
            arena.attack(code).says(arena.formatted(says))

        self(name, promised)(body)
