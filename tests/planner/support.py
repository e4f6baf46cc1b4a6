"""Running nodes of the planner by themselves, and the planner as a whole."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.flow import Event, Flow, Listener, Node
from runtrue.planner.context import PlannerContext
from runtrue.planner.flow import create_planner_flow
from runtrue.planner.nodes import RuntimeValidationNode

ACTIONS = ("default", "runtime_fix", "failed_runtime")


class End(Node):
    """Where an action leads."""

    terminal = True

    def post(self, shared: dict[str, Any], inputs: None, result: None) -> None:
        shared["ended_at"] = self.name


@dataclass
class Validated:
    """What one runtime validation came to."""

    action: str
    shared: dict[str, Any]

    @property
    def errors(self) -> list[dict[str, Any]]:
        errors: list[dict[str, Any]] = self.shared["runtime_errors"]
        return errors

    @property
    def categories(self) -> list[str]:
        return [error["category"] for error in self.errors]


def validate(
    context: PlannerContext,
    workflow: Mapping[str, Any],
    params: Mapping[str, Any] | None = None,
    **shared: Any,
) -> Validated:
    """Let `RuntimeValidationNode` look at a workflow, wired with the actions of the seed."""
    node = RuntimeValidationNode(context, "runtime_validation")
    for action in ACTIONS:
        node.on(action, End(action))
    store = {"generated_workflow": dict(workflow), "execution_params": dict(params or {}), **shared}
    asyncio.run(Flow(node).run(store))
    return Validated(store.pop("ended_at"), store)


def plan(
    context: PlannerContext, task: str, listeners: tuple[Listener, ...] = ()
) -> dict[str, Any]:
    """Give a task to the default flow; the store at its end."""
    shared: dict[str, Any] = {"task": task}
    asyncio.run(create_planner_flow(context).run(shared, listeners=listeners))
    return shared


class Heard(list[Event]):
    """A listener that keeps what it hears."""

    def __call__(self, event: Event) -> None:
        self.append(event)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event.payload for event in self if event.kind == kind]


def fetch(url: str, extract: Mapping[str, str] | None = None, **params: Any) -> dict[str, Any]:
    """A workflow of one request."""
    if extract is not None:
        params["extract"] = dict(extract)
    return {"nodes": [{"id": "fetch", "type": "http", "params": {"url": url, **params}}]}


def use_time_server(home: Path) -> None:
    """Add the real MCP server for times to a home of runtrue."""
    home.mkdir(mode=0o700, exist_ok=True)
    server = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"time": server}}))
