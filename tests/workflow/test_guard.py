"""Guarded connections: which of a host's addresses is taken, and what else stays as it was."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpcore2
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from runtrue.addresses import Allowed
from runtrue.workflow.guard import GuardedNetwork, _first, translated_errors
from tests.workflow.nodes.scripted_server import ScriptedServer, response
from tests.workflow.nodes.sending import failing, open_context, send, send_within

# -- several addresses ----------------------------------------------------------------------------


@dataclass
class Stream(httpcore2.AsyncNetworkStream):
    """A connection that only knows where it leads."""

    address: str
    closed: bool = False

    async def aclose(self) -> None:
        self.closed = True


def first(addresses: list[str], connect: Callable[[str], Awaitable[Stream]]) -> Stream:
    return asyncio.run(_first(addresses, connect))


def test_the_first_address_that_answers_is_taken() -> None:
    tried = []

    async def connect(address: str) -> Stream:
        tried.append(address)
        if address != "c":
            raise OSError(address)
        return Stream(address)

    assert first(["a", "b", "c", "d"], connect).address == "c"
    assert tried == ["a", "b", "c"]


def test_an_address_that_does_not_answer_holds_up_no_other() -> None:
    ended = []

    async def connect(address: str) -> Stream:
        if address == "silent":
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(address)
        return Stream(address)

    assert first(["silent", "b"], connect).address == "b"
    assert ended == ["silent"]


def test_a_connection_that_comes_too_late_is_closed() -> None:
    late = Stream("late")

    async def connect(address: str) -> Stream:
        if address != "late":
            return Stream(address)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return late  # it was made at the very moment
        raise AssertionError

    assert first(["late", "b"], connect).address == "b"
    assert late.closed


def test_where_nobody_answers_the_first_reason_is_told() -> None:
    async def connect(address: str) -> Stream:
        raise OSError(address)

    with pytest.raises(OSError, match="a"):
        first(["a", "b"], connect)


def test_giving_up_ends_all_that_was_tried() -> None:
    begun, ended = [], []

    async def give_up() -> None:
        all_begun = asyncio.Event()

        async def connect(address: str) -> Stream:
            begun.append(address)
            if len(begun) == 2:
                all_begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(address)
            raise AssertionError

        task = asyncio.ensure_future(_first(["a", "b"], connect))
        await all_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert sorted(ended) == begun == ["a", "b"]


# -- what stays as it was -------------------------------------------------------------------------


@pytest.fixture
def leads_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has all names lead to this machine, by addresses of which the first answers nobody."""
    asked = []

    def look_up(host: str, port: int, *_: Any, **__: Any) -> Any:
        asked.append(host)
        places = [("127.0.0.2", port), ("127.0.0.1", port)]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def test_a_host_is_reached_at_the_address_that_answers(leads_here: list[str]) -> None:
    with ScriptedServer(response("here", "Content-Type: text/plain")) as server:
        assert send(url=f"http://api.example:{server.port}/")["response"] == "here"
    assert leads_here == ["api.example"]


class Keeping(BaseHTTPRequestHandler):
    """Answers with nothing, and keeps the connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_a_connection_that_is_kept_is_not_looked_up_again(leads_here: list[str]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Keeping) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()

        async def thrice() -> None:
            async with open_context() as context:
                for _ in range(3):
                    url = f"http://api.example:{server.server_address[1]}/"
                    assert (await send_within(context, url=url))["status_code"] == 204

        try:
            asyncio.run(thrice())
        finally:
            server.shutdown()
            thread.join()
    assert leads_here == ["api.example"]


def test_a_certificate_is_asked_of_the_name_not_of_the_address(
    leads_here: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = certified("api.example", tmp_path / "server.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    named: list[str | None] = []
    tls.sni_callback = lambda _, name, __: named.append(name)
    with ScriptedServer(response("here", "Content-Type: text/plain"), tls=tls) as server:
        assert send(url=f"https://api.example:{server.port}/")["response"] == "here"
        other = failing(url=f"https://other.example:{server.port}/")
    assert other.category == "tls"
    assert named == ["api.example", "other.example"]


def certified(name: str, file: Path) -> ssl.SSLContext:
    """A server's side of TLS, with a certificate for a name that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def test_the_time_to_connect_counts_looking_up_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    async def connect() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", never)
        await GuardedNetwork(Allowed()).connect_tcp("x.example", 80, timeout=0.01)

    with pytest.raises(httpcore2.ConnectTimeout):
        asyncio.run(connect())


def test_sockets_of_the_machine_are_not_connected_to() -> None:
    with pytest.raises(httpcore2.UnsupportedProtocol):
        asyncio.run(GuardedNetwork(Allowed()).connect_unix_socket("/run/docker.sock"))


@pytest.mark.parametrize(
    "name",
    [
        *("ConnectError", "ConnectTimeout", "ReadError", "ReadTimeout", "WriteError"),
        *("WriteTimeout", "PoolTimeout", "NetworkError", "ProxyError", "UnsupportedProtocol"),
        *("LocalProtocolError", "RemoteProtocolError", "ProtocolError", "TimeoutException"),
    ],
)
def test_what_goes_wrong_below_is_told_as_httpx_tells_it(name: str) -> None:
    below = getattr(httpcore2, name)("why")
    with pytest.raises(getattr(httpx2, name), match="why") as caught, translated_errors():
        raise below
    assert caught.value.__cause__ is below
