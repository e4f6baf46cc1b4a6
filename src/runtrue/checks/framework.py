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

#: Programs that look at code without running it: linters, formatters and type checkers.
_LINTERS = frozenset(
    {
        *("ruff", "mypy", "dmypy", "pyright", "basedpyright", "ty", "pytype", "flake8", "pylint"),
        *("black", "isort", "autopep8", "yapf", "pydocstyle", "bandit", "vulture"),
        *("eslint", "stylelint", "biome", "prettier", "tsc", "standard", "xo", "oxlint"),
        *("gofmt", "goimports", "golangci-lint", "staticcheck", "rustfmt", "clippy-driver"),
        *("checkstyle", "shellcheck", "yamllint", "markdownlint"),
    }
)
#: What only starts another program that is named behind it.
_STARTER = re.compile(r"python[\d.]*|npx|bunx|npm|pnpm|yarn|bun|uv|uvx|poetry|pdm|hatch|run|exec")


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


def is_linter(command: str) -> bool:
    """True if a command looks at code without running it, as linters and formatters do."""
    if is_shell(command):
        return False
    words = shlex.split(command)
    names = [Path(word).name for word in words if not word.startswith("-")]
    starts = (name for name in names if not _STARTER.fullmatch(name))
    return next(starts, "") in _LINTERS or words[:2] in (["go", "vet"], ["cargo", "clippy"])


def framework_of(command: str, directory: Path) -> Framework:
    """Return the framework that a test command runs in a directory."""
    tool = tool_of(command, directory)
    return Framework(tool) if tool in set(Framework) else Framework.OTHER


def language_of(path: str | PurePath) -> Language:
    """Return the language of a file, by its name."""
    return _SUFFIXES.get(PurePath(path).suffix.lower(), Language.OTHER)
