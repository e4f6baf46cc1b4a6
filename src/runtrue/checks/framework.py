"""Frameworks and languages, by the names that records give them."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from pathlib import Path, PurePath

from runtrue.checks.line import is_shell
from runtrue.checks.reach import reach_of


class Framework(StrEnum):
    """A test runner."""

    JEST = "jest"
    VITEST = "vitest"
    MOCHA = "mocha"
    PYTEST = "pytest"
    GO_TEST = "go_test"
    CARGO_TEST = "cargo_test"
    JUNIT = "junit"
    OTHER = "other"


class Language(StrEnum):
    """A programming language."""

    TYPESCRIPT = "typescript"
    JAVASCRIPT = "javascript"
    PYTHON = "python"
    GO = "go"
    RUST = "rust"
    JAVA = "java"
    OTHER = "other"


_SUFFIXES = {
    **dict.fromkeys((".ts", ".tsx", ".mts", ".cts"), Language.TYPESCRIPT),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), Language.JAVASCRIPT),
    **dict.fromkeys((".py", ".pyi", ".pyw"), Language.PYTHON),
    ".go": Language.GO,
    ".rs": Language.RUST,
    ".java": Language.JAVA,
}


def tool_of(command: str, directory: Path | None = None) -> str | None:
    """Return the tool that a command runs, if its report can be read: a framework, ruff or mypy.

    `directory` is where the command runs: it holds the script of `npm test`. pytest is
    reached through its environment variable, even from within a line for the shell; ruff and mypy
    need an argument of their own.
    """
    if is_shell(command):
        if re.search(r"\b(pytest|py\.test)\b", command):
            return "pytest"
    else:
        words = shlex.split(command)
        names = [Path(word).name for word in words]
        for index, name in enumerate(names):
            if name in ("pytest", "py.test"):
                return "pytest"
            if name == "mypy":
                return "mypy"
            if name == "ruff" and "check" in words[index + 1 :]:
                return "ruff"
    reach = reach_of(command, directory)
    return reach.tool if reach else None


def framework_of(command: str, directory: Path) -> Framework:
    """Return the framework that a test command runs in a directory."""
    tool = tool_of(command, directory)
    return Framework(tool) if tool in set(Framework) else Framework.OTHER


def language_of(path: str | PurePath) -> Language:
    """Return the language of a file, by its name."""
    return _SUFFIXES.get(PurePath(path).suffix.lower(), Language.OTHER)
