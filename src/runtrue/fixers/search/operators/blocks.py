"""Blocks: statements taken out, borrowed, moved and swapped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.layout import (
    ENDS,
    LOOPS,
    after,
    before,
    free,
    indented,
    is_docstring,
    is_elif,
    is_simple,
    jumps_out,
    lines_of,
    own_statements,
    rigid,
    without,
)
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
_NESTING = (*LOOPS, ast.If, ast.With, ast.AsyncWith, ast.Try)
_LONGEST_BORROWED = 120


@edits("delete")
def delete(site: EditSite, node: ast.stmt) -> Ways:
    """Take a statement out."""
    program = site.program
    if isinstance(node, (*_DEFINITIONS, ast.Pass)) or is_docstring(node) or is_elif(program, node):
        return
    doubt = "it drops a check" if _refuses(node) else None
    rare = 2.0 if is_simple(node) and not isinstance(node, ast.Return) else 4.0
    says = f"without `{_head(program, node)}`"
    if len(program.block_of(node)) == 1 or not free(program, node):
        yield program.replace("delete", node, "pass", says=says, unlikely=rare + 1, doubt=doubt)
    else:
        gone = without(program, node)
        yield program.edit("delete", node, says, gone, unlikely=rare, doubt=doubt)


@edits("unconditional")
def unwrap(site: EditSite, node: ast.If | ast.Try | ast.With) -> Ways:
    """Do what an `if`, a loop or a `try` does only sometimes; or only its other branch."""
    program = site.program
    if not free(program, node) or rigid(node):
        return
    start, end = program.line_span(node)
    indent = program.indent_of(node.lineno)
    doubt = "it drops a check" if _refuses(node) or isinstance(node, ast.If) else None
    for name, block in (("body", node.body), ("else", getattr(node, "orelse", []))):
        if not block or not all(free(program, one) for one in block):
            continue
        depth = program.indent_of(block[0].lineno)
        if depth != indent:
            made = Splice(
                start, end, indented(lines_of(program, block[0], block[-1]), depth, indent)
            )
            says = f"the {name} of `{_head(program, node)}` always"
            yield program.edit("unconditional", node, says, made, unlikely=4.0, doubt=doubt)


@edits("borrow")
def borrow(site: EditSite, node: ast.stmt) -> Ways:
    """Write a statement of the same function a second time, before or behind another one."""
    program, function = site.program, site.function
    if function is None or not free(program, node):
        return
    if isinstance(node, _DEFINITIONS) or is_docstring(node):
        return
    block = program.block_of(node)
    at = block.index(node)
    here = ast.dump(node)
    ahead = ast.dump(block[at - 1]) if at else ""
    is_last = at == len(block) - 1 and not isinstance(node, ENDS)
    seen: set[str] = set()
    for other in own_statements(function):
        if not is_simple(other) or is_docstring(other) or isinstance(other, ast.Pass):
            continue
        text, shape = program.source(other), ast.dump(other)
        if shape in seen or "\n" in text or len(text) > _LONGEST_BORROWED:
            continue
        seen.add(shape)
        if isinstance(other, ast.Break | ast.Continue):
            continue  # the flow's
        ends = isinstance(other, ENDS)
        rare = 3.0 + min(abs(other.lineno - node.lineno) / 20, 3.0) + 1.0 * ends
        head = _head(program, node)
        if shape not in (here, ahead) and not ends:
            says, made = f"`{text}` before `{head}`", before(program, node, text)
            yield program.edit("borrow", node, says, made, unlikely=rare)
        # Behind a statement is before the next one: said once.
        if is_last and shape != here:
            says, made = f"`{text}` after `{head}`", after(program, node, text)
            yield program.edit("borrow", node, says, made, unlikely=rare)


@edits("move")
def swap(site: EditSite, node: ast.stmt) -> Ways:
    """Two statements that follow each other, the other way round."""
    program = site.program
    if isinstance(node, (*_DEFINITIONS, *ENDS)) or not free(program, node) or is_docstring(node):
        return
    block = program.block_of(node)
    at = block.index(node)
    start, end = program.line_span(node)
    head, moved = _head(program, node), program.text[start:end]
    # With the next one; and further down, or up, past several.
    for steps, other in enumerate(block[at + 1 :], 1):
        if not free(program, other) or isinstance(other, _DEFINITIONS):
            return
        if steps > 3 or (isinstance(other, ENDS) and steps > 1):
            return
        if ast.dump(other) == ast.dump(node):
            continue
        down = after(program, other, "")
        if not moved.endswith("\n") or not program.text[: down.end].endswith("\n"):
            return
        made = (Splice(start, end, ""), Splice(down.start, down.end, moved))
        says, rare = f"`{head}` behind `{_head(program, other)}`", 1.5 + steps / 2
        yield program.edit("move", node, says, *made, unlikely=rare)
        if steps > 1:
            up = Splice(start, start, lines_of(program, other))
            says, rare = f"`{_head(program, other)}` before `{head}`", 2.0 + steps / 2
            yield program.edit("move", node, says, up, without(program, other), unlikely=rare)


@edits("move_out")
def move_out(site: EditSite, node: ast.stmt) -> Ways:
    """The last statements of a block, behind the block; the first one, before it."""
    program = site.program
    if not free(program, node):
        return
    block = program.block_of(node)
    at = block.index(node)
    if at == 0 and len(block) > 1:
        yield from _out(program, node, node, before_it=True)
    if at > 0 and len(block) - at <= 3:
        yield from _out(program, node, block[-1], before_it=False)


def _out(program: Program, first: ast.stmt, last: ast.stmt, *, before_it: bool) -> Iterator[Edit]:
    block = program.block_of(first)
    moved = block[block.index(first) : block.index(last) + 1]
    if not all(free(program, one) and not rigid(one) for one in moved):
        return
    text = lines_of(program, first, last)
    depth = program.indent_of(first.lineno)
    levels = 0
    for outer in program.ancestors(first):
        if not isinstance(outer, _NESTING):
            if isinstance(outer, ast.ExceptHandler):
                continue
            return
        if is_elif(program, outer):
            continue
        levels += 1
        if not free(program, outer) or levels > 2:
            return
        if isinstance(outer, LOOPS) and any(jumps_out(one) for one in moved):
            return
        start, end = program.line_span(outer)
        if not before_it and not program.text[:end].endswith("\n"):
            text_out = "\n" + indented(text, depth, program.indent_of(outer.lineno)).rstrip("\n")
        else:
            text_out = indented(text, depth, program.indent_of(outer.lineno))
        place = start if before_it else end
        cut = without(program, first, last)
        if cut.end == place and not before_it:
            # What is moved is the end of the outer block itself: it only loses its depth.
            splices = [Splice(cut.start, cut.end, text_out.lstrip("\n"))]
        else:
            splices = [cut, Splice(place, place, text_out)]
        yield program.edit(
            "move_out",
            first,
            f"`{_head(program, first)}` out of `{_head(program, outer)}`",
            *splices,
            unlikely=1.0 + levels + (last.lineno - first.lineno) / 4 + 0.5 * before_it,
        )


@edits("move_in")
def move_in(site: EditSite, node: ast.stmt) -> Ways:
    """A statement into the block that ends before it, or begins behind it."""
    program = site.program
    if not free(program, node) or rigid(node):
        return
    if isinstance(node, _DEFINITIONS) or is_docstring(node):
        return
    block = program.block_of(node)
    at = block.index(node)
    if at > 0:
        for levels, (outer, inner) in enumerate(_last_blocks(program, block[at - 1]), 1):
            place = program.line_span(inner[-1])[1]
            if not _may_enter(node, outer) or isinstance(inner[-1], ENDS):
                continue
            if program.text[:place].endswith("\n"):
                yield _into(program, node, outer, inner[-1], place, 1.0 + levels)
    behind = block[at + 1] if at + 1 < len(block) else None
    if isinstance(behind, _NESTING) and is_simple(node) and not isinstance(node, ENDS):
        first = behind.body[0]
        if free(program, behind) and free(program, first):
            yield _into(program, node, behind, first, program.line_span(first)[0], 2.0)


def _into(
    program: Program, node: ast.stmt, outer: ast.stmt, beside: ast.stmt, place: int, rare: float
) -> Edit:
    depths = program.indent_of(node.lineno), program.indent_of(beside.lineno)
    moved = Splice(place, place, indented(lines_of(program, node), *depths))
    says = f"`{_head(program, node)}` into `{_head(program, outer)}`"
    return program.edit("move_in", node, says, without(program, node), moved, unlikely=rare)


def _last_blocks(program: Program, node: ast.stmt) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    """The blocks that a statement behind a compound one could belong to, the outer ones first."""
    todo = [node]
    while todo:
        one = todo.pop(0)
        if not isinstance(one, (*_NESTING, *_FUNCTIONS)):
            continue
        blocks = [one.body, getattr(one, "orelse", []), getattr(one, "finalbody", [])]
        for inner in blocks:
            if (
                inner
                and program.alone(inner[-1])
                and not is_elif(program, inner[0])
                and program.indent_of(inner[-1].lineno) != program.indent_of(one.lineno)
            ):
                yield one, inner
            if inner:
                todo.append(inner[-1])


def _may_enter(node: ast.stmt, outer: ast.stmt) -> bool:
    """True if a statement can be in a block; in a function only if it uses a parameter."""
    if not isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    given = {one.arg for one in walk(outer.args, ast.arg)}
    return any(isinstance(one, ast.Name) and one.id in given for one in ast.walk(node))


def _refuses(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Raise | ast.Assert) for one in ast.walk(node)) or (
        isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return)
    )


def _head(program: Program, node: ast.AST) -> str:
    line = program.source(node).split("\n", 1)[0].strip()
    return line if len(line) <= 50 else line[:47] + "…"
