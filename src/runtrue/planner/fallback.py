"""Fallback: a language model plans, and what needs none takes over where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from runtrue.planner import seams
from runtrue.planner.built_in import BuiltInGenerator
from runtrue.workflow import Interface

if TYPE_CHECKING:
    from runtrue.memory import Memory

#: After so many rounds of proposals that may not be run, the fix without a model has its turn.
_MOST_ROUNDS = 2


class FallbackGenerator:
    """Asks a model's generator first; a weak model is never worse than none.

    The built-in planner has its turn where the model gives no plan, or the same wrong one twice;
    the fix without a model, where the model's gives none or only what may not be run.
    """

    def __init__(
        self,
        generator: seams.WorkflowGenerator,
        *,
        memory: Memory | None,
        environment: Mapping[str, str],
    ) -> None:
        self._model = generator
        self._built_in = BuiltInGenerator(memory=memory, environment=environment)
        self.name = generator.name

    async def choose(
        self, task: str, saved: tuple[seams.SavedWorkflow, ...]
    ) -> seams.WorkflowChoice:
        """Let the model choose."""
        return await self._model.choose(task, saved)

    async def fill(self, task: str, inputs: dict[str, dict[str, Any]]) -> seams.Values:
        """Let the model read the values."""
        return await self._model.fill(task, inputs)

    async def select(self, task: str, components: tuple[Interface, ...]) -> seams.Selection:
        """Let the model select."""
        return await self._model.select(task, components)

    async def describe(self, task: str, workflow: dict[str, Any]) -> seams.Metadata:
        """Let the model find a name."""
        return await self._model.describe(task, workflow)

    async def generate(self, request: seams.GenerationRequest) -> seams.Plan | seams.NoPlan:
        """Return the model's plan, or else the built-in planner's, with a note that says why."""
        if request.store is not UNSET:
            # Only a plan of the built-in planner goes on after a run.
            return await self._built_in.generate(request)
        answer = await self._model.generate(request)
        if isinstance(answer, seams.NoPlan):
            return answer if answer.final else await self._plan_without(request, answer)
        if request.problems and answer.workflow == request.previous:
            reason = f"it repeated the same workflow: {'; '.join(request.problems)}"
            same = seams.NoPlan(reason=f"{self.name}: {reason}", usage=answer.usage)
            return await self._plan_without(request, same)
        return answer

    async def _plan_without(
        self, request: seams.GenerationRequest, no_plan: seams.NoPlan
    ) -> seams.Plan | seams.NoPlan:
        planned = await self._built_in.generate(replace(request, previous=None, problems=()))
        if isinstance(planned, seams.NoPlan):
            return no_plan
        note = f"planned without the model: {no_plan.reason}"
        return replace(planned, notes=(note, *planned.notes), usage=no_plan.usage)

    async def fix(self, request: seams.FixRequest) -> seams.FixedWorkflow | seams.NoFix:
        """Return the model's fix, or else the one without a model."""
        plain = await self._built_in.fix(replace(request, rejected=()))
        rejections = 0 if isinstance(request.rejections, UnsetType) else request.rejections
        if isinstance(plain, seams.FixedWorkflow) and (rejections >= _MOST_ROUNDS or request.paths):
            # A person has set its paths, or the model had its turns.
            return plain
        answer = await self._model.fix(request)
        if isinstance(answer, seams.FixedWorkflow):
            return answer
        if isinstance(plain, seams.FixedWorkflow):
            return replace(plain, usage=answer.usage)
        return replace(answer, doubts=plain.doubts or answer.doubts, partial=plain.partial)
