"""Escalations: the report of what a loop could not fix, and the channels that send it.

`report` has the facts, `markdown` their form for people, `notify` sends them. Each channel is a
module of its own; what a channel needs is imported when it is used.
"""

from runtrue.escalation.channel import Delivery, Message
from runtrue.escalation.files import ReportFiles, write_report
from runtrue.escalation.notify import notify
from runtrue.escalation.report import EscalationDetails, EscalationSubject, report_on

__all__ = [
    "Delivery",
    "EscalationDetails",
    "EscalationSubject",
    "Message",
    "ReportFiles",
    "notify",
    "report_on",
    "write_report",
]
