"""PlannerContext tasks without a model, and running what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtrue.errors import RuntrueError
from runtrue.home import Home
from runtrue.memory import Memory
from runtrue.planner.built_in import BuiltInGenerator
from runtrue.planner.seams import GenerationRequest, NoPlan, Plan, SavedWorkflow
from runtrue.workflow import Interface, Registry, WorkflowResult, run_workflow, validate_workflow


class Planner:
    """A directory to plan for. Every plan that it gives has been found valid."""

    def __init__(self, path: Path, memory: Memory | None = None) -> None:
        self.path = path
        self.registry = Registry(Home(path / "home"), path)
        self.generator = BuiltInGenerator(memory=memory, environment={})

    @property
    def tools(self) -> tuple[Interface, ...]:
        for server in self.registry.servers:
            self.registry.catalog.tools(server)
        return tuple(self.registry.interfaces())

    def answer(self, task: str, saved: tuple[SavedWorkflow, ...] = ()) -> Plan | NoPlan:
        request = GenerationRequest(task=task, components=self.tools, saved=saved)
        answer = asyncio.run(self.generator.generate(request))
        while isinstance(answer, Plan) and answer.continues:
            # The rest is planned with what came back.
            try:
                ran = run_workflow(
                    answer.workflow, answer.params, registry=self.registry, environment={}
                )
            except RuntrueError:
                break
            if ran.error is not None:
                break
            request = replace(request, store=ran.store)
            answer = asyncio.run(self.generator.generate(request))
        if isinstance(answer, Plan):
            assert validate_workflow(answer.workflow, registry=self.registry) == ()
            assert answer.params.keys() <= answer.workflow.get("inputs", {}).keys()
        return answer

    def plan(self, task: str, saved: tuple[SavedWorkflow, ...] = ()) -> Plan:
        answer = self.answer(task, saved)
        assert isinstance(answer, Plan), answer
        return answer

    def nodes(self, task: str) -> list[dict[str, Any]]:
        """The nodes of a plan, without their code."""
        nodes: list[dict[str, Any]] = self.plan(task).workflow["nodes"]
        for node in nodes:
            node["params"].pop("code", None)
        return nodes

    def params(self, task: str) -> dict[str, Any]:
        """The params of the only node of a plan."""
        (node,) = self.nodes(task)
        params: dict[str, Any] = node["params"]
        return params

    def refusal(self, task: str) -> str:
        answer = self.answer(task)
        assert isinstance(answer, NoPlan), answer
        return answer.reason

    def run(self, task: str, **inputs: Any) -> WorkflowResult:
        """Run what is planned, with the values of the task unless others are given."""
        plan = self.plan(task)
        params = {**plan.params, **inputs}
        return run_workflow(plan.workflow, params, registry=self.registry, environment={})

    def outputs(self, task: str, **inputs: Any) -> dict[str, Any]:
        result = self.run(task, **inputs)
        assert result.error is None, result.error
        return result.outputs
