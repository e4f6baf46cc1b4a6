"""Encoding: the text of a source file and its bytes, as the file itself says (PEP 263).

That is UTF-8 for all files but those of Python that name another encoding in their first two lines.
Text and bytes name the same one, so that a file is written in the encoding it was read in.
"""

from __future__ import annotations

import codecs
import re

#: A line with the name of an encoding; only comments and empty lines may come before it.
_DECLARED = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BEFORE = re.compile(rb"[ \t\f]*(?:#.*)?\r?$")
_ASCII = bytes(range(128))


def decoded(content: bytes) -> str:
    """Return the text of a file. Raises UnicodeDecodeError."""
    return content.decode(_encoding(content))


def encoded(text: str) -> bytes:
    """Return the bytes of a file; characters that its encoding lacks are escaped."""
    return text.encode(_encoding(text.encode("utf-8", "replace")), "backslashreplace")


def _encoding(content: bytes) -> str:
    for line in content.split(b"\n", 2)[:2]:
        if found := _DECLARED.match(line):
            return _known(found[1].decode())
        if not _BEFORE.match(line):
            break
    return "utf-8"


def _known(name: str) -> str:
    """Return the encoding of a name; UTF-8 if Python would take no program in it."""
    try:
        keeps_ascii = _ASCII.decode(name) == _ASCII.decode()
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return "utf-8"
    # Those that begin with a mark would begin with another one each time.
    return found.name if keeps_ascii and not found.name.startswith("utf") else "utf-8"
