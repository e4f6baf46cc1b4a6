"""Flows: nodes joined by actions, checked once when the flow is made."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from runtrue.errors import FlowError, JournalError, NoSuccessor, RunError
from runtrue.flow.events import ExecRetried, Listener, NodeFinished, NodeStarted
from runtrue.flow.node import Ask, Node
from runtrue.flow.parts import PartRecorder, current_parts
from runtrue.flow.run import Run, decoder


@dataclass(frozen=True, slots=True)
class NodeStep:
    """A node with what would otherwise be found out again each time it is run."""

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
        self.steps: dict[Node, NodeStep] = {}
        names: set[str] = set()
        for node in _reachable(start):
            if node.name in names:
                raise FlowError(f"two nodes of the flow are named {node.name!r}; name them apart")
            names.add(node.name)
            self.steps[node] = _prepare(node)

    async def run(
        self, shared: dict[str, Any] | None = None, *, listeners: Iterable[Listener] = ()
    ) -> dict[str, Any]:
        """Run once and return the shared store, recording nothing.

        Within a step that records its parts, each node is one of them.
        """
        shared = {} if shared is None else shared
        parts = current_parts.get()
        record = PartRecorder(parts) if parts is not None else None
        await Run(record, listeners=listeners).execute(lambda run: self.walk(run, shared))
        return shared

    async def walk(self, run: Run, shared: dict[str, Any]) -> str:
        """Go from node to node over `shared` until one ends the flow; return the last action."""
        step = self.steps[self.start]
        while True:
            node = step.node
            run.current = node.name
            inputs = node.prep(shared)
            if step.prep_is_async:
                inputs = await inputs
            if isinstance(node, Ask):
                result = await run.ask(node.name, inputs)
            elif run.in_memory:
                result = await _execute(run, step, inputs)
            else:
                execute = partial(_execute, run, step)
                fires_once = node.side_effect and not (node.repeatable or node.has_parts)
                result = await run.perform(
                    node.name,
                    inputs,
                    execute,
                    step.decode,
                    side_effect=fires_once,
                    has_parts=node.has_parts,
                )
            routed: Any = node.post(shared, inputs, result)
            action = (await routed if step.post_is_async else routed) or "default"
            successor = node.successors.get(action)
            if successor is None:
                return _last_action(node, action)
            if successor not in self.steps:
                raise FlowError(
                    f"node {successor.name!r} was wired to {node.name!r} after the flow was made"
                )
            step = self.steps[successor]


async def _execute(run: Run, step: NodeStep, inputs: Any) -> Any:
    """`exec`, tried again as often as the node allows, then `exec_fallback`."""
    node = step.node
    if run.is_heard:
        run.notify(NodeStarted(origin=node.name))
    tries = 0
    while True:
        try:
            if step.exec_is_async:
                result = await node.exec(inputs)
            elif node.blocking:
                result = await asyncio.to_thread(node.exec, inputs)
            else:
                result = node.exec(inputs)
            break
        except (RunError, JournalError):
            # Out of `emit`: this process may not go on, so nothing is to be tried again.
            raise
        except Exception as error:
            if tries >= node.retries:
                result = node.exec_fallback(inputs, error)
                if step.fallback_is_async:
                    result = await result
                break
            tries += 1
            run.notify(ExecRetried(origin=node.name, retry=tries, error=repr(error)))
            if node.wait:
                await asyncio.sleep(node.wait)
    if run.is_heard:
        run.notify(NodeFinished(origin=node.name))
    return result


def _last_action(node: Node, action: str) -> str:
    if node.terminal:
        return action
    known = ", ".join(sorted(node.successors)) or "none"
    raise NoSuccessor(
        f"node {node.name!r} returned the action {str(action)!r}, which leads nowhere; "
        f"its actions are: {known}"
    )


def _reachable(start: Node) -> Iterable[Node]:
    seen = {start: None}
    queue = [start]
    for node in queue:
        fresh = [n for n in node.successors.values() if n not in seen]
        seen.update(dict.fromkeys(fresh))
        queue.extend(dict.fromkeys(fresh))
    return seen


def _prepare(node: Node) -> NodeStep:
    return NodeStep(
        node=node,
        prep_is_async=inspect.iscoroutinefunction(node.prep),
        exec_is_async=inspect.iscoroutinefunction(node.exec),
        fallback_is_async=inspect.iscoroutinefunction(node.exec_fallback),
        post_is_async=inspect.iscoroutinefunction(node.post),
        decode=decoder(type(node).exec, f"{node.name}.exec"),
    )
