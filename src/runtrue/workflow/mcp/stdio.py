"""A server as a process of ours, spoken to over its standard streams. Imports the SDK: import late.

The SDK has such a transport too. This one has what that lacks: the process is watched, so
that neither it nor what it starts outlives us, it knows how the server ended, and what the server
prints is kept for the messages instead of going to our terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from runtrue.config import mcp_limits
from runtrue.confinement import Confinement
from runtrue.process import confined, kill_group, watch_group
from runtrue.usage import exceeded
from runtrue.workflow.mcp.confine import confinement_of
from runtrue.workflow.mcp.results import shorten, too_large
from runtrue.workflow.mcp.servers import StdioServer

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]

_CHUNK = 64 * 1024
_KEPT = 4 * 1024
#: How long a server may take to end by itself, and then again after SIGTERM.
_GRACE_SECONDS = 1.0
#: How long what a dead server has printed may still be on its way.
_LAST_WORDS_SECONDS = 0.5


class StdioConnection:
    """The connection to one process; opened once. `over` is set when it has come to its end."""

    #: An answer cannot break off here without the whole connection.
    broken = 0

    def __init__(self, server: StdioServer, over: asyncio.Event) -> None:
        self._server = server
        self._over = over
        self._most = mcp_limits().answer * 2**20
        self._requests: set[str] = set()
        #: How the server broke the protocol or a limit, as the rest of a sentence.
        self.violation: str | None = None
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._silent = asyncio.Event()
        self._is_stopping = False
        #: True if it ended before it was asked to, and how, as the rest of a sentence.
        self.died = False
        self.end = "was ended"
        self._printed = bytearray()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def printed(self) -> str:
        """The end of what the server printed, besides what it said to us."""
        return self._printed.decode(errors="replace").strip()

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        if self._process is None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is None
        try:
            # Not `poll`: while the thread that waits is about to know, that says it is alive.
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._process.pid, options) is None
        except ChildProcessError:
            return False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """Start the process, and end it with the block. Raises OSError if it does not start."""
        async with contextlib.AsyncExitStack() as around:
            marks, started = around.enter_context(watch_group())
            pipes = around.enter_context(contextlib.ExitStack())
            confinement = confinement_of(self._server)
            process = self._process = await self._start(confinement, marks, around)
            started(process.pid)
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipes.callback(pipe.close)  # type: ignore[union-attr]
            self._tell_exit(process)
            stdin = await _writer(process.stdin, pipes)
            stdout = await _reader(process.stdout, pipes)
            stderr = await _reader(process.stderr, pipes)
            to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)
            async with to_us, incoming, outgoing, from_us, anyio.create_task_group() as tasks:
                tasks.start_soon(self._receive, stdout, to_us)
                tasks.start_soon(self._send, from_us, stdin, to_us)
                tasks.start_soon(self._listen, stderr)
                tasks.start_soon(self._await_exit, to_us)
                if confinement is not None:
                    tasks.start_soon(self._await_limit, confinement, process.pid, to_us)
                try:
                    yield incoming, outgoing
                finally:
                    with anyio.CancelScope(shield=True):
                        await self._stop(process, stdin)
                    tasks.cancel_scope.cancel()

    async def _start(
        self,
        confinement: Confinement | None,
        marks: dict[str, str],
        around: contextlib.AsyncExitStack,
    ) -> subprocess.Popen[bytes]:
        server = self._server
        argv = [server.command, *server.args]
        env = {**get_default_environment(), **server.env, **marks}
        cwd = server.cwd or Path.cwd()
        start = await around.enter_async_context(confined(confinement, argv, cwd, env))
        return subprocess.Popen(  # noqa: ASYNC220 - it starts at once
            start.argv,
            cwd=cwd,
            env=start.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=start.pass_fds,
        )

    def _tell_exit(self, process: subprocess.Popen[bytes]) -> None:
        """Set `_exited` when the process ends."""
        loop = asyncio.get_running_loop()

        def wait() -> None:
            # First without the lock that `wait` holds, under which `poll` would know nothing.
            with contextlib.suppress(AttributeError, ChildProcessError):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            process.wait()
            with contextlib.suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(self._exited.set)

        # A thread of its own: the loop's few ones must not all be taken by servers.
        threading.Thread(target=wait, daemon=True, name=f"mcp-{self._server.name}").start()

    async def _receive(self, stdout: asyncio.StreamReader, to_us: Incoming) -> None:
        line = bytearray()
        try:
            while chunk := await stdout.read(_CHUNK):
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    line += end
                    await self._hand_over(bytes(line), to_us)
                    line.clear()
                line += rest
                if len(line) > self._most:
                    self._give_up(too_large(self._most), to_us)
                    return
            self._keep(bytes(line))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # nobody is there to hear it any more
        self._drained.set()
        await self._disconnect(to_us)

    async def _hand_over(self, line: bytes, to_us: Incoming) -> None:
        """Pass a message on; what is none was meant for a terminal."""
        if len(line) > self._most:
            return self._give_up(too_large(self._most), to_us)
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            # What was meant as an answer would be waited for until the time is up.
            if line.lstrip()[:1] == b"{" and b'"jsonrpc"' in line:
                return self._give_up("sent something that is not a JSON-RPC message", to_us)
            return self._keep(line + b"\n")
        if isinstance(message, JSONRPCError) and message.id is None:
            said = shorten(message.error.message)
            return self._give_up(f"answered with error {message.error.code}: {said}", to_us)
        if isinstance(message, JSONRPCResponse | JSONRPCError) and (
            str(message.id) not in self._requests
        ):
            what = f"answered a request that was never made: its id is {message.id!r}"
            return self._give_up(what, to_us)
        await to_us.send(SessionMessage(message))
        return None

    def _give_up(self, violation: str, to_us: Incoming) -> None:
        """End the connection: every call that waits ends with it."""
        self.violation = self.violation or violation
        self._over.set()
        to_us.close()

    async def _send(self, from_us: Outgoing, stdin: asyncio.StreamWriter, to_us: Incoming) -> None:
        try:
            async for item in from_us:
                if isinstance(item.message, JSONRPCRequest):
                    self._requests.add(str(item.message.id))
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
        except OSError:
            await self._disconnect(to_us)

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(_CHUNK):
            self._keep(chunk)
        self._silent.set()

    async def _await_exit(self, to_us: Incoming) -> None:
        """End the connection with the process: something it left running may hold its output."""
        await self._exited.wait()
        await self._disconnect(to_us)

    async def _await_limit(self, confinement: Confinement, pid: int, to_us: Incoming) -> None:
        """End a confined server that uses up too much."""
        hit = await exceeded(confinement, pid, lambda: 0)
        self._give_up(hit.message, to_us)

    async def _disconnect(self, to_us: Incoming) -> None:
        """Let every call that waits for an answer know that none will come."""
        # Answers given before the end count, and how it ended is known a moment later.
        await _within(_LAST_WORDS_SECONDS, self._drained)
        await _within(_LAST_WORDS_SECONDS, self._exited)
        if not self._is_stopping and not self.died:
            self.died = True
            self.end = _described(self._process.poll() if self._process else None)
        self._over.set()
        to_us.close()

    def _keep(self, printed: bytes) -> None:
        self._printed += printed
        del self._printed[:-_KEPT]

    async def _stop(self, process: subprocess.Popen[bytes], stdin: asyncio.StreamWriter) -> None:
        """End a server as the protocol says, by closing its input first.

        The block around takes care of what does not end by that, and of what the server left.
        """
        self._is_stopping = True
        _abort(stdin.transport)
        if not await _within(_GRACE_SECONDS, self._exited):
            kill_group(process.pid, signal.SIGTERM)
            if not await _within(_GRACE_SECONDS, self._exited):
                # Before the directories are gone that it was confined to.
                kill_group(process.pid)
        await _within(_LAST_WORDS_SECONDS, self._silent)


def _described(exit_code: int | None) -> str:
    if exit_code is None:
        return "closed its output"
    return (
        f"was killed by signal {-exit_code}"
        if exit_code < 0
        else f"ended with exit code {exit_code}"
    )


async def _within(seconds: float, event: asyncio.Event) -> bool:
    with anyio.move_on_after(seconds):
        await event.wait()
    return event.is_set()


async def _reader(pipe: IO[bytes] | None, pipes: contextlib.ExitStack) -> asyncio.StreamReader:
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), pipe
    )
    pipes.callback(transport.close)
    return stream


async def _writer(pipe: IO[bytes] | None, pipes: contextlib.ExitStack) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
    )
    pipes.callback(_abort, transport)
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _abort(transport: asyncio.WriteTransport) -> None:
    """Close a pipe at once: nobody reads what was not written yet."""
    if not transport.is_closing():
        transport.abort()
