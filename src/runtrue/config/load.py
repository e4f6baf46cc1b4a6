"""Loading: where a project's configuration is, and how it is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from runtrue.config.data import Keys, read_data
from runtrue.config.plans import fill_profile
from runtrue.config.rules import problems_of
from runtrue.config.sections import Config
from runtrue.config.toml import TomlFile
from runtrue.loop import PROFILES, Requirements


def load_config(project: Path) -> Config:
    """The configuration of the project in a directory; defaults where it has none."""
    own = project / "runtrue.toml"
    # Also when it is something else than a file: then it is a mistake, not an absence.
    if os.path.lexists(own):
        return _read(own, ())
    shared = project / "pyproject.toml"
    return _read(shared, ("tool", "runtrue")) if shared.is_file() else Config()


def _read(file: Path, prefix: Keys) -> Config:
    source = TomlFile.read(file, prefix)
    return read_data(source.data, Config, source, problems=problems_of, filled=_filled)


def _filled(data: Any) -> Any:
    """What is set of a requirement or a profile leaves the rest of it as it is by default."""
    if not isinstance(data, dict):
        return data
    data = dict(data)
    if isinstance(coverage := data.get("coverage"), dict):
        defaults = msgspec.to_builtins(Requirements())
        data["coverage"] = {
            name: {**defaults.get(name, {}), **table} if isinstance(table, dict) else table
            for name, table in coverage.items()
        }
    plans = data.get("plans")
    if isinstance(plans, dict) and isinstance(own := plans.get("profiles"), dict):
        filled = {name: fill_profile(table, PROFILES) for name, table in own.items()}
        data["plans"] = {**plans, "profiles": filled}
    return data
