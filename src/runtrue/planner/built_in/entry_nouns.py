"""Entry nouns: the words of a clause for the entries, and what stands beside them."""

from __future__ import annotations

from runtrue.planner.built_in.cursor import QueryCursor
from runtrue.planner.built_in.query_words import PART_OF, QUIET
from runtrue.planner.words import is_plural

#: Words between a verb and what it is done to.
_OBJECTS = frozenset(
    ["the", "all", "every", "each", "these", "those", "my", "our", "everyone", "everybody", "them"]
)


class EntryNouns(QueryCursor):
    """Reads nouns for the entries."""

    def _refuse_command(self) -> None:
        """Refuse "acknowledge the critical alerts": a verb that is not known is no adjective."""
        first, *rest = [*self.words[:2], ""]
        commands = not self.verb and self._is_word(0) and rest[0] in _OBJECTS if first else False
        if commands and first not in QUIET | PART_OF | {"how"}:
            self._unclear([first], "is not something runtrue can do")

    def _entry_words(self) -> None:
        """Read a noun that is not the API's own as one for the entries: "labels of the posts".

        It is no field, stands where only the entries can, and something else says what is wanted.
        """
        query = self.query
        if len(self.table.rows) < 2 or any(map(self.table.is_noun, self.words)):
            return
        for n, word in enumerate(self.words):
            if not self._is_word(n) or word in QUIET | PART_OF or self.table.named_field([word]):
                continue
            before = self._before(n)
            is_each = self.words[n - 1 : n] in (["every"], ["each"]) and bool(n)
            named = is_plural(word) or is_each
            selects = bool(query.conditions or query.order or query.takes)
            is_whole = before == "of" or is_each
            is_taken = n > 0 and not self.free[n - 1] and selects
            asks = n == 1 and self.words[0] in ("which", "what") and selects
            counts = query.aggregate == "count" and query.conditions and n <= 1
            if named and ((is_whole and query.fields) or is_taken or asks or counts):
                self._use(n)
                self.is_plural |= is_plural(word)

    def _beside_fields(self) -> None:
        """Give what entries are called, too, where a task says "each node with its version"."""
        query = self.query
        if not query.fields or query.aggregate or query.group:
            return
        for n, word in enumerate(self.words):
            rest = [w for w in self.words[n + 1 : n + 5] if w not in ("(", ")", ",")]
            joins = rest[:2] in (["together", "with"], ["along", "with"]) or (
                rest[:1] in (["and"], ["with"]) and rest[1:2] in (["its"], ["their"])
            )
            if not joins or not self._is_entry([word]) or self._before(n) in PART_OF:
                continue
            label = self.table.label()
            if label is None:
                self._unclear([word], "have no name to show with their fields")
            if label not in query.fields.values():
                name = label.rpartition(".")[2].lower()
                query.fields = {name: label, **query.fields}
