"""Parts of files that judge, where the rest of the file is for a fix to change.

A project's description stands beside the settings of its checks, and Rust's tests beside the code.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

#: Keys that describe a package to people or to those who use it. What decides how it is installed,
#: resolved, built or tested is not among them: dependencies stay unless the user names the file.
_FREE = frozenset(
    {
        *("name", "version", "description", "readme", "license", "license-files", "authors"),
        *("maintainers", "keywords", "classifiers", "urls", "author", "contributors", "homepage"),
        *("repository", "bugs", "funding", "files", "main", "module", "browser", "types"),
        *("typings", "bin", "man", "directories", "private", "sideEffects", "gui-scripts"),
    }
)
_RUST_TEST = re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case)\b[^\n]*")


def is_mixed(file: str) -> bool:
    """True if only a part of a file's keys judge."""
    return PurePosixPath(file).name in ("pyproject.toml", "package.json")


def judges_differ(file: str, before: bytes | None, after: bytes | None) -> bool:
    """True if what judges in a mixed file differs; always for one that cannot be read."""
    old, new = _judging_keys(file, before), _judging_keys(file, after)
    return old is None or new is None or old != new


def lost_tests(file: str, before: bytes | None, after: bytes | None) -> bool:
    """True if a source file lacks a test that it had, or has it otherwise; more may be added."""
    if not file.endswith(".rs") or before is None or b"#[" not in before:
        return False
    return not frozenset(_rust_tests(before)) <= frozenset(_rust_tests(after or b""))


def _judging_keys(file: str, content: bytes | None) -> Any:
    try:
        text = (content or b"").decode()
        table = json.loads(text) if file.endswith(".json") else tomllib.loads(text)
        if file.endswith(".json"):
            return {key: value for key, value in table.items() if key not in _FREE}
        project = table.get("project", {})
        own = {key: value for key, value in project.items() if key not in {*_FREE, "scripts"}}
        return {**table, "project": own}
    except (ValueError, AttributeError, RecursionError):
        return None


def _rust_tests(content: bytes) -> Iterator[str]:
    """Yield the functions that are marked as tests, each to its closing brace."""
    text = content.decode(errors="replace")
    for found in _RUST_TEST.finditer(text):
        depth, begin = 0, text.find("{", found.end())
        for index in range(begin, len(text) if begin >= 0 else begin):
            depth += (text[index] == "{") - (text[index] == "}")
            if depth == 0:
                yield text[found.start() : index + 1]
                break
