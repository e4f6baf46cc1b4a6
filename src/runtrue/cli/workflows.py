"""`runtrue check`, `save`, `list`, `show`, `history` and `delete`: workflows at rest."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.show import counted, print_json, print_part, problem_as_finding
from runtrue.errors import InvalidWorkflow, UsageError
from runtrue.flow import Journal, RunState
from runtrue.home import Home
from runtrue.workflow import (
    KIND,
    EffectReport,
    Registry,
    Workflow,
    WorkflowStore,
    checked,
    load_workflow,
    planned_effects,
    validate_workflow,
)


def complete_workflow(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The saved names and the files here that begin so, or else whatever files there are."""
    saved = [s.name for s in WorkflowStore(Home.find(Path.cwd())).list()]
    suffixes = (".json", ".yaml", ".yml")
    files = [path.name for path in Path.cwd().iterdir() if path.suffix in suffixes]
    found = [CompletionItem(name) for name in (*saved, *files) if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


_workflow = click.argument("workflow", metavar="NAME|FILE", shell_complete=complete_workflow)
_name = click.argument("name", metavar="NAME", shell_complete=complete_workflow)


@click.command()
@_workflow
@options.as_json
def check(workflow: str, as_json: bool) -> int:
    """Report every problem in a workflow, without running it.

    \b
    Exit codes: 0 no problems, 1 problems, 2 it cannot be read.

    \b
    Examples:
      runtrue workflow check report.yaml
      runtrue workflow check report.yaml --json
    """
    home = Home.find(Path.cwd())
    effects: tuple[EffectReport, ...] = ()
    try:
        loaded = load_workflow(workflow, home=home)
        registry = Registry(home, Path.cwd(), only_looks=True)
        problems = validate_workflow(loaded, registry=registry)
        effects = () if problems else planned_effects(loaded, registry)
    except InvalidWorkflow as error:
        problems = error.problems
    if as_json:
        status = "failed" if problems else "passed"
        print_json(
            {
                "status": status,
                "run_id": None,
                "attempts": [],
                "findings": [problem_as_finding(workflow, problem) for problem in problems],
                "effects": list(effects),
            }
        )
    else:
        for problem in problems:
            place = f"{workflow}:{problem.line}" if problem.line else workflow
            echo(f"{place}: {problem}")
            if problem.available and len(problem.available) <= 20:
                echo(f"    available: {', '.join(problem.available)}")
        found = counted(len(problems), "problem") if problems else "no problems"
        echo(f"{workflow}: {found}")
        _print_effects(effects)
    return 1 if problems else 0


def show_effects(workflow: str, effects: tuple[EffectReport, ...], *, as_json: bool) -> None:
    """Show what a workflow would do, of which nothing has happened."""
    if as_json:
        document: dict[str, Any] = {"status": "passed", "run_id": None}
        print_json({**document, "attempts": [], "findings": [], "effects": list(effects)})
        return
    echo(f"{workflow}: nothing was run")
    _print_effects(effects)


def _print_effects(effects: tuple[EffectReport, ...]) -> None:
    print_part("would", [f"{effect.text} ({effect.node})" for effect in effects])


@click.command()
@click.argument("file", metavar="[FILE]", type=click.Path(path_type=Path), required=False)
@click.option("--run", "run_id", metavar="RUN", help="Save what `runtrue do` made in this run.")
@click.option("--name", metavar="NAME", help="The name to save it under. [default: the file's]")
@click.option("--force", is_flag=True, help="Replace an existing workflow of that name.")
@options.as_json
def save(
    file: Path | None, run_id: str | None, name: str | None, force: bool, as_json: bool
) -> int:
    """Check a workflow and save it under a name: a file, or the result of a task.

    \b
    Examples:
      runtrue workflow save report.yaml
      runtrue workflow save report.yaml --name weekly --force
      runtrue workflow save --run 7c1e --name fetch-user
    """
    home = Home.find(Path.cwd())
    if (file is None) == (run_id is None):
        raise UsageError("pass a workflow FILE, or --run RUN with a run of `runtrue do`")
    if file is not None:
        loaded, proposed = load_workflow(file), file.stem
    else:
        loaded, proposed = _made_in(home, str(run_id))
    checked(loaded, Registry(home, Path.cwd(), only_looks=True))
    name = proposed if name is None else name
    path = WorkflowStore(home).save(name, dict(loaded), replace=force)
    if as_json:
        print_json({"status": "passed", "workflow": name, "path": str(path)})
    else:
        echo(f"saved as {name}; run it with `runtrue run {name}`")
    return 0


def _made_in(home: Home, run_id: str) -> tuple[Workflow, str]:
    """The workflow that a run of `runtrue do` came to, and its proposed name."""
    from runtrue.planner import TaskReport

    with Journal(home.journal) as journal:
        run = journal.find(run_id)
    if run.kind != "do" or run.state is not RunState.PASSED:
        raise UsageError(f"run {run.id} is not a finished task, so there is nothing to save")
    report = run.result_as(TaskReport)
    return Workflow(report.workflow or {}), str(report.name)


@click.command()
@_name
@options.as_json
def delete(name: str, as_json: bool) -> int:
    """Delete a saved workflow. Its runs are kept."""
    path = WorkflowStore(Home.find(Path.cwd())).delete(name)
    if as_json:
        print_json({"status": "passed", "workflow": name, "path": str(path)})
    else:
        echo(f"deleted {name}")
    return 0


@click.command("list")
@options.as_json
def list_workflows(as_json: bool) -> int:
    """List the saved workflows."""
    home = Home.find(Path.cwd())
    saved = WorkflowStore(home).list()
    if as_json:
        print_json(
            {
                "workflows": [
                    {
                        "name": s.name,
                        "description": s.description,
                        "inputs": s.inputs,
                        "path": str(s.path),
                        "saved_at": s.saved_at,
                        "problem": s.problem,
                    }
                    for s in saved
                ]
            }
        )
    elif not saved:
        echo(f"no workflows in {home.path / 'workflows'}; `runtrue workflow save FILE` saves one")
    else:
        width = max(len(s.name) for s in saved)
        for s in saved:
            about = f"cannot be read: {s.problem}" if s.problem else s.description or ""
            echo(f"{s.name:<{width}}  {about}".rstrip())
    return 0


@click.command()
@_workflow
@options.as_json
def show(workflow: str, as_json: bool) -> int:
    """Show a workflow's inputs, nodes, outputs and effects.

    \b
    Examples:
      runtrue workflow show weather
      runtrue workflow show report.yaml --json
    """
    loaded = load_workflow(workflow, home=Home.find(Path.cwd()))
    registry = Registry.here(only_looks=True)
    if as_json:
        problems = validate_workflow(loaded, registry=registry)
        effects = () if problems else planned_effects(loaded, registry)
        document = {"name": loaded.name, "path": str(loaded.path), "workflow": loaded}
        print_json({**document, "effects": list(effects)})
        return 0
    checked(loaded, registry)
    echo(loaded.name, bold=True)
    if loaded.get("description"):
        echo(f"  {loaded['description']}")
    print_part("inputs", [_input_line(n, spec) for n, spec in loaded.get("inputs", {}).items()])
    print_part("nodes", [_node_line(node) for node in loaded["nodes"]])
    outputs = loaded.get("outputs", {})
    print_part("outputs", [_line(n, spec.get("description", "")) for n, spec in outputs.items()])
    _print_effects(planned_effects(loaded, registry))
    return 0


def _line(name: str, text: str) -> str:
    return f"{name}: {text}" if text else name


def _input_line(name: str, spec: dict[str, Any]) -> str:
    facts = [spec["type"]] if "type" in spec else []
    if "default" in spec:
        facts.append(f"default {spec['default']!r}")
    elif not spec.get("required", True):
        facts.append("optional")
    if spec.get("stdin"):
        facts.append("takes stdin")
    return _line(f"{name} ({', '.join(facts)})" if facts else name, spec.get("description", ""))


def _node_line(node: dict[str, Any]) -> str:
    each = " for each item" if "batch" in node else ""
    return _line(f"{node['id']} ({node['type']}{each})", node.get("purpose", ""))


@click.command()
@_name
@click.option("--limit", type=click.IntRange(min=1), default=20, metavar="N", help="At most (20).")
@options.as_json
def history(name: str, limit: int, as_json: bool) -> int:
    """List the latest runs of a workflow, newest first."""
    home = Home.find(Path.cwd())
    runs = []
    if home.has_journal:
        with Journal(home.journal) as journal:
            runs = journal.runs(limit=limit, kind=KIND, title=name)
    if as_json:
        print_json(
            {
                "runs": [
                    {
                        "run_id": run.id,
                        "state": run.state,
                        "created_at": run.created_at,
                        "ended_at": run.ended_at,
                        "error": run.error,
                    }
                    for run in runs
                ]
            }
        )
    elif not runs:
        load_workflow(name, home=home)  # says so if there is no such workflow at all
        echo(f"{name} has not been run yet")
    else:
        for run in runs:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created_at))
            echo(f"{run.id}  {run.state:<10} {when}  {run.error or ''}".rstrip())
    return 0
