"""Redirects, retries and failures on the wire, with servers that misbehave to order."""

from __future__ import annotations

import datetime
import gzip
import ipaddress
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.workflow.httpbin_server import httpbin_fixture  # noqa: F401
from tests.workflow.nodes.scripted_server import RESET, Received, ScriptedServer, response
from tests.workflow.nodes.sending import failing, send

NOWHERE = "http://does-not-exist.invalid/x"


def moved(location: str, status: int = 302, *headers: str) -> bytes:
    return response("", f"Location: {location}", *headers, status=f"{status} Moved")


# -- redirects ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["relative-redirect/2", "absolute-redirect/2", "redirect/10", "redirect-to?url=/get"]
)
def test_redirects_are_followed(httpbin: str, path: str) -> None:
    assert send(url=f"{httpbin}/{path}")["response"]["url"] == f"{httpbin}/get"


def test_no_more_than_ten_redirects_are_followed(httpbin: str) -> None:
    error = failing(url=f"{httpbin}/redirect/11")
    assert (error.category, error.fault) == ("redirect", "environment")
    assert error.message.endswith("more than 10 redirects")


@pytest.mark.parametrize(
    ("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")]
)
def test_a_redirect_keeps_the_body_where_it_keeps_the_method(
    httpbin: str, status: int, method: str
) -> None:
    url = f"{httpbin}/redirect-to?url=/anything&status_code={status}"
    got = send(url=url, json={"a": 1})["response"]
    assert (got["method"], got["json"]) == (method, {"a": 1} if method == "POST" else None)


def test_cookies_that_are_set_on_the_way_count_on_the_way(httpbin: str) -> None:
    got = send(url=f"{httpbin}/cookies/set?theme=dark")["response"]
    assert got == {"cookies": {"theme": "dark"}}


CREDENTIALS: list[dict[str, Any]] = [
    {"auth_token": "tok-1234"},
    {"auth": {"type": "basic", "username": "me", "password": "tok-1234"}},
    {"api_key": "tok-1234"},
    {"auth": {"type": "api_key", "key": "tok-1234", "header": "X-Other"}},
    {"headers": {"Cookie": "session=tok-1234"}},
    {"headers": {"X-Custom": "tok-1234"}},
]


def _sent(received: Received, params: dict[str, Any]) -> bool:
    marks = ("tok-1234", "bWU6dG9rLTEyMzQ=")
    return any(mark in value for mark in marks for value in received.headers.values())


@pytest.mark.parametrize("params", CREDENTIALS)
def test_credentials_go_on_within_an_origin_and_never_to_another(params: dict[str, Any]) -> None:
    def to_other(request: Received) -> bytes:
        return moved("/second") if request.path == "/first" else moved(f"{other.url}/third")

    def and_back(request: Received) -> bytes:
        return moved(f"{last.url}/fourth")

    with (
        ScriptedServer(response()) as last,
        ScriptedServer(and_back) as other,
        ScriptedServer(to_other) as server,
    ):
        send(url=f"{server.url}/first", **params)
    assert [_sent(request, params) for request in server.received] == [True, True]
    assert [_sent(request, params) for request in other.received] == [False]
    assert [_sent(request, params) for request in last.received] == [False]
    assert other.received[0].headers["host"] == f"127.0.0.1:{other.port}"
    assert other.received[0].headers["accept"] == "*/*"


def test_the_same_port_of_another_host_is_another_origin() -> None:
    with ScriptedServer(
        lambda r: response() if r.path == "/b" else moved(f"http://localhost:{server.port}/b")
    ) as server:
        send(url=f"{server.url}/a", api_key="tok-1234")
    assert ["x-api-key" in got.headers for got in server.received] == [True, False]


def test_a_body_with_a_secret_in_it_does_not_go_to_another_origin() -> None:
    secret = {"json": {"password": "tok-1234"}, "headers": {"X-Api-Key": "tok-1234"}}
    with (
        ScriptedServer(response()) as other,
        ScriptedServer(lambda _: moved(other.url, 307)) as server,
    ):
        error = failing(url=server.url, **secret)
        assert other.received == []
        send(url=server.url, json={"harmless": 1}, headers={"X-Api-Key": "tok-1234"})
    assert error.category == "redirect"
    assert "a secret" in error.message
    assert other.received[0].body == b'{"harmless":1}'


@pytest.mark.parametrize(
    "location",
    [
        *("ftp://x/y", "javascript:alert(1)", "http://x:99999/", "http://x..y/", "http://[::1/"),
        *("http://x:y/", f"http://{'x' * 64}.org/", f"/{'x' * 70_000}", f"?{'x' * 65_530}"),
    ],
)
def test_a_redirect_that_leads_nowhere_is_told(location: str) -> None:
    with ScriptedServer(moved(location)) as server:
        error = failing(url=server.url)
    assert (error.category, error.fault, error.transient) == ("redirect", "environment", False)
    assert len(error.message) < 700
    assert len(server.received) == 1


