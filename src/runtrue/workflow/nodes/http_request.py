"""HTTP requests: what an `http` node sends, made from its params. Nothing is sent here."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus, urlencode

import msgspec

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.foreign_text import cut
from runtrue.loop import Fault
from runtrue.workflow.nodes.http_params import (
    METHODS,
    HttpParams,
    as_text,
    header_problem,
    is_secret_header,
    url_problem,
)

if TYPE_CHECKING:
    import httpx2

_FORM = "application/x-www-form-urlencoded"
#: What comes before the host of a URL, with a user in it.
USERINFO = re.compile(r"\A([^/?#]*//)[^/?#]*@")
_LONGEST_SHOWN = 200
#: Shorter ones are settings such as `dark`, which other texts may well hold.
_SHORTEST_COOKIE = 8


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that can be sent, and all texts in it that must appear nowhere else."""

    method: str
    url: httpx2.URL
    headers: list[tuple[bytes, bytes]]
    content: bytes | None
    secrets: tuple[str, ...]


def make_request(params: HttpParams) -> HttpRequest:
    """Return the request that the params ask for. Raises RuntimeValidationError."""
    headers = _Headers()
    for name, value in (params.headers or {}).items():
        if value is not None:
            headers.add(name, as_text(value), secret=is_secret_header(name))
    content, content_type = _content(params, headers)
    if content_type is not None and "content-type" not in headers:
        headers.add("Content-Type", content_type)
    url = _url(params)
    if url.userinfo:
        headers.authenticate("Authorization", _basic(headers, url.username, url.password))
        url = url.copy_with(username=None, password=None)
    _authenticate(params, headers)
    return HttpRequest(
        method=_method(params, content),
        url=url,
        headers=[(name.encode(), value) for name, value in headers.pairs],
        content=content,
        secrets=(*headers.secrets, *_secrets_in(url.query.decode())),
    )


def show_url(url: str) -> str:
    """Return a URL as messages show it: short, and without what may be a secret."""
    url, _, _ = USERINFO.sub(r"\1", url, count=1).partition("#")
    url, mark, query = url.partition("?")
    if mark:
        url = f"{url}?{'&'.join(map(_show_pair, query.split('&')))}"
    return cut(url, _LONGEST_SHOWN)


def has_secret(url: str) -> bool:
    """True if a URL, as written, has a user in it or a secret in its query."""
    return bool(secret_parts(url))


def secret_parts(url: str) -> list[str]:
    """Return the user and the secrets in the query of a URL, as written."""
    user = USERINFO.match(url)
    return [*([user[0]] if user else []), *_secrets_in(url.partition("?")[2])]


def _secrets_in(query: str) -> Iterator[str]:
    for pair in query.partition("#")[0].split("&"):
        name, _, value = pair.partition("=")
        if value and is_secret_header(unquote_plus(name)):
            yield unquote_plus(value)


def _show_pair(pair: str) -> str:
    name = pair.partition("=")[0]
    return f"{name}=…" if any(_secrets_in(pair)) else pair


