"""`runtrue gate`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from runtrue.cli import options
from runtrue.cli.code import iteration_of
from runtrue.cli.console import echo
from runtrue.cli.hooks import AGENT_HOSTS, HOOKS, note_firing
from runtrue.cli.judge import GateOptions, change_of, judge, judging_config, plan, skip_judging
from runtrue.cli.project import find_project, must_be_text
from runtrue.cli.show import print_document
from runtrue.cli.verdict import ignoring_closed_pipes, print_verdict
from runtrue.code import CodeReport, CodeType
from runtrue.errors import UsageError
from runtrue.flow import Journal, RunState
from runtrue.home import Home

NOT_READY, INTERRUPTED = 2, 130


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--base",
    metavar="REV",
    help="Check everything that changed since the merge base with REV, as in CI. [default: HEAD]",
)
@click.option(
    "--staged", is_flag=True, help="Check what is staged, as the next commit would contain it."
)
@options.code_type("The type of change, which sets the required coverage and kinds of tests.")
@options.checks
@click.option(
    "--skip",
    metavar="REASON",
    help="Skip the checks and record why; needs [gate] allow_skip = true.",
)
@click.option("--again", is_flag=True, help="Check again, even if this tree has passed.")
@options.watch
@options.loop_id
@options.iteration
@click.option("--install", type=click.Choice(list(HOOKS)), hidden=True)
@click.option("--uninstall", type=click.Choice(list(HOOKS)), hidden=True)
@click.option("--hook", type=click.Choice(list(HOOKS)), hidden=True)
@options.output
@options.as_json
def gate(
    path: Path | None,
    base: str | None,
    staged: bool,
    code_type: str | None,
    checks: tuple[str, ...],
    skip: str | None,
    again: bool,
    watch: bool,
    loop_id: str | None,
    iteration: int | None,
    install: str | None,
    uninstall: str | None,
    hook: str | None,
    output: str | None,
    as_json: bool,
) -> int:
    """Block a change until it is tested and its tests pass: for agents, commits and CI.

    Looks at everything that differs from HEAD, untracked files included. It is ready when the
    checks pass, the change has tests, none of them skipped, the tests cover enough of the changed
    lines, and the security scanner reports nothing there. The gate repairs nothing: it lists the
    findings on stderr, numbered, for a person or an agent to fix. A tree that has passed is not
    checked again until something changes.

    \b
    Exit codes: 0 ready, 2 not ready (or bad input), 1 the gate itself broke.

    \b
    Examples:
      runtrue gate
      runtrue gate --base origin/main --type bug_fix
      runtrue gate --watch
      runtrue hooks install claude-code   gate every change of the agent
      runtrue hooks install git           gate every commit
    """
    as_json = as_json or output is not None
    if install or uninstall:
        return _arrange(find_project(path or Path()), install, uninstall, as_json=as_json)
    asked = GateOptions(
        base=base,
        code_type=CodeType(code_type) if code_type else None,
        checks=checks,
        skip=skip,
        staged=staged or hook == "pre-commit",
        again=again,
    )
    if hook in AGENT_HOSTS:
        from runtrue.cli.stop import answer_stop

        return answer_stop(AGENT_HOSTS[hook], path, asked)
    project = find_project(path or Path())

    def judge_now(changed: frozenset[str] | None = None) -> int:
        return _gate(
            project, asked, hook=hook, loop_id=loop_id, iteration=iteration, as_json=as_json
        )

    if watch:
        from runtrue.cli.watch import refuse_documents
        from runtrue.cli.watch import watch as run_on_changes

        refuse_documents(as_json=as_json)
        return run_on_changes(project, Home.find(project), judge_now)
    code = judge_now()
    if hook is not None:
        note_firing(Home.find(project), project, hook, blocked=code == NOT_READY)
    return code


def _gate(
    project: Path,
    asked: GateOptions,
    *,
    hook: str | None,
    loop_id: str | None,
    iteration: int | None,
    as_json: bool,
) -> int:
    base, checks, skip = asked.base, asked.checks, asked.skip
    must_be_text(str(project), base or "", skip or "", loop_id or "", *checks)
    try:
        change = change_of(project, asked, in_commit=hook == "git")
        config = judging_config(project, change, asked)
        request = plan(project, config, asked, change)
        if isinstance(request, str):
            return _nothing_to_judge(request, as_json=as_json)
        if request.unconcerned:
            with ignoring_closed_pipes():
                echo(
                    "runtrue gate: skipped, nothing changed in their directories: "
                    f"{', '.join(request.unconcerned)}",
                    err=True,
                )
        request = replace(request, iteration=iteration_of(loop_id, iteration, config))
        home = Home.find(project)
        with Journal(home.journal) as journal:
            if skip is not None:
                report = skip_judging(journal, request, skip)
            else:
                report = judge(journal, home, request, silent=as_json, again=asked.again)
    except KeyboardInterrupt:
        return _interrupted(as_json=as_json)
    with ignoring_closed_pipes():
        print_verdict(report)
    if as_json:
        with ignoring_closed_pipes():
            print_document(report)
    return 0 if report.ready else NOT_READY


def _interrupted(*, as_json: bool) -> int:
    with ignoring_closed_pipes():
        echo("runtrue gate: interrupted before a verdict; run it again", err=True)
    if as_json:
        with ignoring_closed_pipes():
            print_document(_without_run(RunState.CANCELLED, ready=False, why="interrupted"))
    return INTERRUPTED


def _arrange(project: Path, install: str | None, uninstall: str | None, *, as_json: bool) -> int:
    """Do what `runtrue hooks` does, under the name that it had before."""
    from runtrue.cli.hook_commands import arrange

    if install and uninstall:
        raise UsageError("pass either --install or --uninstall")
    context = click.get_current_context()
    unused = [
        option.opts[0]
        for option in context.command.params
        if isinstance(option, click.Option)
        and option.name not in ("install", "uninstall", "as_json")
        and context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    ]
    if unused:
        raise UsageError(
            f"{', '.join(unused)} has no effect on the hook; leave it out, and set what the "
            "gate requires in runtrue.toml"
        )
    verb = "install" if install else "uninstall"
    echo(f"runtrue: this is now `runtrue hooks {verb} {install or uninstall}`", err=True)
    return arrange(project, install or uninstall or "", remove=not install, as_json=as_json)


def _nothing_to_judge(why: str, *, as_json: bool) -> int:
    with ignoring_closed_pipes():
        echo(f"runtrue gate: ready: {why}", err=True)
    if as_json:
        with ignoring_closed_pipes():
            print_document(_without_run(RunState.PASSED, ready=True, why=why))
    return 0


def _without_run(status: RunState, *, ready: bool, why: str) -> CodeReport | dict[str, Any]:
    if click.get_current_context().meta.get(options.OUTPUT) not in (None, "json"):
        return CodeReport(status=status, run_id="", kind="gate", why=why, ready=ready)
    return {
        "status": status,
        "run_id": None,
        "attempts": [],
        "findings": [],
        "ready": ready,
        "why": why,
    }
