"""Swaps: two arguments, operands, elements or subscripts the other way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.facts import facts_at
from runtrue.fixers.search.operators.precedence import (
    LAMBDA,
    Code,
    at_least,
    code,
    fitted,
    sign_of,
)
from runtrue.fixers.search.operators.rules import rewrites
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

_COMMUTES = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def swapped(site: EditSite) -> Iterator[Edit]:
    """Two arguments, operands, elements or targets the other way round."""
    program, node = site.program, site.node
    if isinstance(node, ast.Call) and 1 < len(node.keywords) <= 5:
        values = [word.value for word in node.keywords if word.arg is not None]
        for place, (one, other) in enumerate(_pairs(values)):
            yield _swap(program, "argument_swap", node, one, other, 1.5 + 0.3 * place)
    match node:
        case ast.Call(args=args) if len(args) > 1:
            for place, (one, other) in enumerate(_pairs(args)):
                yield _swap(program, "argument_swap", node, one, other, 1.0 + 0.3 * place)
        case ast.BinOp(left=a, right=b) if not isinstance(node.op, _COMMUTES):
            yield from _turned(site, node, a, sign_of(node.op), b, 1)
        case ast.BinOp(op=ast.Add(), left=a, right=b):
            if facts_at(program, node).type_of(node) != "int":
                yield from _turned(site, node, a, "+", b, 2.5)
        case ast.Compare(left=a, ops=[ast.In() | ast.NotIn() as operator], comparators=[b]):
            yield from _turned(site, node, a, sign_of(operator), b, 2)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if 1 < len(elements) <= 5:
            if all(isinstance(one, ast.Constant) for one in elements) and len(elements) > 2:
                return
            for place, (one, other) in enumerate(_pairs(elements)):
                yield _swap(program, "tuple_swap", node, one, other, 1.0 + 0.3 * place)
        case ast.DictComp(key=key, value=value):
            yield _swap(program, "tuple_swap", node, key, value, 1.5)
        case ast.Dict(keys=[ast.expr() as key], values=[value]):
            yield _swap(program, "tuple_swap", node, key, value, 3)
        case ast.Subscript(value=ast.Subscript(value=ast.expr(), slice=first), slice=second):
            if not isinstance(first, ast.Slice) and not isinstance(second, ast.Slice):
                yield _swap(program, "index_swap", node, first, second, 1.0)
        case ast.Subscript(value=ast.Name() as value, slice=ast.Name() as index):
            yield _swap(program, "index_swap", node, value, index, 5)


def _turned(
    site: EditSite, node: ast.expr, a: ast.expr, sign: str, b: ast.expr, unlikely: float
) -> Iterator[Edit]:
    yield from rewrites(site, "operand_swap", node, {f"{{b}} {sign} {{a}}": unlikely}, a=a, b=b)


def _pairs(nodes: list[ast.expr]) -> list[tuple[ast.expr, ast.expr]]:
    """The pairs that may be swapped, neighbours first; without starred ones and equal ones."""
    places = sorted(combinations(range(len(nodes)), 2), key=lambda pair: pair[1] - pair[0])
    found = [(nodes[a], nodes[b]) for a, b in places if len(nodes) <= 4 or b - a == 1]
    return [
        (one, other)
        for one, other in found
        if not isinstance(one, ast.Starred)
        and not isinstance(other, ast.Starred)
        and ast.dump(one) != ast.dump(other)
    ]


def _swap(
    program: Program, kind: str, node: ast.expr, one: ast.expr, other: ast.expr, unlikely: float
) -> Edit:
    first, second = program.span(one), program.span(other)
    a = fitted(program, other, code(program, one))
    b = fitted(program, one, code(program, other))
    says = f"`{a}` and `{b}` swapped" if len(a) + len(b) < 80 else "two parts swapped"
    splices = (Splice(*first, b), Splice(*second, a))
    return program.edit(kind, node, says, *splices, unlikely=unlikely)


@edits("element", read=True)
def elements(site: EditSite, node: ast.Tuple | ast.List) -> Ways:
    """An element too many, or one on its own where it was put beside another."""
    program = site.program
    parts = node.elts
    if not 1 < len(parts) <= 5 or any(isinstance(one, ast.Starred) for one in parts):
        return
    if isinstance(site.parent, ast.Subscript):
        return
    left, right = "()" if isinstance(node, ast.Tuple) else "[]"
    for gone in parts:
        rest = [at_least(code(program, one), LAMBDA) for one in parts if one is not gone]
        text = ", ".join(rest) + ("," if len(rest) == 1 and left == "(" else "")
        whole = Code(f"{left}{text}{right}")
        yield whole, 2 if len(parts) > 2 else 3
    if isinstance(node, ast.Tuple):
        for one in parts[:3]:
            yield code(program, one), 2


SWAPS = (swapped, elements)
