"""Contents: what a request sends, out of what the task says or an earlier step gave."""

from __future__ import annotations

from typing import Any

from runtrue.planner.built_in.clauses import Roles, said
from runtrue.planner.built_in.draft import CannotPlan, Draft, Form, Subject
from runtrue.planner.built_in.urls import inputs_of, is_secret
from runtrue.planner.built_in.wants import read_wants
from runtrue.planner.built_in.words import FILLERS, GENERIC, singular, split_name
from runtrue.planner.tokens import Kind, Token


def content_of(roles: Roles, draft: Draft) -> dict[str, Any]:
    """What is sent: pairs, JSON, a file, or what an earlier step gave."""
    pairs = {key: value for key, value in roles.body.items() if key not in draft.used}
    words = [token for token in roles.what if token.word not in FILLERS]
    quoted = [token for token in words if token.kind is Kind.QUOTED]
    if chosen := _chosen(roles.what, draft):
        words = []
    ways = [bool(way) for way in (pairs, roles.documents, roles.files, roles.commands, words)]
    if sum(ways) > 1 and not (sum(ways) == 2 and words and _is_resource(words, roles)):
        raise CannotPlan(f"{str(roles.clause)!r} does not say clearly what is to be sent")
    if pairs:
        return {"json": inputs_of(pairs, draft)}
    if roles.documents:
        return {"json": _document(_only(roles.documents, roles), draft)}
    if roles.files:
        return _file_content(str(_only(roles.files, roles).value), draft)
    if roles.commands and draft.subject is not None:
        draft.replace(draft.subject.results)
        return _text_content(draft.subject)
    if quoted and len(quoted) == len(words):
        return {"body": draft.value(_only(quoted, roles).value)}
    if chosen:
        draft.replace(chosen)
        return {"json": chosen}
    if words and not _is_resource(words, roles):
        raise CannotPlan(f"{said(words)!r} in {str(roles.clause)!r} is nothing that came before")
    return _earlier(roles, draft) if _points(roles) else {}


def _document(value: Any, draft: Draft) -> Any:
    """JSON of the task as it is, but for secrets: these are given, and not kept."""
    if isinstance(value, list):
        return [_document(inner, draft) for inner in value]
    if not isinstance(value, dict):
        return draft.value(value)
    return {
        key: draft.input(key, inner, secret=True)
        if isinstance(inner, str) and is_secret(key)
        else _document(inner, draft)
        for key, inner in value.items()
    }


def _file_content(name: str, draft: Draft) -> dict[str, Any]:
    read = draft.node("read", "read-file", {"file_path": draft.input("file", name)})
    content = Subject(reference=f"${{{read['id']}.content}}", form=Form.TEXT, origin=name)
    return _text_content(content)


def _text_content(subject: Subject) -> dict[str, Any]:
    """What is text already, of whatever kind its origin says."""
    return {"body": subject.reference, "headers": {"Content-Type": _type(subject.origin)}}


def _type(name: str) -> str:
    kinds = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
    return kinds.get(name.lower().rpartition(".")[2], "text/plain; charset=utf-8")


def _points(roles: Roles) -> bool:
    words = {token.word for token in roles.clause.tokens}
    return roles.verb != "delete" and bool(words & (GENERIC - {"one", "ones", "page", "file"}))


def _earlier(roles: Roles, draft: Draft) -> dict[str, Any]:
    """The results so far, for "post it to …"."""
    if not draft.results:
        raise CannotPlan(f"{str(roles.clause)!r}: there is nothing yet that could be sent")
    results = dict(draft.results)
    draft.replace(results)
    subject = draft.subject
    if len(results) > 1 or subject is None or subject.form is Form.VALUE:
        return {"json": results}
    if subject.reference.endswith((".content}", ".stdout}")) or subject.form is Form.TEXT:
        return _text_content(subject)
    return {"json": subject.reference}


def _chosen(words: list[Token], draft: Draft) -> dict[str, Any]:
    """Values that were taken before, when the words are their names."""
    try:
        wants = read_wants(words, frozenset(), collection=False)
    except CannotPlan:
        return {}
    names = [want.name for want in wants]
    known = draft.known
    return {name: known[name] for name in names} if all(n in known for n in names) else {}


def _is_resource(words: list[Token], roles: Roles) -> bool:
    """Whether words only name what is behind the URL: "create a user at …/users"."""
    named = {singular(part) for token in roles.urls for part in split_name(token.value)}
    plain = named | GENERIC | {"new"}
    return all(token.word and singular(token.word) in plain for token in words)


def _only(values: list[Any], roles: Roles) -> Any:
    if len(values) > 1:
        raise CannotPlan(f"{str(roles.clause)!r} names several things to send")
    return values[0]
