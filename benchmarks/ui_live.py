"""Many viewers of one live run: every event reaches every viewer, and memory stays flat.

The real server is a process of its own; a second one has the viewers, a third records the events.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

from benchmarks.measure import Row, Table, Target
from runtrue.flow import Claim, Journal, Owner, RunState
from runtrue.home import Home
from runtrue.loop import CheckStarted

VIEWERS, PER_SECOND, SECONDS = 200, 50, 60.0
#: Times what it is after the first seconds, in which caches fill.
_MOST_GROWTH = 1.2
_WARM = 0.25


def run(viewers: int = VIEWERS, seconds: float = SECONDS) -> Table:
    """Return how many events were lost, how late they were, and how memory went."""
    with tempfile.TemporaryDirectory(prefix="runtrue-live-") as directory:
        home = Home(Path(directory) / ".runtrue")
        home.path.mkdir(mode=0o700)
        with Journal(home.journal) as journal:
            claim = journal.claim(journal.create("fix", "live", {"project": "/srv/p"}), _owner())
            environment = {**os.environ, "RUNTRUE_HOME": str(home.path)}
            server = subprocess.Popen(
                [sys.executable, "-m", "runtrue", "ui", "--port", "0", "--no-open"],
                env={**environment, "PYTHONUNBUFFERED": "1"},
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                address = _address(server)
                return _measured(journal, claim, address, server.pid, viewers, seconds)
            finally:
                server.terminate()
                server.wait(30)


def _owner() -> Owner:
    return Owner.this_process()


def _address(server: subprocess.Popen[str]) -> str:
    for line in server.stderr or ():
        if line.startswith("open "):
            return line.removeprefix("open ").strip()
    raise RuntimeError("the server did not start")


def _measured(
    journal: Journal, claim: Claim, address: str, pid: int, viewers: int, seconds: float
) -> Table:
    total = round(seconds * PER_SECOND)
    context = get_context("spawn")
    here, there = context.Pipe()
    watching = context.Process(
        target=_watch, args=(there, address, claim.run_id, viewers, total, seconds * 2 + 60)
    )
    watching.start()
    assert here.recv() == "connected"
    sizes = []
    begin = time.monotonic()
    for n in range(total):
        pause = begin + n / PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        journal.emit(claim, CheckStarted(check=f"check {n}"))
        if n % PER_SECOND == 0:
            sizes.append(_resident(pid))
    wrote = time.monotonic() - begin
    seen, late = here.recv()
    watching.join(30)
    sizes.append(_resident(pid))
    journal.finish(claim, RunState.CANCELLED, None)
    warm = sizes[int(len(sizes) * _WARM)]
    lost = viewers * total - seen
    rows = (
        Row("events lost", lost, (lost, lost), "1", float(lost), Target("≤", 0)),
        Row(
            "memory at the end, MB",
            sizes[-1],
            (min(sizes), max(sizes)),
            "after a quarter",
            sizes[-1] / warm,
            Target("≤", _MOST_GROWTH),
        ),
        Row("all had the last event after, s", late, (late, late)),
    )
    notes = (
        f"{viewers} viewers, {total:,} events in {wrote:.0f} s, {seen:,} events delivered in order",
    )
    return Table(f"Live viewers of one run, {PER_SECOND} events a second", "", rows, notes)


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _watch(
    there: object, address: str, run_id: str, viewers: int, total: int, patience: float
) -> None:
    there.send(asyncio.run(_all(there, address, run_id, viewers, total, patience)))  # type: ignore[attr-defined]


async def _all(
    there: object, address: str, run_id: str, viewers: int, total: int, patience: float
) -> tuple[int, float]:
    """Return how many events were delivered in order, and how late the last one was."""
    place, _, query = address.removeprefix("http://").partition("/login?")
    host, _, port = place.rpartition(":")
    cookie = await _cookie(host, int(port), place, query)
    streams = [await _stream(host, int(port), place, cookie, run_id) for _ in range(viewers)]
    there.send("connected")  # type: ignore[attr-defined]
    begin = time.monotonic()
    counts = await asyncio.gather(*(_read(one, total, patience) for one, _ in streams))
    return sum(counts), time.monotonic() - begin - total / PER_SECOND


async def _cookie(host: str, port: int, place: str, query: str) -> str:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(
        f"GET /login?{query} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n".encode()
    )
    answer = (await reader.read()).decode()
    writer.close()
    found = re.search(r"set-cookie: ([^;]+)", answer)
    if found is None:
        raise RuntimeError("the token was refused")
    return found[1]


async def _stream(
    host: str, port: int, place: str, cookie: str, run_id: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(host, port)
    head = f"GET /live?run={run_id} HTTP/1.1\r\nHost: {place}\r\nCookie: {cookie}\r\n\r\n"
    writer.write(head.encode())
    await reader.readuntil(b"retry: 1000")
    # A connection lives as long as its writer.
    return reader, writer


async def _read(reader: asyncio.StreamReader, total: int, patience: float) -> int:
    """Return up to which event all came, each after the one before."""
    last = 0
    left = b""
    until = time.monotonic() + patience
    while last < total:
        try:
            data = await asyncio.wait_for(reader.read(65_536), until - time.monotonic())
        except TimeoutError:
            break
        if not data:
            raise RuntimeError(f"the server ended a stream after event {last}: {left!r}")
        *lines, left = (left + data).split(b"\n")
        for line in lines:
            if line.startswith(b"id: "):
                if int(line[4:]) != last + 1:
                    return last
                last += 1
    return last
