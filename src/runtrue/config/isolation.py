"""`[isolation]`: how what was generated is confined while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from runtrue.confinement import ResourceLimits

#: The levels that need nothing but the machine, weakest first, and those that need an engine.
LevelName = Literal["process", "landlock", "bubblewrap", "docker", "podman"]
_PORT = r"(?:[1-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])"
#: `host:port`; a host may begin with `*.`, and an address of IPv6 is in brackets.
Route = Annotated[str, Meta(pattern=rf"^(?:[^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):{_PORT}$")]

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
