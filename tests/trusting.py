"""A user who says yes to what the projects of tests ask for, as with `runtrue trust --yes`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from runtrue.cli.trust import requests_of
from runtrue.errors import RuntrueError
from runtrue.trust import Agreements

_FILES = ("runtrue.toml", "pyproject.toml", ".mcp.json")


def trust_all(paths: Iterable[str | Path], environment: Mapping[str, str]) -> None:
    """Agree to all that the projects among these paths ask for, in the home of an environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "RUNTRUE_HOME"):
            patch.delenv(name, raising=False)
            if name in environment:
                patch.setenv(name, environment[name])
        for project in dict.fromkeys(Path(path) for path in paths):
            if project.is_absolute() and project.is_dir() and _has_files(project):
                trust(project)


def trust(project: Path) -> None:
    """Agree to all that a project asks for now; a broken file is the command's to report."""
    try:
        asked = [one for one in requests_of(project) if not one.is_trusted]
        Agreements.of_user().add(*(one.request for one in asked if one.request.path.is_file()))
    except (RuntrueError, OSError):
        return


def _has_files(project: Path) -> bool:
    above = (project, *project.parents)
    return any(os.path.lexists(place / name) for place in above for name in _FILES)
