"""The guard: who may see the pages, and what a browser may do with them.

A page on loopback can be reached by every web site that the user visits and by every user of the
machine. So a request needs a cookie that only the printed token gives; its Host must be ours (a
site may have its own name point here), its Origin too, and every form carries a token.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtrue.web.page import Pages

#: Nothing inline, nothing from elsewhere, no frame around it.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_SAFE = ("GET", "HEAD")
#: No form of ours is larger: a workflow has at most a few megabytes.
_LARGEST_FORM = 8_000_000
_OPEN = ("/login", "/static/")
_BROWSERS = ("Firefox", "Edg", "Chromium", "Chrome", "Safari", "curl")


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A browser that has shown the token. `name` is what other people see it called."""

    id: str
    name: str
    #: What each of its forms carries.
    form_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """A proxy in front of this server, which lets people in."""

    #: The header that names the person.
    header: str
    #: What browsers call the server, as https://runs.example.org.
    url: str


#: The header in which a proxy shows the token, so that nobody else on this machine is believed.
PROXY_TOKEN = "x-runtrue-token"  # noqa: S105 - the name of a header
_LONGEST_NAME = 100


class Access:
    """The token, the names that this server goes by, and the browsers that were let in."""

    def __init__(
        self, token: str, hosts: tuple[str, ...], port: int, proxy: TrustedProxy | None = None
    ) -> None:
        self._token = token.encode()
        self.proxy = proxy
        self._origins = {f"http://{host}:{port}" for host in hosts}
        if proxy is not None:
            self._origins.add(proxy.url)
        self.hosts = frozenset(urlsplit(origin).netloc for origin in self._origins)
        # Cookies are shared by all ports of a host.
        self.cookie = f"runtrue_{port}"
        self._sessions: dict[str, BrowserSession] = {}
        self._numbers = count(1)

    def is_token(self, token: str) -> bool:
        """True if it is the token."""
        return hmac.compare_digest(token.encode(), self._token)

    def let_in(self, token: str, user_agent: str) -> BrowserSession | None:
        """Return a new session for anyone who shows the token."""
        if self.proxy is not None or not self.is_token(token):
            return None
        kind = next((name for name in _BROWSERS if name in user_agent), "browser")
        name = f"{'Edge' if kind == 'Edg' else kind} (browser {next(self._numbers)})"
        return self._begin(secrets.token_urlsafe(32), name)

    def session(self, headers: Headers, cookies: Mapping[str, str]) -> BrowserSession | None:
        """Return the session of a request: by its cookie, or by what the proxy says of it."""
        if self.proxy is None:
            return self._sessions.get(cookies.get(self.cookie, ""))
        name = headers.get(self.proxy.header, "").strip()[:_LONGEST_NAME]
        if not name or not self.is_token(headers.get(PROXY_TOKEN, "")):
            return None
        key = f"proxy:{name}"
        return self._sessions.get(key) or self._begin(key, name)

    def _begin(self, key: str, name: str) -> BrowserSession:
        session = BrowserSession(key, name, secrets.token_urlsafe(32))
        self._sessions[key] = session
        return session

    def is_own_origin(self, headers: Headers) -> bool:
        """True if a request was made by a page of this server, as far as the browser says."""
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins:
            return False
        return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


class PageGuard:
    """Refuses what may not be let through, before anything reads it."""

    def __init__(self, app: ASGIApp, access: Access, pages: Pages) -> None:
        self._app = app
        self._access = access
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        has_begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", _kept_by_browsers(request.url.path))
            await send(message)

        request = Request(scope, receive)
        refusal = await self._refusal(request)
        try:
            await (refusal or self._app)(scope, request.receive, send_guarded)
        except Exception as error:
            if has_begun or os.environ.get("RUNTRUE_DEBUG"):
                raise
            said = f"internal error: {type(error).__name__}: {error}; this is a bug in runtrue"
            await self._say(request, 500, said)(scope, request.receive, send_guarded)

    async def _refusal(self, request: Request) -> Response | None:
        access, path = self._access, request.url.path
        if request.headers.get("host") not in access.hosts:
            return self._say(request, 421, "This server answers only at its own address.")
        is_safe = request.method in _SAFE
        if not is_safe and not access.is_own_origin(request.headers):
            return self._say(request, 403, "The request came from another site.")
        request.state.session = session = access.session(request.headers, request.cookies)
        if path.startswith(_OPEN):
            return None if is_safe or path == "/login" else self._say(request, 405, "Read only.")
        if session is None and access.proxy is not None:
            said = f"The proxy must send the person's name as {access.proxy.header}, and the token."
            return self._say(request, 401, said)
        if session is None:
            if is_safe and path == "/":
                return RedirectResponse("/login", status_code=303)
            return self._say(
                request, 401, "Open the address that `runtrue ui` printed: it has the token."
            )
        return None

    def _say(self, request: Request, status: int, text: str) -> Response:
        return self._pages.problem(request, status, text)


def _kept_by_browsers(path: str) -> str:
    """Return for how long browsers may keep an answer: letters never change, pages always do."""
    if path.startswith("/static/"):
        return "max-age=604800" if path.endswith(".woff2") else "no-cache"
    return "no-store"


async def read_form(
    request: Request, session: BrowserSession | None
) -> dict[str, list[str]] | None:
    """Return the fields of a form; None for one that is not from a page of this session."""
    body = await read_body(request, _LARGEST_FORM)
    if body is None or session is None:
        return None
    try:
        form = parse_qs(body, keep_blank_values=True, max_num_fields=1000)
    except ValueError:  # more fields than any of ours has
        return None
    given = form.get("form_token", [""])[0]
    return form if hmac.compare_digest(given.encode(), session.form_token.encode()) else None


async def read_body(request: Request, most: int) -> str | None:
    """Return what a browser sends; None if it is larger than anything of ours."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            return None
    return body.decode("utf-8", "replace")
