"""Steps: a workflow's node as a node of the kernel.

`prep` fills the params in, `exec` lets the node type do its work and takes the secrets out of what
comes back, `post` puts it into the store under the node's id and says where to go on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec

from runtrue.errors import (
    FlowChanged,
    HostError,
    JournalError,
    NodeFailed,
    RunError,
    RuntimeValidationError,
    RuntrueError,
)
from runtrue.flow import Node, current_parts, emit
from runtrue.loop import Fault, fault_of_exception
from runtrue.secrets import StoreRefused
from runtrue.workflow import context as contexts
from runtrue.workflow.context import Context
from runtrue.workflow.derive_effects import effects_of_node
from runtrue.workflow.events import NodeFailure, NodeHandled, NodeRetried
from runtrue.workflow.ir import NodeIR, Retry
from runtrue.workflow.node import WorkflowNode
from runtrue.workflow.secrets import MissingSecret, reveal, sample_text
from runtrue.workflow.templates import Template, Unresolved, compile_template

Store = dict[str, Any]

#: How often a node may run within one run, where edges lead back to it.
MOST_VISITS = 1_000


class NodeOutcome(msgspec.Struct, frozen=True):
    """How a node ended: its outputs and its action, or the failure that something handles."""

    outputs: dict[str, Any]
    action: str = "default"
    failed: bool = False
    #: Why an item of a batch failed.
    failure: dict[str, Any] | None = None
    #: How each item of a batch ended, where there is one.
    items: list[NodeOutcome] | None = None
    #: A person gave the outputs: they are final.
    given: bool = False


def given_outcome(outputs: dict[str, Any]) -> NodeOutcome:
    """Return how a node ended whose side effect has happened, as a person knows."""
    return NodeOutcome(outputs, given=True)


def skipped_outcome() -> NodeOutcome:
    """Return how a node ended that a person goes on without."""
    skipped = NodeFailed("skipped by a person", category="skipped", fault=Fault.HUMAN)
    return NodeOutcome({"error": skipped.message}, failed=True, failure=as_data(skipped))


class WorkflowStep(Node):
    """One node of a workflow."""

    # A workflow may end at any of its nodes; `_leading` refuses an action without an edge.
    terminal = True

    def __init__(self, ir: NodeIR, node_type: WorkflowNode[Any]) -> None:
        super().__init__(ir.id)
        self.ir = ir
        self.node_type = node_type
        self.side_effect = node_type.has_side_effect(ir.params)
        self.repeatable = node_type.is_repeatable(ir.params)
        self.has_parts = node_type.has_parts
        self._verbatim = {name: ir.params[name] for name in node_type.verbatim & ir.params.keys()}
        self._params = {
            name: compile_template(value)
            for name, value in {**ir.params, **node_type.implied(ir.params)}.items()
            if name not in node_type.verbatim
        }
        self._has_secret = any(template.secret for template in self._params.values())
        self._finishes = type(node_type).finish is not WorkflowNode.finish

    def prep(self, shared: Store) -> Any:
        """Return the params, filled in. Secrets are still only named."""
        with _Failing(self, shared):
            self._count_visit()
            inputs = self._resolved(shared)
        context = contexts.current()
        if context is not None:
            context.require_agreed(
                lambda: effects_of_node(self.ir, self.node_type, shared, context.surroundings)
            )
        return inputs

    def _count_visit(self) -> None:
        context = contexts.current()
        if context is not None and context.visit(self.name) > MOST_VISITS:
            raise NodeFailed(
                f"has run {MOST_VISITS} times: its edges form a loop",
                category="endless_loop",
            )

    def _resolved(self, store: Mapping[str, Any]) -> Any:
        try:
            return {**self.node_type.resolve(self._params, store), **self._verbatim}
        except NodeFailed:
            raise
        except Unresolved as error:
            raise _missing_reference(error, store) from error
        except Exception as error:
            raise _unforeseen(error) from error

    async def exec(self, inputs: Any) -> NodeOutcome:
        """Run the node, as often as its retry says."""
        context = contexts.needed()
        try:
            with contexts.at_place(self._place(context)):
                return await self._attempt(inputs, context, self.ir.retry)
        except NodeFailed as error:
            if not self._handles(error):
                raise self._reported(error) from error.__cause__
            return self._handled(error)

    def _place(self, context: Context) -> str:
        return f".{self.name}#{context.visits(self.name)}"

    def _attempt(
        self,
        inputs: dict[str, Any],
        context: Context,
        retry: Retry,
        item: int | None = None,
    ) -> Awaitable[NodeOutcome]:
        """Run the node, unless an earlier attempt of this workflow has made the same call."""
        if context.calls is None or not self.node_type.is_call:
            return self._tried(inputs, context, retry)
        return context.calls.make(
            self,
            inputs,
            lambda: self._tried(inputs, context, retry),
            ready=lambda: self._ready(inputs, context),
            item=item,
            run_id=context.run_id,
        )

    async def _tried(self, inputs: dict[str, Any], context: Context, retry: Retry) -> NodeOutcome:
        unchanged = True
        for tries_left in reversed(range(retry.attempts)):
            try:
                return await self._once(inputs, context)
            except NodeFailed as error:
                unchanged = error.unchanged = unchanged and error.unchanged
                if not tries_left or not _may_pass(error):
                    raise
                emit(NodeRetried(left=tries_left, error=error.message))
                await asyncio.sleep(retry.wait)
            if (parts := current_parts.get()) is not None and self.node_type.has_parts:
                # It is tried from its beginning.
                parts.forget()
        raise AssertionError("a node is tried at least once")

    async def _once(self, inputs: dict[str, Any], context: Context) -> NodeOutcome:
        """Run the node once; whatever comes of it has no secret in it any more."""
        try:
            params = self._ready(inputs, context)
        except NodeFailed as error:
            error.unchanged = True
            raise
        try:
            result = await self.node_type.run(params, context)
        except (RunError, JournalError, FlowChanged):
            # Not of the node: this process may not go on.
            raise
        except Exception as error:
            raise _redacted_failure(error, context) from _cause(error)
        redact = context.redactor.redact
        return NodeOutcome(redact(result.outputs), redact(result.action))

    def _ready(self, inputs: dict[str, Any], context: Context) -> Any:
        """Return the params as `run` takes them: with their secrets, and typed."""
        context.redactor.surround(context.environment)
        try:
            if self._has_secret:
                revealed: set[str] = set()
                inputs = reveal(inputs, context.environment, revealed)
                context.redactor.add(*revealed)
            return self.node_type.convert(inputs)
        except MissingSecret as error:
            kept = context.environment is os.environ
            remedy = f", and not kept either: `runtrue secret set {error.name}` stores it"
            raise NodeFailed(
                f"the environment variable {error.name} is not set{remedy if kept else ''}",
                category="missing_secret",
                fault=Fault.CREDENTIALS,
                attempted=(error.name,),
            ) from error
        except StoreRefused as error:
            raise NodeFailed(
                str(error), category="missing_secret", fault=Fault.CREDENTIALS
            ) from error
        except Exception as error:
            raise _redacted_failure(error, context) from _cause(error)

    def goes_on_after(self, error: NodeFailed) -> bool:
        """True if the workflow goes on after this failure."""
        return self._handles(error)

    def _handles(self, error: NodeFailed) -> bool:
        if isinstance(error, RuntimeValidationError):
            return False
        return "error" in self.successors or self.ir.on_error == "continue"

    def _handled(self, error: NodeFailed) -> NodeOutcome:
        self._tell_handled(as_data(error))
        action = "error" if "error" in self.successors else "default"
        outputs = {"error": error.message, **error.outputs}
        return NodeOutcome(outputs, action, failed=True)

    def _tell_handled(self, failure: dict[str, Any]) -> None:
        node_id = self._full_id(failure["node_id"])
        emit(NodeHandled(source=self.ir.type, **{**failure, "node_id": node_id}))

    def post(self, shared: Store, inputs: Any, result: NodeOutcome) -> str:
        """Put the outputs into the store and follow the action."""
        with _Failing(self, shared):
            done = self._settled(inputs, result)
            self._write(shared, done.outputs)
            return self._leading(done.action)

    def _settled(self, inputs: Any, done: NodeOutcome) -> NodeOutcome:
        """Finish the outputs; a failure of that may be handled, too."""
        # Skipped by a person: as if it had failed, and something handled that.
        is_skipped = done.failed and done.failure is not None and "error" in self.successors
        try:
            return NodeOutcome(self._finished(inputs, done), "error" if is_skipped else done.action)
        except NodeFailed as error:
            if self._handles(error):
                return self._handled(error)
            raise

    def _finished(self, inputs: Any, done: NodeOutcome) -> dict[str, Any]:
        if done.failed or done.given or not self._finishes:
            return done.outputs
        try:
            return self.node_type.finish(inputs, done.outputs)
        except NodeFailed:
            raise
        except Exception as error:
            raise _unforeseen(error) from error

    def _write(self, shared: Store, outputs: Mapping[str, Any]) -> None:
        # Taken out first, so that the store is always in the order in which nodes finished.
        shared.pop(self.name, None)
        shared[self.name] = dict(outputs)

    def _leading(self, action: str) -> str:
        if action != "default" and action not in self.successors:
            known = tuple(self.successors)
            raise RuntimeValidationError(
                f"its action {action!r} leads nowhere; there are edges for: "
                f"{', '.join(known) or 'none'}",
                category="no_edge",
                attempted=(action,),
                available=known,
            )
        return action

    def _reported(self, error: NodeFailed) -> NodeFailed:
        """Report the failure, with its node's id, to listeners and the journal."""
        error.node_id = self._full_id(error.node_id)
        emit(NodeFailure(source=self.ir.type, **as_data(error)))
        return error

    def _full_id(self, within: str | None) -> str:
        return ".".join(filter(None, [self.name, within]))


