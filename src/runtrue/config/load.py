"""Loading: where a project's configuration is, and how it is read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from runtrue.config.plans import fill_profile
from runtrue.config.rules import problems_of
from runtrue.config.scope import seen_from
from runtrue.config.sections import Config, SearchConfig
from runtrue.documents import Pointer, Source, read_data, read_toml
from runtrue.errors import ConfigError, UsageError
from runtrue.loop import PROFILES, Requirements

#: The variable that says how long to search, over the configuration.
SEARCH_SECONDS = "RUNTRUE_SEARCH_SECONDS"


def load_config(project: Path, top: Path | None = None) -> Config:
    """Return the configuration of the project in a directory; defaults where it has none.

    Without one of its own, a project has that of the nearest directory above it, up to the top of
    its repository, and of the checks there those that run in the project, if there are any.
    """
    for place in _places_of_config(project, top):
        if (config := _config_in(place)) is not None:
            seen = config if place == project else seen_from(config, place, project)
            return _with_search_time(seen, os.environ.get(SEARCH_SECONDS))
    return _with_search_time(Config(), os.environ.get(SEARCH_SECONDS))


def _places_of_config(project: Path, top: Path | None = None) -> list[Path]:
    """Return the directories in which a project's configuration may be, nearest first."""
    above = [project, *project.parents]
    if top is None:
        top = next((place for place in above if (place / ".git").exists()), project)
    return [place for place in above if place.is_relative_to(top)]


def _config_in(directory: Path) -> Config | None:
    own = directory / "runtrue.toml"
    shared = directory / "pyproject.toml"
    # Also when it is something else than a file: then it is a mistake, not an absence.
    if os.path.lexists(own):
        return _read(own, ())
    if not shared.is_file():
        return None
    tool = read_toml(shared).data.get("tool")
    has_settings = isinstance(tool, dict) and "runtrue" in tool
    return _read(shared, ("tool", "runtrue")) if has_settings else None


def _with_search_time(config: Config, said: str | None) -> Config:
    if not said:
        return config
    try:
        search = msgspec.convert(
            {**msgspec.to_builtins(config.fixers.search), "seconds": float(said)}, SearchConfig
        )
    except (ValueError, msgspec.ValidationError):
        raise UsageError(
            f"{SEARCH_SECONDS} is {said!r}; it is a number of seconds from 0 to 3600"
        ) from None
    return replace(config, fixers=replace(config.fixers, search=search))


def _read(file: Path, prefix: Pointer) -> Config:
    # A broken pyproject.toml is refused as well: it might hold our settings, and going on without
    # them would be a guess.
    source = Source(read_toml(file), ConfigError, prefix)
    return read_data(source, Config, problems=problems_of, fill=_fill)


def _fill(data: Any) -> Any:
    """Add the defaults to requirements and profiles that are set only in part."""
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
