"""Calculations: counts, sums and the like, of all entries or of each group."""

from __future__ import annotations

from runtrue.planner.built_in.cursor import QueryCursor
from runtrue.planner.built_in.query_words import AGGREGATES, EXTREMES

#: Words before the field of a group; True if they always are.
_PHRASES = {
    **dict.fromkeys(("grouped by", "group by", "per"), True),
    **dict.fromkeys(("for each", "in each", "for every", "of each", "by"), False),
}
_NUMBER_OF = ("total number of", "combined number of", "number of", "how many", "count of")


class Calculations(QueryCursor):
    """Reads calculations and groups."""

    def _groups(self) -> None:
        cues = {"number", "count", "many"} | AGGREGATES.keys() | EXTREMES.keys()
        counts = bool(self.query.aggregate) or bool(cues & set(self.words))
        for n in range(len(self.words)):
            for phrase, plain in _PHRASES.items():
                length = self._span(n, phrase)
                if not length or not (plain or counts) or self.query.group:
                    continue
                if phrase == "by" and self._has_extreme_entry():
                    continue
                found = self._field_from(n + length, strict=True)
                if found is None:
                    continue
                path, begin, end = found
                self._use(*range(n, n + length), *range(begin, end))
                self.query.group = path

    def _has_extreme_entry(self) -> bool:
        """True for "the biggest channel by members": that is an order, and no group."""
        return any(
            word in EXTREMES
            and (
                self._is_entry(self.words[n + 1 : n + 2])
                or self.table.field(self.words[n + 1 : n + 2]) is None
            )
            for n, word in enumerate(self.words)
        )

    def _aggregates(self) -> None:
        for n in range(len(self.words)):
            self._number_of(n)
            if self.free[n] and self.words[n] in AGGREGATES and not self.query.aggregate:
                field_here = self.table.named_field([self.words[n]])
                if field_here is None:
                    self._use(n)
                    self._aggregate(AGGREGATES[self.words[n]], n + 1)
                elif self._at(n + 1, "of", "all") and self.table.numbers(field_here):
                    # "the total of all orders", each of which has a total.
                    self._use(n, n + 1, n + 2)
                    operation = AGGREGATES[self.words[n]]
                    self.query.aggregate, self.query.aggregate_path = operation, field_here
        for n in range(len(self.words)):
            if self.query.aggregate and (length := self._span(n, "in total")):
                self._use(*range(n, n + length))

    def _number_of(self, n: int) -> None:
        """Read "number of issues", a count, and "combined number of stars", a sum."""
        for phrase in (
            "total number of",
            "combined number of",
            "number of",
            "how many",
            "count of",
        ):
            length = self._span(n, phrase)
            is_named = phrase == "number of" and n > 0 and self._is_word(n - 1)
            if not length or (is_named and self.table.named_field(self.words[n - 1 : n + 1])):
                continue  # "the tracking number of every shipment" is a field.
            found = self._field_from(n + length, strict=True)
            is_number = found is not None and self.table.numbers(found[0])
            self._use(*range(n, n + length))
            if found and is_number and phrase.startswith(("total", "combined")):
                self._use(*range(found[1], found[2]))
                self.query.aggregate, self.query.aggregate_path = "sum", found[0]
            elif not (found and is_number and phrase == "number of" and len(self.table.rows) > 1):
                self.query.aggregate = "count"

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
                before = n - 1 if word == "duplicates" and n else n
                self._use(n, *([before] if self.words[before] in ("no", "without") else ()))
                self.query.unique = True
