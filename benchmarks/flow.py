"""Cost per step of a check/fix cycle, in memory and durable, beside other engines.

The cycle is the smallest there is: a counter of what is left to do; `check` looks at it and says
fix or done, `fix` counts it down. So what is measured is the engine, not the work.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import time
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypedDict

# It looks when it is imported, and is not to send what happens here anywhere.
os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

import pocketflow  # type: ignore[import-not-found, import-untyped, unused-ignore]
from langgraph.checkpoint.sqlite import (  # type: ignore[import-not-found, unused-ignore]
    SqliteSaver,
)
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found, unused-ignore]
from langgraph.types import Command  # type: ignore[import-not-found, unused-ignore]

from benchmarks.measure import Contender, Row, Table, Target, interleave, row
from runtrue.flow import Claim, Flow, Journal, Node, Owner, Run, RunState, replay

ROUNDS = 21
#: Fixes in one run, hence twice as many steps and the last check: so many that what it costs to
#: start a run does not show, and fewer for langgraph, which would take minutes.
FIXES = 1_000
LANGGRAPH_FIXES = 100

GROWTH_ROUNDS = 12
#: Where in a run steps are timed, and in windows of how many steps.
EARLY, LATE, WINDOW, WINDOWS = 10, 10_000, 10, 10
STRETCH = 2_000

#: Settings of a database that are taken from the journal; the first only works on an empty one.
SETTINGS = ("page_size", "journal_mode", "synchronous", "wal_autocheckpoint", "foreign_keys")

FLOOR = "SQLite floor"
DURABLE = "runtrue durable"
LANGGRAPH_DURABLE = "langgraph + SQLite sync"
LANGGRAPH_DEFAULTS = "langgraph + SQLite sync, defaults"
MEMORY = "runtrue in memory"
POCKETFLOW = "pocketflow in memory"
LANGGRAPH_MEMORY = "langgraph in memory"
EARLY_STEPS = f"durable at step {EARLY}"
LATE_STEPS = f"durable at step {LATE:,}"
FIRST_STRETCH = f"durable, first {STRETCH:,} steps"
LAST_STRETCH = f"durable, last {STRETCH:,} of {LATE:,}"
REPLAY = f"resume: replay of {LATE:,} steps"


def run() -> Table:
    # Not /tmp, which is often kept in memory, where a commit costs less than it does in life.
    folder = os.environ.get("TMPDIR", "/var/tmp")  # noqa: S108  # the directory in it is ours
    with tempfile.TemporaryDirectory(dir=folder) as name, ExitStack() as stack:
        path = Path(name)
        journal = stack.enter_context(Journal(path / "journal.db"))
        settings = settings_of(journal)

        def database(name: str, settings: dict[str, Any]) -> sqlite3.Connection:
            return stack.enter_context(closing(connect(path / name, settings)))

        durable = durably(journal)
        durable()  # so that there is a row for the floor to copy
        samples = interleave(
            {
                FLOOR: floor(database("floor.db", settings), journal),
                DURABLE: durable,
                LANGGRAPH_DURABLE: langgraph(database("langgraph.db", settings)),
                LANGGRAPH_DEFAULTS: langgraph(database("defaults.db", {})),
                MEMORY: in_memory,
                POCKETFLOW: in_pocketflow,
                LANGGRAPH_MEMORY: langgraph(None),
            },
            rounds=ROUNDS,
        )
        growth = measure_growth(stack.enter_context(Journal(path / "growth.db")))
    return Table(
        title="flow: cost per step of a check/fix cycle",
        unit="µs/step",
        rows=(
            row(samples, FLOOR),
            row(samples, DURABLE, of=FLOOR, target=Target("≤", 3)),
            row(samples, LANGGRAPH_DURABLE, of=DURABLE, target=Target("≥", 15)),
            row(samples, LANGGRAPH_DEFAULTS, of=DURABLE),
            row(samples, MEMORY),
            row(samples, POCKETFLOW, of=MEMORY),
            row(samples, LANGGRAPH_MEMORY, of=MEMORY, target=Target("≥", 10)),
            *growth,
        ),
        notes=(
            f"medians of {ROUNDS} interleaved rounds in one process, each a run of "
            f"{2 * FIXES + 1:,} steps ({2 * LANGGRAPH_FIXES + 1} with langgraph)",
            "the floor is one commit of the row that runtrue writes for a step, and nothing else",
            "all databases are on one file system and have the journal's settings, langgraph's "
            "too: " + ", ".join(f"{name} = {value}" for name, value in settings.items()),
            "'defaults' is langgraph on a connection as sqlite3.connect gives it",
            f"growth is medians of {GROWTH_ROUNDS * WINDOWS} windows of {WINDOW} steps; the "
            f"stretches of {STRETCH:,} steps have the write-ahead log's checkpoints in them, too",
        ),
    )


class Stopwatch:
    """Times a run: a check and a fix each time, and the check that ends it."""

    def __init__(self, fixes: int) -> None:
        self._steps = 2 * fixes + 1

    def __enter__(self) -> Stopwatch:
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.per_step = (time.perf_counter() - self._begin) * 1e6 / self._steps


# -- runtrue and pocketflow, with the very same nodes ---------------------------------------------


class Checking:
    def prep(self, shared: dict[str, int]) -> int:
        return shared["todo"]

    def exec(self, todo: int) -> str:
        return "fix" if todo else "done"

    def post(self, shared: dict[str, int], todo: int, verdict: str) -> str:
        return verdict


class Fixing:
    def prep(self, shared: dict[str, int]) -> int:
        return shared["todo"]

    def exec(self, todo: int) -> int:
        return todo - 1

    def post(self, shared: dict[str, int], todo: int, left: int) -> None:
        shared["todo"] = left


class Check(Checking, Node):
    terminal = True


class Fix(Fixing, Node):
    pass


class PocketCheck(Checking, pocketflow.Node):  # type: ignore[misc, unused-ignore]
    pass


class PocketFix(Fixing, pocketflow.Node):  # type: ignore[misc, unused-ignore]
    pass


def cycle(check: Node) -> Flow:
    fix = Fix()
    check - "fix" >> fix >> check
    return Flow(check)


def in_memory() -> float:
    flow, shared = cycle(Check()), {"todo": FIXES}
    with Stopwatch(FIXES) as watch:
        asyncio.run(flow.run(shared))
    assert shared == {"todo": 0}
    return watch.per_step


async def recorded(flow: Flow, shared: dict[str, int], journal: Journal, claim: Claim) -> None:
    """Run a flow to its end, recording each step."""
    await Run.recorded(journal, claim).execute(partial(flow.walk, shared=shared))


def durably(journal: Journal) -> Contender:
    flow = cycle(Check())

    def sample() -> float:
        claim, shared = claimed(journal), {"todo": FIXES}
        with Stopwatch(FIXES) as watch:
            asyncio.run(recorded(flow, shared, journal, claim))
        assert shared == {"todo": 0}
        journal.finish(claim, RunState.PASSED, {})
        return watch.per_step

    return sample


def claimed(journal: Journal) -> Claim:
    return journal.claim(journal.create("cycle", "cycle", {}), Owner.this_process())


def in_pocketflow() -> float:
    check, fix, done = PocketCheck(), PocketFix(), pocketflow.Node()
    check - "fix" >> fix >> check
    check - "done" >> done  # it warns of an action that leads nowhere
    flow, shared = pocketflow.Flow(start=check), {"todo": FIXES}
    with Stopwatch(FIXES) as watch:
        flow.run(shared)
    assert shared == {"todo": 0}
    return watch.per_step


# -- langgraph ------------------------------------------------------------------------------------


class Counter(TypedDict):
    todo: int


def langgraph(db: sqlite3.Connection | None) -> Contender:
    """The same cycle; of langgraph's ways to route, `Command` is the cheapest."""

    def check(state: Counter) -> Command[str]:
        return Command(goto="fix" if state["todo"] else END)

    def fix(state: Counter) -> Counter:
        return {"todo": state["todo"] - 1}

    builder = StateGraph(Counter)
    builder.add_node("check", check, destinations=("fix", END))
    builder.add_node("fix", fix)
    builder.add_edge(START, "check")
    builder.add_edge("fix", "check")
    graph = builder.compile(checkpointer=None if db is None else SqliteSaver(db))
    threads = count()

    def sample() -> float:
        config: Any = {
            "recursion_limit": 3 * LANGGRAPH_FIXES,
            "configurable": {"thread_id": str(next(threads))},
        }
        durability: Any = {} if db is None else {"durability": "sync"}
        with Stopwatch(LANGGRAPH_FIXES) as watch:
            state = graph.invoke({"todo": LANGGRAPH_FIXES}, config, **durability)
        assert state == {"todo": 0}
        return watch.per_step

    return sample


