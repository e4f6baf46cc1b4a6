"""Mail to real servers: with and without encryption and login, and to those that fail."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from runtrue.escalation import Delivery, notify
from runtrue.escalation.email import EmailSender
from runtrue.loop import Notification
from tests.escalation.mail_server import HOST, Mailbox, certificate, mail_server
from tests.escalation.support import message

MAIL = Notification(
    channel="email",
    smtp_host=HOST,
    smtp_encryption="none",
    email_from="runtrue@example.org",
    email_to=("ann@example.org", "bob@example.org"),
    timeout=20,
)
PASSWORD = {"RUNTRUE_SMTP_PASSWORD": "pass word"}


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A server's certificate that this process trusts."""
    context, file = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return context


async def _send(
    settings: Notification, mailbox: Mailbox, directory: Path, **environment: str
) -> Delivery:
    settings = replace(settings, smtp_port=mailbox.port)
    return await EmailSender(settings, environment).send(message(directory, settings.template))


def test_a_mail_holds_the_sentence_and_the_report_as_an_attachment(tmp_path: Path) -> None:
    async def run() -> None:
        async with mail_server() as mailbox:
            delivery = await _send(MAIL, mailbox, tmp_path)
        assert delivery == Delivery(
            delivered=True, detail="mailed to ann@example.org, bob@example.org"
        )
        (mail,) = mailbox.mails
        assert mailbox.receivers == ["ann@example.org", "bob@example.org"]
        assert mail["From"] == "runtrue@example.org"
        assert mail["Subject"] == f"{tmp_path.name}: max attempts reached (run 0198-run)"
        assert mail["Message-ID"]
        assert mail["Date"]
        body = mail.get_body()
        assert body is not None
        assert "After 2 attempts 1 failure is left" in body.get_content()
        assert "runtrue runs resume 0198-run" in body.get_content()
        (attached,) = mail.iter_attachments()
        assert attached.get_content_type() == "text/markdown"
        assert attached.get_filename() == "max_attempts_reached-2-1.md"
        assert "## Stack traces" in attached.get_content()

    asyncio.run(run())


def test_a_login_is_made_once_the_connection_is_encrypted(
    trusted: ssl.SSLContext, tmp_path: Path
) -> None:
    async def run() -> None:
        async with mail_server(starttls=trusted, login="ann:pass word") as mailbox:
            settings = replace(MAIL, smtp_encryption="starttls", smtp_user="ann")
            delivery = await _send(settings, mailbox, tmp_path, **PASSWORD)
        assert delivery.delivered, delivery
        assert mailbox.users == [b"ann"]
        assert len(mailbox.mails) == 1

    asyncio.run(run())


def test_a_connection_can_be_encrypted_from_the_first_byte(
    trusted: ssl.SSLContext, tmp_path: Path
) -> None:
    async def run() -> None:
        async with mail_server(tls=trusted) as mailbox:
            settings = replace(MAIL, smtp_encryption="tls")
            delivery = await _send(settings, mailbox, tmp_path)
        assert delivery.delivered, delivery
        assert len(mailbox.mails) == 1

    asyncio.run(run())


def test_a_server_that_nobody_vouches_for_gets_no_password(tmp_path: Path) -> None:
    context, _ = certificate(tmp_path)

    async def run() -> None:
        async with mail_server(starttls=context, login="ann:pass word") as mailbox:
            settings = replace(MAIL, smtp_encryption="starttls", smtp_user="ann")
            delivery = await _send(settings, mailbox, tmp_path, **PASSWORD)
        assert not delivery.delivered
        assert "cannot be trusted (CERTIFICATE_VERIFY_FAILED)" in delivery.detail
        assert mailbox.users == []

    asyncio.run(run())


def test_a_refused_login_names_the_variable_and_not_the_password(
    trusted: ssl.SSLContext, tmp_path: Path
) -> None:
    async def run() -> None:
        async with mail_server(starttls=trusted, login="ann:other") as mailbox:
            settings = replace(MAIL, smtp_encryption="starttls", smtp_user="ann")
            delivery = await _send(settings, mailbox, tmp_path, **PASSWORD)
        assert not delivery.delivered
        assert "refused 'ann' with the password in RUNTRUE_SMTP_PASSWORD (535)" in delivery.detail
        assert "pass word" not in delivery.detail

    asyncio.run(run())


def test_encryption_that_a_server_does_not_offer_is_not_done_without(tmp_path: Path) -> None:
    async def run() -> None:
        async with mail_server() as mailbox:
            settings = replace(MAIL, smtp_encryption="starttls")
            delivery = await _send(settings, mailbox, tmp_path)
        assert not delivery.delivered
        assert "does not offer the configured encryption" in delivery.detail
        assert mailbox.mails == []

    asyncio.run(run())


@pytest.mark.parametrize(
    ("unknown", "delivered", "detail"),
    [
        (("bob@example.org",), True, "mailed to ann@example.org; refused: bob@example.org"),
        (MAIL.email_to, False, "refused all recipients"),
    ],
)
def test_refused_receivers_are_named(
    unknown: tuple[str, ...], delivered: bool, detail: str, tmp_path: Path
) -> None:
    async def run() -> None:
        async with mail_server() as mailbox:
            mailbox.unknown = unknown
            delivery = await _send(MAIL, mailbox, tmp_path)
        assert delivery.delivered is delivered
        assert detail in delivery.detail

    asyncio.run(run())


def test_a_refused_mail_is_told_by_its_code(tmp_path: Path) -> None:
    async def run() -> None:
        async with mail_server() as mailbox:
            mailbox.answer = "552 too large"
            delivery = await _send(MAIL, mailbox, tmp_path)
        assert not delivery.delivered
        assert "refused the mail (552)" in delivery.detail

    asyncio.run(run())


@pytest.mark.parametrize(
    ("missing", "detail"),
    [
        ({"smtp_host": None}, "mail needs smtp_host in [escalation.notification]"),
        ({"email_from": None}, "mail needs email_from"),
        ({"email_to": ()}, "mail needs email_to"),
        ({"smtp_user": "ann"}, "set the variable RUNTRUE_SMTP_PASSWORD"),
        ({"email_to": ("a@example.org\nBcc: b@example.org",)}, "is not an address"),
    ],
)
def test_a_setting_that_is_missing_or_wrong_is_named(
    missing: dict[str, object], detail: str, tmp_path: Path
) -> None:
    settings = replace(MAIL, **missing)  # type: ignore[arg-type]
    delivery = asyncio.run(EmailSender(settings, {}).send(message(tmp_path)))
    assert not delivery.delivered
    assert detail in delivery.detail


def test_a_closed_port_is_a_failure_and_not_an_exception(tmp_path: Path) -> None:
    async def run() -> None:
        async with mail_server() as mailbox:
            pass
        delivery = await _send(MAIL, mailbox, tmp_path)
        assert not delivery.delivered
        assert "cannot be used (ConnectionRefusedError)" in delivery.detail

    asyncio.run(run())


def test_a_server_that_drips_its_greeting_is_given_up_in_time(tmp_path: Path) -> None:
    """Each byte comes within the library's limit, the whole never does."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):
            while True:
                writer.write(b"2")
                await writer.drain()
                await asyncio.sleep(0.02)

    async def run() -> None:
        server = await asyncio.start_server(drip, HOST, 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            settings = replace(MAIL, smtp_port=port, timeout=0.3)
            sent = message(tmp_path)
            notice = await notify(settings, sent.report, sent.files, {})
            assert not notice.delivered
            assert "did not answer in time" in notice.detail

    asyncio.run(run())
