"""Strategists: those who make a strategy for an instruction, and revise it where it fails."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runtrue.config import load_config
from runtrue.documents import read_document
from runtrue.errors import PlanError, UsageError
from runtrue.fixers import Redact, run_agent, sendable, sentence
from runtrue.loop import Workplace, as_pattern
from runtrue.models import BadOutput, ModelError, Usage, fence, open_model
from runtrue.plan.actors import unavailable_actors
from runtrue.plan.plan import PlanRequest
from runtrue.plan.seams import Strategist, Strategized, StrategyTask, least
from runtrue.plan.step_prompts import fill, strategy_prompt
from runtrue.plan.strategy import Actor, Strategy
from runtrue.plan.strategy_data import steps_from, strategy_from

#: Seconds for a model to answer in.
_MODEL_TIMEOUT = 300.0
_REASON = 1_000
#: How deep the steps of a model may lie: not every provider takes a form that holds itself.
_DEPTH = 3
_ACTORS = {
    Actor.COMMAND: "`command`: runs the `command` of the step, a line for the shell.",
    Actor.TOOL: "`tool`: runs the formatters and linters of the project, which fix what they can.",
    Actor.SEARCH: "`search`: repairs code by trying small edits.",
    Actor.MODEL: "`model`: a language model that edits files, and runs nothing.",
    Actor.AGENT: "`agent`: a coding agent that edits files, and can run commands.",
}


def strategist_of(request: PlanRequest, redact: Redact) -> Strategist:
    """Return who makes and revises strategies, as the request says."""
    if request.strategist == "model":
        return ModelStrategist(request, os.environ, redact=redact)
    if request.strategist == "agent":
        return AgentStrategist(request, redact=redact)
    return BoundsStrategist()


class BoundsStrategist:
    """Nobody who could think of steps: all it can do is to allow what turned out to be needed."""

    name = "bounds"

    async def strategize(self, task: StrategyTask, workplace: Workplace) -> Strategized:
        """Never a strategy."""
        why = (
            "nothing can make a strategy: write its steps in a plan file, or name a model "
            "(--model, RUNTRUE_MODEL) or an agent (--agent, [fixers.agent] command)"
        )
        return Strategized(description="", failure=why)

    async def revise(self, task: StrategyTask, workplace: Workplace) -> Strategized:
        """Return the same step, allowed to change what was needed, unless a person said no."""
        step = task.subtree
        if step is None or not task.needed:
            why = "nothing is known that would have to be allowed"
            return Strategized(description="", failure=why)
        if task.is_advised:
            return Strategized(description="", failure="a person has allowed nothing")
        new = task.bounds.outside(task.needed)
        if not new:
            failure = (
                f"{', '.join(task.needed)} may be changed already: what is not allowed is "
                "something else, deleting as a rule, and that is a person's to allow"
            )
            return Strategized(description="", failure=failure)
        return least(step, task.bounds, tuple(map(as_pattern, new)), "it was needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a machine gave: data, or why it cannot be used, or why there was no answer at all."""

    data: object = None
    problem: str | None = None
    failure: str | None = None
    usage: Usage | None = None


class MachineStrategist(ABC):
    """A model or an agent. What it makes is held to the rules for what people write."""

    name: str

    def __init__(self, request: PlanRequest, *, redact: Redact) -> None:
        self._request = request
        self._redact = redact
        self._unavailable = unavailable_actors(request, redact)

    @property
    def actors(self) -> tuple[Actor, ...]:
        """Those who can do steps here."""
        return tuple(actor for actor in Actor if actor not in self._unavailable)

    async def strategize(self, task: StrategyTask, workplace: Workplace) -> Strategized:
        """Ask for a strategy for the whole instruction."""

        def read(data: dict[str, Any], description: str) -> Strategized:
            strategy = strategy_from(data)
            self._check_actors(strategy)
            return Strategized(description=description, strategy=strategy)

        return await self._settle(task, workplace, read, is_whole=True)

    async def revise(self, task: StrategyTask, workplace: Workplace) -> Strategized:
        """Ask for steps in place of the subtree."""
        strategy, subtree = task.strategy, task.subtree
        if strategy is None or subtree is None:
            return Strategized(description="", failure="there is no step to revise")

        def read(data: dict[str, Any], description: str) -> Strategized:
            if data.keys() - {"steps"}:
                raise PlanError(f"only `steps` are allowed, not {', '.join(sorted(data))}")
            steps = steps_from(data.get("steps"), instead_of=subtree, strategy=strategy)
            self._check_actors(Strategy(steps=steps))
            if steps == (subtree,):
                raise PlanError("the steps are the same as before, and those failed")
            return Strategized(description=description, steps=steps)

        return await self._settle(task, workplace, read, is_whole=False)

    async def _settle(
        self,
        task: StrategyTask,
        workplace: Workplace,
        read: Callable[[dict[str, Any], str], Strategized],
        *,
        is_whole: bool,
    ) -> Strategized:
        """Ask until the answer can be used, or the retries for that are used up."""
        actors = [_ACTORS[actor] for actor in self.actors]
        first = prompt = strategy_prompt(task, workplace, actors, self._redact)
        usage: Usage | None = None
        problem = ""
        for _ in range(self._request.limits.format_retries + 1):
            answer = await self._ask(sendable(self._redact(prompt)), workplace, is_whole=is_whole)
            usage = answer.usage.plus(usage) if answer.usage else usage
            used = usage.to_dict() if usage else None
            if answer.failure is not None:
                return Strategized(description="", failure=answer.failure, usage=used)
            try:
                if answer.problem is not None:
                    raise PlanError(answer.problem)
                data = _cleaned(answer.data)
                if not isinstance(data, dict):
                    raise PlanError("a strategy is a mapping with `steps`")
                description = sentence(data.pop("description", ""))
                return replace(read(data, description), usage=used)
            except PlanError as error:
                problem = str(error)
            prompt = fill("again", prompt=first, reason=fence(problem, limit=_REASON))
        failure = f"{self.name} gave no usable strategy: {problem}"
        return Strategized(description="", failure=failure, usage=used)

    def _check_actors(self, strategy: Strategy) -> None:
        for step, _ in strategy.leaves():
            if reason := self._unavailable.get(step.actor):
                raise PlanError(f"{step.id}: its actor '{step.actor}' cannot be used: {reason}")

    @abstractmethod
    async def _ask(self, prompt: str, workplace: Workplace, *, is_whole: bool) -> _Answer:
        """Ask once, for a whole strategy or for steps only."""


