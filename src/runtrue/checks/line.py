"""Lines: the words of a command line, and the commands that it is made of."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

#: Characters that need a shell; a command with none of them is run directly.
_SHELL = re.compile(r"[|&;<>()$`\n*?~{}\[\]]|^\s*\w+=")
_TOKEN = re.compile(
    r"""(?P<word>(?:[^\s;&|()<>'"\\]|\\.|'[^']*'|"(?:\\.|[^"\\])*")+)"""
    r"""|(?P<redirection>[<>]+&?)|(?P<end>[;&|()\n]+)""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a line, without its quotes, and where it begins and ends there."""

    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The bare name of a program: `node_modules/.bin/jest` is `jest`."""
        path = PurePosixPath(self.text)
        return path.stem if path.suffix in (".js", ".cjs", ".mjs") else path.name


def is_shell(command: str) -> bool:
    """Return whether a command needs a shell."""
    return _SHELL.search(command) is not None


def argv_of(command: str, *, shell: bool) -> tuple[str, ...]:
    """Return a command as an argument list."""
    return ("/bin/sh", "-c", command) if shell else tuple(shlex.split(command))


def commands_of(line: str) -> Iterator[tuple[Word, ...]]:
    """Yield the words of each command in a line, up to a quote that never ends."""
    words: list[Word] = []
    for token in _TOKEN.finditer(line):
        if token["word"] is not None:
            words.append(Word(_unquoted(token["word"]), token.start(), token.end()))
        elif token["end"] is not None and words:
            yield tuple(words)
            words = []
    if words:
        yield tuple(words)


def files_named(command: str) -> tuple[Path, ...]:
    """Return the files that a command names by their absolute paths: it needs to see them."""
    words = (word.text for words in commands_of(command) for word in words)
    paths = (Path(word).expanduser() for word in words if word.startswith(("/", "~/")))
    return tuple(path for path in paths if path.is_file())


def _unquoted(word: str) -> str:
    try:
        return "".join(shlex.split(word, comments=False))
    except ValueError:
        return word
