"""`[isolation]`: how what was generated is confined while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from runtrue.confinement import ResourceLimits

#: The levels that need nothing but the machine, weakest first, and those that need an engine.
LevelName = Literal["process", "landlock", "bubblewrap", "docker", "podman"]
#: `host:port`; a host may begin with `*.`.
Route = Annotated[str, Meta(pattern=r"^[^\s:/@]+:\d{1,5}$")]

_LIMITS = ResourceLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationConfig:
    """`[isolation]`."""

    #: Where nothing as strong as this can be had, commands are not run.
    minimum: Literal["process", "landlock", "bubblewrap"] = "landlock"
    #: None: the strongest that can be had. RUNTRUE_ISOLATION overrides it.
    level: LevelName | None = None
    #: What checks and candidates may connect to.
    network: tuple[Route, ...] = ()
    #: Further places that they may read, and write.
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    #: The image of a container, for `docker` and `podman`.
    image: str | None = None
    limits: ResourceLimits = _LIMITS
