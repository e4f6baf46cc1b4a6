"""Plugins: what packages installed beside runtrue add to it, by entry point."""

from __future__ import annotations

import inspect
from enum import StrEnum
from importlib import metadata
from typing import Any

from runtrue.errors import UsageError


class PluginGroup(StrEnum):
    """A group of entry points; the name of an entry point is what users and commands call it."""

    NODES = "runtrue.nodes"
    READERS = "runtrue.readers"
    FIXERS = "runtrue.fixers"
    GATES = "runtrue.gates"
    NOTIFIERS = "runtrue.notifiers"
    SECRETS = "runtrue.secrets"
    MODELS = "runtrue.models"


def find_plugins(group: PluginGroup) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of a group by name, without importing any."""
    return {point.name: point for point in metadata.entry_points(group=group)}


def plugin_named(group: PluginGroup, name: str, base: type) -> type[Any] | None:
    """Import the plugin of that name; None if nobody brings one. Raises UsageError."""
    point = find_plugins(group).get(name)
    return None if point is None else load_plugin(point, base)


def load_plugin(point: metadata.EntryPoint, base: type) -> type[Any]:
    """Import the class of an entry point. Raises UsageError if it has not all that `base` has."""
    where = f"the plugin {point.name!r} of the group {point.group}"
    try:
        loaded = point.load()
    except Exception as error:
        raise UsageError(
            f"{where}: {point.value!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    wanted = f"{base.__module__.rpartition('.')[0]}.{base.__qualname__}"
    if not inspect.isclass(loaded):
        raise UsageError(f"{where}: {point.value!r} is not a class derived from {wanted}")
    if getattr(base, "_is_protocol", False):
        names = sorted(name for name in vars(base) if not name.startswith("_"))
        if missing := [name for name in names if not hasattr(loaded, name)]:
            raise UsageError(f"{where}: {point.value!r} has no {missing[0]!r}; {wanted} has one")
    elif not issubclass(loaded, base):
        raise UsageError(f"{where}: {point.value!r} is not a class derived from {wanted}")
    return loaded
