"""Operations: one operator for another, a negation more or less, one more or one less."""

from __future__ import annotations

import ast
from collections.abc import Iterator

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
from runtrue.fixers.search.operators.rules import fill, filled, rewrites
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


def boolean(site: EditSite) -> Iterator[Edit]:
    """`and` for `or`, all of a row or one of it; `&` for `and`."""
    program, node = site.program, site.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        word = "and" if isinstance(node.op, ast.BitAnd) else "or"
        parts = (code(program, node.left), code(program, node.right))
        yield rewrite(program, "boolean", node, joined(word, *parts), unlikely=1.5)
    if not isinstance(node, ast.BoolOp):
        return
    was = "and" if isinstance(node.op, ast.And) else "or"
    word = "or" if was == "and" else "and"
    values = [code(program, value) for value in node.values]
    yield rewrite(program, "boolean", node, joined(word, *values))
    if len(values) > 2:
        for cut in range(1, len(values)):
            first, rest = joined(was, *values[:cut]), joined(was, *values[cut:])
            if cut == 1:
                first = values[0]
            if cut == len(values) - 1:
                rest = values[-1]
            yield rewrite(program, "boolean", node, joined(word, first, rest), unlikely=1.5)


def negation(site: EditSite) -> Iterator[Edit]:
    """A condition turned round: `not` added, or taken away."""
    program, node = site.program, site.node
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield rewrite(program, "negation", node, code(program, node.operand))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            return  # another number will do
        yield rewrite(program, "negation", node, code(program, node.operand))
        if isinstance(node.op, ast.Invert):
            ways = {"not {a}": 2.0, "-{a}": 2.0}
            yield from rewrites(site, "negation", node, ways, a=node.operand)
    elif isinstance(node, ast.expr) and _is_condition(site):
        # A single comparison is turned round by its operator already.
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return
        rare = 1.0 if not isinstance(node, ast.BoolOp) else 1.5
        yield from rewrites(site, "negation", node, {"not {a}": rare}, a=node)


def _is_condition(site: EditSite) -> bool:
    """True if a node is a condition, or may well be one."""
    node, parent = site.node, site.program.parents.get(site.node)
    match parent:
        case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
            return node is parent.test
        case ast.BoolOp():
            return True
        case ast.comprehension():
            return node in parent.ifs
        case ast.Return() | ast.Assign() | ast.keyword() | ast.Call():
            facts = facts_at(site.program, node)
            return facts.type_of(node) == "bool" and not isinstance(node, ast.Constant)
        case _:
            return False


@edits("sign", read=True)
def sign(
    site: EditSite, node: ast.Name | ast.Subscript | ast.Call | ast.Attribute | ast.BinOp
) -> Ways:
    """A number with the other sign."""
    program = site.program
    parent = site.parent
    kind = site.facts.type_of(node)
    if kind not in (None, "int", "float") or (kind is None and isinstance(node, ast.Call)):
        return
    match parent:
        case ast.Return() | ast.keyword() | ast.Call() | ast.Tuple() | ast.List() | ast.Lambda():
            if isinstance(parent, ast.Call) and (node is parent.func or len(parent.args) > 3):
                return
            # In the key of a sort, it turns round one of several orders.
            of_a_key = isinstance(parent, ast.Tuple) and isinstance(
                program.parents.get(parent), ast.Lambda
            )
            rare = 1 if of_a_key else 3 if kind else 4
            yield from filled(site, {"-{a}": rare}, a=node)
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
            if node is parent.comparators[0]:
                yield from filled(site, {"-{a}": 4}, a=node)
        case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Eq() | ast.NotEq()]):
            if node is parent.left and not isinstance(parent.comparators[0], ast.Constant):
                yield from filled(site, {"-{a}": 3}, a=node)
        case ast.Subscript() if node is parent.slice:
            yield from filled(site, {"-{a}": 2.5}, a=node)


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


@edits("off_by_one", read=True)
def off_by_one(
    site: EditSite, node: ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.BinOp
) -> Ways:
    """One more, or one less, where something is counted."""
    unlikely = _counted(site, node)
    if unlikely is None:
        return
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod):
            return
        if isinstance(node.right, ast.Constant) and isinstance(node.op, ast.Add | ast.Sub):
            return  # the constant is changed instead
    ways = {"{a} - 1": unlikely, "{a} + 1": unlikely}
    yield from filled(site, ways, a=node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mult):
        sign = sign_of(node.op)
        ways = {f"({{a}} {more} 1) {sign} {{b}}": unlikely + 1 for more in ("-", "+")}
        yield from filled(site, ways, a=node.left, b=node.right)


def _counted(site: EditSite, node: ast.expr) -> float | None:
    """Return how unlikely it is that a node counts something; None if it does not."""
    program = site.program
    parent = program.parents.get(node)
    facts = facts_at(program, node)
    kind = facts.type_of(node)
    if kind not in (None, "int", "float"):
        return None
    sure = 0.0 if kind else 1.0
    match parent:
        case ast.Subscript() if node is parent.slice:
            return 1.0 + sure / 2 if facts.type_of(parent.value) != "dict" else None
        case ast.Slice():
            return 1.0
        case ast.Call(func=ast.Name(id="range")):
            return 1.0
        case ast.Compare() if isinstance(parent.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            return 1.5 + sure
        case ast.Compare() if isinstance(parent.ops[0], ast.Eq | ast.NotEq):
            return 2.0 + sure
        case ast.Return() | ast.Assign():
            return 1.5 + 2 * sure
        case ast.AugAssign():
            return 2.0 + 2 * sure
        case ast.Call() if node is not parent.func:
            return 2.0 + 2 * sure
        case ast.BinOp(op=ast.Mult() | ast.FloorDiv() | ast.Mod() | ast.Pow()):
            return 2.5 + sure
        case ast.IfExp() | ast.Tuple() | ast.List() if not isinstance(
            getattr(parent, "ctx", None), ast.Store
        ):
            return 2.5 + 2 * sure
        case _:
            return None


OPERATIONS = (comparison, boolean, negation, sign, arithmetic, augmented, off_by_one)
