"""A process that drives a run and can be held, and killed, at every point of every node.

With `--gates` it names each point on stdout and goes on when it gets a line on stdin. Each `exec`
that was carried out to its end adds a line to the log file.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from runtrue.flow import Flow, Journal, LocalDispatcher, Node, RunRow, RunState, Segment
from tests.flow.child import location_of
from tests.flow.nodes import flow_segment

Shared = dict[str, Any]

ROUNDS = 2
NODES = ("take", "grow", "keep")

#: Every point of an undisturbed run, in order: before, in the middle and at the end of `exec`,
#: and after the result was recorded.
POINTS = [
    f"{place} {node} {round_}"
    for round_ in range(ROUNDS)
    for node in NODES
    for place in ("prep", "exec", "done", "post")
]


class Gates:
    def __init__(self, *, closed: bool) -> None:
        self._closed = closed

    def reach(self, point: str) -> None:
        if self._closed:
            print(point, flush=True)
            sys.stdin.readline()


class Gated(Node):
    """Works on the shared store's value, saying where it is."""

    def __init__(self, name: str, gates: Gates, log: Path) -> None:
        super().__init__(name)
        self.gates = gates
        self.log = log

    def prep(self, shared: Shared) -> dict[str, Any]:
        self.gates.reach(f"prep {self.name} {shared['round']}")
        return {"value": shared["value"], "round": shared["round"]}

    def exec(self, inputs: dict[str, Any]) -> int:
        self.gates.reach(f"exec {self.name} {inputs['round']}")
        with self.log.open("a") as log:
            log.write(f"{self.name} {inputs['round']}\n")
        self.gates.reach(f"done {self.name} {inputs['round']}")
        return int(inputs["value"]) * 2 + len(self.name)

    def post(self, shared: Shared, inputs: dict[str, Any], result: int) -> str:
        self.gates.reach(f"post {self.name} {shared['round']}")
        shared["value"] = result
        shared["budget"] -= 1
        shared["seen"].append(result)
        if self.name == NODES[-1]:
            shared["round"] += 1
            return "again" if shared["round"] < ROUNDS else "end"
        return "default"


class Keep(Gated):
    terminal = True


class Fire(Gated):
    side_effect = True


def build(gates: Gates, log: Path, *, fires: bool = False) -> Flow:
    take = Gated("take", gates, log)
    grow = (Fire if fires else Gated)("grow", gates, log)
    keep = Keep("keep", gates, log)
    take >> grow >> keep
    keep - "again" >> take
    return Flow(take)


def store() -> Shared:
    return {"value": 1, "round": 0, "budget": 10, "seen": []}


async def drive_run(journal: Journal, run_id: str, log: Path, *flags: str) -> RunRow:
    gates = Gates(closed="--gates" in flags)

    def prepare(run: RunRow) -> Segment:
        flow = build(gates, log, fires=bool(run.input.get("fires")))
        return flow_segment(flow, store(), outcome=lambda shared: (RunState.PASSED, shared))

    return await LocalDispatcher(journal, prepare).run(run_id, force="--force" in flags)


def main(path: str, run_id: str, log: str, *flags: str) -> None:
    with Journal(location_of(path)) as journal:
        run = asyncio.run(drive_run(journal, run_id, Path(log), *flags))
    print(json.dumps({"value": run.result}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
