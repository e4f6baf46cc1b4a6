"""Loading: where a project's configuration is, and how it is read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from runtrue.config.grants import grants_of, raised, without_grants
from runtrue.config.plans import fill_profile
from runtrue.config.rules import problems_of
from runtrue.config.scope import seen_from
from runtrue.config.sections import Config, SearchConfig
from runtrue.config.user import users_minimum
from runtrue.documents import Document, Pointer, Source, read_data, read_toml
from runtrue.errors import ConfigError, UsageError
from runtrue.loop import PROFILES, Requirements
from runtrue.settings_file import subtable
from runtrue.trust import Agreements, TrustRequest, why_not_own
from runtrue.typed_data import convert

#: The variable that says how long to search, over the configuration.
SEARCH_SECONDS = "RUNTRUE_SEARCH_SECONDS"
#: The variable that names a level of isolation, over the configuration.
ISOLATION = "RUNTRUE_ISOLATION"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundConfig:
    """The configuration that holds for a project, and what was left out of its file."""

    config: Config
    #: All that the file says.
    written: Config
    #: Where it is; None for the defaults.
    file: Path | None = None
    #: What the file asks for that needs a person's agreement.
    request: TrustRequest | None = None
    #: A person agreed to it, or it asks for nothing.
    is_trusted: bool = True
    #: What the user's own demand for isolation undoes, though it is trusted.
    undone: tuple[str, ...] = ()
    #: Why files above the project do not count, each in a sentence.
    passed_over: tuple[str, ...] = ()


def load_config(project: Path, top: Path | None = None, origin: Path | None = None) -> Config:
    """Return the configuration that holds for the project in a directory; else the defaults.

    Without one of its own, a project has that of the nearest directory above it, up to the top of
    its repository, and of the checks there those that run in the project, if there are any. What
    needs a person's agreement, and has none, is left out. `origin` is where the files below `top`
    are from, if those are copies.
    """
    return find_config(project, top, origin).config


def find_config(project: Path, top: Path | None = None, origin: Path | None = None) -> FoundConfig:
    """Return what `load_config` does, and what it left out of the file."""
    passed_over: list[str] = []
    search_seconds = os.environ.get(SEARCH_SECONDS)
    default = _with_search_time(Config(), search_seconds)
    found = FoundConfig(config=default, written=default)
    for place in _places_of_config(project, top):
        read = _config_in(place)
        if read is None:
            continue
        file, text, config = read
        # Somebody else may have put it there; in the project itself, the user looks for one.
        why = why_not_own(file) if place != project and origin is None else None
        if why is not None:
            passed_over.append(f"{file} is ignored: {why}")
            continue
        seen = config if place == project else seen_from(config, place, project)
        source = origin / file.relative_to(top) if origin is not None and top is not None else file
        found = replace(
            _trusted(source, text, _with_search_time(seen, search_seconds)), file=source
        )
        break
    config, undone = _with_users_isolation(found.config)
    return replace(found, config=config, undone=undone, passed_over=tuple(passed_over))


def _trusted(file: Path, text: str, config: Config) -> FoundConfig:
    items = grants_of(config)
    if not items:
        return FoundConfig(config=config, written=config)
    request = TrustRequest.of(file, text, items)
    if Agreements.of_user().covers(request):
        return FoundConfig(config=config, written=config, request=request)
    config, written = without_grants(config), config
    return FoundConfig(config=config, written=written, request=request, is_trusted=False)


def _with_users_isolation(config: Config) -> tuple[Config, tuple[str, ...]]:
    """Raise the isolation to what the user asks for; return what that undoes as well."""
    own = users_minimum()
    if own == "process" and config.isolation.minimum == Config().isolation.minimum:
        # The user accepts less wherever a project does not ask for more.
        return replace(config, isolation=replace(config.isolation, minimum="process")), ()
    undone: tuple[str, ...] = ()
    for level in filter(None, (own, os.environ.get(ISOLATION))):
        config, more = raised(config, level)
        undone += more
    return config, undone


def _places_of_config(project: Path, top: Path | None = None) -> list[Path]:
    """Return the directories in which a project's configuration may be, nearest first."""
    above = [project, *project.parents]
    if top is None:
        top = next((place for place in above if (place / ".git").exists()), project)
    return [place for place in above if place.is_relative_to(top)]


def _config_in(directory: Path) -> tuple[Path, str, Config] | None:
    """Return the file that configures a directory, its text about that, and what it says."""
    own = directory / "runtrue.toml"
    shared = directory / "pyproject.toml"
    # Also when it is something else than a file: then it is a mistake, not an absence.
    if os.path.lexists(own):
        document = read_toml(own)
        return own, document.text, _read(document, ())
    if not shared.is_file():
        return None
    # A broken one is refused as well: it might hold our settings, and going on without them would
    # be a guess.
    document = read_toml(shared)
    settings = subtable(document.data, "tool").get("runtrue")
    if settings is None:
        return None
    # What is not about runtrue may change without anyone being asked again.
    text = json.dumps(settings, sort_keys=True, default=str)
    return shared, text, _read(document, ("tool", "runtrue"))


def _with_search_time(config: Config, said: str | None) -> Config:
    if not said:
        return config
    try:
        search = convert(
            {**msgspec.to_builtins(config.fixers.search), "seconds": float(said)}, SearchConfig
        )
    except (ValueError, msgspec.ValidationError):
        raise UsageError(
            f"{SEARCH_SECONDS} is {said!r}; give a number of seconds from 0 to 3600"
        ) from None
    return replace(config, fixers=replace(config.fixers, search=search))


def _read(document: Document, prefix: Pointer) -> Config:
    source = Source(document, ConfigError, prefix)
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
