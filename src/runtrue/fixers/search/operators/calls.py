"""Calls: the sibling of a function, another range, and what to do without a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.facts import facts_at, missed, program_facts, undefined
from runtrue.fixers.search.operators.families import COMMON, PART_OF, methods, offered, siblings
from runtrue.fixers.search.operators.likeness import by_likeness
from runtrue.fixers.search.operators.precedence import (
    NAMED,
    UNARY,
    Code,
    at_least,
    behind,
    called,
    rewrite,
)
from runtrue.fixers.search.operators.rules import Holes, Rule, filled, matched, rules
from runtrue.fixers.search.operators.seam import EditSite, Operator, Ways, edits

_METHODS = frozenset({"append", "extend", "add", "insert", "remove", "pop", "popleft"})
#: The same family, where the arguments have to change with the name.
_OTHER_WAYS: dict[str, dict[str, float]] = {
    "{x}.pop({i}, {*rest})": {"{x}.pop()": 1},
    "{x}.pop()": {"{x}.pop(0)": 1.2, "{x}.popleft()": 1.2},
    "{x}.append({y})": {"{x}.insert(0, {y})": 2},
    "{x}.insert({i}, {y})": {"{x}.append({y})": 1.2},
    "{x}.get({key}, {*rest})": {"{x}[{key}]": 3},
    "{x}.setdefault({key}, {*rest})": {"{x}[{key}]": 3},
    "{x}.sort()": {"{x}[::-1]": 2, "sorted({x})": 2},
    "{x}.reverse()": {"{x}[::-1]": 2, "sorted({x})": 2},
    "{x}.reversed()": {"{x}[::-1]": 2, "sorted({x})": 2},
    "reversed({x})": {"{x}[::-1]": 2},
}


def _has_no_number(site: EditSite, holes: Holes) -> bool:
    is_plain = isinstance(holes["a"], ast.Name | ast.Attribute | ast.Subscript)
    return is_plain and site.facts.type_of(holes["a"]) != "int"


#: Other ways through a range: from 1, backwards, in steps, over what it counts.
_RANGES = (
    Rule("range", "range(len({a}))", {"{a}": 2}),
    Rule(
        "range",
        "range({a})",
        {
            **{"range(1, {a})": 1, "range(1, {a} + 1)": 1, "range({a} - 1, -1, -1)": 1.5},
            **{"range({a}, 0, -1)": 2, "range({a}, -1, -1)": 2, "range(2, {a})": 3},
            **{"range(0, {a}, 2)": 3, "range(2, {a} + 1)": 3},
        },
    ),
    Rule("range", "range({a})", {"range(len({a}))": 1.5}, _has_no_number),
    Rule(
        "range",
        "range({a}, {b})",
        {
            **{"range({b})": 1.5, "range({a} + 1, {b} + 1)": 1.5, "range({a} - 1, {b} - 1)": 2},
            **{"range({a}, {b}, -1)": 1, "range({b} - 1, {a} - 1, -1)": 1.5},
            **{"range({b}, {a}, -1)": 1.5, "range({a}, {b}, 2)": 2.5, "range(0, {b})": 1.5},
            **{"range({b}, {a} - 1, -1)": 2},
        },
    ),
)
#: The same for one with a step, and with the step backwards.
_STEPS = {
    **{"range({a}, {b})": 1.5, "range({a}, {b}, {back})": 1, "range({b}, {a}, {c})": 1.5},
    **{"range({b}, {a}, {back})": 2, "range({a}, {b} - 1, {c})": 1},
    **{"range({b} - 1, {a} - 1, {back})": 2, "range({a}, -1, {c})": 1.5},
}
#: What a call of a missing function may have done with one argument, or with two of them.
_ONE = {f"{{a}} {operation}": 4.0 for operation in ("% 2", "// 2", "+ 1", "- 1", "* 2")}
_TWO = {
    **{f"{{a}} {sign} {{b}}": 3.0 for sign in ("+", "-", "*", "//", "%")},
    **{f"{{a}} {sign} {{b}}": 3.5 for sign in ("==", "in", "<", ">", "not in", "!=")},
    "{a}[{b}]": 3.5,
}


@edits("sibling")
def sibling(site: EditSite, node: ast.Name | ast.Attribute) -> Ways:
    """A function or method of the same family: `max` for `min`, `extend` for `append`."""
    if isinstance(node, ast.Attribute):
        start = site.source(node)[: -len(node.attr)]
        for other, unlikely in siblings(node.attr).items():
            yield start + other, unlikely
        if node.attr in PART_OF and site.is_read:
            yield start + PART_OF[node.attr], 1.0
    elif site.is_read and isinstance(site.parent, ast.Call):
        for other, unlikely in siblings(node.id).items():
            if other.islower() and other not in _METHODS:
                yield other, unlikely


@edits("range")
def ranges(site: EditSite, node: ast.Call) -> Ways:
    """A range from where a loop around it is, or with a step that is turned round."""
    if (found := matched("range({a}, {b})", node)) is not None:
        yield from filled(site, {f"range({one}, {{b}})": 2 for one in _loop_names(site)}, **found)
    elif (found := matched("range({a}, {b}, {c})", node)) is not None:
        step = site.code(found["c"])
        back = step.text[1:] if step.text.startswith("-") else f"-{at_least(step, UNARY)}"
        yield from filled(site, _STEPS, back=Code(back, UNARY), **found)


def _loop_names(site: EditSite) -> list[str]:
    return [
        one.target.id
        for one in site.program.ancestors(site.node)
        if isinstance(one, ast.For)
        and isinstance(one.target, ast.Name)
        and one.iter is not site.node
    ]


@edits("range")
def over(site: EditSite, node: ast.For) -> Ways:
    """A loop over a thing that may have to go over its places, or over its pairs."""
    if isinstance(node.iter, ast.Name):
        kind = site.facts.type_of(node.iter)
        ways: dict[str, float] = {}
        if kind in (None, "int"):
            ways["range({a})"] = 2 if kind else 3.5
        if kind != "int":
            ways["range(len({a}))"] = 2
        if kind == "dict":
            ways |= {"{a}.values()": 1.5, "{a}.items()": 1.5}
        yield from ((node.iter, *way) for way in filled(site, ways, a=node.iter))


@edits("instead")
def instead(site: EditSite, node: ast.Call) -> Ways:
    """A call of something that is not there, given up for what it was called with."""
    program = site.program
    if node.keywords or not 0 < len(node.args) <= 5:
        return
    if any(isinstance(one, ast.Starred) for one in node.args) or not _is_missing(site, node.func):
        return
    parts = [site.code(one) for one in node.args]
    if isinstance(node.func, ast.Attribute):
        base = program.source(node.func.value)
        if base not in ("self", "cls"):
            parts.insert(0, site.code(node.func.value))
            for name in COMMON:
                yield called(name, *parts[1:]), 2
    for place, (one, other) in enumerate(combinations(parts, 2)):
        yield from filled(site, _TWO, 0.5 * place, a=one, b=other)
    if len(parts) == 1:
        yield from filled(site, _ONE, a=parts[0])
    yield from _methods_instead(site, node, parts)


def _methods_instead(site: EditSite, node: ast.Call, parts: list[Code]) -> Iterator[Edit]:
    """A method of the first argument, or of something in scope, for a function that is missing."""
    program = site.program
    rest = ", ".join(at_least(one, NAMED) for one in parts[1:])
    name = program.source(node.func).rpartition(".")[2]
    for method, alike in by_likeness(name, methods())[:6]:
        if alike > 0.5:
            one = behind(parts[0], f".{method}({rest})")
            yield rewrite(program, "instead", node, one, unlikely=2 + 2 * (1 - alike))
    if len(parts) > 1:
        return
    facts = facts_at(program, node)
    held = [
        other
        for other in program_facts(program).visible(node)
        if facts.type_of_name(other) in ("list", "str", "dict", "tuple")
    ]
    for other in held[:4]:
        for method in ("index", "count", "get"):
            if (facts.type_of_name(other) == "dict") == (method == "get"):
                one = Code(f"{other}.{method}({parts[0].text})")
                yield rewrite(program, "instead", node, one, unlikely=4)
    if isinstance(program.parents.get(node), ast.Expr) and not facts.returned:
        says = f"`return` what `{name}`, which is not there, was given"
        splice = Splice(*program.span(node), f"return {parts[0].text}")
        if "\n" not in parts[0].text:
            yield program.edit("instead", node, says, splice, unlikely=3)


def _is_missing(site: EditSite, function: ast.expr) -> bool:
    program = site.program
    match function:
        case ast.Name(id=name):
            return undefined(program, function) or missed(site.failures, name)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            cls = program.class_of(function)
            inherits = cls is not None and bool(cls.bases)
            known = program_facts(program).members.get(cls, {}) if cls is not None else {}
            return missed(site.failures, name) or (name not in known and not inherits)
        case ast.Attribute(value=value, attr=name):
            whole = offered(program.source(value))
            if missed(site.failures, name):
                return True
            if isinstance(value, ast.Name) and undefined(program, value):
                return True
            if whole:
                return name not in whole
            return bool(name not in methods() and facts_at(program, value).type_of(value))
    return False


CALLS: tuple[Operator, ...] = (
    sibling,
    *rules("sibling", _OTHER_WAYS),
    *_RANGES,
    ranges,
    over,
    instead,
)
