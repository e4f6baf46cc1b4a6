"""Moving: lines and blocks to the left or to the right."""

from __future__ import annotations

from collections.abc import Iterator

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.syntax.damage import Damage, Patch


def shifted(damage: Damage, first: int, last: int, width: int) -> tuple[Splice, ...]:
    """Splices that move lines by some characters; lines within a long string stay."""
    found = []
    for line in range(first, last + 1):
        if not damage.content(line) or (line in damage.texts and line != first):
            continue
        start = damage.start(line)
        if width > 0:
            found.append(Splice(start, start, damage.unit[0] * width))
        elif damage.width(line):
            found.append(Splice(start, start + min(-width, damage.width(line)), ""))
    return tuple(found)


def run(damage: Damage, line: int) -> list[int]:
    """The ends of what may move with a line: after it, after its siblings, to the block's end."""
    ends = []
    width, end, current = damage.width(line), line, damage.after(line)
    while current is not None and damage.width(current) >= width:
        if damage.width(current) == width:
            ends.append(end)
        end = _last_line(damage, current)
        current = damage.after(current)
    return [*ends, max(end, _last_line(damage, line))]


def _last_line(damage: Damage, line: int) -> int:
    after = damage.after(line)
    last = after - 1 if after else len(damage.lines)
    while last > line and not damage.content(last):
        last -= 1
    return last


def moves(
    damage: Damage, line: int, width: int, *, cost: float, whole: float, alone: float
) -> Iterator[Patch]:
    """A line moved: with all of its block, with some of it, and by itself."""
    ends = run(damage, line)
    way = "indented" if width > 0 else "dedented"
    chosen = {end: cost + 0.1 * nth for nth, end in enumerate(ends[:10])}
    chosen[ends[-1]] = min(whole, chosen.get(ends[-1], whole))
    for end, price in chosen.items():
        says = f"line {line} {way}" if end == line else f"lines {line} to {end} {way}"
        splices = shifted(damage, line, end, width)
        if splices:
            yield Patch(splices, price, "indentation", says)
    if ends[0] != line:
        splices = shifted(damage, line, line, width)
        if splices:
            yield Patch(splices, alone, "indentation", f"line {line} {way}")
