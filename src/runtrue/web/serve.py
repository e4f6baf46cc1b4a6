"""The server: a socket on loopback, and pages until Ctrl-C."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from runtrue.addresses import is_loopback
from runtrue.errors import HostError, UsageError
from runtrue.web.app import make_app
from runtrue.web.guard import Access, TrustedProxy
from runtrue.web.live import LiveUpdates
from runtrue.web.service import WebService

#: Seconds that requests have to end after Ctrl-C.
_GRACE = 3


@dataclass(frozen=True, slots=True)
class WebAddress:
    """Where the pages are, and the address that lets a browser in."""

    url: str
    token: str
    #: Where people find them, if a proxy lets them in.
    proxy: TrustedProxy | None = None

    @property
    def to_open(self) -> str:
        """Return the address to open: it is good for as long as the server runs."""
        return self.proxy.url if self.proxy else f"{self.url}/login?token={self.token}"


def serve_pages(
    service: WebService,
    *,
    host: str,
    port: int,
    on_ready: Callable[[WebAddress], None],
    token: str | None = None,
    proxy: TrustedProxy | None = None,
) -> None:
    """Serve until the process is stopped; `on_ready` is called once a browser can connect.

    The token is a new one unless one is given.

    Raises UsageError for a host that other machines can reach.
    """
    if not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and this server has no TLS; "
            "use --host 127.0.0.1, and a tunnel such as `ssh -L` from elsewhere"
        )
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    address = WebAddress(f"http://{shown}:{port}", token or secrets.token_urlsafe(32), proxy)
    access = Access(address.token, (shown, "localhost"), port, proxy)
    asyncio.run(_serve(service, access, listener, lambda: on_ready(address)))


async def _serve(
    service: WebService, access: Access, listener: socket.socket, on_ready: Callable[[], None]
) -> None:
    live = LiveUpdates(service.home)
    config = uvicorn.Config(
        make_app(service, access, live),
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config, live, on_ready)
    loop = asyncio.get_running_loop()
    for stop in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(stop, server.stop)
    try:
        await server.serve(sockets=[listener])
    finally:
        live.close()
        listener.close()


class _Server(uvicorn.Server):
    """Says when it is ready, and lets streams end before it waits for requests to do so."""

    def __init__(
        self, config: uvicorn.Config, live: LiveUpdates, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._live = live
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    def stop(self) -> None:
        self._live.stop()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the loop."""
        yield


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise HostError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port, "
            "or --port 0 for any that is free"
        ) from error
    return listener
