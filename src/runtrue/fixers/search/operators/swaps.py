"""Swaps: two arguments, operands, elements or subscripts the other way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.precedence import LAMBDA, Code, at_least, code, fitted, sign_of
from runtrue.fixers.search.operators.rules import filled
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

_COMMUTES = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def swapped(site: EditSite) -> Iterator[Edit]:
    """Two arguments, elements, targets or subscripts the other way round."""
    program, node = site.program, site.node
    if not isinstance(node, ast.expr):
        return
    kind, pairs, rare = "tuple_swap", [], 1.0
    match node:
        case ast.Call(args=args, keywords=keywords):
            kind = "argument_swap"
            if 1 < len(keywords) <= 5:
                values = [word.value for word in keywords if word.arg is not None]
                for place, (one, other) in enumerate(_pairs(values)):
                    yield _swap(program, kind, node, one, other, 1.5 + 0.3 * place)
            pairs = _pairs(args)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if len(elements) <= 5:
            if len(elements) == 2 or not all(isinstance(one, ast.Constant) for one in elements):
                pairs = _pairs(elements)
        case ast.DictComp(key=key, value=value):
            pairs, rare = [(key, value)], 1.5
        case ast.Dict(keys=[ast.expr() as key], values=[value]):
            pairs, rare = [(key, value)], 3
        case ast.Subscript(value=ast.Subscript(slice=first), slice=second):
            if not isinstance(first, ast.Slice) and not isinstance(second, ast.Slice):
                kind, pairs = "index_swap", [(first, second)]
        case ast.Subscript(value=ast.Name() as value, slice=ast.Name() as index):
            kind, pairs, rare = "index_swap", [(value, index)], 5
    for place, (one, other) in enumerate(pairs):
        yield _swap(program, kind, node, one, other, rare + 0.3 * place)


@edits("operand_swap")
def turned(site: EditSite, node: ast.BinOp | ast.Compare) -> Ways:
    """Two operands the other way round."""
    match node:
        case ast.BinOp(left=a, op=operator, right=b) if not isinstance(operator, _COMMUTES):
            rare = 1.0
        case ast.BinOp(left=a, op=ast.Add() as operator, right=b):
            if site.facts.type_of(node) == "int":
                return
            rare = 2.5
        case ast.Compare(left=a, ops=[ast.In() | ast.NotIn() as operator], comparators=[b]):
            rare = 2.0
        case _:
            return
    yield from filled(site, {f"{{b}} {sign_of(operator)} {{a}}": rare}, a=a, b=b)


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
    parts = node.elts
    if not 1 < len(parts) <= 5 or any(isinstance(one, ast.Starred) for one in parts):
        return
    if isinstance(site.parent, ast.Subscript):
        return
    left, right = "()" if isinstance(node, ast.Tuple) else "[]"
    for gone in parts:
        rest = [at_least(site.code(one), LAMBDA) for one in parts if one is not gone]
        text = ", ".join(rest) + ("," if len(rest) == 1 and left == "(" else "")
        yield Code(f"{left}{text}{right}"), 2 if len(parts) > 2 else 3
    if isinstance(node, ast.Tuple):
        yield from ((site.code(one), 2) for one in parts[:3])


SWAPS = (swapped, turned, elements)
