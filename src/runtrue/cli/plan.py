"""`runtrue plan`: its commands are imported when they are used."""

from __future__ import annotations

import importlib

import click

from runtrue.cli.console import echo

#: The module of each command, and its name there.
_COMMANDS = {
    "new": "plan_commands:new",
    "execute": "plan_commands:execute",
    "answer": "plan_corrections:answer",
    "correct": "plan_corrections:correct",
    "rollback": "plan_corrections:rollback",
    "apply": "plan_commands:apply",
    "cancel": "plan_commands:cancel",
    "list": "plan_list:list_plans",
    "status": "plan_views:status",
    "tree": "plan_views:tree",
    "diff": "plan_views:diff",
    "explain": "plan_views:explain",
}
#: Older names of commands, which keep working.
_RENAMED = {"use": "new", "prompt": "answer"}


class _PlanGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _RENAMED:
            now = _RENAMED[cmd_name]
            echo(f"`runtrue plan {cmd_name}` is now `runtrue plan {now}`", err=True)
            cmd_name = now
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
      runtrue plan new plan.yaml
      runtrue plan new "Totals must include tax" --agent "claude -p"
      runtrue plan execute
      runtrue plan answer 3fa9 "the rate is in model.py" --allow model.py
      runtrue plan apply
    """
