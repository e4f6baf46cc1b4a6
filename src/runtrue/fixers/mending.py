"""Mending: the commands of the `tool` fixer, for the checks that a request has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtrue.fixers.tool import mending_command


@dataclass(frozen=True, slots=True, kw_only=True)
class Mending:
    """The mending commands by check, and the checks whose command mends only what is safe to."""

    commands: dict[str, str]
    safe: tuple[str, ...]

    @classmethod
    def of(cls, checks: Mapping[str, tuple[str | None, str | None]]) -> Mending:
        """For checks by name, each with its command and its own mending command."""
        own = {name: fix for name, (_, fix) in checks.items() if fix}
        derived = {
            name: fix
            for name, (command, _) in checks.items()
            if command and (fix := mending_command(command))
        }
        return cls(
            commands={**derived, **own}, safe=tuple(name for name in derived if name not in own)
        )
