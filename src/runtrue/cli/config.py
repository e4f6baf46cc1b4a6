"""`runtrue config`: the configuration that applies, and the schemas of what people write."""

from __future__ import annotations

import json
from pathlib import Path

import click

from runtrue.cli import options
from runtrue.cli.console import echo, echo_json
from runtrue.cli.file_schemas import FILE_SCHEMAS, file_schema
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.project import find_project
from runtrue.cli.show import print_json


@click.group(cls=CommandGroup)
def config() -> None:
    """Show the configuration that applies here, and its JSON Schemas.

    \b
    Examples:
      runtrue config show
      runtrue config schema runtrue.toml > runtrue.schema.json
    """


@config.command()
@click.argument("path", default=".", type=click.Path(path_type=Path, readable=False))
@options.as_json
def show(path: Path, as_json: bool) -> int:
    """Show every setting that applies to a project, and the file that it comes from.

    The nearest runtrue.toml, or pyproject.toml with [tool.runtrue], counts, up to the top of the
    repository.
    """
    import msgspec

    from runtrue.config import find_config

    project = find_project(path)
    found = find_config(project)
    settings = msgspec.to_builtins(found.config)
    file = str(found.file) if found.file else None
    if as_json:
        print_json({"file": file, "trusted": found.is_trusted, "config": settings})
        return 0
    echo(f"# {file or 'no configuration file: every setting is the default'}")
    if not found.is_trusted:
        echo("# what needs your agreement is left out; `runtrue trust` shows it")
    for name, table in settings.items():
        for key, value in _leaves(name, table):
            echo(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return 0


def _leaves(name: str, value: object) -> list[tuple[str, object]]:
    """Return dotted keys with their values; what is not set is left out."""
    if isinstance(value, dict) and value:
        return [leaf for key, one in value.items() for leaf in _leaves(f"{name}.{key}", one)]
    return [] if value is None or value == {} else [(name, value)]


@config.command()
@click.argument("file", type=click.Choice(list(FILE_SCHEMAS)))
def schema(file: str) -> int:
    """Print the JSON Schema of a file that people write, for editors and other programs.

    \b
    Examples:
      runtrue config schema runtrue.toml > runtrue.schema.json
      runtrue config schema plan > plan.schema.json
      runtrue config schema user      of the runtrue.toml in your own ~/.runtrue

    A first line `#:schema ./runtrue.schema.json` in runtrue.toml makes editors with Taplo
    complete and check the file as you type.
    """
    echo_json(json.dumps(file_schema(file), indent=2, ensure_ascii=False))
    return 0
