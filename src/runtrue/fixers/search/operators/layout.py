"""Layout: how statements are put in, taken out and reindented, in the style of their file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.program import BUILTINS, Function, Program

LOOPS = (ast.For, ast.AsyncFor, ast.While)
#: Statements that end their block.
ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Delete, ast.Pass, *ENDS)


def is_elif(program: Program, node: ast.stmt) -> bool:
    """True if an `if` is written as the `elif` of another."""
    return isinstance(node, ast.If) and program.text.startswith("elif", program.span(node)[0])


def free(program: Program, node: ast.AST) -> bool:
    """True if lines can be written before and behind a statement."""
    if not isinstance(node, ast.stmt) or is_elif(program, node) or not program.alone(node):
        return False
    return not program.text[: program.span(node)[0]].endswith("\\\n")


def is_simple(node: ast.AST) -> bool:
    """True if a statement has no block of its own and binds nothing but variables."""
    return isinstance(node, _SIMPLE)


def is_docstring(node: ast.AST) -> bool:
    """True if a statement is a string that does nothing."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def first_of(function: Function) -> ast.stmt:
    """The first statement of a function that does something."""
    body = function.body
    return body[1] if len(body) > 1 and is_docstring(body[0]) else body[0]


def entered(program: Program, node: ast.AST) -> Function | None:
    """The function that a node is the head of, or the first statement: said of all of it."""
    if isinstance(node, _FUNCTIONS):
        return node
    function = program.parents.get(node)
    if isinstance(function, _FUNCTIONS) and isinstance(node, ast.stmt):
        return function if first_of(function) is node else None
    return None


def before(program: Program, node: ast.stmt, *lines: str) -> Splice:
    """Lines in front of a free statement, as deep as it is; they may be indented further."""
    start = program.line_span(node)[0]
    indent = program.indent_of(node.lineno)
    return Splice(start, start, "".join(f"{indent}{line}\n" for line in lines))


def after(program: Program, node: ast.stmt, *lines: str) -> Splice:
    """Lines behind a free statement, as deep as it is."""
    end = program.line_span(node)[1]
    indent = program.indent_of(node.lineno)
    text = "".join(f"{indent}{line}\n" for line in lines)
    return Splice(end, end, text if program.text[:end].endswith("\n") else "\n" + text[:-1])


def line_before(
    program: Program,
    kind: str,
    place: ast.stmt,
    where: str,
    line: str,
    *block: str,
    about: ast.AST | None = None,
    unlikely: float = 1.0,
    doubt: str | None = None,
) -> Edit:
    """An edit that writes a line, with the block it heads, in front of a free statement."""
    lines = before(program, place, line, *(program.step + one for one in block))
    says = f"`{' '.join((line, *block))}` {where}"
    return program.edit(kind, about or place, says, lines, unlikely=unlikely, doubt=doubt)


def line_after(
    program: Program,
    kind: str,
    place: ast.stmt,
    where: str,
    line: str,
    *,
    about: ast.AST | None = None,
    unlikely: float = 1.0,
) -> Edit:
    """An edit that writes a line behind a free statement."""
    made = after(program, place, line)
    return program.edit(kind, about or place, f"`{line}` {where}", made, unlikely=unlikely)


def around(
    program: Program,
    kind: str,
    first: ast.stmt,
    says: str,
    head: str,
    *,
    last: ast.stmt | None = None,
    tail: str = "",
    unlikely: float = 1.0,
    doubt: str | None = None,
) -> Edit:
    """An edit that makes statements the block of a head, with more lines below it."""
    depth, step = program.indent_of(first.lineno), program.step
    inner = indented(lines_of(program, first, last), depth, depth + step)
    below = "".join(f"{depth}{line}\n" for line in tail.replace("\t", step).splitlines())
    start, end = program.line_span(first)[0], program.line_span(last or first)[1]
    text = Splice(start, end, f"{depth}{head}\n{inner}{below}")
    return program.edit(kind, first, says, text, unlikely=unlikely, doubt=doubt)


def lines_of(program: Program, first: ast.stmt, last: ast.stmt | None = None) -> str:
    """The whole lines of statements that follow each other, with the end of the last."""
    text = program.text[program.line_span(first)[0] : program.line_span(last or first)[1]]
    return text if text.endswith("\n") else text + "\n"


