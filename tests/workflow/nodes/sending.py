"""Running an `http` node the way a workflow does: params in, outputs without secrets out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import NodeFailed
from runtrue.home import Home
from runtrue.workflow.context import Context, Surroundings
from runtrue.workflow.nodes.http import HttpNode
from runtrue.workflow.registry import Registry


@asynccontextmanager
async def open_context() -> AsyncIterator[Context]:
    here = Path.cwd()
    context = Context(Surroundings(Registry(Home(here), here), here, {}))
    try:
        yield context
    finally:
        await context.close()


async def send_within(context: Context, **params: Any) -> dict[str, Any]:
    node = HttpNode()
    result = await node.run(node.convert(params), context)
    return node.finish(params, context.redactor.redact(result.outputs))


def send(**params: Any) -> dict[str, Any]:
    """What the node gives for these params."""

    async def once() -> dict[str, Any]:
        async with open_context() as context:
            return await send_within(context, **params)

    return asyncio.run(once())


def failing(**params: Any) -> NodeFailed:
    """How the node fails with these params."""
    with pytest.raises(NodeFailed) as caught:
        send(**params)
    return caught.value
