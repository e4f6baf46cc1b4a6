"""`runtrue completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from runtrue.cli.console import echo

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the completion script of a shell.

    \b
    Examples:
      eval "$(runtrue completion bash)"                          in ~/.bashrc
      eval "$(runtrue completion zsh)"                           in ~/.zshrc
      runtrue completion fish > ~/.config/fish/completions/runtrue.fish
    """
    from runtrue.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101  # the choices are those that click has
    echo(kind(cli, {}, "runtrue", "_RUNTRUE_COMPLETE").source())
    return 0
