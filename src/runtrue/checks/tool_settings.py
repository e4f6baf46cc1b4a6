"""Tool settings: the file and the line by which a project configures a tool."""

from __future__ import annotations

import re
from pathlib import Path

from runtrue.settings_file import read_settings, subtable


def configured(
    directory: Path, tool: str, files: tuple[str, ...], sections: tuple[str, ...]
) -> str | None:
    """Return where a tool is configured: a file of its own, or a table of a shared one."""
    for file in files:
        if (directory / file).is_file():
            return file
    if tool in subtable(read_settings(directory / "pyproject.toml"), "tool"):
        line = _line(directory / "pyproject.toml", rf"\[tool\.{tool}[].]", r"\[tool\]")
        return f"pyproject.toml:{line} [tool.{tool}]"
    for file in ("setup.cfg", "tox.ini"):
        found = read_settings(directory / file)
        for section in sections:
            if section in found:
                line = _line(directory / file, re.escape(f"[{section}]"))
                return f"{file}:{line} [{section}]"
    return None


def _line(file: Path, *patterns: str) -> int:
    """Return the number of the first line that begins with the first of some patterns there is."""
    text = file.read_text(encoding="utf-8")
    for pattern in patterns:
        if found := re.search(rf"^\s*({pattern})", text, re.MULTILINE):
            return text.count("\n", 0, found.start(1)) + 1
    return 1
