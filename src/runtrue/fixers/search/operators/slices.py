"""Slices: bounds moved, dropped and added, another index, a subscript more or less."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.facts import facts_at, program_facts
from runtrue.fixers.search.operators.precedence import (
    LAMBDA,
    NAMED,
    Code,
    at_least,
    behind,
    code,
    rewrite,
)
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST_INDEXES = 3


def slice_(site: EditSite) -> Iterator[Edit]:
    """Another part of a sequence: a bound dropped, added or swapped, a step, one place only."""
    program, node = site.program, site.node
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return
    base = code(program, node.value)
    bounds = [
        at_least(code(program, one), LAMBDA) if one is not None else ""
        for one in (node.slice.lower, node.slice.upper, node.slice.step)
    ]
    lower, upper, step = bounds
    ways: dict[tuple[str, str, str], float] = {}

    def add(low: str, up: str, by: str, unlikely: float) -> None:
        if [low, up, by] != bounds:
            ways.setdefault((low, up, by), unlikely)

    if lower:
        add("", upper, step, 1.5)
        add("", lower, step, 1.5) if not upper else add(upper, lower, step, 3)
    if upper:
        add(lower, "", step, 1.5)
        if not lower:
            add(upper, "", step, 1.5)
    if step:
        add(lower, upper, "", 1.5)
        add(lower, upper, step[1:] if step.startswith("-") else f"-{step}", 2)
    if not lower:
        add("1", upper, step, 2)
    if not upper:
        add(lower, "-1", step, 2)
    if not step:
        add(lower, upper, "-1", 2.5)
        add(lower, upper, "2", 4)
    for (low, up, by), unlikely in ways.items():
        text = f"[{low}:{up}:{by}]" if by else f"[{low}:{up}]"
        yield rewrite(program, "slice", node, behind(base, text), unlikely=unlikely)
    for bound in (lower, upper):
        if bound and isinstance(node.ctx, ast.Load):
            yield rewrite(program, "slice", node, behind(base, f"[{bound}]"), unlikely=3)
    if isinstance(node.ctx, ast.Load):
        yield rewrite(program, "slice", node, base, unlikely=2.5)


@edits("index")
def index(site: EditSite, node: ast.Subscript) -> Ways:
    """Another place: the first, the last, counted from the other end; all from there on."""
    program = site.program
    if isinstance(node.slice, ast.Slice | ast.Tuple):
        return
    facts = site.facts
    kind = facts.type_of(node.value)
    if kind == "dict" or (
        isinstance(node.slice, ast.Constant) and not isinstance(node.slice.value, int)
    ):
        return
    parent = site.parent
    here = at_least(code(program, node.slice), NAMED)
    constant = isinstance(node.slice, ast.Constant | ast.UnaryOp)
    base = code(program, node.value)
    if not constant:
        for text, unlikely in (("0", 2.0), ("-1", 2.0)):
            yield node.slice, text, unlikely
    if isinstance(node.ctx, ast.Load):
        if kind in ("list", "str", "tuple") or constant:
            yield behind(base, f"[{here}:]"), 3
            yield behind(base, f"[:{here}]"), 3
        if not isinstance(parent, ast.Subscript):
            yield base, 1.5
            if not constant and isinstance(node.slice, ast.Name | ast.BinOp | ast.Subscript):
                one = code(program, node.slice)
                yield one, 2
            for text in ("[0]", "[1]", "[-1]") if kind != "str" else ():
                one = behind(Code(program.source(node)), text)
                yield one, 3


@edits("subscript", read=True)
def subscripted(site: EditSite, node: ast.Name | ast.Attribute | ast.Subscript) -> Ways:
    """A subscript left out: a thing where one of its elements is meant, at a place in scope."""
    program = site.program
    if isinstance(node, ast.Name) and node.id in ("self", "cls"):
        return
    parent = site.parent
    match parent:
        case ast.Compare() | ast.BinOp() | ast.Return() | ast.Assign() | ast.AugAssign():
            rare = 0.0
        case ast.Call() if node in parent.args:
            rare = 0.5
        case ast.Subscript() if node is parent.slice:
            rare = 0.5
        case ast.If() | ast.While() | ast.BoolOp() | ast.UnaryOp() | ast.Tuple() | ast.List():
            rare = 1.0
        case _:
            return
    facts = site.facts
    kind = facts.type_of(node)
    text = program.source(node)
    # Only what is seen to have elements: by its type, or by being subscripted elsewhere.
    subscripted_elsewhere = any(
        isinstance(one, ast.Subscript) and program.source(one.value) == text
        for one in facts.nodes
        if one is not parent
    )
    held = kind in ("list", "str", "tuple", "dict") or subscripted_elsewhere
    if held:
        names = _index_names(site)
        for place, name in enumerate(names[:_MOST_INDEXES]):
            one = Code(f"{text}[{name}]")
            yield one, 1.5 + rare + 0.4 * place
    if isinstance(node, ast.Name) and kind in (None, "int") and not held:
        for place, name in enumerate(_sequence_names(site)[:4]):
            one = Code(f"{name}[{text}]")
            yield one, 1.5 + rare + 0.4 * place


def _index_names(site: EditSite) -> list[str]:
    """The names in scope that something is indexed with, the most used first."""
    program = site.program
    facts = facts_at(program, site.node)
    used: dict[str, int] = {}
    for node in facts.nodes:
        if isinstance(node, ast.Subscript):
            for one in ast.walk(node.slice):
                if isinstance(one, ast.Name):
                    used[one.id] = used.get(one.id, 0) + 1
    visible = program_facts(program).visible(site.node)
    found = [n for n in visible if n in used or facts.type_of_name(n) == "int"]
    return sorted(found, key=lambda name: -used.get(name, 0))


def _sequence_names(site: EditSite) -> list[str]:
    """The things in scope that are subscripted somewhere, the most often first."""
    program = site.program
    facts = facts_at(program, site.node)
    used: dict[str, int] = {}
    for node in facts.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name | ast.Attribute):
            text = program.source(node.value)
            used[text] = used.get(text, 0) + 1
    visible = program_facts(program).visible(site.node)
    found = [name for name in used if name.split(".")[0] in visible]
    found += [n for n in visible if facts.type_of_name(n) in ("list", "str") and n not in used]
    return sorted(found, key=lambda name: -used.get(name, 0))


SLICES = (slice_, index, subscripted)
