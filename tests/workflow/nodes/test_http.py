"""The `http` node against a real httpbin: what is sent, what comes back, what counts as failure."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from runtrue import __version__
from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.workflow.nodes.http import HttpNode
from tests.workflow.httpbin_server import httpbin_fixture  # noqa: F401
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response
from tests.workflow.nodes.sending import failing, open_context, send, send_within

FORM = {"content-type": "application/x-www-form-urlencoded"}


# -- what is sent ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "echoed"),
    [
        ({}, {"method": "GET", "data": "", "json": None}),
        ({"method": "patch"}, {"method": "PATCH"}),
        ({"method": "DELETE"}, {"method": "DELETE"}),
        ({"body": {"a": [1, None]}}, {"method": "POST", "json": {"a": [1, None]}}),
        ({"body": []}, {"method": "POST", "data": "[]"}),
        ({"method": "put", "body": "tëxt"}, {"method": "PUT", "data": "tëxt"}),
        ({"body": ""}, {"method": "POST", "data": ""}),
        ({"json": None}, {"method": "POST", "data": "null"}),
        ({"json": "text"}, {"data": '"text"', "json": "text"}),
        ({"method": "GET", "json": {"query": 1}}, {"method": "GET", "json": {"query": 1}}),
        ({"body": {"a": "x y", "b": [1, True], "c": None}, "headers": FORM}, {"data": ""}),
        ({"params": {"a": [1, True, None, "ü&"], "b": None, "c": 1.5}}, {}),
    ],
)
def test_method_and_body_arrive(
    httpbin: str, params: dict[str, Any], echoed: dict[str, Any]
) -> None:
    got = send(url=f"{httpbin}/anything", **params)["response"]
    assert {name: got[name] for name in echoed} == echoed
    if params.get("headers") == FORM:
        assert got["form"] == {"a": "x y", "b": ["1", "true"]}
    if "params" in params:
        assert got["args"] == {"a": ["1", "true", "ü&"], "c": "1.5"}


@pytest.mark.parametrize(
    ("params", "content_type"),
    [
        ({}, None),
        ({"body": {}}, "application/json"),
        ({"json": 1}, "application/json"),
        ({"body": "a"}, "text/plain; charset=utf-8"),
        ({"body": "<a/>", "headers": {"content-type": "application/xml"}}, "application/xml"),
        ({"body": {}, "headers": {"Content-Type": "application/x+json"}}, "application/x+json"),
    ],
)
def test_the_users_content_type_is_kept(
    httpbin: str, params: dict[str, Any], content_type: str | None
) -> None:
    headers = send(url=f"{httpbin}/anything", **params)["response"]["headers"]
    assert headers.get("Content-Type") == content_type


def test_headers_and_the_query_arrive_as_they_are_written() -> None:
    headers = {"X-Text": " ünï ", "X-Number": 1.5, "X-Flag": False, "X-None": None}
    with ScriptedServer(response()) as server:
        send(url=f"{server.url}/a%2Fb?x=%20&x=1+2", params={"y": "ä /"}, headers=headers)
    (got,) = server.received
    assert got.path == "/a%2Fb?x=%20&x=1+2&y=%C3%A4+%2F"
    assert got.headers["x-text"].encode("latin-1").decode() == "ünï"
    assert (got.headers["x-number"], got.headers["x-flag"]) == ("1.5", "false")
    assert "x-none" not in got.headers
    assert got.headers["user-agent"] == f"runtrue/{__version__}"


def test_head_and_options_have_no_body_to_read(httpbin: str) -> None:
    for method in ("HEAD", "OPTIONS"):
        outputs = send(url=f"{httpbin}/bytes/1000", method=method, max_bytes=100)
        assert (outputs["status_code"], outputs["response"]) == (200, "")


# -- what counts as failure -----------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_2xx_is_success(httpbin: str, status: int) -> None:
    outputs = send(url=f"{httpbin}/status/{status}")
    assert outputs["status_code"] == status
    assert "error" not in outputs
    assert "extracted" not in outputs


@pytest.mark.parametrize(
    ("status", "said", "fault", "transient"),
    [
        (304, "304 Not Modified", "candidate", False),
        (400, "400 Bad Request", "candidate", False),
        (401, "401 Unauthorized", "credentials", False),
        (403, "403 Forbidden", "credentials", False),
        (404, "404 Not Found", "candidate", False),
        (407, "407 Proxy Authentication Required", "credentials", False),
        (408, "408 Request Timeout", "environment", True),
        (422, "422 Unprocessable", "candidate", False),
        (425, "425 Too Early", "environment", True),
        (429, "429 Too Many Requests", "environment", True),
        (500, "500 Internal Server Error", "environment", True),
        (503, "503 Service Unavailable", "environment", True),
        (599, "599", "environment", True),
    ],
)
def test_any_other_status_is_a_failure_of_whom_the_status_says(
    httpbin: str, status: int, said: str, fault: str, transient: bool
) -> None:
    url = f"{httpbin}/status/{status}"
    error = failing(url=url)
    assert not isinstance(error, RuntimeValidationError)
    assert error.category == "http_status"
    assert (error.fault, error.transient) == (fault, transient)
    assert error.message.startswith(f"GET {url} answered {said}")
    assert error.outputs["status_code"] == status
    assert error.outputs["error"] == f"HTTP {status}"


def test_a_failure_keeps_what_was_answered() -> None:
    body = json.dumps({"message": "no such thing"})
    with ScriptedServer(
        response(body, "Content-Type: application/json", status="404 Nope")
    ) as server:
        error = failing(url=f"{server.url}/things/1", method="DELETE")
    assert error.message == f"DELETE {server.url}/things/1 answered 404 Not Found"
    assert error.outputs["response"] == {"message": "no such thing"}
    assert error.outputs.keys() == {
        *("response", "response_is_binary", "status_code", "response_headers"),
        *("response_time", "error"),
    }
    assert error.sample == '{"message": "no such thing"}'
    assert error.data == {
        "status": 404,
        "method": "DELETE",
        "url": f"{server.url}/things/1",
        "retry_after": None,
    }


def test_a_redirect_that_is_not_followed_is_no_success(httpbin: str) -> None:
    error = failing(url=f"{httpbin}/redirect/1", follow_redirects=False)
    assert error.category == "http_status"
    assert error.outputs["status_code"] == 302
    assert error.outputs["response_headers"]["location"] == "/get"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("Wed, 01 Jan 2020 00:00:00 GMT", 0.0),
        ("Wed, 01 Jan 2020 00:00:00", None),
        ("soon", None),
        ("9" * 400, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_told(value: str, seconds: float | None) -> None:
    answer = response("", f"Retry-After: {value}", status="503 Busy")
    with ScriptedServer(answer) as server:
        error = failing(url=server.url, retries=2)
        assert len(server.received) == 1, "an answer is never asked for again"
    assert error.data["retry_after"] == seconds


# -- what comes back ------------------------------------------------------------------------------


def test_json_text_and_binary_are_told_apart(httpbin: str) -> None:
    assert send(url=f"{httpbin}/json")["response"]["slideshow"]["author"] == "Yours Truly"
    assert send(url=f"{httpbin}/html")["response"].startswith("<!DOCTYPE html>")
    assert "∮ E⋅da = Q" in send(url=f"{httpbin}/encoding/utf8")["response"]
    assert "<svg" in send(url=f"{httpbin}/image/svg")["response"]
    for path, magic in {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "bytes/9": b""}.items():
        outputs = send(url=f"{httpbin}/{path}")
        assert outputs["response_is_binary"] is True
        assert base64.b64decode(outputs["response"], validate=True).startswith(magic)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "brotli"])
def test_encoded_bodies_are_decoded(httpbin: str, encoding: str) -> None:
    if encoding == "brotli":
        pytest.importorskip("brotlicffi")
    response = send(url=f"{httpbin}/{encoding}")["response"]
    assert response[{"gzip": "gzipped", "deflate": "deflated"}.get(encoding, encoding)] is True


def test_response_time_covers_the_whole_request(httpbin: str) -> None:
    assert 0.3 < send(url=f"{httpbin}/drip?duration=0.5&numbytes=5&delay=0")["response_time"] < 30


def test_extract_over_a_real_response(httpbin: str) -> None:
    url = f"{httpbin}/json"
    wanted = {"title": "$.slideshow.slides[1].title", "author": "slideshow.author"}
    outputs = send(url=url, extract=wanted)
    assert outputs["extracted"] == {"title": "Overview", "author": "Yours Truly"}
    assert outputs["response"] == send(url=url)["response"]
    error = failing(url=url, extract={"x": "$.slides[0]", "y": "$.slideshow.date"})
    assert isinstance(error, RuntimeValidationError)
    assert error.available == ("slideshow",)
    assert failing(url=f"{httpbin}/html", extract={"x": "$.a"}).category == "not_json"
    assert failing(url=f"{httpbin}/status/500", extract={"x": "$.a"}).category == "http_status"


@pytest.mark.parametrize("path", ["bytes/5000", "stream-bytes/5000", "gzip-bomb"])
def test_a_body_over_the_limit_stops_the_download(httpbin: str, path: str) -> None:
    if path == "gzip-bomb":
        bomb = response(gzip.compress(b"\0" * 1_000_000), "Content-Encoding: gzip")
        with ScriptedServer(bomb) as server:
            error = failing(url=server.url, max_bytes=4_999)
    else:
        assert send(url=f"{httpbin}/{path}", max_bytes=5_000)["response_is_binary"] is True
        error = failing(url=f"{httpbin}/{path}", max_bytes=4_999)
    assert error.category == "response_too_large"
    assert "more than 4999 bytes; raise max_bytes" in error.message
    assert error.outputs["status_code"] == 200
    assert error.outputs["error"] == error.message
    assert "response" not in error.outputs, "half a response is none"


def test_a_status_is_told_even_when_its_body_is_too_large() -> None:
    with ScriptedServer(response(b"x" * 1000, status="404 Nope")) as server:
        assert failing(url=server.url, max_bytes=10).category == "http_status"


# -- authentication -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "header", "value"),
    [
        ({"auth_token": "tok-123"}, "authorization", "Bearer tok-123"),
        ({"auth_token": "tok-123\n"}, "authorization", "Bearer tok-123"),
        ({"auth": {"type": "bearer", "token": "tok-123"}}, "authorization", "Bearer tok-123"),
        ({"api_key": "tok-123"}, "x-api-key", "tok-123"),
        ({"api_key": "tok-123", "api_key_header": "X-Key"}, "x-key", "tok-123"),
        ({"auth": {"type": "api_key", "key": "k", "header": "X-Key"}}, "x-key", "k"),
        ({"auth": {"type": "api_key", "key": "tok-123"}}, "x-api-key", "tok-123"),
        (
            {"auth": {"type": "basic", "username": "me", "password": "pä:ss"}},
            "authorization",
            "Basic " + base64.b64encode("me:pä:ss".encode()).decode(),
        ),
        ({"auth": {"type": "basic", "username": "sk"}}, "authorization", "Basic c2s6"),
    ],
)
def test_credentials_are_sent_as_they_should(
    params: dict[str, Any], header: str, value: str
) -> None:
    with ScriptedServer(response()) as server:
        send(url=server.url, **params)
    assert server.received[0].headers[header] == value


def test_a_user_in_the_url_is_sent_as_basic_authentication(httpbin: str) -> None:
    def address(password: str) -> str:
        return httpbin.replace("//", f"//me:{password}@") + "/basic-auth/me/p%20w"

    assert send(url=address("p%20w"))["response"]["authenticated"] is True
    error = failing(url=address("wrong-one"))
    assert (error.fault, error.category) == ("credentials", "http_status")
    assert "@" not in error.message + str(error.data) + str(error.outputs)


@pytest.mark.parametrize(
    ("path", "right", "wrong"),
    [
        (
            "basic-auth/me/word",
            {"auth": {"type": "basic", "username": "me", "password": "word"}},
            {"auth": {"type": "basic", "username": "me", "password": "other"}},
        ),
        ("bearer", {"auth_token": "some-token"}, {"api_key": "some-token"}),
    ],
)
def test_wrong_credentials_are_a_fault_of_credentials(
    httpbin: str, path: str, right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    assert send(url=f"{httpbin}/{path}", **right)["response"]["authenticated"] is True
    assert failing(url=f"{httpbin}/{path}", **wrong).fault == "credentials"


@pytest.mark.parametrize(
    "params", [{"auth_token": " "}, {"api_key": ""}, {"auth": {"type": "bearer", "token": ""}}]
)
def test_an_empty_secret_is_not_sent(params: dict[str, Any]) -> None:
    with ScriptedServer(response()) as server:
        error = failing(url=server.url, **params)
    assert (error.category, error.fault) == ("missing_secret", "credentials")
    assert server.received == []


# -- what must appear nowhere ---------------------------------------------------------------------

HIDDEN = 'sè"cret/+value'
ESCAPED = "s%C3%A8%22cret%2F%2Bvalue"


@pytest.mark.parametrize(
    "params",
    [
        {"auth_token": HIDDEN},
        {"api_key": HIDDEN, "api_key_header": "X-Whatever"},
        {"auth": {"type": "basic", "username": "me", "password": HIDDEN}},
        {"auth": {"type": "api_key", "key": HIDDEN}},
        {"headers": {"Authorization": f"Token {HIDDEN}"}},
        {"headers": {"cookie": f"theme=dark; session={HIDDEN}"}},
        {"headers": {"X-Goog-Api-Key": HIDDEN}},
        {"params": {"access_token": HIDDEN, "theme": "dark"}},
    ],
    ids=lambda params: next(iter(params)),
)
@pytest.mark.parametrize("status", ["200 OK", "401 Unauthorized"])
def test_secrets_are_scrubbed_from_what_a_server_echoes(
    params: dict[str, Any], status: str
) -> None:
    def echo(request: Received) -> bytes:
        # As received, as a reader would decode it, and in base64.
        told = {
            "line": request.line,
            "headers": {k: v.encode("latin-1").decode() for k, v in request.headers.items()},
            "theme": "dark",
        }
        encoded = base64.b64encode(json.dumps(told, ensure_ascii=False).encode()).decode()
        body = json.dumps({**told, "encoded": encoded})
        return response(body, "Content-Type: application/json", status=status)

    async def run() -> str:
        async with open_context() as context:
            try:
                told: Any = await send_within(context, url=server.url, **params)
            except NodeFailed as error:
                told = [error.message, error.outputs, error.data, error.sample]
            return json.dumps(context.redactor.redact(told), ensure_ascii=False)

    with ScriptedServer(echo) as server:
        told = asyncio.run(run())
    basic = base64.b64encode(f"me:{HIDDEN}".encode()).decode()
    for spelling in (HIDDEN, json.dumps(HIDDEN)[1:-1], ESCAPED, "cret", basic.rstrip("=")):
        assert spelling not in told
    assert '"dark"' in told, "what is no secret stays"


def test_messages_show_no_secret_of_the_url(httpbin: str) -> None:
    query = "api_key=aaaa&sig=bbbb&q=visible&next_page_token=cccc#dddd"
    error = failing(url=f"{httpbin}/status/404?{query}")
    assert "q=visible" in error.message
    assert "next_page_token=cccc" in error.message
    for hidden in ("aaaa", "bbbb", "dddd"):
        assert hidden not in error.message + str(error.data)


def test_cookies_of_one_node_are_not_sent_by_another() -> None:
    answer = response("", "Set-Cookie: session=abc; Path=/; HttpOnly", "Set-Cookie: bare")

    async def both() -> dict[str, Any]:
        async with open_context() as context:
            await send_within(context, url=server.url)
            return await send_within(context, url=server.url)

    with ScriptedServer(answer) as server:
        outputs = asyncio.run(both())
    assert "cookie" not in server.received[1].headers
    cookies = outputs["response_headers"]["set-cookie"]
    assert cookies == "session=[redacted]; Path=/; HttpOnly, [redacted]"


# -- many at once, and not before they are needed -------------------------------------------------


def test_a_run_sends_many_requests_at_once(httpbin: str) -> None:
    async def many() -> list[dict[str, Any]]:
        async with open_context() as context:
            calls = (send_within(context, url=f"{httpbin}/anything/{n}") for n in range(150))
            return await asyncio.gather(*calls)

    urls = [outputs["response"]["url"] for outputs in asyncio.run(many())]
    assert urls == [f"{httpbin}/anything/{n}" for n in range(150)]


def test_a_request_that_is_cancelled_harms_no_other() -> None:
    released = threading.Event()
    waiting = threading.Barrier(101)

    def answer(request: Received) -> bytes:
        if request.path == "/slow":
            waiting.wait(30)
            released.wait(30)
        return response()

    async def many() -> int:
        async with open_context() as context:
            # As many as there can be connections.
            slow = [
                asyncio.create_task(send_within(context, url=f"{server.url}/slow"))
                for _ in range(100)
            ]
            await asyncio.to_thread(waiting.wait, 30)
            for task in slow:
                task.cancel()
            ended = await asyncio.gather(*slow, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ended)
            outputs = await send_within(context, url=server.url, timeout=20)
            return int(outputs["status_code"])

    with ScriptedServer(answer) as server:
        try:
            assert asyncio.run(many()) == 200
        finally:
            released.set()


def test_the_interface_does_not_import_httpx() -> None:
    code = (
        "import sys; from runtrue.workflow.nodes.http import HttpNode; node = HttpNode();"
        "node.interface; list(node.check({'url': 'ftp://x'})); sys.exit('httpx2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_interface_names_all_params_and_outputs() -> None:
    interface = HttpNode().interface
    assert interface.required == ("url",)
    assert all(schema.get("description") for schema in interface.params.values())
    assert set(interface.outputs) == {
        *("response", "response_is_binary", "status_code", "response_headers", "response_time"),
        *("extracted", "error"),
    }


# -- the environment ------------------------------------------------------------------------------


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(response("proxied", "Content-Type: text/plain")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        assert send(url="http://does-not-exist.invalid/x")["response"] == "proxied"
    assert proxy.received[0].path == "http://does-not-exist.invalid/x"


def test_a_proxy_that_refuses_is_a_fault_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedServer(response(status="403 Forbidden")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("https_proxy", proxy.url)
        error = failing(url="https://does-not-exist.invalid/x")
    assert (error.category, error.fault, error.transient) == ("proxy", "environment", False)
    assert proxy.received[0].line == "CONNECT does-not-exist.invalid:443 HTTP/1.1"


@pytest.mark.parametrize("name", ["ALL_PROXY", "SSL_CERT_FILE"])
def test_settings_that_cannot_be_used_are_a_fault_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "nonsense://user:geheim@x")
    error = failing(url="http://127.0.0.1:9/")
    assert (error.category, error.fault) == ("http_settings", "environment")
    assert name in error.message
    assert "geheim" not in error.message


def test_passwords_are_not_taken_from_a_netrc_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    with ScriptedServer(response()) as server:
        send(url=server.url)
    assert "authorization" not in server.received[0].headers
