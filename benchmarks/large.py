"""Large workflows and long journals, beside the same work in DBOS and langgraph on SQLite."""

from __future__ import annotations

import operator
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import (  # type: ignore[import-not-found, unused-ignore]
    SqliteSaver,
)
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found, unused-ignore]
from langgraph.types import Send  # type: ignore[import-not-found, unused-ignore]

from benchmarks.chain import CountNode, chain_ir, compiling, running, stopwatch, walking
from benchmarks.flow import connect, settings_of
from benchmarks.measure import Contender, Row, Table, Target, interleave, row
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.workflow import Registry, compile_workflow

#: The others are given as many as do not take minutes.
ROUNDS, SMALL, LARGE, OTHERS = 3, 1_000, 10_000, 1_000
#: The machine's other work is not in it, nor the wait for the disk.
_CPU = time.process_time
LIST_ROUNDS, RUNS, LISTED, LIST_LIMIT = 9, 100_000, 20, 300.0

SHORT_BATCH, BATCH = f"runtrue batch of {SMALL:,}", f"runtrue batch of {LARGE:,}"
SHORT_CHAIN, CHAIN = f"runtrue chain of {SMALL:,}", f"runtrue chain of {LARGE:,}"
COMPILE, SHORT_COMPILE = (f"runtrue compile chain of {n:,}" for n in (LARGE, SMALL))
DBOS_STEPS = f"DBOS on SQLite, workflow of {OTHERS:,} steps"
LANGGRAPH_BATCH = f"langgraph + SQLite sync, {OTHERS:,} sends"

LIST = "runtrue runs list"
DBOS_LIST = "DBOS list_workflows"
LANGGRAPH_LIST = "langgraph checkpointer.list"

#: Counts on by one in as many steps; each is a row in its database.
_DBOS_STEPS = """
import sys, time
from dbos import DBOS
url, steps = sys.argv[1], int(sys.argv[2])
DBOS(config={"name": "bench", "system_database_url": url, "log_level": "CRITICAL"})
@DBOS.step()
def count(value):
    return value + 1
@DBOS.workflow()
def chain(steps):
    value = 0
    for _ in range(steps):
        value = count(value)
    return value
DBOS.launch()
chain(2)
begin = time.process_time()
assert chain(steps) == steps
print((time.process_time() - begin) * 1e6 / steps)
DBOS.destroy()
"""
_DBOS_LIST = """
import sys
from dbos import DBOSClient
client = DBOSClient(system_database_url=sys.argv[1])
found = client.list_workflows(limit=int(sys.argv[2]), sort_desc=True)
assert len(found) == int(sys.argv[2])
"""
_LANGGRAPH_LIST = """
import sqlite3, sys
from langgraph.checkpoint.sqlite import SqliteSaver
saver = SqliteSaver(sqlite3.connect(sys.argv[1]))
assert len(list(saver.list(None, limit=int(sys.argv[2])))) == int(sys.argv[2])
"""


def measure_large(journal: Journal, folder: Path) -> Table:
    registry = Registry(Home(folder), folder, types=[CountNode])
    settings = settings_of(journal)
    samples = interleave(
        {
            SHORT_BATCH: batching(journal, registry, SMALL),
            BATCH: batching(journal, registry, LARGE),
            SHORT_CHAIN: running(journal, registry, SMALL, _CPU),
            CHAIN: running(journal, registry, LARGE, _CPU),
            SHORT_COMPILE: compiling_chain(registry, SMALL),
            COMPILE: compiling_chain(registry, LARGE),
            DBOS_STEPS: stepping_dbos(folder / "dbos.db", settings),
            LANGGRAPH_BATCH: sending(folder / "sends.db", settings),
        },
        rounds=ROUNDS,
        warm_up=0,
    )
    return Table(
        title=f"workflow: {LARGE:,} items and {LARGE:,} nodes, all recorded one by one",
        unit="µs/item",
        rows=(
            row(samples, SHORT_BATCH),
            row(samples, BATCH, of=SHORT_BATCH, target=Target("≤", 1.5)),
            row(samples, LANGGRAPH_BATCH, of=BATCH),
            row(samples, SHORT_CHAIN),
            row(samples, CHAIN, of=SHORT_CHAIN, target=Target("≤", 1.5)),
            row(samples, DBOS_STEPS, of=CHAIN),
            row(samples, SHORT_COMPILE),
            row(samples, COMPILE, of=SHORT_COMPILE, target=Target("≤", 1.5)),
        ),
        notes=(
            f"processor time, medians of {ROUNDS} interleaved rounds; the cost of one is to be the "
            f"same among {LARGE:,} as among {SMALL:,}",
            "a batch and a chain are the same in DBOS: a loop of steps; its database has the "
            "journal's settings, and starting it is not counted",
            f"they are given {OTHERS:,}; langgraph's chain of {SMALL:,} is in the table above",
        ),
    )


def compiling_chain(registry: Registry, nodes: int) -> Contender:
    return compiling(lambda: compile_workflow(chain_ir(nodes), registry=registry), nodes, _CPU)


def batching(journal: Journal, registry: Registry, items: int) -> Contender:
    node = {
        "id": "all",
        "type": "count",
        "params": {"value": "${item}"},
        "batch": {"items": "${numbers}"},
    }
    ir = {"inputs": {"numbers": {"type": "array"}}, "nodes": [node]}
    inputs = {"numbers": list(range(items))}
    return walking(journal, registry, ir, inputs, items, {"success_count": items}, _CPU)


