"""Operations: what can be done to text and tables between reading and writing them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from runtrue.planner.built_in import snippets
from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft
from runtrue.planner.task import TaskToken, TokenType
from runtrue.planner.words import DETERMINERS, name_of, word_set

_UNITS = {
    **{"line": "line", "lines": "line", "word": "word", "words": "word"},
    **dict.fromkeys(("character", "characters", "letters"), "character"),
    **dict.fromkeys(("row", "rows", "record", "records", "entry", "entries"), "row"),
    **dict.fromkeys(("item", "items", "objects", "elements"), "row"),
}
_AGGREGATES = {
    **dict.fromkeys(("sum", "total"), "sum"),
    **dict.fromkeys(("average", "mean"), "average"),
    **dict.fromkeys(("minimum", "min", "lowest", "smallest"), "min"),
    **dict.fromkeys(("maximum", "max", "highest", "largest", "biggest"), "max"),
}
_RELATIONS = {
    **dict.fromkeys(("=", "==", "is", "equals", "equal", "are"), "="),
    **{"!=": "!=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "contains": "contains"},
}
#: Words for a value that is not there; a column that has such a word in it is another matter.
_NOTHING = word_set("empty missing blank null none unset absent there")
#: Verbs that take away the very rows or lines that they name.
_EXCLUDING = frozenset({"remove", "drop", "exclude", "omit", "discard"})
_DESCENDING = frozenset({"descending", "reverse", "reversed", "desc", "backwards"})
_ASCENDING = frozenset({"ascending", "alphabetically", "numerically", "asc", "alphabetical"})
_TEXT_ONLY = {"uppercase": "upper", "upper": "upper", "lowercase": "lower", "lower": "lower"}
_OF_COLUMNS = word_set("column columns field fields value values the")
#: Words without a meaning here; a column may well be called `a`.
_OVER = (DETERMINERS - {"a", "an"}) | word_set("all only just me of are there does have has do")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing to do: the code, the name of its data there, and the other values."""

    name: str
    code: str
    form: DataForm
    data: str = "data"
    values: dict[str, Any]


#: What to do, one after the other; None when the words are about something else.
Operations = list[Operation] | None


def read_operations(verb: str, tokens: list[TaskToken], form: DataForm) -> Operations:
    """Read what to do to the topic."""
    if verb in {"what", "how"}:
        tokens = tokens[1:] if tokens and tokens[0].word in {"is", "are"} else tokens
    words = [token for token in tokens if token.word not in _OVER]
    said = [token.word for token in words]
    if verb == "how" and said[:1] == ["many"]:
        verb, words = "count", words[1:]
    for beginning in (["number"], ["count"], ["total", "number"]):
        if verb != "count" and said[: len(beginning)] == beginning and len(said) > len(beginning):
            verb, words = "count", words[len(beginning) :]
            break
    if verb == "filter" and words and words[0].word == "out":
        verb, words = "exclude", words[1:]
    reader = _VERBS.get(verb, _others)
    at = next((at for at, token in enumerate(words) if token.word in {"where", "whose"}), None)
    if at is None:
        return reader(words, form)
    condition = _condition(words[at + 1 :])
    if condition is None or form is DataForm.TEXT:
        return None
    keep = verb not in _EXCLUDING
    filters = [_table("filter", snippets.WHERE, **condition, keep=keep)]
    left = words[:at]
    if verb not in _NO_FILTERS and (not left or (len(left) == 1 and left[0].word in _UNITS)):
        return filters
    if not keep or (len(left) > 1 and left[-1].word in _UNITS and reader is _others):
        return None
    rest = reader(left, DataForm.TABLE)
    if rest is None and verb not in _VERBS and form is DataForm.TABLE:
        rest = [columns(left)]
    return None if rest is None else [*filters, *rest]


def apply(operation: Operation, draft: Draft) -> None:
    """Add the node that does it to the topic of the draft."""
    topic = draft.topic
    if topic is None:
        raise CannotPlan(f"there is nothing to {operation.name}")
    values = {name: draft.value(value) for name, value in operation.values.items()}
    inputs = {operation.data: topic.reference, **values}
    reference = draft.python(operation.name, operation.code, inputs)
    draft.drop(topic.results)
    name = operation.name if operation.form is DataForm.VALUE else "result"
    draft.set_topic(name, reference, operation.form, origin=topic.origin)


