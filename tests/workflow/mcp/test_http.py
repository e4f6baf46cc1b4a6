"""What goes wrong over HTTP is told by its status, or by how far the request came."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from runtrue.loop import Fault
from runtrue.workflow.mcp import HttpServer, Sessions, ToolError
from tests.workflow.mcp.support import SECONDS, call, failure, run

Reply = Callable[["Handler", Any], None]


class Handler(BaseHTTPRequestHandler):
    """A server with one tool; what a call of it gets is up to the test."""

    protocol_version = "HTTP/1.1"
    reply: Reply
    headers_seen: list[dict[str, str]]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.headers_seen.append(dict(self.headers))
        match message["method"]:
            case "initialize":
                self.result(
                    message,
                    {
                        "protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "http", "version": "1"},
                    },
                )
            case "tools/list":
                tool = {"name": "tool", "inputSchema": {"type": "object"}}
                self.result(message, {"tools": [tool]})
            case "tools/call":
                type(self).reply(self, message)
            case _ if "id" in message:
                self.error(message, -32601)
            case _:
                self.send(202, b"")

    def do_GET(self) -> None:
        self.send(405, b"")

    def do_DELETE(self) -> None:
        self.send(405, b"")

    def result(self, message: Any, result: Any, status: int = 200) -> None:
        self.json({"jsonrpc": "2.0", "id": message["id"], "result": result}, status)

    def error(self, message: Any, code: int, status: int = 200) -> None:
        error = {"code": code, "message": "said so"}
        self.json({"jsonrpc": "2.0", "id": message["id"], "error": error}, status)

    def json(self, value: Any, status: int) -> None:
        self.send(status, json.dumps(value).encode(), "application/json")

    def send(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header("mcp-session-id", "the-session")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


Serve = Callable[[Reply], HttpServer]


@pytest.fixture
def seen() -> list[dict[str, str]]:
    """The headers of all requests."""
    return []


@pytest.fixture
def serve(seen: list[dict[str, str]]) -> Iterator[Serve]:
    """Start a server whose tool replies in a certain way."""
    running: list[ThreadingHTTPServer] = []

    def start(reply: Reply) -> HttpServer:
        handler = type("Handler", (Handler,), {"reply": reply, "headers_seen": seen})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        running.append(server)
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        return HttpServer(name="http", url=url, headers={"Authorization": "Bearer ${TOKEN:-t0}"})

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def plain(status: int) -> Reply:
    return lambda handler, _: handler.send(status, b"some words")


def refusal(status: int, code: int) -> Reply:
    return lambda handler, message: handler.error(message, code, status)


@pytest.mark.parametrize("reply", [plain, lambda status: refusal(status, -32603)])
@pytest.mark.parametrize(
    ("status", "category", "fault", "transient"),
    [
        (401, "auth", Fault.CREDENTIALS, False),
        (403, "auth", Fault.CREDENTIALS, False),
        (429, "http_status", Fault.ENVIRONMENT, True),
        (500, "http_status", Fault.ENVIRONMENT, True),
        (503, "http_status", Fault.ENVIRONMENT, True),
        (405, "http_status", Fault.ENVIRONMENT, False),
    ],
)
def test_a_status_decides(
    serve: Serve,
    reply: Callable[[int], Reply],
    status: int,
    category: str,
    fault: Fault,
    transient: bool,
) -> None:
    error = failure(serve(reply(status)), "tool")
    assert (error.category, error.fault, error.transient) == (category, fault, transient)
    assert error.code == status
    assert f"HTTP status {status}" in error.message


def test_so_it_does_before_there_is_a_session() -> None:
    class Closed(Handler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send(401, b"")

    with ThreadingHTTPServer(("127.0.0.1", 0), Closed) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        error = failure(HttpServer(name="closed", url=url), "tool")
        server.shutdown()
    assert (error.category, error.code) == ("auth", 401)
    assert "check the 'headers'" in error.message


@pytest.mark.parametrize(
    ("code", "status", "category"),
    [
        (-32602, 200, "argument_mismatch"),
        (-32602, 400, "argument_mismatch"),
        (-32603, 200, "protocol"),
        (-32000, 200, "protocol"),
    ],
)
def test_an_error_of_the_server_stays_one(
    serve: Serve, code: int, status: int, category: str
) -> None:
    error = failure(serve(refusal(status, code)), "tool")
    assert (error.category, error.code, error.fault) == (category, code, Fault.CANDIDATE)
    assert "said so" in error.message


@pytest.mark.parametrize("reply", [plain(404), plain(400), refusal(404, -32001), refusal(400, -1)])
def test_a_call_that_the_server_refused_for_its_session_is_made_once_more(
    serve: Serve, reply: Reply
) -> None:
    calls: list[str] = []

    def forgetful(handler: Handler, message: Any) -> None:
        calls.append(handler.headers["mcp-session-id"])
        if len(calls) == 1:
            reply(handler, message)
        else:
            handler.result(message, {"content": []})

    assert call(serve(forgetful), "tool").result is None
    assert calls == ["the-session"] * 2


def test_but_not_for_ever(serve: Serve) -> None:
    calls: list[Any] = []

    def hostile(handler: Handler, message: Any) -> None:
        calls.append(message)
        handler.send(404, b"")

    error = failure(serve(hostile), "tool")
    assert (error.category, error.code, len(calls)) == ("http_status", 404, 2)


def hang_up(handler: Handler, _: Any) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def break_off(handler: Handler, _: Any) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"9\r\n: hello\n\n\r\n")
    handler.wfile.flush()
    hang_up(handler, _)


@pytest.mark.parametrize("reply", [hang_up, break_off])
def test_a_connection_that_breaks_during_a_call_is_a_death(serve: Serve, reply: Reply) -> None:
    error = failure(serve(reply), "tool")
    assert (error.category, error.fault, error.transient) == (
        "server_died",
        Fault.ENVIRONMENT,
        True,
    )


def test_other_calls_are_not_harmed_by_one_that_fails(serve: Serve) -> None:
    def choosy(handler: Handler, message: Any) -> None:
        if message["params"]["arguments"]:
            hang_up(handler, message)
        else:
            handler.result(message, {"content": [{"type": "text", "text": "fine"}]})

    async def use(sessions: Sessions) -> list[str]:
        outcomes = []
        for arguments in ({}, {"hang": "up"}, {}):
            try:
                found = await sessions.call("http", "tool", arguments, timeout=SECONDS)
                outcomes.append(str(found.result))
            except ToolError as error:
                outcomes.append(error.category)
        return outcomes

    assert run(serve(choosy), use) == ["fine", "server_died", "fine"]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/mcp", "ftp://127.0.0.1/", "no address", "http://[nobody"]
)
def test_an_address_where_nobody_is(url: str) -> None:
    with socket.socket() as reserved:  # bound, but nobody listens
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        error = failure(HttpServer(name="http", url=url.format(port=port)), "tool")
    assert (error.category, error.fault) == ("connection", Fault.ENVIRONMENT)
    assert re.search("could not be reached|cannot be started", error.message)


def test_its_headers_go_with_every_request(serve: Serve, seen: list[dict[str, str]]) -> None:
    server = serve(lambda handler, message: handler.result(message, {"content": []}))

    async def use(sessions: Sessions) -> set[str]:
        await sessions.call("http", "tool", {}, timeout=SECONDS)
        return sessions.secrets

    assert run(server, use, environment={"TOKEN": "s3cret"}) == {"s3cret"}
    assert len(seen) > 3
    assert {headers["Authorization"] for headers in seen} == {"Bearer s3cret"}


def test_a_server_that_does_not_let_go_is_left_alone(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = Event()
    monkeypatch.setattr(Handler, "do_DELETE", lambda _: released.wait(SECONDS))
    monkeypatch.setattr("runtrue.workflow.mcp.sessions._CLOSE_SECONDS", 0.1)
    before = time.monotonic()
    server = serve(lambda handler, message: handler.result(message, {"content": []}))
    assert call(server, "tool").result is None
    assert time.monotonic() - before < SECONDS
    released.set()


def wrong_id(handler: Handler, message: Any) -> None:
    handler.result({"id": 4711}, {"content": []})


def nested(handler: Handler, message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": "HERE"})
    deep = "[" * 50_000 + "]" * 50_000
    handler.send(200, body.replace('"HERE"', deep).encode(), "application/json")


def flood(handler: Handler, message: Any) -> None:
    handler.result(message, {"content": [{"type": "text", "text": "x" * 2**26}]})


@pytest.mark.parametrize("reply", [wrong_id, nested, flood])
def test_an_answer_that_can_never_be_used_ends_the_call_at_once(serve: Serve, reply: Reply) -> None:
    before = time.monotonic()
    error = failure(serve(reply), "tool")
    assert error.category == "protocol", error
    assert reply is not flood or "more than 32 MiB" in error.message
    assert time.monotonic() - before < SECONDS / 2
