"""Calls: the sibling of a function, another range, and what to do without a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.facts import facts_at, gathered, missed, undefined
from runtrue.fixers.search.operators.families import COMMON, PART_OF, methods, offered, siblings
from runtrue.fixers.search.operators.likeness import by_likeness
from runtrue.fixers.search.operators.precedence import (
    NAMED,
    Code,
    at_least,
    behind,
    binary,
    called,
    code,
    compared,
    rewrite,
)
from runtrue.fixers.search.operators.seam import EditSite

_METHODS = frozenset({"append", "extend", "add", "insert", "remove", "pop", "popleft"})


def sibling(site: EditSite) -> Iterator[Edit]:
    """A function or method of the same family: `max` for `min`, `extend` for `append`."""
    program, node = site.program, site.node
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        parent = program.parents.get(node)
        if not isinstance(parent, ast.Call):
            return
        for other, unlikely in siblings(node.id).items():
            if other.islower() and not _is_method(other):
                yield program.replace("sibling", node, other, unlikely=unlikely)
    elif isinstance(node, ast.Attribute):
        start = program.source(node)[: -len(node.attr)]
        for other, unlikely in siblings(node.attr).items():
            yield program.replace("sibling", node, start + other, unlikely=unlikely)
        if node.attr in PART_OF and isinstance(node.ctx, ast.Load):
            yield program.replace("sibling", node, start + PART_OF[node.attr])
    elif isinstance(node, ast.Call):
        yield from _other_ways(site, node)


def _is_method(name: str) -> bool:
    return name in _METHODS


def _other_ways(site: EditSite, node: ast.Call) -> Iterator[Edit]:
    """The same family, where the arguments have to change with the name."""
    program = site.program
    arguments = [code(program, one) for one in node.args]
    if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
        return
    match node.func:
        case ast.Attribute(value=value, attr="pop"):
            if arguments:
                yield rewrite(program, "sibling", node, behind(code(program, value), ".pop()"))
            else:
                for text in (".pop(0)", ".popleft()"):
                    one = behind(code(program, value), text)
                    yield rewrite(program, "sibling", node, one, unlikely=1.2)
        case ast.Attribute(value=value, attr="append") if len(arguments) == 1:
            one = behind(code(program, value), f".insert(0, {at_least(arguments[0], NAMED)})")
            yield rewrite(program, "sibling", node, one, unlikely=2)
        case ast.Attribute(value=value, attr="insert") if len(arguments) == 2:
            one = behind(code(program, value), f".append({at_least(arguments[1], NAMED)})")
            yield rewrite(program, "sibling", node, one, unlikely=1.2)
        case ast.Attribute(value=value, attr="get" | "setdefault") if arguments:
            one = behind(code(program, value), f"[{at_least(arguments[0], NAMED)}]")
            yield rewrite(program, "sibling", node, one, unlikely=3)
        case ast.Attribute(value=value, attr="sort" | "reverse" | "reversed") if not arguments:
            turned = behind(code(program, value), "[::-1]")
            yield rewrite(program, "sibling", node, turned, unlikely=2)
            yield rewrite(
                program, "sibling", node, called("sorted", code(program, value)), unlikely=2
            )
        case ast.Name(id="reversed") if len(arguments) == 1:
            yield rewrite(program, "sibling", node, behind(arguments[0], "[::-1]"), unlikely=2)


def ranges(site: EditSite) -> Iterator[Edit]:
    """Another way through a range: from 1, backwards, in steps, over what it counts."""
    program, node = site.program, site.node
    match node:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if args and not any(
            isinstance(one, ast.Starred) for one in args
        ):
            parts = [code(program, one) for one in args]
        case ast.For(iter=ast.Name() as over) | ast.comprehension(iter=ast.Name() as over):
            yield from _over(site, over)
            return
        case _:
            return
    less = [binary(one, "-", Code("1")) for one in parts]
    more = [binary(one, "+", Code("1")) for one in parts]
    ways: list[tuple[tuple[Code, ...], float]] = []
    zero, one, minus = Code("0"), Code("1"), Code("-1")
    if len(parts) == 1:
        stop = parts[0]
        ways = [((one, stop), 1), ((one, more[0]), 1), ((less[0], minus, minus), 1.5)]
        ways += [((stop, zero, minus), 2), ((stop, minus, minus), 2), ((Code("2"), stop), 3)]
        ways += [((zero, stop, Code("2")), 3), ((Code("2"), more[0]), 3)]
        match args[0]:
            case ast.Call(func=ast.Name(id="len"), args=[inner]):
                yield rewrite(program, "range", node, code(program, inner), unlikely=2)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                if facts_at(program, node).type_of(args[0]) != "int":
                    ways.append(((called("len", stop),), 1.5))
    elif len(parts) == 2:
        start, stop = parts
        ways = [((stop,), 1.5), ((more[0], more[1]), 1.5), ((less[0], less[1]), 2)]
        ways += [((start, stop, minus), 1), ((less[1], less[0], minus), 1.5)]
        ways += [((stop, start, minus), 1.5), ((start, stop, Code("2")), 2.5), ((zero, stop), 1.5)]
        ways += [((stop, less[0], minus), 2)]
        ways += [((Code(other), stop), 2) for other in _loop_names(site, node)]
    elif len(parts) == 3:
        start, stop, step = parts
        flipped = Code(step.text[1:] if step.text.startswith("-") else f"-{at_least(step, 14)}", 14)
        ways = [((start, stop), 1.5), ((start, stop, flipped), 1), ((stop, start, step), 1.5)]
        ways += [((stop, start, flipped), 2), ((start, less[1], step), 1)]
        ways += [((less[1], less[0], flipped), 2), ((start, minus, step), 1.5)]
    for way, unlikely in ways:
        yield rewrite(program, "range", node, called("range", *way), unlikely=unlikely)


def _loop_names(site: EditSite, node: ast.Call) -> list[str]:
    """The variables of the loops around."""
    return [
        one.target.id
        for one in site.program.ancestors(node)
        if isinstance(one, ast.For) and isinstance(one.target, ast.Name) and one.iter is not node
    ]


def _over(site: EditSite, over: ast.Name) -> Iterator[Edit]:
    """A loop over a thing that may have to go over its places, or over its pairs."""
    program = site.program
    one = code(program, over)
    kind = facts_at(program, over).type_of(over)
    if kind in (None, "int"):
        yield rewrite(program, "range", over, called("range", one), unlikely=2 if kind else 3.5)
    if kind != "int":
        yield rewrite(program, "range", over, Code(f"range(len({one.text}))"), unlikely=2)
    if kind == "dict":
        for method in ("values", "items"):
            yield rewrite(program, "range", over, behind(one, f".{method}()"), unlikely=1.5)


def instead(site: EditSite) -> Iterator[Edit]:
    """A call of something that is not there, given up for what it was called with."""
    program, node = site.program, site.node
    if not isinstance(node, ast.Call) or node.keywords or not 0 < len(node.args) <= 5:
        return
    if any(isinstance(one, ast.Starred) for one in node.args) or not _is_missing(site, node.func):
        return
    parts = [code(program, one) for one in node.args]
    if isinstance(node.func, ast.Attribute):
        base = program.source(node.func.value)
        if base not in ("self", "cls"):
            parts.insert(0, code(program, node.func.value))
            for name in COMMON:
                yield rewrite(program, "instead", node, called(name, *parts[1:]), unlikely=2)
    for place, (one, other) in enumerate(combinations(parts, 2)):
        for sign in ("+", "-", "*", "//", "%"):
            yield rewrite(
                program, "instead", node, binary(one, sign, other), unlikely=3 + 0.5 * place
            )
        for sign in ("==", "in", "<", ">", "not in", "!="):
            yield rewrite(
                program, "instead", node, compared(one, sign, other), unlikely=3.5 + 0.5 * place
            )
        one_of = behind(one, f"[{at_least(other, NAMED)}]")
        yield rewrite(program, "instead", node, one_of, unlikely=3.5 + 0.5 * place)
    if len(parts) == 1:
        for sign, number in (("%", "2"), ("//", "2"), ("+", "1"), ("-", "1"), ("*", "2")):
            edit = binary(parts[0], sign, Code(number))
            yield rewrite(program, "instead", node, edit, unlikely=4)

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
        for other in gathered(program).visible(program, node)
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
            known = gathered(program).members.get(cls, {}) if cls is not None else {}
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


CALLS = (sibling, ranges, instead)
