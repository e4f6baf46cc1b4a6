"""The `runtrue` command: finds the command that was asked for, and turns errors into sentences."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
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
from runtrue.cli.lazy_group import LazyGroup
from runtrue.cli.shared_options import shared_options
from runtrue.errors import InvalidWorkflow, RuntrueError

#: Every command: where it lives and what it does, so that `--help` need import none of them.
COMMANDS = {
    "fix": ("runtrue.cli.fix:fix", "Make failing checks pass; the result is a diff to apply."),
    "code": (
        "runtrue.cli.code:code",
        "Generate code with its tests, and hand it over once they pass.",
    ),
    "gate": (
        "runtrue.cli.gate:gate",
        "Block a change until it is tested and its tests pass: for agents, commits and CI.",
    ),
    "plan": (
        "runtrue.cli.plan:plan",
        "Carry out an instruction step by step, validate it, and apply it once it passes.",
    ),
    "do": (
        "runtrue.cli.do:do",
        "Turn a task in plain words into a workflow, run it, fix it, and offer to save it.",
    ),
    "run": ("runtrue.cli.run:run", "Run a workflow, saved or from a file."),
    "workflow": (
        "runtrue.cli.workflow:workflow",
        "Check, save, list, show, edit, compare, heal and delete workflows.",
    ),
    "api": (
        "runtrue.cli.api:api",
        "Add an OpenAPI document: each operation becomes a node type.",
    ),
    "mcp": (
        "runtrue.cli.mcp:mcp",
        "Add and inspect MCP servers, or serve runtrue as one.",
    ),
    "node": ("runtrue.cli.node:node", "List, show and try node types."),
    "runs": ("runtrue.cli.runs:runs", "List, show, apply, resume and cancel runs of every kind."),
    "memory": (
        "runtrue.cli.memory:memory",
        "List, search, show, export and forget the fixes that runs have learnt.",
    ),
    "metrics": (
        "runtrue.cli.metrics:metrics",
        "Show six metrics over all runs, against their targets.",
    ),
    "receipt": (
        "runtrue.cli.receipt:receipt",
        "Show, verify and sign receipts: the evidence that a tree passed.",
    ),
    "ui": (
        "runtrue.cli.ui:ui",
        "Show runs, questions, workflows and metrics in a browser.",
    ),
    "init": (
        "runtrue.cli.init:init",
        "Find the project's checks and write them to runtrue.toml.",
    ),
    "demo": (
        "runtrue.cli.demo:demo",
        "Show the main commands at work, in a temporary directory.",
    ),
    "doctor": ("runtrue.cli.doctor:doctor", "Show what is available here and what is missing."),
    "config": (
        "runtrue.cli.config:config",
        "Show the configuration that applies here, and its JSON Schemas.",
    ),
    "secret": (
        "runtrue.cli.secret:secret",
        "Store, list and delete secrets: tokens, keys and passwords.",
    ),
    "trust": (
        "runtrue.cli.trust:trust",
        "Agree to what a project brings along: servers, weaker isolation, agents, hosts.",
    ),
    "hooks": (
        "runtrue.cli.hook_commands:hooks",
        "Make coding agents, git and pre-commit call `runtrue gate`.",
    ),
    "schedule": (
        "runtrue.cli.schedule:schedule",
        "Run workflows on a schedule.",
    ),
    "worker": (
        "runtrue.cli.worker:worker",
        "Run what is queued on a shared database, until SIGTERM or SIGINT.",
    ),
    "database": (
        "runtrue.cli.database:database",
        "Check and migrate the PostgreSQL database that many machines share.",
    ),
    "completion": (
        "runtrue.cli.completion:completion",
        "Print the completion script of a shell.",
    ),
    "heal": (
        "runtrue.cli.workflow:heal",
        "Propose a new version of a saved workflow whose API has changed.",
    ),
    "check": (
        "runtrue.cli.workflows:check",
        "Report every problem in a workflow, without running it.",
    ),
    "save": (
        "runtrue.cli.workflows:save",
        "Check a workflow and save it under a name: a file, or the result of a task.",
    ),
    "list": ("runtrue.cli.workflows:list_workflows", "List the saved workflows."),
    "show": ("runtrue.cli.workflows:show", "Show a workflow's inputs, nodes, outputs and effects."),
    "history": (
        "runtrue.cli.workflows:history",
        "List the latest runs of a workflow, newest first.",
    ),
    "delete": ("runtrue.cli.workflows:delete", "Delete a saved workflow."),
}

#: The headings of `runtrue --help`, each with its commands. A new command goes here, too.
JOBS = {
    "Prove code": ("fix", "code", "gate", "plan"),
    "Automate": ("do", "run", "workflow", "schedule", "api", "mcp", "node"),
    "Look": ("runs", "ui", "memory", "metrics", "receipt"),
    "Set up": (
        "init",
        "demo",
        "doctor",
        "config",
        "secret",
        "trust",
        "hooks",
        "completion",
        "worker",
        "database",
    ),
}

#: Older names, which still work, each with its successor.
OLDER = {
    "heal": "workflow heal",
    "check": "workflow check",
    "save": "workflow save",
    "list": "workflow list",
    "show": "workflow show",
    "history": "runs list --workflow NAME",
    "delete": "workflow delete",
}

INTERRUPTED = 130


class _Commands(LazyGroup):
    def jobs(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        return JOBS

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and " " in args[0].strip() and args[0] not in COMMANDS:
            # More than a word is no command but a task.
            args = ["do", *args]
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands,
    paths={name: path for name, (path, _) in COMMANDS.items()},
    helps={name: text for name, (_, text) in COMMANDS.items()},
    older=OLDER,
    params=shared_options(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "--version", "-V", message="runtrue %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run AI-written code and workflows in a sandbox, fix what fails, and get only what passes.

    \b
    Examples:
      runtrue fix                          fix failing checks, show the diff
      runtrue fix --apply                  the same, and apply the diff
      runtrue hooks install claude-code    gate every change of the agent
      runtrue do "fetch URL and extract name and email"
      runtrue run weather city=Oslo        run a workflow, saved or from a file
      runtrue runs show                    what happened in the latest run

    New here? `runtrue demo` shows it at work, and `runtrue init` sets up a project.
    """
    if ctx.color is None and (os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"):
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
        echo(f"runtrue: closed {home.path} to other users (mode 0700)", err=True)


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
        if os.environ.get("RUNTRUE_DEBUG") or {"-v", "--verbose"} & set(sys.argv[1:]):
            raise
        _say(
            f"internal error: {type(error).__name__}: {error}; this is a bug in runtrue, "
            "`-v` shows where"
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
