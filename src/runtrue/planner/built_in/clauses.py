"""Clauses: which part of a clause is the source, which the destination, and what is left."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from runtrue.planner.built_in.draft import CannotPlan
from runtrue.planner.task import Clause, TaskToken, TokenType, Variable
from runtrue.planner.words import (
    ASK,
    DETERMINERS,
    FETCH,
    MODEL,
    RUN,
    SAVE,
    SEND,
    SHOW,
    TAKE,
    singular,
    singulars,
    word_set,
)

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_METHOD_OF = {"post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE"}
_METHOD_OF |= dict.fromkeys(word_set("send submit create upload login register insert"), "POST")
_METHOD_OF |= dict.fromkeys(word_set("update modify edit set"), "PATCH") | {"replace": "PUT"}
#: Verbs for lists and files that change something behind a URL, by the word before it.
_CHANGES = {"add": ("POST", {"to", "into", "at", "in"}), "remove": ("DELETE", {"from", "at", ""})}

#: Verbs that make a new entry where "new" is said.
_MAKING = word_set("file raise log make book schedule start draft place")

_OVER = DETERMINERS | {"file", "files", "url", "page", "endpoint", "address", "command", "api"}
_OVER |= {"named", "called", "json", "website", "site", "json:", "resource"}
_TO = frozenset({"to", "as", "into", "onto", "in", "under", "at"})
_FROM = frozenset({"from", "of", "in", "at", "on", "with", "out", "behind", "via"})
_WITH = frozenset({"with", "using", "and", ",", "by", "setting", "having", "containing", "where"})
_BODY = frozenset({"body", "payload", "data", "json", "fields", "field", "values", "value"})
_QUERY = frozenset({"query", "parameter", "parameters", "params", "param"})
_HEADER = frozenset({"header", "headers"})
_TOKEN = frozenset({"token", "bearer", "auth", "authorization", "access", "authentication"})
_JOINING = frozenset({"", "and", ",", "&", "or"})
_ANSWER = word_set("output outputs result response content contents")
_ENVIRONMENT = frozenset({"env", "environment", "variable", "from", "in", "called", "named"})

_CONDITIONS = word_set(
    "if unless when whenever until while otherwise else except excluding without not don't "
    "never daily hourly weekly monthly nightly schedule scheduled periodically repeatedly cron"
)
#: Words that begin a question: to ask whether is not to say so.
_ASKING = word_set(
    "is are was were am does did will would should shall can could may might must has have had "
    "why when where who which whether"
)
#: Names of headers that need no word "header".
_HEADER_NAME = re.compile(r"(?i)authorization|cookie|accept|content-type|user-agent|x-.+")
#: A value of Authorization with a variable in it.
_SCHEME = re.compile(r"(\w+)\s+\$\{?([A-Za-z_]\w*)\}?")
_AUTHENTICATING = word_set("authenticate auth authorize authorise token key bearer")
_CREDENTIAL = _AUTHENTICATING | word_set("use using with my the api is in as access from env a to")
#: A header as it is written, name and value.
HEADER_TEXT = re.compile(r"([A-Za-z][\w-]*):\s*(\S.*)")
_RHYTHMS = word_set("daily hourly weekly monthly")
#: Words after "hourly" where it says when, and not which.
_AFTER_RHYTHM = word_set("and then at from to into in on for please until starting beginning")
_TIMES = word_set("day hour minute second week month year morning night evening time")


@dataclass(slots=True)
class Roles:
    """A clause split into roles; `what` has the words that are left: what is wanted, or done."""

    clause: Clause
    verb: str
    urls: list[TaskToken] = field(default_factory=list)
    files: list[TaskToken] = field(default_factory=list)
    commands: list[TaskToken] = field(default_factory=list)
    destination: TaskToken | None = None
    append: bool = False
    method: str = ""
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)
    #: True once the clause says "header": pairs that follow are more of them.
    names_headers: bool = False
    documents: list[Any] = field(default_factory=list)
    token: Variable | None = None
    key: Variable | None = None
    what: list[TaskToken] = field(default_factory=list)
    #: The directory to run a command in.
    directory: TaskToken | None = None
    #: True if a preposition joins the source to the words before it: "the name of …".
    joined: bool = False
    #: How many words of `what` come before the source; those after it say something else.
    before: int | None = None

    @property
    def after(self) -> list[TaskToken]:
        """The words that follow the source of the clause."""
        return [] if self.before is None else self.what[self.before :]

    @property
    def sends(self) -> bool:
        """True if the clause is to change something behind a URL."""
        return self.method not in ("", "GET", "HEAD", "OPTIONS")


def read_roles(clause: Clause) -> Roles:
    """Find the role of each token. Raises CannotPlan where no workflow could do it."""
    roles = Roles(clause, clause.verb, method=_METHOD_OF.get(clause.verb, ""))
    tokens = clause.tokens
    if clause.verb == "how" and tokens and tokens[0].word == "much":
        # "how much did I spend" asks for a sum.
        sums = {"i", "we"} & {token.word for token in tokens[1:4]}
        roles.verb, tokens = ("sum" if sums else "what"), tokens[1:]
    roles.method = roles.method or _changing(clause)
    if not roles.method and _makes_new(clause):
        roles.method = "POST"
        if not clause.verb:
            tokens = tokens[1:]
    if not roles.method and not METHODS & {token.text for token in tokens}:
        tokens = tuple(_without_labels(tokens))
    for token in _placed_variables(tokens):
        _ROLE_OF.get(token.type, _plain)(token, roles)
    if roles.sends or roles.commands:
        _refuse_questions(roles)
    if roles.sends and not clause.verb:
        _drop_verb(roles)
    if roles.method and not roles.urls and clause.verb not in SEND:
        raise CannotPlan(f"{str(clause)!r} does not say which URL the {roles.method} is for")
    if not roles.sends:
        # Pairs for something that only reads are the query.
        roles.query |= roles.body
        roles.body = {}
    return roles


def _without_labels(tokens: tuple[TaskToken, ...]) -> Iterator[TaskToken]:
    """Yield "in Graz: ref" as words: what is read gets a pair only after "with" and the like."""
    for at, token in enumerate(tokens):
        before = tokens[at - 1].word if at else ""
        is_label = token.type is TokenType.PAIR and re.match(r"[\w.-]+:\s", token.text) is not None
        is_word = isinstance(token.value, str) and token.text.endswith(token.value)
        named = before in _WITH | _QUERY | _HEADER | _BODY or _HEADER_NAME.fullmatch(token.key)
        if not is_label or not is_word or named or "$" in token.text or "://" in token.text:
            yield token
            continue
        yield TaskToken(TokenType.WORD, token.key, token.key)
        yield TaskToken(TokenType.MARK, ",", ",")
        yield TaskToken(TokenType.WORD, str(token.value), token.value)


def lone_credential(clause: Clause) -> tuple[str, Variable] | None:
    """Return the param and the variable of "authenticate with $TOKEN", where that is all."""
    variables = [t for t in clause.tokens if t.type is TokenType.VARIABLE]
    others = [t for t in clause.tokens if t.type is not TokenType.VARIABLE]
    words = {clause.verb, *(t.word for t in others)} - {""}
    if len(variables) != 1 or not words <= _CREDENTIAL or not words & _AUTHENTICATING:
        return None
    return ("api_key" if "key" in words else "auth_token"), variables[0].value


def _placed_variables(tokens: tuple[TaskToken, ...]) -> Iterator[TaskToken]:
    """Yield the tokens with "$KEY as the query parameter key" as a parameter, or as a header."""
    at = 0
    while at < len(tokens):
        placed = _placed(tokens, at) if tokens[at].type is TokenType.VARIABLE else None
        if placed is None and (named := _named_header(tokens, at)) is not None:
            yield TaskToken(TokenType.WORD, "header")
            yield named[0]
            at = named[1]
            continue
        if placed is None:
            yield tokens[at]
            at += 1
            continue
        role, name, at_end = placed
        variable = tokens[at]
        yield TaskToken(TokenType.WORD, role)
        yield TaskToken(TokenType.PAIR, variable.text, variable.value, key=name)
        at = at_end


def _named_header(tokens: tuple[TaskToken, ...], at: int) -> tuple[TaskToken, int] | None:
    """Read "header X-Key is in $KEY" and "X-Key from $KEY"; return the pair and where it ends."""
    named = tokens[at].word in _HEADER
    n = at + named
    if n >= len(tokens) or tokens[n].type is not TokenType.WORD:
        return None
    if not named and not re.fullmatch(r"(?i)x-.+", tokens[n].text):
        return None
    end = n + 1
    while end < len(tokens) and tokens[end].word in {"is", "in", "from", "with", "=", "of", ":"}:
        end += 1
    if end == n + 1 or end >= len(tokens) or tokens[end].type is not TokenType.VARIABLE:
        return None
    variable = tokens[end]
    return TaskToken(TokenType.PAIR, variable.text, variable.value, key=tokens[n].text), end + 1


def _placed(tokens: tuple[TaskToken, ...], at: int) -> tuple[str, str, int] | None:
    words = [token.word for token in tokens]
    if words[at + 1 : at + 2] not in (["as"], ["in"]):
        return None
    n, role = at + 2, ""
    while n < len(tokens) and words[n] in DETERMINERS | _QUERY | _HEADER | {"named", "called"}:
        role = "header" if words[n] in _HEADER else "query" if words[n] in _QUERY else role
        n += 1
    if n >= len(tokens) or tokens[n].type is not TokenType.WORD:
        return None
    after = words[n + 1] if n + 1 < len(tokens) else ""
    if not role and after in _HEADER | _QUERY:
        return ("header" if after in _HEADER else "query"), tokens[n].text, n + 2
    if not role and not _HEADER_NAME.fullmatch(tokens[n].text):
        return None
    return role or "header", tokens[n].text, n + 1


def _changing(clause: Clause) -> str:
    """Return the method of "add … to URL", "remove … from URL" and "change … at URL to …"."""
    words = [token.word for token in clause.tokens]
    places = [at for at, token in enumerate(clause.tokens) if token.type is TokenType.URL]
    if len(places) != 1:
        return ""
    before = words[places[0] - 1] if places[0] else ""
    method, prepositions = _CHANGES.get(clause.verb, ("", set()))
    if method and before in prepositions:
        return method
    return "PATCH" if clause.verb == "change" and "to" in words[places[0] :] else ""


def _makes_new(clause: Clause) -> bool:
    """True for "open a new ticket at …/tickets": the verb makes what the URL is a list of."""
    words = [token.word for token in clause.tokens]
    words = words if clause.verb else words[1:]
    urls = [str(token.value) for token in clause.tokens if token.type is TokenType.URL]
    made = words[1:3] if words[:1] in (["a"], ["an"]) else words[:2]
    makes = clause.verb == "open" or (not clause.verb and clause.tokens[0].word in _MAKING)
    return makes and len(urls) == 1 and made[:1] == ["new"] and made[-1] in singulars(urls[0])


def _drop_verb(roles: Roles) -> None:
    """Drop a verb of the task's own beside a method: "cancel booking 12 at … (DELETE)"."""
    own = set().union(*(singulars(str(token.value)) for token in roles.urls))
    first, *rest = [token.word for token in roles.what[:2]] or [""]
    if first and singular(first) not in own and rest and singular(rest[0]) in own:
        del roles.what[0]


