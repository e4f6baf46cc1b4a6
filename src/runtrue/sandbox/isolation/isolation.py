"""Isolation: the policy for what runs, and the boxes that are made by it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.config import IsolationConfig
from runtrue.sandbox.isolation.box import Box
from runtrue.sandbox.isolation.level import Level, choose

#: Names the level, over the configuration, but never below its minimum.
LEVEL = "RUNTRUE_ISOLATION"
#: Names further places that may be written, beside those of the configuration.
WRITE = "RUNTRUE_ISOLATION_WRITE"
_CONFIG = IsolationConfig()


@dataclass(frozen=True, slots=True)
class Isolation:
    """How commands are confined, as configured; that it can be done is seen when it is needed."""

    config: IsolationConfig = _CONFIG

    @classmethod
    def of(cls, config: IsolationConfig, environment: Mapping[str, str] = os.environ) -> Isolation:
        """As the configuration and the environment say, at the strongest level that there is.

        Raises IsolationError where none is as strong as the configuration demands.
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
        """A confinement for commands that work in some places. Raises IsolationError."""
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
        """What is kept of it with a run."""
        return {"level": self.config.level, "network": list(self.config.network)}


def _expanded(place: str) -> Path:
    return Path(place).expanduser()
