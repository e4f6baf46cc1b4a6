"""The `runtrue` command: finds the command that was asked for, and turns errors into sentences."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from runtrue import __version__
from runtrue.cli.console import (
    echo,
    echo_json,
    give_up,
    open_closed_streams,
    show_usage_error,
)
from runtrue.errors import InvalidWorkflow, RuntrueError

#: Every command: where it lives and what it does, so that `--help` need import none of them.
COMMANDS = {
    "do": (
        "runtrue.cli.do:do",
        "Do a task: plan a workflow, run it, fix what it got wrong, and offer to save it.",
    ),
    "fix": ("runtrue.cli.fix:fix", "Make a project's checks pass, and show the diff that does it."),
    "code": (
        "runtrue.cli.code:code",
        "Write code and its tests, proven by running them before they are handed over.",
    ),
    "gate": (
        "runtrue.cli.gate:gate",
        "Judge a change before it is handed over: it is tested, and its tests pass.",
    ),
    "plan": (
        "runtrue.cli.plan:plan",
        "Carry out an instruction step by step, validated, and apply it when it holds.",
    ),
    "run": ("runtrue.cli.run:run", "Run a saved workflow, or one from a file."),
    "workflow": (
        "runtrue.cli.workflow:workflow",
        "Check, save, list, show, edit, compare, heal and delete workflows.",
    ),
    "heal": (
        "runtrue.cli.workflow:heal",
        "Propose a new version of a saved workflow that no longer finds what it reads.",
    ),
    "check": (
        "runtrue.cli.workflows:check",
        "Find everything that is wrong with a workflow, without running it.",
    ),
    "save": (
        "runtrue.cli.workflows:save",
        "Save a workflow under a name, after checking it: a file, or what a task came to.",
    ),
    "list": ("runtrue.cli.workflows:list_workflows", "List the saved workflows."),
    "show": ("runtrue.cli.workflows:show", "Show what a workflow asks for, does and gives."),
    "history": (
        "runtrue.cli.workflows:history",
        "List the latest runs of a workflow, newest first.",
    ),
    "delete": ("runtrue.cli.workflows:delete", "Delete a saved workflow."),
    "node": ("runtrue.cli.node:node", "List, show and try the types of nodes."),
    "api": (
        "runtrue.cli.api:api",
        "Add, list and look into APIs: each operation becomes a node type.",
    ),
    "mcp": (
        "runtrue.cli.mcp:mcp",
        "Add, list and look into MCP servers, and serve runtrue as one.",
    ),
    "trust": (
        "runtrue.cli.trust:trust",
        "Say yes to what a project brings along: servers, weaker isolation, agents, hosts.",
    ),
    "secret": (
        "runtrue.cli.secret:secret",
        "Keep, list and delete secrets: tokens, keys and passwords.",
    ),
    "memory": (
        "runtrue.cli.memory:memory",
        "List, search, show, export and forget what runs have learnt.",
    ),
    "runs": ("runtrue.cli.runs:runs", "List, show, apply, resume and cancel runs of every kind."),
    "receipt": (
        "runtrue.cli.receipt:receipt",
        "Show, verify and sign receipts: the evidence that a tree passed.",
    ),
    "metrics": (
        "runtrue.cli.metrics:metrics",
        "Show six metrics over the runs so far, against their targets.",
    ),
    "init": (
        "runtrue.cli.init:init",
        "Write the checks that were found to runtrue.toml, each with the reason for it.",
    ),
    "doctor": ("runtrue.cli.doctor:doctor", "Tell what is available here and what is not."),
    "hooks": (
        "runtrue.cli.hook_commands:hooks",
        "Have coding agents, git and pre-commit call `runtrue gate` by themselves.",
    ),
    "database": (
        "runtrue.cli.database:database",
        "Check and migrate the PostgreSQL database that many machines share.",
    ),
    "worker": (
        "runtrue.cli.worker:worker",
        "Drive runs of a queue on this machine, and show who does.",
    ),
    "completion": ("runtrue.cli.completion:completion", "Print the completion script of a shell."),
}

#: Older names: they work, and `runtrue workflow` has them now.
OLDER = frozenset({"check", "save", "list", "show", "history", "delete"})

INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest the nearest name for one that does not exist."""
        if args and " " in args[0].strip() and args[0] not in COMMANDS:
            # More than a word is no command but a task.
            return super().resolve_command(ctx, ["do", *args])
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(COMMANDS)}."
            ctx.fail(f"there is no command '{args[0]}'; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands out of the table."""
        with formatter.section("Commands"):
            shown = {name: text for name, (_, text) in COMMANDS.items() if name not in OLDER}
            formatter.write_dl(list(shown.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", "-V", message="runtrue %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Runs what a generator made before anyone relies on it, and repairs it until it runs true.

    \b
    Examples:
      runtrue do "fetch URL and extract name and email"
      runtrue fix                      make this project's checks pass, then show the diff
      runtrue fix --apply              the same, and apply the diff
      runtrue fix --check "pytest -q"  with this check only
      runtrue run weather city=Oslo    run a workflow, saved or from a file
      runtrue runs show                what happened in the latest run
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False
    if not ctx.resilient_parsing:
        _close_home()


def _close_home() -> None:
    """Close the home to others, and say so; say which nearer one does not count."""
    from runtrue.home import Home

    try:
        home = Home.find(Path.cwd())
    except (RuntrueError, OSError):
        return  # a command that needs it says what is wrong
    for sentence in home.passed_over:
        echo(f"runtrue: {sentence}", err=True)
    if home.path in home.close_to_others():
        echo(f"runtrue: others could look into {home.path}; now only you can (mode 0700)", err=True)


def main() -> None:
    """Run the command line. No traceback reaches the user."""
    # Of code that is only read, or of edits that are only tried; the user's Python says its own.
    warnings.simplefilter("ignore", SyntaxWarning)
    open_closed_streams()
    try:
        sys.exit(cli.main(standalone_mode=False, prog_name="runtrue") or 0)
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        show_usage_error(error)
        _say_as_json(error.format_message())
        sys.exit(error.exit_code)
    except InvalidWorkflow as error:
        from runtrue.cli.show import problem_as_finding

        _say(str(error), [problem_as_finding(error.name, problem) for problem in error.problems])
        sys.exit(error.exit_code)
    except RuntrueError as error:
        _say(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away, as `head` does; there is nobody left to tell.
        give_up(sys.stdout)
        sys.exit(1)
    except OSError as error:
        give_up(sys.stdout)
        place = f"{error.filename}: " if error.filename else ""
        echo(f"runtrue: operating system error: {place}{error.strerror}", err=True)
        sys.exit(1)
    except Exception as error:
        if os.environ.get("RUNTRUE_DEBUG"):
            raise
        _say(
            f"internal error: {type(error).__name__}: {error}; this is a bug in runtrue, "
            "RUNTRUE_DEBUG=1 shows where"
        )
        sys.exit(1)


def _say(message: str, findings: Sequence[dict[str, Any]] = ()) -> None:
    echo(f"runtrue: {message}", err=True)
    _say_as_json(message, findings)


def _say_as_json(message: str, findings: Sequence[dict[str, Any]] = ()) -> None:
    """With `--json`, there is one document on stdout even when nothing could be run."""
    if "--json" in sys.argv[1:]:
        import json

        document = {"status": "failed", "run_id": None, "attempts": [], "findings": list(findings)}
        echo_json(json.dumps({**document, "error": message}))
