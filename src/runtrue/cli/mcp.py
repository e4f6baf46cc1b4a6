"""`runtrue mcp`: the MCP servers whose tools workflows can use, and runtrue as one itself."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.run import pairs
from runtrue.cli.show import print_json
from runtrue.cli.trust import trusted_registry
from runtrue.errors import HostError, UsageError
from runtrue.home import Home
from runtrue.workflow import (
    Catalog,
    HttpServer,
    Registry,
    StdioServer,
    ToolError,
    ToolInfo,
    add_server,
    must_be_free,
    remove_server,
)


def _complete_server(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in Registry.here(only_looks=True).servers if name.startswith(incomplete)]


_server = click.argument("server", metavar="SERVER", shell_complete=_complete_server)


@click.group(cls=CommandGroup)
def mcp() -> None:
    """Add and inspect MCP servers, or serve runtrue as one.

    Servers are read from mcp.json in runtrue's home and from the nearest .mcp.json, both in the
    usual form: {"mcpServers": {"time": {"command": "mcp-server-time"}}}. Those of a .mcp.json are
    started after `runtrue trust`, and confined: "network": ["host:port"], "read" and "write" in an
    entry say what its server reaches beyond the project.
    """


@mcp.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("command", nargs=-1, metavar="URL | COMMAND [ARG]...", type=click.UNPROCESSED)
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable for the command.")
@click.option("--header", multiple=True, metavar="NAME=VALUE", help="A header, with a URL.")
@click.option("--force", is_flag=True, help="Replace an existing server of that name.")
@click.option("--unasked", is_flag=True, help="Add it without connecting to list its tools.")
@options.as_json
def add(
    name: str,
    command: tuple[str, ...],
    env: tuple[str, ...],
    header: tuple[str, ...],
    force: bool,
    unasked: bool,
    as_json: bool,
) -> int:
    """Ask a server for its tools, and add it.

    A server that does not answer is not added, unless you pass --unasked. A server that you add is
    trusted: it runs as you, with your network, and is not confined.

    Write secrets as ${NAME}: they are read from the environment when the server is started.

    \b
    Examples:
      runtrue mcp add time mcp-server-time
      runtrue mcp add files npx -y @modelcontextprotocol/server-filesystem .
      runtrue mcp add docs https://example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'
    """
    if not command:
        raise UsageError(f"say how to reach {name!r}: a URL, or a command with its arguments")
    server: StdioServer | HttpServer
    if command[0].startswith(("http://", "https://")):
        if len(command) > 1 or env:
            raise UsageError("a server with a URL takes --header, not arguments or --env")
        server = HttpServer(name=name, url=command[0], headers=pairs(header, "header"))
    else:
        if header:
            raise UsageError("a server with a command takes --env, not --header")
        variables = pairs(env, "variable")
        server = StdioServer(name=name, command=command[0], args=command[1:], env=variables)
    home = Home.find(Path.cwd())
    if unasked:
        path = add_server(home, name, server, replace=force)
        count = None
    else:
        path = must_be_free(home, name, replace=force)
        echo(f"connecting to {name}", err=True)
        count = len(_asked(Catalog(home, {name: replace(server, source=path)}), name))
        add_server(home, name, server, replace=force)
    if as_json:
        print_json({"status": "passed", "server": name, "path": str(path), "tools": count})
    elif count is None:
        echo(f"added {name} to {path}; `runtrue mcp tools {name}` asks it for its tools")
    else:
        echo(f"{name} has {count} tools: `runtrue mcp tools {name}` shows them")
    return 0


@mcp.command()
@_server
@options.as_json
def remove(server: str, as_json: bool) -> int:
    """Remove a server from runtrue's home."""
    path = remove_server(Home.find(Path.cwd()), server)
    if as_json:
        print_json({"status": "passed", "server": server, "path": str(path)})
    else:
        echo(f"removed {server} from {path}")
    return 0


