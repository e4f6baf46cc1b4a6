"""Ranges: the lines of a long file that matter, as whole functions where those can be found."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Set
from pathlib import PurePosixPath

#: Lines shown around one that matters, and the longest function that is shown as a whole.
_AROUND = 40
_LONGEST = 150
#: Lines shown from a definition on, in languages whose functions are not parsed here.
_DEFINITION = 30
_DEFINED = re.compile(
    r"^\s*(?:(?:export|default|async|pub|public|private|protected|static|final)\s+)*"
    r"(?:(?:def|function\*?|func(?:\s*\([^)]*\))?|fn|class|struct|type|const|let|var)\s+)(\w+)",
)

Range = tuple[int, int]


def relevant_ranges(
    file: str, text: str, lines: Set[int] = frozenset(), names: Set[str] = frozenset()
) -> list[Range]:
    """Return the lines, from 1, that matter: around `lines`, and where `names` are defined."""
    count = text.count("\n") + 1
    functions = _functions(file, text)
    found = [_around(line, functions, count) for line in lines if 1 <= line <= count]
    if functions:
        found += [(first, last) for name, first, last in functions if name in names]
    else:
        found += _definitions(text, names, count)
    return _merged(found)


def words_in(text: str, ranges: Iterable[Range]) -> frozenset[str]:
    """Return the names that occur in ranges of a text."""
    lines = text.split("\n")
    parts = ("\n".join(lines[first - 1 : last]) for first, last in ranges)
    return frozenset(word for part in parts for word in re.findall(r"[^\W\d]\w{2,}", part))


def _functions(file: str, text: str) -> list[tuple[str, int, int]]:
    """Return the name, first and last line of each function of Python, the outer ones first."""
    if PurePosixPath(file).suffix not in (".py", ".pyi"):
        return []
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [
        (node.name, _first_line(node), node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _around(line: int, functions: Iterable[tuple[str, int, int]], count: int) -> Range:
    """Return the innermost function that holds a line, or the lines around it."""
    holding = [(first, last) for _, first, last in functions if first <= line <= last]
    if holding:
        first, last = max(holding)
        if last - first < _LONGEST:
            return first, last
    return max(1, line - _AROUND), min(count, line + _AROUND)


def _definitions(text: str, names: Set[str], count: int) -> Iterator[Range]:
    if not names:
        return
    for number, line in enumerate(text.split("\n"), start=1):
        match = _DEFINED.match(line)
        if match and match[1] in names:
            yield number, min(count, number + _DEFINITION)


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
