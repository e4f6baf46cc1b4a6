"""What workflows cost: chains of nodes, batches, references, requests, long journals, start-up."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import repeat
from pathlib import Path
from typing import Any

# It looks when it is imported, and is not to send what happens here anywhere.
os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"


from benchmarks.chain import (
    CountNode,
    chain_ir,
    compiling,
    langgraph_chain,
    running,
    running_langgraph,
    stopwatch,
)
from benchmarks.flow import settings_of
from benchmarks.large import measure_large, measure_list
from benchmarks.measure import Contender, Table, Target, interleave, row
from benchmarks.server import serving
from runtrue.flow import Journal, LocalDispatcher
from runtrue.home import Home
from runtrue.workflow import (
    Registry,
    compile_workflow,
    prepare_workflow,
    start_workflow,
)
from runtrue.workflow.nodes.http import make_client
from runtrue.workflow.templates import compile_template

CHAIN_ROUNDS, NODES = 9, 1_000
TEMPLATE_ROUNDS, RENDERINGS = 21, 100_000
HTTP_ROUNDS, REQUESTS, AT_ONCE = 9, 1_000, 50
START_ROUNDS, START_WARM_UP = 15, 3

COMPILE = "runtrue validate + compile"
LANGGRAPH_COMPILE = "langgraph build + compile"
RUN = "runtrue durable run"
LANGGRAPH_RUN = "langgraph + SQLite sync run"

LOOKUPS = "two dict lookups"
REFERENCE = "${fetch.count}"
PATH = "${fetch.items[0].name}"
TEXT = "text with two references"
PARAMS = "five params, a reference each"

BARE = "httpx2 alone"
BATCH = "runtrue http batch, durable"

PYTHON = "python -c pass"
COMMAND = "runtrue run, one read-file node"


def run() -> tuple[Table, ...]:
    # Not /tmp, which is often kept in memory, where a commit costs less than it does in life.
    folder = os.environ.get("TMPDIR", "/var/tmp")  # noqa: S108  # the directory in it is ours
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name)
        with Journal(path / "journal.db") as journal:
            chain = measure_chain(journal, path)
            templates = measure_templates()
            requests = measure_requests(journal, path)
            large = measure_large(journal, path)
        return chain, templates, requests, large, measure_list(path), measure_start(path / "start")


# -- a chain --------------------------------------------------------------------------------------


def measure_chain(journal: Journal, folder: Path) -> Table:
    registry = Registry(Home(folder), folder, types=[CountNode])
    settings = settings_of(journal)
    samples = interleave(
        {
            COMPILE: compiling(lambda: compile_workflow(chain_ir(NODES), registry=registry), NODES),
            LANGGRAPH_COMPILE: compiling(lambda: langgraph_chain(None, NODES), NODES),
            RUN: running(journal, registry, NODES),
            LANGGRAPH_RUN: running_langgraph(folder / "langgraph.db", settings, NODES),
        },
        rounds=CHAIN_ROUNDS,
    )
    whole, langgraph_whole = (
        sum(statistics.median(samples[part]) for part in parts)
        for parts in ((COMPILE, RUN), (LANGGRAPH_COMPILE, LANGGRAPH_RUN))
    )
    return Table(
        title=f"workflow: a chain of {NODES:,} nodes, each of which takes the value of the last",
        unit="µs/node",
        rows=(
            row(samples, COMPILE),
            row(samples, LANGGRAPH_COMPILE, of=COMPILE),
            row(samples, RUN),
            row(samples, LANGGRAPH_RUN, of=RUN, target=Target("≥", 10)),
        ),
        notes=(
            f"medians of {CHAIN_ROUNDS} interleaved rounds; both databases are on one file system "
            "and have the journal's settings",
            f"with compiling, a run of langgraph costs {langgraph_whole / whole:.1f} × as much",
        ),
    )


# -- templates ------------------------------------------------------------------------------------

STORE = {"fetch": {"count": 3, "title": "Notes", "items": [{"name": "first"}]}}


def measure_templates() -> Table:
    samples = interleave(
        {
            LOOKUPS: lookups,
            REFERENCE: rendering(REFERENCE),
            PATH: rendering(PATH),
            TEXT: rendering("the ${fetch.count} entries of ${fetch.title}"),
            PARAMS: rendering(dict.fromkeys("abcde", REFERENCE)),
        },
        rounds=TEMPLATE_ROUNDS,
    )
    per_second = 1e3 / statistics.median(samples[REFERENCE])
    return Table(
        title="workflow: filling references in, compiled",
        unit="ns/reference",
        rows=(
            row(samples, LOOKUPS),
            row(samples, REFERENCE, of=LOOKUPS, target=Target("≤", 5)),
            *(row(samples, name, of=LOOKUPS) for name in (PATH, TEXT, PARAMS)),
        ),
        notes=(
            f"medians of {TEMPLATE_ROUNDS} interleaved rounds of {RENDERINGS:,}; the lookups are "
            "those of the first reference, in the same loop",
            f"{REFERENCE}: {per_second:.1f} million per second, where at least 1 is wanted",
        ),
    )


def lookups() -> float:
    store: dict[str, Any] = STORE
    with stopwatch(1e9, RENDERINGS) as cost:
        for _ in repeat(None, RENDERINGS):
            store["fetch"]["count"]
    return cost()


def rendering(value: Any) -> Contender:
    template = compile_template(value)
    render, references = template.render, len(template.references)

    def sample() -> float:
        with stopwatch(1e9, RENDERINGS * references) as cost:
            for _ in repeat(None, RENDERINGS):
                render(STORE)
        return cost()

    return sample


# -- requests -------------------------------------------------------------------------------------


def measure_requests(journal: Journal, folder: Path) -> Table:
    with serving() as base:
        samples = interleave(
            {BARE: sending(base), BATCH: batching(base, journal, folder)}, rounds=HTTP_ROUNDS
        )
    return Table(
        title=f"workflow: {REQUESTS:,} requests on loopback, {AT_ONCE} at once",
        unit="µs/request",
        rows=(row(samples, BARE), row(samples, BATCH, of=BARE, target=Target("≤", 1.5))),
        notes=(
            f"medians of {HTTP_ROUNDS} interleaved rounds; the server is a process of its own, and "
            "both have the same settings of httpx2, a new client, and read the JSON",
            "the batch is all of it: validated, compiled, run and recorded",
        ),
    )


def sending(base: str) -> Contender:
    async def send_all() -> list[Any]:
        answers: list[Any] = [None] * REQUESTS
        waiting = iter(range(REQUESTS))

        async def work() -> None:
            for n in waiting:
                answers[n] = (await client.get(f"{base}/{n}")).json()

        async with make_client() as client, asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
        return answers

    def sample() -> float:
        with stopwatch(1e6, REQUESTS) as cost:
            answers = asyncio.run(send_all())
        assert all(answer["id"] for answer in answers)
        return cost()

    return sample


def batching(base: str, journal: Journal, folder: Path) -> Contender:
    home = Home(folder)
    batch = {"items": "${numbers}", "parallel": True, "max_concurrent": AT_ONCE}
    node = {"id": "get", "type": "http", "params": {"url": base + "/${item}"}, "batch": batch}
    ir = {"inputs": {"numbers": {"type": "array"}}, "nodes": [node]}
    dispatcher = LocalDispatcher(journal, lambda run: prepare_workflow(run, home))

    def sample() -> float:
        numbers = list(range(REQUESTS))
        with stopwatch(1e6, REQUESTS) as cost:
            registry = Registry(home, folder)
            started = start_workflow(journal, ir, {"numbers": numbers}, registry=registry)
            ended = asyncio.run(dispatcher.run(started.run_id))
        assert ended.result is not None
        assert ended.result["result"]["success_count"] == REQUESTS
        return cost()

    return sample


# -- start-up -------------------------------------------------------------------------------------


def measure_start(folder: Path) -> Table:
    folder.mkdir()
    (folder / "notes.txt").write_text("something to read\n")
    (folder / "read.yaml").write_text(
        "nodes:\n- {id: read, type: read-file, params: {file_path: notes.txt}}\n"
    )
    runtrue = str(Path(sys.executable).with_name("runtrue"))
    samples = interleave(
        {
            PYTHON: starting([sys.executable, "-c", "pass"], folder),
            COMMAND: starting([runtrue, "run", "read.yaml"], folder),
        },
        rounds=START_ROUNDS,
        warm_up=START_WARM_UP,
    )
    return Table(
        title="workflow: from starting a program to its end, warm",
        unit="ms",
        rows=(row(samples, PYTHON), row(samples, COMMAND, of=PYTHON)),
        notes=(f"medians of {START_ROUNDS} interleaved rounds, all with the same interpreter",),
    )


def starting(command: list[str], folder: Path) -> Contender:
    # Settings of the caller's Python could hinder one of them, as one without compiled files.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["RUNTRUE_HOME"] = str(folder)

    def sample() -> float:
        with stopwatch(1e3, 1) as cost:
            subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True)
        return cost()

    return sample
