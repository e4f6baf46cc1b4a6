"""URLs of a task as templates: what is an id in one becomes an input of the workflow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from runtrue.planner.built_in.draft import Draft, literal
from runtrue.planner.words import is_plural, name_of, singular, word_set
from runtrue.workflow import redact_by_name

_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)\}")
#: Words where an id could be, and that are none.
_NO_IDS = word_set(
    "me self all new latest current search find count stats status recent popular random top "
    "list query info export"
)
#: Those of them that say which entries of the list before them: `/alerts/active`.
_PARTS = word_set(
    "active all archived closed featured find list mine open pending popular public query recent "
    "search top trending upcoming"
)
#: `:name`, as the routes of many servers are written.
_ROUTE_NAME = re.compile(r"\A:([A-Za-z_][\w-]*)(?=\.|\Z)")
_VARIABLE = re.compile(r"\$(?:([A-Z_][A-Z0-9_]*)|\{(?:env\.)?([A-Z_][A-Z0-9_]*)\})")
#: Names of secrets beside those that are secrets anywhere.
_SECRET = re.compile(r"(?:^|[_-])(?:key|sig|signature|pass)$")
_NO_SECRET = re.compile(r"(?:sort|cache|idempotency|foreign|primary|public|partition)[_-]?key$")


@dataclass(frozen=True, slots=True)
class Address:
    """A URL as a template, its query, and the names of the resource behind it."""

    url: str
    query: dict[str, Any]
    #: The words that a task may use for the resource, in the singular.
    nouns: frozenset[str]
    #: Those of them that are words for the whole of it.
    own: frozenset[str]
    #: True if the resource should be a list.
    collection: bool
    #: The parts of basic authentication, if the URL has them.
    auth: dict[str, Any]


def read_url(url: str, draft: Draft) -> Address:
    """Make inputs of the ids and the query values in a URL, and references of `{name}`."""
    whole, _, fragment = url.partition("#")
    base, _, query = whole.partition("?")
    scheme, _, rest = base.partition("://")
    host, *segments = rest.split("/")
    segments = [_ROUTE_NAME.sub(r"{\1}", segment) for segment in segments]
    userinfo, _, host = host.rpartition("@")
    made = [f"{scheme}://{_filled(host, draft)}"]
    nouns: set[str] = set()
    own: set[str] = set()
    collection = False
    for at, segment in enumerate(segments):
        before = segments[at - 1] if at else ""
        if _is_id(segment, before):
            made.append(draft.input(_name(before), segment))
            nouns |= {segment.lower(), singular(before.lower())} - {""}
            own, collection = _resource(before), False
            continue
        made.append(_filled(segment, draft))
        if segment and not _PLACEHOLDER.search(segment):
            words = name_of([segment.rpartition(".")[0] or segment], "-").split("-")
            nouns |= set(map(singular, words))
            collection = is_plural(words[-1])
            own = {words[-1]} if collection else set()
            if segment.lower() in _PARTS and (listed := _listed(segments[:at])):
                own, collection = {listed}, True
        elif segment:
            own, collection = _resource(before), False
    filled = "/".join(made) + (f"#{literal(fragment)}" if fragment else "")
    hostname = urlsplit(url).hostname or ""
    return Address(
        url=filled,
        query=_query(query, draft),
        nouns=frozenset(nouns.union(hostname.split("."))),
        own=frozenset(own),
        collection=collection,
        auth=_auth(userinfo, draft) if userinfo else {},
    )


def _listed(segments: list[str]) -> str:
    """Return the plural that a list is of: `/recipes/v2/search` is of recipes."""
    named = [one for one in segments if one and not re.fullmatch(r"v\d+(\.\d+)?", one)]
    last = named[-1].lower() if named else ""
    return last if is_plural(last) and last.isalpha() else ""


def _resource(before: str) -> set[str]:
    """Return the word for `/users/5`: a user. Behind `/price/5` there may be anything."""
    return {singular(before.lower())} if is_plural(before.lower()) else set()


def _auth(userinfo: str, draft: Draft) -> dict[str, Any]:
    name, _, password = userinfo.partition(":")
    auth = {"type": "basic", "username": _credential("username", name, draft)}
    return auth | ({"password": _credential("password", password, draft)} if password else {})


def _credential(name: str, text: str, draft: Draft) -> str:
    if variable := _variable(text):
        return variable
    if _PLACEHOLDER.search(text):
        return _filled(text, draft)
    return draft.input(name, unquote(text), secret=is_secret(name))


def _variable(text: str) -> str | None:
    found = _VARIABLE.fullmatch(text)
    return f"${{env.{found[1] or found[2]}}}" if found else None


def _is_id(segment: str, before: str) -> bool:
    if not segment or "{" in segment or "$" in segment:
        return False
    of_many = re.fullmatch(r"[A-Za-z_-]+", before) and is_plural(before.lower())
    if segment.lower() in _PARTS:
        return False
    is_number = re.fullmatch(r"\d+", segment) is not None
    return is_number or (bool(of_many) and segment.lower() not in _NO_IDS)


def _name(before: str) -> str:
    words = before.lower()
    return singular(words) if re.fullmatch(r"[a-z][a-z_-]*", words) else "id"


def _query(text: str, draft: Draft) -> dict[str, Any]:
    query: dict[str, Any] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        if variable := _variable(value):
            made = variable
        elif "{" in value or "$" in value or not key.isascii():
            made = _filled(value, draft)
        else:
            made = draft.input(key, value, secret=is_secret(key))
        before = query.get(key, [])
        repeated = [*(before if isinstance(before, list) else [before]), made]
        query[key] = repeated if key in query else made
    return query


def is_secret(name: str) -> bool:
    """True if a name says that its value does not belong in a file."""
    folded = name.lower()
    is_key = _SECRET.search(folded) and not _NO_SECRET.search(folded)
    return bool(is_key or redact_by_name({name: ""})[name])


def inputs_of(pairs: dict[str, Any], draft: Draft) -> dict[str, Any]:
    """Return values by name, each as an input that has it as its default."""
    return {
        key: draft.input(key, value, secret=is_secret(key))
        if isinstance(value, str | int | float)
        else draft.value(value)
        for key, value in pairs.items()
    }


def _filled(text: str, draft: Draft) -> str:
    parts = _PLACEHOLDER.split(text)
    made = ""
    for at, part in enumerate(parts):
        if at % 2 == 0:
            made += literal(part)
        else:
            # A `$` before a reference would make it literal; in a URL it is `%24`.
            made = made[:-1] + "%24" if made.endswith("$") else made
            made += _reference(part, draft)
    return made


def _reference(name: str, draft: Draft) -> str:
    """Return a reference for `{name}`: to a value taken before, one of the task, or an input."""
    if "." in name:
        from runtrue.planner.built_in.chains import value_for

        return value_for(name, draft) or draft.missing(
            name_of([name]), f"the value for {{{name}}} in the URL"
        )
    key = name_of([name])
    if key in draft.known:
        # It was only wanted for this.
        draft.drop([key])
        return draft.known[key]
    for given, value in draft.pairs.items():
        if name_of([given]) == key:
            draft.used.add(given)
            if name in draft.inputs:
                return f"${{{name}}}"
            return draft.input(name, value, secret=is_secret(name))
    from runtrue.planner.built_in.chains import value_for

    return value_for(name, draft) or draft.missing(name, f"the value for {{{name}}} in the URL")