class ModelStrategist(MachineStrategist):
    """A language model; `environment` holds its key and endpoint."""

    def __init__(
        self, request: PlanRequest, environment: Mapping[str, str], *, redact: Redact
    ) -> None:
        super().__init__(request, redact=redact)
        self.name = request.model or "model"
        self._environment = environment

    async def _ask(self, prompt: str, workplace: Workplace, *, is_whole: bool) -> _Answer:
        form = _form(self.actors, is_whole=is_whole)
        try:
            config = load_config(Path(self._request.project)).model
            model = open_model(self._request.model, self._environment, config=config)
            answer = await model.ask(prompt, schema=form, timeout=_MODEL_TIMEOUT)
        except BadOutput as error:
            return _Answer(problem=error.problem, usage=error.usage)
        except ModelError as error:
            return _Answer(failure=str(error), usage=error.usage)
        return _Answer(data=answer.data, usage=answer.usage)


class AgentStrategist(MachineStrategist):
    """Any coding agent with a command line, which writes the strategy into a file.

    What it changes in the workplace is for the caller to undo.
    """

    def __init__(self, request: PlanRequest, *, redact: Redact) -> None:
        super().__init__(request, redact=redact)
        words = (request.agent.command or "").split(maxsplit=1)
        self.name = Path(words[0]).name if words else "agent"

    async def _ask(self, prompt: str, workplace: Workplace, *, is_whole: bool) -> _Answer:
        file = workplace.scratch / "strategy.yaml"
        file.unlink(missing_ok=True)
        asked = fill(
            "strategy-agent",
            task=prompt,
            file=str(file),
            holding="`steps`, and `bounds` for all of them" if is_whole else "`steps` only",
            actor=self.actors[-1],
        )
        proposal = await run_agent(self._request.agent, asked, workplace, redact=self._redact)
        if proposal.failure is not None:
            return _Answer(failure=f"{self.name}: {proposal.failure}: {proposal.description}")
        try:
            return _Answer(data=read_document(file).data)
        except UsageError as error:
            return _Answer(problem=str(error).replace(str(file), file.name))


def _cleaned(data: object) -> Any:
    """The data without members that say nothing: many a model fills in every one of a form."""
    if isinstance(data, dict):
        cleaned = {name: _cleaned(value) for name, value in data.items()}
        return {name: value for name, value in cleaned.items() if not _says_nothing(name, value)}
    return [_cleaned(one) for one in data] if isinstance(data, list) else data


def _says_nothing(name: str, value: object) -> bool:
    # Not so an empty list of paths: by that nothing may be changed.
    return value in ("", None, {}) or (name == "steps" and value == [])


def _form(actors: tuple[Actor, ...], *, is_whole: bool) -> dict[str, Any]:
    """The form of an answer, in the part of JSON Schema that all providers take."""
    said = "a summary of the strategy, in a sentence or two"
    properties: dict[str, Any] = {
        "description": {"type": "string", "description": said},
        "steps": _steps_form(actors, _DEPTH),
    }
    if is_whole:
        properties["bounds"] = _BOUNDS_FORM
    return {"type": "object", "properties": properties, "required": ["description", "steps"]}


def _steps_form(actors: tuple[Actor, ...], depth: int) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "id": {"type": "string"},
        "description": {"type": "string"},
        "actor": {"type": "string", "enum": [str(actor) for actor in actors]},
        "command": {"type": "string", "description": "for the actor `command` alone"},
        "network": {"type": "boolean"},
        "needs": {**_TEXTS, "description": "ids of earlier steps; left out, it needs all of them"},
        "bounds": _BOUNDS_FORM,
    }
    if depth > 1:
        properties["steps"] = _steps_form(actors, depth - 1)
    step = {"type": "object", "properties": properties, "required": ["id", "description"]}
    return {"type": "array", "items": step}


_TEXTS = {"type": "array", "items": {"type": "string"}}
_BOUNDS_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "paths": _TEXTS,
        "commands": _TEXTS,
        "max_files": {"type": "integer"},
        "max_lines": {"type": "integer"},
        "deletes": {"type": "boolean"},
    },
}
