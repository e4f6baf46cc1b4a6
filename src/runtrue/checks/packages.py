"""Packages: the parts of a repository that have tests of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from runtrue.checks.locations import INSTALLED
from runtrue.documents import DocumentError, read_document
from runtrue.settings_file import read_settings

#: So far below the root packages are looked for.
_DEPTH = 3
#: Directories with files that are no package of the project's.
_NOT_OWN = frozenset(
    {
        *("tests", "test", "__tests__", "spec", "fixtures", "testdata", "docs", "doc", "examples"),
        *("example", "samples", "demo", "demos", "templates", "template", "third_party", "static"),
        *("build", "dist", "target", "out", "assets", "benchmarks", "benchmark", "site"),
    }
)


def nested_packages(root: Path, manifests: Sequence[str]) -> list[Path]:
    """Return the directories below the root with one of some files; none within another."""
    found: list[Path] = []
    for parent, directories, files in os.walk(root):
        place = Path(parent)
        depth = len(place.relative_to(root).parts)
        if place != root and not set(manifests).isdisjoint(files):
            found.append(place)
            directories.clear()
            continue
        own = {
            name
            for name in directories
            if name not in INSTALLED and name not in _NOT_OWN and re.match(r"\w", name)
        }
        directories[:] = sorted(own) if depth < _DEPTH else []
    return found


def workspace_members(root: Path) -> list[Path]:
    """Return the packages that the root's package.json, pnpm-workspace.yaml or lerna.json names."""
    patterns = [
        *_patterns(read_settings(root / "package.json").get("workspaces")),
        *_patterns(read_settings(root / "lerna.json").get("packages")),
        *_patterns(_yaml(root / "pnpm-workspace.yaml").get("packages")),
    ]
    return [*_matching(root, patterns, "package.json")]


def _patterns(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = value.get("packages")
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _yaml(file: Path) -> dict[str, Any]:
    try:
        data = read_document(file).data if file.is_file() else {}
    except DocumentError:
        return {}
    return data if isinstance(data, dict) else {}


def _matching(root: Path, patterns: list[str], manifest: str) -> Iterator[Path]:
    wanted = [p.removeprefix("./").rstrip("/") for p in patterns if not p.startswith("!")]
    unwanted = [p[1:].removeprefix("./").rstrip("/") for p in patterns if p.startswith("!")]
    found: dict[Path, None] = {}
    for pattern in wanted:
        if not pattern or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            continue
        for place in sorted(root.glob(pattern)):
            parts = place.relative_to(root).parts
            is_own = INSTALLED.isdisjoint(parts) and (place / manifest).is_file()
            name = "/".join(parts)
            if is_own and parts and not any(fnmatchcase(name, one) for one in unwanted):
                found[place] = None
    yield from found
