"""Flow: where a block goes on, ends, returns, yields or raises."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import replace

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.clues import defaults
from runtrue.fixers.search.operators.layout import (
    ENDS,
    entered,
    free,
    indented,
    is_docstring,
    is_elif,
    jumps_out,
    line_after,
    lines_of,
    loop_of,
    own_statements,
    parameters,
    rigid,
    written,
)
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Function, Program

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_NAMES = 8


@edits("jump")
def jump(site: EditSite, node: ast.Break | ast.Continue | ast.Pass | ast.Return) -> Ways:
    """One of `break`, `continue`, `return` and `pass` for another."""
    program = site.program
    loop = loop_of(program, node)
    function = site.function
    is_value = isinstance(node, ast.Return) and node.value is not None
    words = [*(("break", "continue") if loop else ()), "pass"]
    if function is not None and not is_value:
        words += ["return", *(f"return {text}" for text in defaults(site, function, 4))]
    own = program.source(node)
    for n, word in enumerate(dict.fromkeys(words)):
        if word != own:
            yield word, 1.0 + 2.0 * is_value + 0.2 * n


@edits("end_block")
def end_block(site: EditSite, node: ast.stmt) -> Ways:
    """`break`, `continue` or `return` at the end of a branch or a loop that has none."""
    program = site.program
    if isinstance(node, ENDS) or not free(program, node):
        return
    parent = program.parents[node]
    block = program.block_of(node)
    if block[-1] is not node or not isinstance(parent, ast.If | ast.For | ast.While | ast.Try):
        return
    function = site.function
    words: list[tuple[str, float]] = []
    if loop_of(program, node):
        words += [("break", 1.5), ("continue", 2.0)]
        if parent is loop_of(program, node):
            words.pop()
    if function is not None:
        returned = _returned_texts(program, function)
        words += [(f"return {text}", 2.5) for text in returned[:4]]
        words += [
            (f"return {text}", 3.0) for text in defaults(site, function) if text not in returned
        ]
    for word, unlikely in dict(words).items():
        yield line_after(program, "end_block", node, "at the end", word, unlikely=unlikely)


def add_return(site: EditSite) -> Iterator[Edit]:
    """`return x` at the end of a function that ends without; or before a last expression."""
    node, program = site.node, site.program
    if (
        isinstance(node, ast.Expr)
        and not is_docstring(node)
        and program.function_of(node)
        and not isinstance(node.value, ast.Yield | ast.YieldFrom | ast.Await)
    ):
        yield _returning(program, node, node.value, 1.0)
    if isinstance(node, ast.Assign) and program.function_of(node):
        block = program.block_of(node)
        if block[-1] is node:
            yield _returning(program, node, node.value, 3.0)
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
        yield program.replace("return", node, written(program, node.value), unlikely=4.0)
    function = program.function_of(node)
    if not isinstance(node, ast.stmt) or function is None:
        return
    if isinstance(node, ast.Return) and node.value is None:
        for n, text in enumerate(_likely_results(site, function)):
            yield program.replace("return", node, f"return {text}", unlikely=1.0 + 0.3 * n)
    last = function.body[-1]
    around = {node, *program.ancestors(node)}
    if (last not in around and entered(program, node) is None) or isinstance(last, ENDS):
        return
    if not free(program, last):
        return
    if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(function)):
        return
    for n, text in enumerate(_likely_results(site, function)):
        line, rare = f"return {text}", 1.0 + 0.3 * n
        yield line_after(program, "return", last, "at the end", line, unlikely=rare)


def _returning(program: Program, node: ast.stmt, value: ast.expr, unlikely: float) -> Edit:
    return program.replace("return", node, f"return {written(program, value)}", unlikely=unlikely)


def _returned_texts(program: Program, function: Function) -> list[str]:
    found: dict[str, None] = {}
    for one in own_statements(function):
        if isinstance(one, ast.Return) and one.value is not None:
            text = program.source(one.value)
            if "\n" not in text and len(text) <= 60:
                found[text] = None
    return list(found)


def _likely_results(site: EditSite, function: Function) -> list[str]:
    """Return what a function that ends without `return` may have to give, likeliest first."""
    names = [
        (name, line)
        for name, line in site.program.names_in(function).items()
        if name not in ("self", "cls")
    ]
    assigned: dict[str, int] = {}
    for one in ast.walk(function):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            assigned[one.id] = max(one.lineno, assigned.get(one.id, 0))
        match one:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                assigned[name] = max(one.lineno, assigned.get(name, 0))
    given = sorted(parameters(function), key=lambda name: -assigned.get(name, 0))
    local = sorted(
        (name for name, _ in names if name not in given), key=lambda name: -assigned.get(name, 0)
    )
    inner = [one.name for one in function.body if isinstance(one, _FUNCTIONS)]
    called = [f"{name}({', '.join(given)})" for name in inner]
    ordered = [*inner, *local[:_MOST_NAMES], *given[:4], *defaults(site, function), *called]
    first = [one.arg for one in function.args.args[:1]]
    if site.program.class_of(function) is not None and first == ["self"]:
        ordered.append("self")
    return list(dict.fromkeys(text for text in ordered if text != "None"))


@edits("keep_looking")
def keep_looking(site: EditSite, node: ast.Return) -> Ways:
    """A loop that gives its first answer whatever that is, made to go on until one holds."""
    program = site.program
    loop = loop_of(program, node)
    if node.value is None or loop is None or loop is not site.parent:
        return
    if rigid(node) or not free(program, node):
        return
    block = program.block_of(loop)
    answer = written(program, node.value)
    match block[block.index(loop) + 1 :]:
        case [ast.Return(value=ast.Constant(value=False)), *_]:
            test, given = f"if {answer}", "return True"
        case [ast.Return(value=ast.Constant(value=True)), *_]:
            test, given = f"if not ({answer})", "return False"
        case _:
            test, given = f"if {answer}", f"return {answer}"
    text = f"{test}:\n{program.indent_of(node.lineno)}{program.step}{given}"
    yield program.replace("keep_looking", node, text, says=f"`{given}` only {test}")


@edits("finally")
def finish(site: EditSite, node: ast.stmt) -> Ways:
    """Do what follows a context manager's `yield` also when the block raises."""
    program = site.program
    if not isinstance(site.parent, _FUNCTIONS):
        return
    block = program.block_of(node)
    at = block.index(node)
    is_yield = isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Yield)
    function = program.parents[node]
    marks = [program.source(one) for one in getattr(function, "decorator_list", [])]
    if not is_yield or at + 1 >= len(block) or not any("contextmanager" in one for one in marks):
        return
    if any(rigid(one) for one in block[at:]) or not all(free(program, o) for o in block[at:]):
        return
    old = program.indent_of(node.lineno)
    tried, rest = (lines_of(program, node), lines_of(program, block[at + 1], block[-1]))
    deeper = old + program.step
    text = f"{old}try:\n{indented(tried, old, deeper)}{old}finally:\n{indented(rest, old, deeper)}"
    start, end = program.line_span(node)[0], program.line_span(block[-1])[1]
    yield program.edit("finally", node, "`finally` behind the `yield`", Splice(start, end, text))


