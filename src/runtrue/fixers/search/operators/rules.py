"""Rules: rewrites of expressions as data, `"{a} // {b}" → "({a} + {b} - 1) // {b}"`.

A hole such as `{a}` stands for any expression, and `{*rest}` at the end of a call's arguments for
all that are left. What fills a hole gets the brackets that it needs there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.precedence import (
    NAMED,
    Code,
    at_least,
    code,
    level_needed,
    level_of,
    rewrite,
)
from runtrue.fixers.search.operators.seam import EditSite

_HOLE = re.compile(r"\{(\*?)(\w+)\}")
_NAME = re.compile(r"_hole_(\w+)")
#: Templates of what is written instead, each with how unlikely it is.
Ways = Mapping[str, float] | Iterable[tuple[str, float]]


@cache
def _tree(template: str) -> tuple[str, ast.expr]:
    text = _HOLE.sub(r"\1_hole_\2", template)
    return text, ast.parse(text, mode="eval").body


def fill(template: str, **parts: Code | str) -> Code:
    """Write a template with an expression in each hole; a plain string binds as an atom."""
    text, tree = _tree(template)
    return _rendered(text, tree, parts)


def _rendered(text: str, node: ast.expr, parts: Mapping[str, Code | str]) -> Code:
    if isinstance(node, ast.Name) and (hole := _NAME.fullmatch(node.id)):
        part = parts[hole[1]]
        return Code(part) if isinstance(part, str) else part
    at, written = node.col_offset, ""
    for child in _children(node):
        start, end = child.col_offset, child.end_col_offset or 0
        one = _rendered(text, child, parts)
        if not isinstance(node, ast.Call) and text[start - 1 : start] + text[end : end + 1] == "()":
            start, end = start - 1, end + 1  # brackets only say what belongs together
        if not isinstance(child, ast.Slice):
            number = isinstance(node, ast.Attribute) and one.text.isdigit()
            one = Code(f"({one.text})" if number else at_least(one, _needed(node, child)))
        written += text[at:start] + one.text
        at = end
    return Code(written + text[at : node.end_col_offset], level_of(node))


def _children(node: ast.AST) -> list[ast.expr]:
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        found += [child] if isinstance(child, ast.expr) else _children(child)
    return sorted(found, key=lambda one: one.col_offset)


def _needed(parent: ast.expr, child: ast.expr) -> int:
    if isinstance(parent, ast.Call | ast.Subscript) and child is not _base(parent):
        return NAMED
    return level_needed(parent, child)


def _base(node: ast.Call | ast.Subscript) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node.value


def matched(pattern: str, node: ast.AST) -> dict[str, ast.expr] | None:
    """Return what the holes of a pattern stand for in a node, or None if it is no match."""
    found: dict[str, ast.expr] = {}
    return found if _matches(_tree(pattern)[1], node, found) else None


def _matches(pattern: object, node: object, found: dict[str, ast.expr]) -> bool:
    match pattern, node:
        case ast.Name(id=name), ast.expr() if hole := _NAME.fullmatch(name):
            found[hole[1]] = node
            return not isinstance(node, ast.Starred)
        case [*first, ast.Starred()], list():
            rest = node[len(first) :]
            return _matches(first, node[: len(first)], found) and not any(
                isinstance(one, ast.Starred) for one in rest
            )
        case list(), list():
            return len(pattern) == len(node) and all(
                _matches(a, b, found) for a, b in zip(pattern, node, strict=True)
            )
        case ast.AST(), ast.AST():
            return type(pattern) is type(node) and all(
                _matches(getattr(pattern, name), getattr(node, name), found)
                for name in pattern._fields
                if name != "ctx"
            )
        case _:
            return pattern == node


def rewrites(
    site: EditSite, kind: str, node: ast.expr, ways: Ways, more: float = 0.0, **parts: Code | str
) -> Iterator[Edit]:
    """Propose each way to write a node, where `more` is how much rarer all of them are."""
    for template, unlikely in ways.items() if isinstance(ways, Mapping) else ways:
        made = fill(template, **parts)
        yield rewrite(site.program, kind, node, made, unlikely=unlikely + more)


def apply_rules(
    site: EditSite, kind: str, node: ast.expr, rules: Mapping[str, Ways]
) -> Iterator[Edit]:
    """Propose all ways of the rules whose pattern a node matches."""
    for pattern, ways in rules.items():
        if (found := matched(pattern, node)) is not None:
            parts = {name: code(site.program, one) for name, one in found.items()}
            yield from rewrites(site, kind, node, ways, 0.0, **parts)
