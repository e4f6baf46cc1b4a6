"""Clauses: which part of a clause is the source, which the destination, and what is left of it."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from runtrue.planner.built_in.draft import CannotPlan
from runtrue.planner.built_in.words import DETERMINERS
from runtrue.planner.task import Clause
from runtrue.planner.tokens import Kind, Token, Variable
from runtrue.planner.verbs import ASK, FETCH, MODEL, RUN, SAVE, SEND, listed

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_METHOD_OF = {"post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE"}
_METHOD_OF |= {"send": "POST", "submit": "POST", "create": "POST", "upload": "POST"}

_OVER = DETERMINERS | {"file", "files", "url", "page", "endpoint", "address", "command", "api"}
_OVER |= {"named", "called", "json", "website", "site", "json:", "resource"}
_TO = frozenset({"to", "as", "into", "onto", "in", "under", "at"})
_FROM = frozenset({"from", "of", "in", "at", "on", "with", "out", "behind", "via"})
_WITH = frozenset({"with", "using", "and", ",", "by", "setting", "having", "containing", "where"})
_BODY = frozenset({"body", "payload", "data", "json", "fields", "field", "values", "value"})
_QUERY = frozenset({"query", "parameter", "parameters", "params", "param"})
_HEADER = frozenset({"header", "headers"})
_TOKEN = frozenset({"token", "bearer", "auth", "authorization", "access", "authentication"})
_ANSWER = listed("output outputs result response content contents")
_ENVIRONMENT = frozenset({"env", "environment", "variable", "from", "in", "called", "named"})

_CONDITIONS = listed(
    "if unless when whenever until while otherwise else except excluding without not don't "
    "never daily hourly weekly monthly nightly schedule scheduled periodically repeatedly cron"
)
#: What a question begins with: whoever asks whether does not say to.
_ASKING = listed(
    "is are was were am does did will would should shall can could may might must has have had "
    "why when where who which whether"
)
#: What is a header also where nobody says so.
_HEADER_NAME = re.compile(
    r"authorization|cookie|accept|content-type|user-agent|x-.+", re.IGNORECASE
)
#: A header as it is written, name and value.
HEADER_TEXT = re.compile(r"([A-Za-z][\w-]*):\s*(\S.*)")
_TIMES = listed("day hour minute second week month year morning night evening time")


@dataclass(slots=True)
class Roles:
    """A clause taken apart. `what` are the words that are left: what is wanted, or done."""

    clause: Clause
    verb: str
    urls: list[Token] = field(default_factory=list)
    files: list[Token] = field(default_factory=list)
    commands: list[Token] = field(default_factory=list)
    destination: Token | None = None
    append: bool = False
    method: str = ""
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)
    #: Whether the clause has said "header": pairs that follow are more of them.
    names_headers: bool = False
    documents: list[Any] = field(default_factory=list)
    token: Variable | None = None
    key: Variable | None = None
    what: list[Token] = field(default_factory=list)
    #: Where a command is to be run.
    directory: Token | None = None
    #: Whether a preposition joins the source to the words before it: "the name of …".
    joined: bool = False
    #: How many words of `what` stand before the source; those after it say something else.
    before: int | None = None

    @property
    def after(self) -> list[Token]:
        """The words that follow the source of the clause."""
        return [] if self.before is None else self.what[self.before :]

    @property
    def sends(self) -> bool:
        """Whether the clause is about changing something behind a URL."""
        return self.method not in ("", "GET", "HEAD", "OPTIONS")


def take_apart(clause: Clause) -> Roles:
    """Find the role of each token. Raises CannotPlan where no workflow could do it."""
    roles = Roles(clause, clause.verb, method=_METHOD_OF.get(clause.verb, ""))
    tokens = clause.tokens
    if clause.verb == "how" and tokens and tokens[0].word == "much":
        roles.verb, tokens = "what", tokens[1:]
    for token in tokens:
        _ROLE_OF.get(token.kind, _plain)(token, roles)
    if roles.sends or roles.commands:
        _refuse_questions(roles)
    if roles.method and not roles.urls and clause.verb not in SEND:
        raise CannotPlan(f"{str(clause)!r} does not say which URL the {roles.method} is for")
    if not roles.sends:
        # What is given by name to something that only reads is the query.
        roles.query |= roles.body
        roles.body = {}
    return roles


def _refuse_questions(roles: Roles) -> None:
    """What changes something must have been asked for: speaking of it is not enough."""
    clause = roles.clause
    asks = not clause.verb and (clause.is_question or clause.tokens[0].word in _ASKING)
    if asks or (roles.sends and clause.verb not in SEND | FETCH | RUN | ASK | {""}):
        raise CannotPlan(f"{str(clause)!r} speaks of something and does not say to do it")


def refuse_conditions(clause: Clause) -> None:
    """Raise CannotPlan for what a straight line of steps cannot do."""
    words = [token.word for token in clause.tokens]
    if clause.verb in MODEL:
        raise CannotPlan(f"{str(clause)!r} needs a language model")
    for at, word in enumerate([clause.verb, *words]):
        if word == "how" and words[at : at + 1] not in (["many"], ["much"]):
            raise CannotPlan(f"{str(clause)!r} asks how something is done; say what to do")
    for at, word in enumerate(words):
        following = words[at + 1 : at + 3]
        on_time = word in {"every", "each"} and bool(_TIMES & {w.rstrip("s") for w in following})
        if word in _CONDITIONS or on_time:
            part = " ".join(token.text for token in clause.tokens[at:])
            raise CannotPlan(f"{part!r}: conditions, exceptions and schedules are not planned")


def _source(token: Token, roles: Roles) -> None:
    _pop(roles, _OVER)
    roles.joined = bool(_pop(roles, _FROM | _TO, most=2))
    _pop(roles, _ANSWER | {"of", "the", "in", "from"})
    (roles.urls if token.kind is Kind.URL else roles.commands).append(token)
    roles.before = len(roles.what)


def _file(token: Token, roles: Roles) -> None:
    _pop(roles, _OVER)
    before = roles.what[-1].word if roles.what else ""
    saves = roles.verb in SAVE
    if roles.destination is not None and before in {"", "and", ",", "&", "or", "plus"}:
        raise CannotPlan(f"{str(roles.clause)!r} names two files to write")
    if before in {"as", "to", "into", "onto"} or (saves and before in _TO):
        if roles.destination is not None:
            raise CannotPlan(f"{str(roles.clause)!r} names two files to write")
        _pop(roles, _TO)
        if roles.what and roles.what[-1].word in SAVE | {"saved", "written", "stored"}:
            _pop(roles, SAVE | {"saved", "written", "stored", "and", ","})
        roles.destination = token
        roles.append = roles.verb in {"append", "add"}
        return
    if before == "in" and roles.commands and roles.directory is None:
        _pop(roles, {"in"})
        roles.directory = token
        return
    roles.joined = bool(_pop(roles, _FROM, most=2))
    _pop(roles, {"content", "contents", "text", "of", "the"})
    roles.files.append(token)
    roles.before = len(roles.what)


def _pair(token: Token, roles: Roles) -> None:
    words = {t.word for t in roles.what}
    if "where" in words:
        roles.what.append(token)
        return
    role = _pop(roles, _WITH | DETERMINERS | _BODY | _QUERY | _HEADER)
    goes_on = not role - {"and", ","}
    roles.names_headers |= bool(role & _HEADER)
    goes_on_so = roles.names_headers and goes_on and not roles.body
    if role & _HEADER or goes_on_so or _HEADER_NAME.fullmatch(token.key):
        roles.headers[token.key] = token.value
    elif role & _QUERY or (roles.query and goes_on):
        roles.query[token.key] = token.value
    else:
        roles.body[token.key] = token.value


def _document(token: Token, roles: Roles) -> None:
    _pop(roles, _WITH | DETERMINERS | _BODY | {"as", "of"})
    roles.documents.append(token.value)


def _variable(token: Token, roles: Roles) -> None:
    role = _pop(roles, _ENVIRONMENT | _TOKEN | DETERMINERS | {"key", "api"})
    _pop(roles, {"with", "using", "and", ","})
    if role & _TOKEN or "key" not in role:
        roles.token = token.value
    else:
        roles.key = token.value


def _quoted(token: Token, roles: Roles) -> None:
    before = roles.what[-1].word if roles.what else ""
    header = HEADER_TEXT.fullmatch(token.value)
    if header and (before in _HEADER or (roles.headers and before in {"and", ","})):
        _pair(Token(Kind.PAIR, token.text, header[2], key=header[1]), roles)
        return
    writes = roles.verb in SAVE | SEND and not roles.what
    (_file if token.is_file and not writes else _plain)(token, roles)


def _word(token: Token, roles: Roles) -> None:
    variable = roles.what and roles.what[-1].word in {"env", "variable"}
    if variable and token.text.isupper():
        _variable(Token(Kind.VARIABLE, token.text, Variable(token.text)), roles)
    elif token.text in METHODS and (not roles.method or roles.verb in {"send", "submit"}):
        _pop(roles, DETERMINERS | {"with", "as", "via", "using", "make", "do", "perform", "issue"})
        roles.method = token.text
    elif token.word in {"request", "method"} and roles.method:
        return
    else:
        roles.what.append(token)


def _plain(token: Token, roles: Roles) -> None:
    roles.what.append(token)


_ROLE_OF = {
    **{Kind.URL: _source, Kind.COMMAND: _source, Kind.FILE: _file, Kind.QUOTED: _quoted},
    **{Kind.PAIR: _pair, Kind.JSON: _document, Kind.VARIABLE: _variable, Kind.WORD: _word},
}


def said(tokens: list[Token]) -> str:
    """Tokens as they were written."""
    return " ".join(token.text for token in tokens)


def _pop(roles: Roles, words: Container[str], most: int = 100) -> set[str]:
    """Drop words from the end of what is left; the result is which."""
    popped: set[str] = set()
    while roles.what and most and roles.what[-1].word in words:
        popped.add(roles.what.pop().word)
        most -= 1
    return popped
