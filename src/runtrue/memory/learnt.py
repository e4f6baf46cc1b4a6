"""What is kept of a diff: its text without secrets, and its template where it has one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from runtrue.memory.patch import Segment
from runtrue.memory.store import storable
from runtrue.memory.template import Template, template_of
from runtrue.redaction import MARK, Redactor
from runtrue.sandbox import is_judge

#: What is kept of a diff's text.
_LONGEST = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """A diff as it is kept. `key` is the same for diffs that do the same to other names."""

    diff: str
    template: Template | None
    key: str


def learnt_from(diff: str, hide: Redactor) -> Learnt | None:
    """What is kept of a diff; None when it changes nothing."""
    if not diff.strip():
        return None
    safe = storable(hide(diff))
    # Tests are written for one place. What mends another is the change to the code.
    template = template_of(safe, keep=lambda file: not is_judge(file))
    template = _without_secrets(template) if template else None
    of_text = hashlib.blake2b(safe.encode(), digest_size=8).hexdigest()
    cut = f"\n[… {len(safe) - _LONGEST} characters left out …]\n" if len(safe) > _LONGEST else ""
    return Learnt(
        diff=safe[:_LONGEST] + cut, template=template, key=template.key if template else of_text
    )


def _without_secrets(template: Template) -> Template | None:
    """The template, if what it takes and gives holds no secret; lines around are cut there."""
    if any(MARK in line for s in template.segments for line in (*s.before, *s.after)):
        return None
    files = tuple(
        replace(file, segments=tuple(map(_cut, file.segments))) for file in template.files
    )
    return replace(template, files=files)


def _cut(segment: Segment) -> Segment:
    def near(lines: tuple[str, ...]) -> tuple[str, ...]:
        kept: list[str] = []
        for line in lines:
            if MARK in line:
                break
            kept.append(line)
        return tuple(kept)

    above = near(segment.above[::-1])[::-1]
    return replace(segment, above=above, below=near(segment.below))
