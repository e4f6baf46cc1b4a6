"""Connections: requests to a process that tries candidates, and its answers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from typing import Any

#: How long a server may be silent beyond the time that a trial can take.
_SLACK_SECONDS = 5.0
#: One line may hold the text of a program, or all lines that the tests ran.
LONGEST_LINE = 256 * 1024 * 1024

Message = dict[str, Any]
_LOST: Message = {"end": "died", "at": -1, "detail": "the process that runs candidates ended"}


class Connection:
    """The connection to one server. Each request has a number, which its answers carry."""

    def __init__(
        self, hello: Message, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.hello = hello
        self.lost = asyncio.Event()
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._asked: dict[int, tuple[asyncio.Future[Message], Callable[[Message], None] | None]]
        self._asked = {}

    @property
    def pid(self) -> int:
        """The process at the other end."""
        return int(self.hello["pid"])

    async def listen(self, other: Callable[[Message], None]) -> None:
        """Read until the connection ends; `other` gets what is no answer."""
        try:
            while line := await self._reader.readline():
                message = json.loads(line)
                number = message.pop("id", None)
                future, listener = self._asked.get(number, (None, None))
                if number is None:
                    other(message)
                elif future is None or future.done():
                    continue
                elif "end" in message:
                    future.set_result(message)
                elif listener is not None:
                    listener(message)
        except (OSError, ValueError):
            pass
        finally:
            self.lost.set()
            for future, _ in self._asked.values():
                if not future.done():
                    future.set_result(_LOST)
            self._writer.close()

    def tell(self, message: Message) -> None:
        """Send a message that is not answered."""
        if not self.lost.is_set():
            with contextlib.suppress(OSError, RuntimeError):
                self._writer.write(json.dumps(message).encode() + b"\n")

    async def ask(
        self, message: Message, listener: Callable[[Message], None] | None = None
    ) -> Message:
        """Send a request and return the end of its answer; `listener` gets what comes before it.

        `total` in the message is how long it may take. Where the server is gone, the answer is that
        the process died.
        """
        if self.lost.is_set():
            return _LOST
        number = next(self._numbers)
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked[number] = future, listener
        try:
            self.tell({**message, "id": number})
            async with asyncio.timeout(message["total"] + _SLACK_SECONDS):
                return await future
        except TimeoutError:
            self.close()
            return _LOST
        except asyncio.CancelledError:
            self.tell({"do": "cancel", "id": number})
            raise
        finally:
            del self._asked[number]

    def close(self) -> None:
        """Close the connection, at which the server ends."""
        self.lost.set()
        self._writer.close()