_CALLED = {"words": "count", "characters": "count", "containing": "filter", "lacking": "filter"}


def _line(name: str, /, **values: Any) -> Operation:
    called = _CALLED.get(name, name)
    form = DataForm.VALUE if called == "count" else DataForm.TEXT
    return Operation(name=called, code=snippets.LINES[name], form=form, data="text", values=values)


def _table(name: str, code: str, form: DataForm = DataForm.TABLE, /, **values: Any) -> Operation:
    return Operation(name=name, code=code, form=form, values=values)


def _count(words: list[TaskToken], form: DataForm) -> Operations:
    if not words or (unit := _UNITS.get(words[0].word)) is None:
        return None
    if len(words) > 1:
        filters = _filter(words, form)
        return None if filters is None else [*filters, _line("count")]
    if unit == "row" or (unit == "line" and form is DataForm.TABLE):
        return [_table("count", snippets.COUNT_ROWS, DataForm.VALUE)]
    return [_line({"line": "count", "word": "words", "character": "characters"}[unit])]


def _filter(words: list[TaskToken], form: DataForm, how: str = "containing") -> Operations:
    """Read `lines containing TODO`; what begins with "where" has been read already."""
    if len(words) != 3 or _UNITS.get(words[0].word) != "line" or form is not DataForm.TEXT:
        return None
    if words[1].word not in {"containing", "contain", "with", "matching"}:
        return None
    return [_line(how, part=_spelled(words[2]))]


def _exclude(words: list[TaskToken], form: DataForm) -> Operations:
    """Read what is not wanted: `duplicates`, `lines containing TODO`."""
    if any(token.word in {"duplicate", "duplicates"} for token in words):
        return _unique(words, form)
    return _filter(words, form, "lacking")


def _condition(tokens: list[TaskToken]) -> dict[str, Any] | None:
    if len(tokens) == 1 and tokens[0].type is TokenType.PAIR:
        return {"name": tokens[0].key, "how": "=", "value": tokens[0].value}
    for at, token in enumerate(tokens):
        sign = _RELATIONS.get(token.text) or _RELATIONS.get(token.word)
        if sign and 0 < at < len(tokens) - 1:
            name = _column(tokens[:at])
            after = [t for t in tokens[at + 1 :] if t.word not in {"to", "equal"}]
            if name and len(after) == 1 and after[0].word not in _NOTHING:
                return {"name": name, "how": sign, "value": _spelled(after[0])}
    return None


def _sort(words: list[TaskToken], form: DataForm) -> Operations:
    descending = any(token.word in _DESCENDING for token in words)
    plain = _DESCENDING | _ASCENDING | {"in", "order", "it", "them", "values"}
    rest = [token for token in words if token.word not in plain]
    if rest and rest[0].word in _UNITS:
        rest = rest[1:]
    if not rest:
        return [_line("sort", descending=descending)] if form is DataForm.TEXT else None
    if rest[0].word == "by" and (name := _column(rest[1:])):
        return [_table("sort", snippets.SORT_ROWS, name=name, descending=descending)]
    return None


def _aggregate(how: str, words: list[TaskToken], form: DataForm) -> Operations:
    name = _column(words)
    if name is None or form is DataForm.TEXT:
        return None
    return [_table(how, snippets.AGGREGATE, DataForm.VALUE, name=name, how=how)]


def _unique(words: list[TaskToken], form: DataForm) -> Operations:
    return _whole("unique", {"duplicate", "duplicates", "lines", "line", "it"}, words, form)


def _reverse(words: list[TaskToken], form: DataForm) -> Operations:
    return _whole("reverse", {"lines", "line", "it", "order"}, words, form)


def _whole(name: str, plain: set[str], words: list[TaskToken], form: DataForm) -> Operations:
    is_plain = form is DataForm.TEXT and all(token.word in plain for token in words)
    return [_line(name)] if is_plain else None


def _convert(words: list[TaskToken], form: DataForm) -> Operations:
    said = [w for w in (token.word for token in words) if w not in {"it", "from", "into", "them"}]
    case = [w for w in said if w not in {"to", "text", "case"}]
    if len(case) == 1 and case[0] in _TEXT_ONLY and form is DataForm.TEXT:
        return [_line(_TEXT_ONLY[case[0]])]
    wanted = said[said.index("to") + 1 :] if "to" in said else said
    if wanted in (["json"], ["array"], ["list"]) and form is DataForm.TABLE:
        return [_table("convert", snippets.ROWS)]
    if wanted == ["csv"]:
        return [_table("convert", snippets.CSV, DataForm.TEXT)]
    return None


