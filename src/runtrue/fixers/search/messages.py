"""Messages: what Python and pytest say when something fails, read in this one place."""

from __future__ import annotations

import re
from enum import Enum

_UNORDERED = re.compile(r"'[<>]' not supported between instances of '(\w+)' and '\1'")


class Sign(Enum):
    """Something that a message says, with the words that say it."""

    # A TypeError: what a value is not, or lacks.
    NONE = ("NoneType",)
    OPERANDS = ("concatenate", "unsupported operand")
    UNORDERED = ("not supported between",)
    NOT_ITERABLE = ("not iterable",)
    UNHASHABLE = ("unhashable",)
    INTEGER_NEEDED = ("integer",)
    STRINGS_NEEDED = ("expected str",)
    STRING_NEEDED = ("string",)
    BYTES_NEEDED = ("bytes-like",)
    NO_LENGTH = ("len()",)
    NOT_SUBSCRIPTABLE = ("not subscriptable",)
    NOT_CALLABLE = ("not callable",)
    #: One of several parts too many or too few; also a ValueError.
    UNPACKED = ("unpack",)
    # Arguments of a call.
    ARGUMENT = ("argument",)
    MISSING = ("missing",)
    TOO_MANY = ("positional argument", "at most", "takes")
    METHOD = ("method",)
    # Asynchronous code.
    AWAIT = ("coroutine", "never awaited", "await", "async")
    ASYNC = ("async", "corout")
    #: A test that waits for an exception.
    NOT_RAISED = ("DID NOT RAISE", "not raised")
    # A SyntaxError.
    UNFINISHED = ("unterminated", "EOL while", "EOF while scanning")
    BRACKETS = ("was never closed", "unmatched", "does not match opening", "unexpected EOF")
    BLOCK_EXPECTED = ("expected an indented block",)
    INDENTED = ("unexpected indent",)
    UNINDENTED = ("unindent does not match",)
    INDENT = ("indent",)
    HANDLER_EXPECTED = ("expected 'except' or 'finally'",)
    TABS = ("inconsistent use of tabs",)
    OUTSIDE = ("outside", "not in")
    LOOP = ("loop",)
    ASYNC_OUTSIDE = ("async",)
    COLON_EXPECTED = ("expected ':'",)
    DECIMAL = ("invalid decimal literal",)
    COMMA = ("comma",)
    TRIPLE_QUOTED = ("triple",)
    CONTINUATION = ("continuation",)

    def is_in(self, message: str) -> bool:
        """True if a message says so."""
        return any(words in message for words in self.value)


def quoted(message: str) -> list[str]:
    """Return the names in quotes: the arguments that a call lacks."""
    return re.findall(r"'(\w+)'", message)


def operand_types(message: str) -> list[str]:
    """Return the types of operands that do not go together."""
    found = re.findall(r"'(\w+)'|not \"(\w+)\"|to (\w+)", message)
    return [next(filter(None, one)) for one in found]


def unexpected_keyword(message: str) -> str | None:
    """Return the keyword that a function does not take."""
    found = re.search(r"unexpected keyword argument '(\w+)'", message)
    return found and found[1]


def unordered_type(message: str) -> str | None:
    """Return the type of things that have no order."""
    found = _UNORDERED.search(message)
    return found and found[1]


def compares_type(message: str, name: str) -> bool:
    """True if two objects of a type cannot be compared."""
    return f"of '{name}' and '{name}'" in message


def cannot_hash(message: str, name: str) -> bool:
    """True if objects of a type have no hash."""
    return f"unhashable type: '{name}'" in message


def names_function(message: str, name: str) -> bool:
    """True if a message is about the call of a function."""
    return f"{name}()" in message


def missed_attribute(message: str) -> str:
    """Return the attribute that an object does not have."""
    return message.rpartition("attribute '")[2].partition("'")[0]


def owner_type(message: str) -> str:
    """Return the type of the object that lacks an attribute."""
    return message.partition("'")[2].partition("'")[0]


def line_named(message: str) -> int | None:
    """Return the line that a SyntaxError refers to beside its own."""
    found = re.search(r"on line (\d+)", message)
    return int(found[1]) if found else None


def opened_bracket(message: str) -> str | None:
    """Return the open bracket that a closing one does not fit."""
    found = re.search(r"opening parenthesis '(.)'", message)
    return found and found[1]
