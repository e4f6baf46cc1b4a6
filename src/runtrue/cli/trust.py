"""`runtrue trust`: a person's agreement to what a project brings along."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.console import confirm, echo
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.show import counted, is_terminal, print_json
from runtrue.config import find_config, grants_of
from runtrue.errors import UsageError
from runtrue.foreign_text import visible_name
from runtrue.home import Home, pending_home
from runtrue.memory import sharing_request
from runtrue.trust import Agreement, Agreements, TrustRequest, adopt_home, home_request
from runtrue.workflow import HttpServer, Registry, StdioServer, servers_request, untrusted

#: The tables of the configuration that workflows read.
OF_WORKFLOWS = ("isolation", "model")
_WAITING = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What a file of a project asks for, whether it is trusted, and what changed since it was."""

    request: TrustRequest
    is_trusted: bool
    changes: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: TrustRequest) -> Asked:
        """Look up whether the user agreed to it."""
        agreements = Agreements.of_user()
        if agreements.covers(request):
            return cls(request, True)
        latest = agreements.latest(request.path)
        return cls(request, False, tuple(latest.changes(request)) if latest else ())


def requests_of(project: Path, *, servers: bool = True) -> list[Asked]:
    """Return all that the files of a project ask a person for."""
    found = [find_config(project).request, servers_request(project) if servers else None]
    asked = [Asked.of(request) for request in found if request is not None]
    if (home := pending_home(project)) is not None:
        asked.append(Asked(home_request(home), False))
    return asked


def confirm_trust(
    project: Path,
    *,
    sections: tuple[str, ...] | None = None,
    servers: bool = False,
    may_ask: bool = True,
) -> None:
    """Ask for what a project brings along and nobody agreed to yet, and say what is left out.

    `sections` are the tables of the configuration that the command reads; None is all of them.
    Without a terminal, or with `may_ask` False, nobody is asked, and the command goes on without:
    every default is stricter than what was asked for.
    """
    found = find_config(project)
    for sentence in found.passed_over:
        echo(f"runtrue: {sentence}", err=True)
    if found.undone:
        undone = "; ".join(map(visible_name, found.undone))
        echo(f"runtrue: ignored, because you require more isolation: {undone}", err=True)
    pending = [one for one in requests_of(project, servers=servers) if not one.is_trusted]
    if found.request is not None and not grants_of(found.written, sections):
        pending = [one for one in pending if one.request != found.request]
    if not pending:
        return
    if may_ask and is_terminal():
        _show(pending, err=True)
        if _confirmed():
            _agree(pending)
            return
    for one in pending:
        echo(f"runtrue: {_left_out(one, project)}", err=True)


def trusted_registry(home: Home, types: Iterable[object], *, may_ask: bool = True) -> Registry:
    """Return the node types for a workflow of these types, after asking for what it would start.

    Raises UsageError if it needs a server that nobody agreed to.
    """
    needed = [name for name in types if isinstance(name, str)]
    directory = Path.cwd()
    can_ask = may_ask and is_terminal()
    waiting = _untrusted(Registry(home, directory), needed)
    confirm_trust(
        directory, sections=OF_WORKFLOWS, servers=can_ask and bool(waiting), may_ask=may_ask
    )
    registry = Registry(home, directory)
    for server in _untrusted(registry, needed) if waiting else ():
        request = servers_request(directory)
        changes = Asked.of(request).changes if request is not None else ()
        changed = f"; changed since you trusted it: {_listed(changes)}" if changes else ""
        raise UsageError(f"{untrusted(server).message}{changed}")
    return registry


def _untrusted(registry: Registry, types: list[str]) -> list[StdioServer | HttpServer]:
    """Return the servers of node types that nobody agreed to."""
    named = [name for name in types if name.startswith("mcp-")]
    found = [registry.servers[s] for name in named for s, _ in registry.catalog.split(name)[:1]]
    return [server for server in found if server.origin == "untrusted"]


def unasked(server: StdioServer | HttpServer) -> str:
    """Return why the tools of a server are not known, and how to know them."""
    name = server.name
    if server.origin == "untrusted":
        return (
            f"server {name!r} of {server.source} is not trusted, so it was not asked for its "
            "tools; `runtrue trust` shows what it would do and asks"
        )
    return f"the tools of {name} are not known yet; `runtrue mcp tools {name}` asks it"


def _left_out(asked: Asked, project: Path) -> str:
    what = "; ".join(map(visible_name, asked.request.items))
    changed = f" (changed since you trusted it: {_listed(asked.changes)})" if asked.changes else ""
    return (
        f"{asked.request.path} is not trusted{changed}; ignored: {what}. "
        f"`runtrue trust {project}` asks"
    )


def _listed(changes: tuple[str, ...]) -> str:
    return "; ".join(map(visible_name, changes))


