"""`runtrue run`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runtrue.cli import options
from runtrue.cli.runner import run_and_show
from runtrue.cli.trust import trusted_registry
from runtrue.cli.workflows import complete_workflow, show_effects
from runtrue.errors import UsageError
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.workflow import (
    Registry,
    Workflow,
    embed_workflows,
    load_workflow,
    planned_effects,
    start_workflow,
)


@click.command()
@click.argument("workflow", metavar="NAME|FILE", shell_complete=complete_workflow)
@click.argument("inputs", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show what it would do without calling anything.")
@options.each_option(
    "Run it for each row: a .csv file whose header names inputs, a .jsonl file, or -."
)
@options.queued
@options.as_json
def run(
    workflow: str,
    inputs: tuple[str, ...],
    dry_run: bool,
    each: Path | None,
    concurrency: int | None,
    as_json: bool,
) -> int:
    """Run a workflow, saved or from a file.

    Give inputs as KEY=VALUE; the workflow declares their types. Piped input goes to the input that
    declares `stdin`. The result goes to stdout, everything else to stderr. A run is deterministic:
    runtrue never fixes anything here. `runtrue runs resume` continues an interrupted or failed run
    at its node.

    With --each, results are printed as they come, a JSON object for each row. All rows are one run
    for `runtrue runs show|resume|cancel`.

    \b
    Exit codes: 0 passed, 1 a node failed, 2 bad input.

    \b
    Examples:
      runtrue run weather city=Oslo
      runtrue run weather city=Oslo --dry-run
      runtrue run report.yaml since=2026-01-01 --json
      git log | runtrue run summarise
      runtrue run weather --each cities.csv > results.jsonl
    """
    if concurrency is not None and each is None:
        raise UsageError("--concurrency needs --each FILE")
    home = Home.find(Path.cwd())
    loaded = load_workflow(workflow, home=home)
    if dry_run and each is not None:
        raise UsageError("--dry-run shows one run: give the inputs of one row, without --each")
    if dry_run:
        looking = Registry(home, Path.cwd(), only_looks=True)
        given = pairs(inputs)
        effects = planned_effects(loaded, looking, given, stdin=_piped(loaded), from_text=True)
        show_effects(workflow, effects, as_json=as_json)
        return 0
    nodes = loaded.get("nodes")
    steps = [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []
    registry = trusted_registry(home, [node.get("type") for node in steps], may_ask=not as_json)
    if click.get_current_context().meta.get(options.QUEUE) is not None:
        # Workers have none of the user's files.
        loaded = embed_workflows(loaded, registry)
    if each is not None:
        from runtrue.cli.each import run_each

        return run_each(
            home,
            loaded,
            pairs(inputs),
            registry=registry,
            file=each,
            concurrency=concurrency,
            as_json=as_json,
        )
    with Journal(home.journal) as journal:
        started = start_workflow(
            journal,
            loaded,
            pairs(inputs),
            registry=registry,
            stdin=_piped(loaded),
            from_text=True,
        )
        return run_and_show(journal, home, started.run_id, as_json=as_json, secrets=started.secrets)


def pairs(texts: tuple[str, ...], what: str = "input") -> dict[str, str]:
    """`KEY=VALUE` arguments as what they say; `what` is what a message calls one of them."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r}: write the {what} as KEY=VALUE")
        if name in pairs:
            raise UsageError(f"the {what} {name!r} is given twice")
        pairs[name] = value
    return pairs


def _piped(workflow: Workflow) -> str | None:
    """Return what is piped in, if an input asks for it and there is something."""
    inputs = workflow.get("inputs")
    specs = inputs.values() if isinstance(inputs, dict) else ()
    wanted = any(isinstance(spec, dict) and spec.get("stdin") for spec in specs)
    if not wanted or sys.stdin is None or sys.stdin.isatty():
        return None
    try:
        return sys.stdin.buffer.read().decode() or None
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text") from error