@edits("exit")
def leave_with(site: EditSite, node: ast.Expr) -> Ways:
    """Use what a program's `main` returns as its exit code."""
    guard = site.parent
    if not isinstance(node.value, ast.Call) or not isinstance(guard, ast.If):
        return
    if "__name__" in site.source(guard.test):
        has_sys = "sys" in site.program.names_in(site.program.tree)
        leave = "sys.exit" if has_sys else "raise SystemExit"
        yield f"{leave}({written(site.program, node.value)})", 1.0


@edits("yield")
def generate(site: EditSite, node: ast.Return | ast.Expr) -> Ways:
    """`yield` for `return` and back, `yield from` for `yield` and back."""
    function = site.function
    if function is None:
        return
    plain = isinstance(function, ast.FunctionDef)  # only there `yield from` may be
    match node:
        case ast.Return(value=ast.expr() as value):
            yields = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(function))
            ways = {"yield": 1.5 if yields else 4.0}
            ways |= {"yield from": 2.0} if yields and plain else {}
        case ast.Expr(value=ast.Yield(value=ast.expr() as value)) if plain:
            ways = {"yield from": 1.5, "return": 2.5}
        case ast.Expr(value=ast.YieldFrom(value=value)):
            ways = {"yield": 1.5}
        case ast.Expr(value=ast.Call(func=func) as value) if plain:
            ways = {"yield from": 2.0} if site.source(func).endswith(function.name) else {}
        case _:
            return
    for word, unlikely in ways.items():
        yield f"{word} {written(site.program, value)}", unlikely


