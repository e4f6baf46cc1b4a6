"""Closures: functions made in a loop that see only what its last round has left."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.operators.layout import loop_of
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Function, Program

Closure = ast.Lambda | Function


@edits("bind")
def bind(site: EditSite, node: Closure) -> Ways:
    """The value of this round, as a default: `lambda v, scale=scale: v * scale`."""
    program = site.program
    loop = loop_of(program, node)
    if loop is None:
        return
    here = _default_splices(program, node, loop)
    every = [
        made
        for one in ast.walk(loop)
        if isinstance(one, Closure) and loop_of(program, one) is loop
        for made in _default_splices(program, one, loop)
    ]
    for n, splices in enumerate(dict.fromkeys([tuple(every), tuple(here)])):
        if splices:
            names = ", ".join(dict.fromkeys(one.text.strip(" ,") for one in splices))
            says = f"`{names}` bound in each round of the loop"
            yield program.edit("bind", node, says, *splices, unlikely=1.0 + n / 2)


def _default_splices(program: Program, node: Closure, loop: ast.stmt) -> list[Splice]:
    """Return the defaults a function needs for names that each round of the loop binds."""
    spec = node.args
    own = {one.arg for one in walk(spec, ast.arg)}
    if spec.vararg or spec.kwarg or spec.kwonlyargs:
        return []
    body = node.body if isinstance(node.body, list) else [node.body]
    inside = [one for part in body for one in ast.walk(part)]
    wanted = _bound_by_round(program, node, loop) - own - _stored(inside)
    names = [one.id for one in inside if isinstance(one, ast.Name) and one.id in wanted]
    if not names:
        return []
    text = ", ".join(f"{name}={name}" for name in dict.fromkeys(names))
    given = [*spec.args, *spec.defaults]
    if given:
        end = max(program.span(one)[1] for one in given)
        return [Splice(end, end, f", {text}")]
    start, end = program.span(node)
    if isinstance(node, ast.Lambda):
        return [Splice(start + len("lambda"), start + len("lambda"), f" {text}")]
    at = program.text.index("(", start) + 1
    return [Splice(at, at, text)]


def _bound_by_round(program: Program, node: Closure, loop: ast.stmt) -> set[str]:
    """The names that a round of a loop binds, or one of a loop around it, but not the function."""
    within = set(ast.walk(node))
    found = _stored(one for one in ast.walk(loop) if one not in within)
    for outer in program.ancestors(loop):
        if isinstance(outer, ast.For | ast.AsyncFor):
            found |= _stored(ast.walk(outer.target))
        elif isinstance(outer, Function | ast.Lambda):
            break
    return found


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    return {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
