"""Layout: lines and blocks that are indented too far, too little or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.messages import Sign, line_named
from runtrue.fixers.search.syntax import clauses
from runtrue.fixers.search.syntax.damage import Damage, Patch
from runtrue.fixers.search.syntax.shift import moves, run, shifted


def indentation(damage: Damage) -> Iterator[Patch]:
    """Lines moved to the left or to the right, as far as what Python says calls for."""
    if damage.says(Sign.BLOCK_EXPECTED):
        yield from _body(damage)
    elif damage.says(Sign.INDENTED):
        yield from _too_far(damage)
    elif damage.says(Sign.UNINDENTED):
        yield from _between(damage)
    elif damage.says(Sign.HANDLER_EXPECTED):
        yield from clauses.untried(damage)
    elif damage.says(Sign.TABS):
        yield from _tabs(damage)
    elif damage.says(Sign.OUTSIDE):
        yield from clauses.outside(damage)
    elif (
        found := re.match(r"\w+", damage.content(damage.line))
    ) and found.group() in clauses.PARTS:
        yield from clauses.part(damage, found.group())
    yield from _tabs(damage, everywhere=False)


def _body(damage: Damage) -> Iterator[Patch]:
    header = line_named(damage.message) or damage.before(damage.line) or damage.line
    line = damage.line if damage.line > header else damage.after(header)
    step = len(damage.unit)
    wanted = damage.width(header) + step
    # Nothing to run is written for what has no body; code out of a comment comes first.
    yield from _filled(damage, header, wanted)
    yield damage.swap("header", damage.start(header), damage.end(header) + 1, "", 3.0)
    if line is None:
        return
    width = wanted - damage.width(line)
    names = damage.content(header).split()[:1] in (["def"], ["class"], ["async"])
    following = damage.after(line)
    fits = following is not None and damage.width(following) == wanted + step * damage.heads(line)
    less = 0.5 * (damage.width(line) < damage.width(header))
    yield from moves(
        damage,
        line,
        width,
        cost=(1.2 if names else 0.9) + less,
        whole=0.7 if names else 1.1 + less,
        alone=0.6 if fits else 1.4,
    )
    # With the other parts of the same statement, where all of them slid to the left.
    end = run(damage, line)[-1]
    part = damage.after(end)
    while part is not None and damage.width(part) == damage.width(header) - step:
        if not re.match(r"\s*(else|elif|except|finally|case)\b", damage.lines[part - 1]):
            break
        body = damage.after(part)
        end = run(damage, body)[-1] if body is not None else part
        splices = shifted(damage, line, end, width)
        yield Patch(splices, 1.1, "indentation", f"lines {line} to {end} indented")
        part = damage.after(end)


def _filled(damage: Damage, header: int, wanted: int) -> Iterator[Patch]:
    indent = damage.unit[0] * wanted
    first, last = damage.region
    own = [damage.content(line) for line in range(first, last + 1)]
    borrowed = [text for text in dict.fromkeys(own) if re.match(r"(return|raise)\b", text)]
    bodies = ["pass", "continue", "return", "return False", "return True", "return None", "break"]
    near = damage.end(header)
    for nth, body in enumerate(dict.fromkeys([*bodies[:1], *borrowed[:5], *bodies[1:]])):
        # A body where there is none says less than moving the lines that are there.
        yield damage.put("body", near, f"\n{indent}{body}", 1.5 + 0.25 * nth)
    below = header + 1
    while below <= len(damage.lines) and (
        not damage.content(below) or damage.content(below).startswith("#")
    ):
        mark = re.match(r"(\s*)#+ ?", damage.lines[below - 1])
        if mark:
            start = damage.start(below)
            yield damage.swap("uncommented", start, start + mark.end(), indent, 1.4)
        below += 1


def _too_far(damage: Damage) -> Iterator[Patch]:
    line = damage.line
    before = damage.before(line)
    if before is None:
        yield from moves(damage, line, -damage.width(line), cost=0.9, whole=0.6, alone=0.8)
        return
    width = damage.width(line)
    levels = _levels(damage, line)
    for nth, level in enumerate(levels):
        if level != width:
            far = 0.8 * nth
            yield from moves(
                damage, line, level - width, cost=1.1 + far, whole=0.8 + far, alone=0.9 + far
            )
    # What stands before it may be what was moved.
    above: int | None = before
    for nth in range(8):
        if above is None or damage.width(above) > damage.width(before):
            break
        if damage.width(above) == damage.width(before):
            earlier = damage.before(above)
            good = earlier is not None and damage.width(earlier) == width
            cost = 0.8 if good else 1.4 + 0.1 * nth
            splices = shifted(damage, above, line - 1, width - damage.width(before))
            yield Patch(splices, cost, "indentation", f"line {above} indented")
        if damage.heads(above):
            break
        above = damage.before(above)
    for above in range(line - 1, max(line - 4, 0), -1):
        mark = re.match(r"(\s*)#+ ?(?=.*:\s*$)", damage.lines[above - 1])
        if mark:
            at = damage.start(above)
            yield damage.swap("uncommented", at, at + mark.end(), mark.group(1), 1.2)
    text = damage.lines[before - 1]
    if not damage.heads(before) and re.search(r"\w\s*(\(.*\))?$", text):
        for keyword in ("if", "while", "else", "def", "class", "for", "with", "try"):
            start = damage.start(before) + damage.width(before)
            splices = (
                Splice(start, start, f"{keyword} "),
                Splice(damage.end(before), damage.end(before), ":"),
            )
            yield Patch(splices, 2.2, "header", f"`{keyword}` and a colon put in")


def _levels(damage: Damage, line: int) -> list[int]:
    """The widths that a line could have, by what stands above it, the nearest block first."""
    levels: list[int] = []
    above = damage.before(line)
    if above is not None and damage.heads(above):
        levels.append(damage.width(above) + len(damage.unit))
    lowest = 10**6
    while above is not None and len(levels) < 8:
        if damage.width(above) < lowest:
            lowest = damage.width(above)
            levels.append(lowest)
        if lowest == 0:
            break
        above = damage.before(above)
    return levels


def _between(damage: Damage) -> Iterator[Patch]:
    line = damage.line
    width = damage.width(line)
    for nth, level in enumerate(sorted(_levels(damage, line), key=lambda one: abs(one - width))):
        if level == width:
            continue
        far = 0.25 * nth
        yield from moves(
            damage, line, level - width, cost=1.0 + far, whole=0.7 + far, alone=0.9 + far
        )
    # A head above may have slid to the left, which gave its body a level of its own.
    above = damage.before(line)
    for _ in range(12):
        if above is None:
            break
        if damage.width(above) < width:
            splices = shifted(damage, above, above, width - damage.width(above))
            yield Patch(splices, 0.9, "indentation", f"line {above} indented")
            break
        above = damage.before(above)
    # All above may be what is off: the lines of the block before, back to its head.
    above = damage.before(line)
    if above is not None and damage.width(above) > width:
        off = damage.width(above)
        first = above
        while (one := damage.before(first)) is not None and damage.width(one) >= off:
            first = one
        head = damage.before(first)
        if head is not None and damage.width(head) < width:
            splices = shifted(damage, first, line - 1, width - off)
            yield Patch(splices, 1.1, "indentation", f"lines {first} to {line - 1} dedented")


def _tabs(damage: Damage, *, everywhere: bool = True) -> Iterator[Patch]:
    if "\t" not in damage.text or not (everywhere or damage.says(Sign.INDENT)):
        return
    for size in (8, 4, 2):
        splices = []
        for line, content in enumerate(damage.lines, 1):
            indent = content[: damage.width(line)]
            if "\t" in indent and line not in damage.texts:
                start = damage.start(line)
                splices.append(Splice(start, start + len(indent), indent.expandtabs(size)))
        if splices:
            says = f"tabs as {size} spaces"
            cost = 0.5 + 0.1 * (size != 8) + 0.1 * (size == 2)
            yield Patch(tuple(splices), cost, "tabs", says)
