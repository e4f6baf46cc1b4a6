"""Compile a workflow into a flow of the kernel, one kernel node for each of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtrue.errors import InvalidWorkflow, UsageError
from runtrue.flow import Flow, Listener
from runtrue.workflow import context as contexts
from runtrue.workflow.batch import BatchStep
from runtrue.workflow.context import Surroundings
from runtrue.workflow.ir import NodeIR, Workflow, WorkflowIR, parse_ir
from runtrue.workflow.registry import Registry
from runtrue.workflow.step import WorkflowStep
from runtrue.workflow.validate import validate_workflow


class CompiledWorkflow(Flow):
    """The flow of a workflow. Its shared store holds the inputs by their names."""

    def __init__(self, start: WorkflowStep, surroundings: Surroundings) -> None:
        super().__init__(start)
        self._surroundings = surroundings

    async def run(
        self, shared: dict[str, Any] | None = None, *, listeners: Iterable[Listener] = ()
    ) -> dict[str, Any]:
        """Run once in memory, in the context that is there, or else in one of its own."""
        if contexts.current() is not None:
            return await super().run(shared, listeners=listeners)
        async with contexts.opened(contexts.Context(self._surroundings)):
            return await super().run(shared, listeners=listeners)


def compile_workflow(ir: Mapping[str, Any], *, registry: Registry | None = None) -> Flow:
    """Return the flow of a workflow. Raises `InvalidWorkflow` with all its problems.

    `run_workflow` is the shorter way: it also checks the inputs, and reads the outputs.
    """
    registry = registry or Registry.here()
    workflow, parsed = checked(ir, registry)
    base = workflow.path.parent if workflow.path else registry.directory
    return assemble(parsed, Surroundings(registry, base))


def checked(ir: Mapping[str, Any], registry: Registry) -> tuple[Workflow, WorkflowIR]:
    """Return a workflow as it is and as typed data. Raises `InvalidWorkflow`."""
    workflow = Workflow.of(ir)
    problems = validate_workflow(workflow, registry=registry)
    if problems:
        raise InvalidWorkflow(workflow.name, problems)
    return workflow, parse_ir(workflow)


def assemble(ir: WorkflowIR, surroundings: Surroundings) -> Flow:
    """Return the flow of a workflow that is known to be valid."""
    registry = surroundings.registry
    steps = {node.id: _step(node, registry) for node in ir.nodes}
    for edge in ir.edges:
        steps[edge.source].on(edge.action, steps[edge.target])
    return CompiledWorkflow(steps[ir.start_node], surroundings)


def _step(node: NodeIR, registry: Registry) -> WorkflowStep:
    node_type = registry.node(node.type)
    if node_type is None:
        # Known when the run began: a server that was removed since, or a package.
        raise UsageError(f"node {node.id!r}: {registry.suggest(node.type)}")
    return (
        WorkflowStep(node, node_type)
        if node.batch is None
        else BatchStep(node, node.batch, node_type)
    )
