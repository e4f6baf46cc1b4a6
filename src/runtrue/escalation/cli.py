"""The `cli` channel: anyone who runs the command reads it, on stderr beside the results."""

from __future__ import annotations

import sys

from runtrue.escalation.channel import Delivery, Message

_TEXT = "escalated: $why\n  $answer\n  report: $path"
#: A terminal takes everything; people do not.
_LIMIT = 20_000


class CliSender:
    """Prints to standard error."""

    async def send(self, message: Message) -> Delivery:
        """Print the message."""
        sys.stderr.write(message.text(_TEXT, limit=_LIMIT) + "\n")
        sys.stderr.flush()
        return Delivery(delivered=True, detail="printed on stderr")
