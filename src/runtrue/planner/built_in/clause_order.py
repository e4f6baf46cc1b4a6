"""Order of clauses: what is fetched comes before what is said of it, wherever it is written."""

from __future__ import annotations

from dataclasses import replace

from runtrue.planner.built_in.query_words import PART_OF
from runtrue.planner.task import Clause, TaskToken, TokenType
from runtrue.planner.words import CHANGE, DETERMINERS, FETCH, FILLERS, SHOW, TAKE

_SOURCES = frozenset({TokenType.URL, TokenType.FILE, TokenType.COMMAND})
_PLAIN = frozenset({TokenType.WORD, TokenType.MARK, TokenType.NUMBER, TokenType.QUOTED})
_READS = FETCH | TAKE | SHOW | CHANGE | {""}
_ASKS = frozenset({"which", "who", "where", "when", "what", "how"})


def order_clauses(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """Return clauses so that each can be planned with what those before it have fetched."""
    parts = tuple(part for clause in clauses for part in _split(clause))
    first = next((at for at, part in enumerate(parts) if _sources(part)), 0)
    asked = parts[:first]
    if not asked or not _is_plain(parts[first]):
        return parts
    # A source by itself is that of what is said before it.
    is_bare = all(t.type in _SOURCES or t.word in FILLERS for t in parts[first].tokens)
    if not all(_asks(part) or (is_bare and _says(part)) for part in asked):
        return parts
    source, rest = _source_first(parts[first])
    questions = tuple(replace(part, verb=part.verb or "show") for part in asked)
    return (source, *questions, *rest, *parts[first + 1 :])


def _sources(clause: Clause) -> list[TaskToken]:
    return [token for token in clause.tokens if token.type in _SOURCES]


def _asks(clause: Clause) -> bool:
    """True if a clause only says what is wanted, of something that is named later."""
    if not clause.verb:
        return bool(clause.tokens) and (clause.is_question or clause.tokens[0].word in _ASKS)
    return clause.verb in _READS and all(token.type in _PLAIN for token in clause.tokens)


def _says(clause: Clause) -> bool:
    return not clause.verb and all(token.type in _PLAIN for token in clause.tokens)


def _is_plain(clause: Clause) -> bool:
    others = [token for token in clause.tokens if token.type not in _PLAIN]
    return clause.verb in _READS and len(others) == 1


def _source_first(clause: Clause) -> tuple[Clause, tuple[Clause, ...]]:
    at = next(n for n, token in enumerate(clause.tokens) if token.type in _SOURCES)
    before, after = list(clause.tokens[:at]), clause.tokens[at + 1 :]
    while before and before[-1].word in PART_OF | DETERMINERS | {",", ":", "(", "at", "from"}:
        before.pop()
    rest = (*before, *after)
    has_words = any(token.word not in FILLERS for token in rest)
    own = (Clause(clause.verb or "show", rest, clause.is_question),) if has_words else ()
    return Clause("get", (clause.tokens[at],)), own


def _split(clause: Clause) -> tuple[Clause, ...]:
    """Split "the title from A and the author from B" into what is wanted of each URL."""
    places = [n for n, token in enumerate(clause.tokens) if token.type is TokenType.URL]
    if len(places) != 2 or clause.verb not in FETCH | TAKE | SHOW:
        return (clause,)
    between = clause.tokens[places[0] + 1 : places[1]]
    joint = next((n for n, token in enumerate(between) if token.word in {",", "and"}), None)
    words = [token for token in between if token.word not in FILLERS | PART_OF]
    if joint is None or not words:
        return (clause,)
    cut = places[0] + 1 + joint
    return replace(clause, tokens=clause.tokens[:cut]), replace(
        clause, tokens=clause.tokens[cut + 1 :]
    )
