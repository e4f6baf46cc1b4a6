"""Batches: one node run for each item of a list, in order or several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.flow import current_parts, emit
from runtrue.loop import Fault
from runtrue.typed_data import json_decoder
from runtrue.workflow import context as contexts
from runtrue.workflow.context import Context
from runtrue.workflow.effect import Effect, EffectsNotAgreed
from runtrue.workflow.events import ItemFinished
from runtrue.workflow.ir import Batch, NodeIR, Retry
from runtrue.workflow.node import WorkflowNode, describe_value
from runtrue.workflow.paths import opened
from runtrue.workflow.secrets import sample_text
from runtrue.workflow.step import NodeOutcome, WorkflowStep, as_data, rendered
from runtrue.workflow.templates import compile_template

_decode_outcome = json_decoder(NodeOutcome)


class BatchItem(msgspec.Struct, frozen=True):
    """One item, with the params that its run gets."""

    item: Any
    params: dict[str, Any]


class BatchStep(WorkflowStep):
    """A node with `batch`.

    Its outputs are `results` (the outputs of each item, in the order of the items, with the item
    itself), `count`, `success_count`, `error_count` and `errors`, which is null when there are
    none. Each item is a part of the step, recorded by itself, and those that ended well are not
    run again when the run goes on. It fails when an item fails or, with `error_handling:
    continue`, when all of them do.
    """

    def __init__(self, ir: NodeIR, batch: Batch, node_type: WorkflowNode[Any]) -> None:
        super().__init__(ir, node_type)
        self._fires_once = self.side_effect and not (self.repeatable or self.has_parts)
        self.has_parts = True
        self.batch = batch
        self._items = compile_template(batch.items)
        tries = Retry(attempts=batch.max_retries, wait=batch.retry_wait)
        self._item_retry = tries if batch.max_retries > 1 else ir.retry

    def _resolved(self, store: Mapping[str, Any]) -> list[BatchItem]:
        items = self._list(store)
        scope = dict(store)
        resolved = []
        for index, item in enumerate(items):
            scope[self.batch.alias], scope["__index__"] = item, index
            try:
                resolved.append(BatchItem(item, super()._resolved(scope)))
            except NodeFailed as error:
                raise _of_item(error, index, len(items)) from error.__cause__
        return resolved

    def _list(self, store: Mapping[str, Any]) -> list[Any]:
        items = rendered(self._items, store)
        if isinstance(items, str):
            # Commands print text: a list in JSON is read as one.
            items = opened(items)
        if not isinstance(items, list):
            raise RuntimeValidationError(
                f"batch needs a list, and {self.batch.items!r} is {describe_value(items)}",
                category="not_a_list",
                attempted=(str(self.batch.items),),
                available=tuple(items) if isinstance(items, dict) else (),
                sample=sample_text(items),
            )
        return items

    async def exec(self, inputs: list[BatchItem]) -> NodeOutcome:
        """Run every item; `post` puts their outcomes together."""
        context = contexts.needed()
        done: list[NodeOutcome | None] = [None] * len(inputs)
        waiting = iter(range(len(inputs)))
        finished = 0
        asking: list[Effect] = []

        async def work() -> None:
            nonlocal finished
            for index in waiting:
                try:
                    await self._item(index, inputs, done, context)
                except EffectsNotAgreed as error:
                    # A workflow that is an item. What the others do must not be cut off by it.
                    asking.extend(error.effects)
                finished += 1
                emit(ItemFinished(done=finished, of=len(inputs)))

        workers = min(self.batch.max_concurrent, len(inputs)) if self.batch.parallel else 1
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(work())
        except ExceptionGroup as group_of_one:
            error = group_of_one.exceptions[0]
            if not isinstance(error, NodeFailed):
                raise error from None
            error.outputs = self._together(inputs, done)
            if not self._handles(error):
                raise self._reported(error) from error.__cause__
            return self._handled(error)
        if asking:
            raise EffectsNotAgreed(asking)
        return NodeOutcome({}, items=[item for item in done if item is not None])

    async def _item(
        self, index: int, inputs: list[BatchItem], done: list[NodeOutcome | None], context: Context
    ) -> None:
        async def run_item(params: dict[str, Any]) -> NodeOutcome:
            try:
                with contexts.at_place(f"{self._place(context)}[{index}]"):
                    return await self._attempt(params, context, self._item_retry, index)
            except NodeFailed as error:
                if self.batch.error_handling == "fail_fast":
                    raise
                return _failed(error, error.outputs)

        parts, params = current_parts.get(), inputs[index].params
        try:
            if parts is None:
                done[index] = await run_item(params)
            else:
                done[index] = await parts.perform(
                    f"[{index}]",
                    params,
                    run_item,
                    _decode_outcome,
                    side_effect=self._fires_once,
                    has_parts=self.node_type.has_parts,
                )
        except NodeFailed as error:
            done[index] = _failed(error, error.outputs)
            raise _of_item(error, index, len(inputs)) from error.__cause__

    def goes_on_after(self, error: NodeFailed) -> bool:
        """True if the batch goes on after an item's failure, unless that may pass the next time."""
        if self.batch.error_handling == "continue":
            return not error.transient
        return super().goes_on_after(error)

    def _finished(self, inputs: list[BatchItem], done: NodeOutcome) -> dict[str, Any]:
        if done.items is None:
            return done.outputs
        finished: list[NodeOutcome] = []
        first: NodeFailed | None = None
        for index, (item, one) in enumerate(zip(inputs, done.items, strict=True)):
            try:
                outputs = super()._finished(item.params, one)
                finished.append(msgspec.structs.replace(one, outputs=outputs))
            except NodeFailed as error:
                finished.append(_failed(error, one.outputs))
                first = first or _of_item(error, index, len(inputs))
        together = self._together(inputs, finished)
        if first is not None and self.batch.error_handling == "fail_fast":
            first.outputs = together
            raise first
        if finished and all(one.failed for one in finished):
            raise _all_failed([one.failure or {} for one in finished], together)
        for index, one in enumerate(finished):
            if one.failure is not None:
                self._tell_handled({**one.failure, "data": {**one.failure["data"], "index": index}})
                break
        return together

    def _together(
        self, inputs: list[BatchItem], done: Sequence[NodeOutcome | None]
    ) -> dict[str, Any]:
        """Return the outputs of the batch; None is an item that never ran."""
        results = [
            None if done is None else {**done.outputs, "item": item.item}
            for item, done in zip(inputs, done, strict=True)
        ]
        errors = [
            {"index": index, "item": item.item, "error": one.outputs["error"]}
            for index, (item, one) in enumerate(zip(inputs, done, strict=True))
            if one is not None and one.failed
        ]
        ran = sum(one is not None for one in done)
        return {
            "results": results,
            "count": len(inputs),
            "success_count": ran - len(errors),
            "error_count": len(errors),
            "errors": errors or None,
        }


def _of_item(error: NodeFailed, index: int, count: int) -> NodeFailed:
    error.message = f"item {index} of {count}: {error.message}"
    error.data = {**error.data, "index": index}
    return error


def _failed(error: NodeFailed, outputs: Mapping[str, Any]) -> NodeOutcome:
    failure = {**as_data(error), "outputs": {}}
    return NodeOutcome({**outputs, "error": error.message}, failed=True, failure=failure)


def _all_failed(failures: list[dict[str, Any]], together: dict[str, Any]) -> NodeFailed:
    first = failures[0]
    faults = {failure["fault"] for failure in failures}
    message = f"all {len(failures)} items failed, the first with: {first['message']}"
    error_type = RuntimeValidationError if all(f["fixable"] for f in failures) else NodeFailed
    return error_type(
        message,
        category="all_items_failed",
        fault=first["fault"] if len(faults) == 1 else Fault.CANDIDATE,
        attempted=first["attempted"],
        available=first["available"],
        sample=first["sample"],
        data={**first["data"], "index": 0, "category": first["category"]},
        outputs={**together, "error": message},
        transient=all(failure["transient"] for failure in failures),
    )