# -- retries --------------------------------------------------------------------------------------


def dropping(first: int) -> Callable[[Received], bytes]:
    """An answer that comes only after so many connections were dropped without one."""
    left = [b""] * first
    return lambda _: left.pop() if left else response("here")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])
def test_a_dropped_connection_is_tried_again(method: str) -> None:
    with ScriptedServer(dropping(2)) as server:
        started = time.monotonic()
        assert send(url=server.url, method=method)["status_code"] == 200
        assert time.monotonic() - started >= 0.2 + 0.4
    assert len(server.received) == 3


@pytest.mark.parametrize(
    ("params", "sent"),
    [({}, 3), ({"retries": 0}, 1), ({"method": "POST"}, 1), ({"method": "PATCH"}, 1)],
)
def test_retries_are_bounded_and_only_for_what_can_be_repeated(
    params: dict[str, Any], sent: int
) -> None:
    with ScriptedServer(dropping(9)) as server:
        error = failing(url=server.url, **params)
    assert (error.category, error.transient) == ("connection", True)
    assert len(server.received) == sent


def test_the_time_limit_is_for_all_tries_together() -> None:
    with ScriptedServer(dropping(99)) as server:
        error = failing(url=server.url, retries=10, timeout=0.5)
    assert error.category == "timeout"
    assert len(server.received) <= 3


# -- no answer ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["delay/5", "drip?duration=5&numbytes=50&delay=0"])
def test_the_time_limit_is_for_the_whole_answer(httpbin: str, path: str) -> None:
    error = failing(url=f"{httpbin}/{path}", timeout=0.4)
    assert (error.category, error.fault, error.transient) == ("timeout", "environment", True)
    assert error.message == f"GET {httpbin}/{path} was not answered within 0.4 s"
    assert error.outputs == {"error": error.message}


@pytest.mark.parametrize(
    ("answer", "category", "transient", "said"),
    [
        (b"", "connection", True, "closed without a response"),
        (RESET, "connection", True, "failed: "),
        (b"220 ready\r\n\r\n", "protocol", True, "not HTTP"),
        (response("half", length=100), "protocol", True, "or incomplete"),
        (response("no gzip", "Content-Encoding: gzip"), "protocol", False, "not encoded"),
    ],
)
def test_what_is_no_answer_is_told_by_its_kind(
    answer: bytes, category: str, transient: bool, said: str
) -> None:
    with ScriptedServer(answer) as server:
        error = failing(url=f"{server.url}/x?token=hidden", retries=0)
    assert (error.category, error.transient) == (category, transient)
    assert error.fault == "environment"
    assert said in error.message
    assert "hidden" not in error.message
    assert error.outputs == {"error": error.message}
    assert error.__cause__ is None, "an exception of httpx2 carries the request with it"


def test_a_refused_connection_is_told() -> None:
    with ScriptedServer(b"") as server:
        pass
    error = failing(url=server.url, retries=0)
    assert (error.category, error.fault, error.transient) == ("connection", "environment", True)
    assert error.message == f"GET {server.url} failed: connection refused"


def test_a_host_that_nobody_knows_is_told() -> None:
    error = failing(url="http://me:hidden@does-not-exist.invalid/x", retries=0)
    assert (error.category, error.fault) == ("dns", "environment")
    assert error.message == f"GET {NOWHERE} failed: its host name could not be resolved"


def test_what_happened_before_does_not_change_what_is_told() -> None:
    with ScriptedServer(b"") as server:
        try:
            raise ssl.SSLError("handled elsewhere")
        except ssl.SSLError:
            assert failing(url=server.url, retries=0).category == "connection"


def test_an_encoded_answer_is_read_whole() -> None:
    text = "x" * 300_000
    packed = response(gzip.compress(text.encode()), "Content-Encoding: gzip")
    with ScriptedServer(packed) as server:
        assert send(url=server.url)["response"] == text


# -- certificates ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's side of TLS with a certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    file.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(file))
    return context


def test_a_certificate_that_nobody_vouches_for_is_refused_unless_asked(
    self_signed: ssl.SSLContext,
) -> None:
    with ScriptedServer(response("secure"), tls=self_signed) as server:
        error = failing(url=server.url)
        assert (error.category, error.fault, error.transient) == ("tls", "environment", False)
        assert "self-signed certificate" in error.message
        assert send(url=server.url, verify=False)["response_is_binary"] is False
    assert [got.line for got in server.received if got.line] == ["GET / HTTP/1.1"]


def test_tls_with_a_server_that_has_none_is_told(httpbin: str) -> None:
    error = failing(url=httpbin.replace("http:", "https:"))
    assert (error.category, error.fault, error.transient) == ("tls", "environment", False)
