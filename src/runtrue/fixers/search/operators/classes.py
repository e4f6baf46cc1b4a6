"""Classes: `self`, decorators of methods, and calls of a parent."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.messages import Sign, cannot_hash, compares_type, names_function
from runtrue.fixers.search.operators.clues import raised
from runtrue.fixers.search.operators.layout import (
    entered,
    first_of,
    free,
    is_known,
    line_before,
    undefined,
)
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import BUILTINS, Function, Program

_DECORATORS = ("staticmethod", "classmethod", "property")


def through_self(site: EditSite) -> Iterator[Edit]:
    """`self.` before what only the class has; taken away before what it has not."""
    node, program = site.node, site.program
    owner = program.class_of(node)
    if owner is None:
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        names = members(program, owner)
        me = _self_name(program, node)
        if me and node.id in names and node.id != me:
            known = is_known(program, node)
            yield program.replace("self", node, f"{me}.{node.id}", unlikely=3.0 if known else 1.0)
        elif me and node.id not in names and not is_known(program, node) and owner.bases:
            yield program.replace("self", node, f"{me}.{node.id}", unlikely=2.0)
        elif node.id in names and not is_known(program, node):
            yield program.replace("self", node, f"{owner.name}.{node.id}", unlikely=1.5)
    is_assigned = isinstance(program.parents[node], ast.Assign | ast.AugAssign)
    match node:
        case ast.Name(id=name, ctx=ast.Store()) if is_assigned:
            if (me := _self_name(program, node)) and name in members(program, owner):
                yield program.replace("self", node, f"{me}.{name}", unlikely=1.2)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            is_seen = name in BUILTINS or name in program.visible(node)
            if name not in members(program, owner) and is_seen:
                yield from _without_self(program, node)


def _without_self(program: Program, node: ast.Attribute) -> Iterator[Edit]:
    """`self.x` as `x`: here, and everywhere in the function."""
    yield program.replace("self", node, node.attr)
    text = program.source(node)
    function = program.function_of(node)
    same = [one for one in walk(function or node, ast.Attribute) if program.source(one) == text]
    if len(same) > 1:
        splices = (Splice(*program.span(one), node.attr) for one in same)
        says = f"`{text}` → `{node.attr}` everywhere"
        yield program.edit("self", node, says, *splices, unlikely=1.2)


def _self_name(program: Program, node: ast.AST) -> str | None:
    for one in program.ancestors(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(
            program.parents[one], ast.ClassDef
        ):
            first = [*one.args.posonlyargs, *one.args.args][:1]
            return first[0].arg if first and first[0].arg in ("self", "cls") else None
    return None


@lru_cache(maxsize=256)
def members(program: Program, owner: ast.ClassDef) -> frozenset[str]:
    """The attributes and methods that a class, and its parents in the file, give themselves."""
    found = set(program.names_in(owner))
    for one in ast.walk(owner):
        match one:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                found.add(name)
    bases = {base.id for base in owner.bases if isinstance(base, ast.Name)}
    for statement in program.tree.body:
        match statement:
            case ast.ClassDef(name=name) if name in bases and statement is not owner:
                found |= members(program, statement)
    return frozenset(found)


def parameter_self(site: EditSite) -> Iterator[Edit]:
    """`self` as the first parameter of a method that lacks it, or that has it in vain."""
    program = site.program
    for function in _methods_at(site):
        spec = function.args
        given = [*spec.posonlyargs, *spec.args]
        marks = {program.source(one) for one in function.decorator_list}
        uses = any(isinstance(one, ast.Name) and one.id == "self" for one in ast.walk(function))
        start = program.text.index("(", program.span(function)[0]) + 1
        if not (given and given[0].arg in ("self", "cls")) and "staticmethod" not in marks:
            word = "cls" if "classmethod" in marks else "self"
            has_any = bool(given or spec.vararg or spec.kwonlyargs or spec.kwarg)
            at = Splice(start, start, f"{word}, " if has_any else word)
            yield program.edit("self", function, f"`{word}` as first parameter", at)
        elif given and not uses and "staticmethod" in marks and given[0].arg == "self":
            end = program.span(given[0])[1]
            rest = program.text[end:]
            gap = len(rest) - len(rest.lstrip(", ")) if len(given) > 1 else 0
            yield program.edit("self", function, "without `self`", Splice(start, end + gap, ""))


def decorate(site: EditSite) -> Iterator[Edit]:
    """`@staticmethod`, `@classmethod` and `@property`, added or dropped."""
    program = site.program
    for function in _methods_at(site):
        marks = {program.source(one): one for one in function.decorator_list}
        depth = program.indent_of(function.lineno)
        for word in _DECORATORS:
            if (mark := marks.get(word)) is not None:
                start = program.offset(mark.lineno, 0)
                end = program.offset(mark.lineno + 1, 0)
                if program.text[start:end].strip() == f"@{word}":
                    gone = Splice(start, end, "")
                    yield program.edit("decorate", function, f"without `@{word}`", gone)
        if marks or function.name.startswith("__"):
            continue
        start = program.offset(function.lineno, 0)
        first = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        fitting = ["staticmethod"] if first[:1] != ["self"] else []
        fitting = ["classmethod"] if first[:1] == ["cls"] else fitting
        fitting += ["property"] if first == ["self"] else []
        for word in fitting:
            line = Splice(start, start, f"{depth}@{word}\n")
            yield program.edit("decorate", function, f"`@{word}`", line, unlikely=1.5)


@edits("decorate")
def ordered(site: EditSite, node: ast.ClassDef) -> Ways:
    """`order=True` for a dataclass that is compared, `frozen=True` for one that is hashed."""
    program = site.program
    for failure in site.failures:
        if compares_type(failure.message, node.name):
            wanted = "order=True"
        elif cannot_hash(failure.message, node.name):
            wanted = "frozen=True"
        else:
            continue
        for mark in node.decorator_list:
            if _dataclass_prefix(mark) is None:
                continue
            named = mark.func if isinstance(mark, ast.Call) else mark
            given = [program.source(one) for one in getattr(mark, "keywords", [])]
            made = f"{program.source(named)}({', '.join([*given, wanted])})"
            yield mark, made, 0.2


def _methods_at(site: EditSite) -> Iterator[Function]:
    """The method whose head, or first statement, a node is; or that an error names."""
    function = entered(site.program, site.node)
    if function is not None and isinstance(site.program.parents[function], ast.ClassDef):
        yield function
    if not isinstance(site.node, ast.stmt):
        return
    # A call that could not be made never entered what has the wrong parameters.
    for failure in raised(site, "TypeError", "AttributeError"):
        for one in walk(site.program.tree, ast.FunctionDef, ast.AsyncFunctionDef):
            is_method = isinstance(site.program.parents[one], ast.ClassDef)
            is_named = names_function(failure.message, one.name) or failure.says(Sign.METHOD)
            if one is not function and is_method and is_named:
                yield one


def call_super(site: EditSite) -> Iterator[Edit]:
    """`super().__init__(…)` in a class that has a parent and does not call it."""
    node, program = site.node, site.program
    owner = program.class_of(node)
    if not isinstance(node, ast.stmt) or owner is None or not owner.bases:
        return
    for function in owner.body:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        here = function is program.function_of(node) or function.name == "__init__"
        text = program.source(function)
        if not here or "super()" in text or not free(program, first := first_of(function)):
            continue
        if function.decorator_list:
            continue
        given = [one.arg for one in function.args.args if one.arg not in ("self", "cls")]
        inherited = _parameters_of_parent(program, owner, function.name)
        handed = [name for name in given if inherited is None or name in inherited]
        ways = [handed, given[:1], [], given]
        wait = "await " if isinstance(function, ast.AsyncFunctionDef) else ""
        for n, names in enumerate({tuple(way): way for way in ways}.values()):
            call = f"{wait}super().{function.name}({', '.join(names)})"
            rare = 1.0 + n / 2 + 2.0 * (function.name != "__init__")
            yield line_before(program, "super", first, "first", call, about=function, unlikely=rare)


def _parameters_of_parent(program: Program, owner: ast.ClassDef, method: str) -> list[str] | None:
    for base in owner.bases:
        for one in program.tree.body:
            if not isinstance(one, ast.ClassDef) or one.name != program.source(base):
                continue
            for function in one.body:
                if isinstance(function, ast.FunctionDef) and function.name == method:
                    return [given.arg for given in function.args.args]
    return None


def own_method(site: EditSite) -> Iterator[Edit]:
    """The class itself for a `self` that a method without an object does not have."""
    node, program = site.node, site.program
    if isinstance(node, ast.Name) and node.id == "self" and node.id in undefined(program):
        owner = program.class_of(node)
        if owner is not None and isinstance(node.ctx, ast.Load):
            yield program.replace("self", node, owner.name, unlikely=2.0)


def fresh_field(site: EditSite) -> Iterator[Edit]:
    """A default that each object of a dataclass has for itself: `field(default_factory=list)`."""
    node, program = site.node, site.program
    owner = program.parents.get(node)
    if not isinstance(node, ast.AnnAssign) or not isinstance(owner, ast.ClassDef):
        return
    made = [one for one in map(_dataclass_prefix, owner.decorator_list) if one is not None]
    if not made or node.value is None:
        return
    text = program.source(node.value)
    match node.value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            factory = "list" if isinstance(node.value, ast.List) else "dict"
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if name != "field":
            factory = name
        case ast.List() | ast.Dict() | ast.Set():
            factory = f"lambda: {text}"
        case _:
            return
    place = Splice(*program.span(node.value), f"{made[0]}field(default_factory={factory})")
    splices = [place]
    if not made[0] and "field" not in program.names_in(program.tree):
        imports = (one for one in program.tree.body if isinstance(one, ast.ImportFrom))
        source = next((one for one in imports if one.module == "dataclasses"), None)
        if source is None or program.source(source).endswith(")"):
            return
        end = program.span(source)[1]
        splices.append(Splice(end, end, ", field"))
    yield program.edit("default", node, f"`{text}` made for each object", *splices)


def _dataclass_prefix(decorator: ast.expr) -> str | None:
    """Return what precedes `dataclass` in a decorator: nothing or a module; else None."""
    match decorator.func if isinstance(decorator, ast.Call) else decorator:
        case ast.Name(id="dataclass"):
            return ""
        case ast.Attribute(value=ast.Name(id=module), attr="dataclass"):
            return f"{module}."
        case _:
            return None