class _Headers:
    """Headers that are being put together, and the secrets that went into them."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, bytes]] = []
        self.secrets: list[str] = []

    def __contains__(self, name: str) -> bool:
        return any(known.lower() == name.lower() for known, _ in self.pairs)

    def get(self, name: str) -> str:
        return next((v.decode("utf-8", "replace") for n, v in self.pairs if n.lower() == name), "")

    def add(self, name: str, value: str, *, secret: bool = False) -> None:
        problem = header_problem(name, value)
        if problem:
            raise RuntimeValidationError(problem, category="bad_header", attempted=(name,))
        # Blanks around a value are none of it; tokens that were read from files often end in one.
        value = value.strip()
        # Environment variables may hold any bytes.
        self.pairs.append((name, value.encode("utf-8", "surrogateescape")))
        if secret:
            self.secrets += [value, *_pieces(name, value)]

    def authenticate(self, name: str, value: str) -> None:
        if name in self:
            raise RuntimeValidationError(
                f"the header {name!r} is given twice: in the headers and by the authentication",
                category="bad_param",
                attempted=(name,),
            )
        self.add(name, value, secret=True)


def _pieces(name: str, value: str) -> Iterator[str]:
    """Yield the parts of a secret header that are secret by themselves."""
    if name.lower() == "cookie":
        cookies = (cookie.partition("=")[2].strip() for cookie in value.split(";"))
        yield from (cookie for cookie in cookies if len(cookie) >= _SHORTEST_COOKIE)
    else:
        yield value.partition(" ")[2]  # without its scheme: `Bearer …`


def _method(params: HttpParams, content: bytes | None) -> str:
    method = (params.method or ("GET" if content is None else "POST")).upper()
    if method not in METHODS:
        raise RuntimeValidationError(
            f"{method!r} is not one of the methods {', '.join(METHODS)}",
            category="bad_param",
            attempted=(method,),
            available=METHODS,
        )
    return method


def _url(params: HttpParams) -> httpx2.URL:
    import httpx2

    problem = url_problem(params.url)
    if problem:
        raise _bad_url(params.url, problem)
    try:
        url = httpx2.URL(params.url)
        if params.params:
            # Appended, not merged: the query that is written into the URL stays as it is.
            query = "&".join(filter(None, [url.query.decode(), _form(params.params, "params")]))
            url = url.copy_with(query=query.encode())
    except httpx2.InvalidURL:
        raise _bad_url(params.url, "its host cannot be one, or it is too long") from None
    return url


def _bad_url(url: str, problem: str) -> RuntimeValidationError:
    # Where it is malformed, nobody knows where a password in it ends.
    shown = show_url(re.sub("//.*@", "//", url, flags=re.DOTALL))
    return RuntimeValidationError(
        f"{shown!r} is not a URL to send a request to: {problem}",
        category="bad_url",
        attempted=(shown,),
    )


def _content(params: HttpParams, headers: _Headers) -> tuple[bytes | None, str | None]:
    """Return the body, and its content type unless the headers name another."""
    if params.json is not msgspec.UNSET:
        return msgspec.json.encode(params.json), "application/json"
    body = params.body
    if body is None:
        return None, None
    if isinstance(body, str):
        return body.encode("utf-8", "surrogateescape"), "text/plain; charset=utf-8"
    given = headers.get("content-type").partition(";")[0].strip().lower()
    if given == _FORM and isinstance(body, dict):
        return _form(body, "body").encode(), None
    return msgspec.json.encode(body), "application/json"


def _form(values: dict[str, Any], param: str) -> str:
    pairs = []
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict | list):
                raise RuntimeValidationError(
                    f"{param}: {name!r} holds an object or a list, which a form cannot",
                    category="bad_param",
                    attempted=(f"{param}.{name}",),
                )
            if one is not None:
                pairs.append((name, as_text(one)))
    return urlencode(pairs)


def _authenticate(params: HttpParams, headers: _Headers) -> None:
    auth = params.auth
    if params.auth_token is not None:
        headers.authenticate("Authorization", f"Bearer {_given('auth_token', params.auth_token)}")
    elif params.api_key is not None:
        headers.authenticate(params.api_key_header, _given("api_key", params.api_key))
    elif auth is None:
        return
    elif auth.type == "bearer":
        headers.authenticate("Authorization", f"Bearer {_given('auth.token', auth.token)}")
    elif auth.type == "api_key":
        header = auth.header or params.api_key_header
        headers.authenticate(header, _given("auth.key", auth.key))
    else:
        value = _basic(headers, auth.username or "", auth.password or "")
        headers.authenticate("Authorization", value)


def _given(name: str, secret: str | None) -> str:
    """Refuse an empty secret, which would only earn a confusing answer."""
    secret = (secret or "").strip()
    if not secret:
        raise NodeFailed(
            f"{name} is empty",
            category="missing_secret",
            fault=Fault.CREDENTIALS,
            attempted=(name,),
        )
    return secret


def _basic(headers: _Headers, username: str, password: str) -> str:
    if password:
        headers.secrets.append(password)
    pair = f"{username}:{password}".encode("utf-8", "surrogateescape")
    return f"Basic {base64.b64encode(pair).decode()}"
