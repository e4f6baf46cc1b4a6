"""A real mail server on loopback, with encryption and a login where a test wants them."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import email.policy
import ipaddress
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


@dataclass
class Mailbox:
    """What arrived, and under whose name."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    receivers: list[str] = field(default_factory=list)
    users: list[bytes] = field(default_factory=list)
    #: Addresses that nobody has here.
    unknown: tuple[str, ...] = ()
    #: What it says to a mail that it has been given.
    answer: str = "250 OK"

    async def handle_RCPT(  # noqa: N802 - the library calls it so
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.unknown:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - the library calls it so
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        mail = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.receivers += envelope.rcpt_tos
        return self.answer


@contextlib.asynccontextmanager
async def mail_server(
    *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, login: str = ""
) -> AsyncIterator[Mailbox]:
    """A server in the running loop; with `login` (`user:password`) nobody else is let in."""
    mailbox = Mailbox()

    def authenticate(
        server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        mailbox.users.append(data.login)
        right = b":".join((data.login, data.password)) == login.encode()
        return AuthResult(success=right, handled=right)

    def serve() -> SMTP:
        return SMTP(
            mailbox,
            hostname=HOST,
            tls_context=starttls,
            require_starttls=starttls is not None,
            authenticator=authenticate if login else None,
            auth_required=bool(login),
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(serve, HOST, 0, ssl=tls)
    async with server:
        mailbox.port = server.sockets[0].getsockname()[1]
        yield mailbox


def certificate(directory: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS, and the certificate that one must trust to trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    trusted, both = directory / "trusted.pem", directory / "server.pem"
    pem = made.public_bytes(serialization.Encoding.PEM)
    trusted.write_bytes(pem)
    both.write_bytes(
        pem
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context, trusted
