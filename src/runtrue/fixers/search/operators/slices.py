"""Slices: bounds moved, dropped and added, another index, a subscript more or less."""

from __future__ import annotations

import ast
from collections import Counter

from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import LAMBDA, NAMED, Code, at_least, behind
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST_INDEXES = 3


@edits("slice")
def slice_(site: EditSite, node: ast.Subscript) -> Ways:
    """Another part of a sequence: a bound dropped, added or swapped, a step, one place only."""
    if not isinstance(node.slice, ast.Slice):
        return
    base = site.code(node.value)
    lower, upper, step = bounds = tuple(
        at_least(site.code(one), LAMBDA) if one is not None else ""
        for one in (node.slice.lower, node.slice.upper, node.slice.step)
    )
    ways: dict[tuple[str, ...], float] = {}
    if lower:
        ways["", upper, step] = 1.5
        ways.setdefault((upper, lower, step), 3 if upper else 1.5)
    if upper:
        ways.setdefault((lower, "", step), 1.5)
        if not lower:
            ways.setdefault((upper, "", step), 1.5)
    if step:
        ways.setdefault((lower, upper, ""), 1.5)
        ways.setdefault((lower, upper, step[1:] if step.startswith("-") else f"-{step}"), 2)
    if not lower:
        ways.setdefault(("1", upper, step), 2)
    if not upper:
        ways.setdefault((lower, "-1", step), 2)
    if not step:
        ways.setdefault((lower, upper, "-1"), 2.5)
        ways.setdefault((lower, upper, "2"), 4)
    for (low, up, by), unlikely in ways.items():
        if (low, up, by) != bounds:
            yield behind(base, f"[{low}:{up}:{by}]" if by else f"[{low}:{up}]"), unlikely
    if site.is_read:
        yield from ((behind(base, f"[{bound}]"), 3) for bound in (lower, upper) if bound)
        yield base, 2.5


@edits("index")
def index(site: EditSite, node: ast.Subscript) -> Ways:
    """Another place: the first, the last, counted from the other end; all from there on."""
    at, kind = node.slice, site.facts.type_of(node.value)
    if isinstance(at, ast.Slice | ast.Tuple) or kind == "dict":
        return
    if isinstance(at, ast.Constant) and not isinstance(at.value, int):
        return
    base, here = site.code(node.value), at_least(site.code(at), NAMED)
    constant = isinstance(at, ast.Constant | ast.UnaryOp)
    if not constant:
        yield at, "0", 2.0
        yield at, "-1", 2.0
    if not site.is_read:
        return
    if kind in ("list", "str", "tuple") or constant:
        yield behind(base, f"[{here}:]"), 3
        yield behind(base, f"[:{here}]"), 3
    if not isinstance(site.parent, ast.Subscript):
        yield base, 1.5
        if isinstance(at, ast.Name | ast.BinOp | ast.Subscript):
            yield site.code(at), 2
        for text in ("[0]", "[1]", "[-1]") if kind != "str" else ():
            yield behind(Code(site.source(node)), text), 3


#: How much rarer a forgotten subscript is, by what a thing is used for.
_SUBSCRIPTED = {
    **dict.fromkeys(("compared", "operand", "returned", "assigned", "added"), 0.0),
    **dict.fromkeys(("argument", "index"), 0.5),
    **dict.fromkeys(("test", "part", "signed", "element"), 1.0),
}


@edits("subscript", read=True)
def subscripted(site: EditSite, node: ast.Name | ast.Attribute | ast.Subscript) -> Ways:
    """A subscript left out: a thing where one of its elements is meant, at a place in scope."""
    text, parent, facts = site.source(node), site.parent, site.facts
    if text in ("self", "cls") or site.role not in _SUBSCRIPTED or isinstance(parent, ast.IfExp):
        return
    rare = 1.5 + _SUBSCRIPTED[site.role]
    kind = facts.type_of(node)
    # Only what is seen to have elements: by its type, or by being subscripted elsewhere.
    if kind in ("list", "str", "tuple", "dict") or any(
        isinstance(one, ast.Subscript) and site.source(one.value) == text
        for one in facts.nodes
        if one is not parent
    ):
        for place, name in enumerate(_index_names(site)[:_MOST_INDEXES]):
            yield Code(f"{text}[{name}]"), rare + 0.4 * place
    elif isinstance(node, ast.Name) and kind in (None, "int"):
        for place, name in enumerate(_sequence_names(site)[:4]):
            yield Code(f"{name}[{text}]"), rare + 0.4 * place


def _index_names(site: EditSite) -> list[str]:
    """The names in scope that something is indexed with, the most used first."""
    facts = site.facts
    slices = (one.slice for one in facts.nodes if isinstance(one, ast.Subscript))
    used = Counter(name.id for one in slices for name in walk(one, ast.Name))
    visible = site.known.visible(site.node)
    found = [n for n in visible if n in used or facts.type_of_name(n) == "int"]
    return sorted(found, key=lambda name: -used[name])


def _sequence_names(site: EditSite) -> list[str]:
    """The things in scope that are subscripted somewhere, the most often first."""
    facts = site.facts
    used = Counter(
        site.source(one.value)
        for one in facts.nodes
        if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name | ast.Attribute)
    )
    visible = site.known.visible(site.node)
    found = [name for name in used if name.split(".")[0] in visible]
    found += [n for n in visible if facts.type_of_name(n) in ("list", "str") and n not in used]
    return sorted(found, key=lambda name: -used[name])


SLICES = (slice_, index, subscripted)
