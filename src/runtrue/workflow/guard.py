"""The guard: HTTP connections that lead only where the user lets workflows go.

An address is checked at the moment of connecting to it, and it is the checked address that is
connected to: neither a redirect nor a name that resolves differently the next time gets around it.
This is the one module that uses httpcore2, the layer below httpx2. Imports both: import late.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from runtrue.addresses import Allowed, resolve

_PORTS = {"http": 80, "https": 443}
#: After how many seconds the next address of a host is tried as well.
_STAGGER = 0.25
#: Those that httpx2 has by the same names.
_ERRORS = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
)
_S = TypeVar("_S", bound=httpcore2.AsyncNetworkStream)


class GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to allowed addresses only."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 calls it so
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host. Raises RefusedAddress before anything is sent."""

        def connect(address: str) -> Awaitable[httpcore2.AsyncNetworkStream]:
            return self._inner.connect_tcp(
                address, port, local_address=local_address, socket_options=socket_options
            )

        try:
            async with asyncio.timeout(timeout):
                addresses = await resolve(host, port)
                self._allowed.check(host, addresses, port)
                return await _first(addresses, connect)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(error) from error
        except OSError as error:
            raise httpcore2.ConnectError(error) from error

    async def connect_unix_socket(self, *args: Any, **options: Any) -> Any:
        """Refuse; no URL leads to one."""
        raise httpcore2.UnsupportedProtocol("sockets on this machine are off limits")

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts."""
        await asyncio.sleep(seconds)


async def _first(addresses: list[str], connect: Callable[[str], Awaitable[_S]]) -> _S:
    """Return the first connection made to any of the addresses, which are tried in turns."""
    if len(addresses) == 1:
        return await connect(addresses[0])
    left = addresses[::-1]
    tasks: set[asyncio.Task[_S]] = set()
    error: BaseException | None = None
    try:
        while left or tasks:
            if left:
                tasks.add(asyncio.ensure_future(connect(left.pop())))
            wait = _STAGGER if left else None
            done, _ = await asyncio.wait(tasks, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                tasks.discard(task)
                failed = task.exception()
                if failed is None:
                    return task.result()
                error = error or failed
        raise error or OSError("the host has no address")
    finally:
        for task in tasks:
            task.cancel()
        for late in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(late, BaseException):
                await late.aclose()


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Connects only where the user lets workflows go. Raises RefusedAddress.

    A proxy that the environment names is the user's choice, so its own address is not checked;
    where it is asked to connect is, if the name can be resolved here.
    """

    def __init__(self, allowed: Allowed, *, context: ssl.SSLContext, limits: httpx2.Limits) -> None:
        self._allowed = allowed
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=GuardedNetwork(allowed),
        )
        proxies = getproxies()
        self._proxies = {
            scheme: httpx2.AsyncHTTPTransport(
                verify=context, limits=limits, proxy=url if "://" in url else f"http://{url}"
            )
            for scheme in (*_PORTS, "all")
            if (url := proxies.get(scheme))
        }

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and return the response as soon as it begins."""
        url = request.url
        if self._proxies and (proxy := self._proxy_for(url)):
            await self._check(url)
            return await proxy.handle_async_request(request)
        sent = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with translated_errors():
            response = await self._pool.handle_async_request(sent)
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_GuardedBody(response.stream),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()
        for proxy in self._proxies.values():
            await proxy.aclose()

    def _proxy_for(self, url: httpx2.URL) -> httpx2.AsyncHTTPTransport | None:
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
        return None if proxy is None or proxy_bypass(url.host) else proxy

    async def _check(self, url: httpx2.URL) -> None:
        host, port = url.raw_host.decode("ascii"), url.port or _PORTS.get(url.scheme, 0)
        try:
            addresses = await resolve(host, port)
        except OSError:
            # A name that only the proxy knows.
            return
        self._allowed.check(host, addresses, port)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the exceptions of httpcore2 as those of httpx2."""
    try:
        yield
    except _ERRORS as error:
        raise getattr(httpx2, type(error).__name__)(str(error)) from error


class _GuardedBody(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with translated_errors():
            async for chunk in self._stream:
                yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
