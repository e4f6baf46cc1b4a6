"""Brackets: missing, superfluous, or of another kind than the one they answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtrue.fixers.search.messages import opened_bracket
from runtrue.fixers.search.syntax.damage import Damage, Patch
from runtrue.fixers.search.syntax.tokens import CLOSING, HEADERS, OPENING, Lexeme

_REACH = 10  # lines below an opening bracket in which its mate may belong
_STARTS = {
    *HEADERS,
    *("return", "import", "from", "raise", "pass", "break", "continue", "assert", "del", "@"),
}
_FORMATTED = re.compile(r"(f|rf|fr)[\"']", re.IGNORECASE)


def unclosed(damage: Damage) -> Iterator[Patch]:
    """The mate of an opening bracket put where it may belong, or the bracket dropped."""
    for nth, (opener, stack) in enumerate(_openers(damage)):
        far = 0.25 * nth
        mate = OPENING[opener.text]
        yield damage.swap(f"superfluous {opener.text}", opener.start, opener.end, "", 1.5 + far)
        line = damage.line_of(opener.start)
        for place, cost, below in _places(damage, opener):
            yield damage.put(f"missing {mate}", place, mate, 0.8 + far + cost)
            if below == line and cost <= 0.3:
                # All that the line leaves open at once, with and without a colon.
                closers = "".join(OPENING[one.text] for one in reversed(stack))
                if len(closers) > 1:
                    yield damage.put(f"missing {mate}", place, closers, 0.9 + far + cost)
                first = damage.on(line)[0].text
                if first in HEADERS and not damage.heads(line):
                    yield damage.put(f"missing {mate}", place, closers + ":", 1.2 + far + cost)


def _openers(damage: Damage) -> Iterator[tuple[Lexeme, list[Lexeme]]]:
    """Brackets that may lack a mate, the likeliest first, each with what is open on its line."""
    if damage.phase == 0:
        return
    found: list[Lexeme] = []
    stack: list[Lexeme] = []
    limit = damage.end(damage.line)
    for token in damage.tokens:
        if token.start > limit:
            break
        if token.text in OPENING:
            stack.append(token)
        elif token.text in CLOSING and stack:
            if stack[-1].text != CLOSING[token.text]:
                found.append(stack[-1])
            stack.pop()
    # Innermost first: it is the one that most often lacks its mate.
    found = [*reversed(stack), *reversed(found)]
    on_line = [
        token
        for token in damage.on(damage.line)
        if token.text in OPENING and token not in found and token.start <= damage.at + 1
    ]
    seen: set[int] = set()
    for token in [*found[:4], *found[-1:], *reversed(on_line)]:
        if token.start not in seen:
            seen.add(token.start)
            line = damage.line_of(token.start)
            open_here = [one for one in stack if damage.line_of(one.start) == line]
            yield token, open_here or [token]


def _places(damage: Damage, opener: Lexeme) -> Iterator[tuple[int, float, int]]:
    """Positions for the mate of a bracket, with what each costs and its line."""
    first = damage.line_of(opener.start)
    width = damage.width(first)
    for below in range(first, min(first + _REACH, len(damage.lines)) + 1):
        content = damage.on(below)
        code = [token for token in content if token.kind != "comment"]
        if below > first:
            if not code:
                continue
            if code[0].text in _STARTS and damage.width(below) <= width + 8:
                break
        far = 0.12 * (below - first)
        after = [token for token in code if token.start > opener.start]
        if not after:
            if below == first:
                yield opener.end, 0.1, below
            continue
        tail = len(after)
        while tail and after[tail - 1].text in (":", ",", ";"):
            tail -= 1
        for index, token in enumerate(after):
            if index == tail:
                yield token.start if index == 0 else after[index - 1].end, 0.0 + far, below
            elif index > 0:
                cost = 0.45 if token.text in CLOSING or token.text in (",", ":") else 0.7
                cost += 0.2 if token.kind in ("name", "string") else 0.0
                cost -= 0.1 if token.text in ("for", "if", "and", "or", "in", "else") else 0.0
                yield after[index - 1].end, cost + far + 0.005 * (len(after) - index), below
        yield after[-1].end, (0.0 if tail == len(after) else 0.4) + far, below
        if below > first and damage.width(below) <= width and code[0].text not in CLOSING:
            # Less indented than what is in brackets would be.
            continue


def unopened(damage: Damage) -> Iterator[Patch]:
    """A closing bracket without a mate: dropped, answered, or changed into the right one."""
    line = damage.line
    row = damage.on(line)
    unclosed = opened_bracket(damage.message)
    for index, token in enumerate(row):
        if token.text not in CLOSING:
            continue
        exact = token.start == damage.at and damage.phase == 1
        far = 0.0 if exact else 0.7 if damage.phase == 1 else 1.5
        yield damage.swap(f"superfluous {token.text}", token.start, token.end, "", 0.8 + far)
        for mate in CLOSING:
            if mate != token.text:
                right = unclosed == CLOSING[mate]
                cost = (0.6 if right else 1.3) + far
                yield damage.swap("other bracket", token.start, token.end, mate, cost)
        opener = CLOSING[token.text]
        for nth, before in enumerate(reversed(row[:index])):
            good = before.text in ("=", "(", "[", "{", ",", "return", "in", "if", "not", ":")
            glued = before.kind == "name" and before.text not in HEADERS
            cost = (1.0 if good else 1.2 if glued else 1.6) + 0.03 * nth + far
            yield damage.put(f"missing {opener}", before.end, opener, cost)
            for inside in _seams(damage, before):
                yield damage.put(f"missing {opener}", inside, opener, 0.9 + 0.03 * nth + far)
            if nth > 25:
                break
        if row[:index]:
            yield damage.put(f"missing {opener}", row[0].start, opener, 1.4 + far)
    if unclosed:
        yield damage.put(f"missing {OPENING[unclosed]}", damage.at, OPENING[unclosed], 0.8)
        wanted = CLOSING.get(damage.text[damage.at : damage.at + 1])
        for token in reversed(damage.tokens[: damage.near]):
            if token.text == unclosed:
                if wanted:
                    yield damage.swap("other bracket", token.start, token.end, wanted, 1.0)
                yield damage.swap(f"superfluous {unclosed}", token.start, token.end, "", 1.1)
                break


def _seams(damage: Damage, token: Lexeme) -> Iterator[int]:
    """Yield where a word is two words of the program run together."""
    if token.kind == "name" and len(token.text) > 1:
        for cut in range(1, len(token.text)):
            one, other = token.text[:cut], token.text[cut:]
            if one in damage.names and (other in damage.names or other.isdigit()):
                yield token.start + cut


def definitions(damage: Damage) -> Iterator[Patch]:
    """`def name:` and `print x`: the brackets that a definition or a call lacks altogether."""
    for line in dict.fromkeys((damage.line, damage.before(damage.line) or damage.line)):
        row = damage.on(line)
        text = damage.lines[line - 1]
        found = re.match(r"(\s*(?:async\s+)?def\s+\w+)\s*([^(\s:][^:(]*)?(:?)\s*$", text)
        if found:
            start = damage.start(line)
            args = (found.group(2) or "").strip().rstrip(")")
            new = f"{found.group(1)}({args}):"
            yield damage.swap("brackets of a definition", start, damage.end(line), new, 0.8)
        for index, token in enumerate(row[:-1]):
            if token.kind != "name" or row[index + 1].kind not in ("name", "string", "number"):
                continue
            code = [one for one in row[index + 1 :] if one.kind != "comment"]
            called = (
                token.text in ("print", "exec") or damage.text[token.end : token.end + 1] == " "
            )
            if code and called and token.text not in HEADERS:
                cost = 0.6 if token.text in ("print", "exec") else 1.9
                start, end = token.end, code[-1].end
                inner = damage.text[start:end].strip().rstrip(";")
                yield damage.swap("brackets of a call", start, end, f"({inner})", cost)


def fields(damage: Damage) -> Iterator[Patch]:
    """The bracket that a field of an f-string lacks, before the field's end or behind a word."""
    for token in damage.on(damage.line):
        if (
            token.kind != "string"
            or "f" not in re.split("[\"']", token.text, maxsplit=1)[0].lower()
        ):
            continue
        text = token.text.replace("{{", "  ").replace("}}", "  ")
        for sign in ("}", ")", "]"):
            if text.count(CLOSING[sign]) <= text.count(sign):
                continue
            for place in re.finditer(r"(?<=[\w)\]])(?=\W)", text):
                behind = text[place.start()]
                likely = behind in "\"' :!" if sign == "}" else behind == "}"
                cost = 0.7 if likely else 1.2
                yield damage.put(f"missing {sign}", token.start + place.start(), sign, cost)
