"""`runtrue plan`: its commands are imported when they are used."""

from __future__ import annotations

import click

from runtrue.cli.lazy_group import LazyGroup

#: The module of each command, and its name there.
_COMMANDS = {
    "new": "plan_commands:new",
    "execute": "plan_commands:execute",
    "answer": "plan_corrections:answer",
    "correct": "plan_corrections:correct",
    "rollback": "plan_corrections:rollback",
    "status": "plan_views:status",
    "tree": "plan_views:tree",
    "diff": "plan_views:diff",
    "explain": "plan_views:explain",
    "apply": "plan_commands:apply",
    "cancel": "plan_commands:cancel",
    "list": "plan_list:list_plans",
    "use": "plan_commands:new",
    "prompt": "plan_corrections:answer",
}
#: Older names, which still work, each with its successor.
_OLDER = {"use": "plan new", "prompt": "plan answer"}


@click.group(
    cls=LazyGroup,
    paths={name: f"runtrue.cli.{path}" for name, path in _COMMANDS.items()},
    older=_OLDER,
)
def plan() -> None:
    """Carry out an instruction step by step, validate it, and apply it once it passes.

    Name a plan by its id, or the start of it. Without one, the commands take the newest plan of
    this project that can continue.

    \b
    Exit codes: 0 queued, complete or applied, 1 failed, cancelled or refused,
    2 bad input, 3 waiting for a person.

    \b
    Examples:
      runtrue plan new plan.yaml
      runtrue plan new "Totals must include tax" --agent "claude -p"
      runtrue plan execute
      runtrue plan answer 3fa9 "the rate is in model.py" --allow model.py
      runtrue plan apply
    """
