"""Cases: small projects with one bug, each told in one Markdown file of `cases`.

A file says in its title and first paragraph what is wrong. `## Fix of` names the file to change and
shows how a person would do it, `## Project` holds the files of the project, and `## Held back`
holds tests that whoever repairs it does not see. As text they are neither collected nor linted.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.conftest import content

FOLDER = Path(__file__).with_name("cases")

_PART = re.compile(r"^## (.+)$", re.MULTILINE)
_FILE = re.compile(
    r"^### `(?P<name>[^`]+)`\n\n```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_FIX = re.compile(r"```diff\n(?P<diff>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ProjectCase:
    """One project; `file` is the one that has the bug."""

    name: str
    title: str
    file: str
    diff: str
    project: dict[str, str]
    held_back: dict[str, str]

    @property
    def fixed(self) -> str:
        """The file with the bug, as a person would repair it."""
        lines = self.diff.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        text = self.project[self.file]
        assert text.count(before) == 1, f"{self.name}: the fix has to fit one place"
        return text.replace(before, after)


def read_cases() -> list[ProjectCase]:
    return [_read(path) for path in sorted(FOLDER.glob("*.md"))]


def _read(path: Path) -> ProjectCase:
    head, *rest = _PART.split(path.read_text())
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    fix = next(name for name in parts if name.startswith("Fix of "))
    diff = _FIX.search(parts[fix])
    assert diff is not None, f"{path.name} has no diff"
    return ProjectCase(
        name=path.stem,
        title=head.partition("\n")[0].removeprefix("# "),
        file=fix.removeprefix("Fix of ").strip("`"),
        diff=diff["diff"],
        project={one["name"]: one["text"] for one in _FILE.finditer(parts["Project"])},
        held_back={one["name"]: one["text"] for one in _FILE.finditer(parts["Held back"])},
    )


def put(files: dict[str, str], directory: Path) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(directory: Path) -> None:
    """Makes a directory a git repository with one commit."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "begin"]):
        subprocess.run(["git", *args], cwd=directory, check=True)


def run_pytest(directory: Path) -> tuple[int, str]:
    """The exit code and the output of a project's own tests, in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=directory,
        # Plugins of ours, which a project knows nothing of, take longer than its tests.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


def changed(directory: Path, before: dict[str, bytes]) -> list[str]:
    """The files that are not what they were, or were not there."""
    now = content(directory)
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def traces(document: Any) -> Iterator[dict[str, Any]]:
    """What the search recorded, wherever it stands in the report."""
    if isinstance(document, dict):
        if document.get("fixer") == "search" and document.get("trace"):
            yield document["trace"]
        document = list(document.values())
    if isinstance(document, list):
        for value in document:
            yield from traces(value)
