"""Spelling of expressions: what binds how tightly, where brackets are needed, where signs are."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.program import Program

# How tightly expressions bind, the loosest first, as the language reference has it.
TUPLE, NAMED, LAMBDA, TERNARY, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND = range(11)
SHIFT, SUM, TERM, UNARY, POWER, AWAIT, ATOM = range(11, 18)

_BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", TERM),
    ast.Div: ("/", TERM),
    ast.FloorDiv: ("//", TERM),
    ast.Mod: ("%", TERM),
    ast.MatMult: ("@", TERM),
    ast.Pow: ("**", POWER),
    ast.LShift: ("<<", SHIFT),
    ast.RShift: (">>", SHIFT),
    ast.BitOr: ("|", BIT_OR),
    ast.BitXor: ("^", BIT_XOR),
    ast.BitAnd: ("&", BIT_AND),
}
_BY_SIGN = dict(_BINARY.values())
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
# What may stand between two operands beside the operator: brackets, white space, comments.
_BETWEEN = re.compile(r"(?:[\s()\\]|#[^\n]*\n)*")
_WORDS = re.compile(r"\w\w")
_OPERATOR = re.compile(r"not\s+in\b|is\s+not\b|[a-z]+\b|\*\*|//|<<|>>|[<>=!]=|[-+*/%@|^&<>]")


class Code(NamedTuple):
    """An expression as text, and how tightly it binds."""

    text: str
    level: int = ATOM


def sign_of(operator: ast.operator | ast.cmpop) -> str:
    """Return the text of an operator."""
    if isinstance(operator, ast.cmpop):
        return _COMPARE[type(operator)]
    return _BINARY[type(operator)][0]


def level_of(node: ast.AST) -> int:
    """Return how tightly an expression binds."""
    match node:
        case ast.NamedExpr():
            return NAMED
        case ast.Lambda():
            return LAMBDA
        case ast.IfExp():
            return TERNARY
        case ast.BoolOp(op=ast.Or()):
            return OR
        case ast.BoolOp():
            return AND
        case ast.UnaryOp(op=ast.Not()):
            return NOT
        case ast.UnaryOp():
            return UNARY
        case ast.Compare():
            return COMPARE
        case ast.BinOp(op=op):
            return _BINARY[type(op)][1]
        case ast.Await():
            return AWAIT
        case ast.Yield() | ast.YieldFrom() | ast.Starred() | ast.Slice():
            return TUPLE
        case _:
            return ATOM


def code(program: Program, node: ast.expr) -> Code:
    """An expression of a program, to be written elsewhere."""
    text = program.source(node)
    if isinstance(node, ast.Tuple) and not _is_enclosed(text):
        return Code(text, TUPLE)
    return Code(text, level_of(node))


def _is_enclosed(text: str) -> bool:
    """True if the bracket that opens a text closes at its end; if in doubt, false."""
    depth = 0
    for place, sign in enumerate(text):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0:
            return place == len(text) - 1
    return False


def at_least(one: Code, level: int) -> str:
    """The text, in brackets where it binds more loosely than is asked, or goes over lines."""
    return f"({one.text})" if one.level < level or "\n" in one.text else one.text


def joined(word: str, *parts: Code) -> Code:
    """Operands of `and` or `or`; one alone as it is."""
    if len(parts) == 1:
        return parts[0]
    level = AND if word == "and" else OR
    return Code(f" {word} ".join(at_least(part, level) for part in parts), level)


def called(function: str, *arguments: Code) -> Code:
    """A call by position."""
    return Code(f"{function}({', '.join(at_least(one, NAMED) for one in arguments)})")


def behind(one: Code, text: str) -> Code:
    """An expression with an attribute, a subscript or a call behind it."""
    number = text.startswith(".") and one.text.isdigit()
    return Code((f"({one.text})" if number else at_least(one, ATOM)) + text)


def level_needed(parent: ast.AST | None, node: ast.AST) -> int:
    """Return how tightly an expression in a node's place below its parent has to bind."""
    match parent:
        case ast.BinOp(op=ast.Pow()):
            return ATOM if node is parent.left else UNARY
        case ast.BinOp():
            level = level_of(parent)
            return level if node is parent.left else level + 1
        case ast.Compare():
            return COMPARE + 1
        case ast.BoolOp():
            return level_of(parent) + 1
        case ast.UnaryOp(op=ast.Not()):
            return NOT
        case ast.UnaryOp():
            return UNARY
        case ast.Attribute() | ast.Await():
            return ATOM
        case ast.Subscript():
            return ATOM if node is parent.value else NAMED + 1
        case ast.Call():
            return ATOM if node is parent.func else NAMED + 1
        case ast.IfExp():
            return TERNARY if node is parent.orelse else OR
        case ast.comprehension() | ast.FormattedValue():
            return OR
        case ast.Starred():
            return BIT_OR
        case _:
            return LAMBDA


def in_brackets(program: Program, node: ast.AST) -> bool:
    """True if a node has parentheses of its own around it."""
    if isinstance(program.parents.get(node), ast.Call | ast.ClassDef):
        return False
    start, end = program.span(node)
    before, after = program.text[max(0, start - 200) : start], program.text[end : end + 200]
    return before.rstrip().endswith("(") and after.lstrip().startswith(")")


def fitted(program: Program, node: ast.AST, one: Code) -> str:
    """Return the text of an expression in a node's place."""
    if one.level >= level_needed(program.parents.get(node), node) and "\n" not in one.text:
        number = isinstance(program.parents.get(node), ast.Attribute) and one.text.isdigit()
        return f"({one.text})" if number else one.text
    return one.text if in_brackets(program, node) else f"({one.text})"


def rewrite(
    program: Program,
    kind: str,
    node: ast.expr,
    one: Code,
    *,
    unlikely: float = 1.0,
    doubt: str | None = None,
) -> Edit:
    """An edit that writes another expression in an expression's place."""
    text = fitted(program, node, one)
    start, end = program.span(node)
    # A word needs room where an operator, or a bracket, had none: `if(x)`, `not(x)`, `1if`.
    if _WORDS.fullmatch(program.text[max(0, start - 1) : start] + text[:1]):
        text = " " + text
    if _WORDS.fullmatch(text[-1:] + program.text[end : end + 1]):
        text += " "
    return program.replace(kind, node, text, unlikely=unlikely, doubt=doubt)


def operator_between(program: Program, left: ast.expr, right: ast.expr) -> tuple[int, int] | None:
    """From where to where the operator between two operands is written."""
    after, before = program.span(left)[1], program.span(right)[0]
    gap = _BETWEEN.match(program.text, after, before)
    found = _OPERATOR.match(program.text, gap.end(), before) if gap else None
    return found.span() if found else None


def resign(
    program: Program,
    kind: str,
    node: ast.AST,
    at: tuple[int, int],
    sign: str,
    *,
    unlikely: float = 1.0,
) -> Edit:
    """An edit that writes another operator where one is, and nothing else."""
    start, end = at
    old = program.text[start:end]
    text = sign
    if sign[0].isalpha():  # a word needs room; a sign may have had none
        text = ("" if program.text[start - 1].isspace() else " ") + sign
        text += "" if program.text[end : end + 1].isspace() else " "
    whole = " ".join(program.source(node).split())
    where = f" in `{whole}`" if len(whole) <= 60 else ""
    says = f"`{old}` → `{sign}`{where}"
    return program.edit(kind, node, says, Splice(start, end, text), unlikely=unlikely)
