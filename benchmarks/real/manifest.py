"""The manifest of real bug fixes: which package, which versions, which hunks.

Nothing of a package is in it but names, versions, paths and digests.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Language = Literal["python", "javascript", "typescript"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

ITEMS = Path(__file__).parent / "items.toml"
#: A fix of one hunk of at most this many lines is what search is expected to find.
SMALL = 3

#: Packages that others judge us by: they are never mined.
HELD_OUT = frozenset(
    """
    attrs boltons click python-dateutil dateutil humanize inflect jinja jinja2 marshmallow
    more-itertools packaging parse prettytable structlog tabulate tomlkit toolz wcwidth xmltodict
    camelcase commander defu fast-uri ms qs query-string semver ufo yargs-parser toml mux
    """.split()  # noqa: SIM905  # a list literal would take a page
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One bug fix: version `version` of a package, with `hunks` of `file` as in `previous`."""

    id: str
    language: Language
    package: str
    version: str
    previous: str
    file: str
    #: Digests of the hunks; see `benchmarks.real.hunks`.
    hunks: tuple[str, ...]
    #: The lines of the largest hunk.
    lines: int
    #: The command that judges: the project's own tests.
    command: str
    #: Python: what is installed beside the project, name==version.
    install: tuple[str, ...] = ()
    #: JavaScript: dependencies are as of this day.
    before: str = ""

    @property
    def small(self) -> bool:
        return len(self.hunks) == 1 and self.lines <= SMALL


def load(file: Path = ITEMS) -> list[Item]:
    """Return the items of a manifest; raises ValueError where one is not as it must be."""
    entries = tomllib.loads(file.read_text("utf-8")).get("item", [])
    return [_item(entry) for entry in entries]


def _item(entry: dict[str, object]) -> Item:
    lists = ("hunks", "install")
    fields = {k: tuple(v) if k in lists and isinstance(v, list) else v for k, v in entry.items()}
    try:
        item = Item(**fields)  # type: ignore[arg-type]  # checked right below
    except TypeError as error:
        raise ValueError(f"item {entry.get('id')!r}: {error}") from None
    if item.language not in LANGUAGES:
        raise ValueError(f"item {item.id!r}: unknown language {item.language!r}")
    if item.package in HELD_OUT:
        raise ValueError(f"item {item.id!r}: {item.package} is held out")
    if not item.hunks or item.version == item.previous:
        raise ValueError(f"item {item.id!r}: names no change")
    return item


def as_toml(item: Item) -> str:
    """Return the entry of the manifest for an item."""
    lines = ["[[item]]"]
    for name in Item.__slots__:
        value = getattr(item, name)
        if value == () or value == "":
            continue
        lines.append(f"{name} = {_value(value)}")
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        # A TOML literal string needs no escapes, and none of our values has a quote and a tick.
        return f'"{value}"' if '"' not in value and "\\" not in value else f"'{value}'"
    assert isinstance(value, Sequence)
    return "[" + ", ".join(_value(one) for one in value) + "]"
