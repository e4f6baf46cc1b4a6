"""The spelling of paths: reading their names and indexes, writing them, pointing at mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

from runtrue.foreign_text import visible_name

#: How much of a text a message shows.
_WIDTH = 60
#: Indexes that every JSON implementation can tell apart.
LARGEST_INDEX = 2**53 - 1

_BLANKS = re.compile(r"[ \t\n\r]+")
_NAME = re.compile(r"""[^\s.\[\]'"$*?@,:(){}]+""")
_INDEX = re.compile(r"-?[0-9]+")
_PLAIN = {quote: re.compile(rf"[^\\{quote}\x00-\x1f]+") for quote in "'\""}
_HEX = re.compile(r"\\u([0-9A-Fa-f]{4})")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}
_ESCAPED = {char: f"\\{letter}" for letter, char in _ESCAPES.items() if char != "/"} | {"'": "\\'"}
_NOT_OURS = {
    "?": "a filter",
    "@": "a filter",
    ":": "a slice",
    ",": "a union",
    "(": "an expression",
}


class Every(Enum):
    """The step `[*]`: every entry of a list, or every value of an object."""

    ENTRY = "[*]"


#: One step of a path: a name, an index, or all entries.
PathStep: TypeAlias = str | int | Every


class PathSyntaxError(ValueError):
    """A text is no path; `position` is the offending character, counted from 0."""

    def __init__(self, problem: str, text: str, position: int) -> None:
        super().__init__(f"{problem} ({where(text, position)})")
        self.problem = problem
        self.text = text
        self.position = position

    @property
    def caret(self) -> str:
        """Return two lines: the text around a position, and a caret below it."""
        return caret(self.text, self.position)


# -- reading ------------------------------------------------------------------------------------

#: Reads an index from a position on: returns it and the position after it.
Nested = Callable[[str, int], tuple[Any, int]]


def read_name(text: str, at: int) -> tuple[str, int]:
    """Read a bare name, from a position on."""
    found = _NAME.match(text, at)
    if found is None:
        raise unexpected(text, at, "a name is")
    return found[0], found.end()


def read_steps(text: str, at: int, nested: Nested | None = None) -> tuple[list[Any], int]:
    """Read as many steps as there are; `nested` reads those indexes that begin with `${`."""
    steps: list[Any] = []
    while True:
        begin = skip_blanks(text, at)
        if text.startswith("..", begin):
            raise PathSyntaxError(_refusal("a descendant segment", ".."), text, begin)
        if text.startswith(".", begin):
            step, at = read_name(text, begin + 1)
        elif text.startswith("[", begin):
            step, at = _read_bracket(text, begin, nested)
        else:
            return steps, at
        steps.append(step)


def skip_blanks(text: str, at: int) -> int:
    """Return the position of the next character that is not blank."""
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _read_bracket(text: str, begin: int, nested: Nested | None) -> tuple[Any, int]:
    at = skip_blanks(text, begin + 1)
    first = text[at : at + 1]
    step: Any
    if first in _PLAIN:
        step, at = _read_quoted(text, at)
    elif first == "*":
        step, at = Every.ENTRY, at + 1
    elif nested is not None and text.startswith("${", at):
        step, at = nested(text, at)
    elif found := _INDEX.match(text, at):
        step, at = _index_at(text, at, found[0]), found.end()
    elif first == "-":
        raise unexpected(text, at + 1, "a number is")
    else:
        raise unexpected(text, at, "an index, a quoted name or * is")
    at = skip_blanks(text, at)
    if not text.startswith("]", at):
        raise unexpected(text, at, "']' is")
    return step, at + 1


def _index_at(text: str, at: int, digits: str) -> int:
    magnitude = digits.removeprefix("-")
    if magnitude[0] == "0" and digits != "0":
        problem = "an index has no leading zeros" if len(magnitude) > 1 else "-0 is not an index"
        raise PathSyntaxError(problem, text, at)
    if len(magnitude) > 16 or int(magnitude) > LARGEST_INDEX:
        raise PathSyntaxError("this index is too large", text, at)
    return int(digits)


