"""Missing: a name, an attribute or a key that is not there, by what is there instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.messages import Sign, owner_type
from runtrue.fixers.search.operators.classes import members
from runtrue.fixers.search.operators.clues import closest, raised
from runtrue.fixers.search.operators.layout import is_known, undefined
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import BUILTINS, Program

_KNOWN_TYPES: dict[str, type] = {
    one.__name__: one
    for one in (str, list, dict, set, tuple, int, float, bytes, frozenset, bool, range, bytearray)
}
#: An expression that is put in the place of a name is no longer than the first; no more of them
#: than the second are next to a variable, and than the third in all.
_LONGEST, _MOST_NEXT, _MOST_PLACED = 24, 8, 30


@edits("missing_attribute")
def attribute(site: EditSite, node: ast.Attribute) -> Ways:
    """An attribute that the real object has, for one that it has not."""
    program = site.program
    offered: dict[str, None] = {}
    for failure in site.failures:
        if failure.exception != "AttributeError" or failure.missed_attribute != node.attr:
            continue
        offered |= dict.fromkeys(failure.missing_from.attributes if failure.missing_from else ())
        kind = failure.missing_from.type if failure.missing_from else owner_type(failure.message)
        if kind in _KNOWN_TYPES:
            offered |= dict.fromkeys(dir(_KNOWN_TYPES[kind]))
        keys = failure.missing_from.keys if failure.missing_from else ()
        owner = program.source(node.value)
        same = [repr(node.attr)] if repr(node.attr) in keys else []
        for n, key in enumerate([*same, *closest(repr(node.attr), keys, 4)]):
            yield program.replace("key", node, f"{owner}[{key}]", unlikely=1.0 + n / 2)
    owner_class = program.class_of(node)
    if isinstance(node.value, ast.Name) and node.value.id == "self" and owner_class is not None:
        own = members(program, owner_class)
        if node.attr not in own:
            offered |= dict.fromkeys(sorted(own))
    names = tuple(name for name in offered if not name.startswith("__"))
    end = program.span(node)[1]
    for n, name in enumerate(closest(node.attr, names)):
        says = f"`.{node.attr}` → `.{name}`"
        at = Splice(end - len(node.attr), end, name)
        yield program.edit("missing_attribute", node, says, at, unlikely=1.0 + n / 3)
    if [1 for name in names if name] and isinstance(node.value, ast.Name):
        yield from _everywhere_attribute(program, node, closest(node.attr, names, 2))


def _everywhere_attribute(
    program: Program, node: ast.Attribute, names: tuple[str, ...]
) -> Iterator[Edit]:
    """Replace a wrong attribute wherever the file has it on the same object."""
    owner = program.source(node.value)
    same = [
        one
        for one in walk(program.tree, ast.Attribute)
        if one.attr == node.attr and program.source(one.value) == owner
    ]
    if len(same) < 2:
        return
    for n, name in enumerate(names):
        ends = [program.span(one)[1] for one in same]
        splices = (Splice(end - len(node.attr), end, name) for end in ends)
        says = f"`.{node.attr}` → `.{name}` everywhere"
        yield program.edit("missing_attribute", node, says, *splices, unlikely=1.5 + n)


def key(site: EditSite) -> Iterator[Edit]:
    """A key that the real mapping has, for one that it has not; of another type, if need be."""
    node, program = site.node, site.program
    if isinstance(node, ast.Subscript):
        asked = node.slice
    elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
        asked = node.args[0]
        if node.func.attr not in ("get", "pop", "setdefault"):
            return
    else:
        return
    for failure in raised(site, "KeyError"):
        keys = failure.missing_from.keys if failure.missing_from else ()
        if isinstance(asked, ast.Constant):
            own = repr(asked.value)
            if failure.key not in (None, own, str(asked.value)):
                continue
            for n, one in enumerate(closest(own, keys)):
                yield program.replace("key", asked, one, unlikely=1.0 + n / 3)
        elif keys:
            text = program.source(asked)
            for kind in ("str", "int", "tuple"):
                yield program.replace("key", asked, f"{kind}({text})", unlikely=1.5)
            for word in (".lower()", ".strip()", ".upper()"):
                if isinstance(asked, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
                    yield program.replace("key", asked, f"{text}{word}", unlikely=2.0)
    match node:
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))) if name.isidentifier():
            if any(one.says(Sign.NOT_SUBSCRIPTABLE) for one in raised(site, "TypeError")):
                yield program.replace("key", node, f"{program.source(owner)}.{name}")


@edits("name")
def name(site: EditSite, node: ast.Name) -> Ways:
    """A name that is there, for one that is not: here, and everywhere in the function."""
    program = site.program
    if node.id not in undefined(program):
        return
    if is_known(program, node):
        return
    seen = [one for one in program.visible(node) if one != node.id]
    likely = closest(node.id, tuple(seen), 40)
    built = closest(node.id, tuple(sorted(n for n in BUILTINS if n.islower())), 3)
    for n, one in enumerate((*likely[:6], *built)):
        yield one, 1.0 + n / 5
    yield from _nearby_expressions(program, node)
    scope: ast.AST = site.function or program.tree
    same = [one for one in walk(scope, ast.Name) if one.id == node.id]
    if len(same) > 1 and isinstance(node.ctx, ast.Load):
        for n, one in enumerate(likely[:12]):
            splices = (Splice(*program.span(x), one) for x in same)
            says = f"`{node.id}` → `{one}` everywhere"
            yield program.edit("name", node, says, *splices, unlikely=1.2 + n / 5)
    everywhere = [x for x in walk(program.tree, ast.Name) if x.id == node.id]
    if len(everywhere) > len(same):
        for n, one in enumerate(likely[:4]):
            splices = (Splice(*program.span(x), one) for x in everywhere)
            says = f"`{node.id}` → `{one}` in the whole file"
            yield program.edit("name", node, says, *splices, unlikely=1.5 + n / 3)


def _nearby_expressions(program: Program, node: ast.Name) -> Iterator[Edit]:
    """A small expression of the same function, or one next to a variable of it."""
    function = program.function_of(node)
    if function is None or not isinstance(node.ctx, ast.Load):
        return
    texts: dict[str, float] = {}
    for one in walk(function, ast.expr):
        if isinstance(program.parents[one], ast.arg):
            continue
        small = isinstance(one, ast.Subscript | ast.Attribute | ast.BinOp | ast.Call)
        text = program.source(one)
        if not small or len(text) > _LONGEST or "\n" in text or not _is_read(program, one):
            continue
        near = abs(one.lineno - node.lineno) / 10
        texts.setdefault(text, 2.5 + near)
        if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name):
            owner, at = program.source(one.value), one.slice.id
            texts.setdefault(f"{owner}[{at} + 1]", 2.7 + near)
            texts.setdefault(f"{owner}[{at} - 1]", 2.7 + near)
    own = [one for one in program.visible(node) if one in program.names_in(function)]
    for name in own[:_MOST_NEXT]:
        texts.setdefault(f"{name} - 1", 3.0)
        texts.setdefault(f"{name} + 1", 3.0)
    for text, unlikely in sorted(texts.items(), key=lambda pair: pair[1])[:_MOST_PLACED]:
        written = f"({text})" if isinstance(program.parents[node], ast.expr) else text
        yield program.replace("name", node, written, unlikely=unlikely)


def _is_read(program: Program, node: ast.expr) -> bool:
    """True if an expression is read, and all of its names are there."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    names = list(walk(node, ast.Name))
    return bool(names) and not any(one.id in undefined(program) for one in names)


