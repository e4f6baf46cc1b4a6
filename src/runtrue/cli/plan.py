"""`runtrue plan`: its commands are imported when they are used."""

from __future__ import annotations

import importlib

import click

#: The module of each command, and its name there.
_COMMANDS = {
    "use": "plan_commands:use",
    "execute": "plan_commands:execute",
    "prompt": "plan_commands:prompt",
    "apply": "plan_commands:apply",
    "cancel": "plan_commands:cancel",
    "list": "plan_list:list_plans",
    "status": "plan_views:status",
    "tree": "plan_views:tree",
    "diff": "plan_views:diff",
    "explain": "plan_views:explain",
}


class _PlanGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"runtrue.cli.{module}"), name)
        return command


@click.group(cls=_PlanGroup)
def plan() -> None:
    """Carry out an instruction step by step, validated, and apply it when it holds.

    A plan is named by its id or the beginning of it; without one, the newest plan of this project
    that can go on is meant.

    \b
    Exit codes: 0 queued, complete or applied, 1 failed, cancelled or refused, 2 bad input,
    3 waiting for a person.

    \b
    Examples:
      runtrue plan use plan.yaml
      runtrue plan use "Totals must include tax" --agent "claude -p"
      runtrue plan execute
      runtrue plan prompt 3fa9 "the rate is in model.py" --allow model.py
      runtrue plan apply
    """
