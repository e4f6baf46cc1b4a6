"""`runtrue workflow`: saved workflows, their versions, and how they are healed."""

from __future__ import annotations

import difflib
import time
from pathlib import Path
from typing import Any

import click

from runtrue.cli import options, workflows
from runtrue.cli.console import confirm, echo, edit_text
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.run import pairs
from runtrue.cli.show import finding_line, is_terminal, print_diff, print_json
from runtrue.cli.trust import trusted_registry
from runtrue.documents import dump_document, parse_document
from runtrue.errors import RuntrueError, UsageError
from runtrue.home import Home
from runtrue.workflow import (
    Effect,
    EffectKind,
    Registry,
    Surroundings,
    Workflow,
    WorkflowStore,
    checked,
    effects_of_candidate,
    load_workflow,
    prepare_inputs,
)

_name = click.argument("name", metavar="NAME", shell_complete=workflows.complete_workflow)
_HARMLESS = frozenset({EffectKind.READ, EffectKind.CODE, EffectKind.SECRET, EffectKind.DIRECTORY})


@click.group(cls=CommandGroup)
def workflow() -> None:
    """Check, save, list, show, edit, compare, heal and delete workflows."""


workflow.add_command(workflows.check)
workflow.add_command(workflows.save)
workflow.add_command(workflows.list_workflows, "list")
workflow.add_command(workflows.show)
workflow.add_command(workflows.delete)


@workflow.command()
@_name
@options.as_json
def history(name: str, as_json: bool) -> int:
    """List the versions of a saved workflow, newest first.

    Every save makes a version, and so does an edit of the file by hand. For its runs, see
    `runtrue runs list --workflow NAME`.
    """
    store = WorkflowStore(Home.find(Path.cwd()))
    store.keep_current(name)
    versions = store.versions(name).list()[::-1]
    if not versions:
        store.load(name)  # says so if there is no such workflow at all
    if as_json:
        listed = [
            {"number": one.number, "saved_at": one.saved_at, "note": one.note} for one in versions
        ]
        print_json({"workflow": name, "versions": listed})
        return 0
    for one in versions:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.saved_at.timestamp()))
        echo(f"{one.number:>4}  {when}  {one.note}".rstrip())
    return 0


@workflow.command()
@_name
@click.argument("old", metavar="[OLD]", type=int, required=False)
@click.argument("new", metavar="[NEW]", type=int, required=False)
@options.as_json
def diff(name: str, old: int | None, new: int | None, as_json: bool) -> int:
    """Show what changed between two versions: by default the last two.

    \b
    Examples:
      runtrue workflow diff weather
      runtrue workflow diff weather 1 3
    """
    store = WorkflowStore(Home.find(Path.cwd()))
    store.keep_current(name)
    versions = store.versions(name)
    numbers = [one.number for one in versions.list()]
    if not numbers:
        store.load(name)
    after = versions.get(numbers[-1] if new is None else new)
    earlier = [number for number in numbers if number < after.number]
    if old is None and not earlier:
        raise UsageError(f"{name!r} has only one version; nothing to compare")
    before = versions.get(earlier[-1] if old is None else old)
    text = _diff(
        before.workflow, after.workflow, f"{name} {before.number}", f"{name} {after.number}"
    )
    if as_json:
        print_json({"workflow": name, "from": before.number, "to": after.number, "diff": text})
    else:
        print_diff(text)
    return 0


@workflow.command()
@_name
@click.argument("number", metavar="VERSION", type=int)
@options.as_json
def rollback(name: str, number: int, as_json: bool) -> int:
    """Make an earlier version the current one, as a new version. Works after `delete` too."""
    home = Home.find(Path.cwd())
    store = WorkflowStore(home)
    version = store.versions(name).get(number)
    store.save(name, version.workflow, replace=True, note=f"rolled back to version {number}")
    current = store.versions(name).list()[-1].number
    if as_json:
        print_json({"status": "passed", "workflow": name, "version": current, "from": number})
    else:
        echo(f"{name} is as in version {number} again (now version {current})")
    return 0


@workflow.command()
@_name
def export(name: str) -> int:
    """Print a workflow as YAML.

    \b
    Examples:
      runtrue workflow export weather > weather.yaml
    """
    loaded = load_workflow(name, home=Home.find(Path.cwd()))
    echo(dump_document(dict(loaded), "yaml"), as_is=True)
    return 0


