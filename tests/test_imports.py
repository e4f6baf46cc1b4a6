"""Imports point one way: surfaces know the loops, loops the mechanisms, mechanisms the core."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import runtrue

PACKAGE = Path(runtrue.__file__).parent

#: From the bottom to the top. A part may import only from those on the lines before its own.
LEVELS: list[tuple[str, ...]] = [
    # "" is `runtrue` itself: its version
    ("", "_guardian", "_lazy", "errors", "confinement", "foreign_text", "typed_data"),
    ("documents",),
    ("usage",),
    (
        "process",
        "database",
        "redaction",
        "addresses",
        "encoding",
        "settings_file",
        "atomic_file",
        "plugins",
        "telemetry",
    ),
    ("flow",),
    ("loop", "record_format", "schedule"),
    ("trust",),
    ("config",),
    ("home",),
    ("scale",),
    ("sandbox", "secrets", "fields"),
    ("checks", "models", "memory"),
    ("gates", "escalation"),
    ("fixers",),
    ("workflow", "run_context", "receipt", "travel"),
    ("planner", "code", "plan"),
    ("mcp_server", "web", "testing"),
    ("cli",),
    ("__main__",),
]
LEVEL_OF = {part: level for level, parts in enumerate(LEVELS) for part in parts}


@dataclass(frozen=True)
class Import:
    """One import of something of ours, as a dotted name below `runtrue`."""

    file: Path
    line: int
    target: str

    @property
    def importer(self) -> str:
        return _dotted(self.file)

    def __str__(self) -> str:
        return f"{self.file.relative_to(PACKAGE.parent)}:{self.line} imports runtrue.{self.target}"


def _dotted(file: Path) -> str:
    """`flow/journal.py` is `flow.journal`, and `flow/__init__.py` is `flow`."""
    parts = list(file.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def _part(dotted: str) -> str:
    """The package or top-level module that a name belongs to."""
    return dotted.partition(".")[0]


def _modules() -> list[Path]:
    return sorted(file for file in PACKAGE.rglob("*.py") if "__pycache__" not in file.parts)


def _is_module(package: str, name: str) -> bool:
    """Whether `name` out of one of our packages is a module, not something that it exports."""
    top, *inner = package.split(".")
    path = PACKAGE.joinpath(*inner)
    init = path / "__init__.py"
    if top != "runtrue" or not init.is_file():
        return False
    is_there = (path / name).is_dir() or (path / f"{name}.py").is_file()
    return is_there and name not in _exported(init)


@cache
def _exported(init: Path) -> set[str]:
    """What a package's `__init__` imports to hand it on."""
    nodes = ast.walk(ast.parse(init.read_text()))
    return {a.name for node in nodes if isinstance(node, ast.ImportFrom) for a in node.names}


def _imports(file: Path, source: str | None = None) -> Iterator[Import]:
    """Every import of ours in a file, those inside of functions too."""
    for node in ast.walk(ast.parse(file.read_text() if source is None else source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = list(_names_of_from(file, node))
        else:
            continue
        for name in names:
            if name == "runtrue" or name.startswith("runtrue."):
                yield Import(file, node.lineno, name.removeprefix("runtrue").removeprefix("."))


def _names_of_from(file: Path, node: ast.ImportFrom) -> Iterator[str]:
    base = node.module or ""
    if node.level:
        package = ["runtrue", *file.relative_to(PACKAGE).parent.parts]
        base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
    for alias in node.names:
        # `from runtrue import process` is about a module, `from runtrue.flow import Node` is not.
        yield f"{base}.{alias.name}" if _is_module(base, alias.name) else base


#: `runtrue` itself names what programs call, and imports none of it before it is asked for.
ALL = [found for file in _modules() if file != PACKAGE / "__init__.py" for found in _imports(file)]


def points_back(found: Import) -> bool:
    importer, target = _part(found.importer), _part(found.target)
    return importer != target and LEVEL_OF[target] >= LEVEL_OF[importer]


def reaches_inside(found: Import) -> bool:
    return "." in found.target and _part(found.importer) != _part(found.target)


def test_every_part_has_its_level() -> None:
    parts = {_part(_dotted(file)) for file in _modules()}
    assert parts <= set(LEVEL_OF), "add the new package or module to LEVELS"


def test_there_is_something_to_look_at() -> None:
    assert len(ALL) > 50
    assert any(found.target == "flow" and _part(found.importer) == "loop" for found in ALL)


def test_no_import_points_back() -> None:
    assert [str(found) for found in ALL if points_back(found)] == []


def test_other_packages_are_imported_from_as_a_whole_never_from_their_inner_modules() -> None:
    assert [str(found) for found in ALL if reaches_inside(found)] == []


def test_the_core_knows_no_engine_no_model_and_no_surface() -> None:
    """Loops import neither engine nor database; one module of the kernel knows each database."""
    foreign = {"click", "rich", "sqlite3", "httpx2", "pydantic_ai", "dbos", "psycopg"}
    allowed = {"sqlite": {"sqlite3"}, "migrations": {"sqlite3"}, "postgres": {"psycopg"}}
    for file in _modules():
        part = _part(_dotted(file))
        if part not in {"flow", "loop"}:
            continue
        names = {
            name.partition(".")[0]
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
            )
        }
        assert names & foreign <= (allowed.get(file.stem, set()) if part == "flow" else set()), file


@pytest.mark.parametrize(
    ("file", "source", "back", "inside"),
    [
        ("flow/node.py", "from runtrue.loop import decide", True, False),
        ("flow/node.py", "import runtrue.cli", True, False),
        ("loop/repair.py", "def f():\n    from runtrue.checks import x", True, False),
        ("loop/repair.py", "from ..checks import x", True, False),
        ("loop/repair.py", "from runtrue import checks", True, False),
        ("process.py", "from runtrue.flow import x", True, False),
        ("code/fix.py", "from runtrue.plan import x", True, False),
        ("errors.py", "import runtrue.process", True, False),
        ("loop/repair.py", "from runtrue.flow.journal import x", False, True),
        ("loop/repair.py", "import runtrue.flow.journal", False, True),
        ("loop/repair.py", "from runtrue.flow import journal", False, True),
        ("loop/repair.py", "from runtrue.flow import Journal", False, False),
        ("loop/repair.py", "from runtrue.loop.decide import decide", False, False),
        ("loop/repair.py", "from . import decide", False, False),
        ("fixers/tool.py", "from runtrue.checks import trim", False, False),
        ("checks/check.py", "from runtrue.sandbox import is_judge", False, False),
        ("sandbox/tree.py", "from runtrue.checks import trim", True, False),
        ("checks/check.py", "from runtrue.gates import x", True, False),
        ("memory/store.py", "from runtrue.models import fence", True, False),
        ("checks/check.py", "from runtrue import process", False, False),
        ("cli/main.py", "from runtrue import __version__", False, False),
    ],
)
def test_the_rules_catch_what_they_are_for(
    file: str, source: str, back: bool, inside: bool
) -> None:
    found = list(_imports(PACKAGE / file, source))
    assert found
    assert any(points_back(one) for one in found) is back
    assert any(reaches_inside(one) for one in found) is inside