def _refuse_questions(roles: Roles) -> None:
    clause = roles.clause
    asks = not clause.verb and (clause.is_question or clause.tokens[0].word in _ASKING)
    known = SEND | FETCH | RUN | ASK | _CHANGES.keys() | {"", "change"}
    if asks or (roles.sends and clause.verb not in known):
        raise CannotPlan(f"{str(clause)!r} mentions something but does not say what to do")


def refuse_conditions(clause: Clause) -> None:
    """Refuse what a straight line of steps cannot do."""
    words = [token.word for token in clause.tokens]
    if clause.verb in MODEL:
        raise CannotPlan(f"{str(clause)!r} needs a language model")
    for at, word in enumerate([clause.verb, *words]):
        if word == "how" and words[at : at + 1] not in (["many"], ["much"]):
            raise CannotPlan(f"{str(clause)!r} asks how to do something; say what to do")
    for at, word in enumerate(words):
        following = words[at + 1 : at + 3]
        on_time = word in {"every", "each"} and bool(_TIMES & {w.rstrip("s") for w in following})
        is_unique = following[:1] == ["duplicates"]
        if (
            word in _CONDITIONS and not _describes_entries(at, clause) and not is_unique
        ) or on_time:
            part = " ".join(token.text for token in clause.tokens[at:])
            raise CannotPlan(f"{part!r}: conditions, exceptions and schedules are not supported")