# -- SQLite ---------------------------------------------------------------------------------------


def settings_of(journal: Journal) -> dict[str, Any]:
    # Some belong to a connection, not to the file, so it must be the journal's own.
    return {name: journal._db.execute(f"PRAGMA {name}").fetchone()[0] for name in SETTINGS}


def connect(path: Path, settings: dict[str, Any]) -> sqlite3.Connection:
    # langgraph writes in threads, one at a time.
    db = sqlite3.connect(path, check_same_thread=False)
    for name, value in settings.items():
        db.execute(f"PRAGMA {name} = {value}")
    return db


def floor(db: sqlite3.Connection, journal: Journal) -> Contender:
    with closing(sqlite3.connect(journal.location)) as source:
        (table,) = source.execute("SELECT sql FROM sqlite_master WHERE name = 'steps'").fetchone()
        _, _, *rest = source.execute("SELECT * FROM steps LIMIT 1").fetchone()
    db.isolation_level = None  # each statement is a transaction
    db.execute(table)
    insert = f"INSERT INTO steps VALUES (?, ?{', ?' * len(rest)})"  # noqa: S608
    runs = count()

    def sample() -> float:
        run_id = f"{next(runs):08x}"
        with Stopwatch(FIXES) as watch:
            for seq in range(2 * FIXES + 1):
                db.execute(insert, (run_id, seq, *rest))
        return watch.per_step

    return sample


