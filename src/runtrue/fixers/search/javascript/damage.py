"""Damage: files that do not parse, and the small repairs under which they do."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit, Splice, splice
from runtrue.fixers.search.javascript.syntax_tree import parse, walk

_TOKEN = re.compile(
    r"[A-Za-z_$][\w$]*|\d[\w.]*|=>|[=!]==?|\?\?|\?\.|&&|\|\||\.\.\.|[^\s\w]|\n", re.ASCII
)
_INSERTED = (")", "}", "]", "(", "{", "[", ",", ";", "'", '"', "`", ":", "=>", "=", "?", "+", ".")
_CLOSING = frozenset((")", "]", ",", ";", "'", '"', "`"))
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPENERS = {close: open_ for open_, close in _PAIRS.items()}
#: Tokens before and after a place of damage that are looked at.
_BEFORE, _AFTER = 24, 6
#: What may have been meant by a token.
_MEANT = {
    **{"(": "{[", ")": "}]", "[": "({", "]": ")}", "{": "([", "}": ")]"},
    **{"'": '"`', '"': "'`", "`": "'\"", ",": ";:", ";": ",:"},
    **{"=": ("=>", "==", "===", ":"), ":": ("=", ",", "?"), "==": ("=",), "===": ("=",)},
    **{"-": ("=>",), ".": (",", "?."), "+": ("+=",), "|": ("||",), "&": ("&&",)},
}
#: Keywords and what else stands where a misspelt one may.
_KEYWORDS = (
    *("async", "await", "break", "case", "catch", "class", "const", "continue", "default"),
    *("delete", "do", "else", "export", "extends", "finally", "for", "from", "function", "if"),
    *("import", "in", "instanceof", "interface", "let", "new", "of", "return", "static"),
    *("switch", "throw", "try", "type", "typeof", "var", "void", "while", "yield"),
)
#: Words of other languages.
_FOREIGN = {
    **{"elif": "else if", "elseif": "else if", "otherwise": "else", "def": "function"},
    **{"pass": "", "and": "&&", "or": "||", "not": "!", "raise": "throw", "except": "catch"},
    **{"None": "null", "True": "true", "False": "false", "fn": "function", "func": "function"},
}


class _Token(NamedTuple):
    start: int
    end: int
    text: str


def repairs(file: str, text: str, *, limit: int, seconds: float) -> Iterator[Edit]:
    """Yield the repairs under which a file parses, those near its first error first."""
    places = _error_places(file, text)
    if not places:
        return
    until = time.monotonic() + seconds
    count = 0
    seen: set[str] = set()
    # The sort is stable: of equals, the one nearer to the damage comes first.
    for unlikely, change in sorted(_changes(text, places), key=lambda one: one[0]):
        if count >= limit or time.monotonic() > until:
            return
        new = splice(text, [change])
        if new in seen:
            continue
        seen.add(new)
        if parse(file, new).root_node.has_error:
            continue
        count += 1
        old, put = text[change.start : change.end], change.text.strip()
        says = f"insert `{put}`" if not old else f"`{old}` → `{put}`" if put else f"delete `{old}`"
        line = text.count("\n", 0, change.start) + 1
        yield Edit(
            file=file, splices=(change,), kind="syntax", line=line, says=says, unlikely=unlikely
        )


def _error_places(file: str, text: str) -> list[int]:
    """Return the offsets at which a text stops to make sense, in characters."""
    root = parse(file, text).root_node
    if not root.has_error:
        return []
    errors = [node for node in walk(root) if node.is_error or node.is_missing]
    first = min(errors, key=lambda node: node.start_byte, default=None)
    byte = _reached(first) if first is not None else 0
    before = text.encode("utf-8", "replace")[:byte].decode("utf-8", "replace")
    return [len(before)]


def _reached(error: Node) -> int:
    """Return how far the text still made sense: an error may span nearly all of it."""
    inner = [one for one in error.children if one.is_error or one.is_missing]
    return inner[0].start_byte if inner else error.start_byte


def _unmatched(tokens: Iterable[_Token]) -> Iterator[_Token]:
    """Yield the first bracket that does not match and the one it should, or what is left open."""
    waiting: list[_Token] = []
    for token in tokens:
        if token.text in _PAIRS:
            waiting.append(token)
        elif token.text in _OPENERS:
            if not waiting or waiting[-1].text != _OPENERS[token.text]:
                yield from (*waiting[-1:], token)
                return
            waiting.pop()
    yield from waiting[-1:]


def _changes(text: str, places: list[int]) -> Iterator[tuple[float, Splice]]:
    """Yield changes of one token, each with how unlikely it is."""
    tokens = [_Token(m.start(), m.end(), m[0]) for m in _TOKEN.finditer(text)]
    yield from _misspelt(text, tokens)
    unmatched = [one.start for one in _unmatched(tokens)]
    for start, end, new in _torn(tokens):
        yield 0.9, Splice(start, end, new)
    far: dict[int, int] = {}
    for place in (*places, *unmatched):
        at = next((n for n, one in enumerate(tokens) if one.start >= place), len(tokens))
        for n in range(max(0, at - _BEFORE), min(len(tokens), at + _AFTER)):
            far[n] = min(far.get(n, _BEFORE), abs(n - at))
    for n, distance in sorted(far.items(), key=lambda one: one[1]):
        start, end, token = tokens[n]
        cost = 1.0 + distance / 4
        suspect = 0.5 if start in unmatched else 1.0
        before = tokens[n - 1].end if n and not tokens[n - 1].text.isspace() else start
        for sign in _INSERTED:
            # What closes something stands right behind it.
            place = before if sign in _CLOSING else start
            yield cost, Splice(place, place, sign)
        if not token.isspace():
            yield 1.5 * cost * suspect, Splice(start, end, "")
            for meant in _MEANT.get(token, ()):
                yield 1.2 * cost * suspect, Splice(start, end, meant)
    # A bracket may be missing, or too many, far from where that shows.
    for match in re.finditer(r"[ \t]*(\n|$)", text):
        for sign in ("}", ")", "});", "]", "],", "},", ");"):
            place = match.start()
            yield 8.0, Splice(place, place, f"\n{sign}" if sign[0] == "}" else sign)
        yield 8.0, Splice(match.start(), match.start(), " {")
    for start, end, sign in tokens:
        if sign in "(){}[]":
            yield 10.0, Splice(start, end, "")
            for meant in _MEANT[sign]:
                yield 10.0, Splice(start, end, meant)


def _misspelt(text: str, tokens: Iterable[_Token]) -> Iterator[tuple[float, Splice]]:
    """Yield keywords for words that are nearly one, or one in another language."""
    for start, end, word in tokens:
        if not word[0].isalpha() or word in _KEYWORDS or not _is_code(text, start):
            continue
        if word in _FOREIGN:
            yield 0.5, Splice(start, end, _FOREIGN[word])
        for keyword in _KEYWORDS:
            if _is_slip(word, keyword):
                yield 0.5 if len(keyword) > 3 else 0.8, Splice(start, end, keyword)


def _is_slip(word: str, keyword: str) -> bool:
    """True if one letter is missing, too many or another, or two are swapped."""
    if abs(len(word) - len(keyword)) > 1 or word == keyword:
        return word.lower() == keyword and word != keyword
    same = next((n for n, (a, b) in enumerate(zip(word, keyword, strict=False)) if a != b), None)
    if same is None:
        return len(word) != len(keyword)
    rest, wanted = word[same:], keyword[same:]
    if len(word) != len(keyword):
        return rest[1:] == wanted or rest == wanted[1:]
    return rest[1:] == wanted[1:] or (rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:])


def _torn(tokens: Iterable[_Token]) -> Iterator[tuple[int, int, str]]:
    """Yield operators that were written in two parts."""
    for one, other in pairwise(tokens):
        both = one.text + other.text
        if both in ("->", "=>", "-=>") or (
            one.end < other.start
            and both in ("==", "===", "!=", "!==", "<=", ">=", "&&", "||", "+=", "-=", "*=", "++")
        ):
            yield one.start, other.end, "=>" if both == "->" else both
        elif other.text == ":" and one.text in "+-*/<>!":
            yield one.start, other.end, one.text + "="


def _is_code(text: str, start: int) -> bool:
    """True outside of strings, as far as a line shows it, and of what is behind a dot."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return all(line.count(quote) % 2 == 0 for quote in "'\"`") and not line.endswith(".")
