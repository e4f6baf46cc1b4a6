"""Conditions: which entries a clause means, by comparison, by equality and by date."""

from __future__ import annotations

from typing import Any

from runtrue.planner.built_in.cursor import AMOUNT, LONGEST_FIELD, VALUES, QueryCursor, is_date
from runtrue.planner.built_in.dates import decade, is_year, next_period
from runtrue.planner.built_in.entries import Held
from runtrue.planner.built_in.query_words import (
    COMPARATORS,
    CONCEPTS,
    DATE_VERBS,
    EQUALS,
    HINTS,
    MONEY,
    ORDINALS,
    PART_OF,
    QUIET,
)
from runtrue.planner.task import TokenType
from runtrue.planner.words import split_name

_IN_TIME = frozenset({"in", "during", "on", "of", "from"})


class Conditions(QueryCursor):
    """Reads conditions."""

    def _comparisons(self) -> None:
        for n in range(len(self.words)):
            if not self.free[n]:
                continue
            if self._at(n, "over", "all"):
                self._use(n)  # "the total over all invoices"
                continue
            if self.words[n] in ("positive", "negative") and (found := self._field_from(n + 1)):
                operator = ">" if self.words[n] == "positive" else "<"
                self._use(n, *range(found[1], found[2]))
                self.query.conditions.append(Held(found[0], operator, 0))
                continue
            if self.words[n] == "between":
                self._between(n)
                continue
            for phrase in sorted(COMPARATORS, key=len, reverse=True):
                length = self._span(n, phrase)
                value = self._value_at(n + length) if length else None
                if value is not None:
                    self._comparison(n, n + length, phrase, *value)
                    self._use(
                        *(i for i in value[1:] if self.words[i : i + 1] in (["%"], ["percent"]))
                    )
                    break
            else:
                self._or_more(n)

    def _comparison(self, begin: int, middle: int, phrase: str, value: Any, end: int) -> None:
        operator, concept = COMPARATORS[phrase]
        path, used = self._compared(begin, end, concept, value, is_amount=not concept)
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

    def _compared(
        self, begin: int, end: int, concept: str, value: Any, *, is_amount: bool = False
    ) -> tuple[str, list[int]]:
        """Return the field that a comparison is about, and the words that say so.

        What there is an amount of, as in "over 1500 words", is no year.
        """
        used: list[int] = []
        money = end < len(self.words) and self.words[end] in MONEY
        if money:
            used.append(end)
        money = money or any(self.tokens[n].text[:1] in "$€£" for n in range(begin, end))
        of_years = is_year(value) and bool(self._dates()) and not is_amount
        if is_date(value) or concept == "date" or of_years:
            path, words = self._dated_field(begin, concept)
            if path is not None:
                return path, [*used, *words]
        if not concept and not money and (after := self._field_from(end)) and not is_date(value):
            before = self._field_until(begin)
            if before is None or (self.tokens[end].type is TokenType.WORD and not self._joins(end)):
                hinted = HINTS.get(self.words[begin - 1]) if begin else None
                if hinted and self._concept(hinted) == after[0]:
                    used.append(begin - 1)
                return after[0], [*used, *range(after[1], after[2])]
        if not concept and (before := self._field_until(begin)):
            return before[0], [*used, *range(before[1], before[2])]
        by = begin > 1 and self.words[begin - 1] in ("by", "at", "to")
        if not concept and begin and (near := self.table.number_near(self.words[begin - 1 - by])):
            return near, [*used, *range(begin - 1 - by, begin)]
        word = self.words[begin - 1] if begin else ""
        if not concept and word in HINTS:
            concept = HINTS[word]
            used.append(begin - 1)
        concept = concept or ("price" if money else "")
        path = self._concept(concept) if concept else None
        if path is None:
            said = [token.text for token in self.tokens[begin:end]]
            self._unclear(said, "does not say which field is compared")
        return path, used

    def _joins(self, n: int) -> bool:
        return n < len(self.words) and self.words[n] in (",", "and", "&")

    def _dates(self) -> list[str]:
        return [*self.table.dates(), *self.table.years()]

    def _dated_field(self, n: int, concept: str = "") -> tuple[str | None, list[int]]:
        """Return the date that words before a place speak of, as in "hired after", and them."""
        while n > 0 and self.words[n - 1] in QUIET:
            n -= 1
        word = self.words[n - 1] if n and self._is_word(n - 1) else ""
        dates = self._dates()
        hinted = [path for path in dates if word and _is_made_of(word, path)]
        if len(hinted) == 1:
            return hinted[0], [n - 1]
        if len(hinted) > 1:
            return None, []
        path = self._date() if concept == "date" or len(dates) == 1 else None
        meant = path and any(part in path.lower() for part in DATE_VERBS.get(word, ()))
        return path, [n - 1] if meant else []

    def _periods(self) -> None:
        """Read "in 2007", "in March 2024", "on 2024-05-01", "from the 1960s"."""
        for n, word in enumerate(self.words):
            if word not in _IN_TIME or not self.free[n] or not self._dates():
                continue
            end = self._skip(n + 1)
            token = self.tokens[end] if end < len(self.tokens) and self.free[end] else None
            first = decade(token.word) if token else None
            if token is None or not (first or is_date(token.text) or is_year(token.value)):
                continue
            path, used = self._dated_field(n)
            if path is None:
                continue
            self._use(n, end, *used)
            if first:
                form: type = int if path in self.table.years() else str
                self.query.conditions.append(Held(path, ">=", form(first)))
                self.query.conditions.append(Held(path, "<", form(first + 10)))
            elif path in self.table.years():
                self.query.conditions.append(Held(path, "==", token.value))
            else:
                self.query.conditions.append(
                    Held(path, "starts_with", self._spelled(path, token.text))
                )

    def _spelled(self, path: str, date: str) -> str:
        """Return a date with the marks that a field has in its dates."""
        has_slashes = any("/" in str(value)[:5] for value in self.table.values(path) if value)
        return date.replace("-", "/") if has_slashes else date

    def _dated(self, path: str, operator: str, value: Any, phrase: str) -> tuple[str, Any]:
        """Return a comparison of dates: "older" is before a date, and a day is all of it."""
        if path in self.table.years() and phrase in ("older than", "newer than"):
            return "<" if phrase == "older than" else ">", value
        if path not in self.table.dates():
            return operator, value
        if phrase in ("older than", "newer than", "younger than"):
            operator = "<" if phrase == "older than" else ">"
        text = str(value)
        is_part = any(len(str(one)) > len(text) for one in self.table.values(path) if one)
        if is_part and operator in (">", "<=") and next_period(text) != text:
            operator, text = {">": ">=", "<=": "<"}[operator], next_period(text)
        return operator, self._spelled(path, text)

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
            years = self.table.years()
            return years[0] if len(years) == 1 else self.table.field(["timestamp"])
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
            # "with id 5", "in category electronics", "by user 3", "of line 12"
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
        if not path and self._is_word(n) and (own := self.table.named_field([self.words[n]])):
            path = own if self.table.value(self.tokens[n + 1].text, own) else None
        return (path, n + 2) if path else None

    def _equality(self, path: str, operator: str, n: int) -> bool:
        """Read the value that a field is compared with, from a place on."""
        n = self._skip(n)
        if self._at(n, "not"):
            operator = "!="
            self._use(n)
            n += 1
        if n >= len(self.tokens) or not self.free[n]:
            return False
        if self.tokens[n].type in VALUES or AMOUNT.fullmatch(self.tokens[n].text):
            found = self._value_at(n)
            value = found[0] if found else self.tokens[n].value
            self._equal(path, operator, str(value), value)
            self._use(n)
            return True
        for length in range(LONGEST_FIELD, 0, -1):
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


def _is_made_of(word: str, path: str) -> bool:
    """True if a name has a word in it that another one is made from: `hired`, `hireDate`."""
    own = {word, word.removesuffix("d"), word.removesuffix("ed"), word.removesuffix("ing")}
    return bool(own & set(split_name(path.rpartition(".")[2])))
