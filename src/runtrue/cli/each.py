"""`--each` of `run` and `fix`: one run for each line of a file, under a parent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runtrue.cli.each_file import label_of, read_lines, read_rows
from runtrue.cli.kinds.each import RESULTS, EachRequest, RefusedItem, start_each
from runtrue.cli.options import CONCURRENCY, QUEUE
from runtrue.cli.runner import run_and_show
from runtrue.errors import RuntrueError, UsageError
from runtrue.flow import Journal, NewRun
from runtrue.home import Home
from runtrue.workflow import (
    InputError,
    NewWorkflowRun,
    Registry,
    Workflow,
    new_workflow_run,
    redact_by_name,
)

if TYPE_CHECKING:
    from runtrue.code import CodeRequest

#: How many rows with wrong inputs one message names.
_MOST_PROBLEMS = 10


def run_each(
    home: Home,
    workflow: Workflow,
    given: Mapping[str, str],
    *,
    registry: Registry,
    file: Path,
    concurrency: int | None,
    as_json: bool,
) -> int:
    """Run a workflow once for each row of a file; `given` are inputs that all rows share."""
    news: list[NewWorkflowRun] = []
    labels: list[str] = []
    problems: list[str] = []
    for row in read_rows(file):
        try:
            if both := sorted(given.keys() & row.inputs.keys()):
                raise UsageError(f"the input {both[0]!r} is given twice")
            inputs = {**given, **row.inputs}
            # A file of rows is data: what it says is not what a person named.
            new = new_workflow_run(
                workflow, inputs, registry=registry, from_text=True, names_files=given
            )
        except (InputError, UsageError) as error:
            problems.append(f"line {row.line}: {'; '.join(str(error).splitlines())}")
            if len(problems) > _MOST_PROBLEMS:
                break
            continue
        news.append(new)
        hidden = {name.removeprefix("inputs.") for name in new.secrets}
        shown = {name: value for name, value in row.inputs.items() if name not in hidden}
        labels.append(label_of(redact_by_name(shown)))
    if problems:
        more = ["more lines are wrong too"] if len(problems) > _MOST_PROBLEMS else []
        wrong = "\n".join([*problems[:_MOST_PROBLEMS], *more])
        raise UsageError(f"--each {file}: nothing was run\n{wrong}")
    queue = _queue()
    if queue is not None and (secret := next((new for new in news if new.secrets), None)):
        names = ", ".join(name.removeprefix("inputs.") for name in secret.secrets)
        raise UsageError(
            f"secrets never travel, and {names} would have to: name it ${{env.NAME}} in the "
            "workflow and keep it on the workers with `runtrue secret set NAME`"
        )
    request = EachRequest(
        of="workflow",
        concurrency=concurrency or CONCURRENCY,
        directory=str(registry.directory),
        queue=queue,
    )
    with Journal(home.journal) as journal:
        children = zip(labels, (new.run for new in news), strict=True)
        parent = start_each(journal, request, f"{news[0].run.title} × {len(news)}", children)
        rows = journal.children(parent)
        secrets = {
            row.run_id: new.secrets for row, new in zip(rows, news, strict=True) if new.secrets
        }
        return _show(journal, home, parent, as_json=as_json, secrets=secrets)


def fix_each(
    request_of: Callable[[Path], CodeRequest],
    *,
    file: Path,
    concurrency: int | None,
    as_json: bool,
) -> int:
    """Fix each of the projects whose directories a file names."""
    from runtrue.code import new_run

    children: list[tuple[str, NewRun]] = []
    refused: list[RefusedItem] = []
    for line in read_lines(file):
        try:
            children.append((line, new_run(request_of(Path(line)))))
        except RuntrueError as error:
            # One project that cannot be fixed is no reason to leave the others alone.
            refused.append(RefusedItem(label=line, why=str(error)))
    if not children:
        said = "\n".join(f"{one.label}: {one.why}" for one in refused)
        raise UsageError(f"--each {file}: no project can be fixed\n{said}")
    home = Home.find(Path.cwd())
    request = EachRequest(
        of="fix",
        concurrency=concurrency or min(CONCURRENCY, os.cpu_count() or 1),
        directory=str(Path.cwd()),
        refused=tuple(refused),
        queue=_queue(),
    )
    with Journal(home.journal) as journal:
        parent = start_each(journal, request, f"fix × {len(children)}", children)
        return _show(journal, home, parent, as_json=as_json, secrets={})


def _queue() -> str | None:
    name: str | None = click.get_current_context().meta.get(QUEUE)
    return name


def _show(
    journal: Journal, home: Home, parent: str, *, as_json: bool, secrets: Mapping[str, Any]
) -> int:
    click.get_current_context().meta[RESULTS] = not as_json
    return run_and_show(journal, home, parent, as_json=as_json, secrets=secrets)
