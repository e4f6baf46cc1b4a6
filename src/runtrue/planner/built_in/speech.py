"""Speech: the words that values are looked for in, and the arguments that they are for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtrue.planner.built_in.words import DETERMINERS, split_name
from runtrue.planner.tokens import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What there is a value wanted for."""

    name: str
    schema: Mapping[str, Any]
    required: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return split_name(self.name)

    @property
    def type(self) -> str:
        """The JSON type of its values, as far as that is one."""
        options = self.schema.get("anyOf") or self.schema.get("oneOf") or ()
        types = [self.schema.get("type"), *(o.get("type") for o in options if isinstance(o, dict))]
        flat = [t for entry in types for t in (entry if isinstance(entry, list) else [entry])]
        known = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
        return next((known.get(t, t) for t in flat if isinstance(t, str) and t != "null"), "string")

    @property
    def description(self) -> str:
        """What it is for, where that is said."""
        described = self.schema.get("description")
        return described if isinstance(described, str) else ""

    def says(self, *words: str) -> bool:
        """Whether its name or its description has one of these words."""
        text = self.description.lower()
        return any(word in self.words or re.search(rf"\b{word}\b", text) for word in words)


@dataclass(slots=True)
class Speech:
    """The words of a clause or a task, and which of them have been used as values."""

    tokens: Sequence[Token]
    used: set[int] = field(default_factory=set)

    def free(self) -> Iterator[tuple[int, Token]]:
        """The tokens that have not been used."""
        return ((at, token) for at, token in enumerate(self.tokens) if at not in self.used)

    def before(self, at: int) -> str:
        """The word before a token, determiners left aside."""
        at -= 1
        while at >= 0 and self.tokens[at].word in DETERMINERS:
            at -= 1
        return self.tokens[at].word if at >= 0 else ""

    def take(self, at: int, count: int = 1) -> None:
        """Use tokens up."""
        self.used |= set(range(at, at + count))
