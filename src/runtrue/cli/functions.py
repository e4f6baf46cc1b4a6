"""The commands as functions for programs: each gives the typed report that `--json` prints.

Runs are recorded in the journal as those of the command line are: one that waits for a person is
answered with `runtrue runs resume` or `runtrue plan answer`, and one that was killed is resumed.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from runtrue.cli.judge import GateOptions, change_of, judging_config
from runtrue.cli.judge import plan as plan_gate
from runtrue.cli.kinds import kind_of
from runtrue.cli.run_handle import RunHandle
from runtrue.cli.runner import report_of_run
from runtrue.config import load_config
from runtrue.flow import Journal, Listener, LocalDispatcher
from runtrue.home import Home
from runtrue.models import model_name
from runtrue.workflow import WorkflowResult, execute_workflow, load_workflow, run_to_end

if TYPE_CHECKING:
    from runtrue.code import CodeReport
    from runtrue.plan import PlanReport
    from runtrue.planner import TaskReport

P = ParamSpec("P")
T = TypeVar("T")


def fix_async(
    project: str | Path = ".",
    *,
    checks: Sequence[str] = (),
    apply: bool = False,
    model: str | None = None,
    agent: str | None = None,
    home: Home | None = None,
    listeners: Iterable[Listener] = (),
) -> RunHandle[CodeReport]:
    """Make a project's checks pass as `runtrue fix` does, and return the report with the diff.

    `checks` are commands; without them, the project's own checks run. Only `apply` changes the
    project. `model` and `agent` are those of `--model` and `--agent`. Raises UsageError for what
    cannot be done.
    """
    from runtrue.code import Apply, plan_fix, start_run

    async def work(listeners: Iterable[Listener]) -> CodeReport:
        directory = _absolute(project)
        config = load_config(directory)
        request = plan_fix(
            directory,
            config,
            checks=checks,
            apply=Apply.YES if apply else Apply.NO,
            model=model or model_name(os.environ, config.model.name),
        )
        request = replace(
            request, agent=replace(request.agent, command=agent or request.agent.command)
        )
        report: CodeReport = await _report(
            home or Home.find(directory), lambda journal: start_run(journal, request), listeners
        )
        return report

    return RunHandle(work, listeners)


def gate_async(
    project: str | Path = ".",
    *,
    base: str | None = None,
    checks: Sequence[str] = (),
    staged: bool = False,
    home: Home | None = None,
    listeners: Iterable[Listener] = (),
) -> RunHandle[CodeReport | None]:
    """Check what differs from HEAD, or since the merge base with `base`, as `runtrue gate` does.

    The report says whether the change is `ready`; None if there is nothing to check. `staged`
    judges what would be committed.
    """
    from runtrue.code import start_run

    async def work(listeners: Iterable[Listener]) -> CodeReport | None:
        directory = _absolute(project)
        asked = GateOptions(base=base, checks=tuple(checks), staged=staged)
        change = change_of(directory, asked)
        request = plan_gate(directory, judging_config(directory, change, asked), asked, change)
        if isinstance(request, str):
            return None
        report: CodeReport = await _report(
            home or Home.find(directory), lambda journal: start_run(journal, request), listeners
        )
        return report

    return RunHandle(work, listeners)


def plan_async(
    plan: str | Path,
    project: str | Path = ".",
    *,
    profile: str | None = None,
    model: str | None = None,
    agent: str | None = None,
    execute: bool = True,
    apply: bool = False,
    home: Home | None = None,
    listeners: Iterable[Listener] = (),
) -> RunHandle[PlanReport]:
    """Execute a plan as `runtrue plan` does: a plan file, or an instruction as text.

    With `execute`, a plan that waits to start is started; with `apply`, a complete plan is
    applied. Any other question is left to a person, and the report says so.
    """
    from runtrue.plan import plan_use, start_plan

    async def work(listeners: Iterable[Listener]) -> PlanReport:
        directory = _absolute(project)
        config = load_config(directory)
        request = plan_use(
            directory,
            config,
            str(plan),
            profile=profile,
            model=model or model_name(os.environ, config.model.name),
            agent=agent,
        )
        answers = {"begin": "go" if execute else None, "offer": "apply" if apply else None}
        report: PlanReport = await _report(
            home or Home.find(directory),
            lambda journal: start_plan(journal, request),
            listeners,
            answers,
        )
        return report

    return RunHandle(work, listeners)


def do_async(
    task: str,
    directory: str | Path = ".",
    *,
    agrees: bool = False,
    dry_run: bool = False,
    home: Home | None = None,
    listeners: Iterable[Listener] = (),
) -> RunHandle[TaskReport]:
    """Do a task as `runtrue do` does, and return the report with its workflow and its result.

    With `agrees`, effects that the task does not name need no approval; a `dry_run` plans and
    calls nothing.
    """
    from runtrue.planner import start_task

    async def work(listeners: Iterable[Listener]) -> TaskReport:
        here = _absolute(directory)
        report: TaskReport = await _report(
            home or Home.find(here),
            lambda journal: start_task(journal, task, here, agrees=agrees, dry_run=dry_run),
            listeners,
        )
        return report

    return RunHandle(work, listeners)


def run_async(
    workflow: Mapping[str, Any] | str | Path,
    inputs: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    listeners: Iterable[Listener] = (),
) -> RunHandle[WorkflowResult]:
    """Run a workflow once in memory, and return its outputs and each node's result.

    `workflow` is data, the path of a file, or the name of a saved workflow. Raises
    InvalidWorkflow or InputError before anything is run; a node that fails is a result.
    """

    async def work(listeners: Iterable[Listener]) -> WorkflowResult:
        ir = workflow if isinstance(workflow, Mapping) else load_workflow(workflow)
        return await execute_workflow(ir, inputs, environment=environment, listeners=listeners)

    return RunHandle(work, listeners)


async def _report(
    home: Home,
    start: Callable[[Journal], str],
    listeners: Iterable[Listener],
    answers: Mapping[str, str | None] | None = None,
) -> Any:
    """Run until the end or a question that has no answer, and return the report."""
    with Journal(home.journal) as journal:
        run = journal.find(start(journal))
        kind = kind_of(run)
        dispatcher = LocalDispatcher(
            journal, lambda run: kind.prepare(run, home, {}, force=False), listeners
        )
        while not run.is_over:
            run = await dispatcher.run(run.id)
            asked = journal.open_question(run.id)
            if asked is None or not isinstance(asked.question, dict):
                break
            answer = next((a for key, a in (answers or {}).items() if key in asked.question), None)
            if answer is None:
                break
            journal.answer(run.id, answer)
        # Reports of unfinished runs are replayed, in an event loop of their own.
        return await asyncio.to_thread(_report_of, home, run.id)


def _absolute(path: str | Path) -> Path:
    return Path(path).resolve()


def _report_of(home: Home, run_id: str) -> Any:
    with Journal(home.journal) as journal:
        run = journal.find(run_id)
        return kind_of(run).stopped(run, home, report_of_run(journal, home, run))


def _blocking(work: Callable[P, RunHandle[T]]) -> Callable[P, T]:
    """Return a function that waits for the end of an asynchronous one."""

    @functools.wraps(work)
    def wait(*args: P.args, **options: P.kwargs) -> T:
        return run_to_end(work(*args, **options))

    wait.__name__ = wait.__qualname__ = work.__name__.removesuffix("_async")
    signature = inspect.signature(work)
    report = str(signature.return_annotation).removeprefix("RunHandle[").removesuffix("]")
    wait.__signature__ = signature.replace(return_annotation=report)  # type: ignore[attr-defined]
    return wait


fix = _blocking(fix_async)
gate = _blocking(gate_async)
plan = _blocking(plan_async)
do = _blocking(do_async)
run = _blocking(run_async)
