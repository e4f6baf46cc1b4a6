"""Wraps: a call, an index or a method around an expression or behind it, or one less."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.facts import facts_at
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import NAMED, Code, at_least, code, sign_of
from runtrue.fixers.search.operators.rules import fill, filled, rewrites
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_UNARY_CALLS = (
    *("len", "abs", "int", "float", "str", "list", "set", "tuple", "sorted", "sum", "max", "min"),
    *("reversed", "iter", "any", "all", "bool", "round", "dict", "enumerate", "ord", "chr"),
    *("deepcopy", "copy", "floor", "ceil", "sqrt", "isqrt"),
)


def _table(rows: dict[str | None, str]) -> dict[str | None, dict[str, float]]:
    """Parse rows of `text cost | …`, by the type of the expression that is wrapped."""
    pairs = {kind: [one.rsplit(" ", 1) for one in row.split(" | ")] for kind, row in rows.items()}
    return {kind: {text: float(cost) for text, cost in row} for kind, row in pairs.items()}


_AROUND = _table(
    {
        "str": "int 2 | len 2 | list 3 | set 3 | sorted 3 | float 4 | ord 3.5",
        "list": "len 1.5 | sorted 1.5 | sum 2 | max 2.5 | min 2.5 | set 2 | tuple 2.5 | list 2.5",
        "tuple": "list 2 | sorted 2 | len 2 | set 3",
        "set": "len 1.5 | sorted 1.5 | list 1.5",
        "dict": "len 2 | list 2.5 | sorted 3",
        "int": "abs 2 | str 2 | chr 5 | float 5",
        "float": "int 1.5 | round 1.5 | abs 2 | str 3",
        "bool": "int 4",
        None: "len 2.5 | abs 3 | int 3 | str 3 | list 3.5 | sorted 3.5 | set 4 | sum 4 | max 5"
        " | tuple 4",
    }
)
_BEHIND = _table(
    {
        "str": ".lower() 1.5 | .strip() 1.5 | [::-1] 2 | [1:] 2 | [:-1] 2 | [0] 2.5 | [-1] 2.5"
        " | .split() 2.5 | .upper() 2.5",
        "list": "[::-1] 1.5 | [1:] 2 | [:-1] 2 | [0] 2 | [-1] 2 | [:] 2 | .copy() 3.5",
        "tuple": "[0] 2 | [1] 2 | [-1] 2.5 | [::-1] 2.5",
        "dict": ".items() 1.5 | .values() 1.5 | .keys() 3 | .copy() 3",
        "set": ".copy() 3",
        None: "[::-1] 4 | [0] 3 | [-1] 3 | [1] 4 | .lower() 5 | .strip() 5 | [:] 4 | .items() 5"
        " | .values() 5",
    }
)


@edits("unwrap")
def unwrapped(site: EditSite, node: ast.Call) -> Ways:
    """A call given up for what it is called with, or for what it is a method of."""
    program = site.program
    if isinstance(site.parent, ast.Expr | ast.Await):
        return
    plain = [one for one in node.args if not isinstance(one, ast.Starred)]
    for place, one in enumerate(plain[:3]):
        known = isinstance(node.func, ast.Name) and node.func.id in _UNARY_CALLS
        unlikely = (1.0 if known and len(plain) == 1 else 1.5) + 0.3 * place
        if isinstance(one, ast.GeneratorExp):
            continue
        yield code(program, one), unlikely
    if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Constant):
        base = node.func.value
        if not (isinstance(base, ast.Name) and _is_namespace(site, base)):
            rare = 1.5 if not node.args else 2.5
            yield code(program, base), rare


def _is_namespace(site: EditSite, base: ast.Name) -> bool:
    """True if a name is only where functions come from: a module, or the object."""
    return base.id in ("self", "cls") or any(
        (alias.asname or alias.name) == base.id
        for node in site.program.tree.body
        if isinstance(node, ast.Import)
        for alias in node.names
    )


@edits("wrap")
def wrapped(site: EditSite, node: ast.expr) -> Ways:
    """A call around an expression, or a method, an index or a slice behind it."""
    if not _may_wrap(site):
        return
    facts = site.facts
    kind = facts.type_of(node)
    if kind in ("function", "NoneType") or kind not in _AROUND:
        kind = None
    parent = site.parent
    rare = 0.0 if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else 0.5
    if kind is None and isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        kind = "list"
    if isinstance(node, ast.ListComp):
        rare = 0.5
    for name, unlikely in _AROUND[kind].items():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            continue
        outer = parent.func if isinstance(parent, ast.Call) else None
        if isinstance(outer, ast.Name) and (
            outer.id == name or (outer.id == "range" and name != "len")
        ):
            continue
        yield from filled(site, {f"{name}({{a}})": unlikely}, rare, a=node)
    if isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp) and kind is None:
        return
    behind = {f"{{a}}{text}": unlikely for text, unlikely in _BEHIND.get(kind, {}).items()}
    yield from filled(site, behind, rare, a=node)


def _may_wrap(site: EditSite) -> bool:
    """True if a value is passed on: returned, assigned, compared, given to a call."""
    program, node = site.program, site.node
    if not isinstance(
        node,
        ast.Name
        | ast.Attribute
        | ast.Subscript
        | ast.Call
        | ast.BinOp
        | ast.ListComp
        | ast.List
        | ast.SetComp,
    ) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(node, ast.List) and len(node.elts) < 2:
        return False
    if isinstance(node, ast.BinOp) and isinstance(
        program.parents.get(node), ast.Subscript | ast.Slice
    ):
        return False
    if isinstance(node, ast.Name) and node.id in ("self", "cls"):
        return False
    parent = program.parents.get(node)
    match parent:
        case ast.Return() | ast.Assign() | ast.Compare() | ast.AugAssign() | ast.Starred():
            return True
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            return node is parent.iter
        case ast.Call():
            return node in parent.args and len(parent.args) <= 4
        case ast.keyword() | ast.IfExp() | ast.BinOp() | ast.FormattedValue():
            return True
        case ast.Subscript():
            return node is parent.slice and not isinstance(node, ast.BinOp)
        case ast.Attribute():  # `x.count()` where `str(x).count()` is meant: seldom
            return False
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return node is parent.elt
        case ast.Tuple() | ast.List():
            return isinstance(parent.ctx, ast.Load) and len(parent.elts) <= 3
        case _:
            return False


def clamped(site: EditSite) -> Iterator[Edit]:
    """`max(0, …)` and the like around a number that is returned, assigned or given to a call."""
    program, node = site.program, site.node
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub):
        left = program.source(node.target)
        less = fill("{a} - {b}", a=code(program, node.target), b=code(program, node.value))
        yield program.replace("clamp", node, f"{left} = max(0, {less.text})", unlikely=1.5)
    if not isinstance(node, ast.BinOp | ast.Name | ast.Call | ast.Subscript):
        return
    parent = program.parents.get(node)
    if not isinstance(parent, ast.Return | ast.Assign | ast.Call | ast.Slice):
        return
    if isinstance(parent, ast.Call) and (
        node is parent.func or (isinstance(parent.func, ast.Name) and parent.func.id != "range")
    ):
        return
    if isinstance(parent, ast.Assign) and node in parent.targets:
        return
    facts = facts_at(program, node)
    if facts.type_of(node) not in (None, "int", "float"):
        return
    sure = 0 if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else 1.5
    yield from rewrites(site, "clamp", node, {"max(0, {a})": 1.5}, sure, a=node)
    function = program.function_of(node)
    if isinstance(parent, ast.Return) and function is not None:
        # A limit is given to a function, as a rule.
        given = [arg.arg for arg in function.args.args if arg.arg not in ("self", "cls")]
        for limit in given if len(given) > 1 else ():
            if not _mentions(node, limit, site):
                ways = {"min({a}, {b})": 3.0, "max({a}, {b})": 3.0}
                yield from rewrites(site, "clamp", node, ways, a=node, b=limit)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if isinstance(target, ast.Name | ast.Subscript | ast.Attribute) and not _mentions(
            node, program.source(target), site
        ):
            ways = {"max({b}, {a})": 2.0, "min({b}, {a})": 2.0}
            yield from rewrites(site, "clamp", node, ways, a=node, b=program.source(target))


@edits("wrap")
def ignoring_case(site: EditSite, node: ast.Compare) -> Ways:
    """Both sides of a comparison without what does not count: case, or white space."""
    if len(node.ops) != 1:
        return
    sides = (node.left, node.comparators[0])
    if not isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        return
    facts = site.facts
    if any(
        isinstance(one, ast.Constant) or facts.type_of(one) not in (None, "str") for one in sides
    ):
        return
    function = site.function
    says = (ast.get_docstring(function) or "").lower() if function is not None else ""
    for n, (method, word) in enumerate(((".lower()", "case"), (".strip()", "space"))):
        way = f"{{a}}{method} {sign_of(node.ops[0])} {{b}}{method}"
        ways = {way: 0.3 if word in says else 1.5 + n}
        yield from filled(site, ways, a=sides[0], b=sides[1])


def larger_of_two(site: EditSite) -> Iterator[Edit]:
    """The larger, or smaller, of the same attribute of two things: `max(a.end, b.end)`."""
    program, node = site.program, site.node
    parent, function = program.parents.get(node), program.function_of(node)
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return
    if function is None or not isinstance(parent, ast.Call | ast.Return | ast.Assign | ast.keyword):
        return
    if isinstance(parent, ast.Call) and node is parent.func:
        return
    owner = program.source(node.value)
    visible = set(program.visible(node))
    others = dict.fromkeys(
        one.value.id
        for one in walk(function, ast.Attribute)
        if isinstance(one.value, ast.Name) and one.value.id in visible - {owner, "self", "cls"}
    )
    for n, other in enumerate(list(others)[:3]):
        for m, name in enumerate(("max", "min")):
            ways = {f"{name}({other}.{node.attr}, {{a}})": 1.0 + (n + m) / 2}
            yield from rewrites(site, "clamp", node, ways, a=node)


def _mentions(node: ast.AST, text: str, site: EditSite) -> bool:
    return any(
        isinstance(one, ast.expr) and site.program.source(one) == text for one in ast.walk(node)
    )


@edits("wrap")
def listed(site: EditSite, node: ast.expr) -> Ways:
    """A value in a list of its own, or out of it, where lists are put together."""
    program = site.program
    parent = site.parent
    facts = site.facts
    handed = isinstance(parent, ast.BinOp | ast.AugAssign | ast.Return) or (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr in ("append", "extend", "add", "appendleft", "update")
        and node in parent.args
    )
    if not handed or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    if isinstance(parent, ast.AugAssign) and node is parent.target:
        return
    if (
        isinstance(node, ast.List)
        and len(node.elts) == 1
        and not isinstance(node.elts[0], ast.Starred)
    ):
        yield code(program, node.elts[0]), 1.5
    elif isinstance(node, ast.Name | ast.Subscript | ast.Call) and facts.type_of(node) not in (
        "int",
        "bool",
    ):
        inner = at_least(code(program, node), NAMED + 1)
        yield Code(f"[{inner}]"), 3


WRAPS = (unwrapped, wrapped, clamped, listed, ignoring_case, larger_of_two)
