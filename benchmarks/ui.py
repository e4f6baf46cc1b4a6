"""Pages of `runtrue ui`: server time of the first page of 100,000 runs, and of a long run's page.

The real application is asked over its own interface, so that what is measured is everything but
the socket.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import ui_live
from benchmarks.measure import Contender, Row, Table, Target, interleave, row
from runtrue.cli.ui import service_for
from runtrue.code import AttemptReport, CodeReport, VerdictReport
from runtrue.flow import Claim, Journal, Owner, RunState
from runtrue.home import Home
from runtrue.loop import CheckFinished, Fault, Finding, Location, Mode
from runtrue.web import make_app
from runtrue.web.guard import Access
from runtrue.web.live import LiveUpdates

ROUNDS = 15
RUNS, EVENTS = 100_000, 10_000
#: Tests of each attempt that fail, as in a run that is worth looking at.
FAILING = 40
LIST_LIMIT, RUN_LIMIT = 100.0, 200.0

FIRST, MIDDLE, WAITING, TEXT = (
    "first page of 100,000 runs",
    "a page from the middle",
    "those that wait",
    "a text that no title has",
)
RUN, EVENT_PAGE = "run with 10,000 events", "1,000 of its events"


def run() -> tuple[Table, ...]:
    return _pages(), ui_live.run()


def _pages() -> Table:
    with tempfile.TemporaryDirectory(prefix="runtrue-ui-") as directory:
        home = Home(Path(directory))
        with Journal(home.journal) as journal:
            run_id = _long_run(journal)
        middle = _many_runs(home.path / "journal.db")
        client = _Client(home)
        paths = {
            FIRST: "/runs",
            MIDDLE: f"/runs?before={middle!r},zzzz",
            WAITING: "/runs?state=waiting",
            TEXT: "/runs?text=nothing+is+called+so",
            RUN: f"/runs/{run_id}",
            EVENT_PAGE: f"/runs/{run_id}/events",
        }
        contenders: dict[str, Contender] = {
            name: _contender(client, path) for name, path in paths.items()
        }
        samples = interleave(contenders, rounds=ROUNDS)
        client.close()
    rows = [
        _row(FIRST, samples, LIST_LIMIT),
        row(samples, MIDDLE),
        row(samples, WAITING),
        row(samples, TEXT),
        _row(RUN, samples, RUN_LIMIT),
        row(samples, EVENT_PAGE),
    ]
    return Table("Pages, server time", "ms", tuple(rows))


def _row(name: str, samples: dict[str, list[float]], limit: float) -> Row:
    """Return a line whose target is a time, not a ratio."""
    limits = {**samples, f"{limit:g} ms": [limit] * ROUNDS}
    return row(limits, name, of=f"{limit:g} ms", target=Target("≤", 1.0))


def _contender(client: _Client, path: str) -> Contender:
    def ask() -> float:
        begin = time.perf_counter()
        status, size = client.get(path)
        seconds = time.perf_counter() - begin
        if status != 200 or size < 1_000:
            raise RuntimeError(f"{path}: status {status}, {size} bytes")
        return seconds * 1e3

    return ask


class _Client:
    """Asks the application for pages, as a browser that was let in."""

    def __init__(self, home: Home) -> None:
        access = Access("token", ("127.0.0.1",), 80)
        session = access.let_in("token", "")
        if session is None:
            raise RuntimeError("the token was refused")
        self._headers = [
            (b"host", b"127.0.0.1:80"),
            (b"cookie", f"{access.cookie}={session.id}".encode()),
        ]
        self._loop = asyncio.new_event_loop()
        self._live = LiveUpdates(home)
        self._app = make_app(service_for(home), access, self._live)

    def get(self, path: str) -> tuple[int, int]:
        """Return the status and the size of a page."""
        return self._loop.run_until_complete(self._get(path))

    async def _get(self, path: str) -> tuple[int, int]:
        name, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": name,
            "raw_path": name.encode(),
            "query_string": query.encode(),
            "headers": self._headers,
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        status = size = 0

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))

        await self._app(scope, receive, send)
        return status, size

    def close(self) -> None:
        self._live.close()
        self._loop.close()


def _long_run(journal: Journal) -> str:
    """Return a run of three attempts, with so many events."""
    run_id = journal.create("fix", "a long one", {"project": "/srv/project"})
    claim = journal.claim(run_id, Owner.this_process())
    for n in range(EVENTS):
        journal.emit(claim, _event(n))
    journal.finish(claim, RunState.FAILED, _report(claim))
    return run_id


def _event(n: int) -> CheckFinished:
    return CheckFinished(
        number=n,
        check="tests",
        mode=Mode.REQUIRED,
        passed=False,
        findings=1,
        shown=(),
        cases=100,
        flaky=(),
        known=0,
        failed_cases=1,
        seconds=1.5,
    )


def _report(claim: Claim) -> CodeReport:
    findings = tuple(
        Finding(
            source="tests",
            category="AssertionError",
            message=f"assert {n} == {n + 1}",
            fault=Fault.CANDIDATE,
            location=Location(file="test_shop.py", line=n, symbol=f"test_shop.py::test_{n}"),
            sample="E       assert 1 == 2\n" * 10,
        )
        for n in range(FAILING)
    )
    verdict = VerdictReport(
        check="tests",
        mode=Mode.REQUIRED,
        passed=False,
        cases={"failed": FAILING, "passed": 200},
        findings=findings,
    )
    diff = "--- a/shop.py\n+++ b/shop.py\n" + "".join(
        f"@@ -{n * 10 + 1},3 +{n * 10 + 1},3 @@\n a\n-old {n}\n+new {n}\n b\n" for n in range(100)
    )
    attempts = tuple(
        AttemptReport(
            number=n, limit=3, candidate="c", passed=False, verdicts=(verdict,), findings=findings
        )
        for n in (1, 2, 3)
    )
    return CodeReport(
        status="failed",
        run_id=claim.run_id,
        kind="fix",
        project="/srv/project",
        why="attempts_spent",
        attempts=attempts,
        findings=findings,
        diff=diff,
    )


def _many_runs(path: Path) -> float:
    """Fill the journal with ended runs, each with a report, and return the age of the middle."""
    now = time.time()
    data = '{"project":"/srv/project-%d","checks":[' + ",".join(['{"name":"tests"}'] * 20) + "]}"
    result = msgspec.json.encode({"status": "passed", "text": "x" * 2_000}).decode()
    rows = (
        (
            f"{n:08x}",
            "fix",
            f"/srv/project-{n % 50}",
            "waiting" if n % 5_000 == 0 else "passed",
            data % (n % 50),
            result,
            now - n,
            now - n + 30,
        )
        for n in range(RUNS)
    )
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO runs (id, kind, title, state, input, result, created_at, ended_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
    return now - RUNS / 2
