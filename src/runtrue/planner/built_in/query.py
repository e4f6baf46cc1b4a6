"""Queries: what a clause wants of a list, read word by word against the entries that there are.

Every word gets a role: a field, a condition, an order, a number of entries, a calculation, a word
for the entries themselves. Words that are left without one are named, and nothing is planned.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from runtrue.planner.built_in.calculations import Calculations
from runtrue.planner.built_in.cursor import LONGEST_FIELD, ListQuery, Order
from runtrue.planner.built_in.descriptions import Descriptions
from runtrue.planner.built_in.draft import CannotPlan, NotUnderstood
from runtrue.planner.built_in.entries import Held
from runtrue.planner.built_in.entry_nouns import EntryNouns
from runtrue.planner.built_in.orders import Orders
from runtrue.planner.built_in.query_words import (
    AGGREGATES,
    ASCENDING,
    DESCENDING,
    PART_OF,
    QUIET,
    QUIET_PHRASES,
    RELATING,
)
from runtrue.planner.built_in.word_forms import stem
from runtrue.planner.fix import suggestions
from runtrue.planner.seams import Doubt
from runtrue.planner.words import is_plural, split_name

#: Words that make one number of those that all entries have.
_ALL_OF = frozenset({"altogether", "total", "overall", "combined"})
_NEGATIONS = frozenset({"not", "never", "without"})
_SIZES = frozenset({"<", "<=", ">", ">="})
_ON_LINES = (
    "one per line",
    "each on its own line",
    "each on a line",
    "on separate lines",
    "line by line",
)


class QueryReader(Orders, Calculations, Descriptions, EntryNouns):
    """Reads one clause against one table."""

    def read(self) -> ListQuery:
        """Return the query. Raises CannotPlan with the words that have no role."""
        if self.verb in ("count", "how") and self.words[:1] != ["much"]:
            self._use(*(n for n, word in enumerate(self.words[:1]) if word == "many"))
            self.query.aggregate = "count"
        elif self.words[:1] in (["where"], ["when"]):
            self._asks_where_or_when()
        elif self.verb in AGGREGATES:
            self._aggregate(AGGREGATES[self.verb], 0)
        self._refuse_command()
        for n in range(len(self.words)):
            for phrase in QUIET_PHRASES:
                self._use(*range(n, n + self._span(n, phrase)))
        for rule in (
            self._lines, self._formats, self._in_order, self._absences,
            self._possessions, self._phrases,
            self._participles, self._orders, self._groups, self._comparisons, self._periods,
            self._equalities, self._superlatives, self._positions, self._aggregates, self._unique,
            self._titles, self._chunks, self._entry_words,
        ):  # fmt: skip
            rule()
        self._refuse_rest()
        self._settle()
        return self.query

    def _asks_where_or_when(self) -> None:
        """Read "where does … live" and "when was …": the place or the date of it."""
        concept = {"where": "place", "when": "date"}[self.words[0]]
        path = self._concept(concept)
        if path is None:
            self._unclear(self.words[:1], "matches no field")
        self._use(0)
        self._want([path.rpartition(".")[2].lower()], path)
        self._use(*(n for n, word in enumerate(self.words) if word in RELATING))

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

    def _in_order(self) -> None:
        """Read "in order", which is as they are."""
        for n in range(len(self.words)):
            before = self.words[n - 1] if n else ""
            is_own = before not in DESCENDING | ASCENDING and not self._at(n + 2, "of")
            if self._at(n, "in", "order") and is_own and not self._at(n + 2, "by"):
                self._use(n, n + 1)

    def _lines(self) -> None:
        """Read "one per line" and the like."""
        for n in range(len(self.words)):
            for phrase in _ON_LINES:
                if length := self._span(n, phrase):
                    self._use(*range(n, n + length))
                    self.query.separator = "\n"

    def _titles(self) -> None:
        """Read a value in capitals, such as "To Do", whose words mean nothing by themselves."""
        for n in range(len(self.words)):
            for end in range(min(len(self.words), n + LONGEST_FIELD), n + 1, -1):
                if not all(
                    self._is_word(i) and self.tokens[i].text[:1].isupper() for i in range(n, end)
                ):
                    continue
                said = " ".join(token.text for token in self.tokens[n:end])
                held = self.table.value(said)
                if held is not None and held.operator == "==" and held.value == said:
                    self._use(*range(n, end))
                    self._add(held)
                    break

    def _chunks(self) -> None:
        """Give the words that are left a role: a field, the entries, a flag or a value."""
        n = 0
        while n < len(self.words):
            if (
                not self._is_word(n)
                or self.words[n] in QUIET | PART_OF | _NEGATIONS
                or self.words[n] in (",", "and", "&", "by")
            ):
                n += 1
                continue
            n = self._segment(n)

    def _segment(self, n: int) -> int:
        end = n
        stop = QUIET | PART_OF | _NEGATIONS | {",", "and", "&", "by"}
        while end < len(self.words) and self._is_word(end) and self.words[end] not in stop:
            end += 1
        if end < len(self.words) and self.words[end] in PART_OF:
            # "the rate for JPY" is one field, if there is one of both names.
            inner = self._skip(end + 1)
            for last in range(min(len(self.words), inner + LONGEST_FIELD), inner, -1):
                both = [*self.words[n:end], *self.words[inner:last]]
                is_free = all(self._is_word(i) for i in range(inner, last))
                path = self.table.named_field(both) if is_free else None
                if path and not self.table.is_noun(self.words[last - 1]):
                    self._use(*range(n, last))
                    self._want(both, path)
                    return last
        if last := self._pair_of(n, end):
            return last
        for last in range(min(end, n + LONGEST_FIELD), n, -1):
            known = dict(self.query.fields)
            if self._bind(n, last):
                self._use(*range(n, last))
                new = [name for name in self.query.fields if name not in known]
                return self._renamed(new[0], last) if new else last
        return n + 1

    def _renamed(self, name: str, n: int) -> int:
        """Read "as lender" behind a field, which says what to call it; return where that ends."""
        begin = self._skip(n + 1)
        after = self.words[begin + 1 : begin + 2]
        ends = not after or after[0] in PART_OF | {",", "and", "&", ")", "(", ":"}
        says = self.words[n : n + 1] in (["as"], ["called"], ["named"]) and self.free[n]
        if not says or begin >= len(self.words) or not self._is_word(begin) or not ends:
            return n
        fields = self.query.fields
        called = {name: self.tokens[begin].text}
        self.query.fields = {called.get(key, key): path for key, path in fields.items()}
        self._use(n, begin)
        return begin + 1

    def _pair_of(self, n: int, end: int) -> int:
        """Read "IT department" and "client Nord AS": a field beside a value that it holds."""
        for last in range(min(end, n + LONGEST_FIELD), n + 1, -1):
            for middle in range(n + 1, last):
                for named, held in (((middle, last), (n, middle)), ((n, middle), (middle, last))):
                    words = self.words[slice(*named)]
                    path = None if self._is_entry(words) else self.table.named_field(words)
                    value = self.table.value_within(self._said(*held), path) if path else None
                    if value:
                        self._add(value)
                        self._use(*range(n, last))
                        return last
        return 0

    def _said(self, n: int, end: int) -> str:
        texts = " ".join(token.text for token in self.tokens[n:end])
        return re.sub(r"['’]s\b", "", texts)

    def _bind(self, n: int, end: int) -> bool:
        words, table = self.words[n:end], self.table
        negation = self._negation_before(n)
        negated = negation is not None
        if self._is_entry(words):
            self.is_plural |= is_plural(words[0])
            self._refuse_verb(n)
            return True
        if (flag := table.flag(words)) is not None and self._describes(n, end):
            self._use(*([] if negation is None else [negation]))
            self.query.conditions.append(Held(flag.path, "==", flag.value is not negated))
            return True
        held = table.value(self._said(n, end)) if self._describes(n, end) else None
        if held is not None:
            self._use(*([] if negation is None else [negation]))
            self._add(held, "!=" if negated else "==")
            return True
        named = table.named_field(words)
        has_noun = any(self._is_entry([word]) for word in words)
        # "labels of the products": what something is of is no further field by its meaning alone.
        is_owner = self._before(n) == "of" and bool(self._field_ends)
        path = named or (None if has_noun or is_owner else table.field(words))
        # "pipeline run": a noun beside one for the entries is no field by its meaning alone.
        beside = self._follows_field(n) or self._is_entry(self.words[n - 1 : n])
        if path is None or (named is None and beside):
            return False
        if is_owner and self.words[n - 1] in {"its", "their", "the", "his", "her", "of"}:
            self._unclear(words, "has no such part that is known")
        if named is None and len(words) > 1 and any(self._says_else(one, path) for one in words):
            return False
        if (
            n
            and not self.free[n - 1]
            and any(
                held.path == path or held.path.startswith((f"{path}.", f"{path}["))
                for held in self.query.conditions
            )
        ):
            return True  # "in the kitchen category"
        if self.query.aggregate == "count" and not self.query.fields and not self.query.unique:
            return self._counted(path)
        self.is_plural |= is_plural(words[-1])
        self._want(words, path)
        self._field_ends.add(end)
        return True

    def _says_else(self, word: str, path: str) -> bool:
        """True if a word is a value, or another field than the one that a phrase is taken for."""
        if self.table.value(word) is not None:
            return True
        own = self.table.named_field([word])
        if own is None or path.startswith(own):
            return False
        return stem(word) not in {stem(part) for part in split_name(path)}

    def _want(self, words: list[str], path: str) -> None:
        self.query.fields["_".join(re.sub(r"\W+", "_", word) for word in words)] = path

    def _follows_field(self, n: int) -> bool:
        """True if the word before is a field of its own: two beside each other say one thing."""
        return n in self._field_ends

    def _refuse_verb(self, n: int) -> None:
        """Refuse "email every customer": that is something to do, and no field."""
        begins = not self.verb and self._field_ends == {1}
        between = self.words[1:n]
        if begins and between[:1] in (["me"], ["us"], ["him"], ["her"], ["them"]):
            self._unclear(self.words[:2], "is not something runtrue can do")
        if begins and between and set(between) <= {"each", "every", "all", "the", "these"}:
            self._unclear([self.words[0]], "is not clear: a field of each, or something to do")

    def _negation_before(self, n: int) -> int | None:
        """Return where the "not" of what begins at a place is."""
        while n and self.words[n - 1] in QUIET:
            n -= 1
        return n - 1 if n and self.words[n - 1] in _NEGATIONS else None

    def _counted(self, path: str) -> bool:
        """Count what is in a field of the one entry that is meant."""
        query = self.query
        of_each = {"each", "every"} & set(self.words)
        if self.table.tells_apart(path) and len(self.table.rows) > 1 and not of_each:
            return True  # "how many students": one for each entry.
        if query.aggregate_path not in (None, path) and not of_each:
            self._unclear([path.rpartition(".")[2]], "is a second thing to count")
        if self.table.numbers(path) and len(self.table.rows) > 1:
            if _ALL_OF & set(self.words):
                query.aggregate = "sum"
            elif of_each:
                for one in dict.fromkeys(filter(None, (query.aggregate_path, path))):
                    self._want([one.rpartition(".")[2].lower()], one)
                query.aggregate, query.aggregate_path, self.is_plural = "", None, True
                return True
        query.aggregate_path = path
        return True

    def _describes(self, n: int, end: int) -> bool:
        """True for words that can say which entries: no field is called so."""
        return (
            self.table.named_field(self.words[n:end]) is None
            or self.table.flag(self.words[n:end]) is not None
        )

    # -- the end -------------------------------------------------------------------------------

    def _refuse_rest(self) -> None:
        quiet = QUIET | PART_OF | {",", "and", "&", "(", ")", ":", ".", "by"}
        asks = {"does", "do"} & set(self.words) and not self.query.aggregate
        quiet |= RELATING if self.query.conditions or asks else set()
        left = [
            token.text
            for n, token in enumerate(self.tokens)
            if self.free[n] and self.words[n] not in quiet
        ]
        if left:
            said = " ".join(left)
            open_fields = self._open_fields()
            doubts = [
                path for word in (said, *left) for path in self.table.doubts.get(word.lower(), ())
            ]
            hint = f"; it could be {', '.join(dict.fromkeys(doubts))}" if doubts else ""
            message = f"{said!r} is not understood{hint}"
            if open_fields is not None:
                raise NotUnderstood(message, open_fields, self._sure_values())
            raise CannotPlan(message)

    def _open_fields(self) -> tuple[Doubt, ...] | None:
        """Return the doubts about words that stand where a field does; None if others are left.

        Such words are the whole of what is listed between commas: "id and ranking of the teams".
        """
        between = {",", "and", "&", "(", ")", ":", "."}
        ends = PART_OF | between
        found: list[Doubt] = []
        n = 0
        while n < len(self.words):
            if not self.free[n] or self.words[n] in QUIET | ends | {"by"}:
                n += 1
                continue
            end = n
            while end < len(self.words) and self._is_word(end) and self.words[end] not in ends:
                end += 1
            words, before = self.words[n:end], self._before(n)
            follows = end == len(self.words) or self.words[end] in ends
            if not words or before not in ("", *between) or not follows or set(words) & QUIET:
                return None
            if any(map(self.table.is_noun, words)) or self.query.aggregate:
                return None
            ranked = self.table.rank(" ".join(words))
            if not ranked or len(words) > LONGEST_FIELD:
                return None
            name = "_".join(words)
            chosen = self.table.chosen.get(name)
            problem = f"{chosen} is not in the response" if chosen else ""
            found.append(
                Doubt(
                    node_id="answer",
                    attempted=f"$.{name}",
                    candidates=suggestions(ranked),
                    field=name,
                    problem=problem,
                )
            )
            n = end
        return tuple(found)

    def _sure_values(self) -> dict[str, Any]:
        """Return the values of the fields that were understood, where all entries are meant."""
        query = self.query
        if query.conditions or query.order or query.takes or query.aggregate or query.group:
            return {}
        values = {name: self.table.values(path) for name, path in query.fields.items()}
        is_one = len(self.table.rows) == 1
        return {name: found[0] if is_one else found for name, found in values.items()}

    def _reach_amounts(self) -> None:
        """Calculate, order and compare by the amount of what has one: `salary.amount`."""
        query, amount = self.query, self.table.amount
        if query.aggregate not in ("", "count") and query.aggregate_path:
            query.aggregate_path = amount(query.aggregate_path)
        if query.order is not None:
            query.order = replace(query.order, path=amount(query.order.path))
        query.conditions = [
            replace(held, path=amount(held.path)) if held.operator in _SIZES else held
            for held in query.conditions
        ]

    def _join_alternatives(self) -> None:
        """Keep "rye and oats" as those that are either: no entry is both."""
        joined: dict[str, list[Any]] = {}
        for held in self.query.conditions:
            if held.operator == "==" and not isinstance(held.value, bool):
                values = joined.setdefault(held.path, [])
                values += [held.value] if held.value not in values else []
        several = {path: values for path, values in joined.items() if len(values) > 1}
        self.query.conditions = [
            held
            for held in self.query.conditions
            if held.operator != "==" or held.path not in several
        ] + [Held(path, "in", values) for path, values in several.items()]

    def _sort_by_name(self) -> None:
        texts = [path for path in self.query.fields.values() if self.table.texts(path)]
        label = self.table.label()
        path = texts[0] if len(texts) == 1 else label
        if path is None or (texts and path not in texts):
            self._unclear(["alphabetically"], "does not say by which field")
        self.query.order = Order(path, False)

    def _settle(self) -> None:
        query = self.query
        self._join_alternatives()
        self._reach_amounts()
        # The same field under two names is wanted once, and "who" is a name.
        by_path = {path: name for name, path in query.fields.items()}
        query.fields = {name: path for path, name in by_path.items()}
        if self.words[:1] == ["who"]:
            names = self.table.names
            query.fields = {
                name: f"{path}.name" if f"{path}.name" in names else path
                for name, path in query.fields.items()
            }
        if (
            query.aggregate in ("sum", "average")
            and query.aggregate_path
            and not self.table.numbers(query.aggregate_path)
        ):
            self._unclear([query.aggregate_path], "has no numbers to calculate with")
        if self.is_alphabetical:
            self._sort_by_name()
        counted = query.aggregate_path if query.aggregate == "count" else None
        if counted and self.table.numbers(counted) and self.table.sole(query.conditions):
            query.aggregate, query.aggregate_path = "", None
            self._want([counted.rpartition(".")[2].lower()], counted)  # "how many litres is B-1"
        self._beside_fields()
        if query.group and (query.fields or query.takes or query.order):
            self._unclear(list(query.fields) or ["the order"], "of groups is not supported")
        asks = self.words[:1] and self.words[0] in ("which", "who", "what")
        said = {held.path for held in query.conditions if held.operator == "=="}
        if asks and query.fields and set(query.fields.values()) <= said and self.table.label():
            query.fields = {}  # All have the same there: "which animals are cats".
        asks = asks or (self.verb == "what" and self._is_entry(self.words[:1]))
        selects = query.conditions or query.order or query.takes
        if asks and selects and not (query.fields or query.aggregate or query.group):
            query.label = self.table.label()
        plain = not (query.takes or query.aggregate or query.group or query.unique or query.order)
        # "the ingredients of Ramen" are those of one entry.
        of_lists = all(self.table.lists(path) for path in query.fields.values())
        is_one = not self.is_plural or (bool(query.fields) and of_lists)
        if plain and query.fields and is_one and self.table.sole(query.conditions):
            query.takes = [("at", 0)]
