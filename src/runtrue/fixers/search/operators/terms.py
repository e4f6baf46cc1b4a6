"""Terms: one more, one less, or grouped otherwise."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.clues import is_number, literal_of
from runtrue.fixers.search.operators.facts import ScopeFacts, facts_at, program_facts
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import (
    code,
    joined,
    rewrite,
    sign_of,
)
from runtrue.fixers.search.operators.rules import filled, rewrites
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST_TERMS = 4
#: Between percent, cents, milliseconds, minutes, tenths, hours and kilobytes and what they are of.
_FACTORS = (100, 1000, 60, 10, 3600, 1024)


def dropped_term(site: EditSite) -> Iterator[Edit]:
    """One side of an operation, or of a condition, on its own."""
    program, node = site.program, site.node
    if isinstance(node, ast.BinOp):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            # `a + 1` and `a * 2` have likely one number too many; `a / b` seldom has.
            small = isinstance(other, ast.Constant)
            first = side is node.left
            unlikely = 1.0 if small and first else 2.0 if first else 2.5
            yield rewrite(program, "term_drop", node, code(program, side), unlikely=unlikely)
    elif isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        for gone in node.values:
            left = [code(program, one) for one in node.values if one is not gone]
            one = left[0] if len(left) == 1 else joined(word, *left)
            yield rewrite(program, "condition_drop", node, one, unlikely=1.5)


@edits("term_add", read=True)
def added_term(
    site: EditSite, node: ast.Name | ast.BinOp | ast.Call | ast.Subscript | ast.Attribute
) -> Ways:
    """A variable in scope added to a number, or multiplied with it."""
    parent = site.parent
    match parent:
        case ast.Return() | ast.Assign() | ast.AugAssign() | ast.Slice():
            rare = 0.0
        case ast.Subscript() if node is parent.slice:
            rare = 0.0
        case ast.Call(func=ast.Name(id="range" | "max" | "min" | "append")):
            rare = 0.5
        case ast.Call(func=ast.Attribute(attr="append")) | ast.Compare():
            rare = 1.0
        case _:
            return
    facts = site.facts
    if facts.type_of(node) not in (None, "int", "float"):
        return
    if facts.type_of(node) is None and isinstance(node, ast.Call):
        return
    mentioned = {part.id for part in walk(node, ast.Name)}
    number = [name for name in _number_names(site, facts) if name not in mentioned][:_MOST_TERMS]
    for place, name in enumerate(number):
        for sign, base in (("+", 2.5), ("-", 2.5), ("*", 3.5))[: 3 if place < 2 else 2]:
            way = {f"{{a}} {sign} {name}": base + rare + 0.4 * place}
            yield from filled(site, way, a=node)
    if isinstance(parent, ast.Return | ast.Assign):
        twos = {"{a} * 2": 4, "{a} // 2": 4, "{a} % 2": 4}
        yield from filled(site, twos, rare, a=node)
        for name in site.known.visible(node):
            if name.isupper() and name not in mentioned and facts.type_of_name(name) != "str":
                yield from filled(site, {f"{{a}} % {name}": 2}, a=node)


def _number_names(site: EditSite, facts: ScopeFacts) -> list[str]:
    """The names in scope that hold a number, or may, the most used first."""
    known = program_facts(site.program)
    names = [
        name
        for name in known.visible(site.node)
        if facts.uses[name]
        and name not in ("self", "cls")
        and not known.is_function(site.node, name)
    ]
    names = [name for name in names if facts.type_of_name(name) in (None, "int", "float")]
    sure = [name for name in names if facts.type_of_name(name)]
    return sorted(sure, key=lambda name: -facts.uses[name]) or names


def regrouped(site: EditSite) -> Iterator[Edit]:
    """Another grouping: `(a + b) * c` for `a + b * c`, and back; `a and (b or c)`."""
    program, node = site.program, site.node
    match node:
        case ast.BinOp(op=outer, left=a, right=ast.BinOp(op=inner, left=b, right=c)):
            made = f"({{a}} {sign_of(outer)} {{b}}) {sign_of(inner)} {{c}}"
        case ast.BinOp(op=outer, left=ast.BinOp(op=inner, left=a, right=b), right=c):
            if isinstance(outer, ast.Add) and isinstance(inner, ast.Add):
                return
            made = f"{{a}} {sign_of(inner)} ({{b}} {sign_of(outer)} {{c}})"
        case ast.BoolOp(op=ast.Or(), values=[first, second]):
            # Only the neighbours of the `or` stay with it: `a and (b or c) and d`.
            before = first.values if isinstance(first, ast.BoolOp) else [first]
            after = second.values if isinstance(second, ast.BoolOp) else [second]
            if len(before) + len(after) > 2:
                head, tail = ([code(program, one) for one in part] for part in (before, after))
                middle = joined("or", head[-1], tail[0])
                whole = joined("and", *head[:-1], middle, *tail[1:])
                yield rewrite(program, "grouping", node, whole)
            return
        case _:
            return
    yield from rewrites(site, "grouping", node, {made: 1}, a=a, b=b, c=c)


def scaled(site: EditSite) -> Iterator[Edit]:
    """A number in another unit: `price * percent / 100`, `seconds * 1000`."""
    program, node = site.program, site.node
    parent = program.parents.get(node)
    match node, parent:
        case ast.BinOp(op=ast.Mult() | ast.Div()), ast.BinOp(op=ast.Mult() | ast.Div()):
            return  # the whole product is scaled
        case ast.BinOp(op=ast.Mult() | ast.Div()), _:
            rare = 0.0
        case (
            ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call(),
            ast.Return() | ast.Assign() | ast.AugAssign() | ast.Compare() | ast.keyword()
            | ast.BinOp(op=ast.Add() | ast.Sub()),
        ):  # fmt: skip
            rare = 1.0
        case _:
            return
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    if facts_at(program, node).type_of(node) not in (None, "int", "float"):
        return
    seen = {part.value for part in walk(node, ast.Constant)}
    ratios = set(_ratios(site))
    for place, factor in enumerate(_FACTORS):
        for sign, ratio in (("/", 1 / factor), ("*", float(factor))):
            is_ratio = any(math.isclose(ratio, one, rel_tol=1e-6) for one in ratios)
            if factor in seen or (isinstance(node, ast.Call) and not is_ratio):
                continue
            unlikely = 0.5 if is_ratio else 2.5 + rare + 0.3 * place
            ways = {f"{{a}} {sign} {factor}": unlikely}
            yield from rewrites(site, "scale", node, ways, a=node)


def rounded_up(site: EditSite) -> Iterator[Edit]:
    """A division that leaves the last, smaller part out: `(a + b - 1) // b` for `a // b`."""
    node = site.node
    match node:
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            rare = 1.0 if isinstance(right, ast.Name | ast.Attribute) else 2.0
        case ast.Call(func=ast.Name(id="int"), args=[ast.BinOp(op=ast.Div()) as inner]):
            left, right, rare = inner.left, inner.right, 1.5
        case _:
            return
    ways = {"({a} + {b} - 1) // {b}": rare}
    yield from rewrites(site, "round_up", node, ways, a=left, b=right)


@edits("term_add")
def wrapped_around(site: EditSite, node: ast.BinOp) -> Ways:
    """A difference or sum that wraps around: `(day - start) % 7`."""
    program = site.program
    if not isinstance(node.op, ast.Add | ast.Sub):
        return
    parent = site.parent
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub | ast.Mod):
        return
    if site.facts.type_of(node) not in (None, "int"):
        return
    numbers = Counter(
        one.value
        for one in walk(program.tree, ast.Constant)
        if type(one.value) is int and one.value > 1
    )
    sizes = [f"len({name})" for name in _indexed_sequences(site)]
    for n, size in enumerate([*(str(one) for one, _ in numbers.most_common(3)), *sizes[:2]]):
        ways = {f"{{a}} % {size}": 2.0 + 0.4 * n}
        yield from filled(site, ways, a=node)


def _indexed_sequences(site: EditSite) -> list[str]:
    return [
        site.program.source(one.value)
        for one in site.program.ancestors(site.node)
        if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name | ast.Attribute)
    ]


def whole_divisor(site: EditSite) -> Iterator[Edit]:
    """A part of what is divided by, left out: `count // (self.buy + self.free)`."""
    program, node = site.program, site.node
    parent, function = program.parents.get(node), program.function_of(node)
    if not isinstance(parent, ast.BinOp) or node is not parent.right or function is None:
        return
    if not isinstance(parent.op, ast.Div | ast.FloorDiv | ast.Mod):
        return
    match node:
        case ast.Attribute(value=owner):
            start = program.source(owner)
            others = [
                program.source(one)
                for one in walk(function, ast.Attribute)
                if program.source(one.value) == start
                and not isinstance(program.parents.get(one), ast.Call)
            ]
        case ast.Name():
            others = _number_names(site, facts_at(program, node))
        case _:
            return
    others = [one for one in dict.fromkeys(others) if one != program.source(node)]
    for n, other in enumerate(others[:_MOST_TERMS]):
        for m, sign in enumerate(("+", "-")):
            ways = {f"{{a}} {sign} {{b}}": 1.5 + (n + m) / 2}
            yield from rewrites(site, "term_add", node, ways, a=node, b=other)


def _ratios(site: EditSite) -> Iterator[float]:
    """Yield how many times more the failing tests expect than they get."""
    for failure in site.failures:
        if not failure.expected or not failure.actual:
            continue
        wanted, had = literal_of(failure.expected.repr), literal_of(failure.actual.repr)
        if is_number(wanted) and is_number(had) and had:
            yield wanted / had


TERMS = (dropped_term, added_term, regrouped, scaled, rounded_up, wrapped_around, whole_divisor)
