"""Assigning: what is kept, added to, begun with, or thrown away by mistake."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.clues import closest, raised
from runtrue.fixers.search.operators.layout import (
    LOOPS,
    before,
    first_of,
    free,
    is_known,
    line_after,
    line_before,
    loop_of,
    undefined,
    written,
)
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Function, Program

_TARGETS = (ast.Name, ast.Attribute, ast.Subscript)
#: Change what they are called on, and give None (or what was taken out).
_IN_PLACE = frozenset(
    (
        *("append", "extend", "insert", "remove", "sort", "reverse", "clear", "update", "add"),
        *("discard", "appendleft", "extendleft"),
    )
)
#: Give something new, and leave what they are called on as it was.
_RETURN_NEW = (frozenset(dir(str)) | frozenset(dir(frozenset))) - frozenset(dir(object))
_BUILDERS = ("sorted", "reversed", "list", "set", "str", "int", "float", "abs", "tuple", "dict")
#: What may be meant by `x = y`; in a loop by `xs[key] = y`; and rarely.
_AUGMENTED = {
    **{"{x} += {y}": 1.0, "{x} -= {y}": 1.5, "{x} *= {y}": 2.0, "{x} |= {y}": 2.5},
    "{x}.append({y})": 3.0,
}
_GATHERED = {
    "{xs}[{key}] = {xs}.get({key}, 0) + {y}": 1.0,
    "{xs}.setdefault({key}, []).append({y})": 2.0,
}
_EXTREME = {"{x} = max({x}, {y})": 3.0, "{x} = min({x}, {y})": 3.5}
#: What a value may be made, and assigned again, that is only written.
_CONVERTED = {
    f"{{x}} = {name}({{x}})": 2 + n / 4
    for n, name in enumerate(("str", "list", "int", "sorted", "set"))
}
#: How a variable may begin, by what is done with it.
_BEGINNINGS = ("0", "[]", "{}", '""', "None", "False", "set()", "1", "True", 'float("inf")')


@edits("augment")
def augment(site: EditSite, node: ast.Assign | ast.AugAssign) -> Ways:
    """`x = y` for `x += y` and back; `x = y` for `x.append(y)`."""
    value = written(site.program, node.value)
    match node:
        case ast.AugAssign(target=aim):
            yield f"{site.source(aim)} = {value}", 1.5
        case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as aim]):
            parts, ways = {"x": site.source(aim), "y": value}, dict(_AUGMENTED)
            if isinstance(aim, ast.Subscript) and loop_of(site.program, node) is not None:
                # The last value under a key is not all of them: add to what is there.
                parts |= {"xs": site.source(aim.value), "key": site.source(aim.slice)}
                ways |= _GATHERED
            for form, unlikely in (ways | _EXTREME).items():
                yield form.format(**parts), unlikely


@edits("copy")
def copy_first(site: EditSite, node: ast.Assign) -> Ways:
    """A copy of what is changed here and belongs to somebody else."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute()):
            for n, (way, rare) in enumerate(_copies(site.function, name)):
                yield node.value, way.format(site.source(node.value)), rare + n / 4


def _copies(function: Function | None, name: str) -> list[tuple[str, float]]:
    """Return ways to copy a variable, by what is changed of it."""
    kinds: set[str] = set()
    for one in ast.walk(function) if function is not None else ():
        match one:
            case ast.Subscript(value=ast.Name(id=owner), ctx=ast.Store() | ast.Del()):
                kinds |= {"dict", "list"} if owner == name else set()
            case ast.Attribute(value=ast.Name(id=owner), attr=method) if owner == name:
                kinds |= {"dict"} if method in ("update", "setdefault", "popitem") else set()
                kinds |= {"list"} if method in _IN_PLACE - {"update", "add", "discard"} else set()
                kinds |= {"set"} if method in ("add", "discard") else set()
    ways = [("{}.copy()", 1.0)] if kinds else []
    return ways + [(f"{kind}({{}})", 1.2) for kind in sorted(kinds)]


