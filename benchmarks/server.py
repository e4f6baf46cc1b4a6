"""A small HTTP server, fast enough not to be what is measured: `python -m benchmarks.server`.

It tells its port on stdout, gives everyone the same JSON, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_BODY = json.dumps(
    {"id": 7, "login": "ada", "tags": ["a", "b"], "profile": {"name": "Ada", "followers": 1815}}
).encode()
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BODY)
    + _BODY
)
_END = b"\r\n\r\n"


@contextmanager
def serving() -> Iterator[str]:
    """The address of such a server, in a process of its own."""
    # Workflows reach this machine itself only if they are let.
    os.environ["RUNTRUE_ALLOW_LOOPBACK"] = "1"
    command = [sys.executable, "-m", "benchmarks.server"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.stdin.close()


class Answering(asyncio.Protocol):
    """Answers each request without a body, and keeps the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._pending = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._pending = (self._pending + data).split(_END)
        self._transport.write(_ANSWER * len(requests))


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answering, "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
