"""`runtrue fix`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtrue.cli import options
from runtrue.errors import UsageError

if TYPE_CHECKING:
    from runtrue.code import CodeRequest


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, readable=False))
@options.checks
@options.apply
@options.allow_self_running
@options.agent
@options.max_attempts
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    metavar="SECONDS",
    help="Time limit of each check.",
)
@options.worktree
@options.copy
@options.output
@options.each_option("Fix many projects: FILE lists their directories, one per line.")
@options.queued
@options.watch
@options.as_json
def fix(
    path: Path,
    checks: tuple[str, ...],
    apply: bool,
    allow_self_running: bool,
    agent: str | None,
    max_attempts: int | None,
    timeout: float | None,
    kind: str | None,
    output: str | None,
    each: Path | None,
    concurrency: int | None,
    watch: bool,
    as_json: bool,
) -> int:
    """Make failing checks pass; the result is a diff to apply.

    Without --check, runs the checks of runtrue.toml, or else the project's test framework, mypy
    and ruff, if it uses them. Linter findings from before do not block and are left alone, unless
    --check names that linter. All work happens in a sandbox: your files change only when you
    apply a result that has passed every required check.

    \b
    Exit codes: 0 passed, 1 not fixed, 2 bad input, 3 waiting for a person.

    \b
    Examples:
      runtrue fix
      runtrue fix --check ruff
      runtrue fix --output sarif > runtrue.sarif
      runtrue fix --watch
      runtrue fix src/app --check "python -m pytest -q" --apply
      runtrue fix --agent "claude -p --permission-mode acceptEdits"
      runtrue fix --each repositories.txt
    """
    from runtrue.cli.console import echo
    from runtrue.cli.project import find_project, must_be_text
    from runtrue.cli.runner import run_and_show
    from runtrue.cli.show import is_terminal
    from runtrue.cli.trust import confirm_trust
    from runtrue.code import plan_fix, start_run
    from runtrue.config import load_config
    from runtrue.flow import Journal
    from runtrue.home import Home
    from runtrue.models import model_name
    from runtrue.sandbox import repository_of

    as_json = as_json or output is not None
    if concurrency is not None and each is None:
        raise UsageError("--concurrency needs --each FILE")
    if each is not None and watch:
        raise UsageError("--watch is for one project: drop --each")
    if each is not None and (output is not None or path != Path()):
        raise UsageError(
            "--each names the projects, and its result is not a single document: "
            "drop PATH and --output"
        )
    must_be_text(agent or "", *checks)
    may_ask = is_terminal() and not as_json and each is None
    wanted = options.wanted_apply(apply=apply, may_ask=may_ask)

    def request_of(path: Path) -> CodeRequest:
        project = find_project(path)
        must_be_text(str(project))
        # Nothing is read, and no run begun, where git is missing or refuses the repository.
        repository = repository_of(project)
        confirm_trust(project, may_ask=not as_json and each is None)
        config = load_config(project)
        request = plan_fix(
            project,
            config,
            checks=checks,
            apply=wanted,
            model=model_name(os.environ, config.model.name),
        )
        if (kind or request.sandbox) == "worktree" and repository is None:
            raise UsageError(
                f"{path} is not in a git repository, so --worktree cannot work; use --copy"
            )
        attempts = max_attempts or request.policy.max_attempts
        return replace(
            request,
            allow_self_running=allow_self_running,
            sandbox=kind or request.sandbox,
            agent=replace(request.agent, command=agent or request.agent.command),
            policy=replace(request.policy, max_attempts=attempts),
            checks=tuple(c.within(timeout) for c in request.checks),
        )

    if each is not None:
        from runtrue.cli.each import fix_each

        return fix_each(request_of, file=each, concurrency=concurrency, as_json=as_json)
    request = request_of(path)
    home = Home.find(Path(request.project))
    passed = False

    def run(changed: frozenset[str] | None) -> int:
        nonlocal passed
        affected = request.concerned(changed) if passed and changed else request
        if affected is None:
            echo("no check covers what changed", err=True)
            return 0
        with Journal(home.journal) as journal:
            code = run_and_show(journal, home, start_run(journal, affected), as_json=as_json)
        passed = code == 0
        return code

    if not watch:
        return run(None)
    from runtrue.cli.watch import refuse_documents
    from runtrue.cli.watch import watch as run_on_changes

    refuse_documents(as_json=as_json)
    return run_on_changes(Path(request.project), home, run)
