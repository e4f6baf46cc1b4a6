"""Operations: one operator for another, a negation more or less, one more or one less."""

from __future__ import annotations

import ast

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.facts import facts_at
from runtrue.fixers.search.operators.precedence import (
    code,
    joined,
    operator_between,
    resign,
    rewrite,
    sign_of,
)
from runtrue.fixers.search.operators.rules import Holes, Rule, fill, filled
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

# What is written by mistake, what was meant, and how much rarer than the plain slip that is.
_COMPARISONS: dict[str, dict[str, float]] = {
    "<": {"<=": 1, ">": 1, ">=": 1.5, "!=": 2, "==": 2.5},
    "<=": {"<": 1, ">=": 1, ">": 1.5, "==": 2, "!=": 2.5},
    ">": {">=": 1, "<": 1, "<=": 1.5, "!=": 2, "==": 2.5},
    ">=": {">": 1, "<=": 1, "<": 1.5, "==": 2, "!=": 2.5},
    "==": {"!=": 1, "<=": 1.5, ">=": 1.5, "<": 2, ">": 2, "in": 2.5, "is": 6},
    "!=": {"==": 1, "<": 1.5, ">": 1.5, "<=": 2, ">=": 2, "not in": 2.5, "is not": 6},
    "in": {"not in": 1, "==": 2.5, "!=": 4},
    "not in": {"in": 1, "!=": 2.5, "==": 4},
    "is": {"is not": 1, "==": 1.2, "in": 4},
    "is not": {"is": 1, "!=": 1.2, "not in": 4},
}
_ARITHMETIC: dict[str, dict[str, float]] = {
    "+": {"-": 1, "*": 1.5, "//": 3, "%": 4, "**": 4, "|": 4, "/": 4},
    "-": {"+": 1, "*": 2, "//": 2.5, "%": 3, "/": 3, "^": 5, "&": 5},
    "*": {"+": 1, "//": 1.5, "**": 1.5, "/": 1.5, "-": 2, "%": 2.5},
    "/": {"//": 1, "*": 1.2, "%": 2, "-": 2.5, "+": 3},
    "//": {"/": 1, "%": 1, "*": 1.5, "-": 2.5, "+": 3, ">>": 4},
    "%": {"//": 1, "/": 1.5, "*": 2, "-": 2.5, "+": 3, "&": 3},
    "**": {"*": 1, "^": 3, "//": 4, "+": 4},
    "@": {"*": 1},
    "<<": {">>": 1, "*": 3, "**": 3},
    ">>": {"<<": 1, "//": 2},
    "&": {"|": 1, "^": 1, "+": 4, "%": 3},
    "|": {"&": 1, "^": 1, "+": 2},
    "^": {"|": 1, "&": 1, "**": 1.5, "+": 3},
}


@edits("comparison")
def comparison(site: EditSite, node: ast.Compare) -> Ways:
    """`<` for `<=`, `==` for `!=`, `in` for `not in`."""
    program = site.program
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        if (at := operator_between(program, left, right)) is None:
            continue
        against_literal = isinstance(right, ast.Constant) and not isinstance(right.value, str)
        for sign, unlikely in _COMPARISONS[sign_of(operator)].items():
            if sign in ("in", "not in") and against_literal:
                continue
            if sign in ("is", "is not") and not against_literal:
                continue
            if isinstance(right, ast.Constant) and right.value is None and sign[0] in "<>":
                continue
            ordered = sign[0] in "<>" and isinstance(operator, ast.Eq | ast.NotEq)
            rare = 1.0 if ordered and not _is_number(program, node, (left, right)) else 0.0
            yield resign(program, "comparison", node, at, sign, unlikely=unlikely + rare)


def _is_number(program: Program, node: ast.AST, sides: tuple[ast.expr, ast.expr]) -> bool:
    facts = facts_at(program, node)
    return any(facts.type_of(one) in ("int", "float") for one in sides)


