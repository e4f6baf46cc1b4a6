"""Confined: explain the errors of a program that come from what it is confined to."""

from __future__ import annotations

import errno
from collections.abc import Collection
from typing import NamedTuple

from runtrue.loop import RESOURCE_LIMIT, Fault, Workplace

#: The limits that the kernel reports to a program, by errno.
_BY_ERRNO = {errno.EMFILE: "open_files", errno.EFBIG: "file_size", errno.ENOMEM: "memory"}
#: The errors of a program without a network, or with nobody at the other end of its own.
_NETWORK = frozenset(
    {
        *(errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL),
        *(errno.ENETDOWN, errno.EAFNOSUPPORT),
    }
)
_UNREACHED = frozenset({"gaierror", "herror", "ConnectError", "NewConnectionError"})
_UNSEEN = frozenset({errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS})
_UNITS = {"memory": " MiB", "file_size": " MiB"}


class Explained(NamedTuple):
    """The category, message and fault of an error, with the limit that was hit as data."""

    category: str
    message: str
    fault: Fault
    data: dict[str, float | str]


def explain(
    category: str,
    message: str,
    fault: Fault,
    workplace: Workplace,
    *,
    number: int | None = None,
    bases: Collection[str] = (),
) -> Explained:
    """Add the limit that an error is about, or the setting it may be for want of.

    `number` is its errno, `bases` the names of its class and of all base classes.
    """
    name = "memory" if "MemoryError" in bases else _BY_ERRNO.get(number or 0)
    if workplace.confinement is not None and name is not None:
        allowed = getattr(workplace.confinement.limits, name)
        words = f"{allowed}{_UNITS.get(name, '')} are allowed by `{name}` in [isolation.limits]"
        message = f"{category}: {message}: {words}" if bases else f"{message}: {words}"
        # Of the candidate's own making: waiting, and trying again, would not help.
        data = {"limit": name, "allowed": allowed}
        return Explained(RESOURCE_LIMIT, message, Fault.CANDIDATE, data)
    if hint := _missing_setting(workplace, bases, number, message):
        message = f"{message} ({hint})"
    return Explained(category, message, fault, {})


def _missing_setting(
    workplace: Workplace, bases: Collection[str], number: int | None, message: str
) -> str | None:
    if workplace.confinement is None or workplace.confinement.level == "process":
        return None
    if number in _NETWORK or not _UNREACHED.isdisjoint(bases):
        return "commands can reach only the hosts in `network` of [isolation]"
    home = workplace.environment.get("HOME", "")
    if number in _UNSEEN and home not in ("", "/") and f"{home}/" in message:
        return (
            "commands see only the parts of your home that `read` and `write` in [isolation] name"
        )
    return None
