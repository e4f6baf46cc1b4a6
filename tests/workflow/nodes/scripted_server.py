"""A server that answers with exactly the bytes that a test tells it to."""

from __future__ import annotations

import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

#: An answer that is a connection torn down in the middle of things.
RESET = b"reset"


@dataclass(frozen=True)
class Received:
    """A request as it came over the wire."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]


def response(
    body: bytes | str = b"", *headers: str, status: str = "200 OK", length: int | None = None
) -> bytes:
    """The bytes of a response."""
    body = body.encode() if isinstance(body, str) else body
    announced = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {announced}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class ScriptedServer:
    """Answers each request with what `answer` gives, and closes the connection."""

    def __init__(
        self, answer: Callable[[Received], bytes] | bytes, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.received: list[Received] = []
        received = self.received

        class Handler(socketserver.StreamRequestHandler):
            def setup(self) -> None:
                if tls is not None:
                    self.request = tls.wrap_socket(
                        self.request, server_side=True, do_handshake_on_connect=False
                    )
                super().setup()

            def finish(self) -> None:
                super().finish()
                self.request.close()

            def handle(self) -> None:
                line = self.rfile.readline().decode().strip()
                headers = {}
                while text := self.rfile.readline().decode("latin-1").strip():
                    name, _, value = text.partition(":")
                    headers[name.lower()] = value.strip()
                body = self.rfile.read(int(headers.get("content-length", 0)))
                received.append(Received(line, headers, body))
                data = answer if isinstance(answer, bytes) else answer(received[-1])
                if data == RESET:
                    linger = struct.pack("ii", 1, 0)
                    self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                else:
                    self.wfile.write(data)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that hangs up is what some tests are about

            def shutdown_request(self, request: Any) -> None:
                self.close_request(request)  # no orderly goodbye, which would undo RESET

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def paths(self) -> list[str]:
        """What was asked for."""
        return [received.path for received in self.received]

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
