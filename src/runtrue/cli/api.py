"""`runtrue api`: the APIs whose operations workflows can use, from their OpenAPI documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.show import counted, print_json
from runtrue.home import Home
from runtrue.workflow import Api, ApiStore, Registry, open_api, unknown_api

_SHOWN = 40


def _complete_api(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in Registry.here(only_looks=True).apis if name.startswith(incomplete)]


_api = click.argument("name", metavar="NAME", shell_complete=_complete_api)


@click.group(cls=CommandGroup)
def api() -> None:
    """Add an OpenAPI document: each operation becomes a node type.

    Swagger 2, OpenAPI 3.0 and 3.1 are read, from JSON or YAML. APIs are kept in runtrue's home; an
    OpenAPI file in a project does nothing until you add it.
    """


@api.command()
@click.argument("name", metavar="NAME")
@click.argument("source", metavar="FILE|URL")
@click.option(
    "--base-url", metavar="URL", default="", help="The server's URL; overrides the document's."
)
@click.option(
    "--auth",
    metavar="SCHEME",
    help="How to authenticate; overrides the document: bearer, basic, header:NAME, "
    "query:NAME or cookie:NAME.",
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="[SCHEME=]NAME",
    help="The secret to send: an environment variable, or one stored with `runtrue secret set`.",
)
@click.option("--force", is_flag=True, help="Replace an existing API of that name.")
@options.as_json
def add(
    name: str,
    source: str,
    base_url: str,
    auth: str | None,
    secrets: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> int:
    """Read an OpenAPI document, and make a node type of each operation.

    What you add yourself is trusted: plans may read from it without asking. The document says
    where requests go; addresses inside your network still have to be allowed.

    \b
    Examples:
      runtrue api add petstore https://petstore3.swagger.io/api/v3/openapi.json
      runtrue api add github api.github.com.json --auth bearer --secret GITHUB_TOKEN
      runtrue api add crm crm.yaml --base-url http://localhost:8080 --secret apiKey=CRM_KEY
    """
    home = Home.find(Path.cwd())
    store = ApiStore(home)
    store.must_be_free(name, replace=force)
    document, settings = open_api(name, source, base_url=base_url, auth=auth, secrets=secrets)
    added = store.add(name, settings, document)
    if as_json:
        print_json({"status": "passed", **_as_data(added)})
        return 0
    echo(
        f"{name} has {counted(len(added.entries), 'operation')}: `runtrue api show {name}` "
        "shows them"
    )
    if settings.secrets:
        names = ", ".join(dict.fromkeys(settings.secrets.values()))
        echo(f"it sends the secret {names}: `runtrue secret set` keeps one, or set the variable")
    return 0


@api.command("list")
@options.as_json
def list_apis(as_json: bool) -> int:
    """List the added APIs and their servers."""
    apis = Registry.here(only_looks=True).apis
    if as_json:
        print_json({"apis": [_as_data(one) for one in apis.values()]})
    elif not apis:
        echo("no APIs; add one with `runtrue api add NAME FILE|URL`")
    else:
        width = max(map(len, apis))
        for name, one in apis.items():
            count = counted(len(one.entries), "operation")
            echo(f"{name:<{width}}  {count} at {_server(one) or 'no server'}")
    return 0


@api.command()
@_api
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--all", "show_all", is_flag=True, help="Show all operations.")
@options.as_json
def show(name: str, words: tuple[str, ...], show_all: bool, as_json: bool) -> int:
    """Show the operations of an API; with words, the best matches.

    \b
    Examples:
      runtrue api show github create issue
      runtrue node show api-github-issues-create
    """
    from runtrue.workflow import nearest_operations

    apis = Registry.here(only_looks=True).apis
    if name not in apis:
        raise unknown_api(name, apis)
    found = list(apis[name].entries.values())
    if words:
        nearest = nearest_operations(" ".join(words), [apis[name]], 10, always=True)
        found = [entry for _, entry in nearest]
    shown = found if show_all or as_json else found[:_SHOWN]
    if as_json:
        operations = [
            {
                "type": f"api-{name}-{one.name}",
                "method": one.method.upper(),
                "path": one.path,
                "description": one.description,
            }
            for one in shown
        ]
        print_json({**_as_data(apis[name]), "operations": operations})
        return 0
    width = max((len(one.name) for one in shown), default=0) + len(f"api-{name}-")
    for one in shown:
        echo(f"{f'api-{name}-{one.name}':<{width}}  {one.description}".rstrip())
    if len(shown) < len(found):
        more = len(found) - len(shown)
        echo(f"and {more} more: add words to search for, or --all", err=True)
    return 0


@api.command()
@_api
@options.as_json
def remove(name: str, as_json: bool) -> int:
    """Remove an API from runtrue's home."""
    path = ApiStore(Home.find(Path.cwd())).remove(name)
    if as_json:
        print_json({"status": "passed", "api": name, "path": str(path)})
    else:
        echo(f"removed {name}")
    return 0


def _server(one: Api) -> str:
    return one.settings.base_url or one.base_url


def _as_data(one: Api) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "source": one.settings.source,
        "server": _server(one),
        "operation_count": len(one.entries),
        "secrets": dict(one.settings.secrets),
    }
