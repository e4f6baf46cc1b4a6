"""What is never read put to use, and what is never set given the value that it waits for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from textwrap import shorten

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.layout import (
    ENDS,
    entered,
    first_of,
    free,
    line_after,
    line_before,
    parameters,
)
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import Code, joined, rewrite
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import Function, Program

#: Where a name is written that may be another one.
_ROLES = frozenset(
    ("returned", "argument", "keyword", "element", "operand", "compared", "assigned", "called")
)
#: The most of them in a function: with more, it is hardly a slip.
_MOST = 3
#: What an attribute that a test misses may begin as.
_BEGINNINGS = ("None", "[]", "{}", "0", "False", '""')


def use_unread(site: EditSite) -> Iterator[Edit]:
    """A variable that nothing reads: given as a further element or argument, or for another."""
    program, node = site.program, site.node
    kinds = ast.Tuple | ast.List | ast.Call | ast.Name | ast.Compare | ast.BoolOp | ast.UnaryOp
    if not isinstance(node, kinds) or not site.is_read:
        return
    if (function := program.function_of(node)) is None:
        return
    for name in _unread(program, function):
        match node:
            case ast.Name(id=other) if site.role in _ROLES and other != name:
                yield program.replace("unread", node, name, unlikely=0.5)
            case ast.Tuple(elts=[*_, last]) | ast.List(elts=[*_, last]):
                yield _behind(program, node, last, name, 0.3)
            case ast.Call(args=[*_, last], keywords=[]) if not isinstance(last, ast.GeneratorExp):
                yield _behind(program, node, last, name, 1.0)
        if site.role == "test":
            here = site.code(node)
            for n, word in enumerate(("and", "or")):
                whole = joined(word, Code(name), here)
                yield rewrite(program, "unread", node, whole, unlikely=0.5 + 0.3 * n)


def forgotten_function(site: EditSite) -> Iterator[Edit]:
    """A function that its file defines and nothing calls, in place of a like call of one value."""
    program, node = site.program, site.node
    match node:
        case ast.Call(args=[first, *_], keywords=[]) if not isinstance(first, ast.Starred):
            pass
        case _:
            return
    if (around := program.function_of(node)) is None:
        return
    for function in _forgotten(program):
        if function is not around:
            made = f"{function.name}({program.source(first)})"
            yield program.replace("unread", node, made, unlikely=0.7)


@lru_cache(maxsize=64)
def _forgotten(program: Program) -> tuple[Function, ...]:
    """Return the functions of one value that a module defines and does not mention again."""
    tree = program.tree
    mentioned = {one.id for one in walk(tree, ast.Name)}
    mentioned |= {one.attr for one in walk(tree, ast.Attribute)}
    mentioned |= {one.value for one in walk(tree, ast.Constant) if isinstance(one.value, str)}
    found = [
        one
        for one in tree.body
        if isinstance(one, ast.FunctionDef)
        and one.name not in mentioned
        and not one.decorator_list
        and len(one.args.posonlyargs + one.args.args) - len(one.args.defaults) == 1
    ]
    return tuple(found) if len(found) <= _MOST else ()


def hungry_attribute(site: EditSite) -> Iterator[Edit]:
    """A private attribute that its class sets and never reads, or reads and never sets."""
    program, node = site.program, site.node
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ctx):
            pass
        case _:
            return
    owner = program.class_of(node)
    if owner is None or isinstance(ctx, ast.Del):
        return
    unread, unset = _lonely(owner)
    for other in unread if isinstance(ctx, ast.Load) else unset:
        if other != name:
            yield program.replace("unread", node, f"self.{other}", unlikely=0.5)


def unset_attribute(site: EditSite) -> Iterator[Edit]:
    """An attribute that a class reads, or a test misses, set where an object is made."""
    program, node = site.program, site.node
    function = entered(program, node)
    owner = program.parents.get(function) if function is not None else None
    if function is None or function.name != "__init__" or not isinstance(owner, ast.ClassDef):
        return
    attributes = [
        one
        for one in walk(owner, ast.Attribute)
        if isinstance(one.value, ast.Name) and one.value.id == "self"
    ]
    given = {one.attr for one in attributes if isinstance(one.ctx, ast.Store)}
    given |= {one.name for one in walk(owner, ast.FunctionDef, ast.AsyncFunctionDef)}
    read = {one.attr for one in attributes}
    missed = {one.missed_attribute for one in site.failures}
    first, last = first_of(function), function.body[-1]
    begun = {one.attr for one in walk(function, ast.Attribute) if isinstance(one.ctx, ast.Store)}
    ways = [
        (attribute, name, 0.5)
        for name in parameters(function)
        for attribute in (name, f"_{name}")
        if attribute in (read | missed) - given
    ]
    ways += [
        (attribute, value, 1.0 + 0.3 * n)
        for attribute in sorted(missed & read - begun)
        for n, value in enumerate(_BEGINNINGS)
    ]
    for attribute, value, rare in ways:
        line = f"self.{attribute} = {value}"
        if free(program, last) and not isinstance(last, ENDS):
            yield line_after(program, "unread", last, "at the end", line, unlikely=rare)
        if free(program, first):
            yield line_before(program, "unread", first, "first", line, unlikely=rare + 0.5)


@lru_cache(maxsize=256)
def _lonely(owner: ast.ClassDef) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the attributes that a class without parents only sets, and those it only reads."""
    if any(not (isinstance(one, ast.Name) and one.id == "object") for one in owner.bases):
        return (), ()
    attributes = [
        one
        for one in walk(owner, ast.Attribute)
        if isinstance(one.value, ast.Name) and one.value.id in ("self", "cls", owner.name)
    ]
    read = dict.fromkeys(one.attr for one in attributes if isinstance(one.ctx, ast.Load))
    given = dict.fromkeys(one.attr for one in attributes if not isinstance(one.ctx, ast.Load))
    named = {one.value for one in walk(owner, ast.Constant) if isinstance(one.value, str)}
    for call in walk(owner, ast.Call):
        match call:
            case ast.Call(
                func=ast.Name(id="hasattr" | "getattr"),
                args=[ast.Name(id="self"), ast.Constant(value=str() as name), *_],
            ):
                read.setdefault(name)
            case ast.Call(func=ast.Name(id="setattr" | "vars")):
                return (), ()
    own = {one.name for one in walk(owner, ast.FunctionDef, ast.AsyncFunctionDef)}
    own |= {one.id for one in walk(owner, ast.Name) if isinstance(one.ctx, ast.Store)}
    unread = [n for n in given if n.startswith("_") and n not in read and n not in named | own]
    unset = [n for n in read if n not in given and n not in own and not n.startswith("__")]
    return tuple(unread[:_MOST]), tuple(unset[:_MOST])


def _behind(program: Program, node: ast.AST, last: ast.AST, name: str, unlikely: float) -> Edit:
    end = program.span(last)[1]
    short = shorten(program.source(node), 40, placeholder="…")
    says = f"`{name}`, which nothing reads, added to `{short}`"
    return program.edit("unread", node, says, Splice(end, end, f", {name}"), unlikely=unlikely)


@lru_cache(maxsize=512)
def _unread(program: Program, function: Function) -> tuple[str, ...]:
    """Return the variables that a function assigns by themselves and that are never read in it."""
    assigned = dict.fromkeys(
        target.id
        for one in walk(function, ast.Assign, ast.AnnAssign)
        for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
        if isinstance(target, ast.Name) and one.value is not None
    )
    shared = {name for one in walk(function, ast.Global, ast.Nonlocal) for name in one.names}
    read = {one.id for one in walk(function, ast.Name) if not isinstance(one.ctx, ast.Store)}
    # Locals() may read anything, and `_` is for what nobody wants.
    found = [one for one in assigned if one not in read | shared and one.strip("_")]
    return () if len(found) > _MOST or "locals" in read else tuple(found)
