"""One command of the command line, run for a call of a tool."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process

from runtrue.foreign_text import visible_name

#: Seconds that a command has to stop by itself after its call was cancelled.
_GRACE = 20.0
#: Lines of stderr that are kept, to say why there was no document.
_KEPT_LINES = 20


@dataclass(frozen=True, slots=True)
class PrintedResult:
    """How a command ended: its JSON document, if it printed one, and its last words on stderr."""

    exit_code: int
    document: dict[str, Any] | None
    said: str

    @property
    def error(self) -> str:
        """Return the sentence that says why a command failed."""
        given = (self.document or {}).get("error")
        return given if isinstance(given, str) else self.said or f"exit code {self.exit_code}"


async def run_command(
    argv: Sequence[str],
    cwd: Path,
    on_progress: Callable[[str], Awaitable[None]],
    env: Mapping[str, str],
) -> PrintedResult:
    """Run a command to its end; each line on its stderr is progress.

    When the call is cancelled, the command is asked to stop, and killed if it does not: a run can
    be resumed either way.
    """
    process = await anyio.open_process(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    if process.stdout is None or process.stderr is None:
        raise RuntimeError("the process was started without pipes")
    printed = bytearray()
    lines: list[str] = []
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_collect, process.stdout, printed)
            async for line in _lines(process.stderr):
                lines = [*lines, line][-_KEPT_LINES:]
                await on_progress(line)
        exit_code = await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(process)
    return PrintedResult(exit_code, _document(bytes(printed)), "\n".join(lines))


async def _collect(stream: ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        into.extend(chunk)


async def _lines(stream: ByteReceiveStream) -> AsyncIterator[str]:
    rest = b""
    async for chunk in stream:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield visible_name(line.decode(errors="replace").strip())
    if rest.strip():
        yield visible_name(rest.decode(errors="replace").strip())


async def _stop(process: Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
        with anyio.move_on_after(_GRACE):
            await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()


def _document(printed: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(printed)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
