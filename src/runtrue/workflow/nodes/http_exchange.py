"""HTTP exchanges: a request is sent, redirects are followed, the answer is read within limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtrue.addresses import RefusedAddress
from runtrue.errors import NodeFailed
from runtrue.loop import Fault
from runtrue.workflow.node import failure
from runtrue.workflow.nodes.http_params import IDEMPOTENT, SAFE, url_problem
from runtrue.workflow.nodes.http_request import HttpRequest, show_url

if TYPE_CHECKING:
    import httpx2

MOST_REDIRECTS = 10
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 2.0
#: Up to here the body of a redirect is read, so that its connection can be used again.
_REDIRECT_BYTES = 64 * 1024
#: The only headers that go on to another origin: any other may be a secret.
_FOR_ANYONE = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "connection", "host", "user-agent"),
        *("content-length", "content-type", "transfer-encoding"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """The final response; not `complete` if it was larger than allowed."""

    method: str
    url: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes | bytearray
    complete: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLimits:
    """The limits of an exchange. A body with a secret in it never goes to another origin.

    With `stays`, nor does any request that changes something: nobody has agreed to that.
    """

    timeout: float
    retries: int
    max_bytes: int
    follow_redirects: bool
    holds_secret: Callable[[bytes], bool]
    stays: bool = False
    #: The server knows a repeated request again.
    is_repeatable: bool = False


async def exchange(
    client: httpx2.AsyncClient, request: HttpRequest, limits: ExchangeLimits
) -> HttpAnswer:
    """Send a request and read its answer. Raises NodeFailed when there is none."""
    started = time.perf_counter()
    repeatable = request.method in IDEMPOTENT or limits.is_repeatable
    retries = limits.retries if repeatable else 0
    try:
        async with asyncio.timeout(limits.timeout):
            for tried in range(retries):
                try:
                    return await _attempt(client, request, limits, started)
                except NodeFailed as failure:
                    if not failure.transient:
                        raise
                await asyncio.sleep(min(_FIRST_WAIT * 2**tried, _LONGEST_WAIT))
            return await _attempt(client, request, limits, started)
    except TimeoutError:
        what = f"was not answered within {limits.timeout:g} s"
        raise _failed(request, what, "timeout", transient=True) from None


async def _attempt(
    client: httpx2.AsyncClient, request: HttpRequest, limits: ExchangeLimits, started: float
) -> HttpAnswer:
    import httpx2

    message = client.build_request(
        request.method, request.url, headers=request.headers, content=request.content
    )
    redirects = None
    try:
        while True:
            response = await client.send(message, stream=True)
            try:
                following = response.next_request if limits.follow_redirects else None
                if following is None:
                    body, complete = await _read(response, limits.max_bytes)
                    return HttpAnswer(
                        method=message.method,
                        url=str(message.url),
                        status=response.status_code,
                        headers=response.headers.multi_items(),
                        body=body,
                        complete=complete,
                        seconds=time.perf_counter() - started,
                    )
                await _read(response, _REDIRECT_BYTES)
            finally:
                await response.aclose()
            redirects = redirects or _Redirects(request, message, limits)
            redirects.check(response, following)
            message = following
    except RefusedAddress as refused:
        what = f"was not sent: {refused.message}"
        refusal = _failed(message, what, "refused_address", fault=Fault.HUMAN, data=refused.data)
        refusal.unchanged = redirects is None
        raise refusal from None
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        from runtrue.workflow.nodes.http_failures import failure_of

        why = failure_of(error)
        data = {"exception": type(error).__name__}
        failed = _failed(
            message, f"failed: {why.what}", why.category, transient=why.transient, data=data
        )
        never_sent = httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout
        failed.unchanged = redirects is None and isinstance(error, never_sent)
        # Not chained: it would carry the request along, credentials and all.
        raise failed from None


async def _read(response: httpx2.Response, limit: int) -> tuple[bytes | bytearray, bool]:
    """Return the body as far as `limit` allows, and whether it is complete."""
    headers = response.headers
    announced = headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit and response.request.method != "HEAD":
        return b"", False
    # Not pieces to be joined: of a large body there would be two copies then.
    body = bytearray()
    async for chunk in response.aiter_bytes():
        if len(body) + len(chunk) > limit:
            return body, False
        body += chunk
    return body, True


class _Redirects:
    """The redirects of one request: what they may take along, and how far they may lead."""

    def __init__(
        self, request: HttpRequest, message: httpx2.Request, limits: ExchangeLimits
    ) -> None:
        import httpx2

        self._request = request
        self._bounds = limits
        self._count = 0
        self._cookie = message.headers.get("cookie")
        # Cookies that are set on the way count on the way, as in a browser, and no longer.
        self._set_cookies = httpx2.Cookies()

    def check(self, response: httpx2.Response, following: httpx2.Request) -> None:
        """Remove what must not go along with the next request. Raises NodeFailed."""
        self._count += 1
        if self._count > MOST_REDIRECTS:
            raise self._refused(following, f"that is more than {MOST_REDIRECTS} redirects")
        problem = url_problem(str(following.url))
        if problem:
            raise self._refused(following, problem)
        self._set_cookies.extract_cookies(response)
        if not _is_same_party(response.request.url, following.url):
            self._cookie = None
            for name in set(following.headers) - _FOR_ANYONE:
                del following.headers[name]
            if self._bounds.stays and following.method not in SAFE:
                raise self._refused(following, "the task does not name that address", Fault.HUMAN)
            self._check_body(following)
        if self._cookie is not None:
            following.headers["cookie"] = self._cookie
        else:
            self._set_cookies.set_cookie_header(following)

    def _check_body(self, following: httpx2.Request) -> None:
        content = self._request.content
        if content and "content-length" in following.headers and self._bounds.holds_secret(content):
            raise self._refused(following, "its body contains a secret, which is not sent there")

    def _refused(
        self, following: httpx2.Request, why: str, fault: Fault = Fault.ENVIRONMENT
    ) -> NodeFailed:
        location = show_url(str(following.url))
        what = f"was redirected to {location}: {why}"
        return _failed(self._request, what, "redirect", fault=fault, data={"location": location})


def _is_same_party(one: httpx2.URL, other: httpx2.URL) -> bool:
    """True for the same origin, or its upgrade to https."""
    if one.host != other.host:
        return False
    upgraded = one.scheme == "http" and other.scheme == "https" and not one.port and not other.port
    return (one.scheme, one.port) == (other.scheme, other.port) or upgraded


def _failed(
    sent: HttpRequest | httpx2.Request,
    what: str,
    category: str,
    *,
    fault: Fault = Fault.ENVIRONMENT,
    transient: bool = False,
    data: Mapping[str, str | int] | None = None,
) -> NodeFailed:
    url = show_url(str(sent.url))
    data = {"method": sent.method, "url": url, **(data or {})}
    message = f"{sent.method} {url} {what}"
    return failure(message, category, fault=fault, data=data, transient=transient)
