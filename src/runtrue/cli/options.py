"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from runtrue.errors import UsageError

if TYPE_CHECKING:
    from runtrue.code import Apply

_F = TypeVar("_F", bound=Callable[..., Any])

#: Where the context of a command keeps the format of its document.
OUTPUT = "runtrue.output"
#: Where it keeps the queue of a new run, and whether to follow what a worker does.
QUEUE, WAIT, PRIORITY = "runtrue.queue", "runtrue.wait", "runtrue.priority"
#: How many runs of `--each` go on at once.
CONCURRENCY = 4

checks = click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CMD",
    help="A check: a command, or the name of one the project has. Can be repeated.",
)
apply = click.option(
    "--apply", is_flag=True, help="Apply the result to the project when it passes."
)
allow_self_running = click.option(
    "--allow-self-running",
    is_flag=True,
    help="Also apply files that run by themselves: editor settings, hooks, CI workflows.",
)
agent = click.option(
    "--agent",
    metavar="CMD",
    help="A coding agent's command line; gets the prompt as {prompt_file}, {prompt} or on stdin.",
)
max_attempts = click.option(
    "--max-attempts",
    type=click.IntRange(1, 10),
    metavar="N",
    help="How often to run the checks at most, the first run included (1 to 10).",
)
worktree = click.option(
    "--worktree",
    "kind",
    flag_value="worktree",
    help="Work in a separate git worktree (the default in a repository).",
)
copy = click.option("--copy", "kind", flag_value="copy", help="Work in a copy of the project.")
loop_id = click.option(
    "--loop-id",
    envvar="RUNTRUE_LOOP_ID",
    metavar="ID",
    help="The id of the loop that this run is an iteration of. [env: RUNTRUE_LOOP_ID]",
)
iteration = click.option(
    "--iteration",
    type=click.IntRange(min=1),
    envvar="RUNTRUE_ITERATION",
    metavar="N",
    help="The number of this iteration. [env: RUNTRUE_ITERATION]",
)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


def _keep(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        ctx.meta[key] = value

    return keep


def _keep_queue(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        # Only those who name a queue need to know where it is.
        from runtrue.home import DATABASE, shared_database

        if not value or shared_database() is None:
            raise UsageError(
                f"--queue needs a database that workers share: set {DATABASE} (docs/scale.md)"
            )
    ctx.meta[QUEUE] = value


def queued(command: _F) -> _F:
    """Add `--queue`, `--priority` and `--wait`, which `run_and_show` reads."""
    priority = click.option(
        "--priority",
        type=click.IntRange(1, 1_000_000),
        metavar="N",
        expose_value=False,
        callback=_keep(PRIORITY),
        help="With --queue: runs with a lower number go first (100).",
    )
    queue = click.option(
        "--queue",
        metavar="NAME",
        expose_value=False,
        callback=_keep_queue,
        help="Hand the run to a worker of this queue and print its id.",
    )
    return queue(priority(waits(command)))


def wanted_apply(*, apply: bool, may_ask: bool) -> Apply:
    """Return whether a run applies its result. Workers do not have the user's files."""
    from runtrue.code import Apply

    if click.get_current_context().meta.get(QUEUE) is None:
        return Apply.YES if apply else Apply.ASK if may_ask else Apply.NO
    if apply:
        raise UsageError(
            "--queue cannot be used with --apply, since workers do not have your files: apply "
            "the result with `runtrue runs apply RUN` when it has passed"
        )
    return Apply.NO


def waits(command: _F) -> _F:
    """Add `--wait`, for runs that workers drive."""
    wait = click.option(
        "--wait",
        is_flag=True,
        expose_value=False,
        callback=_keep(WAIT),
        help="Follow a run on a worker until it ends or asks.",
    )
    return wait(command)


def _keep_output(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    ctx.meta[OUTPUT] = value
    return value


output = click.option(
    "--output",
    type=click.Choice(["json", "sarif", "junit", "github", "markdown"]),
    callback=_keep_output,
    help="One document on stdout, in this format.",
)


watch = click.option(
    "--watch", is_flag=True, help="Rerun what is affected when a file changes, until Ctrl-C."
)


def code_type(help_text: str) -> Callable[[_F], _F]:
    """Return the option `--type`, with what it means to a command."""
    from runtrue.loop import CodeType  # commands that share other options do not need it

    choice = click.Choice([one.value for one in CodeType])
    return click.option("--type", "code_type", type=choice, help=help_text)


def each_option(text: str) -> Callable[[_F], _F]:
    """Add `--each FILE` and `--concurrency N`."""
    file = click.option(
        "--each", "each", type=click.Path(path_type=Path), metavar="FILE", help=text
    )
    concurrency = click.option(
        "--concurrency",
        type=click.IntRange(1, 256),
        metavar="N",
        help=f"With --each: how many at once ({CONCURRENCY}). Workers have their own limit.",
    )
    return lambda command: file(concurrency(command))
