"""TOML, with the line of every key in it. Loads its parser late: most commands read none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from runtrue.documents.document import Document
from runtrue.documents.plain import Pointer
from runtrue.documents.words import lower_first
from runtrue.errors import ConfigError

#: A part of a key in TOML, and a whole one.
_PART = r"""(?:[\w-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_KEY = rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*"


def read_toml(file: Path) -> Document:
    """Read a file of TOML. Raises ConfigError."""
    import tomllib

    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    try:
        text = content.decode()
        return Document(tomllib.loads(text), str(file), "toml", text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        message, _, position = str(error).rpartition(" (at ")
        at = re.match(r"line (\d+), column \d+\)", position)
        line = int(at[1]) if at else content.rstrip().count(b"\n") + 1
        raise ConfigError(f"{file}:{line}: {lower_first(message)}") from error
    except RecursionError as error:
        raise ConfigError(f"{file}: cannot be read: it is nested too deeply") from error


def offsets(text: str) -> Iterator[tuple[Pointer, int]]:
    """Yield each table and key with where its line begins.

    A line inside of a text that looks like a key is read as one.
    """
    yield (), 0
    table: Pointer = ()
    lists: Counter[Pointer] = Counter()
    for line in re.finditer(r"[^\n]+", text):
        if header := re.match(rf"\s*\[(\[)?({_KEY})\]", line[0]):
            table = _dotted(header[2])
            if header[1]:
                lists[table] += 1
                table = (*table, lists[table] - 1)
            yield table, line.start()
        elif key := re.match(rf"({_KEY})=", line[0]):
            yield (*table, *_dotted(key[1])), line.start()


def _dotted(key: str) -> Pointer:
    return tuple(_unquoted(part) for part in re.findall(_PART, key))


def _unquoted(part: str) -> str:
    if not part.startswith('"'):
        return part.strip("'")
    import tomllib

    try:
        return str(tomllib.loads(f"key = {part}")["key"])
    except tomllib.TOMLDecodeError:  # a line inside of a text only looks like a key
        return part