def stepping_dbos(path: Path, settings: dict[str, Any]) -> Contender:
    def sample() -> float:
        path.unlink(missing_ok=True)
        connect(path, settings).close()
        return float(program(_DBOS_STEPS, f"sqlite:///{path}", OTHERS))

    return sample


class Sums(TypedDict):
    values: Annotated[list[int], operator.add]


def sending(path: Path, settings: dict[str, Any]) -> Contender:
    def sample() -> float:
        path.unlink(missing_ok=True)
        with closing(connect(path, settings)) as db:
            builder = StateGraph(Sums)
            builder.add_node("count", lambda item: {"values": [item["value"] + 1]})
            builder.add_conditional_edges(
                START, lambda _: [Send("count", {"value": n}) for n in range(OTHERS)], ["count"]
            )
            builder.add_edge("count", END)
            graph = builder.compile(checkpointer=SqliteSaver(db))
            config: Any = {"configurable": {"thread_id": "sends"}}
            with stopwatch(1e6, OTHERS, _CPU) as cost:
                state = graph.invoke({"values": []}, config, durability="sync")
        assert len(state["values"]) == OTHERS
        return cost()

    return sample


# -- a long journal -------------------------------------------------------------------------------


def measure_list(folder: Path) -> Table:
    """Time a list of the latest runs, from the start of a program to its end."""
    home, project = folder / "long", folder / "listed"
    home.mkdir()
    project.mkdir()
    with Journal(home / "journal.db") as journal:
        settings = settings_of(journal)
    fill_journal(home / "journal.db", project)
    dbos, langgraph = folder / "runs-dbos.db", folder / "runs-langgraph.db"
    connect(dbos, settings).close()
    program(_DBOS_STEPS, f"sqlite:///{dbos}", 1)
    copy_rows(dbos, "workflow_status", "workflow_uuid")
    fill_langgraph(langgraph, settings)

    runtrue = str(Path(sys.executable).with_name("runtrue"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["RUNTRUE_HOME"] = str(home)

    def list_runs() -> float:
        with stopwatch(1e3, 1, of_children) as cost:
            subprocess.run(
                [runtrue, "runs", "list"],
                check=True, cwd=project, env=environment, capture_output=True,
            )  # fmt: skip
        return cost()

    def list_with(code: str, where: str) -> Contender:
        def sample() -> float:
            with stopwatch(1e3, 1, of_children) as cost:
                program(code, where, LISTED)
            return cost()

        return sample

    samples = interleave(
        {
            LIST: list_runs,
            DBOS_LIST: list_with(_DBOS_LIST, f"sqlite:///{dbos}"),
            LANGGRAPH_LIST: list_with(_LANGGRAPH_LIST, str(langgraph)),
        },
        rounds=LIST_ROUNDS,
        warm_up=2,
    )
    low, _, high = statistics.quantiles(samples[LIST], n=4)
    cost = statistics.median(samples[LIST])
    limit = f"{LIST_LIMIT:g} ms"
    return Table(
        title=f"workflow: the latest runs of {RUNS:,}, from starting a program to its end",
        unit="ms",
        rows=(
            Row(LIST, cost, (low, high), limit, cost / LIST_LIMIT, Target("≤", 1)),
            row(samples, DBOS_LIST, of=LIST),
            row(samples, LANGGRAPH_LIST, of=LIST),
        ),
        notes=(
            f"processor time, medians of {LIST_ROUNDS} interleaved rounds; {LISTED} runs of DBOS "
            "and checkpoints of langgraph, and their own start-up, are in these figures",
            "langgraph has no list of runs: that of its checkpoints comes nearest",
        ),
    )


def of_children() -> float:
    """Return the processor time of all programs that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fill_journal(path: Path, project: Path) -> None:
    """Put ended runs of a project into a journal, each with its input and its report."""
    now = time.time()
    data = f'{{"project":"{project}","checks":[{",".join(["{}"] * 20)}]}}'
    result = '{"status":"passed","text":"' + "x" * 2_000 + '"}'
    rows = (
        (f"{n:08x}", "fix", "fix", "passed", data, result, now - n, now - n + 30)
        for n in range(RUNS)
    )
    columns = "id, kind, title, state, input, result, created_at, ended_at"
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(f"INSERT INTO runs ({columns}) VALUES (?,?,?,?,?,?,?,?)", rows)  # noqa: S608


def fill_langgraph(path: Path, settings: dict[str, Any]) -> None:
    """Put as many threads into a checkpointer's tables."""
    with closing(connect(path, settings)) as db:
        builder = StateGraph(Sums)
        builder.add_node("count", lambda _: {"values": [1]})
        builder.add_edge(START, "count")
        config: Any = {"configurable": {"thread_id": "first"}}
        builder.compile(checkpointer=SqliteSaver(db)).invoke({"values": []}, config)
        db.commit()
    copy_rows(path, "checkpoints", "thread_id")


def copy_rows(path: Path, table: str, key: str) -> None:
    """Copy a row of a table until there are as many as runs, each with a key of its own."""
    with closing(sqlite3.connect(path)) as db, db:
        names = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(f"printf('%08x', n) || {key}" if n == key else n for n in names)
        db.execute(
            f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT "  # noqa: S608
            f"{RUNS}) INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM numbers, "
            f"(SELECT * FROM {table} LIMIT 1)"
        )


def program(code: str, *arguments: object) -> str:
    """Run a program in a process of its own, and return what it printed."""
    words = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return done.stdout
