"""Results, as tables for a person and as text or JSON for a pipe."""

from __future__ import annotations

import sys
from typing import Any

from runtrue.cli.console import Styled, echo, print_table, write_result
from runtrue.cli.show import print_json


def print_value(outputs: dict[str, Any]) -> None:
    """Print the outputs of a workflow on stdout: text as text, lists of objects as tables.

    One output is printed by itself. Into a pipe, what is not text goes as JSON.
    """
    if len(outputs) == 1:
        _print_one(next(iter(outputs.values())))
        return
    if not sys.stdout.isatty():
        print_json(outputs)
        return
    for name, value in outputs.items():
        is_short = not isinstance(value, list | dict) and "\n" not in _plain(value)
        if is_short:
            echo(Styled(name, bold=True), f": {_plain(value)}")
        else:
            echo(f"{name}:", bold=True)
            _print_one(value)


def _print_one(value: Any) -> None:
    if isinstance(value, str):
        write_result(value)
    elif sys.stdout.isatty() and _is_table(value):
        _print_table(value)
    elif isinstance(value, list | dict):
        print_json(value)
    else:
        echo(_plain(value))


def _plain(value: Any) -> str:
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _is_table(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) for row in value)
        and len({key for row in value for key in row}) <= 12
    )


def _print_table(rows: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_plain(row[key]) if key in row else "" for key in columns] for row in rows]
    print_table(columns, cells)
