"""Context: what one run of the planner works with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from runtrue.config import load_config
from runtrue.errors import UsageError
from runtrue.flow import Node
from runtrue.home import Home
from runtrue.memory import Memory, shared_log
from runtrue.models import ModelError, PatientModel, Usage, model_name, open_model
from runtrue.planner.seams import WorkflowGenerator
from runtrue.workflow import Calls, Registry

#: Seconds that running a candidate may take, all its nodes together.
RUN_SECONDS = 30.0
#: How often a workflow may be fixed after a run, and generated again after a static check.
MOST_FIXES = 3
MOST_RETRIES = 3
#: How often a generator whose proposal may not be run is asked for another one.
MOST_REJECTIONS = 2

Shared = dict[str, Any]


@dataclass
class PlannerContext:
    """The node types, the generator, the memory, and the calls already made. One for each run."""

    registry: Registry
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    calls: Calls = field(default_factory=Calls)
    run_id: str = ""
    seconds: float = RUN_SECONDS
    #: All effects are agreed to beforehand.
    agrees: bool = False
    #: The workflow is planned and not run.
    dry_run: bool = False
    #: The generator, if not the one that the environment and the configuration name.
    given: WorkflowGenerator | None = None

    @classmethod
    def here(cls) -> PlannerContext:
        """Use what is configured for the current directory."""
        return cls(Registry(Home.find(Path.cwd()), Path.cwd()))

    @property
    def guards_effects(self) -> bool:
        """False for a generator that a caller brought along to a run in memory: it is their own."""
        return self.given is None or bool(self.run_id)

    @cached_property
    def memory(self) -> Memory:
        """The fixes verified before."""
        memory = Memory(self.registry.home.path, shared=shared_log(self.registry.directory))
        memory.pull()
        return memory

    @cached_property
    def generator(self) -> WorkflowGenerator:
        """The configured model's generator, or else the built-in one."""
        if self.given is not None:
            return self.given
        config = load_config(self.registry.directory).model
        name = model_name(self.environment, config.name)
        if name is None:
            from runtrue.planner.built_in import BuiltInGenerator

            return BuiltInGenerator(memory=self.memory, environment=self.environment)
        from runtrue.planner.fallback import FallbackGenerator
        from runtrue.planner.model import ModelWorkflowGenerator

        try:
            model = PatientModel(open_model(name, self.environment, config=config))
            planner = ModelWorkflowGenerator(model, self.memory, self._purpose_of)
            return FallbackGenerator(planner, memory=self.memory, environment=self.environment)
        except ModelError as error:
            raise UsageError(
                f"{error}; unset RUNTRUE_MODEL and [model] to use the built-in planner"
            ) from error

    def _purpose_of(self, type_: str) -> frozenset[str]:
        node = self.registry.node(type_)
        return frozenset() if node is None else node.purpose


class PlannerNode(Node):
    """A node with the context of its run; by default, that of the current directory."""

    def __init__(self, context: PlannerContext | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self._given = context

    @cached_property
    def context(self) -> PlannerContext:
        """The context of the run."""
        return self._given or PlannerContext.here()


def count_usage(shared: Shared, *usages: Usage | None) -> None:
    """Add what a model used to what the run has used so far."""
    used = [usage for usage in usages if usage is not None]
    if used:
        shared["usage"] = (*shared.get("usage", ()), *used)
