"""Beginnings: lines that a function lacks before it uses a variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice, product

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.assignments import beginnings
from runtrue.fixers.search.operators.layout import (
    LOOPS,
    around,
    before,
    entered,
    first_of,
    free,
    is_known,
    jumps_out,
    line_after,
    line_before,
    parameters,
    rigid,
    undefined,
)
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Function, Program

_MOST_TOGETHER = 12
_SORTS = ("{0}.sort()", "{0}.sort(reverse=True)", "{0}.reverse()")


def begin_together(site: EditSite) -> Iterator[Edit]:
    """A beginning for each of several variables that have none."""
    function = entered(site.program, site.node)
    if function is None or not free(site.program, first := first_of(function)):
        return
    names = _read_before_assigned(site.program, function)
    if not 2 <= len(names) <= 3:
        return
    choices = [beginnings(site.program, function, name)[:3] for name in names]
    ways = sorted(product(*(range(len(one)) for one in choices)), key=sum)
    for n, way in enumerate(islice(ways, _MOST_TOGETHER)):
        lines = [
            f"{name} = {choice[at]}" for name, choice, at in zip(names, choices, way, strict=True)
        ]
        says, made = f"`{'; '.join(lines)}` at first", before(site.program, first, *lines)
        yield site.program.edit("begin", first, says, made, unlikely=1.5 + 0.2 * n)


def _read_before_assigned(program: Program, function: Function) -> list[str]:
    read: dict[str, None] = {}
    bound = {one.arg for one in walk(function.args, ast.arg)}
    own = program.names_in(function)
    for node in _in_evaluation_order(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            bound.update(node.names)
        if not isinstance(node, ast.Name):
            continue
        if isinstance(node.ctx, ast.Store) and not isinstance(program.parents[node], ast.AugAssign):
            bound.add(node.id)
        elif node.id not in bound and (node.id in own or not is_known(program, node)):
            read.setdefault(node.id)
    return list(read)


def _in_evaluation_order(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes in the order they are worked out: values before targets, loops before elements."""
    yield node
    if isinstance(node, ast.Lambda | ast.ClassDef):
        return
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Assign):
        parts = [node.value, *node.targets]
    elif isinstance(node, ast.For | ast.AsyncFor):
        parts = [node.iter, node.target, *node.body, *node.orelse]
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        parts = [*node.generators, node.elt]
    elif isinstance(node, ast.DictComp):
        parts = [*node.generators, node.key, node.value]
    elif isinstance(node, ast.comprehension):
        parts = [node.iter, node.target, *node.ifs]
    for one in parts:
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _in_evaluation_order(one)


@edits("loop")
def add_loop(site: EditSite, node: ast.stmt) -> Ways:
    """`for row in rows:` before lines that use a `row` that is nowhere."""
    program = site.program
    if not undefined(program) or not free(program, node):
        return
    used = list(walk(node, ast.Name))
    lost = [one for one in used if one.id in undefined(program) and not is_known(program, one)]
    if not lost or rigid(node):
        return
    name = lost[0].id
    many = [one for one in program.visible(node) if _is_plural(name, one)]
    block = program.block_of(node)
    at = block.index(node)
    run = [
        one
        for one in block[at : at + 4]
        if free(program, one) and not rigid(one) and not jumps_out(one)
    ]
    for collection in many[:2]:
        for count in range(1, len(run) + 1):
            if run[count - 1] is not block[at + count - 1]:
                break
            last = run[count - 1]
            head = f"for {name} in {collection}:"
            uses = any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(last))
            says, rare = f"`{head}` around it", 1.0 + 0.5 * (not uses) + 0.2 * count
            yield around(program, "loop", node, says, head, last=last, unlikely=rare)


def _is_plural(one: str, many: str) -> bool:
    low, other = one.lower(), many.lower()
    plural = (f"{low}s", f"{low}es", f"{low[:-1]}ies", f"{low}_list", f"all_{low}s", f"{low}list")
    return other in plural


def sort_first(site: EditSite) -> Iterator[Edit]:
    """A sequence sorted, or turned round, before it is gone through."""
    node, program = site.node, site.program
    function = entered(program, node)
    if function is not None and free(program, first := first_of(function)):
        for n, name in enumerate(parameters(function)[:3]):
            if _is_iterated(function, name):
                for m, form in enumerate(_SORTS):
                    line, rare = form.format(name), 3.0 + 0.5 * (n + m)
                    yield line_before(program, "sort", first, "first", line, unlikely=rare)
    inside = program.function_of(node)
    if isinstance(node, ast.Assign) and inside is not None and free(program, node):
        aim = node.targets[0]
        fits = isinstance(node.value, ast.ListComp | ast.Call)
        if fits and isinstance(aim, ast.Name) and _is_iterated(inside, aim.id):
            for m, form in enumerate(_SORTS):
                line = form.format(aim.id)
                yield line_after(program, "sort", node, "behind it", line, unlikely=2.5 + m)


def _is_iterated(function: Function, name: str) -> bool:
    for one in ast.walk(function):
        if isinstance(one, (*LOOPS[:2], ast.comprehension)) and _mentions(one.iter, name):
            return True
        if isinstance(one, ast.Subscript) and _mentions(one.value, name):
            return True
    return False


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))
