"""Lists: steps that filter, sort, take, count and pick entries, planned from the answer itself.

What "open", "cheapest" or "names" means only shows in the data. So the steps before it run first,
and the rest is planned with what came back; nothing is sent again for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from runtrue.planner.built_in import pages, snippets
from runtrue.planner.built_in.clauses import Roles
from runtrue.planner.built_in.cursor import ListQuery
from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft, Topic
from runtrue.planner.built_in.entries import EntryTable, find_lists
from runtrue.planner.built_in.query import QueryReader
from runtrue.planner.built_in.query_words import (
    AGGREGATES,
    ASCENDING,
    COMPARATORS,
    DESCENDING,
    ENTRIES,
    EXTREMES,
    ORDINALS,
    SUPERLATIVES,
)
from runtrue.planner.task import TaskToken, TokenType
from runtrue.planner.words import (
    FILLERS,
    GENERIC,
    is_plural,
    name_of,
    plural,
    singular,
    split_name,
    word_set,
)
from runtrue.workflow import Path

#: Names of lists that say nothing of what is in them.
_ANY_LIST = word_set("items results data entries records rows hits list values docs entry payload")
#: Words that only make sense for a list.
_CUES = word_set(
    "each every per unique distinct different top bottom sorted ordered ranked whose who where "
    "between than over under above below after before since all with not without grouped sort "
    "alphabetically by csv live lives living rate rates"
)
_CUES |= EXTREMES.keys() | AGGREGATES.keys() | ASCENDING | DESCENDING
_CUES |= {phrase.split()[0] for phrase in (*SUPERLATIVES, *COMPARATORS)} | ORDINALS.keys()


def speaks_of_list(verb: str, tokens: list[TaskToken], topic: Topic) -> bool:
    """True if words select, order, count or list entries, rather than name fields of one thing."""
    is_quoted = any(token.type is TokenType.QUOTED for token in tokens)
    if topic.entries or (topic.collection and is_quoted):
        return True
    words = [token.word.removesuffix("'s") for token in tokens]
    own = topic.nouns | ENTRIES | {"many", "number"}
    content = [word for word in words if word not in FILLERS | GENERIC]
    cues = set(words) & _CUES
    if verb in ("count", "how") or "number" in words:
        if all(singular(word) in own or word in own for word in content) and not cues:
            return False
        return topic.collection or bool(cues)
    other = topic.nouns | {"status", "address", "always"}
    plurals = [word for word in words if word and is_plural(word) and singular(word) not in other]
    numbers = [token for token in tokens if token.type in (TokenType.NUMBER, TokenType.PAIR)]
    return topic.collection or bool(plurals or numbers or cues) or verb == "sort"


def has_cue(tokens: list[TaskToken]) -> bool:
    """True if a word selects or orders entries."""
    return bool({token.word for token in tokens} & _CUES)


def groups(tokens: list[TaskToken]) -> bool:
    """True if words ask for something of each group: "total hours per role"."""
    words = [token.word for token in tokens]
    return "per" in words or any(
        pair in (("grouped", "by"), ("for", "each"), ("for", "every")) for pair in pairwise(words)
    )


def take(roles: Roles, draft: Draft) -> None:
    """Plan what the words of a clause want of the list that the topic holds."""
    topic = draft.topic
    if topic is None:
        raise CannotPlan(f"{str(roles.clause)!r}: there is no list to take it from")
    if topic.form is DataForm.TABLE:
        reference = draft.python("convert", snippets.ROWS, {"data": topic.reference})
        nouns = topic.nouns | {"row", "line"}
        topic = replace(
            topic, reference=reference, form=DataForm.DATA, nouns=nouns, collection=True
        )
    draft.data(topic.reference, str(roles.clause))
    topic = pages.follow(topic, roles.what, draft)
    data = draft.data(topic.reference, str(roles.clause))
    query, source, table = _read(data, roles, topic, draft)
    if query.is_plain and source.reference == topic.reference:
        return
    if query.is_plain:
        query.label = table.label()
    draft.drop(topic.results)
    _plan(query, source, roles, draft, topic)


@dataclass(frozen=True, slots=True)
class _Source:
    """What words may be about: a list, or the one object that there is; and words for an entry."""

    reference: str
    rows: list[Any] | None
    nouns: frozenset[str]


def _read(
    data: Any, roles: Roles, topic: Topic, draft: Draft
) -> tuple[ListQuery, _Source, EntryTable]:
    """Read words against what they name, else against the one other part that they all fit."""
    named, *others = _sources(data, roles, topic)
    try:
        return _read_source(named, data, roles, topic, draft)
    except CannotPlan:
        found = [
            read
            for source in others
            if (read := _read_other(source, data, roles, topic, draft)) is not None
        ]
        if len(found) != 1:
            raise
    return found[0]


def _read_source(
    source: _Source, data: Any, roles: Roles, topic: Topic, draft: Draft
) -> tuple[ListQuery, _Source, EntryTable]:
    rows, nouns = source.rows, source.nouns
    if rows and not isinstance(rows[0], Mapping):
        nouns = nouns | {"id", "number", "value", "name"}
    table = EntryTable(rows or [data], draft.task, topic.origin, nouns, chosen=draft.paths)
    query = QueryReader(roles.verb, roles.what, table).read()
    if rows is None and query.selects:
        raise CannotPlan(
            f"{str(roles.clause)!r} asks for a list, but the response is a single object"
        )
    return query, source, table


def _read_other(
    source: _Source, data: Any, roles: Roles, topic: Topic, draft: Draft
) -> tuple[ListQuery, _Source, EntryTable] | None:
    """Read words about what the list is in, or about another list; None if they do not fit."""
    facts = data
    if source.rows is None and isinstance(data, Mapping):
        facts = {name: value for name, value in data.items() if not isinstance(value, list)}
    try:
        query, source, table = _read_source(source, facts, roles, topic, draft)
    except CannotPlan:
        return None
    is_bare = source.rows is None and (query.aggregate or not query.fields)
    return None if query.is_plain or is_bare else (query, source, table)


def _sources(data: Any, roles: Roles, topic: Topic) -> list[_Source]:
    """Return what the words may be about, what they name first."""
    whole = _Source(topic.reference, data if isinstance(data, list) else None, topic.nouns)
    if isinstance(data, list):
        return [whole]
    if not isinstance(data, Mapping):
        raise CannotPlan(f"{str(roles.clause)!r}: the response is not a JSON object or list")
    lists = [
        (steps, rows) for steps, rows in find_lists(data) if rows and isinstance(rows[0], Mapping)
    ]
    words = {singular(token.word.removesuffix("'s")) for token in roles.what}
    named = [(s, rows) for s, rows in lists if words & {singular(w) for w in split_name(s[-1])}]
    is_list = topic.collection or words & {singular(w) for w in ENTRIES} or words & topic.own
    if not named and len(lists) == 1 and is_list:
        named = lists
    fitting = [one for one in lists if one[0][-1].lower() in _ANY_LIST]
    if not named and len(fitting) == 1:
        named = fitting
    if len(named) > 1:
        raise CannotPlan(
            f"{str(roles.clause)!r} could mean several lists: "
            + ", ".join(str(Path(s)) for s, _ in named)
        )
    first = [_source_of(one, topic) for one in named]
    return [*first, whole, *(_source_of(one, topic) for one in lists if one not in named)]


def _source_of(found: tuple[tuple[str, ...], list[Any]], topic: Topic) -> _Source:
    steps, rows = found
    own = {singular(word) for word in split_name(steps[-1])}
    return _Source(f"{topic.reference[:-1]}{str(Path(steps))[1:]}}}", rows, topic.nouns | own)


def _plan(query: ListQuery, source: _Source, roles: Roles, draft: Draft, topic: Topic) -> None:
    items, single, nouns = source.reference, source.rows is None, source.nouns
    for held in query.conditions:
        params = {
            "items": items,
            "field": held.path,
            "operator": held.operator,
            "value": draft.value(held.value),
        }
        items = _items(draft.node("filter", "filter", params))
    if query.order:
        params = {"items": items, "by": query.order.path}
        if query.order.descending:
            params["descending"] = True
        items = _items(draft.node("sort", "sort", params))
    noun = _noun(roles, nouns)
    if len(query.takes) > 1 and all(how == "at" for how, _ in query.takes) and not query.aggregate:
        names = []
        for _, index in query.takes:
            node = draft.node("take", "take", {"items": items, "at": index})
            which = {0: "first", -1: "last"}.get(index, f"entry_{index + 1}")
            names += _give_entry(query, f"${{{node['id']}.item}}", draft, which)
        draft.topic = Topic(reference="", form=DataForm.VALUE, results=tuple(names), nouns=nouns)
        return
    if len(query.takes) > 1:
        raise CannotPlan(f"{str(roles.clause)!r} selects entries in more than one way")
    for how, number in query.takes:
        node = draft.node("take", "take", {"items": items, how: number})
        items, single = (f"${{{node['id']}.item}}", True) if how == "at" else (_items(node), False)
    if query.group:
        _group(query, items, draft, nouns)
    elif query.aggregate:
        _calculate(query, items, single, roles, draft)
    elif single:
        sole = singular(noun) if not query.fields else ""
        known = sole if sole in ("id", "name", "number") else ""
        names = _give_entry(query, items, draft, known)
        draft.known |= {known: items} if known else {}
        form = DataForm.VALUE if query.fields else DataForm.DATA
        draft.topic = Topic(
            reference=items, form=form, results=tuple(names), nouns=nouns, entries=not query.fields
        )
    else:
        _give_list(query, items, noun, roles, draft, nouns)


def _group(query: ListQuery, items: str, draft: Draft, nouns: frozenset[str]) -> None:
    """Plan the number of entries in each group, or what is calculated of each."""
    params: dict[str, Any] = {"items": items, "by": query.group}
    key = name_of([str(query.group).rpartition(".")[2]]) or "key"
    fields = {key: "$.key", "count": "$.count"}
    if query.aggregate not in ("", "count"):
        params |= {"operation": query.aggregate, "field": query.aggregate_path}
        last = name_of([str(query.aggregate_path).rpartition(".")[2]])
        fields = {key: "$.key", f"{query.aggregate}_{last}": "$.value"}
    node = draft.node("group", "group", params)
    picked = draft.node("pick", "pick", {"items": _items(node), "fields": fields})
    _set_entries("groups", _items(picked), draft, nouns)


def _calculate(query: ListQuery, items: str, single: bool, roles: Roles, draft: Draft) -> None:
    operation, path = query.aggregate, query.aggregate_path
    if query.fields and operation in ("max", "min"):
        raise CannotPlan(f"{str(roles.clause)!r} mixes a calculation with fields")
    if operation == "count" and query.unique and len(query.fields) == 1:
        unique = draft.node(
            "unique", "unique", {"items": items, "by": next(iter(query.fields.values()))}
        )
        items, path = _items(unique), None
    elif query.fields:
        raise CannotPlan(
            f"{', '.join(query.fields)!r} together with a calculation is not understood"
        )
    if single:
        if operation != "count" or path is None:
            raise CannotPlan(
                f"{str(roles.clause)!r} is a calculation, but the response is a single object"
            )
        reference = f"{items[:-1]}{path[1:]}}}"
        counted = draft.python("count", snippets.LENGTH, {"data": reference})
        draft.set_topic(name_of([path.rpartition(".")[2]]), counted, DataForm.VALUE)
        return
    if operation == "count" and path is not None:
        raise CannotPlan(
            f"{str(roles.clause)!r} counts {path[2:]} of several entries: say which one, or its sum"
        )
    params = {"items": items, "operation": operation} | ({"field": path} if path else {})
    node = draft.node("calculate", "calculate", params)
    last = name_of([path.rpartition(".")[2]]) if path else ""
    name = "count" if operation == "count" else f"{operation}_{last}".rstrip("_")
    draft.set_topic(name, f"${{{node['id']}.value}}", DataForm.VALUE)


def _give_entry(query: ListQuery, entry: str, draft: Draft, prefix: str) -> list[str]:
    if not query.fields and query.label is not None:
        return [draft.give(prefix or "result", f"{entry[:-1]}{query.label[1:]}}}")]
    if not query.fields:
        return [draft.give(prefix or "result", entry)]
    return [
        draft.give_known(
            "_".join(filter(None, (prefix, name_of([name])))), f"{entry[:-1]}{path[1:]}}}"
        )
        for name, path in query.fields.items()
    ]


def _give_list(
    query: ListQuery, items: str, noun: str, roles: Roles, draft: Draft, nouns: frozenset[str]
) -> None:
    fields = {_field_name(name): path for name, path in query.fields.items()}
    sole = next(iter(fields)) if len(fields) == 1 else ""
    if query.unique:
        if len(fields) > 1:
            raise CannotPlan(f"{', '.join(fields)!r}: entries are unique by one field")
        by = {"by": fields[sole]} if sole else {}
        items = _items(draft.node("unique", "unique", {"items": items, **by}))
    if query.separator is not None:
        params = {"items": items, "separator": query.separator} | (
            {"field": fields[sole]} if sole else {}
        )
        node = draft.node("join", "join", params)
        draft.set_topic(plural(sole) if sole else "text", f"${{{node['id']}.text}}", DataForm.TEXT)
        return
    table = roles.destination is not None and str(roles.destination.value).lower().endswith(".csv")
    if not fields:
        _set_entries(noun, items, draft, nouns)
        if query.label is not None and draft.topic is not None:
            draft.results[draft.topic.results[0]] = _of_all(items, query.label)
    elif sole and not table:
        values = _of_all(items, fields[sole])
        results = (draft.give_known(plural(sole), values),)
        draft.topic = Topic(
            reference=values, form=DataForm.DATA, results=results, nouns=nouns, entries=True
        )
    else:
        node = draft.node("pick", "pick", {"items": items, "fields": fields})
        _set_entries(noun, _items(node), draft, nouns)


def _set_entries(name: str, items: str, draft: Draft, nouns: frozenset[str]) -> None:
    draft.set_topic(name, items, DataForm.DATA, nouns=nouns, collection=True, entries=True)


def _items(node: dict[str, Any]) -> str:
    return f"${{{node['id']}.items}}"


def _of_all(items: str, path: str) -> str:
    """Return a reference to a field of all entries; a batch has spread them already."""
    return f"{items[:-1]}{'' if '[*]' in items else '[*]'}{path[1:]}}}"


def _field_name(name: str) -> str:
    words = name.split("_")
    return name_of([*words[:-1], singular(words[-1])])


def _noun(roles: Roles, nouns: frozenset[str]) -> str:
    for token in roles.what:
        word = token.word.removesuffix("'s")
        if word and singular(word) in nouns:
            return name_of([plural(singular(word))]) or "result"
    return "result"