@edits("annotation")
def annotation(site: EditSite, node: ast.Name) -> Ways:
    """A type that is not there, out of all annotations, or as another."""
    program = site.program
    if node.id not in undefined(program):
        return
    notes = [
        note
        for one in ast.walk(program.tree)
        for note in (getattr(one, "annotation", None), getattr(one, "returns", None))
        if note is not None
    ]
    wrong = [x for note in notes for x in walk(note, ast.Name) if x.id == node.id]
    if node not in wrong:
        return
    known = [x.id for note in notes for x in walk(note, ast.Name)]
    visible = [n for n in program.names_in(program.tree) if n[:1].isupper()]
    usual = ["list", "dict", "str", "int", "object"]
    good = [n for n in dict.fromkeys([*visible, *known, *usual]) if n not in undefined(program)]
    for n, one in enumerate(closest(node.id, tuple(good), 6)):
        splices = (Splice(*program.span(x), one) for x in wrong)
        says = f"`{node.id}` → `{one}` in annotations"
        yield program.edit("annotation", node, says, *splices, unlikely=1.0 + n / 3)
    cut = next((note for note in notes if node in ast.walk(note)), None)
    parent = None if cut is None else program.parents[cut]
    if isinstance(parent, ast.arg) and cut is not None:
        at = Splice(program.span(parent)[0] + len(parent.arg), program.span(cut)[1], "")
        yield program.edit("annotation", node, "without the annotation", at, unlikely=2.5)
