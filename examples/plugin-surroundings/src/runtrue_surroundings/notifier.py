"""A channel: escalations are written into a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtrue.escalation import Delivery, Message
from runtrue.loop import Notification


class LogbookSender:
    """Appends each message to the file that the variable LOGBOOK names."""

    def __init__(self, settings: Notification, environment: Mapping[str, str]) -> None:
        self._file = environment.get("LOGBOOK")

    async def send(self, message: Message) -> Delivery:
        """Write the message, or say why that is not possible."""
        if not self._file:
            return Delivery.failed("LOGBOOK names no file")
        append(Path(self._file), message.text("$why ($run_id)", limit=2_000))
        return Delivery(delivered=True, detail=f"written to {self._file}")


def append(file: Path, text: str) -> None:
    """Add a line to a file."""
    with file.open("a", encoding="utf-8") as logbook:
        logbook.write(f"{text}\n")
