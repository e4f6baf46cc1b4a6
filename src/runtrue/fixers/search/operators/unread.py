"""Unread variables: a value that a function works out and never reads, put to use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import Function, Program

#: Where a name is written that may be another one.
_ROLES = frozenset(
    ("returned", "argument", "keyword", "element", "operand", "compared", "assigned")
)
#: The most of them in a function: with more, it is hardly a slip.
_MOST = 3


def use_unread(site: EditSite) -> Iterator[Edit]:
    """A variable that nothing reads: given as a further element or argument, or for another."""
    program, node = site.program, site.node
    if not isinstance(node, ast.Tuple | ast.List | ast.Call | ast.Name) or not site.is_read:
        return
    if (function := program.function_of(node)) is None:
        return
    for name in _unread(program, function):
        match node:
            case ast.Name(id=other) if site.role in _ROLES and other != name:
                yield program.replace("unread", node, name, unlikely=0.5)
            case ast.Tuple(elts=[*_, last]) | ast.List(elts=[*_, last]):
                yield _behind(program, node, last, name, 0.3)
            case ast.Call(args=[*_, last], keywords=[]) if not isinstance(last, ast.GeneratorExp):
                yield _behind(program, node, last, name, 1.0)


def _behind(program: Program, node: ast.AST, last: ast.AST, name: str, unlikely: float) -> Edit:
    end = program.span(last)[1]
    says = f"`{name}`, which nothing reads, added to `{program.source(node)[:40]}`"
    return program.edit("unread", node, says, Splice(end, end, f", {name}"), unlikely=unlikely)


@lru_cache(maxsize=512)
def _unread(program: Program, function: Function) -> tuple[str, ...]:
    """Return the variables that a function assigns by themselves and that are never read in it."""
    assigned = dict.fromkeys(
        target.id
        for one in walk(function, ast.Assign, ast.AnnAssign)
        for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
        if isinstance(target, ast.Name) and one.value is not None
    )
    shared = {name for one in walk(function, ast.Global, ast.Nonlocal) for name in one.names}
    read = {one.id for one in walk(function, ast.Name) if not isinstance(one.ctx, ast.Store)}
    # What is counted up is read in doing so, and locals() may read anything.
    found = [one for one in assigned if one not in read | shared and not one.startswith("_")]
    return () if len(found) > _MOST or "locals" in read else tuple(found)
