"""Confined: which errors of a program come from what it is confined to, and which limit it was."""

from __future__ import annotations

import errno
from collections.abc import Collection

from runtrue.confinement import Confinement

#: The limits that the kernel tells a program of, by errno.
_BY_ERRNO = {errno.EMFILE: "open_files", errno.EFBIG: "file_size", errno.ENOMEM: "memory"}
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
