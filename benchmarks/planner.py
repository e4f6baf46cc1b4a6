"""What runtime validation costs on top of the nodes that it runs."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Contender, Table, Target, interleave, row
from benchmarks.server import serving
from runtrue.flow import Flow, Node
from runtrue.home import Home
from runtrue.planner import PlannerContext
from runtrue.planner.nodes import RuntimeValidationNode
from runtrue.workflow import Registry, run_workflow

ROUNDS = 31
ALLOWED_MS = 50.0

ALONE = "three nodes alone"
VALIDATED = "the same, validated"
ADDED = "what validation adds"
ALLOWED = "50 ms"


class End(Node):
    """Where an action leads."""

    terminal = True


def run() -> Table:
    folder = os.environ.get("TMPDIR", "/var/tmp")  # noqa: S108  # the directory in it is ours
    with tempfile.TemporaryDirectory(dir=folder) as name, serving() as address:
        path = Path(name)
        registry = Registry(Home(path / "home"), path)
        samples = interleave(
            {ALONE: alone(registry, address), VALIDATED: validated(registry, address)},
            rounds=ROUNDS,
        )
    pairs = zip(samples[VALIDATED], samples[ALONE], strict=True)
    samples[ADDED] = [whole - nodes for whole, nodes in pairs]
    samples[ALLOWED] = [ALLOWED_MS] * ROUNDS
    return Table(
        title="planner: runtime validation of a workflow of three nodes (http, python, write-file)",
        unit="ms",
        rows=(
            row(samples, ALONE),
            row(samples, VALIDATED),
            row(samples, ADDED, of=ALLOWED, target=Target("≤", 1)),
        ),
        notes=(
            "validated: compiled, run with a fresh store, calls recorded, findings collected",
            "both open and close their connections and processes for each run",
        ),
    )


def workflow(address: str) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "id": "fetch",
                "type": "http",
                "params": {"url": f"{address}/users/ada", "extract": {"name": "$.profile.name"}},
            },
            {
                "id": "greet",
                "type": "python",
                "params": {
                    "inputs": {"name": "${fetch.extracted.name}"},
                    "code": "return f'hello {name}'",
                },
            },
            {
                "id": "save",
                "type": "write-file",
                "params": {"file_path": "hello.txt", "content": "${greet.result}"},
            },
        ]
    }


def alone(registry: Registry, address: str) -> Contender:
    def sample() -> float:
        begin = time.perf_counter()
        result = run_workflow(workflow(address), registry=registry)
        seconds = time.perf_counter() - begin
        assert result.passed, result.error
        return seconds * 1000

    return sample


def validated(registry: Registry, address: str) -> Contender:
    def sample() -> float:
        shared: dict[str, Any] = {"generated_workflow": workflow(address), "execution_params": {}}
        begin = time.perf_counter()
        node = RuntimeValidationNode(PlannerContext(registry))
        for action in ("default", "runtime_fix", "failed_runtime"):
            node.on(action, End(action))
        asyncio.run(Flow(node).run(shared))
        seconds = time.perf_counter() - begin
        assert "runtime_errors" not in shared, shared["runtime_errors"]
        return seconds * 1000

    return sample
