"""A server with the part of the S3 protocol that files of runs need, on loopback."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: The only key that this server knows.
KEY = "ada"


class BucketServer(ThreadingHTTPServer):
    """Holds objects by their path; refuses requests that are not signed with `KEY`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}

    def environment(self, key: str = KEY) -> dict[str, str]:
        """The variables with which a client finds this server."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": "of no use here",
        }


@contextmanager
def bucket_server() -> Iterator[BucketServer]:
    server = BucketServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: BucketServer
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self._answer(put=True)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer(delete=True)

    def _answer(self, *, put: bool = False, delete: bool = False) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, _ = self.path.partition("?")
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            self._send(403, b"<Error><Code>InvalidAccessKeyId</Code></Error>")
        elif put:
            self.server.objects[path] = body
            self._send(200)
        elif delete:
            names = re.findall(r"<Key>(.*?)</Key>", body.decode())
            for name in names:
                self.server.objects.pop(f"{path}/{name}", None)
            gone = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
            self._send(200, f"<DeleteResult>{gone}</DeleteResult>".encode())
        elif path in self.server.objects:
            self._send(200, self.server.objects[path])
        else:
            self._send(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def _send(self, code: int, body: bytes = b"") -> None:
        self.send_response(code)
        for name, value in {
            "Content-Length": str(len(body)),
            "ETag": '"1"',
            "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
