"""The `slack` channel: one message to an incoming webhook, whose address is a secret."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from runtrue.escalation.channel import TEMPLATES, Delivery, Message
from runtrue.loop import Notification
from runtrue.secrets import secret_of

#: What Slack shows without splitting it into several messages.
_LIMIT = 4_000
_SAID = 100


class SlackSender:
    """Posts to the webhook in a variable of the environment."""

    def __init__(self, notification: Notification, environment: Mapping[str, str]) -> None:
        self._variable = notification.slack_url_env
        self._url = secret_of(notification.slack_url_env, environment)
        self._timeout = notification.timeout

    async def send(self, message: Message) -> Delivery:
        """Post the message. The URL is a secret, so no message of the library is passed on."""
        import httpx2

        if not self._url:
            return Delivery.failed(
                f"there is no webhook for Slack: set the variable {self._variable}"
            )
        body = {"text": message.text(TEMPLATES["slack"], limit=_LIMIT, escape=_escape)}
        try:
            async with (
                asyncio.timeout(self._timeout),
                httpx2.AsyncClient(timeout=self._timeout) as client,
            ):
                response = await client.post(self._url, json=body)
        except (TimeoutError, httpx2.TimeoutException):
            return Delivery.failed(f"Slack did not answer within {self._timeout:g} s")
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL):
            return Delivery.failed(f"{self._variable} is not the URL of a webhook")
        except httpx2.HTTPError as error:
            return Delivery.failed(f"Slack cannot be reached ({type(error).__name__})")
        if response.is_success:
            return Delivery(delivered=True, detail="Slack accepted the message")
        said = " ".join(response.text.split())[:_SAID]
        return Delivery.failed(
            f"Slack answered with status {response.status_code}: {said}".rstrip(": ")
        )


def _escape(text: str) -> str:
    """Escape what Slack would take for markup: links, and mentions of everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
