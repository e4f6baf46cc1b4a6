"""Quotes: strings that do not end, begin too late, or end with another quote."""

from __future__ import annotations

import keyword
import re
from bisect import bisect_right
from collections.abc import Iterator

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.messages import Sign
from runtrue.fixers.search.syntax.damage import Damage, Patch
from runtrue.fixers.search.syntax.tokens import OPENING, tokens

_PIECE = re.compile(r"\w+|\s+|.")
_TAIL = re.compile(r"[\])}:,;\s]*(#.*)?$")


def quotes(damage: Damage) -> Iterator[Patch]:
    """A quote more, less or of the other kind, on the line where a string does not end."""
    line = damage.line
    if damage.phase != 0 and not re.search(r"[\"'`]", damage.lines[line - 1]):
        return
    if damage.says(Sign.TRIPLE_QUOTED):
        yield from _triples(damage)
        return
    if damage.phase == 0 and re.search(r"\"\"\"|'''", damage.text):
        yield from _triples(damage, 0.4)  # what looks like code may be text, and the reverse
    weight = 0.0 if damage.phase == 0 else 1.2
    start, text = damage.start(line), damage.lines[line - 1]
    opener = damage.at - start
    while damage.phase == 0 and opener < len(text) and text[opener] not in "\"'":
        opener += 1  # the prefix of a string
    marks = [found.start() for found in re.finditer(r"(?<!\\)[\"']", text)]
    for mark in marks:
        other = "'" if text[mark] == '"' else '"'
        near = 0.0 if mark == opener else 0.3
        drop = 1.3 - 0.6 * (mark == opener and _looks_like_code(damage, text[mark + 1 :]))
        yield damage.swap(
            "superfluous quote", start + mark, start + mark + 1, "", weight + near + drop
        )
        yield damage.swap("other quote", start + mark, start + mark + 1, other, weight + near + 0.8)
    kinds = sorted({text[mark] for mark in marks})
    for found in _PIECE.finditer(text):
        for quote in kinds:
            if found.start() > damage.width(line):
                cost = weight + _oddity_of_place(text, found.start(), opener)
                yield damage.put("missing quote", start + found.start(), quote, cost)
    if damage.phase != 0 or opener >= len(text):
        return
    quote = text[opener]
    yield damage.put("missing quote", start + len(text), quote, 0.9)
    closers = _open_before(text[:opener])
    if closers:
        tail = text.rstrip()
        for more in ("", ":"):
            put = quote + closers + more
            yield damage.put("missing quote", start + len(tail), put, 1.2 + 0.5 * len(more))
    # A line was broken within a string.
    if line < len(damage.lines) and quote in damage.lines[line]:
        yield damage.swap("broken string", damage.end(line), damage.end(line) + 1, "\\n", 1.8)


def _oddity_of_place(text: str, at: int, opener: int) -> float:
    """Return how odd a place for a quote is; best are closing brackets and word edges."""
    if at > opener:
        if _TAIL.match(text, at):
            # Before all of the closing tail is better than within it, but only just.
            return 0.8 + (0.0 if not _TAIL.match(text, at - 1) else 0.15)
        if text[at] in ")],:}":
            return 1.0
        return 1.2 if not text[at].isalnum() or text[at - 1].isspace() else 1.7
    return 1.1 if text[at - 1] in "([{=,: " and not text[at].isspace() else 1.7


def _looks_like_code(damage: Damage, content: str) -> bool:
    """True if what a string holds reads like code of this program, or is empty."""
    if _TAIL.match(content):
        return True
    names = [token.text for token in tokens(content) if token.kind == "name"]
    used = {token.text for token in damage.tokens if token.kind == "name"}
    return bool(names) and all(name in used or keyword.iskeyword(name) for name in names)


def _open_before(text: str) -> str:
    stack: list[str] = []
    for token in tokens(text):
        if token.text in OPENING:
            stack.append(OPENING[token.text])
        elif stack and token.text == stack[-1]:
            stack.pop()
    return "".join(reversed(stack))


