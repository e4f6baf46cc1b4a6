"""Options that every command has: where to work, how much to say, and in which colours."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

#: Where the context keeps how much is said: less than 0 is quiet, more is verbose.
VERBOSITY = "runtrue.verbosity"
_COLORS = {"always": True, "never": False}


def verbosity() -> int:
    """Return how much the person wants to read: -1, 0 or 1."""
    context = click.get_current_context(silent=True)
    return 0 if context is None else int(context.meta.get(VERBOSITY, 0))


def color() -> bool | None:
    """Return whether colours were asked for or ruled out; None to see by the terminal."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.color


def _change_directory(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is None or ctx.resilient_parsing:
        return
    try:
        os.chdir(value)
    except OSError as error:
        raise click.BadParameter(f"cannot work in {value}: {error.strerror}", ctx, param) from error


def _set_color(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.color = _COLORS.get(value)


def _set_verbosity(value: int) -> Callable[[click.Context, click.Parameter, bool], None]:
    def keep(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
        if is_given:
            ctx.meta[VERBOSITY] = value

    return keep


def shared_options(*, hidden: bool = False) -> list[click.Option]:
    """Return the options, for the help of `runtrue` itself or hidden in that of a command."""
    common: dict[str, Any] = {"expose_value": False, "is_eager": True, "hidden": hidden}
    return [
        click.Option(
            ["-C", "directory_to_work_in"],
            metavar="DIR",
            callback=_change_directory,
            help="Work in this directory, as if started there.",
            **common,
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            callback=_set_verbosity(-1),
            help="Show no progress: only results, questions and errors.",
            **common,
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            callback=_set_verbosity(1),
            help="Show each recorded event of a run, and where an internal error comes from.",
            **common,
        ),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            callback=_set_color,
            help="Use colours. [default: auto; NO_COLOR turns them off]",
            **common,
        ),
    ]


def add_shared_options(command: click.Command) -> None:
    """Let a command, and those below it, take these options after its own name, too."""
    if command.context_settings.get("ignore_unknown_options"):
        return  # its words belong to another program
    if not any(parameter.name == "directory_to_work_in" for parameter in command.params):
        taken = {name for parameter in command.params for name in parameter.opts}
        new = [one for one in shared_options(hidden=True) if taken.isdisjoint(one.opts)]
        command.params = [*command.params, *new]
    if isinstance(command, click.Group):
        for below in command.commands.values():
            add_shared_options(below)
