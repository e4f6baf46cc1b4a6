"""Write code and tests: a generator writes, and what it did is seen from the files."""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from runtrue.checks import framework_of, language_of
from runtrue.code.context import CodeContext, CodeState, Written
from runtrue.code.events import (
    GenerationFailed,
    GenerationFinished,
    GenerationStarted,
)
from runtrue.code.generate import (
    AgentGenerator,
    Generated,
    GenerationTask,
    Generator,
    ModelGenerator,
)
from runtrue.code.suites import test_files_for
from runtrue.code.task import CodeTask
from runtrue.config import load_config
from runtrue.errors import GeneratorFailed
from runtrue.flow import Run, emit
from runtrue.loop import (
    BackingOff,
    EditResult,
    EditRules,
    as_pattern,
    guard_edit,
)
from runtrue.sandbox import is_test


def generator_of(context: CodeContext) -> Generator:
    """Return who writes, as the request says."""
    request = context.request
    if request.generator == "model" and request.model:
        config = load_config(Path(request.project)).model
        return ModelGenerator(request.model, os.environ, redact=context.redact, config=config)
    return AgentGenerator(request.agent, redact=context.redact)


async def write_code(run: Run, context: CodeContext, state: CodeState) -> None:
    """Have the generator write the code."""
    written = await run.step("generate_code", partial(_write, context, CodeWriter), _inputs(state))
    state.candidate, state.written = written.candidate, (*state.written, written)


async def write_tests(run: Run, context: CodeContext, state: CodeState) -> None:
    """Have the generator write tests, where there are none."""
    inputs = _inputs(state)
    written = await run.step("generate_tests", partial(_write, context, TestsWriter), inputs)
    state.candidate, state.written = written.candidate, (*state.written, written)


@dataclass(frozen=True, slots=True)
class WriteInputs:
    """What is to be written onto which candidate, and what is known beforehand."""

    candidate: str
    lessons: tuple[str, ...]
    #: The files that tests ran from before anything was written.
    tested: tuple[str, ...]


def _inputs(state: CodeState) -> WriteInputs:
    tested = state.history.test_files() if state.history.before else ()
    return WriteInputs(state.candidate, state.lessons, tested)


async def _write(context: CodeContext, writer: type[_Writer], inputs: WriteInputs) -> Written:
    return await writer(context, inputs).write()


@dataclass(frozen=True, slots=True)
class _Writer(ABC):
    """Has the generator write, and sees from the files what it did."""

    #: What progress calls it.
    what: ClassVar[str]

    context: CodeContext
    inputs: WriteInputs

    @property
    def task(self) -> CodeTask:
        """What is wanted."""
        task = self.context.request.task
        assert task is not None  # noqa: S101 - only runs with a task are written for
        return task

    async def write(self) -> Written:
        """Write, and restore what must not be touched."""
        context, inputs, sandbox = self.context, self.inputs, self.context.sandbox
        sandbox.restore(inputs.candidate)
        generator = generator_of(context)
        if skipped := self.skips():
            return Written(
                candidate=inputs.candidate,
                by=generator.name,
                skipped=skipped,
                tests=self._tests(),
            )
        emit(GenerationStarted(what=self.what, by=generator.name))
        started = time.monotonic()
        generated, edit = await self._generate(generator)
        emit(GenerationFinished(what=self.what, files=edit.files, restored=edit.restored))
        if missing := self.missing(edit.files):
            raise GeneratorFailed(
                f"{generator.name} was to write {self.what}, and {missing}: "
                f"{generated.description or 'it said nothing'}"
            )
        return Written(
            candidate=edit.candidate,
            by=generator.name,
            description=generated.description,
            files=edit.files,
            restored=edit.restored,
            seconds=time.monotonic() - started,
            usage=generated.usage.to_dict() if generated.usage else None,
            tests=self._tests(),
        )

    async def _generate(self, generator: Generator) -> tuple[Generated, EditResult]:
        """Ask; what fails for outside reasons is tried again, as often as the policy says."""
        sandbox, retries = self.context.sandbox, self.context.request.policy.transport_retries
        for tried in range(retries + 1):
            generated = await self.ask(generator)
            rules, failure = self.rules(), generated.failure
            edit = guard_edit(sandbox, self.inputs.candidate, rules, failure=failure)
            if not edit.refused:
                return generated, edit
            emit(GenerationFailed(what=self.what, failure=edit.reason))
            if not generated.transient or tried == retries:
                break
            if wait := generated.retry_after:
                emit(BackingOff(seconds=wait, why=edit.reason))
                await asyncio.sleep(wait)
        raise GeneratorFailed(f"{generator.name} could not write {self.what}: {edit.reason}")

    @abstractmethod
    async def ask(self, generator: Generator) -> Generated:
        """Ask for what this node is about."""

    def skips(self) -> str | None:
        """Return why nothing is to be written, if so."""
        return None

    @abstractmethod
    def missing(self, files: tuple[str, ...]) -> str | None:
        """Return what is missing, after `files` were changed, so that the run cannot go on."""

    @abstractmethod
    def rules(self) -> EditRules:
        """Return the rules for what is written."""

    def _tests(self) -> tuple[str, ...]:
        """The tests of the artifact, as the files are now."""
        workplace, task = self.context.sandbox.workplace(), self.task
        check = self.context.request.tests
        framework = framework_of(check.command, workplace.directory)
        found = test_files_for(workplace.directory, task.path, language_of(task.path), framework)
        return tuple(dict.fromkeys((*task.tests, *found)))

    def generation_task(self) -> GenerationTask:
        """The task in the words of those who write."""
        request, task, sandbox = self.context.request, self.task, self.context.sandbox
        original = sandbox.content(task.path, sandbox.base)
        return GenerationTask(
            requirement=task.requirement,
            path=task.path,
            code_type=task.code_type,
            language=language_of(task.path),
            framework=framework_of(request.tests.command, sandbox.workplace().directory),
            command=request.tests.command,
            tests=task.tests,
            kinds=request.requirement.required_tests if request.requirement else (),
            original=original.decode(errors="replace") if original is not None else None,
        )


