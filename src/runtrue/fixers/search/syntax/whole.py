"""Whole texts: what does not belong to a program but came along with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.syntax.damage import Damage, Patch

_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*$", re.MULTILINE)
_CONFLICT = re.compile(
    r"^<<<<<<<[^\n]*\n(?P<ours>(?:.*\n)*?)(?:^\|\|\|\|\|\|\|[^\n]*\n(?:.*\n)*?)?"
    r"^=======[^\n]*\n(?P<theirs>(?:.*\n)*?)^>>>>>>>[^\n]*(?:\n|\Z)",
    re.MULTILINE,
)
_PROMPT = re.compile(r"^[ \t]*(>>> ?|\.\.\. ?)", re.MULTILINE)
_NUMBER = re.compile(r"^[ \t]*\d+[:|.)]? ?", re.MULTILINE)


def fences(damage: Damage) -> Iterator[Patch]:
    """Markdown around the code: what the fence holds, or all but the fence."""
    marks = list(_FENCE.finditer(damage.text))
    if not marks:
        return
    if len(marks) >= 2:
        first, last = marks[0], marks[1]
        outside = (
            Splice(0, min(first.end() + 1, len(damage.text)), ""),
            Splice(last.start(), len(damage.text), ""),
        )
        yield Patch(outside, 0.5, "fence", "only what the fence holds")
    lines = tuple(Splice(mark.start(), min(mark.end() + 1, len(damage.text)), "") for mark in marks)
    yield Patch(lines, 0.4, "fence", "the fences dropped")
    if len(marks) == 1:
        rest = (Splice(0, min(marks[0].end() + 1, len(damage.text)), ""),)
        yield Patch(rest, 0.6, "fence", "only what follows the fence")
        above = (Splice(marks[0].start(), len(damage.text), ""),)
        yield Patch(above, 0.7, "fence", "only what precedes the fence")


def conflicts(damage: Damage) -> Iterator[Patch]:
    """Both sides of a merge that was left open."""
    found = list(_CONFLICT.finditer(damage.text))
    if not found:
        marks = list(
            re.finditer(r"^(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|).*\n?", damage.text, re.M)
        )
        if marks:
            lines = tuple(Splice(mark.start(), mark.end(), "") for mark in marks)
            yield Patch(lines, 0.6, "merge", "the marks of a merge dropped")
        return
    for nth, (side, says) in enumerate((("ours", "this side"), ("theirs", "the other side"))):
        splices = tuple(Splice(one.start(), one.end(), one.group(side)) for one in found)
        kept = f"{says} of the merge kept"
        yield Patch(splices, 0.4 + 0.05 * nth, "merge", kept)
        if len(found) > 1:
            one = found[0]
            splices = (Splice(one.start(), one.end(), one.group(side)),)
            yield Patch(splices, 0.5 + 0.05 * nth, "merge", kept)
    both = tuple(
        Splice(one.start(), one.end(), one.group("ours") + one.group("theirs")) for one in found
    )
    yield Patch(both, 0.7, "merge", "both sides of the merge kept")


def margins(damage: Damage) -> Iterator[Patch]:
    """Drop what precedes the code of each line: diff marks, prompts, line numbers."""
    lines = damage.lines
    marked = [line for line, text in enumerate(lines, 1) if re.match(r"[+-](?![+-]{2})", text)]
    if (marked and damage.lines[damage.line - 1][:1] in ("+", "-", "@")) or any(
        line in marked for line in (damage.line, damage.line - 1, damage.line + 1)
    ):
        full = all(not text or text[0] in "+- @\\di" for text in lines)
        splices = []
        for line, text in enumerate(lines, 1):
            start, end = damage.start(line), min(damage.end(line) + 1, len(damage.text))
            if re.match(r"(-(?!\s*\d)|@@|\+\+\+|diff |index |\\ No)", text):
                splices.append(Splice(start, end, ""))
            elif text.startswith("+") or (full and text.startswith(" ")):
                splices.append(Splice(start, start + 1, ""))
        yield Patch(tuple(splices), 0.7, "diff", "the marks of a diff dropped")
        spaced = tuple(Splice(damage.start(line), damage.start(line) + 1, " ") for line in marked)
        yield Patch(spaced, 1.0, "diff", "the marks of a diff as spaces")
    for pattern, what in ((_PROMPT, "prompts"), (_NUMBER, "line numbers")):
        if pattern.match(lines[damage.line - 1]):
            found = tuple(
                Splice(one.start(), one.end(), "") for one in pattern.finditer(damage.text)
            )
            yield Patch(found, 0.7, "margin", f"{what} dropped")


def prologue(damage: Damage) -> Iterator[Patch]:
    """Prose before and after a program, as it comes from those who explain what they write."""
    # A file may begin with a docstring, which is no prose.
    code = re.compile(
        r"""\s*(import |from \w|def |class |async def |@\w|if __name__|#|\w+ *=[^=]|r?["'])"""
    )
    if damage.width(damage.line):
        return
    first = next((n for n, text in enumerate(damage.lines, 1) if code.match(text)), None)
    if first and damage.line < first:
        before = Splice(0, damage.start(first), "")
        cost = 0.8 if _wordy(damage.text[: before.end]) else 3.0
        yield Patch((before,), cost, "prose", "the prose before it dropped")
    if damage.before(damage.line):
        after = Splice(damage.start(damage.line), len(damage.text), "")
        cost = 1.0 if _wordy(damage.text[after.start :]) else 4.0
        yield Patch((after,), cost, "prose", "what follows it dropped")


def _wordy(text: str) -> bool:
    """True if a text is sentences rather than code."""
    words = re.findall(r"[^\W\d_]+", text)
    return len(words) > 2 and len(re.findall(r"[=()\[\]{}<>+*/_]", text)) < len(words) / 4
