"""Other languages: their operators, comments, statements and blocks, read as Python."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.syntax.damage import Damage, Patch
from runtrue.fixers.search.syntax.tokens import HEADERS

_OPERATORS = {
    **{"===": "==", "!==": "!=", "<>": "!=", "=<": "<=", "=>": ">=", "&&": "and", "||": "or"},
    **{"=!": "!=", "=+": "+=", "=-": "-="},
}
#: (what begins it, what ends it) of comments elsewhere.
_MARKS = (("//", ""), ("--", ""), ("<!--", "-->"), ("/*", "*/"), ("%", ""), (";", ""), ("rem ", ""))


def operators(damage: Damage) -> Iterator[Patch]:
    """Operators as other languages write them."""
    row = damage.on(damage.line)
    for index, token in enumerate(row):
        new = _OPERATORS.get(token.text)
        if new:
            spaced = f" {new} " if new.isalpha() else new
            yield damage.swap(f"operator {token.text}", token.start, token.end, spaced, 0.5)
        after = row[index + 1] if index + 1 < len(row) else None
        if token.text == "!" and after:
            yield damage.swap("operator !", token.start, token.end, "not ", 0.5)
            if after.text == "=":
                yield damage.swap("operator !", token.start, after.end, "!=", 0.5)
        if after and token.text + after.text in ("++", "--", "=!"):
            yield from _counted(damage)
        if token.text in ("?", "$", ";", "`", "\\", "!"):
            yield damage.swap(f"mark {token.text}", token.start, token.end, "", 0.8)
    text = damage.lines[damage.line - 1]
    start = damage.start(damage.line)
    for found in re.finditer(r"(?<=\w)<([\w\s,\[\]<>]*)>(?!=)", text):
        inner = found.group(1).replace("<", "[").replace(">", "]")
        at = start + found.start()
        yield damage.swap("generics", at, start + found.end(), f"[{inner}]", 0.6)
    for pattern, new in _SHAPES:
        found_shape = pattern.search(text)
        if found_shape:
            yield damage.swap(
                "shape",
                start + found_shape.start(),
                start + found_shape.end(),
                found_shape.expand(new),
                0.45,
            )
    if ";" in text:
        splices = tuple(
            Splice(damage.start(line) + ends.start(1), damage.start(line) + ends.end(1), "")
            for line in damage.statements
            if (ends := re.search(r"(;+)\s*(?:#.*)?$", damage.lines[line - 1]))
        )
        if splices:
            yield Patch(splices, 0.8, "mark ;", "`;` dropped at line ends")


_SHAPES = (
    # for (int i = 0; i < n; i++)
    (
        re.compile(
            r"for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*([^;]+);\s*\1\s*<\s*([^;]+);\s*(?:\1\+\+|\+\+\1|\1\s*\+=\s*1)\s*\)\s*[:{]?"
        ),
        r"for \1 in range(\2, \3):",
    ),
    (
        re.compile(
            r"for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*([^;]+);\s*\1\s*<=\s*([^;]+);\s*(?:\1\+\+|\+\+\1|\1\s*\+=\s*1)\s*\)\s*[:{]?"
        ),
        r"for \1 in range(\2, \3 + 1):",
    ),
    (
        re.compile(r"for\s*(?:each)?\s*\(\s*(?:\w+\s+)?(\w+)\s*(?:of|in|:)\s*(.+)\)\s*[:{]?\s*$"),
        r"for \1 in \2:",
    ),
    # a ? b : c
    (
        re.compile(r"(?<=[=(,])\s*([^=?(,]+?)\s*\?\s*([^:?]+?)\s*:\s*([^,;)]+)"),
        r" \2 if \1 else \3",
    ),
    (re.compile(r"(?<=return )\s*(.+?)\s*\?\s*([^:?]+?)\s*:\s*([^;]+)"), r"\2 if \1 else \3"),
    (re.compile(r"(?<=[=(])\s*(.+?)\s*\?\s*([^:?]+?)\s*:\s*([^;]+?)(?=;?$)"), r" \2 if \1 else \3"),
    # x => y
    (re.compile(r"(?<=[(,=])\s*\(([\w\s,]*)\)\s*=>\s*"), r" lambda \1: "),
    (re.compile(r"(?<=[(,=])\s*(\w+)\s*=>\s*"), r" lambda \1: "),
    (re.compile(r"(\w+)\s*=\s*function\s*\(([^)]*)\)\s*\{?\s*$"), r"def \1(\2):"),
    (
        re.compile(r"(?:var|let|const)\s+(\w+)\s*=\s*function\s*\(([^)]*)\)\s*\{?\s*$"),
        r"def \1(\2):",
    ),
    (re.compile(r"(\w+)\s*\?\?\s*"), r"\1 or "),
    (re.compile(r"\bnew\s+(?=[A-Z])"), r""),
    (re.compile(r"`([^`]*)`"), r"'\1'"),
)


def _counted(damage: Damage) -> Iterator[Patch]:
    """`x++` and `++x`."""
    line = damage.line
    start = damage.start(line)
    for found in re.finditer(
        r"([\w.\[\]]+)\s*(\+\+|--)|(\+\+|--)\s*([\w.\[\]]+)", damage.lines[line - 1]
    ):
        name = found.group(1) or found.group(4)
        sign = (found.group(2) or found.group(3))[0]
        yield damage.swap(
            "counting", start + found.start(), start + found.end(), f"{name} {sign}= 1", 0.5
        )


def comments(damage: Damage) -> Iterator[Patch]:
    """Comments with another language's marks or none, and code that got into such marks."""
    for line in dict.fromkeys((damage.line, damage.before(damage.line) or damage.line)):
        far = 0.0 if line == damage.line else 0.5
        text, start = damage.lines[line - 1], damage.start(line)
        lower = text.lower()
        for opening, ending in _MARKS:
            at = lower.find(opening)
            if (
                at < 0
                or (opening == "%" and text[:at].strip())
                or (opening == "--" and text[:at].strip() and " --" not in text)
            ):
                continue
            yield from _marked(damage, line, at, opening, ending, far)
        yield from _prose(damage, line, far)
        code = text.strip()
        if code and not code.startswith("#"):
            indent = start + damage.width(line)
            yield damage.put("commented out", indent, "# ", 2.0 + far)
            yield damage.put("commented out", indent, "pass  # ", 2.2 + far)
            end = min(damage.end(line) + 1, len(damage.text))
            yield damage.swap("dropped line", start, end, "", 2.4 + far)


