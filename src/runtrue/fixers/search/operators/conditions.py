"""Conditions: asked more strictly, or less; a comparison chained, loosened or made whole."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from runtrue.fixers.search.operators.facts import facts_at, program_facts
from runtrue.fixers.search.operators.layout import parameters
from runtrue.fixers.search.operators.likeness import by_likeness
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import (
    COMPARE,
    NOT,
    Code,
    code,
    joined,
    rewrite,
    sign_of,
)
from runtrue.fixers.search.operators.rules import ExpressionRule, Holes, fill, filled
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST_BORROWED = 6
_MOST_LIKE = 3
_MOST_BUILT = 10
#: How a thing that is only asked for may be compared; and its length, where it has one.
_COMPARED = {
    **{"{a} is not None": 1.0, "{a} is None": 2.0, "{a} > 0": 1.5, "{a} > 1": 2.0},
    **{"{a} == 0": 2.0, "{a} == 1": 3.0, "{a} >= 0": 2.5, "{a} != -1": 2.5},
}
_COUNTED = {
    **{"{a} is not None": 1.0, "{a} is None": 2.0, "len({a}) > 1": 2.0, "len({a}) == 1": 3.0},
}


@edits("chain")
def chain(site: EditSite, node: ast.Compare) -> Ways:
    """One side of a chained comparison."""
    if len(node.ops) < 2:
        return
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        one = {f"{{a}} {sign_of(operator)} {{b}}": 1.5}
        yield from filled(site, one, a=left, b=right)
    if len(node.ops) == 2:
        first, second = (sign_of(one) for one in node.ops)
        either = {f"{{a}} {first} {{b}} or {{b}} {second} {{c}}": 3.0}
        a, b, c = operands
        yield from filled(site, either, a=a, b=b, c=c)


@edits("condition")
def bare(site: EditSite, node: ast.expr) -> Ways:
    """A comparison given up for one of its sides; a thing compared where it was only asked for."""
    if not _is_test(site):
        return
    if isinstance(node, ast.Compare):
        if len(node.ops) == 1 and not isinstance(node.left, ast.Constant):
            yield from filled(site, {"{a}": 3.0, "not {a}": 4.0}, a=node.left)
    elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        kind = site.facts.type_of(node)
        if kind != "bool":
            ways = _COUNTED if kind in ("list", "dict", "str", "set") else _COMPARED
            if isinstance(site.parent, ast.UnaryOp):
                # `not x is not None` is what nobody writes.
                yield site.parent, fill("{a} is None", a=site.code(node)), 1.0
                ways = {way: rare for way, rare in ways.items() if not way.endswith(" None")}
            yield from filled(site, ways, a=node)


def _is_test(site: EditSite) -> bool:
    """True if a node is a condition, or a part of one."""
    parent = site.parent
    is_negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    return is_negated or site.role in ("test", "asserted", "part", "filter")


def _is_whole(site: EditSite, node: ast.expr) -> bool:
    if site.role == "returned":
        return site.facts.type_of(node) == "bool" and not isinstance(node, ast.Constant)
    return site.role in ("test", "filter")


@edits("condition_add")
def strengthened(site: EditSite, node: ast.expr) -> Ways:
    """A condition with another one beside it: one that is asked nearby, or one of names in use."""
    program = site.program
    if not _is_whole(site, node):
        return
    facts = site.facts
    here = code(program, node)
    own = {ast.dump(one) for one in walk(node, ast.expr)}
    visible = set(site.known.visible(node))
    borrowed = []
    for one in facts.conditions:
        names = {part.id for part in walk(one, ast.Name)}
        if (
            ast.dump(one) not in own
            and names
            and names & visible
            and "\n" not in program.source(one)
        ):
            distance = abs(getattr(one, "lineno", 0) - getattr(node, "lineno", 0))
            borrowed.append((distance, code(program, one)))
    borrowed.sort(key=lambda pair: pair[0])
    for place, (_, other) in enumerate(borrowed[:_MOST_BORROWED]):
        rare = 2.5 + 0.3 * place
        more = {"{a} and {b}": rare, "{a} or {b}": rare, "{a} and not {b}": rare + 1}
        yield from filled(site, more, a=here, b=other)
        yield rewrite(program, "condition", node, other, unlikely=rare + 1)
    for place, (word, other, first) in enumerate(_new_conditions(site, node)):
        if place == 3 * _MOST_BUILT:
            break
        whole = joined(word, other, here) if first else joined(word, here, other)
        rare = 2.5 + 0.15 * place
        yield whole, rare


def _new_conditions(site: EditSite, node: ast.expr) -> Iterator[tuple[str, Code, bool]]:
    """Conditions made of what is in scope; the last says whether it has to be asked first."""
    program = site.program
    facts = facts_at(program, node)
    known = program_facts(program)
    # An index that may be past the end, and what is looked into while it may be empty.
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Slice):
            base, place = program.source(part.value), program.source(part.slice)
            if "\n" in base + place:
                continue
            if isinstance(part.slice, ast.Name | ast.BinOp) and facts.type_of(part.value) != "dict":
                at = code(program, part.slice)
                yield "and", fill(f"{{a}} < len({base})", a=at), True
                yield "or", fill(f"{{a}} >= len({base})", a=at), True
                yield "and", fill("{a} >= 0", a=at), True
                yield "and", fill("{a} > 0", a=at), True
            elif isinstance(part.slice, ast.Constant):
                if isinstance(part.slice.value, int) and part.slice.value:
                    yield "and", Code(f"len({base}) > {place}", COMPARE), True
            elif not isinstance(part.slice, ast.Constant | ast.UnaryOp):
                yield "and", fill("{a} in {b}", a=code(program, part.slice), b=base), True
            if not isinstance(part.value, ast.Subscript):
                yield "and", Code(base), True
                yield "or", Code(f"not {base}", NOT), True
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            base = part.value.id
            if base not in ("self", "cls"):
                yield "and", Code(base), True
                yield "or", Code(f"not {base}", NOT), True
                yield "or", Code(f"{base} is None", COMPARE), True
    names = [
        name
        for name in known.visible(node)
        if facts.uses[name] and name not in ("self", "cls") and not known.is_function(node, name)
    ]
    mentioned = {one.id for one in walk(node, ast.Name)}
    names = sorted(names, key=lambda name: (name not in mentioned, -facts.uses[name]))
    for name in names[:4]:
        kind = facts.type_of_name(name)
        if kind == "int":
            for other in names[:6]:
                if other != name and facts.type_of_name(other) == "int":
                    yield "and", Code(f"{name} != {other}", COMPARE), False
                    yield "and", Code(f"{name} < {other}", COMPARE), False
            yield "and", Code(f"{name} > 0", COMPARE), False
            yield "or", Code(f"{name} == 0", COMPARE), False
        else:
            yield "and", Code(name), kind is None
            yield "and", Code(f"not {name}", NOT), False
            yield "or", Code(f"not {name}", NOT), True
            yield "or", Code(name), False


def _is_value(site: EditSite, holes: Holes) -> bool:
    return isinstance(holes["a"], ast.Name | ast.Attribute) and not _is_test(site)


@edits("condition")
def key_in_mapping(site: EditSite, node: ast.Compare) -> Ways:
    """Ask the mapping whether a key is there: its value may be None as well."""
    match node:
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Is() | ast.IsNot() as operator],
            comparators=[ast.Constant(value=None)],
        ) if (function := site.function) is not None:
            sign = "not in" if isinstance(operator, ast.Is) else "in"
        case _:
            return
    for one in ast.walk(function):
        match one:
            case ast.Assign(
                targets=[ast.Name(id=target)],
                value=ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[key]),
            ) if target == name and one.lineno < node.lineno:
                yield from filled(site, {f"{{key}} {sign} {{owner}}": 1.2}, key=key, owner=owner)


@edits("condition_add")
def asked_of_another(site: EditSite, node: ast.expr) -> Ways:
    """A condition on one parameter, or one attribute, asked of another one as well."""
    text = site.source(node)
    if not (_is_whole(site, node) or site.role == "part") or "\n" in text:
        return
    if isinstance(node, ast.BoolOp | ast.Constant):
        return
    here = site.code(node)
    for n, (word, other) in enumerate(_others_like(site, node)):
        same = Code(re.sub(rf"\b{re.escape(word)}\b", other, text), here.level)
        for m, sign in enumerate(("or", "and")):
            yield joined(sign, here, same), 1.0 + 0.3 * (n + m)


def _others_like(site: EditSite, node: ast.expr) -> list[tuple[str, str]]:
    """Return the only parameter, or attribute, that a condition is on, each with another one."""
    if (function := site.function) is None:
        return []
    given = parameters(function)
    asked = dict.fromkeys(one.id for one in walk(node, ast.Name) if one.id in given)
    owned = [one for one in walk(node, ast.Attribute) if isinstance(one.value, ast.Name)]
    found: list[tuple[str, str]] = []
    if len(owned) == 1:
        own, owner = owned[0].attr, site.source(owned[0].value)
        others = [
            one.attr
            for one in walk(function, ast.Attribute)
            if isinstance(one.value, ast.Name)
            and one.value.id == owner
            and not _is_method(site, one)
        ]
        found += [(own, other) for other, _ in by_likeness(own, dict.fromkeys(others))]
    if len(asked) == 1 and len(owned) < 2:
        own = next(iter(asked))
        found += [(own, other) for other, _ in by_likeness(own, given)]
    return found[:_MOST_LIKE]


def _is_method(site: EditSite, node: ast.Attribute) -> bool:
    parent = site.program.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


@edits("condition_add")
def exceeded_limit(site: EditSite, node: ast.expr) -> Ways:
    """A limit that is set in some case, set as well where it is exceeded."""
    match site.parent:
        case ast.If(
            test=test,
            body=[
                ast.Assign(
                    targets=[ast.Name() | ast.Attribute() as target],
                    value=ast.Name() | ast.Attribute() as limit,
                ),
                *_,
            ],
        ) if test is node:
            ways = {"{test} or {a} > {b}": 1.0, "{test} or {a} < {b}": 2.0}
            yield from filled(site, ways, test=node, a=target, b=limit)


CONDITIONS = (
    *(chain, bare, strengthened),
    # A default for None alone, which 0 is not.
    ExpressionRule("only_none", "{a} or {b}", {"{b} if {a} is None else {a}": 1.0}, _is_value),
    *(key_in_mapping, asked_of_another, exceeded_limit),
)