@edits("raise")
def add_raise(site: EditSite, node: ast.Expr | ast.Return) -> Ways:
    """`raise` before an exception that is only built, or that is returned."""
    match node.value:
        case ast.Call(func=named) | (ast.Name() as named):
            name = site.source(named).rpartition(".")[2]
        case _:
            return
    built_in = getattr(builtins, name, None)
    is_exception = isinstance(built_in, type) and issubclass(built_in, BaseException)
    if is_exception or name.endswith(("Error", "Exception")):
        yield f"raise {site.source(node.value)}", 1.0


def branch(site: EditSite) -> Iterator[Edit]:
    """`if` for `while` and back, `elif` for `if` and back, and `else` dropped or moved."""
    node, program = site.node, site.program
    if isinstance(node, ast.While) and not (node.orelse or any(map(jumps_out, node.body))):
        yield _clause(program, node, "while", "if", 2.0)
    if isinstance(node, ast.For | ast.While):
        yield from _else_to_loop(program, node)
    if not isinstance(node, ast.If):
        return
    if is_elif(program, node):
        yield _clause(program, node, "elif", "if", 1.5)
    else:
        block = program.block_of(node)
        at = block.index(node)
        ahead = block[at - 1] if at else None
        if isinstance(ahead, ast.If) and free(program, node) and not _has_else(program, ahead):
            yield _clause(program, node, "if", "elif", 1.5)
        if not node.orelse:
            yield _clause(program, node, "if", "while", 2.0)
    yield from _drop_else(program, node)


def _clause(program: Program, node: ast.stmt, old: str, new: str, unlikely: float) -> Edit:
    start = program.span(node)[0]
    made = Splice(start, start + len(old), new)
    return program.edit("clause", node, f"`{old}` → `{new}`", made, unlikely=unlikely)


def _has_else(program: Program, node: ast.If) -> bool:
    while len(node.orelse) == 1 and isinstance(inner := node.orelse[0], ast.If):
        if not is_elif(program, inner):
            break
        node = inner
    return bool(node.orelse)


def _else_of(program: Program, node: ast.If) -> tuple[Splice, str] | None:
    """Return the span of an `if`'s `else` and its block, dedented to the `if`."""
    block = node.orelse
    if not block or is_elif(program, block[0]) or rigid(node):
        return None
    if not all(free(program, one) for one in (*block, node.body[-1])):
        return None
    start, end = program.line_span(node.body[-1])[1], program.line_span(block[-1])[1]
    depth = program.indent_of(block[0].lineno)
    text = indented(lines_of(program, block[0], block[-1]), depth, program.indent_of(node.lineno))
    return Splice(start, end, ""), text


def _drop_else(program: Program, node: ast.If) -> Iterator[Edit]:
    """Do what the `else` does behind the `if`, always; or not at all."""
    if (found := _else_of(program, node)) is None:
        return
    place, text = found
    says, behind = "the block of `else` behind the `if`", replace(place, text=text)
    yield program.edit("else", node, says, behind, unlikely=2.0)
    yield program.edit("else", node, "without `else`", place, unlikely=3.0)


def _else_to_loop(program: Program, loop: ast.For | ast.While) -> Iterator[Edit]:
    """The `else` of an `if` that ends a loop, made the loop's: done when nothing was found."""
    last = loop.body[-1]
    if loop.orelse or not isinstance(last, ast.If) or not free(program, loop):
        return
    if is_elif(program, last) or (found := _else_of(program, last)) is None:
        return
    place, text = found
    outer = program.indent_of(loop.lineno)
    own = indented(text, program.indent_of(last.lineno), outer + program.step)
    plain = indented(text, program.indent_of(last.lineno), outer)
    if not any(jumps_out(one) for one in last.orelse):
        says, behind = "the block of `else` behind the loop", replace(place, text=plain)
        yield program.edit("else", last, says, behind, unlikely=1.5)
        moved = replace(place, text=f"{outer}else:\n{own}")
        yield program.edit("else", last, "`else` of the loop", moved, unlikely=2.0)
