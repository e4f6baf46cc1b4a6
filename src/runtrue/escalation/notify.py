"""Telling of an escalation. Whatever goes wrong with that, the report stays where it is."""

from __future__ import annotations

from collections.abc import Mapping

from runtrue.escalation.channel import Delivery, Message, Sender
from runtrue.escalation.files import ReportFiles
from runtrue.escalation.report import EscalationReport
from runtrue.loop import Notice, Notification


async def notify(
    notification: Notification,
    report: EscalationReport,
    files: ReportFiles,
    environment: Mapping[str, str],
) -> Notice:
    """Tell of a report that lies in `files`. Never raises: a failure to tell is in the notice.

    `environment` is the user's own, with what channels need: PATH, webhook, password.
    """
    message = Message(report=report, files=files, template=notification.template)
    try:
        delivery = await _sender(notification, environment).send(message)
    except Exception as error:  # whatever a channel does, the loop goes on with its report
        why = f"the channel {notification.channel} broke ({type(error).__name__})"
        delivery = Delivery(delivered=False, detail=why)
    return Notice(
        report=str(files.markdown),
        channel=notification.channel,
        delivered=delivery.delivered,
        detail=delivery.detail,
    )


def _sender(notification: Notification, environment: Mapping[str, str]) -> Sender:
    match notification.channel:
        case "cli":
            from runtrue.escalation.cli import CliSender

            return CliSender()
        case "issue_comment":
            from runtrue.escalation.issue_comment import IssueCommentSender

            return IssueCommentSender(notification, environment)
        case "slack":
            from runtrue.escalation.slack import SlackSender

            return SlackSender(notification, environment)
        case "email":
            from runtrue.escalation.email import EmailSender

            return EmailSender(notification, environment)
