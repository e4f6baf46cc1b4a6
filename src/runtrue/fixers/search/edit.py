"""Edits: small changes to the text of one file, each explained in half a sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Splice:
    """Some text in place of the characters from `start` to `end` of a file."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One proposed change of a file, named from the root.

    `kind` is the name of the operator that proposed it, `line` the line it is about, and `says`
    what it does in a few words. `unlikely` is how much rarer it is than the plain edits of its
    kind: 1 for those, more for larger or stranger ones. `doubt` says why it would be a poor fix
    even if all tests pass (it drops a check, swallows an exception, special-cases a value).
    """

    file: str
    splices: tuple[Splice, ...]
    kind: str
    line: int
    says: str
    unlikely: float = 1.0
    doubt: str | None = None

    def applied(self, text: str) -> str:
        """Return the text of the file with the edit made."""
        return splice(text, self.splices)


#: The byte order mark, which is no part of the program.
MARK = "\ufeff"


def parsed(text: str) -> ast.Module:
    """Parse a text, with or without a byte order mark. Raises what `ast.parse` does."""
    return ast.parse(text.removeprefix(MARK))


def splice(text: str, splices: Iterable[Splice]) -> str:
    """Return a text with splices made, which may come in any order but not overlap."""
    parts: list[str] = []
    at = 0
    for one in sorted(splices):
        parts += [text[at : one.start], one.text]
        at = one.end
    parts.append(text[at:])
    return "".join(parts)


def overlap(one: Edit, other: Edit) -> bool:
    """Return whether two edits cannot both be made."""
    if one.file != other.file:
        return False
    return any(
        (a.start < b.end and b.start < a.end) or a.start == b.start
        for a in one.splices
        for b in other.splices
    )
