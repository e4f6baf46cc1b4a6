"""Notify people of an escalation. If that fails, the report stays where it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from runtrue.escalation.channel import TEMPLATES, Delivery, Message, Sender
from runtrue.escalation.files import ReportFiles
from runtrue.escalation.report import EscalationDetails
from runtrue.foreign_text import visible
from runtrue.loop import CHANNELS, Notice, Notification
from runtrue.plugins import PluginGroup, plugin_named


async def notify(
    notification: Notification,
    report: EscalationDetails,
    files: ReportFiles,
    environment: Mapping[str, str],
) -> Notice:
    """Send a report that is in `files`. Never raises: the notice says whether it failed.

    `environment` is the user's own, with what channels need: PATH, webhook, password.
    """
    notification = notification.resolved(environment)
    message = Message(report=report, files=files, template=notification.template)
    try:
        delivery = await _sender(notification, environment).send(message)
    except Exception as error:  # whatever a channel does, the loop goes on with its report
        delivery = Delivery.failed(
            f"the channel {notification.channel} broke ({type(error).__name__})"
        )
    return Notice(
        report=str(files.markdown),
        channel=notification.channel or "cli",
        delivered=delivery.delivered,
        detail=delivery.detail,
    )


class _CliSender:
    """Prints to standard error: anyone who runs the command reads it beside the results."""

    async def send(self, message: Message) -> Delivery:
        # A terminal takes everything; people do not.
        text = message.text(TEMPLATES["cli"], limit=20_000)
        sys.stderr.write(f"{visible(text)}\n")
        sys.stderr.flush()
        return Delivery(delivered=True, detail="printed on stderr")


def _sender(notification: Notification, environment: Mapping[str, str]) -> Sender:
    if (plugin := _plugin(notification.channel)) is not None:
        made: Sender = plugin(notification, environment)
        return made
    match notification.channel:
        case "issue_comment":
            from runtrue.escalation.issue_comment import IssueCommentSender

            return IssueCommentSender(notification, environment)
        case "slack":
            from runtrue.escalation.slack import SlackSender

            return SlackSender(notification, environment)
        case "email":
            from runtrue.escalation.email import EmailSender

            return EmailSender(notification, environment)
        case _:
            return _CliSender()


def _plugin(channel: str | None) -> type[Any] | None:
    if channel is None or channel in CHANNELS:
        return None
    return plugin_named(PluginGroup.NOTIFIERS, channel, Sender)
