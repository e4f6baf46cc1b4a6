"""Isolation: the policy for commands, and the boxes that follow from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.config import IsolationConfig
from runtrue.sandbox.isolation.box import Box
from runtrue.sandbox.isolation.level import Level, choose

#: Overrides the configured level, but not the minimum.
LEVEL = "RUNTRUE_ISOLATION"
#: Names further paths that may be written.
WRITE = "RUNTRUE_ISOLATION_WRITE"
_CONFIG = IsolationConfig()


@dataclass(frozen=True, slots=True)
class Isolation:
    """The configured confinement of commands; it is tried out when it is needed."""

    config: IsolationConfig = _CONFIG

    @classmethod
    def of(cls, config: IsolationConfig, environment: Mapping[str, str] = os.environ) -> Isolation:
        """Return the isolation that configuration and environment ask for.

        Raises IsolationError if no level that works here is as strong as the minimum.
        """
        level = choose(config, environment.get(LEVEL) or None)
        write = filter(None, environment.get(WRITE, "").split(os.pathsep))
        return cls(replace(config, level=level.value, write=(*config.write, *write)))

    @property
    def level(self) -> Level:
        """The level that commands run at. Raises IsolationError."""
        return choose(self.config)

    def box(
        self,
        *,
        write: Iterable[Path] = (),
        read: Iterable[Path] = (),
        kept: Iterable[Path] = (),
        hidden: Iterable[Path] = (),
        private: Path | None = None,
    ) -> Box:
        """Return a confinement for commands that work on some paths. Raises IsolationError."""
        config = self.config
        return Box(
            level=self.level,
            limits=config.limits,
            write=(*write, *map(_expanded, config.write)),
            read=(*read, *map(_expanded, config.read)),
            kept=tuple(kept),
            hidden=tuple(hidden),
            network=config.network,
            private=private,
            image=config.image,
        )

    @property
    def record(self) -> dict[str, object]:
        """The record of it in a run."""
        return {"level": self.config.level, "network": list(self.config.network)}


def _expanded(place: str) -> Path:
    return Path(place).expanduser()