class CodeWriter(_Writer):
    """Has the code written. The tests that are there judge it, so they stay as they are."""

    what = "code"

    async def ask(self, generator: Generator) -> Generated:
        """Ask for the code."""
        workplace = self.context.sandbox.workplace()
        return await generator.generate_code(self.generation_task(), workplace, self.inputs.lessons)

    def missing(self, files: tuple[str, ...]) -> str | None:
        """Without the file there is nothing to go on with."""
        there = (self.context.sandbox.workplace().directory / self.task.path).is_file()
        return None if there else f"there is no {self.task.path} afterwards"

    def rules(self) -> EditRules:
        """Restore judges, unless one is the very file that is wanted, or a new test."""
        return EditRules(
            redactor=self.context.redact,
            secrets_in_restored=True,
            # Whatever its name: what was named as a test, and what tests ran from, judges.
            judges=(*self.task.tests, *self.inputs.tested),
            editable=(as_pattern(self.context.sandbox.rooted(self.task.path)),),
            new_tests_since=self.inputs.candidate,
        )


class TestsWriter(_Writer):
    """Has tests written where there are none. They may touch nothing but new files of tests."""

    what = "tests"

    def skips(self) -> str | None:
        """There are tests already, or the code is tests."""
        if is_test(self.task.path):
            return "the task asks for tests"
        directory = self.context.sandbox.workplace().directory
        there = [file for file in self._tests() if (directory / file).is_file()]
        asked = [file for file in self.task.tests if not (directory / file).is_file()]
        return f"there are tests: {', '.join(there[:3])}" if there and not asked else None

    async def ask(self, generator: Generator) -> Generated:
        """Ask for tests."""
        workplace = self.context.sandbox.workplace()
        return await generator.generate_tests(
            self.generation_task(), workplace, self.inputs.lessons
        )

    def missing(self, files: tuple[str, ...]) -> str | None:
        """Tests were wanted: some, and those that were named."""
        directory = self.context.sandbox.workplace().directory
        absent = [file for file in self.task.tests if not (directory / file).is_file()]
        if absent:
            return f"there is no {absent[0]} afterwards"
        return None if files else "changed none of the files that it may change"

    def rules(self) -> EditRules:
        """Restore whatever is not a new test, or one that was named."""
        sandbox = self.context.sandbox
        named = [sandbox.rooted(file) for file in self.task.tests]
        new = [as_pattern(file) for file in named if sandbox.original(file) is None]
        return EditRules(
            redactor=self.context.redact,
            secrets_in_restored=True,
            editable=tuple(new),
            new_tests_since=self.inputs.candidate,
            only_tests=True,
        )
