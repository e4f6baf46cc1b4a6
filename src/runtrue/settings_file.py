"""Settings and other files of a project, read without regard to who wrote them."""

from __future__ import annotations

import configparser
import json
import tomllib
from pathlib import Path
from typing import Any


def read_settings(path: Path) -> dict[str, Any]:
    """Return a file's tables; none if it cannot be read, which its own tool reports better."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            return tomllib.loads(text)
        if path.suffix == ".json":
            return subtable({"": json.loads(text)}, "")
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(text)
    except (OSError, ValueError, configparser.Error):
        return {}
    return {name: dict(parser[name]) for name in parser.sections()}


def lenient_text(file: Path) -> str:
    """Return a file's text, with what is no UTF-8 replaced; empty if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def subtable(table: Any, *keys: str) -> dict[str, Any]:
    """Return a table within a table; an empty one if there is none."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}
