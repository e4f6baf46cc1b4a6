"""Wraps: a call, an index or a method around an expression or behind it, or one less."""

from __future__ import annotations

import ast

from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import NAMED, Code, at_least, sign_of
from runtrue.fixers.search.operators.rules import fill, filled
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
    if isinstance(site.parent, ast.Expr | ast.Await):
        return
    plain = [one for one in node.args if not isinstance(one, ast.Starred)]
    known = isinstance(node.func, ast.Name) and node.func.id in _UNARY_CALLS and len(plain) == 1
    for place, one in enumerate(plain[:3]):
        if not isinstance(one, ast.GeneratorExp):
            yield site.code(one), (1.0 if known else 1.5) + 0.3 * place
    if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Constant):
        base = node.func.value
        if not (isinstance(base, ast.Name) and _is_namespace(site, base)):
            yield site.code(base), 2.5 if node.args else 1.5


def _is_namespace(site: EditSite, base: ast.Name) -> bool:
    """True if a name is only where functions come from: a module, or the object."""
    return base.id in ("self", "cls") or any(
        (alias.asname or alias.name) == base.id
        for node in site.program.tree.body
        if isinstance(node, ast.Import)
        for alias in node.names
    )


@edits("wrap", read=True)
def wrapped(site: EditSite, node: ast.expr) -> Ways:
    """A call around an expression, or a method, an index or a slice behind it."""
    if not _may_wrap(site, node):
        return
    kind = site.facts.type_of(node)
    if kind not in _AROUND:
        kind = None
    if kind is None and isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        kind = "list"
    rare = 0.0 if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else 0.5
    inner, outer = _function_name(node), _function_name(site.parent)
    ways = {
        f"{name}({{a}})": unlikely
        for name, unlikely in _AROUND[kind].items()
        if name not in (inner, outer) and (outer != "range" or name == "len")
    }
    if not isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp) or kind is not None:
        ways |= {f"{{a}}{text}": unlikely for text, unlikely in _BEHIND.get(kind, {}).items()}
    yield from filled(site, ways, rare, a=node)


def _function_name(node: ast.AST | None) -> str | None:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


#: Where a value is passed on: returned, assigned, compared, given to a call.
_PASSED_ON = frozenset(
    {
        *("returned", "assigned", "compared", "added", "starred", "iterated", "argument"),
        *("keyword", "test", "branch", "operand", "shown", "index", "given", "element"),
    }
)
_WRAPPED = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.ListComp, ast.List),
    ast.SetComp,
)


def _may_wrap(site: EditSite, node: ast.expr) -> bool:
    """True if a value that something may be done with is passed on."""
    if not isinstance(node, _WRAPPED) or site.role not in _PASSED_ON:
        return False
    match node:
        case ast.List(elts=[] | [_]) | ast.Name(id="self" | "cls"):
            return False
        case ast.BinOp() if site.role in ("index", "owner", "bound"):
            return False
    match site.parent:
        case ast.If() | ast.While():
            return False
        case ast.Call(args=args) if len(args) > 4:
            return False
        case ast.Tuple(elts=elts, ctx=ctx) | ast.List(elts=elts, ctx=ctx):
            return isinstance(ctx, ast.Load) and len(elts) <= 3
    return True


