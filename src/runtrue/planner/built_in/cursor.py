"""Cursor: the words of a clause about a list, and which of them have a role already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from runtrue.planner.built_in.dates import DATE, read_dates
from runtrue.planner.built_in.draft import CannotPlan
from runtrue.planner.built_in.entries import EntryTable, Held
from runtrue.planner.built_in.query_words import (
    ENTRIES,
    EQUALS,
    NUMBERS,
    ORDINALS,
    PART_OF,
    QUIET,
)
from runtrue.planner.task import TaskToken, TokenType

LONGEST_FIELD = 4
AMOUNT = re.compile(r"[$€£](\d+(?:\.\d+)?)")
ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
VALUES = frozenset({TokenType.NUMBER, TokenType.QUOTED})


@dataclass(frozen=True, slots=True)
class Order:
    """The field that entries are sorted by."""

    path: str
    descending: bool


@dataclass(slots=True)
class ListQuery:
    """What is wanted, in the order in which it is done: filter, sort, take, calculate or pick."""

    conditions: list[Held] = field(default_factory=list)
    order: Order | None = None
    #: `("first", 3)`, `("last", 2)`, `("at", 0)`.
    takes: list[tuple[str, int]] = field(default_factory=list)
    aggregate: str = ""
    aggregate_path: str | None = None
    group: str | None = None
    unique: bool = False
    separator: str | None = None
    #: The field that names an entry, where a question asks which one.
    label: str | None = None
    #: The wanted fields: their paths by name.
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def selects(self) -> bool:
        """True if not all entries are wanted, or not in the order that they are in."""
        return bool(self.conditions or self.order or self.takes or self.group or self.unique)

    @property
    def is_plain(self) -> bool:
        """True if all entries are wanted as they are."""
        return not (
            self.conditions or self.order or self.takes or self.aggregate or self.group
            or self.unique or self.fields or self.separator is not None
        )  # fmt: skip


class QueryCursor:
    """The words of one clause beside one table; each is used once."""

    def __init__(self, verb: str, tokens: Sequence[TaskToken], table: EntryTable) -> None:
        self.verb, self.table, self.query = verb, table, ListQuery()
        self.tokens = read_dates([one for token in tokens for one in _uncontracted(token)])
        self.words = [_plain(token) for token in self.tokens]
        self.free = [True] * len(self.tokens)
        #: True if a word for the entries or a field is a plural.
        self.is_plural = False
        #: True if the entries are sorted by what they are called, or by the one field wanted.
        self.is_alphabetical = False
        #: Where the words of wanted fields end.
        self._field_ends: set[int] = set()

    def _use(self, *places: int) -> None:
        for n in places:
            self.free[n] = False

    def _at(self, n: int, *words: str) -> bool:
        span = range(n, n + len(words))
        return (
            n >= 0
            and self.words[n : n + len(words)] == list(words)
            and all(self.free[i] for i in span)
        )

    def _span(self, n: int, text: str) -> int:
        """Return how many words of a phrase are free at a place; 0 if it is not there."""
        words = text.split()
        return len(words) if self._at(n, *words) else 0

    def _skip(self, n: int) -> int:
        while n < len(self.words) and self.words[n] in QUIET:
            n += 1
        return n

    def _field_from(self, n: int, *, strict: bool = False) -> tuple[str, int, int] | None:
        """Return the field that the longest run of words from a place names, and where it is."""
        begin = self._skip(n)
        for length in range(LONGEST_FIELD, 0, -1):
            end = begin + length
            if end > len(self.words) or not all(self._is_word(i) for i in range(begin, end)):
                continue
            if path := self._field(self.words[begin:end], strict):
                return path, begin, end
        return None

    def _field_until(self, n: int) -> tuple[str, int, int] | None:
        """Return the field that the longest run of words up to a place names, and where it is."""
        while n > 0 and self.words[n - 1] in QUIET | EQUALS.keys():
            n -= 1
        for length in range(LONGEST_FIELD, 0, -1):
            begin = n - length
            if begin < 0 or not all(self._is_word(i) for i in range(begin, n)):
                continue
            if path := self._field(self.words[begin:n], strict=True):
                return path, begin, n
        return None

    def _field(self, words: list[str], strict: bool) -> str | None:
        if set(words) & (QUIET | PART_OF | {"and", ",", "by", "per"}):
            return None
        if len(words) == 1 and self.table.is_noun(words[0]) and strict:
            return None
        return self.table.field(words)

    def _is_entry(self, words: Sequence[str]) -> bool:
        if len(words) != 1:
            return False
        # What a field is called is no word for whatever there is: `content`.
        is_any = words[0] in ENTRIES and f"$.{words[0]}" not in self.table.names
        return self.table.is_noun(words[0]) or is_any

    def _is_word(self, n: int) -> bool:
        return self.free[n] and bool(self.words[n]) and self.tokens[n].type is not TokenType.MARK

    def _value_at(self, n: int) -> tuple[Any, int] | None:
        """Return the number, date or quoted text at a place, and the place after it."""
        n = self._skip(n)
        if n >= len(self.tokens) or not self.free[n]:
            return None
        token = self.tokens[n]
        if token.type in VALUES:
            return token.value, n + 1
        if amount := AMOUNT.fullmatch(token.text):
            return float(amount[1]) if "." in amount[1] else int(amount[1]), n + 1
        if DATE.fullmatch(token.text):
            return token.text, n + 1
        return (NUMBERS[token.word], n + 1) if token.word in NUMBERS else None

    def _add(self, held: Held, operator: str = "==") -> None:
        if operator == "!=" and held.operator != "==":
            raise CannotPlan(f"{held.value!r}: it cannot be left out of a list of values")
        changed = operator if operator != "==" else held.operator
        self.query.conditions.append(Held(held.path, changed, held.value))

    def _before(self, n: int) -> str:
        """Return the word before a place, those without a meaning left out."""
        while n and self.words[n - 1] in QUIET:
            n -= 1
        return self.words[n - 1] if n else ""

    def _unclear(self, words: Sequence[str], what: str) -> NoReturn:
        said = " ".join(words)
        doubts = self.table.doubts.get(said, ())
        hint = f"; it could be {', '.join(doubts)}" if doubts else ""
        raise CannotPlan(f"{said!r} {what}{hint}")


def _uncontracted(token: TaskToken) -> tuple[TaskToken, ...]:
    """Return "isn't" as two words."""
    if token.type is not TokenType.WORD or not token.word.endswith("n't"):
        return (token,)
    verb = token.word.removesuffix("n't") or "do"
    return tuple(TaskToken(TokenType.WORD, word, word) for word in (verb, "not"))


def _plain(token: TaskToken) -> str:
    """Return a word in lower case without its possessive ending; quoted text as it is."""
    if token.type is TokenType.QUOTED:
        quoted = str(token.value)
        return quoted if quoted.lower() in QUIET | PART_OF else quoted.lower()
    word = token.word if token.type is not TokenType.FILE else token.text.lower()
    if token.text.isupper() and len(word) > 1 and word in QUIET | PART_OF:
        return token.text  # "IT" is no "it".
    for ending in ("'s", "s'"):
        if word.endswith(ending) and len(word) > 2:
            return word[:-2] if ending == "'s" else word[:-1]
    return word


def index_of(word: str) -> int:
    """Return the index that an ordinal means."""
    found = ORDINAL.fullmatch(word)
    return int(found[1]) - 1 if found else ORDINALS[word]


def is_date(value: Any) -> bool:
    """True for a text that is an ISO date."""
    return isinstance(value, str) and DATE.fullmatch(value) is not None
