"""The generator that needs no model: plans what a task names, and says plainly what it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtrue.planner.built_in import naming, saved
from runtrue.planner.built_in.draft import CannotPlan
from runtrue.planner.built_in.steps import Means, draft_of
from runtrue.planner.seams import (
    Choice,
    FixRequest,
    GenerationRequest,
    Metadata,
    NoPlan,
    NoProposal,
    Plan,
    Proposal,
    SavedWorkflow,
    Selection,
    Values,
)
from runtrue.planner.task import LONGEST_TASK, read_task
from runtrue.secrets import secret_of
from runtrue.workflow import Interface

if TYPE_CHECKING:
    from runtrue.memory import Memory

_HOW = (
    "the built-in planner takes tasks that name a URL, a file, a command in `backticks`, a tool or "
    "a saved workflow, and what is wanted of it; for others set a model: RUNTRUE_MODEL="
    "provider:model with its key, and `pip install 'runtrue[models]'`"
)


class BuiltInGenerator:
    """Plans without a model. What it has no rule for it refuses; it never does half a task."""

    name = "built-in"

    def __init__(
        self, memory: Memory | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._memory = memory
        self._environment = environment

    async def choose(self, task: str, saved_workflows: tuple[SavedWorkflow, ...]) -> Choice:
        """The saved workflow that accounts for every word of the task."""
        return saved.choose(read_task(task), saved_workflows)

    async def fill(self, task: str, inputs: dict[str, dict[str, Any]]) -> Values:
        """What the task says for these inputs."""
        return Values(values=saved.fill(read_task(task), inputs))

    async def select(self, task: str, components: tuple[Interface, ...]) -> Selection:
        """The types that the workflow would use."""
        planned = await self.generate(GenerationRequest(task=task, components=components))
        nodes = planned.workflow["nodes"] if isinstance(planned, Plan) else ()
        return Selection(types=tuple(dict.fromkeys(node["type"] for node in nodes)))

    async def generate(self, request: GenerationRequest) -> Plan | NoPlan:
        """Make a workflow that does all of the task, or name the part that cannot be planned."""
        if request.problems:
            return NoPlan(reason=f"the workflow has a problem: {'; '.join(request.problems)}")
        if len(request.task) > LONGEST_TASK:
            return NoPlan(reason=f"the task is longer than {LONGEST_TASK} characters; {_HOW}")
        task = read_task(request.task)
        means = Means(request.components, request.saved, self._memory)
        try:
            draft = draft_of(task, means)
        except CannotPlan as error:
            return NoPlan(reason=f"{error}; {_HOW}")
        for name in task.named().get("variable", ()):
            if self._environment is not None and secret_of(name, self._environment) is None:
                draft.notes.append(f"the environment variable {name} is not set")
        return draft.plan()

    async def fix(self, request: FixRequest) -> Proposal | NoProposal:
        """Mend paths and arguments by what was really there."""
        from runtrue.planner.repair import repair

        return await repair(request, memory=self._memory)

    async def describe(self, task: str, workflow: dict[str, Any]) -> Metadata:
        """A name that a person would choose, and the task without its values."""
        return naming.describe(read_task(task), workflow)