@edits("boolean")
def boolean(site: EditSite, node: ast.BoolOp) -> Ways:
    """`and` for `or`, all of a row or one of it."""
    was, word = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    values = [site.code(value) for value in node.values]
    yield joined(word, *values), 1.0
    for cut in range(1, len(values)) if len(values) > 2 else ():
        yield joined(word, joined(was, *values[:cut]), joined(was, *values[cut:])), 1.5


def _is_no_number(site: EditSite, holes: Holes) -> bool:
    return not isinstance(holes["a"], ast.Constant)  # for a number, another one will do


@edits("negation", read=True)
def negation(site: EditSite, node: ast.expr) -> Ways:
    """A condition turned round."""
    # A single comparison is turned round by its operator, a `not` is taken away.
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        return
    if is_condition(site, node) and not (isinstance(node, ast.Compare) and len(node.ops) == 1):
        yield from filled(site, {"not {a}": 1.5 if isinstance(node, ast.BoolOp) else 1.0}, a=node)


def is_condition(site: EditSite, node: ast.expr) -> bool:
    """True if a node is a condition, or may well be one."""
    if site.role in ("returned", "assigned", "keyword", "argument", "called"):
        return site.facts.type_of(node) == "bool" and not isinstance(node, ast.Constant)
    return site.role in ("test", "asserted", "part", "filter")


#: How unlikely a minus is before what is handed on, if it is a number and if it may be one.
_NEGATED = dict.fromkeys(("returned", "keyword", "argument", "element", "result"), (3.0, 4.0))


@edits("sign", read=True)
def sign(
    site: EditSite, node: ast.Name | ast.Subscript | ast.Call | ast.Attribute | ast.BinOp
) -> Ways:
    """A number with the other sign."""
    parent, kind = site.parent, site.facts.type_of(node)
    if kind not in (None, "int", "float") or (kind is None and isinstance(node, ast.Call)):
        return
    rare = _NEGATED.get(site.role, (2.5, 2.5) if site.role == "index" else None)
    match parent:
        case ast.Call(args=args) if len(args) > 3:
            return
        case ast.Tuple() if isinstance(site.program.parents.get(parent), ast.Lambda):
            rare = (1.0, 1.0)  # in the key of a sort, it turns round one of several orders
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[right]):
            rare = (4.0, 4.0) if node is right else None
        case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Eq() | ast.NotEq()], left=left):
            against = parent.comparators[0]
            rare = (3.0, 3.0) if node is left and not isinstance(against, ast.Constant) else None
    if rare:
        yield from filled(site, {"-{a}": rare[0] if kind else rare[1]}, a=node)


@edits("arithmetic")
def arithmetic(site: EditSite, node: ast.BinOp) -> Ways:
    """`+` for `-`, `//` for `/`, `%` for `//`."""
    program = site.program
    facts = site.facts
    if isinstance(node.op, ast.Mod) and facts.type_of(node.left) == "str":
        return
    left, right = code(program, node.left), code(program, node.right)
    if isinstance(node.op, ast.Mod):
        # Counted from 1: the last of a round is n, not 0.
        around = fill("({a} - 1) % {b} + 1", a=left, b=right)
        yield rewrite(program, "off_by_one", node, around, unlikely=2)
    at = operator_between(program, node.left, node.right)
    text = facts.type_of(node) in ("str", "list")
    for other, unlikely in _ARITHMETIC[sign_of(node.op)].items():
        if text and other != "*" and sign_of(node.op) == "+":
            continue
        meant = fill(f"{{a}} {other} {{b}}", a=left, b=right)
        edit = rewrite(program, "arithmetic", node, meant, unlikely=unlikely)
        plain = at and resign(program, "arithmetic", node, at, other, unlikely=unlikely)
        if not plain or at is None:
            yield edit
        elif _alike(site, node, edit, plain):
            yield plain
        else:  # the new operator binds otherwise: once as it is grouped now, once as it reads
            yield edit
            yield resign(program, "arithmetic", node, at, other, unlikely=unlikely + 0.5)


