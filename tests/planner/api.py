"""An HTTP API on loopback that answers from a table and counts what it is asked."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

#: In the shape of a well-known API's users.
TORVALDS = {
    "login": "torvalds",
    "id": 1024025,
    "avatar_url": "https://avatars.example.org/u/1024025",
    "html_url": "https://example.org/torvalds",
    "type": "User",
    "site_admin": False,
    "name": "Linus Torvalds",
    "company": "Linux Foundation",
    "blog": "",
    "location": "Portland, OR",
    "email": None,
    "bio": "I wrote a kernel, once.",
    "public_repos": 8,
    "followers": 230000,
    "following": 0,
    "created_at": "2011-09-03T15:26:22Z",
}


@dataclass(frozen=True)
class Reply:
    """What is answered: JSON, unless it is said to be something else."""

    body: Any
    status: int = 200
    content_type: str = "application/json"

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    body: Any
    headers: dict[str, str]


Answer = Reply | Callable[[Asked], Reply]


@dataclass
class Api:
    """`api.on("GET /users/torvalds", {...})` makes it answer; `api.count(...)` says how often."""

    address: str = ""
    asked: list[Asked] = field(default_factory=list)
    _table: dict[str, Answer] = field(default_factory=dict)

    def on(self, request: str, answer: Any, *, status: int = 200) -> str:
        """Answer a request; the result is its URL."""
        is_answer = isinstance(answer, Reply) or callable(answer)
        self._table[request] = answer if is_answer else Reply(answer, status)
        return self.url(request.partition(" ")[2])

    def url(self, path: str) -> str:
        return f"{self.address}{path}"

    def count(self, request: str) -> int:
        return sum(f"{asked.method} {asked.path}" == request for asked in self.asked)

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        found = self._table.get(
            f"{asked.method} {asked.path}", Reply({"message": "Not Found"}, 404)
        )
        return found if isinstance(found, Reply) else found(asked)


@contextlib.contextmanager
def running_api() -> Iterator[Api]:
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            raw = self.rfile.read(length)
            with contextlib.suppress(ValueError):
                raw = json.loads(raw)
            headers = {name.lower(): value for name, value in self.headers.items()}
            path = urlsplit(self.path).path
            reply = api.answer(Asked(self.command, path, raw, headers))
            content = reply.content
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    api.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(name="api")
def api_fixture() -> Iterator[Api]:
    with running_api() as api:
        yield api
