"""Mutants: one mistake each, in functions of a module; some are beyond what one edit takes back."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator

_SWAPPED: dict[type[ast.AST], str] = {
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
    **{ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"},
}


def mutants(text: str, seed: str) -> Iterator[tuple[str, str]]:
    """Yield the name of a mistake and the text with it, in an order that the seed gives."""
    found = []
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()

    def span(node: ast.AST) -> tuple[int, int]:
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return starts[first - 1] + begin, starts[last - 1] + end

    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            for name, part, new in _mistakes(node, function):
                start, end = span(part)
                broken = (data[:start] + new.encode() + data[end:]).decode()
                found.append((f"{name} {function.name}:{part.lineno}", broken))  # type: ignore[attr-defined]
    random.Random(seed).shuffle(found)  # noqa: S311 - nothing is secret here
    seen: set[str] = set()
    for name, broken in found:
        try:
            same = ast.dump(ast.parse(broken)) == ast.dump(tree)
        except (SyntaxError, ValueError):
            continue
        if not same and broken not in seen:
            seen.add(broken)
            yield name, broken


def _mistakes(node: ast.AST, function: ast.FunctionDef) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield a name, the node to replace, and what to write there."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _SWAPPED:
            sides = ast.unparse(left), ast.unparse(right)
            yield "comparison", node, f"{sides[0]} {_SWAPPED[type(op)]} {sides[1]}"
        case ast.BoolOp(op=op, values=[first, *rest]):
            yield "term", node, ast.unparse(first)
            yield "term", node, ast.unparse(rest[-1])
            other = ast.And() if isinstance(op, ast.Or) else ast.Or()
            yield "boolean", node, f"({ast.unparse(ast.BoolOp(other, node.values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "negation", node, f"({ast.unparse(operand)})"
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield "constant", node, str(value + 1)
        case ast.Constant(value=bool() as value):
            yield "constant", node, str(not value)
        case ast.Call(func=ast.Attribute(value=value), args=[]):
            yield "call", node, ast.unparse(value)
        case ast.Call(args=[only], keywords=[]):
            yield "call", node, ast.unparse(only)
        case ast.Call(args=args, keywords=[*_, _]):
            fewer = ast.Call(node.func, args, node.keywords[:-1])
            yield "argument", node, ast.unparse(fewer)
        case ast.Call(args=[first, second, *rest], keywords=[]):
            yield "swap", node, ast.unparse(ast.Call(node.func, [second, first, *rest], []))
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
            yield "term", node, ast.unparse(left)
        case ast.If(body=body, orelse=[]) if node not in function.body[-1:]:
            yield "branch", node, "pass"
            if len(body) > 1:
                yield "part", body[0], "pass"
        case ast.If(test=test):
            yield "branch", test, "False"
        case ast.Assign() | ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield "statement", node, "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "result", value, "None"
        case ast.IfExp(body=body, orelse=orelse):
            yield "choice", node, f"({ast.unparse(body)})"
            yield "choice", node, f"({ast.unparse(orelse)})"