@edits("clamp")
def clamped(
    site: EditSite, node: ast.AugAssign | ast.BinOp | ast.Name | ast.Call | ast.Subscript
) -> Ways:
    """`max(0, …)` and the like around a number that is returned, assigned or given to a call."""
    parent, function = site.parent, site.function
    match node, parent:
        case ast.AugAssign(target=target, op=ast.Sub(), value=value), _:
            less = fill("{a} - {b}", a=site.code(target), b=site.code(value))
            yield f"{site.source(target)} = max(0, {less.text})", 1.5
            return
        case ast.AugAssign(), _:
            return
        case _, ast.Call(func=ast.Name(id=name)) if name != "range":
            return
        case _, ast.Call(func=func) if node is func:
            return
        case _, ast.Assign(targets=targets) if node in targets:
            return
        case _, ast.Return() | ast.Assign() | ast.Slice() | ast.Call():
            pass
        case _:
            return
    if site.facts.type_of(node) not in (None, "int", "float"):
        return
    is_difference = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    yield from filled(site, {"max(0, {a})": 1.5 if is_difference else 3.0}, a=node)
    if isinstance(parent, ast.Return) and function is not None:
        # A limit is given to a function, as a rule.
        given = [arg.arg for arg in function.args.args if arg.arg not in ("self", "cls")]
        for limit in given if len(given) > 1 else ():
            if not _mentions(node, limit, site):
                yield from filled(
                    site, {"min({a}, {b})": 3.0, "max({a}, {b})": 3.0}, a=node, b=limit
                )
    match parent:
        case ast.Assign(targets=[ast.Name() | ast.Subscript() | ast.Attribute() as aim]):
            text = site.source(aim)
            if not _mentions(node, text, site):
                ways = {"max({b}, {a})": 2.0, "min({b}, {a})": 2.0}
                yield from filled(site, ways, a=node, b=text)


@edits("wrap")
def ignoring_case(site: EditSite, node: ast.Compare) -> Ways:
    """Both sides of a comparison without what does not count: case, or white space."""
    match node:
        case ast.Compare(
            left=left,
            ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() as operator],
            comparators=[right],
        ):
            facts, function = site.facts, site.function
        case _:
            return
    for one in (left, right):
        if isinstance(one, ast.Constant) or facts.type_of(one) not in (None, "str"):
            return
    says = (ast.get_docstring(function) or "").lower() if function is not None else ""
    for n, (method, word) in enumerate(((".lower()", "case"), (".strip()", "space"))):
        way = f"{{a}}{method} {sign_of(operator)} {{b}}{method}"
        yield from filled(site, {way: 0.3 if word in says else 1.5 + n}, a=left, b=right)


@edits("clamp", read=True)
def larger_of_two(site: EditSite, node: ast.Attribute) -> Ways:
    """The larger, or smaller, of the same attribute of two things: `max(a.end, b.end)`."""
    function = site.function
    if function is None or site.role not in ("argument", "returned", "assigned", "keyword"):
        return
    others = set(site.program.visible(node)) - {site.source(node.value), "self", "cls"}
    names = [
        one.value.id for one in walk(function, ast.Attribute) if isinstance(one.value, ast.Name)
    ]
    for n, other in enumerate([one for one in dict.fromkeys(names) if one in others][:3]):
        two = f"({other}.{node.attr}, {{a}})"
        yield from filled(site, {f"max{two}": 1.0 + n / 2, f"min{two}": 1.5 + n / 2}, a=node)


def _mentions(node: ast.AST, text: str, site: EditSite) -> bool:
    return any(
        isinstance(one, ast.expr) and site.program.source(one) == text for one in ast.walk(node)
    )


@edits("wrap", read=True)
def listed(site: EditSite, node: ast.expr) -> Ways:
    """A value in a list of its own, or out of it, where lists are put together."""
    match site.parent:
        case ast.BinOp() | ast.AugAssign() | ast.Return():
            pass
        case ast.Call(
            func=ast.Attribute(attr="append" | "extend" | "add" | "appendleft" | "update")
        ):
            if site.role != "argument":
                return
        case _:
            return
    match node:
        case ast.List(elts=[ast.Starred()]):
            pass
        case ast.List(elts=[one]):
            yield site.code(one), 1.5
        case ast.Name() | ast.Subscript() | ast.Call():
            if site.facts.type_of(node) not in ("int", "bool"):
                yield Code(f"[{at_least(site.code(node), NAMED + 1)}]"), 3


WRAPS = (unwrapped, wrapped, clamped, listed, ignoring_case, larger_of_two)