def _others(words: list[TaskToken], form: DataForm) -> Operations:
    """Read operations that nouns name: `first 5 lines`, `unique lines`, `column price`."""
    if not words:
        return None
    first, rest = words[0].word, words[1:]
    if first in {"first", "last", "top"} and rest:
        number = rest[0].value if rest[0].type is TokenType.NUMBER else 1
        after = rest[1:] if rest[0].type is TokenType.NUMBER else rest
        if form is DataForm.DATA and rest[0].type is not TokenType.NUMBER:
            return None  # "the first item" of data is a path.
        if len(after) == 1 and after[0].word in _UNITS and isinstance(number, int) and number > 0:
            return _ends(first, number, _UNITS[after[0].word], form)
    if first in {"unique", "distinct"} and rest:
        return _unique(rest, form)
    if first in {"duplicate", "duplicates"}:
        return _unique(words, form)
    if first in _AGGREGATES and form is DataForm.TABLE:
        return _aggregate(_AGGREGATES[first], rest, form)
    if first == "columns" or words[-1].word == "columns":
        return _columns([token for token in words if token.word != "columns"])
    if (first == "column" or words[-1].word == "column") and (name := _column(words)):
        return [_table("column", snippets.EACH, name=name)]
    return _filter(words, form)


def _ends(which: str, number: int, unit: str, form: DataForm) -> Operations:
    if unit == "line" and form is DataForm.TEXT:
        return [_line("last" if which == "last" else "first", count=number)]
    if unit in ("row", "line") and form in (DataForm.TABLE, DataForm.DATA):
        count = -number if which == "last" else number
        return [_table("first" if count > 0 else "last", snippets.FIRST_ROWS, count=count)]
    return None


def columns(tokens: list[TaskToken]) -> Operation:
    """Return the columns that words name: the values of one, or rows with just these."""
    words = [token for token in tokens if token.word not in _OVER]
    names = [token for token in words if token.word not in {",", "and"}]
    # Words beside each other are not columns each: "based in Oslo".
    beside = any(
        "" not in (one.word, two.word) and {one.word, two.word}.isdisjoint({",", "and"})
        for one, two in pairwise(t for t in words if t.word not in _OF_COLUMNS)
    )
    made = None if beside else _columns(names)
    if made is None:
        said = " ".join(token.text for token in tokens)
        raise CannotPlan(f"{said!r} is not a clear column name")
    if len(names) > 1:
        return made[0]
    return _table("column", snippets.EACH, name=made[0].values["names"][0])


def _columns(words: list[TaskToken]) -> Operations:
    names = [_column([token]) for token in words if token.word not in {",", "and"}]
    if not names or None in names:
        return None
    return [_table("columns", snippets.COLUMNS, names=names)]


def _column(tokens: list[TaskToken]) -> str | None:
    words = [t for t in tokens if t.word not in {"column", "values", "value", "field", "the"}]
    if len(words) == 1 and words[0].type is TokenType.QUOTED:
        return str(words[0].value)
    texts = [token.text for token in words if token.type is TokenType.WORD]
    usual = all(re.fullmatch(r"[\w.-]+", text) for text in texts)
    if not texts or len(texts) != len(words) or len(texts) > 3 or not usual:
        return None
    return texts[0] if len(texts) == 1 else name_of(texts)


def _spelled(token: TaskToken) -> Any:
    return token.text if token.type is TokenType.WORD else token.value


_VERBS: dict[str, Callable[[list[TaskToken], DataForm], Operations]] = {
    **{"count": _count, "sort": _sort, "reverse": _reverse, "convert": _convert},
    **{"turn": _convert, "change": _convert, "filter": _filter},
    **{"deduplicate": _unique, **dict.fromkeys(_EXCLUDING, _exclude)},
    **{verb: partial(_aggregate, _AGGREGATES[verb]) for verb in ("sum", "total", "average")},
}
#: Verbs for the rows that a condition leaves, other than that condition itself.
_NO_FILTERS = _VERBS.keys() - _EXCLUDING - {"filter"}
