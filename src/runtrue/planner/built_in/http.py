"""Steps that go to a URL: fetching from it, taking values out of what came, sending to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtrue.planner.built_in import snippets
from runtrue.planner.built_in.clauses import Roles, said
from runtrue.planner.built_in.contents import content_of
from runtrue.planner.built_in.draft import CannotPlan, Draft, Form, Subject
from runtrue.planner.built_in.urls import Address, inputs_of, is_secret, read_url
from runtrue.planner.built_in.wants import NO_NAME, Want, read_wants
from runtrue.planner.built_in.words import FILLERS, GENERIC, singular
from runtrue.planner.tokens import Kind, Token, Variable
from runtrue.planner.verbs import FETCH

if TYPE_CHECKING:
    from runtrue.memory import Memory

#: What every answer has, whatever is in it.
_OUTPUTS = {
    **{"status_code": "status_code", "http_status": "status_code"},
    **{"response_headers": "response_headers", "headers": "response_headers"},
    **{"response_time": "response_time"},
}
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_USERS = frozenset({"username", "user", "login"})
_PASSWORDS = frozenset({"password", "passwd", "pwd", "pass"})


def fetch(roles: Roles, draft: Draft, *, described: bool) -> None:
    """Fetch each URL of a clause, and take out what it wants.

    With `described`, the words of the clause only say what is fetched: a later clause wants
    something of it.
    """
    names: list[str] = []
    for token in roles.urls:
        address = read_url(token.value, draft)
        node = _request(roles.method or "GET", address, roles, draft, name="fetch")
        names += _answered(node, address, token.value, draft).results
    words = [token for token in roles.what if token.word not in FILLERS]
    if words and (described or (roles.verb in FETCH and _describes(roles.what, draft))):
        _refuse_conditions(words, draft)
        roles.what = []
    elif words and len(roles.urls) > 1:
        raise CannotPlan(f"{str(roles.clause)!r} wants something of several URLs at once")
    if len(roles.urls) > 1:
        # Of several responses, nothing but all of them can be meant from here on.
        draft.subject = Subject(reference="", form=Form.VALUE, results=tuple(names))


def send(roles: Roles, draft: Draft) -> None:
    """Send what the clause names to its URL."""
    if len(roles.urls) != 1:
        raise CannotPlan(f"{str(roles.clause)!r} does not say which one URL it is for")
    url = roles.urls[0].value
    address = read_url(url, draft)
    content = content_of(roles, draft)
    node = _request(roles.method, address, roles, draft, name=roles.method.lower())
    headers = content.pop("headers", {}) | node["params"].get("headers", {})
    node["params"] |= content | ({"headers": headers} if headers else {})
    _answered(node, address, url, draft)


def _request(
    method: str, address: Address, roles: Roles, draft: Draft, *, name: str
) -> dict[str, Any]:
    params: dict[str, Any] = {"url": address.url}
    if method != "GET":
        params["method"] = method
    given = {key: value for key, value in roles.query.items() if key not in draft.used}
    auth = address.auth or _basic(method, given, draft)
    if query := address.query | inputs_of(given, draft):
        params["params"] = query
    if roles.headers:
        secret = {key: value for key, value in roles.headers.items() if is_secret(key)}
        params["headers"] = draft.value(roles.headers) | inputs_of(secret, draft)
    if sum((roles.token is not None, roles.key is not None, bool(auth))) > 1:
        raise CannotPlan(
            f"{str(roles.clause)!r} authenticates itself in more than one way, by token, key or "
            "password: a request has one"
        )
    if auth:
        params["auth"] = auth
    if roles.token is not None:
        params["auth_token"] = draft.value(roles.token)
    elif roles.key is not None:
        params["api_key"] = draft.value(roles.key)
    return draft.node(name, "http", params)


def _basic(method: str, given: dict[str, Any], draft: Draft) -> dict[str, Any]:
    """Basic authentication, for what would else put a password into a query."""
    passwords = [key for key in given if key.lower() in _PASSWORDS]
    if method not in _SAFE or not passwords:
        return {}
    users = [key for key in given if key.lower() in _USERS]
    if len(users) != 1 or len(passwords) != 1:
        raise CannotPlan(
            f"{passwords[0]!r} would be put into the URL, for all to see; give one username beside "
            "it, or a token from an environment variable: with token from $NAME"
        )
    parts = {"username": given.pop(users[0]), "password": given.pop(passwords[0])}
    texts = {name: v if isinstance(v, Variable) else str(v) for name, v in parts.items()}
    return {"type": "basic", **inputs_of(texts, draft)}


def _answered(node: dict[str, Any], address: Address, url: str, draft: Draft) -> Subject:
    reference = f"${{{node['id']}.response}}"
    draft.subject = Subject(
        reference=reference,
        form=Form.DATA,
        results=(draft.give("response", reference),),
        node=node,
        nouns=address.nouns,
        own=address.own,
        collection=address.collection,
        origin=url,
    )
    return draft.subject


def _describes(what: list[Token], draft: Draft) -> bool:
    """Whether the words only say what is fetched: what they come to is in its URL, too."""
    nouns = draft.subject.nouns if draft.subject else frozenset()
    last = what[-1].word
    has_parts = any(token.word == "of" or token.word.endswith("'s") for token in what)
    return not has_parts and (singular(last) in nouns or last in GENERIC | {"profile"})


def _refuse_conditions(words: list[Token], draft: Draft) -> None:
    """What is fetched can have a name; with more than that, a part of it would be lost."""
    nouns = draft.subject.nouns if draft.subject else frozenset()
    for at, token in enumerate(words):
        rest = [t for t in words[at + 1 :] if t.word not in nouns]
        if token.word in NO_NAME and rest:
            raise CannotPlan(f"{said(words[at:])!r} is nothing that the URL says")


def count(tokens: list[Token], draft: Draft, memory: Memory | None) -> None:
    """Count what is asked for: the entries of the response, or those of a part of it."""
    subject = draft.subject
    words = [token.word for token in tokens if token.word not in FILLERS | {"many"}]
    own = subject.nouns | GENERIC if subject else GENERIC
    if subject is None or not all(word and singular(word) in own for word in words):
        asked = [Token(Kind.WORD, word) for word in ("how", "many")]
        rest = [token for token in tokens if token.word != "many"]
        take([*asked, *rest], draft, memory)
        return
    draft.replace(subject.results)
    node = draft.node("count", "python", _python(snippets.LENGTH, {"data": subject.reference}))
    reference = f"${{{node['id']}.result}}"
    results = (draft.give("count", reference),)
    draft.subject = Subject(reference=reference, form=Form.VALUE, results=results)


def take(tokens: list[Token], draft: Draft, memory: Memory | None) -> None:
    """Take what is wanted out of the last response."""
    subject = draft.subject
    if subject is None or subject.node is None:
        raise CannotPlan(f"{said(tokens)!r}: there is no response to take it from")
    wants = read_wants(tokens, subject.nouns, subject.collection)
    if not wants:
        return
    if subject.form is not Form.VALUE:
        draft.replace(subject.results)
    names = tuple(_take_one(want, subject, draft, memory) for want in wants)
    draft.subject = Subject(
        reference=subject.reference,
        form=Form.VALUE,
        results=(*(n for n in subject.results if n in draft.results), *names),
        node=subject.node,
        nouns=subject.nouns,
        own=subject.own,
        collection=subject.collection,
        origin=subject.origin,
    )


def _take_one(want: Want, subject: Subject, draft: Draft, memory: Memory | None) -> str:
    node = subject.node
    assert node is not None  # noqa: S101 - the caller has looked
    if want.name in _OUTPUTS and want.path == f"$.{want.name}":
        return draft.give(want.name, f"${{{node['id']}.{_OUTPUTS[want.name]}}}")
    if want.whole:
        made = draft.node("count", "python", _python(snippets.LENGTH, {"data": subject.reference}))
        return _known(want.name, f"${{{made['id']}.result}}", draft)
    if want.each:
        inputs = {"data": subject.reference, "name": want.path}
        made = draft.node("collect", "python", _python(snippets.EACH, inputs))
        return _known(want.name, f"${{{made['id']}.result}}", draft)
    extract = node["params"].setdefault("extract", {})
    name = want.name
    while name in extract:
        name += "_2"
    extract[name] = _remembered(node, subject.origin, want, memory, draft) or want.path
    reference = f"${{{node['id']}.extracted.{name}}}"
    if want.count:
        made = draft.node("count", "python", _python(snippets.LENGTH, {"data": reference}))
        reference = f"${{{made['id']}.result}}"
    return _known(name, reference, draft)


def _python(code: str, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"code": code, "inputs": inputs}


def _known(name: str, reference: str, draft: Draft) -> str:
    draft.known[name] = reference
    return draft.give(name, reference)


def _remembered(
    node: dict[str, Any], url: str, want: Want, memory: Memory | None, draft: Draft
) -> str | None:
    if memory is None:
        return None
    from runtrue.memory import scope_of

    method = node["params"].get("method", "GET")

    path = memory.recall(scope_of(method, url.partition("?")[0]), want.name)
    if path is not None and path != want.path:
        draft.notes.append(f"{want.name!r} is at {path}, as a run before has shown")
    return path
