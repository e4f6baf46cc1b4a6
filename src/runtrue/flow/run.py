"""Driving a flow: one loop for runs in memory and for durable ones.

A durable run is driven in segments, from its start or from an answer until it ends or parks. Each
segment replays what the journal holds (`prep` and `post` run again around the recorded results)
and goes on at the first step that is not there.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from runtrue.errors import (
    FlowChanged,
    FlowError,
    JournalError,
    NoSuccessor,
    RunError,
    SideEffectInterrupted,
)
from runtrue.flow.events import Event, Listener, current_emitter
from runtrue.flow.flow import Flow, Step
from runtrue.flow.journal import Journal
from runtrue.flow.node import Ask, Node
from runtrue.flow.rows import Claim, StepRow

#: For hashes, which must not depend on the order of keys. Results keep theirs.
_encode_in_order = msgspec.json.Encoder(order="deterministic").encode
_encode = msgspec.json.Encoder().encode


class Parked(Exception):
    """The segment ended because the run waits for an answer."""

    def __init__(self, question: Any) -> None:
        super().__init__("the run waits for an answer")
        self.question = question


class _ReplayEnded(Exception):
    """All recorded steps have been replayed."""


async def drive(
    flow: Flow,
    shared: dict[str, Any],
    *,
    record: Replayer | None = None,
    listeners: Iterable[Listener] = (),
) -> str:
    """Run `flow` over `shared` until a terminal node ends it, and return the last action."""
    tell = _teller(tuple(listeners))
    step = flow.steps[flow.start]
    loop, home = asyncio.get_running_loop(), threading.get_ident()

    def emitter(kind: str, data: dict[str, Any], keep: bool) -> None:
        if threading.get_ident() != home:
            # From a blocking `exec`: the journal and the listeners belong to the other thread.
            asyncio.run_coroutine_threadsafe(emit_at_home(kind, data, keep), loop).result()
            return
        # Listeners here see the same plain data as those that read the journal elsewhere.
        data = msgspec.json.decode(msgspec.json.encode(data))
        if keep and record is not None:
            record.keep(kind, step.node.name, data)
        tell(kind, step.node.name, data)

    async def emit_at_home(kind: str, data: dict[str, Any], keep: bool) -> None:
        emitter(kind, data, keep)

    token = current_emitter.set(emitter)
    try:
        while True:
            node = step.node
            inputs = node.prep(shared)
            if step.prep_is_async:
                inputs = await inputs
            if record is not None:
                result = await record.step(step, inputs, tell)
            else:
                result = await _work(step, inputs, tell)
            routed: Any = node.post(shared, inputs, result)
            action = (await routed if step.post_is_async else routed) or "default"
            successor = node.successors.get(action)
            if successor is None:
                last = _last_action(node, action)
                if record is not None:
                    record.check_all_used(node)
                return last
            if successor not in flow.steps:
                raise FlowError(
                    f"node {successor.name!r} was wired to {node.name!r} after the flow was made"
                )
            step = flow.steps[successor]
    finally:
        current_emitter.reset(token)


def _last_action(node: Node, action: str) -> str:
    if node.terminal:
        return action
    known = ", ".join(sorted(node.successors)) or "none"
    raise NoSuccessor(
        f"node {node.name!r} returned the action {str(action)!r}, which leads nowhere; "
        f"its actions are: {known}"
    )


async def run_segment(
    flow: Flow,
    shared: dict[str, Any],
    *,
    journal: Journal,
    claim: Claim,
    listeners: Iterable[Listener] = (),
    force: bool = False,
) -> str:
    """Drive a claimed run until it ends or parks (`Parked`), and return the last action.

    `force` allows a side effect that was interrupted to be fired again.
    """
    return await drive(
        flow, shared, record=Recorder(journal, claim, force=force), listeners=listeners
    )


async def replay(flow: Flow, shared: dict[str, Any], steps: list[StepRow]) -> None:
    """Bring `shared` to where the recorded steps leave it, executing nothing."""
    with suppress(_ReplayEnded):
        await drive(flow, shared, record=Replayer(steps))


class Replayer:
    """Hands out recorded results in order, after checking that the flow still asks for them."""

    def __init__(self, steps: list[StepRow]) -> None:
        self._steps = steps
        self._seq = 0

    async def step(self, step: Step, inputs: Any, tell: Tell) -> Any:
        """The result of the next step, out of the record."""
        recorded = self._next(step, inputs)
        if recorded is None or recorded.result is None:
            raise _ReplayEnded
        return self._result(step, recorded.result)

    def keep(self, kind: str, node: str, data: dict[str, Any]) -> None:
        """Replaying executes nothing, so that no node can emit anything."""

    def _next(self, step: Step, inputs: Any) -> StepRow | None:
        self._hash = _hash(step, inputs)
        if self._seq >= len(self._steps):
            return None
        recorded = self._steps[self._seq]
        name = step.node.name
        if recorded.node != name:
            raise _changed(
                f"step {self._seq} was recorded as {recorded.node!r} and is now {name!r}"
            )
        if recorded.input_hash != self._hash:
            raise _changed(f"step {self._seq}, {name!r}, was recorded with other inputs")
        self._seq += 1
        return recorded

    def _result(self, step: Step, recorded: bytes) -> Any:
        try:
            return step.decode(recorded)
        except msgspec.MsgspecError as error:
            raise _changed(
                f"step {self._seq - 1}, {step.node.name!r}, was recorded with a result of another "
                f"type ({error})"
            ) from error

    def check_all_used(self, last: Node) -> None:
        """The flow has ended at `last`: refuse that if the record goes on from there."""
        if self._seq < len(self._steps):
            node = self._steps[self._seq].node
            raise _changed(
                f"step {self._seq} was recorded as {node!r} and the flow now ends at {last.name!r}"
            )


def _changed(what: str) -> FlowChanged:
    return FlowChanged(
        f"{what}: the flow was edited, or runtrue was upgraded, since the run began; "
        "start a new run"
    )


class Recorder(Replayer):
    """Replays what is recorded, then executes and records what is not."""

    def __init__(self, journal: Journal, claim: Claim, *, force: bool) -> None:
        super().__init__(journal.load(claim.run_id))
        self._journal = journal
        self._claim = claim
        self._force = force

    async def step(self, step: Step, inputs: Any, tell: Tell) -> Any:
        """The result of the next step, recorded before it is used."""
        node = step.node
        recorded = self._next(step, inputs)
        if recorded is not None and recorded.result is not None:
            tell("node_replayed", node.name, {})
            return self._result(step, recorded.result)
        begun = recorded is not None
        if begun and not self._force:
            raise SideEffectInterrupted(
                f"run {self._claim.run_id} stopped inside {node.name!r}, which has a side effect "
                "that may already have happened; look, then fire it again with "
                f"`runtrue runs resume {self._claim.run_id} --force`"
            )
        if recorded is None:
            self._seq += 1
        seq, digest = self._seq - 1, self._hash
        if node.side_effect and not begun:
            self._journal.begin(self._claim, seq, node.name, digest)
            begun = True
        if isinstance(node, Ask):
            result = self._ask(node, seq, inputs, tell)
        else:
            result = await _work(step, inputs, tell)
        encoded = _encoded(_encode, step, "exec", result)
        try:
            # What `post` sees now is what it would see on replay.
            result = step.decode(encoded)
        except msgspec.MsgspecError as error:
            raise FlowError(
                f"{node.name}.exec returned something else than it is annotated with: {error}"
            ) from error
        self._journal.record(self._claim, seq, node.name, digest, encoded, begun=begun)
        return result

    def keep(self, kind: str, node: str, data: dict[str, Any]) -> None:
        """Put an event that a node emitted into the journal."""
        self._journal.emit(self._claim, Event(kind, node, data))

    def _ask(self, node: Node, seq: int, question: Any, tell: Tell) -> Any:
        self._journal.ask(self._claim, seq, question)
        tell("asked", node.name, {"question": question})
        asked = self._journal.park(self._claim, seq)
        if not asked.answered:
            tell("parked", node.name, {"question": question})
            raise Parked(question)
        return asked.answer


Tell = Callable[[str, str, dict[str, Any]], None]


async def _work(step: Step, inputs: Any, tell: Tell) -> Any:
    """`exec`, tried again as often as the node allows, then `exec_fallback`."""
    node = step.node
    if isinstance(node, Ask):
        raise FlowError(f"node {node.name!r} asks a person, which needs a journal")
    tell("node_started", node.name, {})
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
            tell("node_retried", node.name, {"retry": tries, "error": repr(error)})
            if node.wait:
                await asyncio.sleep(node.wait)
    tell("node_finished", node.name, {})
    return result


def _teller(listeners: tuple[Listener, ...]) -> Tell:
    if not listeners:
        return lambda kind, node, data: None

    def tell(kind: str, node: str, data: dict[str, Any]) -> None:
        event = Event(kind, node, data)
        for listener in listeners:
            listener(event)

    return tell


def _hash(step: Step, inputs: Any) -> str:
    encoded = _encoded(_encode_in_order, step, "prep", inputs)
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _encoded(encode: Callable[[Any], bytes], step: Step, method: str, value: Any) -> bytes:
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise FlowError(
            f"{step.node.name}.{method} returned something that cannot be recorded: {error}"
        ) from error
