"""Foreign text: what files, commands, servers and models wrote, made safe for people to look at.

A terminal obeys control characters, and a reader does not see what has no shape: marks that turn
the direction of writing, characters without width, tags that only a model reads. `visible` is the
one function that turns them into escapes such as `\\x1b` before anything is shown.
"""

from __future__ import annotations

import re
import unicodedata

#: Counted as letters or marks by Unicode, and drawn as nothing: joiners, fillers, selectors.
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
#: Choose the form of the symbol before them, as in most emoji.
_SELECTORS = frozenset("\ufe0e\ufe0f")


def visible(text: str, *, keep: str = "\n\t") -> str:
    """Return a text with everything escaped that cannot be seen, but for the characters in `keep`.

    What was escaped before stays as it is.
    """
    if text.isprintable() and not _SHAPELESS.search(text):
        return text
    return "".join(
        char if _is_seen(char, text[index - 1 : index]) or char in keep else _escape(char)
        for index, char in enumerate(text)
    )


def visible_name(name: str) -> str:
    """Return the name of a file or a test, on one line, with everything escaped as by `visible`."""
    return visible(name, keep="")


def visible_json(text: str) -> str:
    """Return a JSON text with what cannot be seen as the escapes of JSON: it means the same."""
    if text.isprintable() and not _SHAPELESS.search(text):
        return text
    return "".join(
        char if _is_seen(char, text[index - 1 : index]) or char == "\n" else _json_escape(char)
        for index, char in enumerate(text)
    )


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters; one that is cut ends with `…`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def one_line(text: str, most: int) -> str:
    """Return a text on one line, with single blanks, of at most so many characters."""
    return cut(" ".join(text.split()), most)


def hidden_characters(text: str) -> tuple[str, ...]:
    """Return the names of the characters in a text that its reader would not see, each once.

    Line ends, tabs and form feeds are no surprise in a file.
    """
    shown = visible(text, keep="\n\t\r\f")
    if shown == text:
        return ()
    hidden = dict.fromkeys(
        char
        for index, char in enumerate(text)
        if char not in "\n\t\r\f\xa0" and not _is_seen(char, text[index - 1 : index])
    )
    return tuple(f"{_escape(char)} ({_name(char)})" for char in hidden)


def _is_seen(char: str, before: str) -> bool:
    if char in _SELECTORS:
        return bool(before) and unicodedata.category(before) == "So"
    return char.isprintable() and not _SHAPELESS.match(char)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _name(char: str) -> str:
    return unicodedata.name(char, "control character").lower()
