"""Alternatives: other fixes that pass as well, each with an input on which it behaves otherwise."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_RAISES = "raises "


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call on which two fixes differ: what the alternative gives, and what the chosen one."""

    call: str
    gives: str
    instead: str
    #: The module to import the function from, where a test can simply call it.
    module: str = ""

    def as_test(self, gives: str) -> str | None:
        """Return a test that wants `gives` of the call; None where it cannot be written down."""
        if not self.module or not _is_expression(self.call):
            return None
        if gives.startswith(_RAISES):
            body = f"    with pytest.raises({gives.removeprefix(_RAISES)}):\n        {self.call}\n"
            begin = "import pytest\n"
        elif _is_literal(gives):
            body, begin = f"    assert {self.call} == {gives}\n", ""
        else:
            return None
        name = self.call.partition("(")[0]
        start = f"{begin}from {self.module} import {name}\n\n\n"
        return f"{start}def test_{name}_as_a_person_said():\n{body}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Lines of a file, from `start` up to before `end`, counted from 0, and what replaces them."""

    file: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another fix that passes, and that behaves otherwise than the one that was chosen."""

    says: str
    confidence: float
    diff: str
    edits: tuple[Replacement, ...]
    example: Example

    def texts(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return the files with this fix made; `before` are those that it changes."""
        return {file: replaced(text, self.edits_of(file)) for file, text in before.items()}

    def edits_of(self, file: str) -> list[Replacement]:
        """Return what it replaces in a file."""
        return [edit for edit in self.edits if edit.file == file]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it changes."""
        return tuple(dict.fromkeys(edit.file for edit in self.edits))


def replacements(file: str, before: str, after: str) -> Iterator[Replacement]:
    """Yield what has to be replaced in a file to make one text of another."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            yield Replacement(file=file, start=i, end=j, text="".join(new[k:m]))


def replaced(text: str, edits: Iterable[Replacement]) -> str:
    """Return a text with some of its lines replaced."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda one: -one.start):
        lines[edit.start : edit.end] = [edit.text]
    return "".join(lines)


def unified_diff(file: str, before: str, after: str) -> str:
    """Return the difference between two texts of a file, to be read."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, f"a/{file}", f"b/{file}"))


def chosen(alternatives: Sequence[Alternative], answer: str) -> Alternative | None:
    """Return the alternative that an answer names by its number; 1 is the fix itself."""
    text = answer.strip()
    number = int(text) if text.isdecimal() else 0
    return alternatives[number - 2] if 2 <= number <= len(alternatives) + 1 else None


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _is_expression(call: str) -> bool:
    """True if a call is written with literals alone."""
    try:
        node = ast.parse(call, mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    if not isinstance(node, ast.Call):
        return False
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return all(_is_literal(ast.unparse(value)) for value in values)
