"""The `email` channel: a text with the report attached, handed to a mail server."""

from __future__ import annotations

import asyncio
import contextlib
import smtplib
import ssl
import threading
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any

from runtrue.escalation.channel import TEMPLATES, Delivery, Message
from runtrue.loop import Notification
from runtrue.secrets import secret_of

_LIMIT = 100_000
#: The receivers that a server refused, and why.
_Refused = dict[str, tuple[int, bytes]]


class EmailSender:
    """Speaks SMTP. The password comes from a variable of the environment."""

    def __init__(self, notification: Notification, environment: Mapping[str, str]) -> None:
        self._settings = notification
        self._password = secret_of(notification.smtp_password_env, environment)

    async def send(self, message: Message) -> Delivery:
        """Send the message to all receivers, or say which setting is missing."""
        if missing := self._missing():
            return Delivery.failed(missing)
        server = f"{self._settings.smtp_host}:{self._settings.smtp_port}"
        try:
            mail = self._mail(message)
        except ValueError:
            # The library refuses it as an address, or as the value of a header.
            return Delivery.failed("email_from or email_to is not an address")
        try:
            refused = await _within(self._settings.timeout, lambda: self._deliver(mail))
        except TimeoutError:
            return Delivery.failed(f"the mail server {server} did not answer in time")
        except ssl.SSLError as error:
            return Delivery.failed(f"the mail server {server} cannot be trusted ({error.reason})")
        except smtplib.SMTPAuthenticationError as error:
            return Delivery.failed(
                f"the mail server {server} refused {self._settings.smtp_user!r} "
                f"with the password in {self._settings.smtp_password_env} ({error.smtp_code})"
            )
        except smtplib.SMTPResponseException as error:
            return Delivery.failed(f"the mail server {server} refused the mail ({error.smtp_code})")
        except smtplib.SMTPNotSupportedError:
            return Delivery.failed(
                f"the mail server {server} does not offer the configured encryption or login"
            )
        except smtplib.SMTPRecipientsRefused:
            return Delivery.failed(f"the mail server {server} refused all recipients")
        except (OSError, smtplib.SMTPException) as error:
            return Delivery.failed(
                f"the mail server {server} cannot be used ({type(error).__name__})"
            )
        receivers = [address for address in self._settings.email_to if address not in refused]
        lost = f"; refused: {', '.join(refused)}" if refused else ""
        return Delivery(delivered=True, detail=f"mailed to {', '.join(receivers)}{lost}")

    def _missing(self) -> str | None:
        settings = self._settings
        for name in ("smtp_host", "email_from", "email_to"):
            if not getattr(settings, name):
                return f"mail needs {name} in [escalation.notification]"
        if settings.smtp_user and self._password is None:
            return (
                f"the password of {settings.smtp_user!r} is missing: "
                f"set the variable {settings.smtp_password_env}"
            )
        return None

    def _mail(self, message: Message) -> EmailMessage:
        mail = EmailMessage()
        mail["Subject"] = message.subject
        mail["From"] = self._settings.email_from
        mail["To"] = ", ".join(self._settings.email_to)
        mail["Date"] = formatdate(localtime=True)
        mail["Message-ID"] = make_msgid(domain="runtrue.invalid")
        mail.set_content(message.text(TEMPLATES["email"], limit=_LIMIT))
        mail.add_attachment(
            message.report.to_markdown(), subtype="markdown", filename=message.files.markdown.name
        )
        return mail

    def _deliver(self, mail: EmailMessage) -> _Refused:
        settings = self._settings
        host, port, seconds = settings.smtp_host or "", settings.smtp_port, settings.timeout
        with (
            smtplib.SMTP_SSL(host, port, timeout=seconds, context=ssl.create_default_context())
            if settings.smtp_encryption == "tls"
            else smtplib.SMTP(host, port, timeout=seconds)
        ) as server:
            if settings.smtp_encryption == "starttls":
                server.starttls(context=ssl.create_default_context())
            if settings.smtp_user:
                server.login(settings.smtp_user, self._password or "")
            return server.send_message(mail)


async def _within(seconds: float, work: Callable[[], _Refused]) -> _Refused:
    """Do blocking work in a thread that nobody waits for longer than this, not even at the end.

    The library's own limit is for each answer, and a server may give them one byte at a time.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Refused] = loop.create_future()

    def set_unless_done(setter: Callable[[Any], None], value: object) -> None:
        if not done.done():
            setter(value)

    def run() -> None:
        try:
            outcome: tuple[Callable[[Any], None], object] = (done.set_result, work())
        except Exception as error:  # raised again by the one who waits
            outcome = (done.set_exception, error)
        # The loop may be gone by now: then nobody wants to know any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(set_unless_done, *outcome)

    threading.Thread(target=run, name="runtrue-mail", daemon=True).start()
    return await asyncio.wait_for(done, seconds)
