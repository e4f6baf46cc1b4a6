"""The parts of the pages that the program writes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from difflib import ndiff
from pathlib import Path
from typing import Any

import click

from runtrue.cli.main import cli
from runtrue.cli.schema import report_schemas
from runtrue.fixers.search.operators import KINDS, RULES
from runtrue.fixers.search.priors import Priors
from runtrue.loop import PROFILES, AutomationProfile
from runtrue.workflow.registry import BUILT_IN
from tests.cli.warm import run_runtrue
from tests.fixers.search.examples import EXAMPLES
from tests.isolation.table import table

from .api_reference import api_reference
from .pages import DOCS, ROOT, region
from .sessions import SESSIONS, commands_of, console, normalised, play


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: where it is and what the program says now."""

    page: Path
    name: str
    produce: Callable[[], str]

    def is_current(self) -> bool:
        """Whether the page holds what the program says now."""
        return normalised(self.shown()) == normalised(self.produce())

    def shown(self) -> str:
        """What the page holds."""
        return region(self.page.read_text(encoding="utf-8"), self.name)


def _session(page: Path, name: str) -> Part:
    return Part(page, name, lambda: console(SESSIONS[name]))


def replayed(part: Part) -> str:
    """The very commands that a page shows, typed again."""
    return f"```console\n{play(SESSIONS[part.name], commands_of(part.shown()))}```\n"


def command_paths() -> list[tuple[str, ...]]:
    """Every command and subcommand, in the order of the help."""
    return list(_paths(cli, ()))


def _paths(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _paths(below, (*path, name))


def _help(path: tuple[str, ...]) -> str:
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = run_runtrue([*path, "--help"], cwd=ROOT, env=env)
    done.check_returncode()
    return done.stdout


def _command_line() -> str:
    sections = (
        f"## runtrue {' '.join(path)}".rstrip() + f"\n\n```text\n{_help(path)}```\n"
        for path in command_paths()
    )
    return "\n" + "\n".join(sections) + "\n"


def _prompt() -> str:
    """The prompt as an agent really gets it."""
    agent = "test -e ~/kept/prompt.md || cp {prompt_file} ~/kept/prompt.md"
    fix = f"RUNTRUE_ISOLATION_WRITE=~/kept runtrue fix --agent '{agent}' 2>&1"
    shown = play(SESSIONS["regression"], ("mkdir ~/kept", fix, "cat ~/kept/prompt.md"))
    prompt = shown.partition("$ cat ~/kept/prompt.md\n")[2]
    return f"````markdown\n{prompt.rstrip()}\n````\n"


def _node_types() -> str:
    """What is said of each built-in type."""
    sections = []
    with tempfile.TemporaryDirectory() as home:
        for name in BUILT_IN:
            env = {**os.environ, "NO_COLOR": "1", "RUNTRUE_HOME": home}
            done = run_runtrue(["node", "show", name], cwd=ROOT, env=env)
            done.check_returncode()
            sections.append(f"## {name}\n\n```text\n{done.stdout}```\n")
    return "\n" + "\n".join(sections) + "\n"


def _profiles() -> str:
    """Every flag of every profile that is built in."""
    rows = [
        [f"`{field.name}`", *(_flag(getattr(profile, field.name)) for profile in PROFILES.values())]
        for field in fields(AutomationProfile)
    ]
    head = ["", *(f"`{name}`" for name in PROFILES)]
    table = [head, ["---"] * len(head), *rows]
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in table) + "\n"


def _flag(value: bool | float | None) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}"


#: Which commands print a report, and the file with its schema.
REPORTS = {
    "CodeReport": ("`fix`, `code` and `gate`", "code.json"),
    "PlanReport": ("`plan`", "plan.json"),
    "TaskReport": ("`do`", "do.json"),
    "WorkflowReport": ("`run`", "run.json"),
    "EachReport": ("`run --each` and `fix --each`", "each.json"),
}
SCHEMAS = DOCS / "reference" / "schemas"


def schema_files() -> dict[Path, str]:
    """The files with the schemas of the reports, and what they hold."""
    return {
        SCHEMAS / REPORTS[name][1]: json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in report_schemas().items()
    }


