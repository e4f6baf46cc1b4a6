"""Files of TOML, with the line of every key in them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.config.data import Keys
from runtrue.config.words import lower_first, printable
from runtrue.errors import ConfigError

#: A part of a key in TOML, and a whole one.
_PART = r"""(?:[\w-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_KEY = rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*"


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A file that was read, or the part of it below some keys."""

    file: Path
    text: str
    prefix: Keys
    data: Any

    @property
    def table(self) -> str:
        """What keys with values are called here."""
        return "table"

    @classmethod
    def read(cls, file: Path, prefix: Keys = ()) -> TomlFile:
        """Read a file, and take what is below some of its keys; nothing there is an empty table.

        A broken pyproject.toml is refused as well: it might hold our settings, and going on without
        them would be a guess.
        """
        text, data = _parse(file)
        for part in prefix:
            data = data.get(part, {}) if isinstance(data, dict) else {}
        return cls(file, text, prefix, data)

    def error(self, path: Keys, message: str) -> ConfigError:
        """What is wrong at a place, with its line and its whole key."""
        path = (*self.prefix, *path)
        key = ".".join(part or '""' for part in path)
        return ConfigError(
            f"{self.file}:{_line_of(self.text, path)}: {printable(f'{key}: {message}')}"
        )


def _parse(file: Path) -> tuple[str, Any]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    try:
        text = content.decode()
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).rpartition(" (at ")
        at = re.match(r"line (\d+), column \d+\)", place)
        line = int(at[1]) if at else content.rstrip().count(b"\n") + 1
        raise ConfigError(f"{file}:{line}: {lower_first(message)}") from error
    except RecursionError as error:
        raise ConfigError(f"{file}: cannot be read: it is nested too deeply") from error


def _line_of(text: str, path: Keys) -> int:
    """The line on which a key is set, or else the nearest table around it begins."""
    table: Keys = ()
    lists: Counter[Keys] = Counter()
    best, best_depth = 1, 0
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(rf"\s*\[(\[)?({_KEY})\]", line):
            table = here = _dotted(header[2])
            if header[1]:
                lists[here] += 1
                table = here = (*here, str(lists[here] - 1))
        elif key := re.match(rf"({_KEY})=", line):
            here = (*table, *_dotted(key[1]))
        else:
            continue
        depth = len(here)
        if here == path[:depth] and depth > best_depth:
            best, best_depth = number, depth
    return best


def _dotted(key: str) -> Keys:
    return tuple(_unquoted(part) for part in re.findall(_PART, key))


def _unquoted(part: str) -> str:
    if not part.startswith('"'):
        return part.strip("'")
    try:
        return str(tomllib.loads(f"key = {part}")["key"])
    except tomllib.TOMLDecodeError:  # a line inside of a text only looks like a key
        return part
