"""The nodes before the repair cycle: recall what failed here before, then write code and tests."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.checks import framework_of, language_of
from runtrue.code.events import (
    BeforeStarted,
    GenerationFailed,
    GenerationFinished,
    GenerationStarted,
    Recalled,
)
from runtrue.code.generate import (
    AgentGenerator,
    Generated,
    GenerationTask,
    Generator,
    ModelGenerator,
)
from runtrue.code.learning import lessons_of
from runtrue.code.place import Place
from runtrue.code.suites import test_files_for
from runtrue.code.task import CodeTask
from runtrue.errors import GeneratorFailed
from runtrue.flow import Node, emit
from runtrue.loop import (
    Check,
    CheckStarted,
    EditResult,
    EditRules,
    History,
    Verdict,
    as_pattern,
    guard_edit,
)
from runtrue.sandbox import is_test

Shared = dict[str, Any]


def generator_of(place: Place) -> Generator:
    """Who writes, as the request says."""
    request = place.request
    if request.generator == "model" and request.model:
        return ModelGenerator(request.model, os.environ, hide=place.hide)
    return AgentGenerator(request.agent, hide=place.hide)


class TaskNode(Node):
    """A node that works on the task of a run."""

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name)
        self.place = place

    @property
    def task(self) -> CodeTask:
        """What is wanted."""
        task = self.place.request.task
        assert task is not None  # noqa: S101 - such nodes are wired only where there is one
        return task


class RecallNode(TaskNode):
    """Looks into the debug memory for what failed here before."""

    blocking = True

    def exec(self, inputs: None) -> tuple[str, ...]:
        """What is to be learned from it, in sentences."""
        lessons = lessons_of(self.place, self.task)
        emit(Recalled(lessons=lessons))
        return lessons

    def post(self, shared: Shared, inputs: None, result: tuple[str, ...]) -> None:
        """Keep it for those who write."""
        shared["lessons"] = result


class BeforeNode(TaskNode):
    """Runs the checks on the code as it was: what passes now must pass afterwards, too."""

    async def exec(self, inputs: None) -> tuple[Verdict, ...]:
        """What they say; nothing where there is nothing yet."""
        project = Path(self.place.request.project)
        tested = (project / self.task.path).is_file() or bool(self.task.tests)
        if not tested:
            return ()
        emit(BeforeStarted())
        return tuple([await self._run(check) for check in self.place.request.checks])

    async def _run(self, check: Check) -> Verdict:
        emit(CheckStarted(check=check.name))
        return await check.run(self.place.sandbox.workplace())

    def post(self, shared: Shared, inputs: None, result: tuple[Verdict, ...]) -> None:
        """The baseline of all that follows."""
        shared["history"] = History(before=result)


@dataclass(frozen=True, slots=True)
class WriteInputs:
    """What is to be written onto which candidate, and what is known beforehand."""

    candidate: str
    lessons: tuple[str, ...]
    #: The files that tests ran from before anything was written.
    tested: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A candidate that somebody has written on."""

    candidate: str
    by: str
    description: str = ""
    files: tuple[str, ...] = ()
    #: Files it changed and was not to change; they were put back.
    restored: tuple[str, ...] = ()
    #: Why nothing was written, where nothing had to be.
    skipped: str | None = None
    seconds: float = 0.0
    usage: dict[str, float] | None = None
    tests: tuple[str, ...] = ()


