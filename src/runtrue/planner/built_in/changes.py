"""Changes: which resource a clause changes, and the body that its words spell out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NoReturn

from runtrue.planner.built_in.clauses import Roles, said
from runtrue.planner.built_in.draft import CannotPlan
from runtrue.planner.built_in.query_words import QUIET
from runtrue.planner.built_in.urls import Address
from runtrue.planner.task import TaskToken, TokenType, plain_value
from runtrue.planner.words import ALSO_NOUNS, DETERMINERS, VERBS, singular, word_set

_LEADING = DETERMINERS | word_set("with setting having where containing using set its new also of")
_BETWEEN = word_set("to is = == as equals :")
#: Words that no value without quotes has in it.
_CONNECTING = _BETWEEN | word_set("with for at from of in on by than and or not")
#: Second words of names such as "first name"; APIs spell these in many ways.
_SECOND = word_set("name date number address id code time type url title")
#: What people say of a thing for a field of it: "titled x".
_ADJECTIVES = {"titled": "title", "named": "name", "labelled": "label", "labeled": "label"}
_JOINTS = frozenset({",", "and", "&"})
_LONGEST_VALUE = 6


@dataclass(slots=True)
class ResourceChange:
    """One change: the id of the resource below the URL, and the fields that are sent."""

    id: Any = None
    noun: str = ""
    body: dict[str, Any] = field(default_factory=dict)


def read_change(roles: Roles, address: Address) -> ResourceChange:
    """Read all words of a clause that changes something. Raises CannotPlan with what is unclear."""
    change = ResourceChange()
    said_words = [token for token in roles.what if token.word not in {"(", ")"}]
    tokens = _without_resource(said_words, change, roles, address)
    if roles.verb == "login":
        tokens = _user(tokens, change)
    is_joint = [list(group) for joins, group in groupby(tokens, _joins) if not joins]
    for segment in is_joint:
        _read_pair(segment, change, roles)
    return change


def _joins(token: TaskToken) -> bool:
    return token.word in _JOINTS


def _without_resource(
    tokens: list[TaskToken], change: ResourceChange, roles: Roles, address: Address
) -> list[TaskToken]:
    """Return the words that do not say which resource: "ticket 3", "a new subscriber"."""
    own = {singular(word) for word in address.own} | {"item", "entry", "record", "resource"}
    for at, token in enumerate(tokens):
        if not token.word or singular(token.word) not in own:
            continue
        end = at + 1
        while end < len(tokens) and tokens[end].word in {"number", "id", "with", "#", "no"}:
            end += 1
        if end < len(tokens) and address.collection and _is_id(tokens[end], roles):
            change.id, change.noun = tokens[end].value, singular(token.word)
            end += 1
        else:
            end = at + 1
        begin = at
        while begin and tokens[begin - 1].word in _LEADING:
            begin -= 1
        rest = tokens[:begin] + tokens[end:]
        while rest[begin:] and rest[begin].word in {":", ","}:
            del rest[begin]
        return rest
    return tokens


def _is_id(token: TaskToken, roles: Roles) -> bool:
    if token.type is TokenType.NUMBER:
        return isinstance(token.value, int)
    is_text = token.type in (TokenType.WORD, TokenType.QUOTED)
    return is_text and roles.method != "POST" and any(map(str.isdigit, str(token.value)))


def _user(tokens: list[TaskToken], change: ResourceChange) -> list[TaskToken]:
    """Read "as emily" of a login."""
    for at, token in enumerate(tokens[:-1]):
        if token.word == "as":
            name = str(tokens[at + 1].value)
            change.body["email" if "@" in name else "username"] = name
            return tokens[:at] + tokens[at + 2 :]
    return tokens


def _read_pair(segment: list[TaskToken], change: ResourceChange, roles: Roles) -> None:
    """Read one field and its value: "priority high", "status to closed", `title "A b"`."""
    tokens = list(segment)
    while tokens and tokens[0].word in _LEADING | {":"}:
        tokens.pop(0)
    if not tokens:
        return
    middle = next((n for n, token in enumerate(tokens) if token.word in _BETWEEN), 1)
    names, values = tokens[:middle], tokens[middle:]
    while values and values[0].word in _BETWEEN | DETERMINERS:
        values.pop(0)
    if len(names) != 1 or not values or names[0].type is not TokenType.WORD:
        _unclear(segment, roles)
    name = _ADJECTIVES.get(names[0].word, names[0].text)
    if (
        not re.fullmatch(r"[A-Za-z_][\w.-]*", name)
        or name in change.body
        or (name.endswith(("ing", "ed")) and tokens[middle].word not in _BETWEEN)
    ):
        _unclear(segment, roles)
    compound = values[0].word in _SECOND and len(values) > 1
    is_quiet = names[0].word in QUIET | VERBS - ALSO_NOUNS
    if compound or (is_quiet and names[0].word not in _ADJECTIVES):
        _unclear(segment, roles)
    change.body[name] = _value(values, segment, roles)


def _value(values: list[TaskToken], segment: list[TaskToken], roles: Roles) -> Any:
    if len(values) == 1:
        token = values[0]
        return plain_value(token.text) if token.type is TokenType.WORD else token.value
    plain = all(t.type in (TokenType.WORD, TokenType.NUMBER) for t in values)
    if not plain or len(values) > _LONGEST_VALUE or _CONNECTING & {t.word for t in values}:
        _unclear(segment, roles)
    return said(values)


def _unclear(segment: list[TaskToken], roles: Roles) -> NoReturn:
    raise CannotPlan(
        f"{said(segment)!r} in {str(roles.clause)!r} is not a field with its value; write "
        "name=value, with quotes around a value of several words"
    )
