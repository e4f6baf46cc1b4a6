"""Planning: what one run of the planner works with. Made anew for each run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from runtrue.config import load_config
from runtrue.errors import UsageError
from runtrue.home import Home
from runtrue.memory import Memory
from runtrue.models import ModelError, model_name, open_model
from runtrue.planner.seams import Generator
from runtrue.workflow import Calls, Registry

#: Seconds that running a candidate may take, all its nodes together.
RUN_SECONDS = 30.0
#: How often a workflow may be mended after it was run, and made anew after a static check.
MOST_FIXES = 3
MOST_RETRIES = 3
#: How often a generator whose proposal may not be run is asked for another one.
MOST_REJECTIONS = 2


@dataclass
class Planning:
    """The node types, the generator, the memory, and the calls that were already made."""

    registry: Registry
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    calls: Calls = field(default_factory=Calls)
    run_id: str = ""
    seconds: float = RUN_SECONDS
    #: Who plans, if not the one that the environment and the configuration name.
    given: Generator | None = None

    @classmethod
    def here(cls) -> Planning:
        """With what can be used from the current directory."""
        return cls(Registry(Home.find(Path.cwd()), Path.cwd()))

    @cached_property
    def memory(self) -> Memory:
        """The repairs that have been verified before."""
        return Memory(self.registry.home.path)

    @cached_property
    def generator(self) -> Generator:
        """The model that is named, or else the one that needs none."""
        if self.given is not None:
            return self.given
        name = model_name(self.environment, load_config(self.registry.directory).model.name)
        if name is None:
            from runtrue.planner.built_in import BuiltInGenerator

            return BuiltInGenerator(memory=self.memory, environment=self.environment)
        from runtrue.planner.model import ModelGenerator

        try:
            return ModelGenerator(open_model(name, self.environment), memory=self.memory)
        except ModelError as error:
            raise UsageError(
                f"{error}; without RUNTRUE_MODEL and [model] the built-in planner is used"
            ) from error
