"""Terms: one more, one less, or grouped otherwise."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterator

from runtrue.fixers.search.operators.clues import is_number, literal_of
from runtrue.fixers.search.operators.facts import ScopeFacts, program_facts
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import (
    joined,
    sign_of,
)
from runtrue.fixers.search.operators.rules import Holes, Rule, filled
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST_TERMS = 4
#: Between percent, cents, milliseconds, minutes, tenths, hours and kilobytes and what they are of.
_FACTORS = (100, 1000, 60, 10, 3600, 1024)


@edits("term_drop")
def dropped_term(site: EditSite, node: ast.BinOp) -> Ways:
    """One side of an operation on its own."""
    # `a + 1` and `a * 2` have likely one number too many; `a / b` seldom has.
    yield site.code(node.left), 1.0 if isinstance(node.right, ast.Constant) else 2.0
    yield site.code(node.right), 2.5


@edits("condition_drop")
def dropped_condition(site: EditSite, node: ast.BoolOp) -> Ways:
    """One part less of a condition."""
    word = "and" if isinstance(node.op, ast.And) else "or"
    for gone in node.values:
        yield joined(word, *(site.code(one) for one in node.values if one is not gone)), 1.5


#: How much rarer a missing term is, by what the number is used for.
_ADDED = {
    **dict.fromkeys(("returned", "assigned", "added", "bound", "index"), 0.0),
    "compared": 1.0,
}


@edits("term_add", read=True)
def added_term(
    site: EditSite, node: ast.Name | ast.BinOp | ast.Call | ast.Subscript | ast.Attribute
) -> Ways:
    """A variable in scope added to a number, or multiplied with it."""
    match site.parent:
        case ast.Call(func=ast.Name(id="range" | "max" | "min" | "append")):
            rare: float | None = 0.5
        case ast.Call(func=ast.Attribute(attr="append")):
            rare = 1.0
        case _:
            rare = _ADDED.get(site.role)
    facts = site.facts
    kind = facts.type_of(node)
    if rare is None or kind not in (None, "int", "float"):
        return
    if kind is None and isinstance(node, ast.Call):
        return
    mentioned = {part.id for part in walk(node, ast.Name)}
    number = [name for name in _number_names(site, facts) if name not in mentioned]
    for place, name in enumerate(number[:_MOST_TERMS]):
        ways = {f"{{a}} + {name}": 2.5, f"{{a}} - {name}": 2.5}
        ways |= {f"{{a}} * {name}": 3.5} if place < 2 else {}
        yield from filled(site, ways, rare + 0.4 * place, a=node)
    if site.role in ("returned", "assigned"):
        yield from filled(site, {"{a} * 2": 4, "{a} // 2": 4, "{a} % 2": 4}, rare, a=node)
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


@edits("grouping")
def regrouped(site: EditSite, node: ast.BinOp | ast.BoolOp) -> Ways:
    """Another grouping: `(a + b) * c` for `a + b * c`, and back; `a and (b or c)`."""
    match node:
        case ast.BinOp(op=outer, left=a, right=ast.BinOp(op=inner, left=b, right=c)):
            made = f"({{a}} {sign_of(outer)} {{b}}) {sign_of(inner)} {{c}}"
            yield from filled(site, {made: 1}, a=a, b=b, c=c)
        case ast.BinOp(op=outer, left=ast.BinOp(op=inner, left=a, right=b), right=c):
            if not (isinstance(outer, ast.Add) and isinstance(inner, ast.Add)):
                made = f"{{a}} {sign_of(inner)} ({{b}} {sign_of(outer)} {{c}})"
                yield from filled(site, {made: 1}, a=a, b=b, c=c)
        case ast.BoolOp(op=ast.Or(), values=[first, second]):
            # Only the neighbours of the `or` stay with it: `a and (b or c) and d`.
            before = first.values if isinstance(first, ast.BoolOp) else [first]
            after = second.values if isinstance(second, ast.BoolOp) else [second]
            if len(before) + len(after) > 2:
                head, tail = ([site.code(one) for one in part] for part in (before, after))
                middle = joined("or", head[-1], tail[0])
                yield joined("and", *head[:-1], middle, *tail[1:]), 1.0


#: What is scaled on its own, beside products, by what it is used for.
_SCALED = ("returned", "assigned", "added", "compared", "keyword", "operand")


@edits("scale", read=True)
def scaled(
    site: EditSite, node: ast.BinOp | ast.Name | ast.Attribute | ast.Subscript | ast.Call
) -> Ways:
    """A number in another unit: `price * percent / 100`, `seconds * 1000`."""
    parent = site.parent
    if isinstance(node, ast.BinOp):
        outer = parent.op if isinstance(parent, ast.BinOp) else None
        if not isinstance(node.op, ast.Mult | ast.Div) or isinstance(outer, ast.Mult | ast.Div):
            return  # the whole product is scaled
    elif site.role not in _SCALED or (
        isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.Add | ast.Sub)
    ):
        return
    if site.facts.type_of(node) not in (None, "int", "float"):
        return
    rare = 2.5 if isinstance(node, ast.BinOp) else 3.5
    seen = {part.value for part in walk(node, ast.Constant)}
    ratios = set(_ratios(site))
    for place, factor in enumerate(_FACTORS):
        for sign, ratio in (("/", 1 / factor), ("*", float(factor))):
            is_ratio = any(math.isclose(ratio, one, rel_tol=1e-6) for one in ratios)
            if factor not in seen and (is_ratio or not isinstance(node, ast.Call)):
                unlikely = 0.5 if is_ratio else rare + 0.3 * place
                yield from filled(site, {f"{{a}} {sign} {factor}": unlikely}, a=node)


def _is_named(site: EditSite, holes: Holes) -> float:
    return 0.0 if isinstance(holes["b"], ast.Name | ast.Attribute) else 1.0


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


@edits("term_add")
def whole_divisor(site: EditSite, node: ast.Attribute | ast.Name) -> Ways:
    """A part of what is divided by, left out: `count // (self.buy + self.free)`."""
    match site.parent:
        case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=right) if right is node:
            function, own = site.function, site.source(node)
        case _:
            return
    if function is None:
        return
    if isinstance(node, ast.Name):
        others = _number_names(site, site.facts)
    else:
        others = [
            site.source(one)
            for one in walk(function, ast.Attribute)
            if site.source(one.value) == site.source(node.value)
            and not isinstance(site.program.parents.get(one), ast.Call)
        ]
    for n, other in enumerate([one for one in dict.fromkeys(others) if one != own][:_MOST_TERMS]):
        ways = {"{a} + {b}": 1.5 + n / 2, "{a} - {b}": 2.0 + n / 2}
        yield from filled(site, ways, a=node, b=other)


def _ratios(site: EditSite) -> Iterator[float]:
    """Yield how many times more the failing tests expect than they get."""
    for failure in site.failures:
        if not failure.expected or not failure.actual:
            continue
        wanted, had = literal_of(failure.expected.repr), literal_of(failure.actual.repr)
        if is_number(wanted) and is_number(had) and had:
            yield wanted / had


TERMS = (
    *(dropped_term, dropped_condition, added_term, regrouped, scaled),
    # A division that leaves the last, smaller part out.
    Rule("round_up", "{a} // {b}", {"({a} + {b} - 1) // {b}": 1.0}, _is_named),
    Rule("round_up", "int({a} / {b})", {"({a} + {b} - 1) // {b}": 1.5}),
    *(wrapped_around, whole_divisor),
)