def written(program: Program, node: ast.expr) -> str:
    """An expression as it is written, in brackets if it stood in some over several lines."""
    text = program.source(node)
    closed = text[:1] in "([{" or isinstance(node, ast.Call | ast.Subscript | ast.Constant)
    return (
        text
        if "\n" not in text or (closed and not isinstance(node, ast.Tuple | ast.BinOp))
        else f"({text})"
    )


def rigid(node: ast.AST) -> bool:
    """True if a statement has a string over several lines, which cannot be reindented."""
    return any(
        isinstance(one, ast.Constant | ast.JoinedStr) and one.lineno != one.end_lineno
        for one in ast.walk(node)
    )


def indented(text: str, old: str, new: str) -> str:
    """Lines that were as deep as `old`, as deep as `new`."""
    return "".join(
        new + line[len(old) :] if line.startswith(old) and line.strip() else line
        for line in text.splitlines(keepends=True)
    )


def without(program: Program, first: ast.stmt, last: ast.stmt | None = None) -> Splice:
    """Nothing in the place of the lines of statements."""
    return Splice(program.line_span(first)[0], program.line_span(last or first)[1], "")


def loop_of(program: Program, node: ast.AST) -> ast.stmt | None:
    """The innermost loop of the same function that a node is in."""
    inside = node
    for one in program.ancestors(node):
        if isinstance(one, LOOPS) and inside not in one.orelse:
            return one
        if isinstance(one, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            return None
        inside = one
    return None


def jumps_out(node: ast.AST) -> bool:
    """True if a statement has a `break` or `continue` for a loop around it."""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return False
    inner = node.orelse if isinstance(node, LOOPS) else ast.iter_child_nodes(node)
    return any(jumps_out(one) for one in inner)


def own_statements(function: Function) -> Iterator[ast.stmt]:
    """The statements of a function, as written, without those of functions and classes in it."""
    return _statements(function.body)


def _statements(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in block:
        yield node
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, name, []))
        for case in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from _statements(case.body)


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters, without `self` and `cls`."""
    spec = function.args
    names = [one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def defaults_of(function: Function) -> list[tuple[str, ast.expr]]:
    """The parameters of a function that have a default, with it."""
    spec = function.args
    named = [*spec.posonlyargs, *spec.args]
    pairs = list(zip(named[len(named) - len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [
        (one, value) for one, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value
    ]
    return [(one.arg, value) for one, value in pairs]


@lru_cache(maxsize=16)
def undefined(program: Program) -> frozenset[str]:
    """The names that are used, and bound nowhere that they could be seen from."""
    found = set()
    for node in ast.walk(program.tree):
        if isinstance(node, ast.Name) and not is_known(program, node):
            found.add(node.id)
    return frozenset(found)


@lru_cache(maxsize=16)
def _starred(program: Program) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        for node in ast.walk(program.tree)
    )


def is_known(program: Program, node: ast.Name) -> bool:
    """True if a name is built in, or bound somewhere that it can be seen from.

    A name that is only ever added to (`x += 1`) is not bound by that.
    """
    if node.id in BUILTINS or node.id.startswith("__") or _starred(program):
        return True
    return any(node.id in _bound(program, scope) for scope in program.scopes_of(node))


@lru_cache(maxsize=2048)
def _bound(program: Program, scope: ast.AST) -> frozenset[str]:
    names = set(program.names_in(scope))
    if not isinstance(scope, ast.Lambda):
        only_added = {
            one.target.id for one in walk(scope, ast.AugAssign) if isinstance(one.target, ast.Name)
        }
        stored = {
            one.id
            for one in walk(scope, ast.Name)
            if isinstance(one.ctx, ast.Store)
            and not isinstance(program.parents[one], ast.AugAssign)
        }
        declared = {name for one in walk(scope, ast.Global, ast.Nonlocal) for name in one.names}
        others = {
            one.arg if isinstance(one, ast.arg) else getattr(one, "name", "")
            for one in ast.walk(scope)
            if isinstance(one, ast.arg | ast.ExceptHandler | ast.alias | ast.FunctionDef)
        }
        names -= only_added - stored - declared - others
    return frozenset(names)
