"""HTTP: steps that fetch from a URL, take values out of the response, or send to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from runtrue.planner.built_in import lists, snippets
from runtrue.planner.built_in.chains import ITEM, nouns_said, token_of
from runtrue.planner.built_in.changes import read_change
from runtrue.planner.built_in.clauses import Roles, said
from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft, Topic
from runtrue.planner.built_in.urls import Address, inputs_of, is_secret, read_url
from runtrue.planner.built_in.wants import NO_NAME, Want, read_wants
from runtrue.planner.task import TaskToken, TokenType, Variable
from runtrue.planner.words import FETCH, FILLERS, GENERIC, singular, singulars

#: Outputs that every response has.
_OUTPUTS = {name: name for name in ("status_code", "response_headers", "response_time")}
_OUTPUTS |= {"http_status": "status_code", "headers": "response_headers"}
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: Words for what an answer to a change describes: "the new id".
_MADE = frozenset({"new", "created", "resulting", "generated"})
_LOGINS = frozenset({"login", "signin", "authenticate", "token"})
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
        node = _request(roles.method or "GET", address, roles, draft)
        said_nouns = frozenset(nouns_said(roles.what)) if "{" in str(token.value) else frozenset()
        address = replace(address, nouns=address.nouns | said_nouns)
        names += _answered(node, address, token.value, draft)
    words = [token for token in roles.what if token.word not in FILLERS]
    if lists.has_cue(words) or _selects(words, draft):
        pass  # They say which entries, and are read when these are there.
    elif words and (described or (roles.verb in FETCH and _describes(roles.what, draft))):
        _refuse_conditions(words, draft)
        roles.what = []
    elif words and len(roles.urls) > 1:
        raise CannotPlan(f"{str(roles.clause)!r} asks several URLs at once")
    if len(roles.urls) > 1:
        # Of several responses, nothing but all of them can be meant from here on.
        draft.topic = Topic(reference="", form=DataForm.VALUE, results=tuple(names))


def send(roles: Roles, draft: Draft) -> None:
    """Send what the clause names to its URL."""
    if len(roles.urls) != 1:
        raise CannotPlan(f"{str(roles.clause)!r} does not say which one URL it is for")
    url = roles.urls[0].value
    address = read_url(url, draft)
    content = _content_of(roles, address, draft)
    change = content.pop("change", None)
    if change is not None and change.id is not None:
        address = replace(address, url=f"{address.url}/{draft.input(change.noun, change.id)}")
    node = _request(roles.method, address, roles, draft)
    headers = content.pop("headers", {}) | node["params"].get("headers", {})
    node["params"] |= content | ({"headers": headers} if headers else {})
    names = _answered(node, address, url, draft)
    if roles.verb == "login" or address.nouns & _LOGINS:
        # A token is no result to show.
        draft.drop(names)
        parts = urlsplit(url)
        draft.login = (f"${{{node['id']}.response}}", f"{parts.scheme}://{parts.netloc}")


def _request(method: str, address: Address, roles: Roles, draft: Draft) -> dict[str, Any]:
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
    named = {"auth_token": roles.token, "api_key": roles.key}
    used = {way: draft.value(variable) for way, variable in named.items() if variable}
    used |= {"auth": auth} if auth else {}
    if not used and not roles.headers and draft.credential is not None:
        used = {draft.credential[0]: draft.value(draft.credential[1])}
    if not used and not roles.headers and (token := token_of(str(roles.urls[0].value), draft)):
        used = {"auth_token": token}
    if len(used) > 1:
        raise CannotPlan(
            f"{str(roles.clause)!r} authenticates itself in more than one way, by token, key or "
            "password: a request has one"
        )
    node = draft.node("fetch" if method in _SAFE else method.lower(), "http", params | used)
    if draft.batch:
        node["batch"] = {"items": draft.batch, "as": ITEM}
        draft.batch, draft.each = "", False
    return node


def _basic(method: str, given: dict[str, Any], draft: Draft) -> dict[str, Any]:
    """Return basic authentication, where a password would else go into the query."""
    passwords = [key for key in given if key.lower() in _PASSWORDS]
    if method not in _SAFE or not passwords:
        return {}
    users = [key for key in given if key.lower() in _USERS]
    if len(users) != 1 or len(passwords) != 1:
        raise CannotPlan(
            f"{passwords[0]!r} would end up in the URL, for all to see; give one username beside "
            "it, or a token from an environment variable: with token from $NAME"
        )
    parts = {"username": given.pop(users[0]), "password": given.pop(passwords[0])}
    texts = {name: v if isinstance(v, Variable) else str(v) for name, v in parts.items()}
    return {"type": "basic", **inputs_of(texts, draft)}


def _answered(node: dict[str, Any], address: Address, url: str, draft: Draft) -> tuple[str, ...]:
    if "batch" in node:
        items = f"${{{node['id']}.results[*].response}}"
        facts: dict[str, Any] = {"nouns": address.nouns, "entries": True, "collection": True}
        return draft.set_topic("responses", items, DataForm.DATA, origin=url, **facts)
    return draft.set_topic(
        "response",
        f"${{{node['id']}.response}}",
        DataForm.DATA,
        node=node,
        nouns=address.nouns,
        own=address.own,
        # What is sent to a collection is answered with what was made of it.
        collection=address.collection and node["params"].get("method", "GET") in _SAFE,
        origin=url,
    )


def _selects(words: list[TaskToken], draft: Draft) -> bool:
    """True if words say more of a list than what its entries are called."""
    topic = draft.topic
    if topic is None or not topic.collection:
        return False
    known = topic.nouns | GENERIC
    return not all(singular(token.word) in known or token.word in known for token in words)


def _describes(what: list[TaskToken], draft: Draft) -> bool:
    """True if the words only say what is fetched: the last of them is in its URL, too."""
    nouns = draft.topic.nouns if draft.topic else frozenset()
    last = what[-1].word
    parts = {"of", "and", ",", "&"}
    has_parts = any(token.word in parts or token.word.endswith("'s") for token in what)
    # "the insured value" is a part of what is fetched.
    known = (GENERIC - {"value", "values"}) | {"profile"}
    return not has_parts and (singular(last) in nouns or last in known)


def _refuse_conditions(words: list[TaskToken], draft: Draft) -> None:
    """Refuse words beyond the name of what is fetched: a part of the task would be lost."""
    nouns = draft.topic.nouns if draft.topic else frozenset()
    for at, token in enumerate(words):
        rest = [t for t in words[at + 1 :] if t.word not in nouns]
        if token.word in NO_NAME and rest:
            raise CannotPlan(f"{said(words[at:])!r} is not in the URL")


def count(tokens: list[TaskToken], draft: Draft) -> None:
    """Count the entries of the response. Raises CannotPlan if something else is asked for."""
    topic = draft.topic
    words = [token.word for token in tokens if token.word not in FILLERS | {"many"}]
    own = topic.nouns | GENERIC if topic else GENERIC
    if topic is None or not all(word and singular(word) in own for word in words):
        raise CannotPlan(f"{said(tokens)!r}: what to count is not clear")
    draft.drop(topic.results)
    reference = draft.python("count", snippets.LENGTH, {"data": topic.reference})
    draft.set_topic("count", reference, DataForm.VALUE)


#: "number of tags" names one thing to count; more words may say which.
_OF_COUNT = 3


def take(tokens: list[TaskToken], draft: Draft) -> None:
    """Take what is wanted out of the last response."""
    topic = draft.topic
    if topic is None or topic.node is None:
        raise CannotPlan(f"{said(tokens)!r}: there is no response to take it from")
    if topic.node["params"].get("method", "GET") not in _SAFE:
        tokens = [token for token in tokens if token.word not in _MADE]
    wants = read_wants(tokens, topic.nouns, topic.collection)
    if not wants:
        return
    if len(wants) == 1 and wants[0].count and not wants[0].whole and len(tokens) > _OF_COUNT:
        raise CannotPlan(f"{said(tokens)!r}: what to count is not clear")
    if topic.form is not DataForm.VALUE:
        draft.drop(topic.results)
    names = tuple(_take_one(want, topic, draft) for want in wants)
    results = (*(n for n in topic.results if n in draft.results), *names)
    draft.topic = replace(topic, form=DataForm.VALUE, results=results)


def _take_one(want: Want, topic: Topic, draft: Draft) -> str:
    node = topic.node
    assert node is not None  # noqa: S101 - the caller has looked
    if want.name in _OUTPUTS and want.path == f"$.{want.name}":
        return draft.give(want.name, f"${{{node['id']}.{_OUTPUTS[want.name]}}}")
    if want.whole:
        made = draft.python("count", snippets.LENGTH, {"data": topic.reference})
        return draft.give_known(want.name, made)
    if want.each:
        inputs = {"data": topic.reference, "name": want.path}
        return draft.give_known(want.name, draft.python("collect", snippets.EACH, inputs))
    extract = node["params"].setdefault("extract", {})
    name = want.name
    while name in extract:
        name += "_2"
    extract[name] = _remembered(node, topic.origin, want, draft) or want.path
    reference = f"${{{node['id']}.extracted.{name}}}"
    if want.count:
        reference = draft.python("count", snippets.LENGTH, {"data": reference})
    return draft.give_known(name, reference)


def _remembered(node: dict[str, Any], url: str, want: Want, draft: Draft) -> str | None:
    if draft.memory is None:
        return None
    from runtrue.memory import scope_of

    method = node["params"].get("method", "GET")
    path = draft.memory.recall(scope_of(method, url.partition("?")[0]), want.name)
    if path is not None and path != want.path:
        draft.notes.append(f"{want.name!r} is at {path}, as an earlier run showed")
    return path


# -- what is sent ----------------------------------------------------------------------------------


def _content_of(roles: Roles, address: Address, draft: Draft) -> dict[str, Any]:
    """Return what to send: pairs, JSON, a file, or the output of an earlier step."""
    pairs = {key: value for key, value in roles.body.items() if key not in draft.used}
    words = [token for token in roles.what if token.word not in FILLERS]
    quoted = [token for token in words if token.type is TokenType.QUOTED]
    if chosen := _chosen(roles.what, draft):
        words = []
    sources = [bool(way) for way in (pairs, roles.documents, roles.files, roles.commands)]
    points = words and _is_resource(words, roles)
    if words and not points and len(quoted) < len(words):
        return _spelled(roles, pairs, sources, address, draft)
    if sum(sources) + bool(words) > 1 and not (sum(sources) == 1 and points):
        raise CannotPlan(f"{str(roles.clause)!r} does not say clearly what to send")
    if pairs:
        return {"json": inputs_of(pairs, draft)}
    if roles.documents:
        return {"json": _document(_only(roles.documents, roles), draft)}
    if roles.files:
        return _file_content(str(_only(roles.files, roles).value), draft)
    if roles.commands and draft.topic is not None:
        draft.drop(draft.topic.results)
        return _text_content(draft.topic)
    if quoted and len(quoted) == len(words):
        return {"body": draft.value(_only(quoted, roles).value)}
    if chosen:
        draft.drop(chosen)
        return {"json": chosen}
    if words and not _is_resource(words, roles):
        raise CannotPlan(
            f"{said(words)!r} in {str(roles.clause)!r} is not the result of an earlier step"
        )
    return _earlier(roles, draft) if _points(roles) else {}


def _spelled(
    roles: Roles, pairs: dict[str, Any], sources: list[bool], address: Address, draft: Draft
) -> dict[str, Any]:
    """Return the body that words spell out, and which resource it is for."""
    change = read_change(roles, address)
    if change.body and sum(sources) > bool(pairs):
        raise CannotPlan(f"{str(roles.clause)!r} does not say clearly what to send")
    if change.body and roles.method == "DELETE":
        raise CannotPlan(f"{', '.join(change.body)!r}: a delete request has no body")
    if roles.documents:
        return {"change": change, "json": _document(_only(roles.documents, roles), draft)}
    if roles.files:
        return {"change": change, **_file_content(str(_only(roles.files, roles).value), draft)}
    body = pairs | change.body
    return {"change": change} | ({"json": inputs_of(body, draft)} if body else {})


def _document(value: Any, draft: Draft) -> Any:
    """Return JSON of the task as it is, but for secrets: these become inputs."""
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
    content = Topic(reference=f"${{{read['id']}.content}}", form=DataForm.TEXT, origin=name)
    return _text_content(content)


def _text_content(topic: Topic) -> dict[str, Any]:
    extension = topic.origin.lower().rpartition(".")[2]
    types = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
    content_type = types.get(extension, "text/plain; charset=utf-8")
    return {"body": topic.reference, "headers": {"Content-Type": content_type}}


def _points(roles: Roles) -> bool:
    words = {token.word for token in roles.clause.tokens}
    return roles.verb != "delete" and bool(words & (GENERIC - {"one", "ones", "page", "file"}))


def _earlier(roles: Roles, draft: Draft) -> dict[str, Any]:
    if not draft.results:
        raise CannotPlan(f"{str(roles.clause)!r}: there is nothing to send yet")
    results = dict(draft.results)
    draft.drop(results)
    topic = draft.topic
    if len(results) > 1 or topic is None or topic.form is DataForm.VALUE:
        return {"json": results}
    if topic.reference.endswith((".content}", ".stdout}")) or topic.form is DataForm.TEXT:
        return _text_content(topic)
    return {"json": topic.reference}


def _chosen(words: list[TaskToken], draft: Draft) -> dict[str, Any]:
    try:
        wants = read_wants(words, frozenset(), collection=False)
    except CannotPlan:
        return {}
    found = {want.name: draft.known.get(want.name) for want in wants}
    return {} if None in found.values() else found


def _is_resource(words: list[TaskToken], roles: Roles) -> bool:
    """True if words only name what is behind the URL: "create a user at …/users"."""
    plain = (GENERIC | {"new"}).union(*(singulars(token.value) for token in roles.urls))
    return all(token.word and singular(token.word) in plain for token in words)


def _only(values: list[Any], roles: Roles) -> Any:
    if len(values) > 1:
        raise CannotPlan(f"{str(roles.clause)!r} names several things to send")
    return values[0]
