"""`runtrue node`: the steps that workflows are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.run import pairs
from runtrue.cli.runner import run_and_show
from runtrue.cli.show import print_json, print_part
from runtrue.cli.trust import trusted_registry, unasked
from runtrue.errors import UsageError
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.workflow import (
    Interface,
    Registry,
    Workflow,
    describe_type,
    prepare_inputs,
    start_workflow,
)


def _complete_type(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in Registry.here(only_looks=True).names() if name.startswith(incomplete)]


_type = click.argument("type", metavar="TYPE", shell_complete=_complete_type)


@click.group(cls=CommandGroup)
def node() -> None:
    """List, show and try node types."""


@node.command("list")
@options.as_json
def list_types(as_json: bool) -> int:
    """List all node types, including those of MCP servers and APIs."""
    registry = Registry.here(only_looks=True)
    names = registry.names()
    for server in registry.servers:
        if not any(name.startswith(f"mcp-{server}-") for name in names):
            echo(unasked(registry.servers[server]), err=True)
    if as_json:
        print_json({"nodes": [_as_data(interface) for interface in registry.interfaces()]})
        return 0
    width = max(map(len, names))
    for name, description in registry.descriptions().items():
        about = description.strip().partition("\n")[0]
        echo(f"{name:<{width}}  {about}".rstrip())
    return 0


@node.command()
@_type
@options.as_json
def show(type: str, as_json: bool) -> int:
    """Show the params and outputs of a node type.

    \b
    Examples:
      runtrue node show http
      runtrue node show mcp-time-get_current_time
    """
    interface = _interface(Registry.here(only_looks=True), type)
    if as_json:
        print_json(_as_data(interface))
        return 0
    echo(interface.type, bold=True)
    for line in interface.description.strip().splitlines():
        echo(f"  {line}".rstrip())
    print_part("params", [_param_line(interface, name) for name in interface.params])
    lines = [
        f"{name} ({output.type})" + (f": {output.description}" if output.description else "")
        for name, output in interface.outputs.items()
    ]
    if interface.open_outputs:
        lines.append("and any other field")
    print_part("outputs", lines)
    return 0


@node.command()
@_type
@click.argument("params", metavar="[KEY=VALUE]...", nargs=-1)
@options.as_json
def run(type: str, params: tuple[str, ...], as_json: bool) -> int:
    """Run a single node.

    Values are read by the type of the param; objects and lists are given as JSON.

    \b
    Examples:
      runtrue node run shell command="ls -l"
      runtrue node run http url=https://example.com 'headers={"Accept": "text/html"}'
    """
    home = Home.find(Path.cwd())
    registry = trusted_registry(home, [type], may_ask=not as_json)
    interface = _interface(registry, type)
    texts = pairs(params, "param")
    # Only what is given: the check of the workflow reports what is missing or unknown.
    declared = {name: _as_input(interface.params.get(name, {})) for name in texts}
    given = prepare_inputs(declared, texts, stdin=None, from_text=True)
    ir = Workflow({"nodes": [{"id": "node", "type": type, "params": given}]}, name=type)
    with Journal(home.journal) as journal:
        started = start_workflow(journal, ir, {}, registry=registry, is_typed=True)
        return run_and_show(journal, home, started.run_id, as_json=as_json, secrets=started.secrets)


def _as_input(schema: dict[str, Any]) -> dict[str, Any]:
    """A param as an input: of a type where there is but one, besides null."""
    options = [option.get("type") for option in schema.get("anyOf", [schema])]
    kinds = [kind for kind in options if kind != "null"]
    known = len(kinds) == 1 and isinstance(kinds[0], str)
    return {"type": kinds[0]} if known else {}


def _interface(registry: Registry, name: str) -> Interface:
    found = registry.node(name)
    if found is None:
        raise UsageError(registry.suggest(name))
    return found.interface


def _as_data(interface: Interface) -> dict[str, Any]:
    return {
        "type": interface.type,
        "description": interface.description,
        "params": interface.params_schema,
        "outputs": {
            name: {"type": output.type, "description": output.description}
            for name, output in interface.outputs.items()
        },
        "open_outputs": interface.open_outputs,
    }


def _param_line(interface: Interface, name: str) -> str:
    schema = interface.params[name]
    facts = [describe_type(schema)]
    if name in interface.required:
        facts.append("required")
    elif schema.get("default") not in (None, "", [], {}):
        facts.append(f"default {schema['default']}")
    about = schema.get("description", "")
    return f"{name} ({', '.join(facts)})" + (f": {about}" if about else "")
