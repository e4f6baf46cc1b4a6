"""Flows: nodes joined by actions, checked once when the flow is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

import msgspec

from runtrue.errors import FlowError
from runtrue.flow.events import Listener
from runtrue.flow.node import Node


@dataclass(frozen=True, slots=True)
class Step:
    """A node with what the driver would otherwise find out again at every step."""

    node: Node
    prep_is_async: bool
    exec_is_async: bool
    fallback_is_async: bool
    post_is_async: bool
    decode: Callable[[bytes], Any]


class Flow:
    """A start node and everything that can be reached from it. Holds no state of any run."""

    def __init__(self, start: Node) -> None:
        self.start = start
        self.steps: dict[Node, Step] = {}
        names: set[str] = set()
        for node in _reachable(start):
            if node.name in names:
                raise FlowError(f"two nodes of one flow are named {node.name!r}; name them apart")
            names.add(node.name)
            self.steps[node] = _prepare(node)

    async def run(
        self, shared: dict[str, Any] | None = None, *, listeners: Iterable[Listener] = ()
    ) -> dict[str, Any]:
        """Run once in memory, recording nothing, and return the shared store."""
        from runtrue.flow.run import drive

        shared = {} if shared is None else shared
        await drive(self, shared, listeners=listeners)
        return shared


def _reachable(start: Node) -> Iterable[Node]:
    seen = {start: None}
    queue = [start]
    for node in queue:
        fresh = [n for n in node.successors.values() if n not in seen]
        seen.update(dict.fromkeys(fresh))
        queue.extend(dict.fromkeys(fresh))
    return seen


def _prepare(node: Node) -> Step:
    try:
        decode = _decoder(type(node).exec)
    except (NameError, TypeError) as error:
        raise FlowError(f"the annotations of {node.name}.exec cannot be used: {error}") from error
    return Step(
        node=node,
        prep_is_async=inspect.iscoroutinefunction(node.prep),
        exec_is_async=inspect.iscoroutinefunction(node.exec),
        fallback_is_async=inspect.iscoroutinefunction(node.exec_fallback),
        post_is_async=inspect.iscoroutinefunction(node.post),
        decode=decode,
    )


@cache
def _decoder(method: Callable[..., Any]) -> Callable[[bytes], Any]:
    """What reads recorded results of an `exec`, which many nodes of one flow may share."""
    return msgspec.json.Decoder(get_type_hints(method).get("return", Any)).decode