def _alike(site: EditSite, node: ast.BinOp, edit: Edit, plain: Edit) -> bool:
    """True if writing another sign and nothing else groups as before."""
    start, end = site.program.span(node)
    around = site.program.parents.get(node)
    if isinstance(around, ast.expr) and hasattr(around, "lineno"):
        start, end = site.program.span(around)
    left = _with_edit(site, start, end, edit)
    right = _with_edit(site, start, end, plain)
    return left is not None and left == right


def _with_edit(site: EditSite, start: int, end: int, edit: Edit) -> str | None:
    text = site.program.text
    one = edit.splices[0]
    try:
        tree = ast.parse(
            f"({text[start : one.start]}{one.text}{text[one.end : end]}\n)", mode="eval"
        )
    except SyntaxError:
        return None
    return ast.dump(tree)


@edits("augmented")
def augmented(site: EditSite, node: ast.AugAssign) -> Ways:
    """`+=` for `-=`; the operator of an assignment that also counts."""
    program = site.program
    was = sign_of(node.op)
    start = program.span(node.target)[1]
    at = program.text.find(f"{was}=", start, program.span(node.value)[0])
    text = site.facts.type_of(node.value) in ("str", "list")
    for other, unlikely in _ARITHMETIC[was].items():
        if text and was == "+":
            continue
        says = f"`{was}=` → `{other}=`"
        splice = Splice(at, at + len(was), other)
        yield program.edit("augmented", node, says, splice, unlikely=unlikely)


#: How unlikely it is that a number counts something, by what it is used for; and how much more so
#: where it may be no number.
_COUNTS: dict[str, tuple[float, float]] = {
    "index": (1.0, 0.5),
    "bound": (1.0, 0.0),
    "returned": (1.5, 2.0),
    "assigned": (1.5, 2.0),
    **dict.fromkeys(("added", "argument"), (2.0, 2.0)),
    **dict.fromkeys(("test", "branch", "element"), (2.5, 2.0)),
}


@edits("off_by_one", read=True)
def off_by_one(
    site: EditSite, node: ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.BinOp
) -> Ways:
    """One more, or one less, where something is counted."""
    if (unlikely := _counted(site, node)) is None:
        return
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod):
            return
        if isinstance(node.right, ast.Constant) and isinstance(node.op, ast.Add | ast.Sub):
            return  # the constant is changed instead
    yield from filled(site, {"{a} - 1": unlikely, "{a} + 1": unlikely}, a=node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mult):
        ways = {f"({{a}} {more} 1) {sign_of(node.op)} {{b}}": unlikely + 1 for more in ("-", "+")}
        yield from filled(site, ways, a=node.left, b=node.right)


def _counted(site: EditSite, node: ast.expr) -> float | None:
    """Return how unlikely it is that a node counts something; None if it does not."""
    parent, kind = site.parent, site.facts.type_of(node)
    if kind not in (None, "int", "float"):
        return None
    found = _COUNTS.get(site.role)
    match parent:
        case ast.Subscript(value=value) if site.facts.type_of(value) == "dict":
            return None
        case ast.If() | ast.While():
            return None
        case ast.Call(func=ast.Name(id="range")):
            return 1.0
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE(), *_]):
            found = 1.5, 1.0
        case ast.Compare(ops=[ast.Eq() | ast.NotEq(), *_]):
            found = 2.0, 1.0
        case ast.BinOp(op=ast.Mult() | ast.FloorDiv() | ast.Mod() | ast.Pow()):
            found = 2.5, 1.0
    return found and found[0] + (0.0 if kind else found[1])


OPERATIONS = (
    comparison,
    Rule("boolean", "{a} & {b}", {"{a} and {b}": 1.5}),
    Rule("boolean", "{a} | {b}", {"{a} or {b}": 1.5}),
    boolean,
    Rule("negation", "not {a}", {"{a}": 1.0}),
    Rule("negation", "-{a}", {"{a}": 1.0}, _is_no_number),
    Rule("negation", "~{a}", {"{a}": 1.0, "not {a}": 2.0, "-{a}": 2.0}),
    *(negation, sign, arithmetic, augmented, off_by_one),
)
