"""Clauses: parts of statements that are not where the rest of their statement is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.messages import Sign
from runtrue.fixers.search.syntax.damage import Damage, Patch
from runtrue.fixers.search.syntax.shift import moves, run, shifted

PARTS = {
    "else": ("if", "elif", "for", "while", "try", "except"),
    "elif": ("if", "elif"),
    "except": ("try", "except"),
    "finally": ("try", "except", "else"),
    "case": ("case",),
}


def part(damage: Damage, word: str) -> Iterator[Patch]:
    """An `else` whose `if` is elsewhere: it moves, or what parts it from its `if` moves."""
    line, width = damage.line, damage.width(damage.line)
    levels: dict[int, None] = {}
    lowest = 10**6
    above = damage.before(line)
    while above is not None and len(levels) < 6:
        if damage.width(above) < lowest or damage.width(above) <= width:
            lowest = min(lowest, damage.width(above))
            if re.match(rf"\s*({'|'.join(PARTS[word])})\b", damage.lines[above - 1]):
                levels[damage.width(above)] = None
        above = damage.before(above)
    for nth, level in enumerate(one for one in levels if one != width):
        far = 0.3 * nth
        yield from moves(
            damage, line, level - width, cost=0.9 + far, whole=1.2 + far, alone=1.0 + far
        )
    step = len(damage.unit)
    above = damage.before(line)
    for nth in range(8):
        if above is None or damage.width(above) < width:
            break
        if damage.width(above) == width:
            if damage.heads(above) and re.match(
                rf"\s*({'|'.join(PARTS[word])})\b", damage.lines[above - 1]
            ):
                break
            splices = shifted(damage, above, line - 1, step)
            says = f"lines {above} to {line - 1} indented"
            yield Patch(splices, 0.9 + 0.1 * nth, "indentation", says)
        above = damage.before(above)
    if word in ("else", "elif"):
        start = damage.start(line) + width
        yield damage.swap("keyword", start, start + 4, "if True" if word == "else" else "if", 2.0)
    if word in ("except", "finally"):
        yield from _try(damage)


def untried(damage: Damage) -> Iterator[Patch]:
    """A `try` that no handler follows: one that is elsewhere moves, or one is written."""
    line = damage.line
    head = damage.before(line)
    while head is not None and not re.match(r"\s*try\b", damage.lines[head - 1]):
        head = damage.before(head)
    if head is None:
        return
    width = damage.width(head)
    yield from moves(
        damage, line, width + len(damage.unit) - damage.width(line), cost=1.2, whole=1.4, alone=1.4
    )
    below: int | None = line
    for _ in range(30):
        if below is None:
            break
        if re.match(r"\s*(except|finally)\b", damage.lines[below - 1]):
            own = damage.width(below)
            if own != width:
                yield from moves(damage, below, width - own, cost=1.0, whole=1.2, alone=1.1)
                splices = shifted(damage, head, below - 1, own - width)
                yield Patch(splices, 0.9, "indentation", f"lines {head} to {below - 1} moved")
            break
        below = damage.after(below)
    indent = damage.lines[head - 1][:width]
    at = damage.start(line)
    for nth, text in enumerate(("except Exception:", "finally:")):
        body = f"{indent}{text}\n{indent}{damage.unit}pass\n"
        yield damage.put("body", at, body, 1.8 + 0.2 * nth)
    start = damage.start(head)
    end = min(damage.end(head) + 1, len(damage.text))
    inner = [
        one for one in shifted(damage, head + 1, line - 1, -len(damage.unit)) if one.start >= end
    ]
    yield Patch((Splice(start, end, ""), *inner), 1.6, "header", "`try:` dropped")


def _try(damage: Damage) -> Iterator[Patch]:
    """A `try:` before what comes before a handler that has none."""
    line, width = damage.line, damage.width(damage.line)
    above = damage.before(line)
    for nth in range(6):
        if above is None or damage.width(above) < width:
            break
        if damage.width(above) == width or nth == 0:
            deeper = damage.width(above) > width
            indent = damage.lines[line - 1][:width]
            start = damage.start(above)
            moved = () if deeper else shifted(damage, above, line - 1, len(damage.unit))
            rest = [one for one in moved if one.start != start]
            head = Splice(start, start, f"{indent}try:\n" + ("" if deeper else damage.unit))
            yield Patch((head, *rest), 1.2 + 0.1 * nth, "header", "`try:` put in")
        above = damage.before(above)


def outside(damage: Damage) -> Iterator[Patch]:
    """Move what belongs in a function or a loop into the one above it."""
    line, width = damage.line, damage.width(damage.line)
    looping = damage.says(Sign.LOOP)
    pattern = r"\s*(for|while|async for)\b" if looping else r"\s*(async\s+def|def)\b"
    if damage.says(Sign.ASYNC_OUTSIDE):
        head = damage.before(line + 1)
        while head is not None and not re.match(r"\s*def\b", damage.lines[head - 1]):
            head = damage.before(head)
        if head is not None:
            at = damage.start(head) + damage.width(head)
            yield damage.put("async", at, "async ", 0.6)
        for token in damage.on(line):
            if token.text in ("await", "async"):
                yield damage.swap("async", token.start, token.end + 1, "", 1.0)
        return
    nth = 0
    head = damage.before(line)
    while head is not None and nth < 3:
        if re.match(pattern, damage.lines[head - 1]) and damage.width(head) <= width:
            body = damage.after(head)
            inner = damage.width(head) + len(damage.unit)
            if body is not None and damage.width(body) > damage.width(head):
                inner = damage.width(body)
            if inner > width:
                yield from _gathered(damage, head, inner - width, 0.4 * nth)
                nth += 1
        head = damage.before(head)
    start = damage.start(line) + width
    yield damage.put("comment mark", start, "pass  # ", 2.5)


def _gathered(damage: Damage, head: int, width: int, far: float) -> Iterator[Patch]:
    """The line of the error and its siblings above, as many as may belong to the head's body."""
    line, own = damage.line, damage.width(damage.line)
    firsts = []
    above: int | None = line
    while above is not None and above > head and damage.width(above) >= own:
        if damage.width(above) == own:
            firsts.append(above)
        above = damage.before(above)
    # Decorators and comments aside, all of them or the one alone are the likeliest.
    for nth, first in enumerate(firsts[:25]):
        edge = nth == 0 or nth == len(firsts) - 1
        cost = 0.8 + far + (0.0 if edge else 0.3 + 0.02 * nth)
        ends = run(damage, line)
        for end in dict.fromkeys([ends[0], ends[-1]]):
            splices = shifted(damage, first, end, width)
            says = f"lines {first} to {end} indented" if first != end else f"line {end} indented"
            price = cost + (0.0 if end == ends[-1] else 0.1)
            yield Patch(splices, price, "indentation", says)