@edits("keep")
def keep(site: EditSite, node: ast.Expr) -> Ways:
    """A value that is made and thrown away, assigned to what it was made of."""
    program = site.program
    value = node.value
    text = written(program, value)
    if isinstance(value, ast.Call):
        func = value.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name | ast.Attribute):
            plain = 1.0 if func.attr in _RETURN_NEW else 3.0
            if func.attr not in _IN_PLACE:
                aim = program.source(func.value)
                yield f"{aim} = {text}", plain
        for n, one in enumerate(value.args[:2]):
            if isinstance(one, ast.Name | ast.Attribute | ast.Subscript):
                plain = 1.0 if isinstance(func, ast.Name) and func.id in _BUILDERS else 3.0
                aim = program.source(one)
                yield f"{aim} = {text}", plain + n
    elif isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.Eq):
        if isinstance(value.left, _TARGETS):
            start, end = program.span(value.left)[1], program.span(value.comparators[0])[0]
            if "(" not in (between := program.text[start:end]) and ")" not in between:
                made = Splice(start, end, between.replace("==", "=", 1))
                yield program.edit("keep", node, "`==` → `=`", made)
    elif isinstance(value, ast.Name):
        for form, unlikely in _CONVERTED.items():
            yield form.format(x=text), unlikely
    elif isinstance(value, ast.BinOp) and isinstance(value.left, _TARGETS):
        aim = program.source(value.left)
        yield f"{aim} = {text}", 1.5


@edits("in_place")
def in_place(site: EditSite, node: ast.Assign | ast.Return) -> Ways:
    """Do not assign or return the None that a method working in place gives."""
    program = site.program
    if not isinstance(node.value, ast.Call):
        return
    func = node.value.func
    if not isinstance(func, ast.Attribute) or func.attr not in _IN_PLACE:
        return
    call, owner = program.source(node.value), program.source(func.value)
    if isinstance(node, ast.Assign):
        yield call, 1.0
        if free(program, node) and len(node.targets) == 1:
            aim = program.source(node.targets[0])
            if aim != owner:
                indent = program.indent_of(node.lineno)
                yield f"{call}\n{indent}{aim} = {owner}", 1.0
    elif free(program, node):
        indent = program.indent_of(node.lineno)
        yield f"{call}\n{indent}return {owner}", 1.0
    if func.attr in ("sort", "reverse"):
        fresh = "sorted" if func.attr == "sort" else "reversed"
        inside = ", ".join([owner, *(program.source(one) for one in node.value.keywords)])
        text = f"{fresh}({inside})" if fresh == "sorted" else f"{owner}[::-1]"
        yield node.value, text, 1.2


@edits("count_on")
def count_on(site: EditSite, node: ast.While) -> Ways:
    """`i += 1` at the end of a loop that waits for `i` to change."""
    program = site.program
    if not free(program, node):
        return
    last = node.body[-1]
    if not free(program, last):
        return
    asked = [one.id for one in walk(node.test, ast.Name)]
    for name in dict.fromkeys(asked):
        for n, text in enumerate((f"{name} += 1", f"{name} -= 1", f"{name} //= 2")):
            where = "at the end of the loop"
            yield line_after(program, "count_on", last, where, text, unlikely=1.5 + n)


@edits("declare")
def declare(site: EditSite, node: ast.Assign | ast.AugAssign) -> Ways:
    """`global` or `nonlocal` for a name that is assigned here and meant outside."""
    program = site.program
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    function = site.function
    if function is None or not free(program, first_of(function)):
        return
    given = {one.arg for one in walk(function.args, ast.arg)}
    said = {name for one in walk(function, ast.Global, ast.Nonlocal) for name in one.names}
    for aim in targets:
        for one in walk(aim, ast.Name):
            if one.id in given | said:
                continue
            outer = program.function_of(function)
            first = first_of(function)
            sure = 1.0 if any(raised(site, "UnboundLocalError")) else 2.0
            if outer is not None and one.id in program.names_in(outer):
                line = before(program, first, f"nonlocal {one.id}")
            elif one.id in program.names_in(program.tree):
                line = before(program, first, f"global {one.id}")
            else:
                continue
            yield program.edit("declare", node, f"`{line.text.strip()}`", line, unlikely=sure)


@edits("begin")
def begin(site: EditSite, node: ast.Name) -> Ways:
    """A beginning for a variable that has none where it is first used."""
    program = site.program
    function = site.function
    unbound = any(
        one.name in (None, node.id) and node.id in one.message
        for one in raised(site, "UnboundLocalError")
    )
    if function is None or not (unbound or node.id in undefined(program)):
        return
    if not unbound and is_known(program, node):
        return
    first = _first_with(function, node.id)
    places = list(dict.fromkeys([_outermost(program, node), first_of(function)]))
    for n, place in enumerate(places):
        if not free(program, place):
            continue
        for m, text in enumerate(beginnings(program, function, node.id)):
            line, rare = f"{node.id} = {text}", 1.0 + 0.2 * m + 0.5 * n
            yield line_before(program, "begin", place, "at first", line, about=node, unlikely=rare)
    if first is not None:
        yield from _begin_alike(program, node, function)