def _reports() -> str:
    """The keys of every report."""
    schemas = report_schemas()
    sections = []
    for name, (commands, file) in REPORTS.items():
        report = schemas[name]["$defs"][name]
        rows = [
            f"| `{key}` | {_type(value)} | {'always' if key in report['required'] else ''} |\n"
            for key, value in report["properties"].items()
        ]
        sections.append(
            f"## {commands}\n\n{report['description'].splitlines()[0]} "
            f"Schema: [{file}](schemas/{file}).\n\n"
            f"| key | type | |\n| --- | --- | --- |\n{''.join(rows)}"
        )
    return "\n" + "\n".join(sections) + "\n"


def _edits() -> str:
    rows = []
    for kind, says in KINDS.items():
        before, after, *_ = EXAMPLES[kind]
        lines = [one for one in ndiff(before.split("\n"), after.split("\n")) if one[0] in "+-"]
        old, new = ([one[2:] for one in lines if one[0] == sign] for sign in "-+")
        rows.append(
            f"| `{kind}` | {says} | {_cell(old)} | {_cell(new)} | {Priors().of(kind):g} |\n"
        )
    head = "| kind | what is tried | a mistake | the edit | weight |\n"
    head += "| --- | --- | --- | --- | --- |\n"
    return f"\n{head}{''.join(rows)}\n"


def _rules() -> str:
    rows = [
        f"| `{rule.kind}` | {_cell([rule.pattern])} | {_cell([way])} | {unlikely:g} |\n"
        for rule in RULES
        for way, unlikely in rule.ways.items()
    ]
    head = "| kind | pattern | written as | how unlikely |\n| --- | --- | --- | --- |\n"
    return f"\n{head}{''.join(rows)}\n"


def _cell(lines: list[str]) -> str:
    marked = [line.replace("|", "\\|").strip() for line in lines]
    return "<br>".join(f"`{one}`" for one in marked if one)


def _type(value: dict[str, Any]) -> str:
    if "anyOf" in value:
        return " or ".join(map(_type, value["anyOf"]))
    if "$ref" in value:
        return f"`{value['$ref'].rpartition('/')[2]}`"
    if value.get("type") == "array" and value.get("items"):
        return f"array of {_type(value['items'])}"
    return str(value.get("type", "any"))


SESSION_PARTS = [
    _session(DOCS / "loops" / "do.md", "task"),
    _session(DOCS / "loops" / "fix.md", "shop"),
    *(_session(DOCS / "tutorial.md", f"tutorial-{part}") for part in ("fix", "gate", "workflow")),
    *(
        _session(DOCS / "casebook.md", f"case-{story}")
        for story in (
            *("deleted-test", "weak-test", "flaky", "partial", "unsure", "receipt"),
            *("renamed-field", "batch", "dry-run", "clone"),
        )
    ),
    _session(DOCS / "loops" / "search.md", "search"),
    _session(DOCS / "loops" / "fix.md", "human"),
    _session(DOCS / "loops" / "fix.md", "regression"),
    _session(DOCS / "loops" / "fix.md", "judge"),
    _session(DOCS / "loops" / "code.md", "memory"),
    _session(DOCS / "loops" / "code.md", "gate"),
    _session(DOCS / "loops" / "plan.md", "plan"),
    _session(DOCS / "loops" / "plan.md", "guidance"),
    _session(DOCS / "workflows.md", "workflow"),
]
OTHER_PARTS = [
    Part(DOCS / "reference" / "cli.md", "help", _command_line),
    Part(DOCS / "agents.md", "prompt", _prompt),
    Part(DOCS / "reference" / "nodes.md", "nodes", _node_types),
    Part(DOCS / "reference" / "profiles.md", "profiles", _profiles),
    Part(DOCS / "reference" / "isolation.md", "attacks", table),
    Part(DOCS / "reference" / "api.md", "api", api_reference),
    Part(DOCS / "reference" / "reports.md", "reports", _reports),
    Part(DOCS / "reference" / "edits.md", "kinds", _edits),
    Part(DOCS / "reference" / "edits.md", "rules", _rules),
]