class _DefaultGroup(CommandGroup):
    """A group whose first word may be a path: then `add` is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `add` before what is no command of the group."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["add", *args]
        return super().parse_args(ctx, args)


_path = click.argument("path", default=".", type=click.Path(path_type=Path))


@click.group(cls=_DefaultGroup)
def trust() -> None:
    """Agree to what a project brings along: servers, weaker isolation, agents, hosts.

    A project's .mcp.json, and whatever its runtrue.toml or [tool.runtrue] asks for beyond checks
    and restrictions, has no effect until you agree. The agreement covers the file as it is now; if
    the file changes, runtrue asks again.

    \b
    Examples:
      runtrue trust                  show what this project asks for, and ask
      runtrue trust ../clone --yes   agree without being asked, for scripts
      runtrue trust --share          share the fixes applied here with your team
      runtrue trust list
      runtrue trust revoke ../clone
    """


@trust.command(hidden=True)
@_path
@click.option(
    "--share",
    is_flag=True,
    help="Let everyone on your shared database use the fixes that you apply here.",
)
@click.option("--yes", is_flag=True, help="Agree without being asked.")
@options.as_json
def add(path: Path, share: bool, yes: bool, as_json: bool) -> int:
    """Show what a project asks for, item by item, and ask whether to trust it.

    \b
    Exit codes: 0 trusted, or nothing to trust; 2 bad input, 3 nobody to ask.

    \b
    Examples:
      runtrue trust
      runtrue trust ../clone --yes --json
    """
    project = _project(path)
    asked = requests_of(project)
    if share:
        asked.append(Asked.of(sharing_request(project)))
    pending = [one for one in asked if not one.is_trusted]
    if not as_json:
        _show(asked, err=False)
        if not asked:
            echo(f"{project} needs no agreement from you")
    agreed = bool(pending) and (yes or (is_terminal() and _confirmed()))
    if agreed:
        _agree(pending)
    is_trusted = agreed or not pending
    if as_json:
        files = [_as_data(one, agreed=agreed) for one in asked]
        status = "passed" if is_trusted else "waiting"
        print_json({"status": status, "project": str(project), "files": files})
    elif agreed:
        echo(f"trusted {counted(len(pending), 'item')} of {project}")
    elif pending:
        echo("not trusted; agree with `runtrue trust --yes`", err=True)
    return 0 if is_trusted else _WAITING


@trust.command("list")
@options.as_json
def list_agreements(as_json: bool) -> int:
    """List what you agreed to, and what has changed since.

    \b
    Examples:
      runtrue trust list
      runtrue trust list --json
    """
    latest = {one.path: one for one in Agreements.of_user().all()}
    if as_json:
        print_json({"agreements": [_agreement_data(one) for one in latest.values()]})
        return 0
    if not latest:
        echo("nothing is trusted; `runtrue trust` shows what a project asks for")
    for path, agreement in latest.items():
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(agreement.agreed_at))
        echo(f"{path}  {when}")
        for item in agreement.items:
            echo(f"  {visible_name(item)}")
    return 0


def _complete_agreed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    paths = dict.fromkeys(one.path for one in Agreements.of_user().all())
    return [path for path in paths if path.startswith(incomplete)]


@trust.command()
@click.argument(
    "path", default=".", type=click.Path(path_type=Path), shell_complete=_complete_agreed
)
@options.as_json
def revoke(path: Path, as_json: bool) -> int:
    """Withdraw your agreement to a file, or to all files of a project.

    \b
    Examples:
      runtrue trust revoke
      runtrue trust revoke ../clone/.mcp.json
    """
    revoked = sorted({one.path for one in Agreements.of_user().revoke(path.resolve())})
    if as_json:
        print_json({"status": "passed", "revoked": revoked})
        return 0
    for one in revoked:
        echo(f"no longer trusted: {one}")
    if not revoked:
        echo(f"nothing in {path} was trusted; `runtrue trust list` shows what is")
    return 0


def _project(path: Path) -> Path:
    if not path.exists():
        raise UsageError(f"{path} does not exist; give a project, or one of its files")
    path = path.resolve()
    return path if path.is_dir() else path.parent


def _confirmed() -> bool:
    return confirm("Trust this as it is now?")


def _show(asked: list[Asked], *, err: bool) -> None:
    for one in asked:
        state = "trusted" if one.is_trusted else "changed" if one.changes else "not trusted"
        echo(f"{one.request.path} ({state})", err=err)
        for item in one.request.items:
            echo(f"  {visible_name(item)}", err=err)
        for change in one.changes:
            echo(f"  since you trusted it, {visible_name(change)}", err=err)


def _agree(asked: list[Asked]) -> None:
    homes = [one.request.path for one in asked if one.request.path.name == ".runtrue"]
    for home in homes:
        adopt_home(home)
    Agreements.of_user().add(*(one.request for one in asked if one.request.path not in homes))


def _as_data(asked: Asked, *, agreed: bool) -> dict[str, Any]:
    return {
        "path": str(asked.request.path),
        "digest": asked.request.digest,
        "trusted": asked.is_trusted or agreed,
        "items": list(asked.request.items),
        "changes": list(asked.changes),
    }


def _agreement_data(agreement: Agreement) -> dict[str, Any]:
    return {
        "path": agreement.path,
        "digest": agreement.digest,
        "agreed_at": agreement.agreed_at,
        "items": list(agreement.items),
    }