def _begin_alike(program: Program, node: ast.Name, function: Function) -> Iterator[Edit]:
    """Begin as a variable of a similar name does: `columns = …` behind `rows = …`."""
    begun = {
        one.targets[0].id: one
        for one in walk(function, ast.Assign)
        if isinstance(one.targets[0], ast.Name) and len(one.targets) == 1 and free(program, one)
    }
    for n, name in enumerate(closest(node.id, tuple(begun), 4)):
        value = program.source(begun[name].value)
        line = f"{node.id} = {value}"
        if "\n" not in value:
            where, rare = f"behind `{name}`", 1.2 + 0.3 * n
            yield line_after(program, "begin", begun[name], where, line, about=node, unlikely=rare)


def _outermost(program: Program, node: ast.AST) -> ast.stmt:
    """The statement before which a variable has to begin: the outermost loop around its use."""
    place = program.statement_of(node)
    while (loop := loop_of(program, place)) is not None:
        place = loop
    parent = program.parents[place]
    while isinstance(parent, (ast.If, ast.Try, ast.With, *LOOPS)):
        place, parent = parent, program.parents[parent]
    return place


def _first_with(function: Function, name: str) -> ast.Name | None:
    found = (one for one in walk(function, ast.Name) if one.id == name)
    return min(found, key=lambda one: (one.lineno, one.col_offset), default=None)


def beginnings(program: Program, function: Function, name: str) -> list[str]:
    """Return what a variable may begin as, by its uses in the function; likeliest first."""
    likely: list[str] = []
    for one in walk(function, ast.Name):
        if one.id != name:
            continue
        parent = program.parents[one]
        if isinstance(parent, ast.Attribute):
            likely += {"append": ["[]"], "add": ["set()"], "extend": ["[]"]}.get(parent.attr, [])
            likely += ["{}"] * (parent.attr in ("get", "setdefault", "items", "keys"))
        elif isinstance(parent, ast.Subscript) and parent.value is one:
            likely += ["{}", "[]"]
        elif isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Constant):
            kind = type(parent.value.value)
            likely += ["False"] if kind is bool else ['""'] * (kind is str) + ["0"] * (kind is int)
        elif isinstance(parent, ast.Compare) and parent.left is one:
            # What it is compared with says what it is where nothing was found.
            likely += [program.source(side) for side in parent.comparators if _is_marker(side)]
        elif isinstance(parent, ast.AugAssign):
            likely += ['""'] if isinstance(parent.value, ast.JoinedStr) else ["0"]
        elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
            likely += {"min": ['float("inf")'], "max": ["0"], "len": ["[]"]}.get(parent.func.id, [])
    return list(dict.fromkeys([*likely, *_BEGINNINGS]))[:8]


def _is_marker(node: ast.expr) -> bool:
    """True for None, and for what is named like a constant."""
    named = isinstance(node, ast.Name) and node.id.isupper()
    return named or (isinstance(node, ast.Constant) and node.value is None)


@edits("call", read=True)
def call_it(site: EditSite, node: ast.Attribute | ast.Name) -> Ways:
    """The brackets that a call lacks: `self.reset` → `self.reset()`."""
    called = f"{site.source(node)}()"
    if site.is_called or (isinstance(node, ast.Name) and isinstance(site.parent, ast.Attribute)):
        return
    if isinstance(site.parent, ast.Expr):
        yield called, 1.0
    elif isinstance(node, ast.Attribute):
        if node.attr in _methods(site.program):
            yield called, 1.5
        elif node.attr.startswith(("is_", "has_", "get_", "to_")):
            yield called, 2.0
    elif any(
        isinstance(one, ast.FunctionDef) and one.name == node.id for one in site.program.tree.body
    ):
        yield called, 2.5


@lru_cache(maxsize=16)
def _methods(program: Program) -> frozenset[str]:
    own = frozenset(
        one.name
        for one in walk(program.tree, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(program.parents[one], ast.ClassDef) and not one.decorator_list
    )
    return own | _OF_BUILTINS


_OF_BUILTINS = frozenset(
    name for kind in (str, list, dict, set) for name in dir(kind) if not name.startswith("_")
)
