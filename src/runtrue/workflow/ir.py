"""The intermediate representation: a workflow as typed data, once it is known to be well formed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec

from runtrue.documents import Pointer
from runtrue.typed_data import convert


class Workflow(dict[str, Any]):
    """A workflow as plain data that knows where it was read."""

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        name: str = "workflow",
        path: Path | None = None,
        folder: Path | None = None,
        line: Callable[[Pointer], int | None] = lambda pointer: None,
        within: tuple[Path | None, ...] = (),
    ) -> None:
        super().__init__(data)
        self.name = name
        self.path = path
        #: Where the relative paths of other workflows in it begin, if not in the current directory.
        self.folder = folder or (path.parent if path else None)
        #: The files of the workflows that this one is used in, from the outside in.
        self.within = within
        #: Returns the line of a value in the file.
        self.line = line

    @classmethod
    def of(cls, ir: object) -> Workflow:
        """Return `ir` as a workflow. What is no object has no nodes."""
        if isinstance(ir, Workflow):
            return ir
        return cls(ir if isinstance(ir, Mapping) else {})


@cache
def schema() -> dict[str, Any]:
    """Return the published JSON Schema of workflow files."""
    text = resources.files("runtrue.workflow").joinpath("schema.json").read_bytes()
    decoded: dict[str, Any] = msgspec.json.decode(text)
    return decoded


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often something is tried in all, and the seconds between two tries."""

    attempts: int = 1
    wait: float = 0.0


class Batch(msgspec.Struct, frozen=True, kw_only=True, rename={"alias": "as"}):
    """Run the node once for each item of a list."""

    items: str | list[Any]
    #: What the params call the item.
    alias: str = "item"
    parallel: bool = False
    max_concurrent: int = 10
    error_handling: Literal["fail_fast", "continue"] = "fail_fast"
    max_retries: int = 1
    retry_wait: float = 0.0


class NodeIR(msgspec.Struct, frozen=True, kw_only=True):
    """One node."""

    id: str
    type: str
    purpose: str = ""
    params: dict[str, Any] = {}
    batch: Batch | None = None
    retry: Retry = Retry()
    on_error: Literal["stop", "continue"] = "stop"


class Edge(msgspec.Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """Where an action of a node leads."""

    source: str
    target: str
    action: str = "default"


class WorkflowIR(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow that is well formed. Make one with `parse_ir`."""

    nodes: list[NodeIR]
    edges: list[Edge]
    start_node: str
    inputs: dict[str, dict[str, Any]] = {}
    outputs: dict[str, dict[str, Any]] = {}


def parse_ir(ir: Mapping[str, Any]) -> WorkflowIR:
    """Return a valid workflow as typed data, with its defaults filled in."""
    nodes = ir["nodes"]
    return convert(
        {
            "nodes": nodes,
            "edges": edges_of(ir),
            "start_node": ir.get("start_node", nodes[0]["id"]),
            "inputs": ir.get("inputs", {}),
            "outputs": ir.get("outputs", {}),
        },
        WorkflowIR,
        # The schema takes 2.0 for an integer, as JSON does.
        strict=False,
    )


def edges_of(ir: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the edges; a workflow without any runs its nodes in their order."""
    if "edges" in ir:
        edges: list[dict[str, Any]] = ir["edges"]
        return edges
    ids = [node["id"] for node in ir["nodes"]]
    return [{"from": a, "to": b} for a, b in pairwise(ids)]


def successors(edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the nodes that each node leads to, by any action."""
    following: dict[str, list[str]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    return following


def reachable(start: str, following: Mapping[str, list[str]]) -> set[str]:
    """Return all nodes that can come after `start`; itself only if it is in a loop."""
    return set(walk(start, following))


def walk(start: str, following: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield what is `reachable` one by one, the nearest first."""
    seen: set[str] = set()
    queue = deque(following.get(start, ()))
    while queue:
        node = queue.popleft()
        if node not in seen:
            seen.add(node)
            yield node
            queue.extend(following.get(node, ()))
