"""`runtrue code`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from runtrue.cli import options
from runtrue.cli.project import find_project, must_be_text
from runtrue.cli.runner import run_and_show
from runtrue.cli.show import is_terminal
from runtrue.cli.trust import confirm_trust
from runtrue.code import (
    CodeRequest,
    CodeType,
    Iteration,
    plan_code,
    plan_task,
    start_run,
)
from runtrue.config import Config, load_config
from runtrue.errors import UsageError
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.models import model_name
from runtrue.sandbox import repository_of


@click.command()
@click.argument("requirement")
@click.option(
    "--path",
    "-p",
    "file",
    required=True,
    metavar="FILE",
    help="The file to write the code to, relative to the project.",
)
@options.code_type("The type of change. [default: bug_fix if FILE exists, else new_function]")
@click.option(
    "--tests",
    "tests",
    multiple=True,
    metavar="FILE",
    help="A test file for it; written if it does not exist. Can be repeated.",
)
@click.option(
    "--project",
    "directory",
    default=".",
    type=click.Path(path_type=Path),
    help="The project's directory. [default: .]",
)
@options.checks
@options.apply
@options.allow_self_running
@options.agent
@options.max_attempts
@click.option(
    "--timeout",
    type=click.IntRange(5, 600),
    metavar="SECONDS",
    help="Time limit of each check (5 to 600).",
)
@options.loop_id
@options.iteration
@options.worktree
@options.copy
@options.queued
@options.as_json
def code(
    requirement: str,
    file: str,
    code_type: str | None,
    tests: tuple[str, ...],
    directory: Path,
    checks: tuple[str, ...],
    apply: bool,
    allow_self_running: bool,
    agent: str | None,
    max_attempts: int | None,
    timeout: int | None,
    loop_id: str | None,
    iteration: int | None,
    kind: str | None,
    as_json: bool,
) -> int:
    """Generate code with its tests, and hand it over once they pass.

    A language model (RUNTRUE_MODEL) or a coding agent (--agent) writes them. With neither, runtrue
    takes the existing code and tests, and fixes them with tools and search. The result passes its
    tests, and has the coverage and the kinds of tests that its --type requires.

    \b
    Exit codes: 0 passed, 1 not fixed, 2 bad input, 3 waiting for a person.

    \b
    Examples:
      runtrue code "parse ISO durations, see @docs/spec.md" --path src/duration.py
      runtrue code "totals must include tax" --path shop.py --type bug_fix --tests test_shop.py
      runtrue code "split the parser" -p parser.py --type refactor --agent "claude -p" --apply
    """
    project = find_project(directory)
    must_be_text(str(project), requirement, file, agent or "", *checks, *tests)
    confirm_trust(project, may_ask=not as_json)
    config = load_config(project)
    of_type = CodeType(code_type) if code_type else None
    task = plan_task(project, requirement, file, code_type=of_type, tests=tests)
    wanted = options.wanted_apply(apply=apply, may_ask=is_terminal() and not as_json)
    request = plan_code(
        project,
        config,
        task,
        checks=checks,
        apply=wanted,
        model=model_name(os.environ, config.model.name),
        agent=agent,
    )
    request = replace(
        request,
        allow_self_running=allow_self_running,
        sandbox=kind or request.sandbox,
        policy=replace(request.policy, max_attempts=max_attempts or request.policy.max_attempts),
        checks=tuple(c.within(timeout) for c in request.checks),
        iteration=iteration_of(loop_id, iteration, config),
    )
    _check_sandbox(request, project)
    home = Home.find(project)
    with Journal(home.journal) as journal:
        return run_and_show(journal, home, start_run(journal, request), as_json=as_json)


def iteration_of(loop_id: str | None, number: int | None, config: Config) -> Iteration | None:
    """The place in a loop around this run, from both of its options."""
    if not loop_id and number is None:
        return None
    if not loop_id or number is None:
        missing = "--iteration" if loop_id else "--loop-id"
        raise UsageError(f"--loop-id and --iteration go together; add {missing}")
    ralph = config.ralph
    return Iteration(
        loop_id=loop_id,
        number=number,
        require_passing_tests=ralph.require_passing_tests,
        allow_skip=config.gate.allow_skip,
        persist_per_iteration=ralph.persist_per_iteration,
        cross_iteration_learning=ralph.cross_iteration_learning,
        include_test_pass_rate=ralph.include_test_pass_rate,
        weight=ralph.weight,
    )


def _check_sandbox(request: CodeRequest, project: Path) -> None:
    if request.sandbox == "worktree" and repository_of(project) is None:
        raise UsageError(
            f"{project} is not in a git repository, so --worktree cannot work; use --copy"
        )
