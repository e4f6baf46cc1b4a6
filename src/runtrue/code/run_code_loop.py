"""`run_code_loop`: the code loop for programs, from a requirement to its record."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from runtrue.code.loop import prepare_run, start_run
from runtrue.code.make_report import record_of
from runtrue.code.record import Record
from runtrue.code.request import Apply, plan_code
from runtrue.code.task import Iteration, plan_task
from runtrue.config import load_config
from runtrue.errors import UsageError
from runtrue.flow import Journal, LocalDispatcher, replay
from runtrue.home import Home
from runtrue.loop import CodeType
from runtrue.models import model_name


def run_code_loop(
    requirement: str,
    path: str,
    *,
    project: Path,
    code_type: CodeType | None = None,
    tests: tuple[str, ...] = (),
    checks: tuple[str, ...] = (),
    agent: str | None = None,
    model: str | None = None,
    max_attempts: int | None = None,
    apply: bool = False,
    iteration: Iteration | None = None,
    home: Home | None = None,
) -> Record:
    """Do what `runtrue code` does, with the project's configuration, and give the record.

    `path` and `tests` are as seen from `project`. A run that waits for a person is in the journal
    of `home`, to be answered with `runtrue runs resume`. Raises UsageError for what cannot be.
    """
    project = project.resolve()
    if max_attempts is not None and not 1 <= max_attempts <= 10:
        raise UsageError(f"max_attempts is {max_attempts}; choose 1 to 10")
    config = load_config(project)
    task = plan_task(project, requirement, path, code_type=code_type, tests=tests)
    request = plan_code(
        project,
        config,
        task,
        checks=checks,
        apply=Apply.YES if apply else Apply.NO,
        model=model or model_name(os.environ, config.model.name),
        agent=agent,
    )
    limits = replace(request.policy, max_attempts=max_attempts or request.policy.max_attempts)
    request = replace(request, policy=limits, iteration=iteration)
    home = home or Home.find(project)
    with Journal(home.journal) as journal:
        run_id = start_run(journal, request)
        dispatcher = LocalDispatcher(journal, lambda run: prepare_run(run, home), [])
        run = asyncio.run(dispatcher.run(run_id))
        segment = prepare_run(run, home)
        asyncio.run(replay(segment.work, journal.load(run.id)))
        return record_of(segment.state, run.state)