class _Failing:
    """Adds the node to failures in the pure parts of a step, and writes what outputs they have."""

    def __init__(self, step: WorkflowStep, shared: Store) -> None:
        self._step = step
        self._shared = shared

    def __enter__(self) -> None:
        pass

    def __exit__(self, error_type: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NodeFailed):
            context = contexts.current()
            if context is not None:
                _redact(error, context)
            if error.outputs:
                self._step._write(self._shared, error.outputs)
            self._step._reported(error)


def as_data(error: NodeFailed) -> dict[str, Any]:
    """Return a failure as plain data."""
    return {
        "node_id": error.node_id,
        "message": error.message,
        "category": error.category,
        "fault": error.fault,
        "attempted": list(error.attempted),
        "available": list(error.available),
        "sample": error.sample,
        "data": error.data,
        "outputs": error.outputs,
        "transient": error.transient,
        "unchanged": error.unchanged,
        "fixable": isinstance(error, RuntimeValidationError),
    }


def failure_of(data: Mapping[str, Any]) -> NodeFailed:
    """Return the failure that `as_data` made this of."""
    fields = {name: value for name, value in data.items() if name not in ("message", "fixable")}
    error_type = RuntimeValidationError if data["fixable"] else NodeFailed
    return error_type(data["message"], **fields)


