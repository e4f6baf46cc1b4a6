"""Parts of files that judge, where the rest of the file is for a fix to change.

A project's description is beside the settings of its checks, and tests of Rust and examples in
docstrings are beside the code.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from doctest import DocTestParser
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
#: Stands among the patterns for judges of a check that runs the examples in docstrings.
DOCTESTS = "doctests:"
_DOCUMENTS = frozenset({".md", ".rst", ".txt"})
_RUST_EXAMPLE = re.compile(
    r"^[ \t]*//[/!][ \t]*```[^\n]*\n(?:[ \t]*//[/!][^\n]*\n)*?[ \t]*//[/!][ \t]*```", re.M
)
_RUST_TEST = re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case)\b[^\n]*")


def is_mixed(file: str) -> bool:
    """True if only a part of a file's keys judge."""
    return PurePosixPath(file).name in ("pyproject.toml", "package.json")


def judges_differ(file: str, before: bytes | None, after: bytes | None) -> bool:
    """True if what judges in a mixed file differs; always for one that cannot be read."""
    old, new = _judging_keys(file, before), _judging_keys(file, after)
    return old is None or new is None or old != new


def lost_tests(
    file: str, before: bytes | None, after: bytes | None, *, doctests: bool = False
) -> bool:
    """True if a file lacks a test that it had, or has it otherwise; more may be added.

    Examples in docstrings and documents count where `doctests` are run.
    """
    if before is None:
        return False
    if file.endswith(".rs"):
        return not frozenset(_rust_tests(before)) <= frozenset(_rust_tests(after or b""))
    if doctests and b">>>" in before:
        return not frozenset(_examples(file, before)) <= frozenset(_examples(file, after or b""))
    return False


def _examples(file: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the examples of a module's docstrings, or of a document, each with what it prints."""
    text = content.decode(errors="replace")
    texts = [text] if PurePosixPath(file).suffix in _DOCUMENTS else _docstrings(text)
    for one in texts:
        try:
            found = DocTestParser().get_examples(one)
        except ValueError:  # its own runner complains better
            continue
        yield from ((example.source, example.want) for example in found)


def _docstrings(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and (found := ast.get_docstring(node)):
            yield found


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
    """Yield the functions that are marked as tests, each to its closing brace, and examples."""
    text = content.decode(errors="replace")
    yield from (found[0] for found in _RUST_EXAMPLE.finditer(text))
    for found in _RUST_TEST.finditer(text):
        depth, begin = 0, text.find("{", found.end())
        for index in range(begin, len(text) if begin >= 0 else begin):
            depth += (text[index] == "{") - (text[index] == "}")
            if depth == 0:
                yield text[found.start() : index + 1]
                break
