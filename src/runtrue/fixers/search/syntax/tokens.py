"""Tokens of text that may not be Python: whatever is there, something is made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The words that cannot be names, and those that are keywords only in some places.
HEADERS = (
    *("if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally"),
    *("with", "match", "case", "async"),
)
OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = {mate: opener for opener, mate in OPENING.items()}

_TOKEN = re.compile(
    r"""
      (?P<comment> \#[^\n]* )
    | (?P<string> (?i:\b(?:[rbu]|f|rb|br|rf|fr)|)
        (?: \"\"\"(?:\\.|[^\\])*?\"\"\" | '''(?:\\.|[^\\])*?'''
          | "(?!"")(?:\\.|[^\\"\n])*"   | '(?!'')(?:\\.|[^\\'\n])*' ) )
    | (?P<open> (?i:\b(?:[rbu]|f|rb|br|rf|fr)|)
        (?: \"\"\"(?:.|\n)* | '''(?:.|\n)* | ["'][^\n]* ) )
    | (?P<number> \.?\d(?:\w|\.\d|\.(?![.\w]))* )
    | (?P<name> [^\W\d]\w* )
    | (?P<op> \*\*=|//=|>>=|<<=|\.\.\.|===|!==|[-+*/%&|^@=!<>:]=|->|\*\*|//|<<|>>|<>|=>|=<
        |&&|\|\||[^\s\w] )
    | (?P<newline> \n )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A piece of the text. A string that does not end has the kind `open`."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> list[Lexeme]:
    """All pieces of a text but white space, line ends included."""
    return [
        Lexeme(str(found.lastgroup), found.group(), found.start(), found.end())
        for found in _TOKEN.finditer(text)
    ]
