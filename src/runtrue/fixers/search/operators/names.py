"""Names: a variable, an attribute or a method for another that is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.facts import (
    facts_at,
    is_property,
    missed,
    program_facts,
    undefined,
)
from runtrue.fixers.search.operators.families import COMMON, methods, offered, siblings
from runtrue.fixers.search.operators.likeness import by_likeness, likeness
from runtrue.fixers.search.operators.precedence import UNARY, Code, fitted, rewrite
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import BUILTINS, Program

_MOST = 9
_MOST_UNDEFINED = 24


@edits("variable")
def variable(site: EditSite, node: ast.Name) -> Ways:
    """Another variable that is in scope."""
    if isinstance(node.ctx, ast.Del):
        return
    if site.is_read and (undefined(site.program, node) or missed(site.failures, node.id)):
        yield from _for_undefined(site, node)
        return
    if node.id in BUILTINS and site.is_called:
        return
    parent, rare = site.parent, 1.0 if site.is_read else 2.5
    for place, (other, alike) in enumerate(candidates(site, node)[:_MOST]):
        if not isinstance(parent, ast.Compare | ast.BinOp) or not _same_operand(parent, other):
            yield other, rare + 0.25 * place + (0.0 if alike > 0.5 else 0.5)


def candidates(site: EditSite, node: ast.Name) -> list[tuple[str, float]]:
    """The names that may be meant, the likeliest first: of the same type, alike, near, used."""
    program = site.program
    facts = facts_at(program, node)
    known = program_facts(program)
    own = facts.type_of_name(node.id)
    parent = program.parents.get(node)
    is_called = isinstance(parent, ast.Call) and node is parent.func
    inside = set(program.names_in(facts.scope)) if facts.scope is not program.tree else None
    ranked: list[tuple[float, str, float]] = []
    for other in known.visible(node):
        if other in (node.id, "self", "cls", "_") or (other.startswith("__")):
            continue
        if is_called != known.is_function(node, other):
            continue
        local = inside is None or other in inside or is_called or other in facts.uses
        if not local and not other.isupper():
            continue
        kind = facts.type_of_name(other)
        alike = likeness(node.id, other)
        score = (
            alike
            + (0.6 if own and kind == own else 0.0)
            - (0.8 if own and kind and kind != own else 0.0)
        )
        score += 0.3 if _paired(node.id, other) else 0.0
        score += 0.1 * min(facts.uses[other], 4)
        ranked.append((-score, other, alike))
    ranked.sort(key=lambda row: row[0])
    return [(other, alike) for _, other, alike in ranked]


def _paired(one: str, other: str) -> bool:
    """True if two names are often written side by side: `i` and `j`, `x1` and `x2`."""
    if len(one) == 1 and len(other) == 1:
        return True
    return one[:-1] == other[:-1] or one.rstrip("0123456789") == other.rstrip("0123456789")


def _same_operand(parent: ast.Compare | ast.BinOp, name: str) -> bool:
    """True if the other operand is that name already: `a < a` is never meant."""
    sides = (
        [parent.left, *parent.comparators]
        if isinstance(parent, ast.Compare)
        else [parent.left, parent.right]
    )
    if isinstance(parent, ast.BinOp) and not isinstance(
        parent.op, ast.Sub | ast.FloorDiv | ast.Mod
    ):
        return False
    return any(isinstance(side, ast.Name) and side.id == name for side in sides)


def _for_undefined(site: EditSite, node: ast.Name) -> Iterator[Edit]:
    """Replace a name that nothing binds: by a similar, a used or a built-in one."""
    program = site.program
    known = program_facts(program)
    facts = facts_at(program, node)
    parent = program.parents.get(node)
    is_called = isinstance(parent, ast.Call) and node is parent.func
    cls = program.class_of(node)
    members = known.members.get(cls, {}) if cls is not None else {}
    found: dict[str, float] = {}
    if node.id in members:
        found[f"self.{node.id}"] = 1.0
    visible = [name for name in known.visible(node) if name != "self"]
    for other, alike in by_likeness(node.id, visible):
        used = 0.05 * min(facts.uses[other], 6)
        fits = 0.0 if is_called == known.is_function(node, other) else 1.5
        found.setdefault(other, 1.0 + 2.0 * (1 - alike) - used + fits)
    for other, alike in by_likeness(node.id, members):
        found.setdefault(f"self.{other}", 1.5 + 3.0 * (1 - alike))
    for other, alike in by_likeness(node.id, sorted(b for b in BUILTINS if b.islower())):
        if alike > 0.6:
            found.setdefault(other, 1.2 + 3.0 * (1 - alike))
    if is_called:
        for other in COMMON:
            found.setdefault(other, 3.5)
    if _is_annotation(site, node):
        for place, other in enumerate(("list", "dict", "str", "int", "set", "tuple", "object")):
            found.setdefault(other, 2.0 + 0.1 * place)
    for text, rank in sorted(found.items(), key=lambda pair: pair[1])[:_MOST_UNDEFINED]:
        yield program.replace("undefined", node, text, unlikely=max(rank, 1.0))
    if is_called or isinstance(parent, ast.Attribute) or _is_annotation(site, node):
        return
    if isinstance(parent, ast.Subscript):
        if node is parent.slice:
            for text, rank in sorted(found.items(), key=lambda pair: pair[1])[:6]:
                for sign in ("-", "+"):
                    one = Code(f"{text} {sign} 1")
                    yield rewrite(program, "undefined", node, one, unlikely=rank + 2)
        return
    texts = [repr(text) for text in list(known.strings)[:6]]
    for text in ("None", "True", "False", "0", "1", "-1", "[]", *texts):
        yield rewrite(program, "undefined", node, Code(text, UNARY), unlikely=4)


@edits("attribute")
def attribute(site: EditSite, node: ast.Attribute) -> Ways:
    """Another attribute or method of the same object, as far as the file tells."""
    text = site.source(node)
    if isinstance(node.ctx, ast.Del) or not text.endswith(node.attr):
        return
    base, cls = site.source(node.value), site.program.class_of(node)
    if base in ("self", "cls") and cls is not None:
        yield from _without_owner(site, node, base, cls)
        others = _own_attributes(site, node, cls)
    else:
        others = _attributes_of(site, node, base)
    family = siblings(node.attr)
    ranked = sorted(others.items(), key=lambda pair: pair[1])
    for other, unlikely in ranked[: 20 if missed(site.failures, node.attr) else _MOST]:
        if other != node.attr and other not in family:
            yield text[: -len(node.attr)] + other, unlikely


def _without_owner(site: EditSite, node: ast.Attribute, base: str, cls: ast.ClassDef) -> Ways:
    """A name or a function for an attribute that the class has not."""
    known, visible = site.known, site.known.visible(node)
    is_member = node.attr in known.members[cls]
    if site.is_read and node.attr in visible:
        yield node.attr, 2.0 if is_member else 1.0
    elif is_member or site.function is None:
        return
    elif site.is_called:
        for other, alike in by_likeness(node.attr, known.functions)[:4]:
            yield other, 1.5 + 2 * (1 - alike)
        yield from ((other, 3.5) for other in COMMON)
    elif site.is_read:
        names = [name for name in visible if name != base]
        for other, alike in by_likeness(node.attr, names)[:6]:
            yield other, 1.5 + 2 * (1 - alike)


def _own_attributes(site: EditSite, node: ast.Attribute, cls: ast.ClassDef) -> dict[str, float]:
    """Return other attributes of the class, with how unlikely each is."""
    members, methods_of = site.known.members[cls], site.known.defined(cls)
    is_method = node.attr in methods_of
    others = {
        other: 1.0 + 2 * (1 - alike)
        for other, alike in by_likeness(node.attr, members)
        if node.attr not in members or (other in methods_of) == is_method
    }
    if _is_inside_property(site.program, node):
        others[f"_{node.attr}"] = 1.0
    return others


def _attributes_of(site: EditSite, node: ast.Attribute, base: str) -> dict[str, float]:
    """Return other attributes of an object, with how unlikely each is."""
    known, name = site.known, node.attr
    used, whole = known.attributes.get(base, {}), offered(base)
    is_missed = missed(site.failures, name)
    others = {other: 1.5 + 2 * (1 - alike) for other, alike in by_likeness(name, used)}
    for other, alike in by_likeness(name, whole):
        if name not in whole or alike > 0.6:
            others.setdefault(other, 1.2 + 2 * (1 - alike))
    if not whole and (name not in methods() or is_missed):
        unknown = name not in used or len(used) == 1 or is_missed
        for other, alike in by_likeness(name, methods()) if site.is_called else ():
            if unknown or alike > 0.6:
                others.setdefault(other, 1.5 + 3 * (1 - alike))
        for one in known.members.values():
            for other, alike in by_likeness(name, one)[:6]:
                others.setdefault(other, 1.5 + 2 * (1 - alike))
    return others


def _is_inside_property(program: Program, node: ast.Attribute) -> bool:
    """True if a property reads or sets itself, and not the field behind it."""
    function = program.function_of(node)
    return function is not None and function.name == node.attr and is_property(function)


@edits("attribute")
def belonging(site: EditSite, node: ast.Name) -> Ways:
    """`x` for `self.x` and back, where both are there."""
    program = site.program
    if undefined(program, node):
        return
    cls = program.class_of(node)
    function = site.function
    if cls is None or function is None or not function.args.args:
        return
    if function.args.args[0].arg == "self" and node.id in site.known.members[cls]:
        yield f"self.{node.id}", 1.5


def chained(site: EditSite) -> Iterator[Edit]:
    """An attribute left out, or one too many: `a.b` or `c` for `a.b.c`; `node` for `node.next`."""
    program, node = site.program, site.node
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        parent = program.parents.get(node)
        is_called = isinstance(parent, ast.Call) and node is parent.func
        if not is_called and program.source(node.value) not in ("self", "cls"):
            text = fitted(program, node, Code(program.source(node.value)))
            yield program.replace("attribute", node, text, unlikely=2)
            if node.attr in program_facts(program).visible(node):
                yield program.replace("attribute", node, node.attr, unlikely=1.5)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        parent = program.parents.get(node)
        if isinstance(parent, ast.Attribute) or (
            isinstance(parent, ast.Call) and node is parent.func
        ):
            return
        known = program_facts(program).attributes.get(node.id, {})
        read = [one for one in known if one not in methods() and one not in offered(node.id)]
        if node.id in ("self", "cls"):
            return
        for other in read[:4]:
            yield program.replace("attribute", node, f"{node.id}.{other}", unlikely=2)


def _is_annotation(site: EditSite, node: ast.AST) -> bool:
    for parent in site.program.ancestors(node):
        match parent:
            case ast.arg() | ast.AnnAssign() if getattr(parent, "annotation", None) is node:
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return parent.returns is node
            case ast.stmt():
                return False
        node = parent
    return False


def is_never_evaluated(site: EditSite) -> bool:
    """True if a node is never evaluated: an annotation, or part of a text."""
    program, node = site.program, site.node
    if not isinstance(node, ast.expr):
        return False
    if isinstance(program.parents.get(node), ast.JoinedStr):
        return True
    if isinstance(node, ast.Name) and undefined(program, node):
        return False  # an annotation is worked out when the function is defined
    return _is_annotation(site, node)


NAMES = (variable, attribute, belonging, chained)