# -- growth ---------------------------------------------------------------------------------------


class TimedCheck(Check):
    """Notes when it is executed, which is at every second step."""

    def __init__(self) -> None:
        super().__init__()
        self.at: list[float] = []

    def exec(self, todo: int) -> str:
        self.at.append(time.perf_counter())
        return super().exec(todo)

    def per_step(self, first: int, steps: int) -> float:
        return (self.at[(first + steps) // 2] - self.at[first // 2]) * 1e6 / steps


def measure_growth(journal: Journal) -> list[Row]:
    """The cost of steps early and late in a run, and of replaying them."""
    samples: dict[str, list[float]] = {
        name: [] for name in (EARLY_STEPS, LATE_STEPS, FIRST_STRETCH, LAST_STRETCH, REPLAY)
    }
    for _ in range(GROWTH_ROUNDS):
        asyncio.run(grow(journal, samples))
    return [
        row(samples, EARLY_STEPS),
        row(samples, LATE_STEPS, of=EARLY_STEPS, target=Target("≤", 1.3)),
        row(samples, FIRST_STRETCH),
        row(samples, LAST_STRETCH, of=FIRST_STRETCH),
        row(samples, REPLAY),
    ]


async def grow(journal: Journal, samples: dict[str, list[float]]) -> None:
    # All are made beforehand, and the short ones driven last: making a run syncs the disk and the
    # steps after that are slow for a moment, which would make the late ones look cheap.
    long, *short = [claimed(journal) for _ in range(1 + WINDOWS)]
    check = TimedCheck()
    flow = cycle(check)
    todo = (LATE + WINDOWS * WINDOW) // 2
    await recorded(flow, {"todo": todo}, journal, long)
    samples[LATE_STEPS] += [check.per_step(LATE + n * WINDOW, WINDOW) for n in range(WINDOWS)]
    samples[FIRST_STRETCH].append(check.per_step(0, STRETCH))
    samples[LAST_STRETCH].append(check.per_step(LATE - STRETCH, STRETCH))
    for claim in short:
        check.at.clear()
        await recorded(flow, {"todo": EARLY + WINDOW}, journal, claim)
        samples[EARLY_STEPS].append(check.per_step(EARLY, WINDOW))

    begin = time.perf_counter()
    steps = journal.load(long.run_id)
    await replay(partial(flow.walk, shared={"todo": todo}), steps)
    samples[REPLAY].append((time.perf_counter() - begin) * 1e6 / len(steps))
    for claim in (long, *short):
        journal.finish(claim, RunState.PASSED, {})
