"""Channels: the message that each of them gets, and the delivery that it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Protocol

from runtrue.escalation.files import ReportFiles
from runtrue.escalation.report import EscalationDetails
from runtrue.foreign_text import cut, visible

#: What each channel says, where nobody has worded it otherwise.
TEMPLATES: dict[str, str] = {
    "cli": "escalated: $why\n  $answer\n  report: $path",
    "issue_comment": "$report",
    "slack": "*Escalated: $condition*\n$why\n$answer.\nReport: `$path`",
    "email": "$why\n\n$answer.\n\nThe report is attached, and is in $path\n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The outcome of sending a message, with the details in one sentence."""

    delivered: bool
    detail: str

    @classmethod
    def failed(cls, detail: str) -> Delivery:
        """Return a delivery that did not succeed."""
        return cls(delivered=False, detail=detail)


class Sender(Protocol):
    """One channel."""

    async def send(self, message: Message) -> Delivery:
        """Deliver a message, or say why it cannot be delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A report on its way. `template` is the user's own wording, if there is one."""

    report: EscalationDetails
    files: ReportFiles
    template: str | None = None

    @property
    def subject(self) -> str:
        """The subject in one line."""
        project = Path(self.report.project).name or self.report.project
        line = f"{project}: {self.report.condition.replace('_', ' ')} (run {self.report.run_id})"
        return " ".join(line.split())

    def text(self, default: str, *, limit: int, escape: Callable[[str], str] = str) -> str:
        """Return the message in the user's or the channel's wording, at most `limit` characters.

        The values, unlike the wording, are escaped for the channel.
        """
        wording = Template(self.template if self.template is not None else default)
        report = self.report
        values = {
            "condition": report.condition.value,
            "action": report.action.value,
            "title": report.title,
            "run_id": report.run_id,
            "why": report.why,
            "answer": report.answer,
            "path": str(self.files.markdown),
        }
        values = {name: escape(visible(value)) for name, value in values.items()}
        room = limit - len(wording.safe_substitute(values, report=""))
        text = wording.safe_substitute(values, report=escape(report.to_markdown(limit=room)))
        return cut(text, limit)
