"""Confined: which errors of a program come from what it is confined to, and which limit it was."""

from __future__ import annotations

import errno
from collections.abc import Collection

from runtrue.confinement import Confinement
from runtrue.loop import Workplace

#: The limits that the kernel tells a program of, by errno.
_BY_ERRNO = {errno.EMFILE: "open_files", errno.EFBIG: "file_size", errno.ENOMEM: "memory"}
#: What a program is told where there is no network, or nobody at the other end of its own.
_NETWORK = frozenset(
    {
        *(errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL),
        *(errno.ENETDOWN, errno.EAFNOSUPPORT),
    }
)
_UNREACHED = frozenset({"gaierror", "herror", "ConnectError", "NewConnectionError"})
_UNSEEN = frozenset({errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS})
_UNITS = {"memory": " MiB", "file_size": " MiB"}


def limit_told(
    confinement: Confinement | None, mro: Collection[str], number: int | None
) -> tuple[str, dict[str, float | str]] | None:
    """The limit that an exception tells of, in words and as data, if it is one of ours.

    `mro` holds the names of its class and of all base classes, `number` is its errno.
    """
    name = "memory" if "MemoryError" in mro else _BY_ERRNO.get(number or 0)
    if confinement is None or name is None:
        return None
    allowed = getattr(confinement.limits, name)
    words = f"{allowed}{_UNITS.get(name, '')} are allowed by `{name}` in [isolation.limits]"
    return words, {"limit": name, "allowed": allowed}


def way_out(
    workplace: Workplace, mro: Collection[str], number: int | None, message: str
) -> str | None:
    """The setting that an error may be for want of, in words: a program cannot know of it."""
    confinement = workplace.confinement
    if confinement is None or confinement.level == "process":
        return None
    if number in _NETWORK or not _UNREACHED.isdisjoint(mro):
        return "commands reach no host but those of `network` in [isolation]"
    home = workplace.environment.get("HOME", "")
    if number in _UNSEEN and home not in ("", "/") and f"{home}/" in message:
        return "commands see nothing of the home but what `read` and `write` in [isolation] name"
    return None