def _describes_entries(at: int, clause: Clause) -> bool:
    """True for "that are not open" and "hourly temperatures": they say which, and not when."""
    words = [token.word for token in clause.tokens]
    asks = set(words[:at]) <= {"me", "us"} and clause.verb in FETCH | TAKE | SHOW | {""}
    if words[at] == "when" and asks:
        return True  # "tell me when it was sent" asks for a date.
    follows = at + 1 < len(words) and clause.tokens[at + 1].type is TokenType.WORD
    reads = clause.verb in FETCH | TAKE | SHOW | {"count", ""}
    before = words[at - 1] if at else ""
    if words[at] == "without":
        return reads and follows and bool(before)
    if words[at] == "not":
        return reads and follows and before in {"are", "is", "that", "who"}
    return reads and follows and words[at] in _RHYTHMS and words[at + 1] not in _AFTER_RHYTHM


def _source(token: TaskToken, roles: Roles) -> None:
    before = roles.what[-1].word if roles.what else ""
    if roles.sends and roles.urls and before not in _FROM | _TO | _JOINING:
        roles.what.append(token)  # "url https://…" is a value that is sent.
        return
    _pop(roles, _OVER)
    before_url = _FROM | _TO | {"for", "according"}
    roles.joined = bool(_pop(roles, before_url, most=2))
    before_answer = roles.what[-2].word if len(roles.what) > 1 else ""
    if before_answer not in {"and", ",", "&", "their", "its"}:
        _pop(roles, _ANSWER | {"of", "the", "in", "from"})
    (roles.urls if token.type is TokenType.URL else roles.commands).append(token)
    roles.before = len(roles.what)


