"""Tasks: what a sentence names (URLs, files, commands, quoted text, pairs), and its clauses.

Nothing is understood here: text becomes tokens, and tokens become clauses that begin with a verb.
What a clause means is for whoever plans to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runtrue.planner.tokens import Kind, Token, Variable, tokenise
from runtrue.planner.verbs import ALSO_NOUNS, POLITE, VERBS, listed

#: Nobody writes longer tasks by hand; more than this is not read.
LONGEST_TASK = 20_000


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that is to be done: its verb, which may be missing, and what follows."""

    verb: str
    tokens: tuple[Token, ...]
    #: Whether it ends in a question mark.
    is_question: bool = False

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, *(token.text for token in self.tokens))))


@dataclass(frozen=True, slots=True)
class Task:
    """What a task says."""

    text: str
    tokens: tuple[Token, ...]
    clauses: tuple[Clause, ...]

    def values(self, kind: Kind) -> list[Any]:
        """What the tokens of a kind stand for, in order."""
        return [token.value for token in self.tokens if token.kind is kind]

    @property
    def pairs(self) -> dict[str, Any]:
        """The values that are given by name."""
        return {token.key: token.value for token in self.tokens if token.kind is Kind.PAIR}

    def named(self) -> dict[str, Any]:
        """What the task names, as plain data: a list for each kind, and `values` by name."""
        kinds = (Kind.URL, Kind.FILE, Kind.COMMAND, Kind.QUOTED, Kind.NUMBER, Kind.JSON)
        found: dict[str, Any] = {kind.value: self.values(kind) for kind in kinds}
        found["variable"] = [value.name for value in self.values(Kind.VARIABLE)]
        found["values"] = {
            key: f"${value.name}" if isinstance(value, Variable) else value
            for key, value in self.pairs.items()
        }
        return {name: value for name, value in found.items() if value}


def read_task(text: str) -> Task:
    """Find out what a task names and which clauses it has."""
    text = text[:LONGEST_TASK]
    tokens = tuple(tokenise(text))
    return Task(text, _without_lines(tokens), tuple(_clauses(tokens)))


# -- clauses ------------------------------------------------------------------------------------

_OPENINGS = (
    *(("can", "you"), ("could", "you"), ("would", "you"), ("i", "want", "to"), ("i", "need", "to")),
    *(("i", "would", "like", "to"), ("i'd", "like", "to"), ("help", "me"), ("let", "us")),
    *(("let's",), ("i", "want"), ("i", "need"), ("and",)),
)
_WHICH = frozenset({"first", "next"})
_JOINTS = frozenset({",", "and", "\n"})
_BULLETS = frozenset({"-", "*", "\u2022"})
_SENTENCE_ENDS = frozenset({";", ".", "!", "?"})
_POINTERS = listed("the its their his her it them all only just each every both this")
_POINTERS_AFTER = _POINTERS | listed("as to into in me how what out rows lines words")
_TARGETS = frozenset({Kind.URL, Kind.FILE, Kind.COMMAND, Kind.QUOTED, Kind.JSON, Kind.PAIR})


def _clauses(tokens: tuple[Token, ...]) -> Iterator[Clause]:
    begins = _after_bullet(tokens, 0)
    start = at = begins if _verb_begins(tokens, begins) else 0
    while at < len(tokens):
        skipped = _boundary(tokens, at)
        if skipped:
            yield from _clause(tokens[start:at], is_question=tokens[at].word == "?")
            start = at = at + skipped
        else:
            at += 1
    yield from _clause(tokens[start:])


def _without_lines(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    return tuple(token for token in tokens if token.text != "\n")


def _boundary(tokens: tuple[Token, ...], at: int) -> int:
    """How many tokens part two clauses here; 0 when none begins."""
    if tokens[at].word in _SENTENCE_ENDS:
        return 1
    joining = at
    if at and tokens[at - 1].word in _JOINTS:
        return 0  # Where the first of them stands, no clause has begun.
    while joining < len(tokens) and tokens[joining].word in _JOINTS:
        joining += 1
    if joining > at and tokens[joining - 1].word == "\n":
        joining = _after_bullet(tokens, joining)
    if joining < len(tokens) and tokens[joining].word == "then":
        return joining + 1 - at
    return joining - at if joining > at and _verb_begins(tokens, joining) else 0


def _after_bullet(tokens: tuple[Token, ...], at: int) -> int:
    """Where a line begins, without what is before it in a list: `- `, `2. `."""
    words = [token.word for token in tokens[at : at + 2]]
    if words[:1] and words[0] in _BULLETS:
        return at + 1
    numbered = tokens[at : at + 1] and tokens[at].kind is Kind.NUMBER
    return at + 2 if numbered and words[1:] and words[1] in {".", ")"} else at


def _verb_begins(tokens: tuple[Token, ...], at: int) -> bool:
    while at < len(tokens) and tokens[at].word in POLITE:
        at += 1
    if at >= len(tokens) or tokens[at].word not in VERBS:
        return False
    if tokens[at].word not in ALSO_NOUNS:
        return True
    if at + 1 >= len(tokens):
        return False
    following = tokens[at + 1]
    return following.kind in _TARGETS or following.word in _POINTERS_AFTER


def _clause(tokens: tuple[Token, ...], *, is_question: bool = False) -> Iterator[Clause]:
    rest = list(_without_lines(tokens))
    while rest and (opening := _opening([token.word for token in rest[:4]])):
        del rest[:opening]
    if not rest:
        return
    if rest[0].word.removesuffix("'s") in VERBS:
        yield Clause(rest[0].word.removesuffix("'s"), tuple(rest[1:]), is_question)
    else:
        yield Clause("", tuple(rest), is_question)


def _opening(words: list[str]) -> int:
    if words[0] in {",", ":"}:
        return 1
    if words[0] in POLITE:
        # "first" says when, or it says which: "first 3 lines".
        return int(words[0] not in _WHICH or words[1:2] == [","] or set(words[1:2]) <= VERBS)
    matching = (len(opening) for opening in _OPENINGS if tuple(words[: len(opening)]) == opening)
    return max(matching, default=0)
