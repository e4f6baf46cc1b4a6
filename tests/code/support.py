"""What tests of the code loop share: small projects, an agent that does as it is told, a judge."""

from __future__ import annotations

import re
import textwrap
import uuid
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema

from runtrue.code import schema
from tests.cli.conftest import write

#: Plugins that nobody uses here take ten times as long to load as the tests take to run.
PYTEST = """
[checks.tests]
command = "python -m pytest -q"
env = { PYTEST_DISABLE_PLUGIN_AUTOLOAD = "1" }
"""

#: A bug, the test that shows it, and one that passes.
TAX = {
    "runtrue.toml": PYTEST,
    "tax.py": """
        def with_tax(net):
            return net * 1.9
    """,
    "tests/test_tax.py": """
        from tax import with_tax


        def test_regression_of_the_rate():
            assert with_tax(100) == 119


        def test_nothing_costs_nothing():
            assert with_tax(0) == 0
    """,
}
MENDED = {"tax.py": "def with_tax(net):\n    return net * 1.19\n"}

#: A new function, written with a mistake, its tests, and the function without the mistake.
EMPTY = {"runtrue.toml": PYTEST, "README.md": "Nothing yet.\n"}
WRONG = {
    "names.py": """
        def initials(name):
            if name.isdigit():
                raise ValueError("a number is not a name")
            found = ""
            for part in name.split(" "):
                found += part[0]
            return found
    """
}
RIGHT = {"names.py": WRONG["names.py"].replace('split(" ")', "split()")}
TESTS = {
    "tests/test_names.py": """
        import pytest

        from names import initials


        def test_happy_path():
            assert initials("Ada Lovelace") == "AL"


        def test_edge_case_empty_name():
            assert initials("") == ""


        def test_error_handling_of_numbers():
            with pytest.raises(ValueError):
                initials("12")
    """
}


def plain(files: Mapping[str, str]) -> dict[str, str]:
    """The files as they are written: without the indentation that they have here."""
    return {name: textwrap.dedent(text).lstrip("\n") for name, text in files.items()}


class Agent:
    """A coding agent: at each call it keeps its prompt and does the next of its steps.

    A step is either files to write or a script to run; after the last one it does nothing.
    """

    def __init__(self, directory: Path, *steps: Mapping[str, str] | str) -> None:
        self.directory = directory
        (directory / "prompts").mkdir(parents=True)
        (directory / "steps").mkdir()
        for number, step in enumerate(steps):
            if isinstance(step, str):
                (directory / "steps" / f"{number}.sh").write_text(step)
            else:
                write(directory / "steps" / str(number), step)
        self._program = directory / "scribe"
        self._program.write_text(
            f"#!/bin/sh\nhere='{directory}'\n"
            'n=$(ls "$here/prompts" | wc -l)\n'
            'cat > "$here/prompts/$n"\n'
            'if [ -d "$here/steps/$n" ]; then cp -r "$here/steps/$n/." .; fi\n'
            'if [ -f "$here/steps/$n.sh" ]; then . "$here/steps/$n.sh"; fi\n'
        )
        self._program.chmod(0o755)

    @property
    def command(self) -> str:
        return str(self._program)

    @property
    def prompts(self) -> list[str]:
        kept = sorted((self.directory / "prompts").iterdir(), key=lambda file: int(file.name))
        return [file.read_text() for file in kept]


def valid(record: dict[str, Any]) -> dict[str, Any]:
    """The record, if it fits the schema with its formats."""
    checker = jsonschema.FormatChecker(formats=())
    checker.checks("uuid", raises=ValueError)(_is_uuid)
    checker.checks("date-time", raises=ValueError)(_is_time)
    validator = jsonschema.Draft202012Validator(schema(), format_checker=checker)
    assert [f"{e.json_path}: {e.message}" for e in validator.iter_errors(record)] == []
    return record


def _is_uuid(value: object) -> bool:
    return str(uuid.UUID(str(value))) == value


def _is_time(value: object) -> bool:
    """Whether it is a time by RFC 3339, with its zone."""
    form = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
    return re.fullmatch(form, str(value)) is not None and bool(datetime.fromisoformat(str(value)))


def triggers(*rules: tuple[str, str], include: tuple[str, ...] | None = None) -> str:
    """The configuration of some triggers: condition and action of each."""
    listed = f"include_in_report = {list(include)}\n" if include is not None else ""
    return "".join(
        f'[[escalation.triggers]]\ncondition = "{condition}"\naction = "{action}"\n{listed}'
        for condition, action in rules
    )
