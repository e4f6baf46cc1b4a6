"""`runtrue hooks`: have agents, git and pre-commit call the gate by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from runtrue.cli import options
from runtrue.cli.console import Styled, echo, print_table
from runtrue.cli.hooks import HOOKS, read_firings
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.project import find_project
from runtrue.cli.show import ago, print_json
from runtrue.errors import RuntrueError
from runtrue.home import Home

_PATH = click.argument(
    "path", required=False, type=click.Path(path_type=Path, readable=False), default=None
)
_HOST = click.argument("host", type=click.Choice(list(HOOKS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HookStatus:
    """A hook of a project: whether it is installed, and what it has done so far."""

    host: str
    installed: bool
    file: str | None
    fired: int
    blocked: int
    #: When it last fired, in seconds since 1970.
    last: float | None
    #: Why its file cannot be read.
    trouble: str | None = None

    @property
    def text(self) -> str:
        """Say for people when it fired."""
        if self.trouble:
            return self.trouble
        if self.last is None:
            return "never fired" if self.installed else ""
        return f"last fired {ago(self.last)}, blocked {self.blocked}"


@click.group(cls=CommandGroup)
def hooks() -> None:
    """Make coding agents, git and pre-commit call `runtrue gate`.

    \b
    Examples:
      runtrue hooks install claude-code   gate every change of the agent
      runtrue hooks install git           gate every commit
      runtrue hooks status                what is installed, and when it last fired
      runtrue hooks uninstall git         remove the hook
    """


@hooks.command()
@_HOST
@_PATH
@options.as_json
def install(host: str, path: Path | None, as_json: bool) -> int:
    """Install the hook that makes HOST call the gate in the project at PATH."""
    return arrange(find_project(path or Path()), host, remove=False, as_json=as_json)


@hooks.command()
@_HOST
@_PATH
@options.as_json
def uninstall(host: str, path: Path | None, as_json: bool) -> int:
    """Remove the hook; the rest of the file stays unchanged."""
    return arrange(find_project(path or Path()), host, remove=True, as_json=as_json)


@hooks.command()
@click.argument("path", required=False, type=click.Path(path_type=Path, readable=False))
@options.as_json
def status(path: Path | None, as_json: bool) -> int:
    """Show which hooks are installed, when each last fired and how often it blocked."""
    project = find_project(path or Path())
    found = list(statuses(project))
    if as_json:
        print_json({"status": "passed", "run_id": None, "hooks": [asdict(one) for one in found]})
        return 0
    print_table(
        ("hook", "state", ""),
        [
            (
                one.host,
                Styled("installed", "green") if one.installed else Styled("-", "bright_black"),
                one.text,
            )
            for one in found
        ],
    )
    if not any(one.installed or one.fired for one in found):
        echo("no hooks installed; add one with `runtrue hooks install HOST`", err=True)
    return 0


def arrange(project: Path, host: str, *, remove: bool, as_json: bool) -> int:
    """Install or remove a hook, and say what was done."""
    done = HOOKS[host].remove(project) if remove else HOOKS[host].install(project)
    if as_json:
        print_json({"status": "passed", "run_id": None, "changed": done.changed, "said": done.said})
    else:
        echo(done.said)
    return 0


def statuses(project: Path) -> Iterator[HookStatus]:
    """Yield the state of each hook in a project."""
    home = Home.find(project)
    for host, hook in HOOKS.items():
        file, trouble = None, None
        try:
            file = hook.installed(project)
        except RuntrueError as error:
            trouble = str(error)
        seen = read_firings(home, project, host)
        yield HookStatus(
            host=host,
            installed=file is not None,
            file=str(file) if file else None,
            fired=seen.fired,
            blocked=seen.blocked,
            last=seen.last,
            trouble=trouble,
        )