def _read_quoted(text: str, begin: int) -> tuple[str, int]:
    quote = text[begin]
    at, parts = begin + 1, []
    while True:
        plain = _PLAIN[quote].match(text, at)
        if plain:
            parts.append(plain[0])
            at = plain.end()
        char = text[at : at + 1]
        if char == quote:
            return "".join(parts), at + 1
        if not char:
            raise PathSyntaxError("this quote is never closed", text, begin)
        if char != "\\":
            raise PathSyntaxError("a control character must be escaped", text, at)
        part, at = _read_escape(text, at, quote)
        parts.append(part)


def _read_escape(text: str, at: int, quote: str) -> tuple[str, int]:
    letter = text[at + 1 : at + 2]
    if letter == quote:
        return quote, at + 2
    if letter in _ESCAPES:
        return _ESCAPES[letter], at + 2
    found = _HEX.match(text, at)
    if found is None:
        raise PathSyntaxError("this is not an escape sequence", text, at)
    code = int(found[1], 16)
    if not 0xD800 <= code <= 0xDFFF:
        return chr(code), found.end()
    second = _HEX.match(text, found.end())
    low = int(second[1], 16) if second else 0
    if second is None or code >= 0xDC00 or not 0xDC00 <= low <= 0xDFFF:
        raise PathSyntaxError("this is half of a surrogate pair", text, at)
    return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), second.end()


def unexpected(text: str, at: int, needed: str) -> PathSyntaxError:
    """Return the error for a character where something else is needed."""
    char = text[at : at + 1]
    if char == "*":
        problem = "a wildcard (*) is spelled [*]"
    elif char in _NOT_OURS:
        problem = _refusal(_NOT_OURS[char], char)
    elif not char:
        problem = f"{needed} missing at the end"
    elif char.isspace():
        problem = "a blank cannot be here; quote a name that has one: ['odd key']"
    else:
        problem = f"{needed} needed before {shown_quoted(char)}"
    return PathSyntaxError(problem, text, at)


def _refusal(feature: str, spelling: str) -> str:
    return f"{feature} ({spelling}) is not supported in a path"


# -- spelling -----------------------------------------------------------------------------------


def spell_step(step: PathStep) -> str:
    """Return one step as it is spelled in a path."""
    if isinstance(step, Every):
        return step.value
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _is_bare(step) else f"[{_quoted(step)}]"


def shown(name: str) -> str:
    """Return a name for a message: cut when it is long, quoted when it is odd."""
    return name if _is_bare(name) and len(name) <= _WIDTH else shown_quoted(name)


def shown_quoted(text: str, position: int = 0) -> str:
    """Quote text for a message: on one line, and only what is around a position."""
    begin = max(0, position - _WIDTH // 2)
    end = begin + _WIDTH
    cut = "…" * (begin > 0) + text[begin:end] + "…" * (end < len(text))
    line = visible_name(cut)
    return f'"{line}"' if "'" in line else f"'{line}'"


def where(text: str, position: int) -> str:
    """Name a character of a text, for a message of one line."""
    return f"character {position + 1} of {shown_quoted(text, position)}"


def caret(text: str, position: int) -> str:
    """Return two lines: the text around a position, and a caret below it."""
    begin = max(0, position - _WIDTH)
    line = "".join(c if c.isprintable() else " " for c in text[begin : position + _WIDTH])
    return f"{line}\n{' ' * (position - begin)}^"


def _is_bare(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name.isprintable()


def _quoted(text: str) -> str:
    return f"'{''.join(_escaped(char) for char in text)}'"


def _escaped(char: str) -> str:
    if char in _ESCAPED:
        return _ESCAPED[char]
    code = ord(char)
    # Characters without a single escape sequence are left as they are.
    as_it_is = char.isprintable() or code > 0xFFFF or 0xD800 <= code <= 0xDFFF
    return char if as_it_is else f"\\u{code:04x}"
