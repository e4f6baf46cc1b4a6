"""Templates: a fix as it can be made again elsewhere, where other names are used.

A template holds the lines that were replaced, those that replaced them, and the lines around. What
occurs on both sides (a name, a number, a string) is a *hole*: it may be called otherwise in another
place, there always the same. Everything else has to be there as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

import msgspec

from runtrue.memory.patch import Segment, read_patch
from runtrue.memory.tokens import Kind, Line, read_line

#: A fix larger than this is no pattern.
_MOST_SEGMENTS = 12
_MOST_LINES = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTemplate:
    """What is done to one file. `file` is how it was called where the fix was made."""

    file: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A fix that may be made again, of one or more files."""

    files: tuple[FileTemplate, ...]
    holes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The same for fixes that differ in nothing but what the holes hold."""
        numbers: dict[str, int] = {}
        parts: list[str] = []
        for segment in self.segments:
            # The lines around are where it was, not what it was.
            alone = _dedented(Segment(before=segment.before, after=segment.after))
            for mark, lines in (("-", alone.before), ("+", alone.after)):
                for line in map(read_line, lines):
                    parts.append(f"{mark}{line.indent}")
                    for token in line.tokens:
                        is_hole = token.kind is not Kind.SIGN and token.text in self.holes
                        number = numbers.setdefault(token.text, len(numbers)) if is_hole else 0
                        parts.append(f"{token.kind}{number}" if is_hole else token.text)
        text = "\0".join(parts).encode(errors="backslashreplace")
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    @property
    def segments(self) -> Iterator[Segment]:
        """All changed places, file by file."""
        return (segment for file in self.files for segment in file.segments)

    def parts(self) -> tuple[Template, ...]:
        """Each changed place as a template of its own, where there are several."""
        alone = [
            Template(files=(replace(file, segments=(segment,)),), holes=self.holes)
            for file in self.files
            for segment in file.segments
        ]
        return tuple(alone) if len(alone) > 1 else ()


def template_of(diff: str, *, keep: Callable[[str], bool] = bool) -> Template | None:
    """The template of a diff's changes to the files that `keep` wants; None when it has none.

    What is more than changed lines (a file that came or went), too much, or has nothing to be
    found by again, has no template.
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
    template = Template(files=tuple(files))
    lines = sum(len(s.before) + len(s.after) for s in template.segments)
    if not 0 < lines <= _MOST_LINES or sum(1 for _ in template.segments) > _MOST_SEGMENTS:
        return None
    return replace(template, holes=tuple(sorted(_holes(template))))


def load_template(text: str) -> Template | None:
    """A template from its JSON; None when it is of another form."""
    try:
        return msgspec.json.decode(text, type=Template)
    except msgspec.DecodeError:
        return None


def dump_template(template: Template) -> str:
    """A template as JSON."""
    return msgspec.json.encode(template).decode()


def _dedented(segment: Segment) -> Segment:
    """A segment without the indentation that all of its lines share; blank lines stay as is."""
    parts = (segment.before, segment.after, segment.above, segment.below)
    indents = [read_line(line).indent for part in parts for line in part if line.strip()]
    shared = sum(
        1 for _ in takewhile(lambda signs: len(set(signs)) == 1, zip(*indents, strict=False))
    )

    def cut(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(line[shared:] if line.strip() else line for line in lines)

    before, after, above, below = map(cut, parts)
    return Segment(before=before, after=after, above=above, below=below)


def _has_anchor(segment: Segment) -> bool:
    lines = (*segment.before, *segment.above, *segment.below)
    return any(line.strip() for line in lines)


def _holes(template: Template) -> set[str]:
    before: set[str] = set()
    after: set[str] = set()
    for segment in template.segments:
        around = (*segment.above, *segment.below)
        before |= _names((*segment.before, *around))
        after |= _names((*segment.after, *around))
    return before & after


def _names(lines: tuple[str, ...]) -> set[str]:
    varying = (Kind.WORD, Kind.NUMBER, Kind.STRING)
    parsed: list[Line] = [read_line(line) for line in lines]
    return {t.text for line in parsed for t in line.tokens if t.kind in varying}