def rendered(template: Template, store: Mapping[str, Any]) -> Any:
    """Render a template. Raises RuntimeValidationError."""
    try:
        return template.render(store)
    except Unresolved as error:
        raise _missing_reference(error, store) from error


def _may_pass(error: NodeFailed) -> bool:
    """False where the workflow is wrong, or a person has to act."""
    for_a_person = (Fault.CREDENTIALS, Fault.HUMAN)
    return not isinstance(error, RuntimeValidationError) and error.fault not in for_a_person


def _missing_reference(error: Unresolved, store: Mapping[str, Any]) -> RuntimeValidationError:
    root = error.reference.root
    return RuntimeValidationError(
        str(error),
        category="missing_template_path",
        attempted=(f"${{{error.reference.text}}}",),
        available=error.missing.available,
        sample=sample_text(store[root]) if root in store else None,
    )


def _unforeseen(error: Exception) -> NodeFailed:
    name = type(error).__name__
    message = " ".join(str(error).split())
    if isinstance(error, RuntrueError):
        fault = Fault.ENVIRONMENT if isinstance(error, HostError) else Fault.CANDIDATE
        return NodeFailed(message, category=name, fault=fault)
    names = [cls.__name__ for cls in type(error).__mro__]
    number = error.errno if isinstance(error, OSError) else None
    fault = fault_of_exception(names, error_number=number)
    return NodeFailed(f"{name}: {message}" if message else name, category=name, fault=fault)


def _redacted_failure(error: Exception, context: Context) -> NodeFailed:
    failure = error if isinstance(error, NodeFailed) else _unforeseen(error)
    _redact(failure, context)
    return failure


def _cause(error: Exception) -> BaseException | None:
    return error.__cause__ if isinstance(error, NodeFailed) else error


def _redact(error: NodeFailed, context: Context) -> None:
    redact = context.redactor.redact
    error.message = redact(error.message)
    error.args = (error.message,)
    error.attempted = tuple(redact(list(error.attempted)))
    error.available = tuple(redact(list(error.available)))
    error.sample = redact(error.sample)
    error.data = redact(error.data)
    error.outputs = redact(error.outputs)
