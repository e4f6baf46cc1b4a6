"""Templates: a fix that can be made again elsewhere, where other names are used.

A template holds the lines that were replaced, those that replaced them, and the lines around. What
occurs on both sides (a name, a number, a string) is a *hole*: elsewhere it may have another name,
there always the same. Everything else must be as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

import msgspec

from runtrue.memory.patch import ChangedLines, read_patch
from runtrue.memory.store import storable
from runtrue.memory.tokens import CodeTokenType, read_line
from runtrue.redaction import MARK, Redactor
from runtrue.sandbox import is_judge
from runtrue.typed_data import decode_json

#: A fix larger than this is no pattern.
_MOST_SEGMENTS = 12
_MOST_LINES = 120
#: The characters of a diff that are stored.
_LONGEST_DIFF = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTemplate:
    """The changes to one file; `file` is its name where the fix was made."""

    file: str
    segments: tuple[ChangedLines, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixTemplate:
    """A fix of one or more files that may be made again."""

    files: tuple[FileTemplate, ...]
    holes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A hash that is equal for fixes that differ only in the values of holes."""
        numbers: dict[str, int] = {}
        parts: list[str] = []
        for segment in self.segments:
            # The lines around say where it was, not what it was.
            alone = _dedented(ChangedLines(before=segment.before, after=segment.after))
            for mark, lines in (("-", alone.before), ("+", alone.after)):
                for line in map(read_line, lines):
                    parts.append(f"{mark}{line.indent}")
                    for token in line.tokens:
                        is_hole = token.kind is not CodeTokenType.SIGN and token.text in self.holes
                        number = numbers.setdefault(token.text, len(numbers)) if is_hole else 0
                        parts.append(f"{token.kind}{number}" if is_hole else token.text)
        text = "\0".join(parts).encode(errors="backslashreplace")
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    @property
    def segments(self) -> Iterator[ChangedLines]:
        """All changed lines, file by file."""
        return (segment for file in self.files for segment in file.segments)

    def parts(self) -> tuple[FixTemplate, ...]:
        """Return each segment as a template of its own, if there are several."""
        alone = [
            FixTemplate(files=(replace(file, segments=(segment,)),), holes=self.holes)
            for file in self.files
            for segment in file.segments
        ]
        return tuple(alone) if len(alone) > 1 else ()


def template_of(diff: str, *, keep: Callable[[str], bool] = bool) -> FixTemplate | None:
    """Return the template of a diff's changes to the files that `keep` wants, if it has one.

    It has none if it adds or removes a file, is too large, or has no line to be found by again.
    """
    changes = [change for change in read_patch(diff) if keep(change.file)]
    files = []
    for change in changes:
        if change.segments is None:
            return None
        segments = tuple(map(_dedented, change.segments))
        if not all(map(_has_anchor, segments)):
            return None
        if segments:
            files.append(FileTemplate(file=change.file, segments=segments))
    template = FixTemplate(files=tuple(files))
    lines = sum(len(s.before) + len(s.after) for s in template.segments)
    if not 0 < lines <= _MOST_LINES or sum(1 for _ in template.segments) > _MOST_SEGMENTS:
        return None
    return replace(template, holes=tuple(sorted(_holes(template))))


def load_template(text: str) -> FixTemplate | None:
    """Read a template from its JSON; None if it is of another form."""
    try:
        return decode_json(text, FixTemplate)
    except msgspec.DecodeError:
        return None


def dump_template(template: FixTemplate) -> str:
    """Return a template as JSON."""
    return msgspec.json.encode(template).decode()


def _dedented(segment: ChangedLines) -> ChangedLines:
    """Remove the indentation that all lines of a segment share; blank lines stay as they are."""
    parts = (segment.before, segment.after, segment.above, segment.below)
    indents = [read_line(line).indent for part in parts for line in part if line.strip()]
    columns = zip(*indents, strict=False)
    shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))

    def cut(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(line[shared:] if line.strip() else line for line in lines)

    before, after, above, below = map(cut, parts)
    return ChangedLines(before=before, after=after, above=above, below=below)


def _has_anchor(segment: ChangedLines) -> bool:
    lines = (*segment.before, *segment.above, *segment.below)
    return any(line.strip() for line in lines)


def _holes(template: FixTemplate) -> set[str]:
    before: set[str] = set()
    after: set[str] = set()
    for segment in template.segments:
        around = (*segment.above, *segment.below)
        before |= _names((*segment.before, *around))
        after |= _names((*segment.after, *around))
    return before & after


def _names(lines: tuple[str, ...]) -> set[str]:
    varying = (CodeTokenType.WORD, CodeTokenType.NUMBER, CodeTokenType.STRING)
    return {t.text for line in lines for t in read_line(line).tokens if t.kind in varying}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDiff:
    """A diff as it is stored, without secrets. `key` is equal for diffs that differ in names."""

    diff: str
    template: FixTemplate | None
    key: str


def stored_diff(diff: str, redact: Redactor) -> StoredDiff | None:
    """Return a diff as it is stored; None if it changes nothing."""
    if not diff.strip():
        return None
    safe = storable(redact(diff))
    # Tests are written for one project. What fixes another is the change to the code.
    template = template_of(safe, keep=lambda file: not is_judge(file))
    template = _without_secrets(template) if template else None
    of_text = hashlib.blake2b(safe.encode(), digest_size=8).hexdigest()
    missing = len(safe) - _LONGEST_DIFF
    cut = f"\n[… {missing} characters left out …]\n" if missing > 0 else ""
    key = template.key if template else of_text
    return StoredDiff(diff=safe[:_LONGEST_DIFF] + cut, template=template, key=key)


def _without_secrets(template: FixTemplate) -> FixTemplate | None:
    """Cut the lines around at a secret; None if the changed lines hold one."""
    if any(MARK in line for s in template.segments for line in (*s.before, *s.after)):
        return None

    def near(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(takewhile(lambda line: MARK not in line, lines))

    def cut(segment: ChangedLines) -> ChangedLines:
        return replace(segment, above=near(segment.above[::-1])[::-1], below=near(segment.below))

    files = (replace(file, segments=tuple(map(cut, file.segments))) for file in template.files)
    return replace(template, files=tuple(files))
