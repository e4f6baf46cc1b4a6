"""Levels: how strongly commands can be confined here, and which one to use."""

from __future__ import annotations

from enum import StrEnum
from functools import cache

from runtrue.config import IsolationConfig
from runtrue.errors import IsolationError


class Level(StrEnum):
    """How commands are confined, weakest first; the last two need a container engine."""

    PROCESS = "process"
    LANDLOCK = "landlock"
    BUBBLEWRAP = "bubblewrap"
    DOCKER = "docker"
    PODMAN = "podman"

    @property
    def strength(self) -> int:
        """The rank of the level: a container is as strong as bubblewrap."""
        return min(list(Level).index(self), list(Level).index(Level.BUBBLEWRAP))


#: Levels that are used without being asked for, strongest first.
_AUTOMATIC = (Level.BUBBLEWRAP, Level.LANDLOCK, Level.PROCESS)
REMEDY = (
    "install bubblewrap (Debian, Ubuntu, Fedora: the package `bubblewrap`), or accept less with "
    '[isolation] minimum = "{level}"'
)


@cache
def unavailable(level: Level, image: str | None = None) -> str | None:
    """Return why a level does not work on this machine, by trying; None if it works."""
    if level is Level.BUBBLEWRAP:
        from runtrue.sandbox.isolation import bubblewrap

        return bubblewrap.probe()
    if level in (Level.LANDLOCK, Level.PROCESS):
        from runtrue.sandbox.isolation import landlock

        return landlock.probe(level.value)
    from runtrue.sandbox.isolation import container

    return container.probe(level.value, image)


def missing(level: Level) -> tuple[str, ...]:
    """Return what a level lacks on this machine: `namespaces`, `signals` or `filter`."""
    from runtrue.sandbox.isolation import landlock

    return landlock.missing(level.value) if level is Level.LANDLOCK else ()


def weaknesses(level: Level) -> tuple[str, ...]:
    """Return known weaknesses of what a level uses here, with what is done about each."""
    if level is not Level.BUBBLEWRAP:
        return ()
    from runtrue.sandbox.isolation import bubblewrap

    if not bubblewrap.follows_links():
        return ()
    return (
        "this bubblewrap follows links while it sets up (CVE-2026-87766), so runtrue mounts "
        "nothing through a directory that a command can replace; update it to 0.12.0",
    )


def choose(config: IsolationConfig, asked: str | None = None) -> Level:
    """Return the level that is asked for, else the strongest that works.

    Raises IsolationError if it is weaker than the minimum, or does not work.
    """
    minimum = Level(config.minimum)
    name = asked or config.level
    if name is not None:
        level = _named(name)
        if level.strength < minimum.strength:
            raise IsolationError(
                f"the isolation {level} is weaker than the minimum, {minimum}; ask for a stronger "
                f'one, or accept it with [isolation] minimum = "{level}"'
            )
        reason = unavailable(level, config.image)
        if reason is not None:
            raise IsolationError(f"the isolation {level} is not available here: {reason}")
        return level
    reasons = []
    for level in _AUTOMATIC:
        if level.strength < minimum.strength:
            break
        reason = unavailable(level)
        if reason is None:
            return level
        reasons.append(f"{level}: {reason}")
    weaker = [one for one in _AUTOMATIC if one.strength < minimum.strength]
    possible = next((one for one in weaker if unavailable(one) is None), None)
    remedy = REMEDY.format(level=possible) if possible else "use a Linux machine"
    raise IsolationError(
        f"commands cannot be isolated here ({'; '.join(reasons)}), so nothing is run: {remedy}"
    )


def _named(name: str) -> Level:
    try:
        return Level(name)
    except ValueError:
        known = ", ".join(Level)
        raise IsolationError(f"there is no isolation {name!r}; available: {known}") from None
