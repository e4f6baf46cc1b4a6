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

from runtrue.escalation.channel import Delivery, Message
from runtrue.loop import Notification
from runtrue.secrets import secret_of

_TEXT = "$why\n\n$answer.\n\nThe report is attached, and lies in $path\n"
_LIMIT = 100_000


class EmailSender:
    """Speaks SMTP. The password comes from a variable of the environment."""

    def __init__(self, notification: Notification, environment: Mapping[str, str]) -> None:
        self._settings = notification
        self._password = secret_of(notification.smtp_password_env, environment)

    async def send(self, message: Message) -> Delivery:
        """Send the message to all receivers, or say which setting is missing."""
        if missing := self._missing():
            return _failed(missing)
        server = f"{self._settings.smtp_host}:{self._settings.smtp_port}"
        try:
            mail = self._mail(message)
        except ValueError:
            # What the library does not take as an address, or as the name of a header.
            return _failed("email_from or email_to is not an address")
        try:
            refused = await _within(self._settings.timeout, lambda: self._deliver(mail))
        except TimeoutError:
            return _failed(f"the mail server {server} did not answer in time")
        except ssl.SSLError as error:
            return _failed(f"the mail server {server} cannot be trusted ({error.reason})")
        except smtplib.SMTPAuthenticationError as error:
            return _failed(
                f"the mail server {server} refused {self._settings.smtp_user!r} "
                f"with the password in {self._settings.smtp_password_env} ({error.smtp_code})"
            )
        except smtplib.SMTPResponseException as error:
            return _failed(f"the mail server {server} refused the mail ({error.smtp_code})")
        except smtplib.SMTPNotSupportedError:
            return _failed(
                f"the mail server {server} does not offer the encryption or the login that is set"
            )
        except smtplib.SMTPRecipientsRefused:
            return _failed(f"the mail server {server} refused all receivers")
        except (OSError, smtplib.SMTPException) as error:
            return _failed(f"the mail server {server} cannot be used ({type(error).__name__})")
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
        mail.set_content(message.text(_TEXT, limit=_LIMIT))
        mail.add_attachment(
            message.report.to_markdown(), subtype="markdown", filename=message.files.markdown.name
        )
        return mail

    def _deliver(self, mail: EmailMessage) -> dict[str, tuple[int, bytes]]:
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


async def _within(
    seconds: float, work: Callable[[], dict[str, tuple[int, bytes]]]
) -> dict[str, tuple[int, bytes]]:
    """Do blocking work in a thread that nobody waits for longer than this, not even at the end.

    The library's own limit is for each answer, and a server may give them one byte at a time.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[dict[str, tuple[int, bytes]]] = loop.create_future()

    def settle(result: dict[str, tuple[int, bytes]] | None, error: Exception | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result or {})

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except Exception as error:  # handed over to who waits
            failure = error
        # The loop may be gone by now: then nobody wants to know any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="runtrue-mail", daemon=True).start()
    return await asyncio.wait_for(done, seconds)


def _failed(detail: str) -> Delivery:
    return Delivery(delivered=False, detail=detail)