def _file(token: TaskToken, roles: Roles) -> None:
    _pop(roles, _OVER)
    before = roles.what[-1].word if roles.what else ""
    is_written = before in {"as", "to", "into", "onto"} or (roles.verb in SAVE and before in _TO)
    joins = before in {"", "and", ",", "&", "or", "plus"}
    if roles.destination is not None and (joins or is_written):
        raise CannotPlan(f"{str(roles.clause)!r} names two files to write")
    if is_written:
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


def _pair(token: TaskToken, roles: Roles) -> None:
    if any(t.word == "where" for t in roles.what):
        roles.what.append(token)
        return
    role = _pop(roles, _WITH | DETERMINERS | _BODY | _QUERY | _HEADER | {"for"})
    goes_on = not role - {"and", ","}
    roles.names_headers |= bool(role & _HEADER)
    if isinstance(token.value, str) and (scheme := _SCHEME.fullmatch(token.value)):
        if scheme[1].lower() != "bearer":
            raise CannotPlan(f"{token.text!r}: a variable must be the whole header value here")
        _pop(roles, {"and", ","})
        roles.token = Variable(scheme[2])
        return
    goes_on_so = roles.names_headers and goes_on and not roles.body
    if role & _HEADER or goes_on_so or _HEADER_NAME.fullmatch(token.key):
        roles.headers[token.key] = token.value
    elif role & _QUERY or (roles.query and goes_on):
        roles.query[token.key] = token.value
    else:
        roles.body[token.key] = token.value


def _document(token: TaskToken, roles: Roles) -> None:
    _pop(roles, _WITH | DETERMINERS | _BODY | {"as", "of"})
    roles.documents.append(token.value)


def _variable(token: TaskToken, roles: Roles) -> None:
    before = roles.what[-1].word if roles.what else ""
    if roles.sends and before and before not in _ENVIRONMENT | _TOKEN | _WITH | {"key", "api"}:
        roles.what.append(token)  # "password $NAME" is a value that is sent.
        return
    role = _pop(roles, _ENVIRONMENT | _TOKEN | DETERMINERS | {"key", "api"})
    _pop(roles, {"with", "using", "and", ","})
    if role & _TOKEN or "key" not in role:
        roles.token = token.value
    else:
        roles.key = token.value


def _quoted(token: TaskToken, roles: Roles) -> None:
    before = roles.what[-1].word if roles.what else ""
    header = HEADER_TEXT.fullmatch(token.value)
    if header and (before in _HEADER or (roles.headers and before in {"and", ","})):
        _pair(TaskToken(TokenType.PAIR, token.text, header[2], key=header[1]), roles)
        return
    writes = roles.verb in SAVE | SEND and not roles.what
    (_file if token.is_file and not writes else _plain)(token, roles)


def _word(token: TaskToken, roles: Roles) -> None:
    variable = roles.what and roles.what[-1].word in {"env", "variable"}
    if variable and token.text.isupper():
        _variable(TaskToken(TokenType.VARIABLE, token.text, Variable(token.text)), roles)
    elif token.text in METHODS and (not roles.method or roles.verb in {"send", "submit"}):
        _pop(roles, DETERMINERS | {"with", "as", "via", "using", "make", "do", "perform", "issue"})
        roles.method = token.text
    elif token.word in {"request", "method"} and roles.method:
        return
    else:
        roles.what.append(token)


def _plain(token: TaskToken, roles: Roles) -> None:
    roles.what.append(token)


_ROLE_OF = {
    **{"url": _source, "command": _source, "file": _file, "text": _quoted},
    **{"pair": _pair, "json": _document, "variable": _variable, "word": _word},
}


def said(tokens: list[TaskToken]) -> str:
    """Return tokens as they were written."""
    return " ".join(token.text for token in tokens)


def _pop(roles: Roles, words: Container[str], most: int = 100) -> set[str]:
    popped: set[str] = set()
    while roles.what and most and roles.what[-1].word in words:
        popped.add(roles.what.pop().word)
        most -= 1
    return popped
