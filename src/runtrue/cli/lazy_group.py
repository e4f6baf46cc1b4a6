"""Groups of commands: found by name when they are used, listed by job, with their older names."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import click

from runtrue.cli.console import echo
from runtrue.cli.shared_options import add_shared_options


class CommandGroup(click.Group):
    """A group whose list of commands says all of what each one does."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by job, with their whole first sentences."""
        for job, names in self.jobs(ctx).items():
            with formatter.section(job):
                formatter.write_dl([(name, self.about(ctx, name)) for name in names])

    def jobs(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the headings of the list, each with its commands."""
        return {"Commands": self.list_commands(ctx)}

    def about(self, ctx: click.Context, name: str) -> str:
        """Return what a command does, in a sentence."""
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(1000)


class LazyGroup(CommandGroup):
    """A group that imports a command's module when the command is used."""

    def __init__(
        self,
        *args: Any,
        paths: Mapping[str, str],
        helps: Mapping[str, str] | None = None,
        older: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        """Make a group of the commands at `paths`, each `module:name`.

        `helps` is what the list says of them, so it need import none. `older` are names that
        still work, each with the command line that replaces it.
        """
        super().__init__(*args, **settings)
        self.paths = paths
        self.helps = helps
        self.older = older or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names that are not older ones, in the order of the table."""
        return [name for name in self.paths if name not in self.older]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in self.paths:
            return None
        module, _, name = self.paths[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        add_shared_options(command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest the nearest name for one that does not exist; say what replaced an older one."""
        name = args[0] if args else ""
        if name in self.older and not ctx.resilient_parsing:
            old = f"{ctx.command_path} {name}"
            echo(f"runtrue: `{old}` is now `runtrue {self.older[name]}`", err=True)
        elif name and name not in self.paths and not name.startswith("-"):
            import difflib

            known = self.list_commands(ctx)
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"choose from {', '.join(known)}."
            where = "" if ctx.parent is None else f" in `{ctx.command_path}`"
            ctx.fail(f"there is no command '{name}'{where}; {hint}")
        return super().resolve_command(ctx, args)

    def about(self, ctx: click.Context, name: str) -> str:
        """Return what the table of helps says, without importing the command."""
        return super().about(ctx, name) if self.helps is None else self.helps[name]
