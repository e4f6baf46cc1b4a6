"""Tokens near the error: one put in, dropped, exchanged, and holes filled."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.messages import Sign
from runtrue.fixers.search.syntax.damage import Damage, Patch
from runtrue.fixers.search.syntax.tokens import CLOSING, HEADERS, OPENING, Lexeme

_INFIX = ("+", "-", "*", "==", "in", "and", "or", "%", "//", "/", "<", ">", "<=", ">=", "!=", "|")
_JOINED = {"==", "!=", "<=", ">=", "+=", "-=", "**", "//", ":=", "->"}
_NO_CODE = ("newline", "comment")
_WORDS = ("in", "and", "or", "not", "is", "if", "else", "for", "as", "lambda")


def colons(damage: Damage) -> Iterator[Patch]:
    """The colon that a head lacks, at the end of its line or before what follows it."""
    for line in dict.fromkeys((damage.line, damage.before(damage.line) or damage.line)):
        code = [token for token in damage.on(line) if token.kind != "comment"]
        if not code:
            continue
        head = code[0].text in HEADERS
        far = 0.0 if line == damage.line else 0.4
        if code[-1].text != ":":
            cost = 0.4 if head else 1.8
            yield damage.put("colon", code[-1].end, ":", cost + far)
            if code[-1].text in (";", ".", ",", "=", "-", "{", ")", "]"):
                last = code[-1]
                yield damage.swap("colon", last.start, last.end, ":", cost + far + 0.5)
        if head and damage.says(Sign.COLON_EXPECTED):
            # A body may follow on the same line.
            for token in code[1:]:
                if keyword.iskeyword(token.text) or token.start == damage.at:
                    before = code[code.index(token) - 1].end
                    yield damage.put("colon", before, ":", 0.7 + far)
        if code[0].text in ("else", "try", "finally") and len(code) > 1:
            yield damage.put("colon", code[0].end, ":", 0.8 + far)
            if damage.text[code[-1].start] == ":" and code[0].text == "else":
                yield damage.swap("keyword", code[0].start, code[0].end, "elif", 1.0 + far)
        if code[0].text == ":":
            for nth, word in enumerate(("else", "try", "finally", "except")):
                yield damage.put("missing keyword", code[0].start, word, 0.9 + 0.1 * nth + far)
        if "lambda" in (token.text for token in code):
            for index, token in enumerate(code[:-1]):
                if "lambda" in (one.text for one in code[max(0, index - 3) : index + 1]):
                    yield damage.put("colon", token.end, ":", 1.2 + far)


def equals(damage: Damage) -> Iterator[Patch]:
    """`=` where `==` or another operator was meant, and the reverse."""
    row = damage.on(damage.line)
    code = [token for token in row if token.kind != "comment"]
    single = [token for token in code if token.text == "="]
    tests = code and code[0].text in ("if", "elif", "while", "assert", "return")
    for token in single:
        first = token is single[0] and not tests
        cost = 0.5 + 0.7 * first + (0.0 if token.start >= damage.at else 0.2)
        yield damage.swap("= for ==", token.start, token.end, "==", cost)
        for nth, other in enumerate((":=", "-", "+", "*", "%", "<=", ">=", "!=", "<", ">", "//")):
            price = cost + 0.8 + 0.1 * nth
            yield damage.swap("= for another", token.start, token.end, other, price)
        yield damage.swap("= for another", token.start, token.end, " in ", cost + 1.6)
    chosen = single if tests else single[1:]
    if len(chosen) > 1:
        splices = tuple(Splice(token.start, token.end, "==") for token in chosen)
        yield Patch(splices, 0.6, "= for ==", "`=` → `==`")
    for token in code:
        if token.text == "==":
            yield damage.swap("== for =", token.start, token.end, "=", 1.1)
        elif token.text == ":=":
            yield damage.swap("== for =", token.start, token.end, "=", 0.9)
        elif token.text == ":":
            yield damage.swap(": for =", token.start, token.end, "=", 1.9)
        elif token.text in ("+=", "-=", "*=", "/="):
            yield damage.swap("= for +=", token.start, token.end, "==", 1.5)
            yield damage.swap("= for +=", token.start, token.end, token.text[0], 1.4)
    for left, right in pairwise(code):
        # `= =`, `! =`, `< =`, `* *`: written apart.
        apart = left.kind == right.kind == "op" and left.end < right.start
        if apart and left.text + right.text in _JOINED:
            yield damage.swap("space", left.end, right.start, "", 0.6)
    if damage.says(Sign.DECIMAL):
        for found in re.finditer(r"\b(\d+)([A-Za-z_]\w*)", damage.lines[damage.line - 1]):
            at = damage.start(damage.line) + found.start()
            yield damage.swap("digit", at, at + len(found.group(1)), "", 0.7)
            yield damage.put("digit", at + len(found.group(1)), "*", 0.8)
            yield damage.put("digit", at, "_", 1.4)
            yield damage.swap("digit", at + len(found.group(1)), at + len(found.group()), "", 1.2)
            yield damage.put("digit", at + len(found.group(1)), " ", 0.9)


def around(damage: Damage) -> Iterator[Patch]:
    """Any token near the error put in, dropped or exchanged with its neighbour."""
    every = damage.tokens
    last = damage.near
    while last < len(every) and every[last].start < damage.until and last < damage.near + 30:
        last += 1
    for index in range(max(0, damage.near - 6), min(last + 3, len(every))):
        token = every[index]
        if token.kind in ("newline", "comment"):
            continue
        far = 0.12 * min(abs(damage.near - index), abs(last - index))
        before = every[index - 1] if index else None
        following = every[index + 1] if index + 1 < len(every) else None
        if following and token.text == following.text and token.kind in ("op", "number"):
            yield damage.swap("doubled token", token.start, following.start, "", 0.6)
        loud = 0.0 if token.kind == "op" else 0.4
        around_it = (
            damage.text[max(token.start - 1, 0) : token.start] + damage.text[token.end :][:1]
        )
        space = " " if len(around_it) == 2 and re.fullmatch(r"\w\w", around_it) else ""
        yield damage.swap("dropped token", token.start, token.end, space, 1.4 + far + loud)
        if before and before.kind not in ("newline", "comment"):
            yield from _between(damage, before, token, far)
        elif (above := _above(damage, index)) is not None:
            yield damage.put("comma", above.end, ",", 0.6 + min(far, 0.2))
        if following and following.kind not in ("newline", "comment"):
            gap = damage.text[token.end : following.start]
            swapped = following.text + gap + token.text
            yield damage.swap("order", token.start, following.end, swapped, 2.2 + far)
        if token.kind == "op" and token.text not in OPENING and token.text not in CLOSING:
            for nth, other in enumerate((",", ":", ".", "=", "+", "==", "-", "*", "/")):
                if other != token.text:
                    cost = 1.9 + far + 0.06 * nth
                    yield damage.swap("another token", token.start, token.end, other, cost)


def _between(damage: Damage, one: Lexeme, other: Lexeme, far: float) -> Iterator[Patch]:
    """Something that two tokens lack between them."""
    ends = one.kind in ("name", "number", "string") or one.text in CLOSING
    begins = other.kind in ("name", "number", "string") or other.text in OPENING
    if one.kind == "name" and keyword.iskeyword(one.text):
        ends = one.text in ("None", "True", "False")
    if other.kind == "name" and keyword.iskeyword(other.text):
        begins = other.text in ("None", "True", "False", "not", "lambda")
    if ends and begins:
        far = min(far, 0.2)  # that something is missing here is plain
        bracketed = damage.says(Sign.COMMA) or _bracketed(damage, one)
        yield damage.put("comma", one.end, ",", (0.7 if bracketed else 1.3) + far)
        glued = damage.text[one.end : other.start]
        order = (*_INFIX, "=", ":", ".") if glued else (".", "=", ":", *_INFIX)
        target = damage.text[damage.start(damage.line_of(one.start)) : one.end]
        if re.fullmatch(r"\s*[\w.]+(\[[^\]=]*\])?", target):
            yield damage.put("missing operator", one.end, " = ", 0.9 + far)
        if one.kind == "string" and glued:
            yield damage.put("missing operator", one.end, " % ", 1.0 + far)
        for nth, text in enumerate(order):
            put = text if text == "." else f" {text} "
            yield damage.put("missing operator", one.end, put, 1.2 + 0.05 * nth + far)
        if glued.isspace() and "\n" not in glued and one.kind == other.kind == "name":
            yield damage.swap("space", one.end, other.start, "_", 1.5 + far)
            yield damage.swap("space", one.end, other.start, "", 1.6 + far)
    elif ends and other.kind in ("name", "op"):
        for text in (",", ":"):
            yield damage.put("comma", one.end, text, 1.6 + far)
    for nth, word in enumerate(_WORDS):
        yield damage.put("missing keyword", other.start, f"{word} ", 1.9 + 0.05 * nth + far)


def _above(damage: Damage, index: int) -> Lexeme | None:
    """The end of a line in brackets, if the next one begins as if a comma were between them."""
    token = damage.tokens[index]
    code = (one for one in reversed(damage.tokens[:index]) if one.kind not in _NO_CODE)
    above = next(code, None)
    if above is None or not _bracketed(damage, token):
        return None
    ends = above.kind in ("name", "number", "string") or above.text in CLOSING
    begins = token.kind in ("name", "number", "string") or token.text in (*OPENING, "*", "**")
    return above if ends and begins and not _joins(above) and not _joins(token) else None


def _joins(token: Lexeme) -> bool:
    """True if a token is a word that continues an expression: `and`, `for`, `if`."""
    plain = ("None", "True", "False", "not", "lambda", "await", "yield")
    return keyword.iskeyword(token.text) and token.text not in plain


def _bracketed(damage: Damage, token: Lexeme) -> bool:
    depth = 0
    for one in damage.tokens:
        if one.start >= token.start:
            break
        depth += (one.text in OPENING) - (one.text in CLOSING)
    return depth > 0


def holes(damage: Damage) -> Iterator[Patch]:
    """Operands that are missing, filled with what the same function uses."""
    every = damage.tokens
    for index in range(max(1, damage.near - 4), min(damage.near + 3, len(every) + 1)):
        before = every[index - 1]
        other = every[index] if index < len(every) else None
        if before.kind in ("newline", "comment"):
            wants = other is not None and other.text in (".", "==", "+=", "=", "and", "or")
        else:
            wants = _open_ended(before) and (
                other is None or _needs_left(other) or (before.text == "." and other.text == "(")
            )
        if not wants:
            continue
        at = before.end
        head = damage.on(damage.line_of(before.start))[:1]
        last = other is None or other.kind in ("newline", "comment")
        colon = ":" if last and head and head[0].text in HEADERS else ""
        left = "" if damage.text[:at].endswith((" ", "(", "[", "{", "\n", ".")) else " "
        for nth, text in enumerate(_fillers(damage, before, other)):
            yield damage.put(f"hole {text}", at, f"{left}{text}{colon}", 0.9 + 0.05 * nth)


def _open_ended(token: Lexeme) -> bool:
    if token.kind == "op":
        return token.text not in CLOSING and token.text not in (":", ";", "...")
    words = ("in", "and", "or", "not", "is", "if", "elif", "while", "else", "for", "return", "with")
    return token.text in (*words, "import", "from", "raise", "as", "lambda", "del", "assert")


def _needs_left(token: Lexeme) -> bool:
    if token.kind in ("newline", "comment"):
        return True
    if token.kind == "op":
        return token.text not in OPENING and token.text not in ("-", "~", "+")
    return token.text in ("in", "and", "or", "is", "if", "else", "for", "as")


def _fillers(damage: Damage, before: Lexeme, other: Lexeme | None) -> list[str]:
    first, last = damage.region
    seen: Counter[str] = Counter()
    start, end = damage.start(first), damage.end(last)
    for token in damage.tokens:
        if not start <= token.start < end:
            continue
        named = token.kind == "name" and not keyword.iskeyword(token.text)
        if named or (token.kind in ("number", "string") and len(token.text) < 20):
            seen[token.text] += 1
    names = [text for text, _ in seen.most_common(20)]
    if before.text == ".":
        return list(dict.fromkeys(re.findall(r"\.([^\W\d]\w*)", damage.text[start:end])))[:25]
    if before.text in ("+=", "-="):
        return list(dict.fromkeys(["1", *names]))
    if other is not None and other.text == ".":
        return list(dict.fromkeys(["''", "self", *names]))
    common = ["0", "1", "None", "''", "[]", "True", "False"]
    if before.text in ("in", "for", "import", "from", "with"):
        return [*names, "_"]
    if before.text == "=":
        return list(dict.fromkeys([*common[:2], *names[:8], *common[2:], *names[8:], "{}"]))
    return list(dict.fromkeys([*names[:6], *common, *names[6:]]))
