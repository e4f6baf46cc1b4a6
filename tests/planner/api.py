"""An HTTP API on loopback that answers from a table and counts what it is asked."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response

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

    def answer(received: Received) -> bytes:
        body: Any = received.body
        with contextlib.suppress(ValueError):
            body = json.loads(body)
        method, target = received.line.split(" ")[:2]
        reply = api.answer(Asked(method, urlsplit(target).path, body, received.headers))
        kind = f"Content-Type: {reply.content_type}"
        return response(reply.content, kind, status=f"{reply.status} said")

    with ScriptedServer(answer) as server:
        api.address = server.url
        yield api


@pytest.fixture(name="api")
def api_fixture() -> Iterator[Api]:
    with running_api() as api:
        yield api
