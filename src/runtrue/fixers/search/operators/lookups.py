"""Lookups: what a mapping or a sequence may not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.clues import raised
from runtrue.fixers.search.operators.layout import before, free
from runtrue.fixers.search.operators.seam import EditSite

_SIGNS = {ast.Sub: "-", ast.Mult: "*", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&"}
_ABSENT = ("", ", 0", ", []", ', ""', ", {}", ", False")


def get(site: EditSite) -> Iterator[Edit]:
    """`d[k]` → `d.get(k)`, `d.get(k, 0)`, `d.setdefault(k, [])`."""
    node, program = site.node, site.program
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return
    if isinstance(node.slice, ast.Slice | ast.Tuple) or not isinstance(
        node.value, ast.Name | ast.Attribute | ast.Subscript | ast.Call
    ):
        return
    missed = any(raised(site, "KeyError"))
    if not missed and site.failures:
        return
    owner, key = program.source(node.value), program.source(node.slice)
    parent = program.parents[node]
    is_owner = isinstance(parent, ast.Attribute | ast.Subscript)
    for n, absent in enumerate(_ABSENT):
        if is_owner and absent in ("", ", 0", ", False"):
            continue
        likely = (1.0 if missed else 4.0) + n / 4
        yield program.replace("get", node, f"{owner}.get({key}{absent})", unlikely=likely)
    if is_owner:
        for n, absent in enumerate(("[]", "{}", "set()")):
            text = f"{owner}.setdefault({key}, {absent})"
            yield program.replace("get", node, text, unlikely=(1.0 if missed else 4.0) + n / 4)


def first_time(site: EditSite) -> Iterator[Edit]:
    """`d[k]` begun before it is added to: `d[k] += 1`, `d[k].append(x)`."""
    node, program = site.node, site.program
    if not isinstance(node, ast.stmt) or not free(program, node):
        return
    missed = any(raised(site, "KeyError"))
    if not missed and site.failures:
        return
    aims: list[ast.Subscript] = []
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        aims.append(node.target)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        func = node.value.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Subscript):
            aims.append(func.value)
    if (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and isinstance(node.targets[0].value, ast.Subscript)
    ):
        aims.append(node.targets[0].value)
    for aim in aims:
        if isinstance(aim.slice, ast.Slice) or not (missed or isinstance(node, ast.AugAssign)):
            continue
        owner, key = program.source(aim.value), program.source(aim.slice)
        if isinstance(node, ast.AugAssign):
            text = f"{owner}[{key}] = {owner}.get({key}, 0) {_SIGNS.get(type(node.op), '+')} "
            yield program.replace(
                "get",
                node,
                text + _bracketed(program.source(node.value), node.value),
                unlikely=1.0 if missed else 4.0,
            )
        begins = (
            ("0", "[]", '""', "1") if isinstance(node, ast.AugAssign) else ("[]", "{}", "set()")
        )
        for n, begin in enumerate(begins):
            yield program.edit(
                "get",
                node,
                f"`{owner}[{key}] = {begin}` at first",
                before(
                    program,
                    node,
                    f"if {key} not in {owner}:",
                    f"{program.step}{owner}[{key}] = {begin}",
                ),
                unlikely=(1.2 if missed else 5.0) + n / 4,
            )


def _bracketed(text: str, node: ast.expr) -> str:
    plain = isinstance(node, ast.Constant | ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    return text if plain else f"({text})"
