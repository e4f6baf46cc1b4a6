"""The variables in a project's `.env` files, which its tests may read, and print."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from runtrue.redaction import secrets_in

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>\w+)\s*=\s*(?P<value>.*?)\s*")
_COMMENT = re.compile(r"\s+#.*")
#: Of one file, and of how many.
_LARGEST = 256 * 1024
_MOST = 20


def secrets_of_project(directory: Path) -> tuple[dict[str, str], ...]:
    """Return the secrets, by their names, in each `.env` file of a directory, to redact them.

    They are used for nothing else: no secret is ever taken from a project.
    """
    try:
        files = sorted(directory.glob(".env*"))[:_MOST]
    except OSError:
        return ()
    return tuple(filter(None, (secrets_in(dict(_variables(_text(file)))) for file in files)))


def _text(file: Path) -> str:
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        return os.read(fd, _LARGEST).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def _variables(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if match := _LINE.fullmatch(line):
            value = match["value"]
            if value[:1] in ("'", '"') and value[:1] in value[1:]:
                value = value[1 : value.index(value[0], 1)]
            else:
                value = _COMMENT.sub("", value)
            yield match["name"], value
