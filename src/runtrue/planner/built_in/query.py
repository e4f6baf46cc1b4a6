"""Queries: what a clause wants of a list, read word by word against the entries that there are.

Every word gets a role: a field, a condition, an order, a number of entries, a calculation, a word
for the entries themselves. Words that are left without one are named, and nothing is planned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from runtrue.planner.built_in.draft import CannotPlan
from runtrue.planner.built_in.entries import EntryTable, Held
from runtrue.planner.built_in.query_words import (
    AGGREGATES,
    ASCENDING,
    COMPARATORS,
    CONCEPTS,
    DESCENDING,
    ENTRIES,
    EQUALS,
    EXTREMES,
    MONEY,
    NUMBERS,
    ORDINALS,
    PART_OF,
    QUIET,
    SUPERLATIVES,
)
from runtrue.planner.task import TaskToken, TokenType
from runtrue.planner.words import singular

_LONGEST_FIELD = 4
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?.*")
_AMOUNT = re.compile(r"[$€£](\d+(?:\.\d+)?)")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_VALUES = frozenset({TokenType.NUMBER, TokenType.QUOTED})


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
    #: The wanted fields: their paths by name.
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """True if all entries are wanted as they are."""
        return not (
            self.conditions or self.order or self.takes or self.aggregate or self.group
            or self.unique or self.fields or self.separator is not None
        )  # fmt: skip


class QueryReader:
    """Reads one clause against one table; each token is used once."""

    def __init__(self, verb: str, tokens: Sequence[TaskToken], table: EntryTable) -> None:
        self.verb, self.table, self.query = verb, table, ListQuery()
        self.tokens = list(tokens)
        self.words = [_plain(token) for token in tokens]
        self.free = [True] * len(tokens)
        #: A superlative or ordinal that speaks of one entry.
        self._extreme: tuple[int, str] | None = None

    def read(self) -> ListQuery:
        """Return the query. Raises CannotPlan with the words that have no role."""
        if self.verb in ("count", "how") and self.words[:1] != ["much"]:
            self._use(*(n for n, word in enumerate(self.words[:1]) if word == "many"))
            self.query.aggregate = "count"
        elif self.verb in AGGREGATES:
            self._aggregate(AGGREGATES[self.verb], 0)
        for rule in (
            self._formats, self._orders, self._groups, self._comparisons, self._equalities,
            self._superlatives, self._positions, self._aggregates, self._unique, self._chunks,
        ):  # fmt: skip
            rule()
        self._refuse_rest()
        self._settle()
        return self.query

    # -- tokens --------------------------------------------------------------------------------

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
        for length in range(_LONGEST_FIELD, 0, -1):
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
        for length in range(_LONGEST_FIELD, 0, -1):
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

    def _is_word(self, n: int) -> bool:
        return self.free[n] and bool(self.words[n]) and self.tokens[n].type is not TokenType.MARK

    def _value_at(self, n: int) -> tuple[Any, int] | None:
        """Return the number, date or quoted text at a place, and the place after it."""
        n = self._skip(n)
        if n >= len(self.tokens) or not self.free[n]:
            return None
        token = self.tokens[n]
        if token.type in _VALUES:
            return token.value, n + 1
        if amount := _AMOUNT.fullmatch(token.text):
            return float(amount[1]) if "." in amount[1] else int(amount[1]), n + 1
        if _DATE.fullmatch(token.text):
            return token.text, n + 1
        return (NUMBERS[token.word], n + 1) if token.word in NUMBERS else None

    # -- rules ---------------------------------------------------------------------------------

    def _formats(self) -> None:
        for n, word in enumerate(self.words):
            for form in ("csv", "json", "table", "list", "array", "text"):
                if word != form or not self.free[n]:
                    continue
                before = [
                    i
                    for i in (n - 2, n - 1)
                    if i >= 0 and self.words[i] in ("as", "in", "a", "to", "into")
                ]
                if any(self.words[i] in ("as", "in", "to", "into") for i in before):
                    after = [i for i in (n + 1,) if self._at(i, "format") or self._at(i, "file")]
                    self._use(n, *before, *after)
        for n in range(len(self.words)):
            for phrase in (
                "comma separated",
                "comma-separated",
                "separated by commas",
                "joined by commas",
            ):
                if length := self._span(n, phrase):
                    self._use(*range(n, n + length))
                    self.query.separator = ", "
                    for word in ("as", "in", "a", "list", "string", "text"):
                        near = range(max(0, n - 2), min(len(self.words), n + length + 2))
                        self._use(*(i for i in near if self.words[i] == word))

    def _orders(self) -> None:
        sorting = {
            "sorted",
            "ordered",
            "ranked",
            "arranged",
            "sort",
            "order",
            "ordering",
            "sorting",
            "descending",
            "ascending",
        }
        for n, word in enumerate(self.words):
            if word == "by" and self.free[n]:
                before = [
                    i for i in range(max(0, n - 3), n) if self.words[i] in sorting and self.free[i]
                ]
                direction = self._direction_after(n)
                if not (before or self.verb == "sort" or direction is not None or self._is_top()):
                    continue
                found = self._field_from(n + 1)
                if found is None:
                    self._unclear(self.words[n + 1 : n + 3], "is no field to sort by")
                path, begin, end = found
                self._use(n, *before, *range(begin, end))
                self._use(*(i for i in range(begin) if i > n and self.words[i] in QUIET))
                down = self._direction()
                self.query.order = Order(path, self._is_top() if down is None else down)
                return
        for n, word in enumerate(self.words):
            if word == "alphabetically" and self.free[n]:
                name = self.table.field(["name"]) or self.table.field(["title"])
                if name is None:
                    self._unclear([word], "has no field to sort by")
                self._use(n, *(i for i in (n - 1,) if i >= 0 and self.words[i] in sorting))
                self.query.order = Order(name, False)
        if self.verb == "sort" and self.query.order is None:
            self._unclear(self.words, "does not say which field to sort by")

    def _is_top(self) -> bool:
        return any(self.words[n] == "top" for n in range(len(self.words)))

    def _direction_after(self, n: int) -> bool | None:
        rest = self.words[n:]
        return True if set(rest) & DESCENDING else False if set(rest) & ASCENDING else None

    def _direction(self) -> bool | None:
        """Use the words that say which way to sort; True for descending."""
        found = None
        for n, word in enumerate(self.words):
            if not self.free[n]:
                continue
            if word in DESCENDING or word in ASCENDING:
                found = word in DESCENDING
                near = (n - 1, n + 1)
                self._use(
                    n,
                    *(
                        i
                        for i in near
                        if 0 <= i < len(self.words) and self.words[i] in ("in", "order")
                    ),
                )
            elif (
                word == "first" and n and self.words[n - 1] in EXTREMES.keys() | SUPERLATIVES.keys()
            ):
                before = self.words[n - 1]
                found = EXTREMES[before] == "max" if before in EXTREMES else SUPERLATIVES[before][1]
                self._use(n, n - 1)
            elif (
                word == "to"
                and 0 < n < len(self.words) - 1
                and self.words[n + 1]
                in ("low", "lowest", "high", "highest", "smallest", "largest", "oldest", "newest")
            ):
                found = self.words[n + 1] in ("low", "lowest", "smallest", "oldest")
                begin = n - 2 if n > 1 and self.words[n - 2] == "from" else n - 1
                self._use(*range(begin, n + 2))
        return found

    def _groups(self) -> None:
        counts = self.query.aggregate == "count" or any(
            self.words[n] in ("number", "count", "many") for n in range(len(self.words))
        )
        for n in range(len(self.words)):
            for phrase in (
                "grouped by",
                "group by",
                "per",
                "for each",
                "in each",
                "by",
                "for every",
            ):
                length = self._span(n, phrase)
                plain = phrase in ("per", "grouped by", "group by") or counts
                if not length or not plain or self.query.group:
                    continue
                found = self._field_from(n + length, strict=True)
                if found is None:
                    continue
                path, begin, end = found
                self._use(*range(n, n + length), *range(begin, end))
                self.query.group = path

    def _comparisons(self) -> None:
        for n in range(len(self.words)):
            if not self.free[n]:
                continue
            if self.words[n] == "between":
                self._between(n)
                continue
            for phrase in sorted(COMPARATORS, key=len, reverse=True):
                length = self._span(n, phrase)
                value = self._value_at(n + length) if length else None
                if value is not None:
                    self._comparison(n, n + length, phrase, *value)
                    break
            else:
                self._or_more(n)

    def _comparison(self, begin: int, middle: int, phrase: str, value: Any, end: int) -> None:
        operator, concept = COMPARATORS[phrase]
        path, used = self._compared(begin, end, concept, value)
        operator, value = self._dated(path, operator, value, phrase)
        self._use(*range(begin, end), *used)
        self.query.conditions.append(Held(path, operator, value))

    def _or_more(self, n: int) -> None:
        value = self._value_at(n)
        if value is None or not self._at(value[1], "or"):
            return
        words = self.words[value[1] + 1 : value[1] + 2]
        operator = {
            "more": ">=",
            "higher": ">=",
            "above": ">=",
            "older": ">=",
            "less": "<=",
            "lower": "<=",
            "fewer": "<=",
            "below": "<=",
            "younger": "<=",
        }.get("".join(words))
        if operator:
            path, used = self._compared(n, value[1] + 2, "", value[0])
            self._use(*range(n, value[1] + 2), *used)
            self.query.conditions.append(Held(path, operator, value[0]))

    def _between(self, n: int) -> None:
        low = self._value_at(n + 1)
        if low is None or not self._at(low[1], "and"):
            return
        high = self._value_at(low[1] + 1)
        if high is None:
            return
        path, used = self._compared(n, high[1], "", low[0])
        self._use(*range(n, high[1]), *used)
        self.query.conditions += [Held(path, ">=", low[0]), Held(path, "<=", high[0])]

    def _compared(self, begin: int, end: int, concept: str, value: Any) -> tuple[str, list[int]]:
        """Return the field that a comparison is about, and the words that say so."""
        used: list[int] = []
        money = end < len(self.words) and self.words[end] in MONEY
        if money:
            used.append(end)
        money = money or any(self.tokens[n].text[:1] in "$€£" for n in range(begin, end))
        if not concept and not money and (after := self._field_from(end)) and not _is_date(value):
            before = self._field_until(begin)
            if before is None or self.tokens[end].type is TokenType.WORD:
                return after[0], list(range(after[1], after[2]))
        if not concept and (before := self._field_until(begin)):
            return before[0], list(range(before[1], before[2]))
        word = self.words[begin - 1] if begin else ""
        if word in ("costing", "costs", "cost", "priced", "worth", "selling"):
            concept = "price"
            used.append(begin - 1)
        elif word in ("aged", "age"):
            concept = "age"
            used.append(begin - 1)
        concept = concept or ("price" if money else "")
        if _is_date(value) or concept == "date":
            path = self._one_date(begin)
            if path is not None:
                return path, used
        path = self._concept(concept) if concept else None
        if path is None:
            self._unclear(self.words[begin:end], "does not say which field is compared")
        return path, used

    def _dated(self, path: str, operator: str, value: Any, phrase: str) -> tuple[str, Any]:
        """Return a comparison of dates: "older" is before a date, and a year is all of it."""
        if path not in self.table.dates():
            return operator, value
        if phrase in ("older than", "newer than", "younger than"):
            operator = "<" if phrase == "older than" else ">"
        if isinstance(value, int):
            value = str(value + 1) if operator in (">", "<=") else str(value)
            operator = {">": ">=", "<=": "<"}.get(operator, operator)
        return operator, value

    def _one_date(self, begin: int) -> str | None:
        dates = self.table.dates()
        if len(dates) == 1:
            return dates[0]
        years = self.table.field(["year"])
        return years if years and not dates else None

    def _concept(self, concept: str) -> str | None:
        if concept == "date":
            return self._date()
        for words in CONCEPTS.get(concept, (concept,)):
            if path := self.table.field(words.split()):
                return path
        return None

    def _date(self) -> str | None:
        dates = self.table.dates()
        for names in (
            "created",
            "published",
            "posted",
            "date",
            "released",
            "added",
            "start",
            "time",
        ):
            named = [path for path in dates if names.rstrip("d") in path.lower()]
            if len(named) == 1:
                return named[0]
        if not dates:
            return self.table.field(["year"]) or self.table.field(["timestamp"])
        return dates[0] if len(dates) == 1 else None

    def _equalities(self) -> None:
        for n, token in enumerate(self.tokens):
            if token.type is TokenType.PAIR and self.free[n]:
                path = self.table.field([token.key.lower()])
                if path is None:
                    self._unclear([token.text], "names no field")
                self._use(n)
                self._equal(path, "==", str(token.value), token.value)
        for n in range(len(self.words)):
            for phrase in sorted(EQUALS, key=len, reverse=True):
                length = self._span(n, phrase)
                before = self._field_until(n) if length else None
                if before is None:
                    continue
                if self._equality(before[0], EQUALS[phrase], n + length):
                    self._use(*range(before[1], n + length))
                    break
        for n, word in enumerate(self.words):
            # "with id 5", "in category electronics", "by user 3"
            if word in PART_OF - {"of"} | {"by"} and self.free[n]:
                found = self._field_from(n + 1, strict=True)
                numbered = found is None and self._numbered(n + 1)
                if found and self._equality(found[0], "==", found[2]):
                    self._use(n, *range(found[1], found[2]))
                elif numbered:
                    path, end = numbered
                    self._equal(path, "==", self.tokens[end - 1].text, self.tokens[end - 1].value)
                    self._use(n, *range(self._skip(n + 1), end))
            elif word == "of" and self.free[n] and (numbered := self._numbered(n + 1)):
                path, end = numbered
                self._equal(path, "==", self.tokens[end - 1].text, self.tokens[end - 1].value)
                self._use(n, *range(self._skip(n + 1), end))

    def _numbered(self, n: int) -> tuple[str, int] | None:
        """Return the field for "user 3": the id of a user."""
        n = self._skip(n)
        if n + 1 >= len(self.tokens) or self.tokens[n + 1].type is not TokenType.NUMBER:
            return None
        if self.words[n] in ORDINALS or self.words[n] in ("top", "bottom"):
            return None
        path = self._is_word(n) and self.table.named_field([self.words[n], "id"])
        return (path, n + 2) if path else None

    def _equality(self, path: str, operator: str, n: int) -> bool:
        """Read the value that a field is compared with, from a place on."""
        n = self._skip(n)
        if self._at(n, "not") or self._at(n, "isn't"):
            operator = "!="
            self._use(n)
            n += 1
        if n >= len(self.tokens) or not self.free[n]:
            return False
        if self.tokens[n].type in _VALUES or _AMOUNT.fullmatch(self.tokens[n].text):
            found = self._value_at(n)
            value = found[0] if found else self.tokens[n].value
            self._equal(path, operator, str(value), value)
            self._use(n)
            return True
        for length in range(_LONGEST_FIELD, 0, -1):
            words = [token.text for token in self.tokens[n : n + length]]
            free = len(words) == length and all(self._is_word(i) for i in range(n, n + length))
            held = self.table.value(" ".join(words), path) if free else None
            if held is not None:
                self._add(held, operator)
                self._use(*range(n, n + length))
                return True
        word = self.words[n]
        if word in ("true", "false", "yes", "no"):
            self.query.conditions.append(Held(path, operator, word in ("true", "yes")))
        elif (operator in ("contains", "starts_with", "ends_with") and self._is_word(n)) or (
            operator in ("==", "!=")
            and self._is_word(n)
            and self.table.texts(path)
            and word not in COMPARATORS
            and self._states(n)
        ):
            self.query.conditions.append(Held(path, operator, self.tokens[n].text))
        else:
            return False
        self._use(n)
        return True

    def _states(self, n: int) -> bool:
        """True if "whose status is x" or "status = x" says a value, whether it is there or not."""
        begins = {"whose", "where", "with", "having"} & set(self.words[:n])
        return bool(begins and self.words[n - 1] in EQUALS) or self.words[n - 1] in ("=", "equals")

    def _equal(self, path: str, operator: str, phrase: str, value: Any) -> None:
        held = self.table.value(phrase, path) if operator in ("==", "!=") else None
        if held is not None:
            self._add(held, operator)
        else:
            self.query.conditions.append(Held(path, operator, value))

    def _add(self, held: Held, operator: str = "==") -> None:
        if operator == "!=" and held.operator != "==":
            raise CannotPlan(f"{held.value!r}: it cannot be left out of a list of values")
        changed = operator if operator != "==" else held.operator
        self.query.conditions.append(Held(held.path, changed, held.value))

    def _superlatives(self) -> None:
        for n in range(len(self.words)):
            for phrase in sorted(SUPERLATIVES, key=len, reverse=True):
                if length := self._span(n, phrase):
                    concept, down, alternative = SUPERLATIVES[phrase]
                    path = self._concept(concept)
                    if path is None and alternative:
                        path, down = self._concept(alternative), not down
                    if path is None:
                        self._unclear([phrase], "has no field to be found by")
                    self._use(*range(n, n + length))
                    self._order_one(path, down, n)
                    break
            if self.free[n] and self.words[n] in EXTREMES:
                self._extremum(n)

    def _extremum(self, n: int) -> None:
        """Read "the highest price", "with the most stars", "largest by area"."""
        down = EXTREMES[self.words[n]] == "max"
        found = self._field_from(n + 1, strict=True)
        if found is None:
            by = next((i for i in range(n + 1, len(self.words)) if self._at(i, "by")), None)
            found = self._field_from(by + 1) if by is not None else None
            if found is None or by is None:
                if n + 1 < len(self.words) and self.tokens[n + 1].type is TokenType.NUMBER:
                    return
                self._unclear([self.words[n]], "does not say by which field")
            self._use(by)
            is_value = False
        else:
            before = [w for w in self.words[max(0, n - 3) : n] if w not in ("the", "a", "an")]
            is_value = not (set(before[-1:]) & {"with", "has", "have", "having", "had", "by"})
        path, begin, end = found
        self._use(n, *range(begin, end))
        if is_value and not self.query.aggregate:
            self.query.aggregate = "max" if down else "min"
            self.query.aggregate_path = path
        else:
            self._order_one(path, down, n)

    def _order_one(self, path: str, down: bool, n: int) -> None:
        if self.query.order is not None:
            self._unclear([self.words[n]], "is a second order")
        self.query.order = Order(path, down)
        number = self._number_near(n)
        self.query.takes = [("first", number)] if number else [("at", 0)]

    def _number_near(self, n: int) -> int | None:
        """Use the number of "3 cheapest", "cheapest 3", "top 3 most recent"."""
        end = n
        while end < len(self.words) and not self.free[end]:
            end += 1
        for i in (n - 1, end):
            if 0 <= i < len(self.tokens) and self.free[i]:
                value = self._value_at(i)
                if value and isinstance(value[0], int) and value[1] == i + 1:
                    self._use(i)
                    if i and self.words[i - 1] in ("top", "first", "bottom"):
                        self._use(i - 1)
                    return value[0]
        if (n and self.free[n - 1] and _ORDINAL.fullmatch(self.words[n - 1])) or (
            n and self.words[n - 1] in ORDINALS and self.free[n - 1]
        ):
            index = _index_of(self.words[n - 1])
            self._use(n - 1)
            self.query.takes = [("at", index)]
        return None

    def _positions(self) -> None:
        places = [n for n in range(len(self.words)) if self.free[n] and self._is_position(n)]
        for n in places:
            if not self.free[n] or (
                self.table.field(self.words[n : n + 2])
                and len(self.words) > n + 1
                and not self.table.is_noun(self.words[n + 1])
            ):
                continue  # "last name" is a field.
            word = self.words[n]
            value = self._value_at(n + 1)
            if value and isinstance(value[0], int) and word in ("first", "last", "top", "bottom"):
                self._use(n, n + 1)
                end = "last" if word in ("last", "bottom") else "first"
                if self.query.order and word == "bottom":
                    self.query.order = Order(self.query.order.path, False)
                    end = "first"
                self.query.takes.append((end, value[0]))
            elif word not in ("top", "bottom"):
                self._use(n)
                index = _index_of(word)
                if self.query.takes == [("at", 0)] and self.query.order:
                    self.query.takes = [("at", index)]
                else:
                    self.query.takes.append(("at", index))
        if len(self.query.takes) > 1:
            self.query.takes = list(dict.fromkeys(self.query.takes))

    def _is_position(self, n: int) -> bool:
        word = self.words[n]
        return word in ORDINALS or word in ("top", "bottom") or _ORDINAL.fullmatch(word) is not None

    def _aggregates(self) -> None:
        for n in range(len(self.words)):
            for phrase, operation in (
                ("total number of", "count"),
                ("number of", "count"),
                ("how many", "count"),
                ("count of", "count"),
            ):
                if length := self._span(n, phrase):
                    self._use(*range(n, n + length))
                    self.query.aggregate = operation
            if self.free[n] and self.words[n] in AGGREGATES and not self.query.aggregate:
                field_here = self.table.named_field([self.words[n]])
                if field_here is None:
                    self._use(n)
                    self._aggregate(AGGREGATES[self.words[n]], n + 1)

    def _aggregate(self, operation: str, n: int) -> None:
        found = self._field_from(n, strict=True)
        if found is None:
            after = next((i for i in range(n, len(self.words)) if self.words[i] == "of"), None)
            found = self._field_from(after + 1, strict=True) if after is not None else None
        if found is None:
            self._unclear(self.words[n : n + 3], f"names no field to calculate the {operation} of")
        self._use(*range(found[1], found[2]))
        self.query.aggregate, self.query.aggregate_path = operation, found[0]

    def _unique(self) -> None:
        for n, word in enumerate(self.words):
            if self.free[n] and word in ("unique", "distinct", "different", "duplicates"):
                self._use(n)
                self.query.unique = True

    def _chunks(self) -> None:
        """Give the words that are left a role: a field, the entries, a flag or a value."""
        n = 0
        while n < len(self.words):
            if (
                not self._is_word(n)
                or self.words[n] in QUIET | PART_OF
                or self.words[n] in (",", "and", "&")
            ):
                n += 1
                continue
            n = self._segment(n)

    def _segment(self, n: int) -> int:
        end = n
        stop = QUIET | PART_OF | {",", "and", "&"}
        while end < len(self.words) and self._is_word(end) and self.words[end] not in stop:
            end += 1
        if end < len(self.words) and self.words[end] in PART_OF:
            # "the rate for JPY" is one field, if there is one of both names.
            inner = self._skip(end + 1)
            if inner < len(self.words) and self._is_word(inner):
                both = [*self.words[n:end], self.words[inner]]
                path = self.table.named_field(both)
                if path and not self.table.is_noun(self.words[inner]):
                    self._use(*range(n, inner + 1))
                    self.query.fields["_".join(both)] = path
                    return inner + 1
        for last in range(min(end, n + _LONGEST_FIELD), n, -1):
            if self._bind(n, last):
                self._use(*range(n, last))
                return last
        return n + 1

    def _bind(self, n: int, end: int) -> bool:
        words, table = self.words[n:end], self.table
        single = words[0] if len(words) == 1 else ""
        before = self.words[n - 1] if n else ""
        negated = before in ("not", "aren't", "isn't", "without")
        if single and (table.is_noun(single) or single in ENTRIES):
            return True
        if (flag := table.flag(words)) is not None and self._describes(n, end):
            self._negate(n, negated)
            self.query.conditions.append(Held(flag.path, "==", flag.value is not negated))
            return True
        texts = " ".join(token.text for token in self.tokens[n:end])
        held = table.value(re.sub(r"['’]s\b", "", texts)) if self._describes(n, end) else None
        if held is not None:
            self._negate(n, negated)
            self._add(held, "!=" if negated else "==")
            return True
        path = table.field(words)
        if path is None:
            return False
        if n and not self.free[n - 1] and path in {held.path for held in self.query.conditions}:
            return True  # "in the kitchen category"
        if self.query.aggregate == "count" and not self.query.fields and not self.query.unique:
            return self._counted(path)
        name = "_".join(words)
        self.query.fields[self._named(words, path) or name] = path
        return True

    def _negate(self, n: int, negated: bool) -> None:
        if negated:
            self._use(n - 1)

    def _counted(self, path: str) -> bool:
        """Count what is in a field of the one entry that is meant."""
        self.query.aggregate_path = path
        return True

    def _named(self, words: list[str], path: str) -> str:
        return "_".join(re.sub(r"\W+", "_", word) for word in words)

    def _describes(self, n: int, end: int) -> bool:
        """True for words that can say which entries: no field is called so."""
        return (
            self.table.named_field(self.words[n:end]) is None
            or self.table.flag(self.words[n:end]) is not None
        )

    # -- the end -------------------------------------------------------------------------------

    def _refuse_rest(self) -> None:
        quiet = QUIET | PART_OF | {",", "and", "&", "(", ")", ":", ".", "by"}
        left = [
            token.text
            for n, token in enumerate(self.tokens)
            if self.free[n] and self.words[n] not in quiet
        ]
        if left:
            said = " ".join(left)
            doubts = [
                path for word in (said, *left) for path in self.table.doubts.get(word.lower(), ())
            ]
            hint = f"; it could be {', '.join(dict.fromkeys(doubts))}" if doubts else ""
            raise CannotPlan(f"{said!r} is not understood{hint}")

    def _settle(self) -> None:
        query = self.query
        if (
            query.aggregate in ("sum", "average")
            and query.aggregate_path
            and not self.table.numbers(query.aggregate_path)
        ):
            self._unclear([query.aggregate_path], "holds no numbers to calculate with")
        if query.group and query.aggregate not in ("", "count"):
            self._unclear([query.aggregate], "of each group is not planned")
        if query.group and (query.fields or query.takes or query.order):
            self._unclear(list(query.fields) or ["the order"], "of groups is not planned")

    def _unclear(self, words: Sequence[str], what: str) -> NoReturn:
        said = " ".join(words)
        doubts = self.table.doubts.get(said, ())
        hint = f"; it could be {', '.join(doubts)}" if doubts else ""
        raise CannotPlan(f"{said!r} {what}{hint}")


def _plain(token: TaskToken) -> str:
    """Return a word in lower case without its possessive ending; quoted text as it is."""
    if token.type is TokenType.QUOTED:
        return str(token.value).lower()
    word = token.word if token.type is not TokenType.FILE else token.text.lower()
    for ending in ("'s", "s'"):
        if word.endswith(ending) and len(word) > 2:
            return word[:-2] if ending == "'s" else word[:-1]
    return word


def _index_of(word: str) -> int:
    found = _ORDINAL.fullmatch(word)
    return int(found[1]) - 1 if found else ORDINALS[word]


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and _DATE.fullmatch(value) is not None


def entry_noun(word: str) -> str:
    """Return a word for an entry in the singular."""
    return singular(word.lower())
