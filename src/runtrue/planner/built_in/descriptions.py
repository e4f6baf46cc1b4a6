"""Descriptions: which entries a clause means by what it says of them, without a comparison.

"assigned to mara", "out of stock", "without a runbook", "unassigned".
"""

from __future__ import annotations

from runtrue.planner.built_in.cursor import LONGEST_FIELD, VALUES, QueryCursor
from runtrue.planner.built_in.entries import Held
from runtrue.planner.built_in.query_words import (
    AFTER_PARTICIPLE,
    LACKING,
    MADE_BY,
    MAKERS,
    PART_OF,
)
from runtrue.planner.words import split_name


class Descriptions(QueryCursor):
    """Reads descriptions."""

    def _absences(self) -> None:
        """Read "without a runbook": the field is empty or `null`."""
        for n in range(len(self.words)):
            for phrase in LACKING:
                length = self._span(n, phrase)
                found = self._field_from(n + length, strict=True) if length else None
                if found and found[1] == self._skip(n + length):
                    self._use(*range(n, found[2]))
                    self._lack(found[0], n, found[2])
                    break

    def _lack(self, path: str, n: int, end: int) -> None:
        """Keep entries that have nothing at a path: of what is counted, zero."""
        values = self.table.values(path)
        if self.table.numbers(path) and None in values and 0 in values:
            self._unclear(self.words[n:end], "could mean 0 or no value")
        is_count = self.table.numbers(path) and None not in values
        self.query.conditions.append(Held(path, "==", 0) if is_count else Held(path, "empty", None))

    def _is_counting(self) -> bool:
        return self.query.aggregate == "count" or bool({"number", "count"} & set(self.words[:3]))

    def _possessions(self) -> None:
        """Read "that still have seats": there is something in the field, or more than zero."""
        if len(self.table.rows) < 2:
            return
        for n, word in enumerate(self.words):
            owns = word in ("have", "has", "having") or (word == "with" and self._is_counting())
            if not owns or not n or not self._before(n):
                continue
            found = self._field_from(n + 1, strict=True)
            after = self.words[found[2] : found[2] + 1] if found else []
            ends = not after or after[0] in PART_OF | {",", "and", "&", ":", "(", "left"}
            between = {"any", "some", "still", "got", "a", "an"}
            if found is None or not ends or set(self.words[n + 1 : found[1]]) - between:
                continue
            path = found[0]
            if self.table.numbers(path):
                held = Held(path, ">", 0)
            elif (flag := self.table.flag(self.words[found[1] : found[2]])) is not None:
                held = flag
            else:
                held = Held(path, "not_empty", None)
            if self.words[n - 1] == "not":
                self._use(n - 1)
                if isinstance(held.value, bool):
                    held = Held(path, "==", not held.value)
                else:
                    self._lack(path, n, found[2])
                    held = self.query.conditions.pop()
            self.query.conditions.append(held)
            self._use(n, *range(found[1], found[2]), *([found[2]] if after == ["left"] else []))

    def _phrases(self) -> None:
        """Read "out of stock" and "on sale", which APIs write as one word."""
        for n, word in enumerate(self.words):
            if word not in PART_OF | {"on", "out"} or not self.free[n]:
                continue
            found = self._field_from(n + 2, strict=True) if self._at(n, "out", "of") else None
            if found and self.table.numbers(found[0]):
                self._use(*range(n, found[2]))
                self._lack(found[0], n, found[2])
                continue
            for end in range(min(len(self.words), n + LONGEST_FIELD), n + 1, -1):
                words = self.words[n:end]
                if not all(self._is_word(i) for i in range(n, end)):
                    continue
                joined = "".join(words)
                held = self.table.flag([joined]) if len(joined) > LONGEST_FIELD else None
                held = held or (self.table.value(joined) if len(words) > 1 else None)
                if held is not None and _spells(held, joined):
                    negated = self.words[n - 1 : n] == ["not"]
                    self._use(*range(n - negated, end))
                    self._add(held, "!=" if negated else "==")
                    break

    def _participles(self) -> None:
        """Read "assigned to mara", "labelled bug", "opened by nina" and "unassigned"."""
        for n, word in enumerate(self.words):
            if not self._is_word(n) or not word.endswith(("ed", "en", "t")) or len(word) < 4:
                continue
            if self.table.is_noun(word):
                continue
            if word.startswith("un") and (path := self.table.absent(word[2:])):
                self._use(n)
                self.query.conditions.append(Held(path, "empty", None))
                continue
            begin = self._skip(n + 1)
            begin += self.words[begin : begin + 1] != [] and self.words[begin] in AFTER_PARTICIPLE
            made_by = word in MADE_BY and self.words[begin - 1 : begin] == ["by"]
            self._said_of(n, begin, MAKERS if made_by else frozenset())

    def _said_of(self, n: int, begin: int, also: frozenset[str]) -> None:
        """Read the value that a participle speaks of, in a field whose name is like it."""
        begin = self._skip(begin)
        for end in range(min(len(self.words), begin + LONGEST_FIELD), begin, -1):
            if not all(
                self._is_word(i) or self.tokens[i].type in VALUES for i in range(begin, end)
            ):
                continue
            said = " ".join(str(token.value or token.text) for token in self.tokens[begin:end])
            if held := self.table.value_near(said, self.words[n], also):
                self._use(*range(n, end))
                self._add(held)
                return


def _spells(held: Held, joined: str) -> bool:
    """True if a value or the name of a flag is spelled as a phrase without its blanks."""
    if isinstance(held.value, bool):
        name = "".join(split_name(held.path.rpartition(".")[2]))
        return name.removeprefix("is") == joined and held.value
    values = held.value if isinstance(held.value, list) else [held.value]
    return all("".join(split_name(str(value))) == joined for value in values)
