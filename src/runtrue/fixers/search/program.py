"""Programs: a file's syntax tree beside its text, so that edits change nothing else."""

from __future__ import annotations

import ast
import builtins
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from runtrue.fixers.search.edit import MARK, Edit, Splice, parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_BARE = re.compile(r"(?<!\r)\n")
_SCOPES = (*_FUNCTION, ast.Lambda, ast.ClassDef, ast.Module)


class Program:
    """One parsed file. Positions are characters of `text`. Raises SyntaxError."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.tree = parsed(text)
        #: Where the program begins: behind a byte order mark.
        self.begin = len(text) - len(text.removeprefix(MARK))
        self._lines = text[self.begin :].split("\n")
        self._starts = [self.begin]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._is_of_windows = self._lines[0].endswith("\r")
        self._names: dict[ast.AST, dict[str, int]] = {}
        self.parents: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    # -- positions ------------------------------------------------------------------------------

    def offset(self, line: int, column: int) -> int:
        """Return the position of a line (from 1) and a column (in bytes, as in the tree)."""
        content = self._lines[line - 1]
        if not content.isascii():
            column = len(content.encode()[:column].decode(errors="ignore"))
        return self._starts[line - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the start and end of a node. Decorators are not part of a definition."""
        at: Any = node
        return (
            self.offset(at.lineno, at.col_offset),
            self.offset(at.end_lineno, at.end_col_offset),
        )

    def source(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def line_of(self, offset: int) -> int:
        """Return the line, from 1, of a position."""
        return bisect_right(self._starts, offset)

    def indent_of(self, line: int) -> str:
        """Return the indentation of a line."""
        content = self._lines[line - 1]
        return content[: len(content) - len(content.lstrip())]

    def line_span(self, node: ast.stmt) -> tuple[int, int]:
        """Return the span of a statement's whole lines, with decorators and the line's end."""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        last = node.end_lineno or first
        return self._starts[first - 1], min(self._starts[last], len(self.text))

    def alone(self, node: ast.stmt) -> bool:
        """Return whether a statement shares its lines with no other: no `;`, no colon before."""
        start, end = self.line_span(node)
        inside = self.span(node)
        before, after = self.text[start : inside[0]], self.text[inside[1] : end]
        return not before.strip() and not re.sub(r"#.*", "", after).strip()

    @cached_property
    def step(self) -> str:
        """One level of indentation in this file."""
        for node in ast.walk(self.tree):
            body = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(body, list) and body:
                outer, inner = self.indent_of(node.lineno), self.indent_of(body[0].lineno)
                if len(inner) > len(outer) and inner.startswith(outer):
                    return inner[len(outer) :]
        return "    "

    # -- the tree -------------------------------------------------------------------------------

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, the nearest first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the function that a node is in."""
        return next((a for a in self.ancestors(node) if isinstance(a, _FUNCTION)), None)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the class that a node is in, however deep."""
        return next((a for a in self.ancestors(node) if isinstance(a, ast.ClassDef)), None)

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """Return the statement that a node is, or is in."""
        if isinstance(node, ast.stmt):
            return node
        return next(a for a in self.ancestors(node) if isinstance(a, ast.stmt))

    def block_of(self, node: ast.stmt) -> list[ast.stmt]:
        """Return the block of statements that a statement is in."""
        parent = self.parents[node]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and node in block:
                return block
        for case in getattr(parent, "handlers", []) + getattr(parent, "cases", []):
            if node in case.body:
                return list(case.body)
        return [node]

    def scope_of(self, node: ast.AST) -> ast.AST:
        """Return the function, lambda, class or module whose names a node sees first."""
        return next((a for a in self.ancestors(node) if isinstance(a, _SCOPES)), self.tree)

    def scopes_of(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the scopes whose names a node sees, the nearest first."""
        inner = True
        for scope in (a for a in self.ancestors(node) if isinstance(a, _SCOPES)):
            if inner or not isinstance(scope, ast.ClassDef):
                yield scope  # a method does not see the names of its class
            inner = False

    def names_in(self, scope: ast.AST) -> dict[str, int]:
        """Return the names that a scope itself binds, with the line that first does."""
        if scope not in self._names:
            found: dict[str, int] = {}
            for node in own_nodes(scope):
                line = getattr(node, "lineno", 1)
                for name in _bound_by(node):
                    found[name] = min(line, found.get(name, line))
            self._names[scope] = found
        return self._names[scope]

    def visible(self, node: ast.AST) -> list[str]:
        """Return the names that can be used at a node, the nearest scope first; no builtins.

        Without locals that are only bound after the node's line, unless a loop is around both.
        """
        found: dict[str, None] = {}
        line = self.statement_of(node).lineno
        inner = True
        for scope in self.scopes_of(node):
            in_loop = any(
                isinstance(a, ast.For | ast.While | ast.AsyncFor) for a in self.ancestors(node)
            )
            for name, bound in self.names_in(scope).items():
                if not inner or bound <= line or in_loop:
                    found.setdefault(name)
            inner = False
        return list(found)

    @cached_property
    def _functions(self) -> list[tuple[int, int]]:
        """The first and last line of each function, decorators too, the largest first."""
        found = [
            (min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or 0)
            for node in ast.walk(self.tree)
            if isinstance(node, _FUNCTION)
        ]
        return sorted(found, key=lambda lines: lines[0] - lines[1])

    def around(self, edit: Edit) -> tuple[int, int]:
        """Return the first and last line of an edit's outermost function, or of all."""
        lines = [self.line_of(at) for one in edit.splices for at in (one.start, one.end)]
        for first, last in self._functions:
            if first <= min(lines) and max(lines) <= last:
                return first, last
        return 1, len(self._lines)

    def body_around(self, edit: Edit) -> tuple[int, int] | None:
        """Return the first and last line of the body of the function that an edit is in, if any."""
        lines = [self.line_of(at) for one in edit.splices for at in (one.start, one.end)]
        found = [
            (first, last)
            for first, last in self._bodies
            if first <= min(lines) and max(lines) <= last + 1
        ]
        return min(found, key=lambda one: one[1] - one[0], default=None)

    @cached_property
    def _bodies(self) -> list[tuple[int, int]]:
        """The lines of the body of each function that begins on a line of its own."""
        functions = [node for node in ast.walk(self.tree) if isinstance(node, _FUNCTION)]
        return [
            (node.body[0].lineno, node.end_lineno or node.lineno)
            for node in functions
            if node.body[0].lineno > node.lineno
        ]

    @cached_property
    def lines_outside_functions(self) -> frozenset[int]:
        """The lines that run when the module is imported."""
        inside = {n for first, last in self._bodies for n in range(first, last + 1)}
        return frozenset(range(1, len(self._lines) + 1)) - inside

    @cached_property
    def _pieces(self) -> list[tuple[int, int]]:
        """The spans of the whole lines of each statement, the smallest first."""
        found = {self.line_span(node) for node in ast.walk(self.tree) if isinstance(node, ast.stmt)}
        return sorted(found, key=lambda piece: (piece[1] - piece[0], piece))

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the statements' spans around a part of the text, the smallest first; then all."""
        yield from (piece for piece in self._pieces if piece[0] <= start and end <= piece[1])
        yield self.begin, len(self.text)

    # -- edits ----------------------------------------------------------------------------------

    def edit(
        self,
        kind: str,
        node: ast.AST,
        says: str,
        *splices: Splice,
        unlikely: float = 1.0,
        doubt: str | None = None,
    ) -> Edit:
        """Return an edit at a node, with the line ends of the file."""
        if self._is_of_windows:
            splices = tuple(replace(s, text=_BARE.sub("\r\n", s.text)) for s in splices)
        return Edit(
            file=self.file,
            splices=tuple(sorted(splices)),
            kind=kind,
            line=getattr(node, "lineno", 1),
            says=says,
            unlikely=unlikely,
            doubt=doubt,
        )

    def replace(
        self,
        kind: str,
        node: ast.AST,
        text: str,
        *,
        says: str | None = None,
        unlikely: float = 1.0,
        doubt: str | None = None,
    ) -> Edit:
        """Return an edit that replaces a node."""
        start, end = self.span(node)
        says = says or f"`{_short(self.text[start:end])}` → `{_short(text)}`"
        one = Splice(start, end, text)
        return self.edit(kind, node, says, one, unlikely=unlikely, doubt=doubt)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "…"


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, and inner scopes, but not their nodes."""
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop(0)
        yield node
        if not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name


#: Python's built-in names.
BUILTINS = frozenset(dir(builtins))