def _triples(damage: Damage, weight: float = 0.0) -> Iterator[Patch]:
    """End a long string earlier; the one that lacks its end may be an earlier one."""
    above = [
        mark
        for mark in re.finditer(r"\"\"\"|'''", damage.text)
        if mark.start() <= max(damage.at, damage.end(damage.line))
    ]
    opens = [_seems_to_open(damage, mark) for mark in above]
    # One that begins where the one before it has not ended tells where the damage is.
    broken = [n for n, this in enumerate(opens) if this and all(opens[n + 1 : n + 2])]
    order = dict.fromkeys([*broken[:1], *reversed(range(max(0, len(above) - 8), len(above)))])
    for nth, index in enumerate(order):
        limit = above[index + 1].start() if index + 1 < len(above) else len(damage.text)
        yield from _ended(damage, above[index], limit, weight + 0.15 * nth)


def _seems_to_open(damage: Damage, mark: re.Match[str]) -> bool:
    """True if a long string seems to begin here: first on its line, below a head."""
    line = damage.line_of(mark.start())
    above = line - 1
    while above > 0 and not damage.content(above):
        above -= 1
    lead = damage.text[damage.start(line) : mark.start()].strip()
    return lead.lower() in ("", "r", "f", "b") and (not above or damage.content(above)[-1] == ":")


def _ended(damage: Damage, mark: re.Match[str], limit: int, cost: float) -> Iterator[Patch]:
    """A long string ended on its first line, or on one of those below it, or not begun."""
    kind, quote, line = "long string", mark.group(), damage.line_of(mark.start())
    begins = damage.content(line).startswith(quote)
    yield damage.swap(kind, mark.start(), mark.end(), "", 1.4 + cost)
    yield damage.put(kind, damage.end(line), quote, 0.7 + cost + 0.3 * (not begins))
    rest = damage.text[mark.end() : damage.end(line)].rstrip()
    if rest.endswith(quote[0]):
        short = len(rest) - len(rest.rstrip(quote[0]))
        more = quote[0] * (3 - short % 3)
        yield damage.put(kind, mark.end() + len(rest), more, 0.6 + cost)
        yield damage.swap(kind, mark.start(), mark.end(), quote[0], 0.8 + cost)
    for below in range(line + 1, min(line + 40, len(damage.lines)) + 1):
        if damage.start(below) > limit:
            break
        content, end = damage.content(below), damage.end(below)
        far = cost + 0.02 * (below - line)
        if content.endswith(quote[0]):
            lacks = 3 - len(content) + len(content.rstrip(quote[0]))
            if lacks > 0:
                yield damage.put(kind, end, quote[0] * lacks, 0.5 + far)
        # Text ends where a blank line follows, more often than elsewhere.
        ends = below == len(damage.lines) or not damage.content(below + 1)
        yield damage.put(kind, end, quote, 0.8 + far + (0.0 if ends else 0.1))


def odd_characters(damage: Damage) -> Iterator[Patch]:
    """Typographic quotes, dashes and spaces, as word processors and web pages write them."""
    plain = {
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u00a0\u2000\u2002\u2003\u2007\u2009\u202f\u3000", " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
        **{"\u00d7": "*", "\u00f7": "/", "\u2264": "<=", "\u2265": ">=", "\u2260": "!="},
        **{"\uff08": "(", "\uff09": ")", "\uff0c": ",", "\uff1a": ":", "\uff1b": ";"},
        **{"\u2026": "...", "\u2192": "->", "`": "'"},
    }
    texts = [token for token in damage.tokens if token.kind in ("string", "comment")]
    ends = [token.end for token in texts]
    odd = []
    for found in re.finditer(f"[{''.join(plain)}]", damage.text):
        behind = bisect_right(ends, found.start())
        if behind == len(texts) or found.start() < texts[behind].start:
            odd.append(found)
    here = [found for found in odd if damage.line_of(found.start()) == damage.line]
    if not here:
        return
    for chosen, cost, where in ((here, 0.7, "on the line"), (odd, 0.5, "everywhere")):
        splices = tuple(
            Splice(found.start(), found.end(), plain[found.group()]) for found in chosen
        )
        says = f"plain characters for typographic ones {where}"
        yield Patch(splices, cost, "odd characters", says)


def backslashes(damage: Damage) -> Iterator[Patch]:
    """A backslash that continues nothing."""
    for found in re.finditer(r"\\", damage.lines[damage.line - 1]):
        at = damage.start(damage.line) + found.start()
        cost = 0.9 if damage.says(Sign.CONTINUATION) else 1.8
        yield damage.swap("backslash", at, at + 1, "", cost)
