"""Chains: values for a URL out of an earlier answer, one or one for each entry, and logins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft
from runtrue.planner.built_in.entries import EntryTable
from runtrue.planner.task import Clause, TaskToken, TokenType
from runtrue.planner.words import VERBS, name_of, singular, split_name, word_set

#: The name of one entry in a batch, and how many a batch may have.
ITEM, _MOST_ENTRIES = "item", 500
_EACH = frozenset({"each", "every"})
_AFTER_EACH = word_set("of them one these those it")
_TOKENS = word_set("token tokens accesstoken access_token jwt bearer")
_AROUND_TOKEN = word_set(
    "with using use and that the this my its access bearer auth login session as a header to in"
)
#: Where answers to logins have their token, the likeliest first.
_TOKEN_NAMES = ("access token", "token", "jwt", "id token", "auth token", "session token", "key")


def value_for(name: str, draft: Draft) -> str | None:
    """Return a reference for `{name}` in a URL to what the last step returned, if there is one."""
    topic = draft.topic
    if topic is None or not topic.reference:
        return None
    if topic.node is None and not topic.entries and not topic.reference.endswith(".item}"):
        return None
    data = draft.data(topic.reference, f"{{{name}}}")
    words = list(split_name(name))
    if isinstance(data, list):
        if not draft.each:
            raise CannotPlan(f"{{{name}}} could be that of {len(data)} entries; say 'for each'")
        return _of_each(name, words, data, draft)
    path = EntryTable([data]).named_field(words) if isinstance(data, Mapping) else None
    if path is None:
        return None
    # A whole response was only wanted for this.
    draft.drop(topic.results if topic.form is not DataForm.VALUE else ())
    return f"{topic.reference[:-1]}{path[1:]}}}"


def _of_each(name: str, words: list[str], rows: list[Any], draft: Draft) -> str:
    topic = draft.topic
    assert topic is not None  # noqa: S101 - the caller has looked
    if len(rows) > _MOST_ENTRIES:
        raise CannotPlan(f"{len(rows)} entries are too many to call for each; take fewer of them")
    path = "$"
    if any(isinstance(row, Mapping) for row in rows):
        found = EntryTable(rows).named_field(words)
        if found is None:
            raise CannotPlan(f"{{{name}}}: the entries have no field of that name")
        path = found
    draft.drop(topic.results)
    draft.batch = topic.reference
    return f"${{{ITEM}{path[1:]}}}"


def read_each(clause: Clause, draft: Draft) -> Clause:
    """Return a clause without "for each …", which the draft remembers."""
    words = [token.word for token in clause.tokens]
    for at, word in enumerate(words[:-1]):
        if word != "for" or words[at + 1] not in _EACH:
            continue
        if at == 0 and not clause.verb:
            draft.each = True
            return Clause("get", clause.tokens[2:], clause.is_question)
        if any("{" in str(t.value) for t in clause.tokens if t.type is TokenType.URL):
            end = at + 2
            while end < len(words) and (words[end] in _AFTER_EACH or end == at + 2):
                end += 1
            draft.each = True
            return replace(clause, tokens=clause.tokens[:at] + clause.tokens[end:])
    return clause


def nouns_said(tokens: list[TaskToken]) -> Iterator[str]:
    """Yield words for what a chain fetches: "its author", "the author's name"."""
    for at, token in enumerate(tokens):
        if token.word.endswith("'s"):
            yield singular(token.word[:-2])
        if at and tokens[at - 1].word in {"its", "their", "his", "her"} and at + 1 == len(tokens):
            yield singular(token.word)


# -- logins ----------------------------------------------------------------------------------------


def read_token(clause: Clause, draft: Draft) -> Clause:
    """Return a clause without "using the token", if an earlier step has logged in."""
    if draft.login is None:
        return clause
    words = [token.word for token in clause.tokens]
    place = next((at for at, word in enumerate(words) if word in _TOKENS), None)
    if place is None or words[place - 1 : place] == ["$"]:
        return clause
    begin, end = place, place + 1
    while begin and words[begin - 1] in _AROUND_TOKEN:
        begin -= 1
    while end < len(words) and words[end] in _AROUND_TOKEN | _TOKENS:
        end += 1
    tokens = clause.tokens[:begin] + clause.tokens[end:]
    verb = clause.verb
    if verb == "use" and begin == 0 and tokens and tokens[0].word in VERBS:
        verb, tokens = tokens[0].word, tokens[1:]
    return Clause(verb if verb != "use" else "get", tokens, clause.is_question)


def token_of(url: str, draft: Draft) -> str | None:
    """Return a reference to the token of an earlier login, for a URL of the same host."""
    if draft.login is None:
        return None
    reference, origin = draft.login
    if not url.startswith(f"{origin}/"):
        return None
    data = draft.data(reference, "with the token")
    if not isinstance(data, Mapping):
        raise CannotPlan("the login response is not a JSON object with a token")
    table = EntryTable([data])
    for name in _TOKEN_NAMES:
        if path := table.named_field(name.split()):
            return f"{reference[:-1]}{path[1:]}}}"
    names = ", ".join(map(name_of, ([key] for key in data)))
    raise CannotPlan(f"the login response has no token; it has {names}")
