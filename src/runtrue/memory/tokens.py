"""Tokens: lines of code as words, numbers, strings and signs, in any language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class CodeTokenType(StrEnum):
    """The type of a token."""

    WORD = "word"
    KEYWORD = "keyword"
    NUMBER = "number"
    STRING = "string"
    SIGN = "sign"


@dataclass(frozen=True, slots=True)
class CodeToken:
    """One token, with the blanks before it."""

    kind: CodeTokenType
    text: str
    space: str = ""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of code: its indentation, its tokens, and the blanks at its end."""

    indent: str
    tokens: tuple[CodeToken, ...]
    tail: str = ""


_TOKEN = re.compile(
    r"""(?P<space>\s*)(?:
        (?P<string>[A-Za-z]{0,2}(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`))
      | (?P<number>\d[\w.]*)
      | (?P<word>[^\W\d][\w$]*|\$[\w$]+)
      | (?P<sign>\S)
    )""",
    re.VERBOSE,
)

#: Keywords of any language that we know: they never vary.
_KEYWORDS = """
    abstract and any as assert async await bool boolean break byte case catch chan char class const
    continue crate debugger def default defer del delete do double dyn elif else enum except export
    extends extern fallthrough False false final finally float fn for from func function global go
    goto if impl implements import in instanceof int interface is lambda let long loop map match
    mod module move mut native new nil None nonlocal not null Null number object of or package pass
    private protected pub public raise range ref return select self Self short static str string
    struct super switch synchronized this throw throws trait transient True true try type typeof
    undefined unsafe use using var void volatile where while with yield
"""
KEYWORDS = frozenset(_KEYWORDS.split())


@lru_cache(maxsize=20_000)
def read_line(line: str) -> CodeLine:
    """Split a line into its tokens; joined, they give the line again."""
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    tokens = []
    end = 0
    for match in _TOKEN.finditer(stripped):
        end = match.end()
        group, text = str(match.lastgroup), match[match.lastgroup or 0]
        is_keyword = group == "word" and text in KEYWORDS
        token_type = CodeTokenType.KEYWORD if is_keyword else CodeTokenType(group)
        tokens.append(CodeToken(token_type, text, match["space"]))
    return CodeLine(indent, tuple(tokens), stripped[end:])
