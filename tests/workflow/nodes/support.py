"""Running one node the way a step does: params resolved, secrets revealed, converted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import NodeFailed
from runtrue.home import Home
from runtrue.workflow.context import Context, Surroundings
from runtrue.workflow.node import Result, WorkflowNode
from runtrue.workflow.registry import Registry
from runtrue.workflow.secrets import reveal
from runtrue.workflow.templates import compile_template


def make_context(
    directory: Path,
    environment: Mapping[str, str] | None = None,
    *,
    run_id: str = "",
    named: tuple[str, ...] = (),
) -> Context:
    registry = Registry(Home(directory / ".runtrue"), directory)
    surroundings = Surroundings(
        registry=registry,
        base=directory,
        environment={"PATH": os.environ["PATH"], **(environment or {})},
        named=named,
    )
    return Context(surroundings, run_id=run_id)


async def perform(
    node: WorkflowNode[Any],
    params: Mapping[str, Any],
    context: Context,
    store: Mapping[str, Any] | None = None,
) -> Result:
    templates = {name: compile_template(value) for name, value in params.items()}
    resolved = node.resolve(templates, store or {})
    revealed = reveal(resolved, context.environment, set())
    return await node.run(node.convert(revealed), context)


def run(
    node: WorkflowNode[Any],
    params: Mapping[str, Any],
    context: Context,
    store: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The outputs of a node that does not fail."""
    return asyncio.run(perform(node, params, context, store)).outputs


def fail(
    node: WorkflowNode[Any],
    params: Mapping[str, Any],
    context: Context,
    store: Mapping[str, Any] | None = None,
) -> NodeFailed:
    """How a node fails."""
    with pytest.raises(NodeFailed) as caught:
        asyncio.run(perform(node, params, context, store))
    return caught.value
