"""Damage: files that do not parse, and the small repairs under which they do."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit, Splice, splice
from runtrue.fixers.search.javascript.syntax_tree import parse, walk

_TOKEN = re.compile(
    r"[A-Za-z_$][\w$]*|\d[\w.]*|=>|[=!]==?|\?\?|\?\.|&&|\|\||\.\.\.|[^\s\w]|\n", re.ASCII
)
_INSERTED = (")", "}", "]", "(", "{", "[", ",", ";", "'", '"', "`", ":", "=>", "=", "?", "+", ".")
_CLOSING = frozenset((")", "]", ",", ";", "'", '"', "`"))
#: Tokens before and after the first error that are looked at.
_BEFORE, _AFTER = 24, 6
#: Words for which another one was meant.
_WORDS = {
    **{"fucntion": "function", "funtion": "function", "functoin": "function", "retrun": "return"},
    **{
        "retun": "return",
        "cosnt": "const",
        "elif": "else if",
        "elseif": "else if",
        "def": "function",
    },
    **{"pass": "", "and": "&&", "or": "||", "not": "!", "None": "null", "True": "true"},
    **{
        "False": "false",
        "improt": "import",
        "exprot": "export",
        "swtich": "switch",
        "csae": "case",
    },
}


@dataclass(frozen=True)
class _Damage:
    """Where a text stops to make sense: the first error's offset, in characters."""

    at: int
    line: int


def repairs(file: str, text: str, *, limit: int, seconds: float) -> Iterator[Edit]:
    """Yield the repairs under which a file parses, those near its first error first."""
    damage = _first_error(file, text)
    if damage is None:
        return
    until = time.monotonic() + seconds
    count = 0
    seen: set[str] = set()
    for unlikely, change in _changes(text, damage):
        if count >= limit or time.monotonic() > until:
            return
        new = splice(text, [change])
        if new in seen or parse(file, new).root_node.has_error:
            continue
        seen.add(new)
        count += 1
        old = text[change.start : change.end]
        line = text.count("\n", 0, change.start) + 1
        says = (
            f"insert `{change.text.strip()}`" if not old else f"`{old}` → `{change.text.strip()}`"
        )
        says = f"delete `{old}`" if old and not change.text else says
        yield Edit(
            file=file, splices=(change,), kind="syntax", line=line, says=says, unlikely=unlikely
        )


def _first_error(file: str, text: str) -> _Damage | None:
    root = parse(file, text).root_node
    if not root.has_error:
        return None
    errors = [node for node in walk(root) if node.is_error or node.is_missing]
    first = min(errors, key=lambda node: node.start_byte, default=None)
    byte = _reached(first) if first is not None else 0
    before = text.encode("utf-8", "replace")[:byte].decode("utf-8", "replace")
    return _Damage(len(before), before.count("\n") + 1)


def _reached(error: Node) -> int:
    """Return how far the text still made sense: an error may span nearly all of it."""
    inner = [one for one in error.children if one.is_error or one.is_missing]
    return inner[0].start_byte if inner else error.start_byte


def _changes(text: str, damage: _Damage) -> Iterator[tuple[float, Splice]]:
    tokens = [(m.start(), m.end(), m[0]) for m in _TOKEN.finditer(text)]
    for start, end, token in tokens:
        if token in _WORDS and _is_word(text, start):
            yield 0.5, Splice(start, end, _WORDS[token])
    at = next((n for n, (start, _, _) in enumerate(tokens) if start >= damage.at), len(tokens))
    order = sorted(
        range(max(0, at - _BEFORE), min(len(tokens), at + _AFTER)), key=lambda n: abs(n - at)
    )
    for n in order:
        start, end, token = tokens[n]
        far = 1.0 + abs(n - at) / 4
        before = tokens[n - 1][1] if n and not tokens[n - 1][2].isspace() else start
        for sign in _INSERTED:
            # What closes something stands right behind it.
            place = before if sign in _CLOSING else start
            yield far, Splice(place, place, sign)
        if not token.isspace():
            yield 2 * far, Splice(start, end, "")
            for old, new in (
                ("=", "=="),
                ("=", ":"),
                (":", "="),
                (",", ";"),
                (";", ","),
                ("}", ")"),
            ):
                if token == old:
                    yield 2 * far, Splice(start, end, new)
            for old, new in ((")", "}"), ("]", ")"), (")", "]"), ("'", '"'), ('"', "'")):
                if token == old:
                    yield 2 * far, Splice(start, end, new)
    # A bracket may be missing, or too many, far from where that shows.
    for match in re.finditer(r"[ \t]*(\n|$)", text):
        for sign in ("}", ")", "});", "]", "],", "},", ");"):
            yield 4.0, Splice(match.start(), match.start(), f"\n{sign}" if sign[0] == "}" else sign)
    for start, end, sign in tokens:
        if sign in "(){}[]":
            yield 5.0, Splice(start, end, "")


def _is_word(text: str, start: int) -> bool:
    """True outside of strings, as far as a line shows it."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return all(line.count(quote) % 2 == 0 for quote in "'\"`") and not line.endswith(".")