def _marked(
    damage: Damage, line: int, at: int, opening: str, ending: str, far: float
) -> Iterator[Patch]:
    start, text = damage.start(line), damage.lines[line - 1]
    kind = f"comment {opening}"
    place = start + at
    size = len(opening)
    alone = not text[:at].strip()
    rest = text[at + size :]
    spaced = rest[:1] == " " and not re.search(r"[=():\[\]]", rest)
    common = -0.2 if opening in ("//", "/*", "<!--") else 0.6
    close = damage.text.find(ending, place + size) if ending else damage.end(line)
    if close < 0:
        close = damage.end(line)
    last = damage.line_of(close)
    drops = Splice(close, close + len(ending), "") if ending and close < damage.end(last) else None
    # As a comment.
    marks = [
        Splice(place, place + size, "#" if alone else " #" if text[at - 1 : at] != " " else "#")
    ]
    marks += [
        Splice(damage.start(one) + damage.width(one), damage.start(one) + damage.width(one), "# ")
        for one in range(line + 1, last + 1)
        if damage.content(one) and damage.start(one) + damage.width(one) != close
    ]
    dropped = [*marks, drops] if drops else marks
    yield Patch(
        tuple(dropped),
        (0.9 if spaced or not alone else 1.0) + common + far,
        kind,
        f"`{opening}` → `#`",
    )
    if alone:
        held = (Splice(place, place + size, "pass  #"), *dropped[1:])
        yield Patch(held, 1.6 + common + far, kind, f"`{opening}` → `pass  #`")
    # As code that the marks do not belong to.
    bare = re.match(r"\s*", rest)
    width = size + (bare.end() if bare and alone else 0)
    stripped = (Splice(place, place + width, ""), *((drops,) if drops else ()))
    yield Patch(
        stripped, (1.3 if spaced else 0.9) + common + far + 0.05, kind, f"`{opening}` dropped"
    )
    # Not there at all.
    end = close + len(ending)
    yield damage.swap(kind, place, end, "", 1.1 + common + far)


def _prose(damage: Damage, line: int, far: float) -> Iterator[Patch]:
    """Words behind code, or in its place, that lack their `#`."""
    row = damage.on(line)
    start = damage.start(line) + damage.width(line)
    words = [token for token in row if token.kind == "name"]
    if (
        len(words) >= 3
        and len(words) >= 0.6 * len(row)
        and not re.search(r"[=([{]", damage.content(line))
    ):
        yield damage.put("comment mark", start, "# ", 0.9 + far)
    for index, token in enumerate(row[1:], 1):
        if token.kind == "comment":
            break
        rest = row[index:]
        names = sum(one.kind == "name" for one in rest)
        gap = token.start - row[index - 1].end
        if gap and names >= 2 and names >= 0.6 * len(rest):
            cost = 1.6 - 0.2 * min(gap - 1, 2)
            yield damage.put("comment mark", token.start, "# ", cost + far)


def braces(damage: Damage) -> Iterator[Patch]:
    """Blocks in braces, all at once: the head gets a colon, what closes the block goes."""
    heads = "|".join((*HEADERS, "catch", "function", "func", "fn", "switch", "elsif", "elseif"))
    opener = re.compile(rf"^\s*(?:\}}\s*)?(?:[\w\s=]*?\b)(?:{heads})\b.*?(\s*\{{)\s*(?:#.*)?$")
    splices: list[Splice] = []
    depth = 0
    for line in range(1, len(damage.lines) + 1):
        text, start = damage.lines[line - 1], damage.start(line)
        found = opener.match(text)
        bare = re.match(r"^\s*(\}+;?)\s*(?:#.*)?$", text)
        leads = re.match(r"^\s*(\}\s*)(?=[a-z])", text)
        tail = re.search(r"(;+)\s*(?:#.*)?$", text)
        if found:
            depth += 1
            splices.append(Splice(start + found.start(1), start + found.end(1), ":"))
        elif text.strip() == "{" and splices:
            before = damage.before(line)
            depth += 1
            if before:
                splices.append(Splice(damage.end(before), damage.end(before), ":"))
            splices.append(Splice(start + text.index("{"), start + len(text), ""))
        if leads and depth:
            depth -= 1
            splices.append(Splice(start + leads.start(1), start + leads.end(1), ""))
        elif bare and depth:
            depth -= 1
            splices.append(Splice(start + bare.start(1), start + bare.end(1), ""))
        elif tail:
            splices.append(Splice(start + tail.start(1), start + tail.end(1), ""))
    if any(one.text == ":" for one in splices):
        says = "blocks in braces as indented blocks"
        yield Patch(tuple(sorted(set(splices))), 0.6, "braces", says)
    for token in damage.on(damage.line):
        if token.text in "{}":
            yield damage.swap(
                "braces", token.start, token.end, ":" if token.text == "{" else "", 1.4
            )
