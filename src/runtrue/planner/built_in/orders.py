"""Orders: how entries are sorted, and which of them are taken by their place."""

from __future__ import annotations

from itertools import pairwise

from runtrue.planner.built_in.conditions import Conditions
from runtrue.planner.built_in.cursor import ORDINAL, Order, index_of
from runtrue.planner.built_in.query_words import (
    ASCENDING,
    DESCENDING,
    ENTRIES,
    EXTREMES,
    HINTS,
    ORDINALS,
    QUIET,
    SUPERLATIVES,
)
from runtrue.planner.task import TokenType


class Orders(Conditions):
    """Reads orders and places."""

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
                ranks = self._ranks(n)
                if not (before or ranks or self.verb == "sort" or direction is not None):
                    continue
                found = self._field_from(n + 1)
                if found is None:
                    self._unclear(self.words[n + 1 : n + 3], "is not a field to sort by")
                path, begin, end = found
                self._use(n, *before, *range(begin, end))
                self._use(*(i for i in range(begin) if i > n and self.words[i] in QUIET))
                down = self._direction(path)
                self.query.order = Order(path, self._is_top() if down is None else down)
                return
        for n, word in enumerate(self.words):
            if word in ("alphabetically", "alphabetical") and self.free[n]:
                self._use(n, *(i for i in (n - 1,) if i >= 0 and self.words[i] in sorting))
                self._use(
                    *(i for i in (n - 1, n + 1) if self.words[i : i + 1] in (["in"], ["order"]))
                )
                self.is_alphabetical = True
                return
        if self.verb == "sort" and self.query.order is None:
            self._unclear(self.words, "does not say which field to sort by")

    def _is_top(self) -> bool:
        return any(self.words[n] == "top" for n in range(len(self.words)))

    def _ranks(self, n: int) -> bool:
        """True if "top" or "newest first" says that a "by" is an order."""
        adjectives = EXTREMES.keys() | SUPERLATIVES.keys()
        ranked = (pair[1] == "first" and pair[0] in adjectives for pair in pairwise(self.words[n:]))
        return self._is_top() or any(ranked)

    def _direction_after(self, n: int) -> bool | None:
        rest = self.words[n:]
        return True if set(rest) & DESCENDING else False if set(rest) & ASCENDING else None

    def _direction(self, path: str) -> bool | None:
        """Use the words that say which way to sort by a field; True for descending."""
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
                is_max = EXTREMES.get(before) == "max"
                found = is_max if before in EXTREMES else self._goes_down(before, path)
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

    def _goes_down(self, adjective: str, path: str) -> bool:
        """Return the way of "oldest first" by a field: down by age, and up by a date."""
        concept, down, alternative = SUPERLATIVES[adjective]
        of_date = path in self._dates()
        ways = {concept: down, alternative: not down} if alternative else {concept: down}
        meant = [m for m in ways if (m == "date" and of_date) or path == self._concept(m)]
        if not meant:
            self._unclear([adjective, "first"], f"is no order by {path[2:]}")
        return ways[meant[0]]

    def _superlatives(self) -> None:
        for n in range(len(self.words)):
            for phrase in sorted(SUPERLATIVES, key=len, reverse=True):
                if length := self._span(n, phrase):
                    concept, down, alternative = SUPERLATIVES[phrase]
                    path = self._concept(concept)
                    if path is None and alternative:
                        path, down = self._concept(alternative), not down
                    if path is None:
                        self._unclear([phrase], "has no field to search by")
                    self._refuse_other(phrase, path, n + length)
                    self._use(*range(n, n + length))
                    if self._at(n + length, "first") and not self._names_entries(n + length + 1):
                        self._use(n + length)
                        self.query.order = Order(path, down)  # "newest first": all of them.
                        break
                    self._order_one(path, down, n)
                    break
            if self.free[n] and self.words[n] in EXTREMES:
                self._extremum(n)

    def _names_entries(self, n: int) -> bool:
        """True if a number or a noun for the entries is at a place: "the newest first item"."""
        return self._value_at(n) is not None or self._is_entry(self.words[n : n + 1])

    def _refuse_other(self, phrase: str, path: str, n: int) -> None:
        """Refuse "best grade" where the best are found by another field."""
        words = self.words[n : n + 1]
        own = self.table.named_field(words) if words and not self._is_entry(words) else None
        if own is not None and own != path and not path.startswith(own):
            if own == self.table.label() or self.table.numbers(own):
                return  # "the cheapest title" is that of the cheapest.
            self._unclear([phrase, *words], "has no known order")

    def _extremum(self, n: int) -> None:
        """Read "the highest price", "with the most stars", "largest by area"."""
        down = EXTREMES[self.words[n]] == "max"
        if self._most_done(n, down):
            return
        found = self._field_from(n + 1, strict=True)
        if found is not None and not self._has_order(found[0]):
            found = None
        if found is None:
            by = next((i for i in range(n + 1, len(self.words)) if self._at(i, "by")), None)
            found = self._field_from(by + 1) if by is not None else None
            earns = next((w for w in self.words[:n] if w in HINTS), "")
            path = self._concept(HINTS[earns]) if found is None and earns else None
            if path is not None:
                self._use(n, self.words.index(earns))
                self._order_one(path, down, n)
                return
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

    def _has_order(self, path: str) -> bool:
        """True for a field of numbers or dates."""
        return self.table.numbers(self.table.amount(path)) or path in self._dates()

    def _most_done(self, n: int, down: bool) -> bool:
        """Read "most starred" and "most recently pushed": the participle says the field."""
        following = self.words[n + 1 : n + 3]
        if following[:1] == ["recently"]:
            path, used = self._dated_field(n + 3) if following[1:] else (None, [])
            path = path or self._concept("date")
            if path is None:
                self._unclear(self.words[n : n + 3], "matches no date field")
            self._use(n, n + 1, *used)
            self._order_one(path, down, n)
            return True
        word = "".join(following[:1])
        base = word.removesuffix("ed")
        if base == word or self.words[n] not in ("most", "least"):
            return False
        base = base[:-1] if base[-2:-1] == base[-1:] else base
        path = next(filter(None, (self.table.field([one]) for one in (f"{base}s", base))), None)
        if path is None or not self.table.numbers(path):
            return False
        self._use(n, n + 1)
        self._order_one(path, down, n)
        return True

    def _order_one(self, path: str, down: bool, n: int) -> None:
        if self.query.order is not None:
            self._unclear([self.words[n]], "is a second sort order")
        self.query.order = Order(path, down)
        self.query.takes = [("at", 0)]
        if number := self._number_near(n):
            self.query.takes = [("first", number)]

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
        for i in range(n):
            # "the two stations with the fewest platforms"
            value = self._value_at(i) if self.words[i] not in QUIET else None
            after = self.words[i + 1 : i + 2]
            is_count = value is not None and isinstance(value[0], int) and value[1] == i + 1
            if is_count and after and self._is_entry(after):
                self._use(i)
                return int(value[0]) if value else None
        if (n and self.free[n - 1] and ORDINAL.fullmatch(self.words[n - 1])) or (
            n and self.words[n - 1] in ORDINALS and self.free[n - 1]
        ):
            index = index_of(self.words[n - 1])
            self._use(n - 1)
            self.query.takes = [("at", index)]
        return None

    def _positions(self) -> None:
        places = [n for n in range(len(self.words)) if self.free[n] and self._is_position(n)]
        for n in places:
            if not self.free[n] or (
                self.table.named_field(self.words[n : n + 2])
                and len(self.words) > n + 1
                and not self.table.is_noun(self.words[n + 1])
            ):
                continue  # "last name" is a field.
            word = self.words[n]
            value = self._value_at(n + 1)
            if value and isinstance(value[0], int) and word in ("first", "last", "top", "bottom"):
                self._refuse_last(n)
                self._use(n, n + 1)
                end = "last" if word in ("last", "bottom") else "first"
                if self.query.order and word == "bottom":
                    self.query.order = Order(self.query.order.path, False)
                    end = "first"
                self.query.takes.append((end, value[0]))
            elif word not in ("top", "bottom"):
                self._refuse_last(n)
                self._use(n)
                index = index_of(word)
                if self.query.takes == [("at", 0)] and self.query.order:
                    self.query.takes = [("at", index)]
                else:
                    self.query.takes.append(("at", index))
        if len(self.query.takes) > 1:
            self.query.takes = list(dict.fromkeys(self.query.takes))

    def _refuse_last(self, n: int) -> None:
        """Refuse "the last run" of a list that begins with the latest: which end is meant?"""
        if self.words[n] != "last" or self.query.order or (path := self._date()) is None:
            return
        following = set(self.words[n + 1 : n + 4])
        dates = self.table.values(path)
        newest_first = None not in dates and dates == sorted(dates, reverse=True) != dates[::-1]
        if newest_first and not following & ENTRIES:
            self._unclear(
                [self.words[n]],
                "could mean the latest, or the end of the list, which is newest first",
            )

    def _is_position(self, n: int) -> bool:
        word = self.words[n]
        return word in ORDINALS or word in ("top", "bottom") or ORDINAL.fullmatch(word) is not None
