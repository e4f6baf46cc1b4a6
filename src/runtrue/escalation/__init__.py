"""Escalations: the report of what a loop could not fix, and the channels that send it.

`report` has the facts, `markdown` their form for people, `notify` sends them. Each channel is a
module of its own; what a channel needs is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.escalation.channel import TEMPLATES, Delivery, Message, Sender
    from runtrue.escalation.files import ReportFiles, write_report
    from runtrue.escalation.notify import notify
    from runtrue.escalation.report import EscalationDetails, EscalationSubject, report_on

__all__ = lazy_exports(__name__)
