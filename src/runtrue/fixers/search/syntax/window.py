"""Windows: of a large file only what is damaged is looked at, since parsing all of it is slow."""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from runtrue.fixers.search.edit import MARK
from runtrue.fixers.search.syntax.damage import parses
from runtrue.fixers.search.syntax.diff import splices_between
from runtrue.fixers.search.syntax.repair import SyntaxFix, search

_SMALL = 300  # lines of a file that is looked at as a whole
_JOINED = 4  # chunks that may belong together, as where a long string holds what looks like code
_TOP = re.compile(r"(?:def|class|async def|@)\b|@|if __name__\b")
_METHOD = r"(?:def\b|async def\b|@)"
_CLASS = "class _:\n"


def repairs(text: str, *, limit: int = 200, seconds: float = 3.0) -> Iterator[SyntaxFix]:
    """The readings of a text that does not parse, each of which does, the likeliest first.

    Nothing for a text that parses. At most `limit` are given, and none is looked for after
    `seconds`.
    """
    if text.startswith(MARK):
        for one in repairs(text.removeprefix(MARK), limit=limit, seconds=seconds):
            moved = (replace(s, start=s.start + 1, end=s.end + 1) for s in one.splices)
            yield replace(one, text=MARK + one.text, splices=tuple(moved))
        return
    deadline = time.monotonic() + seconds
    if text.count("\n") <= _SMALL:
        yield from search(text, limit=limit, seconds=seconds)
        return
    if parses(text) is None:
        return
    lines = text.splitlines(keepends=True)
    bad = _damaged(lines, "")
    if not bad:
        yield from search(text, limit=limit, seconds=deadline - time.monotonic())
        return
    share = (deadline - time.monotonic()) * 0.8 / len(bad)
    found: list[Iterator[SyntaxFix]] = []
    for first, last, lead in bad:
        piece = lead + "".join(lines[first:last])
        stream = search(piece, limit=limit, seconds=share)
        found.append(one for one in stream if one.text.startswith(lead))
    given = 0
    some = False
    for whole in _together(text, lines, bad, found):
        if parses(whole.text) is None:
            some = True
            given += 1
            yield whole
        if given >= limit or time.monotonic() > deadline:
            return
    if not some:
        yield from search(text, limit=limit, seconds=max(0.5, deadline - time.monotonic()))


def _damaged(lines: list[str], lead: str) -> list[tuple[int, int, str]]:
    """The parts of a file that do not parse by themselves: from line, to line, what leads them."""
    starts = _boundaries(lines, _methods(lines) if lead else _TOP)
    found: list[tuple[int, int, str]] = []
    at = 0
    while at < len(starts) - 1:
        end = at + 1
        if parses(lead + "".join(lines[starts[at] : starts[end]])) is None:
            at = end
            continue
        for further in range(at + 2, min(at + _JOINED, len(starts) - 1) + 1):
            if parses(lead + "".join(lines[starts[at] : starts[further]])) is None:
                end = further
                break
        else:
            # What follows may be damaged by the same: a quote that is missing turns all of it.
            while end < len(starts) - 1 and end - at < _JOINED:
                if parses(lead + "".join(lines[starts[end] : starts[end + 1]])) is None:
                    break
                end += 1
            found += _within_class(lines, starts[at], starts[end], lead)
        at = end
    return found


def _within_class(lines: list[str], first: int, last: int, lead: str) -> list[tuple[int, int, str]]:
    if not lead and last - first > _SMALL and re.match(r"class\b.*:\s*(#.*)?$", lines[first]):
        inner = _damaged(lines[first + 1 : last], _CLASS)
        if inner and all(end - begin < last - first - 10 for begin, end, _ in inner):
            return [(first + 1 + begin, first + 1 + end, own) for begin, end, own in inner]
    return [(first, last, lead)]


def _methods(lines: list[str]) -> re.Pattern[str]:
    """Return the pattern of how the methods begin in a class with the given body."""
    for line in lines:
        if found := re.match(rf"([ \t]+){_METHOD}", line):
            return re.compile(re.escape(found.group(1)) + _METHOD)
    return re.compile(r"(?!)")


def _boundaries(lines: list[str], pattern: re.Pattern[str]) -> list[int]:
    starts = [0]
    for number, line in enumerate(lines):
        if number and pattern.match(line) and not lines[number - 1].lstrip().startswith("@"):
            starts.append(number)
    return [*starts, len(lines)]


def _together(
    text: str,
    lines: list[str],
    bad: list[tuple[int, int, str]],
    found: list[Iterator[SyntaxFix]],
) -> Iterator[SyntaxFix]:
    """All windows fixed, the likeliest readings of each first."""
    if len(bad) == 1:
        for one in found[0]:
            yield _whole(text, lines, bad, [one])
        return
    pools: list[list[SyntaxFix]] = [list(islice(stream, 1)) for stream in found]
    if not all(pools):
        return
    todo: list[tuple[float, tuple[int, ...]]] = [(0.0, (0,) * len(bad))]
    seen = {todo[0][1]}
    while todo:
        _, picks = heapq.heappop(todo)
        yield _whole(text, lines, bad, [pool[n] for pool, n in zip(pools, picks, strict=True)])
        for index, pool in enumerate(pools):
            pick = picks[index] + 1
            if pick == len(pool):
                pool.extend(islice(found[index], 1))
            further = (*picks[:index], pick, *picks[index + 1 :])
            if pick < len(pool) and further not in seen:
                seen.add(further)
                cost = sum(own[n].unlikely + 0.1 * n for own, n in zip(pools, further, strict=True))
                heapq.heappush(todo, (cost, further))


def _whole(
    text: str, lines: list[str], bad: list[tuple[int, int, str]], chosen: list[SyntaxFix]
) -> SyntaxFix:
    parts: list[str] = []
    at = 0
    for (first, last, lead), one in zip(bad, chosen, strict=True):
        parts += [*lines[at:first], one.text[len(lead) :]]
        at = last
    new = "".join([*parts, *lines[at:]])
    splices = splices_between(text, new)
    return replace(
        chosen[0],
        text=new,
        splices=splices,
        says="; ".join(dict.fromkeys(one.says for one in chosen)),
        unlikely=round(sum(one.unlikely for one in chosen), 3),
        line=text.count("\n", 0, splices[0].start) + 1 if splices else 1,
    )
