"""The params of an `http` node, and what can be wrong with them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard
from urllib.parse import urlsplit

from msgspec import UNSET, Meta, UnsetType

from runtrue.workflow.node import Pointer
from runtrue.workflow.secrets import is_secret_name

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")
#: Methods that only look.
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: Methods that can be sent again when nobody knows whether the first one arrived.
IDEMPOTENT = SAFE | {"PUT", "DELETE"}

Scalar: TypeAlias = str | int | float | bool | None

#: The parts that each type of `auth` needs, and those that it may have.
AUTH_PARTS = {
    "bearer": (("token",), ()),
    "basic": (("username",), ("password",)),
    "api_key": (("key",), ("header",)),
}
#: The parts of `auth` that are secrets.
AUTH_SECRETS = ("token", "password", "key")

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_CONTROL_OR_TAB = re.compile(r"[\x00-\x1f\x7f]")
_NO_HOST_CHARACTER = re.compile(r"""[\s"<>\\^`{|}]""")
#: Of the labels that a host name consists of.
_LONGEST = 63
#: Words before `key` that make it one of data.
_HARMLESS_KEYS = frozenset(
    {"cache", "foreign", "idempotency", "partition", "primary", "public", "routing", "sort"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """How a request authenticates itself."""

    type: Literal["bearer", "basic", "api_key"]
    token: str | None = None
    username: str | None = None
    password: str | None = None
    key: str | None = None
    header: str | None = None

    def __post_init__(self) -> None:
        names = (field.name for field in fields(self))
        problem = auth_problem({name: getattr(self, name) for name in names})
        if problem:
            raise ValueError(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpParams:
    """The params of an `http` node."""

    url: Annotated[str, Meta(description="Where to send the request; http or https.")]
    method: Annotated[
        str | None,
        Meta(description=f"One of {', '.join(METHODS)}; GET, or POST when there is a body."),
    ] = None
    params: Annotated[
        dict[str, Scalar | list[Scalar]] | None,
        Meta(description="The query; a list repeats its name, null leaves the name out."),
    ] = None
    headers: Annotated[
        dict[str, Scalar] | None, Meta(description="Headers; null leaves one out.")
    ] = None
    body: Annotated[
        dict[str, Any] | list[Any] | str | None,
        Meta(
            description="What to send: text as it is, an object or a list as JSON; an object as a "
            "form when the content type is application/x-www-form-urlencoded."
        ),
    ] = None
    json: Annotated[
        Any | UnsetType, Meta(description="Any value, sent as JSON; cannot be combined with body.")
    ] = UNSET
    timeout: Annotated[
        float, Meta(gt=0, description="Time limit in seconds, including redirects and retries.")
    ] = 30.0
    auth_token: Annotated[str | None, Meta(description="A bearer token.")] = None
    api_key: Annotated[str | None, Meta(description="A key, sent in api_key_header.")] = None
    api_key_header: Annotated[str, Meta(description="The header for api_key.")] = "X-API-Key"
    auth: Annotated[
        Auth | None,
        Meta(
            description="{type: bearer, token}, {type: basic, username, password} or "
            "{type: api_key, key, header}."
        ),
    ] = None
    follow_redirects: Annotated[
        bool,
        Meta(description="Follow up to 10 redirects; no credentials go to another origin."),
    ] = True
    retries: Annotated[
        int,
        Meta(
            ge=0,
            le=10,
            description="How often to try again when the connection failed; never after an "
            "answer, and never with POST or PATCH.",
        ),
    ] = 2
    max_bytes: Annotated[int, Meta(gt=0, description="The largest response to accept.")] = (
        10_000_000
    )
    extract: Annotated[
        dict[str, str] | None,
        Meta(description="What to pick out of a JSON response: names and paths ($.items[0].id)."),
    ] = None
    verify: Annotated[bool, Meta(description="Check the server's certificate.")] = True
    idempotency_key: Annotated[
        bool | str | None,
        Meta(
            description="A text by which the server knows a repeated request again, or true for "
            "one that runtrue makes: a request that was cut off is then sent again unasked."
        ),
    ] = None
    idempotency_header: Annotated[str, Meta(description="The header for idempotency_key.")] = (
        "Idempotency-Key"
    )

    def __post_init__(self) -> None:
        names = ("body", "auth_token", "api_key", "auth")
        given = {name for name in names if getattr(self, name) is not None}
        for _, problem in conflicts(given if self.json is UNSET else {*given, "json"}):
            raise ValueError(problem)


def written_problems(params: Mapping[str, Any]) -> Iterator[tuple[Pointer, str]]:
    """Yield what is wrong with params as written; references are not looked into."""
    given = {name for name in params if params[name] is not None or name == "json"}
    for name, problem in conflicts(given):
        yield (name,), problem
    method, url = params.get("method"), params.get("url")
    if _is_literal(method) and method.upper() not in METHODS:
        yield ("method",), f"{method!r} is not one of: {', '.join(METHODS)}"
    if _is_literal(url) and (wrong := url_problem(url)):
        yield ("url",), f"no request can be sent there: {wrong}"
    auth, headers = params.get("auth"), params.get("headers")
    if isinstance(auth, dict) and (wrong := auth_problem(auth)):
        yield ("auth",), wrong
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if wrong := header_problem(name, value if _is_literal(value) else ""):
            yield ("headers", name), wrong
    header, key = params.get("idempotency_header"), params.get("idempotency_key")
    if _is_literal(header) and (wrong := header_problem(header, "")):
        yield ("idempotency_header",), wrong
    if _is_literal(key) and (wrong := key_problem(key)):
        yield ("idempotency_key",), wrong


def _is_literal(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and "${" not in value


def conflicts(given: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield params that exclude an earlier one, with a sentence."""
    ways = [name for name in ("auth_token", "api_key", "auth") if name in given]
    for name in ways[1:]:
        yield name, f"{ways[0]} and {name} cannot be combined: a request has one authentication"
    if "body" in given and "json" in given:
        yield "json", "body and json cannot be combined: a request has one body"


def auth_problem(auth: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the parts of an `auth`, where null is a missing part."""
    scheme = auth.get("type")
    if scheme not in AUTH_PARTS:
        return None  # the schema refuses it, or only the run can
    needed, optional = AUTH_PARTS[scheme]
    given = {name for name, value in auth.items() if value is not None} - {"type"}
    for name in needed:
        if name not in given:
            return f"auth of type {scheme} needs {name!r}"
    for name in sorted(given - {*needed, *optional}):
        return f"auth of type {scheme} has no {name!r}; it takes: {', '.join((*needed, *optional))}"
    return None


def url_problem(url: str) -> str | None:
    """Return what is wrong with a URL, as far as it shows without asking its host."""
    bad = _CONTROL_OR_TAB.search(url)
    if bad:
        return f"it has a control character ({bad[0]!r}) at character {bad.start() + 1}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "its host or port cannot be read"
    if parts.scheme not in ("http", "https"):
        return "it must begin with http:// or https://"
    host = parts.hostname or ""
    if not host:
        return "it has no host"
    labels = map(len, host.removesuffix(".").split("."))
    if _NO_HOST_CHARACTER.search(host) or port == 0 or not all(0 < n <= _LONGEST for n in labels):
        return "its host or port cannot be one"
    return None


def header_problem(name: str, value: str) -> str | None:
    """Return what is wrong with a header, without its value, which may be a secret."""
    if not _TOKEN.fullmatch(name):
        return f"{name!r} cannot be the name of a header"
    if name.lower() in ("content-length", "transfer-encoding"):
        return f"the header {name!r} comes with the body; leave it out"
    if _CONTROL.search(value.strip()):
        return f"the header {name!r} has a control character or line break in its value"
    return None


def key_problem(key: str) -> str | None:
    """Return what is wrong with an idempotency key."""
    if not key.strip():
        return "the idempotency key is empty: give a text that only this request has, or true"
    return header_problem("Idempotency-Key", key)


def is_secret_header(name: str) -> bool:
    """True if a header carries a secret, as a `…-Key` or `…-Signature` does."""
    words = re.split(r"[^a-z]+", name.lower())
    if words[-1] in ("sig", "signature"):
        return True
    return is_secret_name(name) or (words[-1] == "key" and _HARMLESS_KEYS.isdisjoint(words))


def as_text(value: Scalar) -> str:
    """Return a value as queries, forms and headers spell it."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
