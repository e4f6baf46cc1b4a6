"""The baseline: what the checks say of the code before it is changed, to compare with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from runtrue.checks import CommandCheck, framework_of, language_of
from runtrue.code.changed_tests import ChangedTests, changed_tests
from runtrue.code.context import CodeContext, CodeState
from runtrue.code.events import BeforeStarted
from runtrue.code.request import CodeRequest, Kind
from runtrue.code.suites import test_files_for
from runtrue.flow import Run, emit
from runtrue.gates import is_source
from runtrue.loop import (
    MATCH,
    CheckStarted,
    History,
    Known,
    Mode,
    Outcome,
    Verdict,
    Workplace,
    may_be_one_of,
)
from runtrue.sandbox import content_at, is_test, repository_of


def is_compared_with_original(request: CodeRequest) -> bool:
    """Return whether a change is compared with the code before it.

    So is one that touches tests that were there: none of them may be lost by it.
    """
    requirement = request.requirement
    if requirement is not None and requirement.minimum_coverage == MATCH:
        return True
    top = repository_of(Path(request.project))
    return top is not None and any(
        is_test(file) and content_at(top, request.against or "HEAD", file) is not None
        for file in request.changes or {}
    )


def checks_to_compare(request: CodeRequest) -> tuple[CommandCheck, ...]:
    """The checks that are run on the code before the change that a gate judges.

    Those whose old findings do not block, and all where a change is compared with the code before.
    """
    if request.kind is not Kind.GATE:
        return ()
    return request.checks if is_compared_with_original(request) else _with_known(request)


def _with_known(request: CodeRequest) -> tuple[CommandCheck, ...]:
    required = (check for check in request.checks if check.mode is Mode.REQUIRED)
    return tuple(check for check in required if check.known is Known.IGNORE)


async def run_before_change(run: Run, context: CodeContext, state: CodeState) -> None:
    """Run the checks on the files as they were before the change: the baseline of the verdict."""
    before = await run.step("before", partial(_run_original, context), state.candidate)
    state.history = History(before=before)


async def run_before_code(run: Run, context: CodeContext, state: CodeState) -> None:
    """Run the checks before code is written: what passes now must pass afterwards, too."""
    state.history = History(before=await run.step("before", partial(_run_as_it_is, context)))


async def _run_as_it_is(context: CodeContext) -> tuple[Verdict, ...]:
    task = context.request.task
    is_tested = task and (task.tests or (Path(context.request.project) / task.path).is_file())
    checks = context.request.checks if is_tested else _with_known(context.request)
    if not checks:
        return ()
    emit(BeforeStarted())
    verdicts = []
    for check in checks:
        emit(CheckStarted(check=check.name))
        verdicts.append(await check.run(context.sandbox.workplace()))
    return tuple(verdicts)


async def _run_original(context: CodeContext, candidate: str) -> tuple[Verdict, ...]:
    """Put the changed files back, run the checks, and bring the change in again."""
    request, sandbox = context.request, context.sandbox
    emit(BeforeStarted())
    files = request.changes or {}
    now = {file: _read(sandbox.directory / file) for file in files}
    before = {file: content_at(sandbox.top, request.against or "HEAD", file) for file in files}
    changed = changed_tests(before, now)
    try:
        for file, original in before.items():
            put(sandbox.directory / file, original)
        deleted = [file for file, content in now.items() if content is None]
        excused = _tests_of(context, deleted, sandbox.workplace())
        verdicts = []
        for check in checks_to_compare(request):
            emit(CheckStarted(check=check.name))
            verdict = await check.run(sandbox.workplace())
            verdicts.append(to_be_kept(verdict, changed, excused))
        return tuple(verdicts)
    finally:
        sandbox.restore(candidate)


def _tests_of(
    context: CodeContext, deleted: Collection[str], workplace: Workplace
) -> tuple[str, ...]:
    """The tests of sources that the change deletes, which may go with them."""
    framework = framework_of(context.request.tests.command, workplace.directory)
    prefix = workplace.directory.relative_to(workplace.root)
    return tuple(
        test
        for file in filter(is_source, deleted)
        for test in test_files_for(
            workplace.directory,
            Path(file).relative_to(prefix).as_posix(),
            language_of(file),
            framework,
        )
    )


def to_be_kept(verdict: Verdict, changed: ChangedTests, excused: tuple[str, ...] = ()) -> Verdict:
    """Return a verdict on the code before, with its cases called as they are now.

    Those that may be gone, by themselves or with their files, count as skipped. A case is called
    after its file, where that is known at all.
    """
    cases = {}
    for case, outcome in verdict.cases.items():
        name = changed.now(case)
        if name is None or may_be_one_of(case.partition("::")[0], excused):
            cases[case] = Outcome.SKIPPED
        else:
            cases[name] = outcome
    return replace(verdict, cases=cases)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def put(path: Path, content: bytes | None) -> None:
    """Write a file, or remove it where there is none to be."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
