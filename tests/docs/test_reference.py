"""The reference pages say what the program and its types say."""

import dataclasses
import re
import typing
from enum import StrEnum
from typing import Any

import pytest
from msgspec import Meta

from runtrue.config import (
    AgentConfig,
    CheckConfig,
    Config,
    EscalationConfig,
    FixersConfig,
    GateConfig,
    IsolationConfig,
    McpLimits,
    MemoryConfig,
    ModelConfig,
    PlansConfig,
    ProfileConfig,
    RalphConfig,
    SandboxConfig,
    SearchConfig,
    SecretsConfig,
    SecurityConfig,
    UserDatabase,
    ValidationConfig,
    WorkflowsConfig,
)
from runtrue.confinement import ResourceLimits
from runtrue.loop import CodeType, Item, Limits, Notification, Requirement, Requirements, Trigger
from runtrue.loop.notification import PLACEHOLDERS

from .generate import OTHER_PARTS, SCHEMAS, Part, command_paths, schema_files
from .pages import DOCS

TABLES = {
    "[checks.NAME]": CheckConfig,
    "[fixers]": FixersConfig,
    "[fixers.search]": SearchConfig,
    "[fixers.agent]": AgentConfig,
    "[policy]": Limits,
    "[sandbox]": SandboxConfig,
    "[isolation]": IsolationConfig,
    "[isolation.limits]": ResourceLimits,
    "[secrets]": SecretsConfig,
    "[workflows]": WorkflowsConfig,
    "[database]": UserDatabase,
    "[mcp]": McpLimits,
    "[model]": ModelConfig,
    "[coverage.TYPE]": Requirement,
    "[escalation]": EscalationConfig,
    "[[escalation.triggers]]": Trigger,
    "[escalation.notification]": Notification,
    "[security]": SecurityConfig,
    "[memory]": MemoryConfig,
    "[gate]": GateConfig,
    "[ralph]": RalphConfig,
    "[plans]": PlansConfig,
    "[plans.validations.NAME]": ValidationConfig,
    "[plans.profiles.NAME]": ProfileConfig,
}
#: What of a table depends on something else, by default.
DEPENDS = {Requirement: "by type", ProfileConfig: "by `base`"}
PAGE = (DOCS / "reference" / "config.md").read_text()


@pytest.mark.parametrize("part", OTHER_PARTS, ids=lambda part: part.name)
def test_generated_parts_are_current(part: Part) -> None:
    assert part.shown() == part.produce(), "run scripts/docs"


def test_the_schemas_of_the_reports_are_current() -> None:
    shown = {file: file.read_text(encoding="utf-8") for file in SCHEMAS.iterdir()}
    assert shown == schema_files(), "run scripts/docs"


def test_every_command_has_its_help() -> None:
    page = (DOCS / "reference" / "cli.md").read_text()
    headings = re.findall(r"^## (runtrue.*)$", page, re.M)
    assert headings == [" ".join(("runtrue", *path)) for path in command_paths()]


def test_every_table_of_the_configuration_is_there() -> None:
    headings = re.findall(r"^## `(.*)`$", PAGE, re.M)
    assert headings == list(TABLES)
    # These are the user's own alone.
    reached = {f.name for f in dataclasses.fields(Config)} | {"database", "mcp"}
    assert reached == {name.strip("[]").partition(".")[0] for name in TABLES}


@pytest.mark.parametrize(("heading", "kind"), TABLES.items(), ids=list(TABLES))
def test_keys_types_and_defaults(heading: str, kind: type) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", _section(heading), re.M)
    assert all(len(meaning) > 20 for *_, meaning in rows)
    assert [row[:3] for row in rows] == list(_keys(kind))


def test_every_type_of_code_has_its_requirement() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\S+)` \| (.*?) ?\|$", _section("[coverage.TYPE]"), re.M)
    requirements = {code_type: Requirements().of(code_type) for code_type in CodeType}
    assert rows == [
        (
            code_type,
            f"{of.minimum_coverage:g}",
            ", ".join(f"`{kind}`" for kind in of.required_tests),
        )
        for code_type, of in requirements.items()
    ]


def test_every_placeholder_of_a_template_is_named() -> None:
    section = _section("[escalation.notification]")
    assert re.findall(r"`\$(\w+)`", section) == list(PLACEHOLDERS)


def _section(heading: str) -> str:
    return PAGE.split(f"## `{heading}`")[1].split("\n## ")[0]


def _keys(kind: Any) -> typing.Iterator[tuple[str, str, str]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        named = typing.get_args(hint)[1:] if typing.get_origin(hint) is dict else ()
        if not any(map(dataclasses.is_dataclass, (hint, *named))):  # a table of their own
            depends = DEPENDS.get(kind) if field.name != "base" else None
            yield field.name, _type(hint), depends or _default(_value(field))


def _type(hint: Any) -> str:
    if type(None) in typing.get_args(hint):
        (hint,) = (a for a in typing.get_args(hint) if a is not type(None))
    limits: dict[str, Any] = {}
    if typing.get_origin(hint) is typing.Annotated:
        hint, *extras = typing.get_args(hint)
        limits = {k: v for m in extras if isinstance(m, Meta) for k, v in _limits(m).items()}
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(f'`"{value}"`' for value in typing.get_args(hint))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return " or ".join(f'`"{value}"`' for value in hint)
    if typing.get_origin(hint) is tuple:
        (item, _) = typing.get_args(hint)
        if typing.get_origin(item) is typing.Annotated:
            item = typing.get_args(item)[0]
        if issubclass(item, StrEnum):
            return "list of " + ", ".join(f'`"{value}"`' for value in item)
        return {str: "list of strings", Trigger: "list of tables"}[item]
    if hint is float and limits["gt"] == 0:
        return f"{limits['title'] or 'seconds'}, up to {limits['le']}"
    if hint in (int, float):
        return f"{limits['ge']} to {limits['le']}" if limits["le"] else f"{limits['ge']} or more"
    return {str: "string", bool: "`true` or `false`", dict[str, str]: "table of strings"}[hint]


def _limits(meta: Meta) -> dict[str, Any]:
    return {name: getattr(meta, name) for name in ("gt", "ge", "le", "title")}


def _value(field: dataclasses.Field[Any]) -> Any:
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def _default(value: Any) -> str:
    if value is dataclasses.MISSING:
        return "must be given"
    match value:
        case None:
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case float():
            return f"`{value:g}`"
        case str():
            return f'`"{value}"`'
        case tuple() if value == tuple(Item):
            return "all of them"
        case tuple():
            return "`[" + ", ".join(f'"{item}"' for item in value) + "]`"
        case _:
            return f"`{value}`"