@workflow.command()
@_name
def edit(name: str) -> int:
    """Edit a saved workflow in your editor, as YAML; it is checked before it is saved."""
    home = Home.find(Path.cwd())
    store = WorkflowStore(home)
    text = edit_text(dump_document(store.load(name).data, "yaml"), ".yaml")
    if text is None:
        echo("nothing was changed")
        return 0
    try:
        data = parse_document(text, name=name, format="yaml").data
        if not isinstance(data, dict):
            raise UsageError(f"{name!r} is not a workflow, which is an object with nodes")
        checked(Workflow(data, name=name), Registry(home, Path.cwd(), only_looks=True))
    except RuntrueError:
        kept = Path(f"{name}.edited.yaml").absolute()
        kept.write_text(text)
        echo(f"Not saved; your text is in {kept}.", err=True)
        raise
    store.save(name, data, replace=True, note="edited")
    echo(f"saved {name}; `runtrue workflow diff {name}` shows the change")
    return 0


@workflow.command()
@_name
@click.argument("inputs", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--yes", "-y", is_flag=True, help="Approve the run's effects and the new version.")
@options.as_json
def heal(name: str, inputs: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Propose a new version of a saved workflow whose API has changed.

    Runs the workflow. Where a path or an argument fails, proposes a fix and proves it by running
    it, without repeating calls that succeeded. Saves it after your yes. `runtrue run` never does
    this on its own.

    \b
    Exit codes: 0 healthy or saved, 1 no fix, 2 bad input, 3 waiting for a yes.

    \b
    Examples:
      runtrue workflow heal weather city=Oslo
      runtrue workflow heal weather city=Oslo --yes
    """
    from runtrue.planner import PlannerContext, heal_workflow
    from runtrue.workflow import run_to_end

    home = Home.find(Path.cwd())
    store = WorkflowStore(home)
    loaded = load_workflow(name, home=home)
    registry = trusted_registry(home, [n.get("type") for n in loaded["nodes"]], may_ask=not as_json)
    checked(loaded, registry)
    values = prepare_inputs(loaded.get("inputs", {}), pairs(inputs), stdin=None, from_text=True)
    here = Surroundings(registry, Path.cwd())
    effects = [one for one in effects_of_candidate(loaded, values, here) if _changes(one)]
    may_ask = is_terminal() and not as_json
    if effects and not yes:
        lines = [str(effect) for effect in effects]
        if not may_ask:
            return _waiting(name, f"running it would {'; '.join(lines)}", as_json, effects=lines)
        for line in lines:
            echo(f"  {line}", err=True)
        if not confirm("Running it does this. Continue?"):
            return 3
    report = run_to_end(heal_workflow(loaded, values, PlannerContext(registry)))
    findings = [finding_line(finding) for finding in report.findings]
    if report.status == "healthy":
        return _ended(name, "passed", "it passes; nothing to heal", as_json, {})
    for line in findings if not as_json else ():
        echo(line, err=True)
    if report.status == "failed":
        return _ended(name, "failed", report.reason, as_json, {"findings": findings}, code=1)
    text = _diff(dict(loaded), report.workflow, f"{name} (saved)", f"{name} (proposed)")
    facts = {"findings": findings, "diff": text, "result": report.result}
    if not as_json:
        print_diff(text)
        echo("this version passed when run", err=True)
    if not yes and not (may_ask and confirm(f"Save it as the new version of {name}?")):
        return _waiting(name, "a new version is proposed", as_json, **facts)
    changed = "; ".join(map(str, report.changes))
    store.save(name, report.workflow, replace=True, note=f"healed: {changed}")
    return _ended(name, "passed", "healed, and saved as a new version", as_json, facts)


def _changes(effect: Effect) -> bool:
    return not effect.reads and effect.kind not in _HARMLESS


def _waiting(name: str, why: str, as_json: bool, **facts: Any) -> int:
    if as_json:
        print_json({"status": "waiting", "workflow": name, "reason": why, **facts})
    else:
        echo(f"{name}: {why}; pass `--yes` to approve", err=True)
    return 3


def _ended(
    name: str, status: str, why: str, as_json: bool, facts: dict[str, Any], code: int = 0
) -> int:
    if as_json:
        print_json({"status": status, "workflow": name, "reason": why, **facts})
    else:
        echo(f"{name}: {why}", err=code != 0)
    return code


def _diff(before: dict[str, Any], after: dict[str, Any], old: str, new: str) -> str:
    one, other = (dump_document(data, "yaml").splitlines(keepends=True) for data in (before, after))
    return "".join(difflib.unified_diff(one, other, old, new))
