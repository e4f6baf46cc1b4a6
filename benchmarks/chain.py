"""A chain of nodes, each of which takes the value of the last: in runtrue, and in langgraph."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

# It looks when it is imported, and is not to send what happens here anywhere.
os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langgraph.checkpoint.sqlite import (  # type: ignore[import-not-found, unused-ignore]
    SqliteSaver,
)
from langgraph.graph import START, StateGraph  # type: ignore[import-not-found, unused-ignore]

from benchmarks.flow import connect
from benchmarks.measure import Contender
from runtrue.flow import Journal, LocalDispatcher, Outcome, Run, RunRow, RunState, Segment
from runtrue.workflow import Registry, Result, WorkflowNode, compile_workflow
from runtrue.workflow.context import Context, Surroundings, opened

Clock = Callable[[], float]


@contextmanager
def stopwatch(
    unit: float, count: int, clock: Clock = time.perf_counter
) -> Iterator[Callable[[], float]]:
    """Times what is within; the result gives the cost of each of `count`, in parts of a second.

    `clock` is that on the wall, unless it is the processor's.
    """
    begin = clock()
    end = begin
    yield lambda: (end - begin) * unit / count
    end = clock()


@dataclass(frozen=True, slots=True)
class Value:
    value: int


class CountNode(WorkflowNode[Value]):
    """Counts on by one: as little as a node can do."""

    type = "count"
    Params = Value
    Outputs = Value

    async def run(self, params: Value, context: Context) -> Result:
        return Result({"value": params.value + 1})

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        return False


def chain_ir(nodes: int) -> dict[str, Any]:
    values = ["${first}", *(f"${{n{n}.value}}" for n in range(nodes - 1))]
    return {
        "inputs": {"first": {"type": "integer"}},
        "nodes": [
            {"id": f"n{n}", "type": "count", "params": {"value": value}}
            for n, value in enumerate(values)
        ],
    }


def compiling(
    compiled: Callable[[], object], nodes: int, clock: Clock = time.perf_counter
) -> Contender:
    def sample() -> float:
        with stopwatch(1e6, nodes, clock) as cost:
            compiled()
        return cost()

    return sample


def running(
    journal: Journal, registry: Registry, nodes: int, clock: Clock = time.perf_counter
) -> Contender:
    ended = {"value": nodes}
    return walking(journal, registry, chain_ir(nodes), {"first": 0}, nodes, ended, clock)


def walking(
    journal: Journal,
    registry: Registry,
    ir: dict[str, Any],
    inputs: dict[str, Any],
    count: int,
    wanted: Any,
    clock: Clock = time.perf_counter,
) -> Contender:
    """Run a workflow durably, up to what its last node gives; the cost is of each of `count`."""
    flow = compile_workflow(ir, registry=registry)
    last = ir["nodes"][-1]["id"]

    def prepare(run: RunRow) -> Segment:
        surroundings = Surroundings(registry, registry.directory)
        shared = dict(run.input)

        async def work(recorded: Run) -> Outcome:
            async with opened(Context(surroundings, run_id=run.id)):
                await flow.walk(recorded, shared)
            return RunState.PASSED, shared[last]

        return Segment(work)

    def sample() -> float:
        run_id = journal.create("chain", "chain", inputs)
        with stopwatch(1e6, count, clock) as cost:
            ended = asyncio.run(LocalDispatcher(journal, prepare).run(run_id))
        assert ended.result is not None
        assert {key: ended.result[key] for key in wanted} == wanted
        return cost()

    return sample


class State(TypedDict):
    value: int


def langgraph_chain(db: sqlite3.Connection | None, nodes: int) -> Any:
    def count(state: State) -> State:
        return {"value": state["value"] + 1}

    builder = StateGraph(State)
    names = [f"n{n}" for n in range(nodes)]
    for before, name in zip([START, *names], names, strict=False):
        builder.add_node(name, count)
        builder.add_edge(before, name)
    return builder.compile(checkpointer=None if db is None else SqliteSaver(db))


def running_langgraph(path: Path, settings: dict[str, Any], nodes: int) -> Contender:
    def sample() -> float:
        # A new file each time: every run leaves some 70 MB in it.
        path.unlink(missing_ok=True)
        with closing(connect(path, settings)) as db:
            graph = langgraph_chain(db, nodes)
            config = {"recursion_limit": 2 * nodes, "configurable": {"thread_id": "chain"}}
            with stopwatch(1e6, nodes) as cost:
                state = graph.invoke({"value": 0}, config, durability="sync")
        assert state == {"value": nodes}
        return cost()

    return sample
