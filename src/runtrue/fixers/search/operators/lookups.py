"""Lookups: what a mapping or a sequence may not have."""

from __future__ import annotations

import ast

from runtrue.fixers.search.operators.clues import raised
from runtrue.fixers.search.operators.layout import before, free
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_SIGNS = {ast.Sub: "-", ast.Mult: "*", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&"}
_COUNTED: tuple[str, ...] = ("0", "[]", '""', "1")
_BEGINS: tuple[str, ...] = ("[]", "{}", "set()")
_ABSENT = ("", ", 0", ", []", ', ""', ", {}", ", False")


@edits("get", read=True)
def get(site: EditSite, node: ast.Subscript) -> Ways:
    """`d[k]` → `d.get(k)`, `d.get(k, 0)`, `d.setdefault(k, [])`."""
    owners = ast.Name | ast.Attribute | ast.Subscript | ast.Call
    if isinstance(node.slice, ast.Slice | ast.Tuple) or not isinstance(node.value, owners):
        return
    missed = any(raised(site, "KeyError"))
    if not missed and site.failures:
        return
    owner, key, rare = site.source(node.value), site.source(node.slice), 1.0 if missed else 4.0
    is_owner = isinstance(site.parent, ast.Attribute | ast.Subscript)
    for n, absent in enumerate(_ABSENT):
        if not is_owner or absent not in ("", ", 0", ", False"):
            yield f"{owner}.get({key}{absent})", rare + n / 4
    for n, absent in enumerate(_BEGINS if is_owner else ()):
        yield f"{owner}.setdefault({key}, {absent})", rare + n / 4


@edits("get")
def first_time(site: EditSite, node: ast.stmt) -> Ways:
    """`d[k]` begun before it is added to: `d[k] += 1`, `d[k].append(x)`."""
    program = site.program
    if not free(program, node):
        return
    missed = any(raised(site, "KeyError"))
    if not missed and site.failures:
        return
    match node:
        case ast.AugAssign(target=ast.Subscript() as aim):
            begins = _COUNTED
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Subscript() as aim)))
            | ast.Assign(targets=[ast.Subscript(value=ast.Subscript() as aim), *_])
        ) if missed:  # fmt: skip
            begins = _BEGINS
        case _:
            return
    if isinstance(aim.slice, ast.Slice):
        return
    owner, key = program.source(aim.value), program.source(aim.slice)
    if isinstance(node, ast.AugAssign):
        text = f"{owner}[{key}] = {owner}.get({key}, 0) {_SIGNS.get(type(node.op), '+')} "
        text += _bracketed(program.source(node.value), node.value)
        yield text, 1.0 if missed else 4.0
    for n, begin in enumerate(begins):
        line = f"{owner}[{key}] = {begin}"
        lines = before(program, node, f"if {key} not in {owner}:", f"{program.step}{line}")
        rare = (1.2 if missed else 5.0) + n / 4
        yield program.edit("get", node, f"`{line}` at first", lines, unlikely=rare)


def _bracketed(text: str, node: ast.expr) -> str:
    plain = isinstance(node, ast.Constant | ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    return text if plain else f"({text})"
