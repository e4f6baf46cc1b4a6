"""The guard: HTTP connections that lead only where the user lets workflows go.

An address is checked at the moment of connecting to it, and it is the checked address that is
connected to: neither a redirect nor a name that leads elsewhere the next time gets around it.
httpx, and httpx2 which the MCP SDK uses, are alike but for their names, so this is for both; what
they need of their own is a class statement (`Guarded`, `Body`).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol, TypeVar
from urllib.request import getproxies, proxy_bypass

from runtrue.addresses import Allowed, resolve

_PORTS = {"http": 80, "https": 443}
#: After how many seconds the next address of a host is tried as well.
_STAGGER = 0.25


class Network:
    """A network backend of httpcore's. `core` is that module, or httpcore2."""

    def __init__(self, core: Any, allowed: Allowed) -> None:
        self._core = core
        self._allowed = allowed
        self._inner = core.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore calls it so
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> Any:
        """Connect to a host. Raises RefusedAddress before anything is sent."""

        def connect(address: str) -> Awaitable[_Stream]:
            return self._inner.connect_tcp(  # type: ignore[no-any-return]
                address, port, local_address=local_address, socket_options=socket_options
            )

        try:
            async with asyncio.timeout(timeout):
                addresses = await resolve(host, port)
                self._allowed.check(host, addresses, port)
                return await _first(addresses, connect)
        except TimeoutError as error:
            raise self._core.ConnectTimeout(error) from error
        except OSError as error:
            raise self._core.ConnectError(error) from error

    async def connect_unix_socket(self, *args: Any, **options: Any) -> Any:
        """No URL leads to one."""
        raise self._core.UnsupportedProtocol("sockets of this machine are not connected to")

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts."""
        await asyncio.sleep(seconds)


class _Stream(Protocol):
    async def aclose(self) -> None: ...


_S = TypeVar("_S", bound=_Stream)


async def _first(addresses: list[str], connect: Callable[[str], Awaitable[_S]]) -> _S:
    """The first connection that is made to any of the addresses, which are tried in turns."""
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
        raise error or OSError("the host leads nowhere")
    finally:
        for task in tasks:
            task.cancel()
        for late in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(late, BaseException):
                await late.aclose()


class Guarded:
    """A transport, for a class that is also derived from httpx's own.

    Where the environment names a proxy, it is the user's choice, and its own address is not looked
    at. What it is asked for is, as far as that can be told from here.
    """

    http: ClassVar[Any]
    core: ClassVar[Any]
    body: ClassVar[type[Body]]

    def __init__(self, allowed: Allowed, *, context: ssl.SSLContext, limits: Any) -> None:
        self._allowed = allowed
        self._pool = self.core.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=Network(self.core, allowed),
        )
        proxies = getproxies()
        self._proxies = {
            scheme: self.http.AsyncHTTPTransport(
                verify=context, limits=limits, proxy=url if "://" in url else f"http://{url}"
            )
            for scheme in (*_PORTS, "all")
            if (url := proxies.get(scheme))
        }

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request, and give the answer as soon as it begins."""
        url = request.url
        if self._proxies and (proxy := self._proxy_for(url)):
            await self._check(url)
            return await proxy.handle_async_request(request)
        sent = self.core.Request(
            method=request.method,
            url=self.core.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with self.translated():
            answer = await self._pool.handle_async_request(sent)
        return self.http.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=self.body(answer.stream, self),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        for one in (self._pool, *self._proxies.values()):
            await one.aclose()

    @classmethod
    @contextmanager
    def translated(cls) -> Iterator[None]:
        """Raise the exceptions of httpcore as those of httpx, which have the same names."""
        core = cls.core
        try:
            yield
        except (
            core.TimeoutException,
            core.NetworkError,
            core.ProtocolError,
            core.ProxyError,
            core.UnsupportedProtocol,
        ) as error:
            raise getattr(cls.http, type(error).__name__)(str(error)) from error

    def _proxy_for(self, url: Any) -> Any:
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
        if proxy is None or proxy_bypass(url.host):
            return None
        return proxy

    async def _check(self, url: Any) -> None:
        host, port = url.raw_host.decode("ascii"), url.port or _PORTS.get(url.scheme, 0)
        try:
            addresses = await resolve(host, port)
        except OSError:
            # A name that only the proxy knows.
            return
        self._allowed.check(host, addresses, port)


class Body:
    """The body of an answer, for a class that is also derived from httpx's `AsyncByteStream`."""

    def __init__(self, stream: Any, transport: Guarded) -> None:
        self._stream = stream
        self._transport = transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._transport.translated():
            async for chunk in self._stream:
                yield chunk

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._stream.aclose()
