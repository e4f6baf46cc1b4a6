"""The virtual environments that poetry and pipenv keep for a project outside of it.

Both name them after a digest of the project's path, so that they are found without asking the tool:
nothing of the project is run to know them.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path


def managed_environment(project: Path) -> Path | None:
    """Return the environment that poetry or pipenv has made for a project, the newest of several.

    One of the project's own, in `.venv`, is not looked for here.
    """
    found = [
        place
        for folder, pattern in _candidates(project)
        if folder.is_absolute()
        for place in folder.glob(pattern)
        if (place / "pyvenv.cfg").is_file() and (place / "bin").is_dir()
    ]
    return max(found, key=lambda place: place.stat().st_mtime, default=None)


def _candidates(project: Path) -> Iterator[tuple[Path, str]]:
    """Yield directories of environments, each with a pattern for those of the project."""
    real, home = os.path.realpath(project), Path(os.environ.get("HOME", "/nonexistent"))
    if (project / "pyproject.toml").is_file():
        cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "pypoetry"
        cache = Path(os.environ.get("POETRY_CACHE_DIR") or cache)
        folder = Path(os.environ.get("POETRY_VIRTUALENVS_PATH") or cache / "virtualenvs")
        yield folder, f"*-{_digest(real)}-py*"
    if (project / "Pipfile").is_file():
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
        folder = Path(os.environ.get("WORKON_HOME") or data / "virtualenvs")
        yield folder, f"*-{_digest(os.path.join(real, 'Pipfile'))}"  # noqa: PTH118


def _digest(path: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(path.encode()).digest()).decode()[:8]