@mcp.command("list")
@options.as_json
def list_servers(as_json: bool) -> int:
    """List the configured servers and how to reach each."""
    servers = Registry.here(only_looks=True).servers
    if as_json:
        print_json({"servers": [_as_data(server) for server in servers.values()]})
    elif not servers:
        echo("no MCP servers; add one with `runtrue mcp add NAME COMMAND`")
    else:
        width = max(map(len, servers))
        for name, server in servers.items():
            note = "  (not trusted: `runtrue trust` asks)" if server.origin == "untrusted" else ""
            echo(f"{name:<{width}}  {_reached(server)}{note}")
    return 0


@mcp.command()
@_server
@options.as_json
def tools(server: str, as_json: bool) -> int:
    """List the tools of a server, by asking it now.

    \b
    Examples:
      runtrue mcp tools time
      runtrue node show mcp-time-get_current_time
    """
    found = _asked(trusted_registry(Home.find(Path.cwd()), [f"mcp-{server}-"]).catalog, server)
    if as_json:
        print_json(
            {
                "server": server,
                "tools": [
                    {
                        "name": tool.name,
                        "type": f"mcp-{server}-{tool.name}",
                        "description": tool.description,
                        "input_schema": tool.input_schema,
                        "output_schema": tool.output_schema,
                    }
                    for tool in found.values()
                ],
            }
        )
        return 0
    width = max((len(name) for name in found), default=0) + len(f"mcp-{server}-")
    for tool in found.values():
        about = tool.description.strip().partition("\n")[0]
        echo(f"{f'mcp-{server}-{tool.name}':<{width}}  {about}".rstrip())
    return 0


@mcp.command()
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    help="A directory that projects may be in. Can be repeated. [default: the current one]",
)
@click.option("--workflows", is_flag=True, help="Publish each saved workflow as a tool of its own.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP on loopback instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: the address.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8321,
    show_default=True,
    help="With --http: the port.",
)
def serve(roots: tuple[Path, ...], workflows: bool, http: bool, host: str, port: int) -> int:
    """Serve runtrue's commands as MCP tools for agents and editors.

    The tools are gate, fix, do, run_workflow, plan, runs_show, answer and memory_search. They work
    in the directories named by --root. Questions to a person go through the client.

    With --http, every request needs the token in RUNTRUE_MCP_TOKEN; without that variable, runtrue
    generates one and prints it once.

    \b
    Examples:
      claude mcp add runtrue -- runtrue mcp serve
      runtrue mcp serve --root ~/work --workflows
      runtrue mcp serve --http --port 8321
    """
    import asyncio
    import os
    import secrets

    from runtrue.cli.hooks.hook_change import own_program
    from runtrue.cli.schema import report_schemas
    from runtrue.mcp_server import Service, serve_http, serve_stdio

    service = Service(
        program=tuple(own_program()),
        roots=roots or (Path.cwd().resolve(),),
        schemas=report_schemas(),
        workflows=workflows,
    )
    if not http:
        asyncio.run(serve_stdio(service))
        return 0
    token = os.environ.get("RUNTRUE_MCP_TOKEN")
    if not token:
        token = secrets.token_urlsafe(32)
        echo(f"token (shown once): {token}", err=True)
    echo(f"serving MCP on http://{host}:{port}/mcp; stop with Ctrl-C", err=True)
    asyncio.run(serve_http(service, host=host, port=port, token=token))
    return 0


def _asked(catalog: Catalog, server: str) -> dict[str, ToolInfo]:
    try:
        return catalog.refresh(server)
    except ToolError as error:
        wrong = ("unknown_server", "untrusted")
        raise (UsageError if error.category in wrong else HostError)(error.message) from error


def _reached(server: StdioServer | HttpServer) -> str:
    if isinstance(server, HttpServer):
        return server.url
    return shlex.join([server.command, *server.args])


def _as_data(server: StdioServer | HttpServer) -> dict[str, Any]:
    """Return a server's data, with the names of its variables and headers, not their values."""
    data: dict[str, Any] = {"name": server.name, "source": str(server.source)}
    data["trusted"] = server.origin != "untrusted"
    if isinstance(server, HttpServer):
        return {**data, "url": server.url, "headers": sorted(server.headers)}
    return {**data, "command": server.command, "args": server.args, "env": sorted(server.env)}
