"""Network: a way out of a box to allowed hosts, and to no others.

A box has no network but its own loopback. A proxy outside, behind a socket in the file system,
connects to what is allowed; a relay in the box offers it as a usual proxy, named by the usual
variables. Programs that use no proxy find no network, except allowed ports of the machine's own
loopback: they are at the same port of the box's.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.addresses import is_loopback, kind_of, plain
from runtrue.process import temporary_directory

if TYPE_CHECKING:
    from runtrue.sandbox.isolation.box import View

_RELAY = Path(__file__).with_name("_relay.py")
_LONGEST_HEAD = 64 * 1024
_CHUNK = 64 * 1024
_CONNECT_SECONDS = 30.0
_TARGET = re.compile(r"\[?([^\]\s/@]+?)\]?:(\d{1,5})")
_URL = re.compile(r"http://(\[[^\]]+\]|[^\s/:@]+)(?::(\d{1,5}))?(/\S*)?", re.IGNORECASE)


@asynccontextmanager
async def routed(
    routes: Sequence[str], argv: Sequence[str], view: View
) -> AsyncIterator[tuple[tuple[str, ...], View]]:
    """Return a command that reaches some hosts, as `host:port`, and its view."""
    proxy = Proxy(routes)
    # Not in the command's own place, which may lie deep: the name of a socket has to be short.
    with temporary_directory("rt-") as directory:
        socket = directory / "s"
        server = await asyncio.start_unix_server(proxy.serve, socket, limit=_LONGEST_HEAD)
        try:
            inner = [":".join(route) for route in proxy.routes if is_loopback(route[0])]
            start = (sys.executable, "-I", "-S", str(_RELAY), str(socket), _network(), *inner)
            relay = (*start, "--", *argv)
            yield relay, replace(view, write=(*view.write, directory))
        finally:
            server.close()
            await proxy.close()


class Proxy:
    """Connects to listed hosts, and refuses all others."""

    def __init__(self, routes: Sequence[str]) -> None:
        split = (route.lower().rpartition(":") for route in routes)
        #: The allowed hosts and ports.
        self.routes = [(host.strip("[]"), port) for host, _, port in split]
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with contextlib.closing(writer):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head.decode("latin-1"), reader, writer)
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                return

    async def close(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        method, _, rest = head.partition(" ")
        target, _, rest = rest.partition(" ")
        if method.upper() == "CONNECT":
            found = _TARGET.fullmatch(target)
            host, port = (found[1], int(found[2])) if found else ("", 0)
            first = ""
        else:
            found = _URL.fullmatch(target)
            host = found[1].strip("[]") if found else ""
            port = int(found[2] or 80) if found else 0
            first = f"{method} {found[3] or '/'} {_without_proxy(rest)}" if found else ""
        if not host:
            await _say(writer, 400, "this proxy takes CONNECT and http:// only")
            return
        if not self._is_allowed(host, port):
            allowed = ", ".join(":".join(route) for route in self.routes)
            what = f"{host}:{port} is not allowed here; [isolation] network allows {allowed}"
            await _say(writer, 403, what)
            return
        try:
            theirs = await _connect(host, port)
        except OSError as error:
            await _say(writer, 502, f"{host}:{port} cannot be reached: {error}")
            return
        if first:
            theirs[1].write(first.encode("latin-1"))
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _join((reader, writer), theirs)

    def _is_allowed(self, host: str, port: int) -> bool:
        name = host.lower().removesuffix(".")
        return any(
            number == str(port)
            and (name == allowed or (allowed.startswith("*.") and name.endswith(allowed[1:])))
            for allowed, number in self.routes
        )


def _network() -> str:
    """Return our network namespace: a command in the same one needs no tunnels."""
    return str(Path("/proc/self/ns/net").readlink())


async def _connect(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a host, but never by a name to an address that is not public.

    A name may lead anywhere; an address on the list was meant.
    """
    async with asyncio.timeout(_CONNECT_SECONDS):
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
        error = OSError("it has no address")
        for *_, (given, *_rest) in found:
            address = str(given)
            kind = kind_of(plain(address))
            if kind is not None and address != host and host != "localhost":
                error = OSError(f"it leads to {address}, a {kind} address; name that to allow it")
                continue
            try:
                return await asyncio.open_connection(address, port)
            except OSError as reason:
                error = reason
        raise error


async def _join(
    ours: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    theirs: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    with contextlib.closing(theirs[1]):
        await asyncio.gather(_pass_on(ours[0], theirs[1]), _pass_on(theirs[0], ours[1]))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def _without_proxy(rest: str) -> str:
    """Return the rest of a request's head for the server, which must close the connection."""
    version, *lines = rest.split("\r\n")
    kept = [
        line
        for line in lines
        if line and not line.lower().startswith(("proxy-", "connection:", "keep-alive:"))
    ]
    return "\r\n".join([version, *kept, "Connection: close", "", ""])


async def _say(writer: asyncio.StreamWriter, status: int, what: str) -> None:
    body = f"runtrue: {what}\n".encode()
    phrase = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}[status]
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain\r\nX-Runtrue: refused\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    with contextlib.suppress(OSError):
        await writer.drain()