class _WriteNode(TaskNode, ABC):
    """Has the generator write, and sees from the files what it did."""

    #: What progress calls it.
    what: str

    def prep(self, shared: Shared) -> WriteInputs:
        """Where it stands."""
        history: History = shared["history"]
        tested = history.test_files() if history.before else ()
        return WriteInputs(shared["candidate"], shared["lessons"], tested)

    async def exec(self, inputs: WriteInputs) -> Written:
        """Write, and put back what was not to be touched."""
        place, sandbox = self.place, self.place.sandbox
        sandbox.restore(inputs.candidate)
        generator = generator_of(place)
        if skipped := self.skips():
            return Written(
                candidate=inputs.candidate,
                by=generator.name,
                skipped=skipped,
                tests=self._tests(),
            )
        emit(GenerationStarted(what=self.what, by=generator.name))
        started = time.monotonic()
        generated, edit = await self._generate(generator, inputs)
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

    async def _generate(
        self, generator: Generator, inputs: WriteInputs
    ) -> tuple[Generated, EditResult]:
        """Ask; what fails for outside reasons is tried again, as often as the policy says."""
        sandbox, retries = self.place.sandbox, self.place.request.policy.transport_retries
        for _ in range(retries + 1):
            generated = await self.ask(generator, inputs)
            rules, failure = self.rules(inputs), generated.failure
            edit = guard_edit(sandbox, inputs.candidate, rules, failure=failure)
            if not edit.refused:
                return generated, edit
            emit(GenerationFailed(what=self.what, failure=edit.reason))
        raise GeneratorFailed(f"{generator.name} could not write {self.what}: {edit.reason}")

    @abstractmethod
    async def ask(self, generator: Generator, inputs: WriteInputs) -> Generated:
        """Ask for what this node is about."""

    def skips(self) -> str | None:
        """Why nothing is to be written, if so."""
        return None

    @abstractmethod
    def missing(self, files: tuple[str, ...]) -> str | None:
        """What is missing, after `files` were changed, so that the run cannot go on."""

    @abstractmethod
    def rules(self, inputs: WriteInputs) -> EditRules:
        """Return the rules for what is written."""

    def _tests(self) -> tuple[str, ...]:
        """The tests of the artifact, as the files are now."""
        workplace, task = self.place.sandbox.workplace(), self.task
        check = self.place.request.tests
        framework = framework_of(check.command, workplace.directory)
        found = test_files_for(workplace.directory, task.path, language_of(task.path), framework)
        return tuple(dict.fromkeys((*task.tests, *found)))

    def generation_task(self) -> GenerationTask:
        """The task in the words of those who write."""
        request, task, sandbox = self.place.request, self.task, self.place.sandbox
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

    def post(self, shared: Shared, inputs: WriteInputs, result: Written) -> None:
        """Go on with what was written."""
        shared["candidate"] = result.candidate
        shared["written"] = (*shared.get("written", ()), result)


class GenerateCodeNode(_WriteNode):
    """Has the code written. The tests that are there judge it, so they stay as they are."""

    what = "code"

    async def ask(self, generator: Generator, inputs: WriteInputs) -> Generated:
        """Ask for the code."""
        workplace = self.place.sandbox.workplace()
        return await generator.generate_code(self.generation_task(), workplace, inputs.lessons)

    def missing(self, files: tuple[str, ...]) -> str | None:
        """Without the file there is nothing to go on with."""
        there = (self.place.sandbox.workplace().directory / self.task.path).is_file()
        return None if there else f"there is no {self.task.path} afterwards"

    def rules(self, inputs: WriteInputs) -> EditRules:
        """Restore judges, unless one is the very file that is wanted, or a new test."""
        return EditRules(
            redactor=self.place.hide,
            secrets_in_restored=True,
            # Whatever its name: what was named as a test, and what tests ran from, judges.
            judges=(*self.task.tests, *inputs.tested),
            editable=(as_pattern(self.place.sandbox.rooted(self.task.path)),),
            new_tests_since=inputs.candidate,
        )


class GenerateTestsNode(_WriteNode):
    """Has tests written where there are none. They may touch nothing but new files of tests."""

    what = "tests"

    def skips(self) -> str | None:
        """There are tests already, or the code is tests."""
        if is_test(self.task.path):
            return "what was asked for are tests"
        directory = self.place.sandbox.workplace().directory
        there = [file for file in self._tests() if (directory / file).is_file()]
        asked = [file for file in self.task.tests if not (directory / file).is_file()]
        return f"there are tests: {', '.join(there[:3])}" if there and not asked else None

    async def ask(self, generator: Generator, inputs: WriteInputs) -> Generated:
        """Ask for tests."""
        workplace = self.place.sandbox.workplace()
        return await generator.generate_tests(self.generation_task(), workplace, inputs.lessons)

    def missing(self, files: tuple[str, ...]) -> str | None:
        """Tests were wanted: some, and those that were named."""
        directory = self.place.sandbox.workplace().directory
        absent = [file for file in self.task.tests if not (directory / file).is_file()]
        if absent:
            return f"there is no {absent[0]} afterwards"
        return None if files else "changed no file that it may"

    def rules(self, inputs: WriteInputs) -> EditRules:
        """Restore whatever is not a new test, or one that was named."""
        sandbox = self.place.sandbox
        named = [sandbox.rooted(file) for file in self.task.tests]
        new = [as_pattern(file) for file in named if sandbox.original(file) is None]
        return EditRules(
            redactor=self.place.hide,
            secrets_in_restored=True,
            editable=tuple(new),
            new_tests_since=inputs.candidate,
            only_tests=True,
        )


def written_tests(shared: Shared, task: CodeTask) -> tuple[str, ...]:
    """The tests of the artifact, as far as is known now."""
    written: tuple[Written, ...] = shared.get("written", ())
    return written[-1].tests if written and written[-1].tests else task.tests
