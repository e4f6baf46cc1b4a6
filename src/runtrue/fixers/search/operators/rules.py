"""Rules: rewrites of expressions as data, `"{a} // {b}" → "({a} + {b} - 1) // {b}"`.

A hole such as `{a}` stands for any expression, and `{*rest}` at the end of a call's arguments for
all that are left. What fills a hole gets the brackets that it needs there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.precedence import (
    ATOM,
    NAMED,
    Code,
    at_least,
    level_needed,
    level_of,
    rewrite,
)
from runtrue.fixers.search.operators.seam import EditSite

_HOLE = re.compile(r"\{(\*?)(\w+)\}")
_NAME = re.compile(r"_hole_(\w+)")


class _Part(NamedTuple):
    """A part of a template: a hole, or texts and the parts between them."""

    hole: str = ""
    level: int = ATOM
    #: Texts; and parts, each with the level it needs (None: never brackets), and if `.` follows.
    pieces: tuple[str | tuple[_Part, int | None, bool], ...] = ()


@cache
def _tree(template: str) -> tuple[str, ast.expr]:
    text = _HOLE.sub(r"\1_hole_\2", template)
    return text, ast.parse(text, mode="eval").body


@cache
def _compiled(template: str) -> _Part:
    return _part(*_tree(template))


def _part(text: str, node: ast.expr) -> _Part:
    if isinstance(node, ast.Name) and (hole := _NAME.fullmatch(node.id)):
        return _Part(hole[1])
    at = node.col_offset
    pieces: list[str | tuple[_Part, int | None, bool]] = []
    for child in _children(node):
        start, end = child.col_offset, child.end_col_offset or 0
        if not isinstance(node, ast.Call) and text[start - 1 : start] + text[end : end + 1] == "()":
            start, end = start - 1, end + 1  # brackets only say what belongs together
        is_owner = isinstance(node, ast.Attribute)
        pieces += [text[at:start], (_part(text, child), _needed(node, child), is_owner)]
        at = end
    return _Part("", level_of(node), (*pieces, text[at : node.end_col_offset]))


def fill(template: str, **parts: Code | str) -> Code:
    """Write a template with an expression in each hole; a plain string binds as an atom."""
    return _filled(_compiled(template), parts)


def _filled(part: _Part, parts: Mapping[str, Code | str]) -> Code:
    if part.hole:
        filler = parts[part.hole]
        return Code(filler) if isinstance(filler, str) else filler
    written = ""
    for piece in part.pieces:
        if isinstance(piece, str):
            written += piece
            continue
        inner, level, is_owner = piece
        one = _filled(inner, parts)
        if level is None:
            written += one.text
        else:
            number = is_owner and one.text.isdigit()
            written += f"({one.text})" if number else at_least(one, level)
    return Code(written, part.level)


def _children(node: ast.AST) -> list[ast.expr]:
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        found += [child] if isinstance(child, ast.expr) else _children(child)
    return sorted(found, key=lambda one: one.col_offset)


def _needed(parent: ast.expr, child: ast.expr) -> int | None:
    """Return how tightly a part has to bind; None for what never needs brackets."""
    base = getattr(parent, "func" if isinstance(parent, ast.Call) else "value", None)
    if isinstance(parent, ast.Call | ast.Subscript) and child is not base:
        return None if isinstance(child, ast.Slice) else NAMED
    level = level_needed(parent, child)
    is_chain = isinstance(child, ast.Attribute | ast.Subscript | ast.Call)
    return None if is_chain and level == ATOM else level


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
    site: EditSite,
    kind: str,
    node: ast.expr,
    ways: Mapping[str, float],
    more: float = 0.0,
    **parts: ast.expr | Code | str,
) -> Iterator[Edit]:
    """Propose each way to write a node, where `more` is how much rarer all of them are."""
    for made, unlikely in filled(site, ways, more, **parts):
        yield rewrite(site.program, kind, node, made, unlikely=unlikely)


def filled(
    site: EditSite, ways: Mapping[str, float], more: float = 0.0, /, **parts: ast.expr | Code | str
) -> Iterator[tuple[Code, float]]:
    """Fill each template, where `more` is how much rarer all of them are."""
    codes = {
        name: site.code(part) if isinstance(part, ast.expr) else part
        for name, part in parts.items()
    }
    for template, unlikely in ways.items():
        yield fill(template, **codes), unlikely + more


Holes = dict[str, ast.expr]


@dataclass(frozen=True, slots=True)
class Rule:
    """An operator as data: whatever fits the pattern, written in other ways.

    Each way has how unlikely it is. `where` says if the rule holds at a site for what fills the
    holes, or how much rarer all ways are there.
    """

    kind: str
    pattern: str
    ways: Mapping[str, float]
    where: Callable[[EditSite, Holes], bool | float] | None = None

    def __call__(self, site: EditSite) -> Iterator[Edit]:
        """Propose all ways, if the node fits."""
        node = site.node
        if isinstance(node, ast.expr) and (found := matched(self.pattern, node)) is not None:
            more = self.where(site, found) if self.where else True
            if more is not False:
                yield from rewrites(
                    site, self.kind, node, self.ways, 0.0 if more is True else more, **found
                )


def rules(kind: str, rows: Mapping[str, Mapping[str, float]]) -> tuple[Rule, ...]:
    """Return the rules of a table of patterns and ways."""
    return tuple(Rule(kind, pattern, ways) for pattern, ways in rows.items())
