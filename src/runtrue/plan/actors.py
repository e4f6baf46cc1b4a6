"""Actors: those who do the steps of a plan, by editing the files of the sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runtrue.config import AgentConfig, ModelConfig, load_config
from runtrue.fixers import (
    ModelEditor,
    Redact,
    SearchFixer,
    command_variables,
    run_agent,
    run_autofix,
    run_command,
    sendable,
    sentence,
)
from runtrue.loop import Attempt, FixTask, History, Workplace
from runtrue.plan.plan import PlanRequest
from runtrue.plan.seams import ActorReply, StepActor, StepTask
from runtrue.plan.step_prompts import file_names, fill, step_files, step_prompt
from runtrue.plan.strategy import Actor, Step
from runtrue.plan.validation import test_checks

Held = Callable[[], Mapping[tuple[str, str], int]]

#: Seconds for a model to answer in.
_MODEL_TIMEOUT = 300.0
_PROPERTIES: dict[str, Any] = {
    "description": {"type": "string", "description": "what you did, in a sentence or two"}
}


def actor_of(step: Step, request: PlanRequest, redact: Redact, held: Held = dict) -> StepActor:
    """Return who does a step. `redact` takes out of prompts what must not be in them.

    `held` gives the number of verified fixes by cause and kind of edit, for `search`.
    """
    match step.actor:
        case Actor.COMMAND:
            return CommandActor(step.command or "", timeout=request.agent.timeout, redact=redact)
        case Actor.TOOL:
            return ToolActor(request.autofix)
        case Actor.SEARCH:
            return SearchActor(request, held)
        case Actor.MODEL:
            config = load_config(Path(request.project)).model
            return ModelActor(request.model, os.environ, redact=redact, config=config)
        case Actor.AGENT:
            return AgentActor(request.agent, redact=redact)


def unavailable_actors(request: PlanRequest, redact: Redact) -> dict[Actor, str]:
    """The actors that cannot be used, and why."""
    steps = {actor: Step(id=actor, description=actor, actor=actor) for actor in Actor}
    reasons = {
        actor: actor_of(step, request, redact).unavailable() for actor, step in steps.items()
    }
    return {actor: reason for actor, reason in reasons.items() if reason}


class CommandActor:
    """Runs the step's command. It gets the step as the `command` fixer gets findings."""

    def __init__(self, command: str, *, timeout: float, redact: Redact) -> None:
        self._command = command
        self._timeout = timeout
        self._redact = redact

    def unavailable(self) -> str | None:
        """A shell is always there."""
        return None

    async def act(self, task: StepTask, workplace: Workplace) -> ActorReply:
        """Run it. That it fails, or cannot be run, is the fault of the strategy that names it."""
        prompt = sendable(step_prompt(task, self._redact))
        variables = command_variables(prompt, task.findings, workplace, self._redact)
        ran = await run_command(
            self._command, workplace, timeout=self._timeout, variables=variables
        )
        return ActorReply(
            description=ran.said or self._command,
            failure=ran.failure,
            is_strategy=ran.failure is not None and ran.exit_code is not None,
        )


class ToolActor:
    """Runs the commands that fix what the validations find."""

    def __init__(self, commands: Mapping[str, str]) -> None:
        self._commands = dict(commands)

    def unavailable(self) -> str | None:
        """Return why it cannot be used at all: no validation has an autofix command."""
        if self._commands:
            return None
        return "no validation has a command that fixes its findings (`fix`)"

    async def act(self, task: StepTask, workplace: Workplace) -> ActorReply:
        """Run them all."""
        proposal = await run_autofix(self._commands.values(), workplace)
        return ActorReply(description=proposal.description, failure=proposal.failure)


class SearchActor:
    """Model-free repair of what the tests among the validations find."""

    def __init__(self, request: PlanRequest, held: Held) -> None:
        self._checks = test_checks(request)
        self._fixer = SearchFixer(self._checks, request.search, judges=request.judges, held=held)

    def unavailable(self) -> str | None:
        """Return why it cannot be used at all: no validation runs Python tests."""
        return self._fixer.unavailable()

    async def act(self, task: StepTask, workplace: Workplace) -> ActorReply:
        """Make the tests pass that fail. That none of them does is no failure."""
        verdicts = tuple([await check.run(workplace) for check in self._checks])
        attempt = Attempt(number=1, candidate="", verdicts=verdicts)
        findings = tuple(one for one in attempt.blocking if self._fixer.accepts(one))
        if not findings:
            return ActorReply(description="no test fails that an edit could fix", texts={})
        fix = FixTask(findings=findings, history=History(attempts=(attempt,)), bounds=task.bounds)
        proposal = await self._fixer.propose(fix, workplace)
        in_vain = None if proposal.texts else proposal.description
        return ActorReply(
            description=proposal.description,
            failure=in_vain,
            is_strategy=True,
            texts=proposal.texts,
            confidence=proposal.confidence,
        )


class ModelActor:
    """Sends the step with the files that matter, and makes the edits that come back.

    `environment` holds the model's key and endpoint.
    """

    def __init__(
        self,
        model: str | None,
        environment: Mapping[str, str],
        *,
        redact: Redact,
        config: ModelConfig | None = None,
    ) -> None:
        self._editor = ModelEditor(
            model, environment, timeout=_MODEL_TIMEOUT, redact=redact, config=config
        )
        self._redact = redact

    def unavailable(self) -> str | None:
        """Return why it cannot be used at all: no model is configured."""
        return self._editor.unavailable()

    async def act(self, task: StepTask, workplace: Workplace) -> ActorReply:
        """Ask, and make the edits. A model that sees nothing to edit has done what it could."""
        prompt = fill(
            "step-model",
            task=step_prompt(task, self._redact),
            names=file_names(workplace.root),
            files=step_files(task, workplace),
        )
        edited = await self._editor.edit(
            prompt,
            _PROPERTIES,
            root=workplace.root,
            environment=workplace.environment,
            # What lies outside of the bounds is seen afterwards, and is what a revision goes by.
            refuse=lambda file: None,
        )
        is_content = edited.said.get("edits") == []
        said = sentence(edited.said.get("description", ""))
        return ActorReply(
            description=said or edited.problem or "",
            failure=edited.failure or (None if is_content else edited.problem),
            usage=edited.usage.to_dict() if edited.usage else None,
        )


class AgentActor:
    """Any coding agent with a command line: prompt in, edited files out."""

    def __init__(self, agent: AgentConfig, *, redact: Redact) -> None:
        self._agent = agent
        self._redact = redact

    def unavailable(self) -> str | None:
        """Return why it cannot be used at all: none is configured."""
        return None if self._agent.command else "no agent is configured ([fixers.agent] command)"

    async def act(self, task: StepTask, workplace: Workplace) -> ActorReply:
        """Run the agent."""
        prompt = sendable(fill("step-agent", task=step_prompt(task, self._redact)))
        proposal = await run_agent(self._agent, prompt, workplace, redact=self._redact)
        return ActorReply(description=proposal.description, failure=proposal.failure)
