"""Siblings: code that other functions of the project have, and that this one lacks."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.layout import free, is_docstring, parameters, rigid
from runtrue.fixers.search.operators.likeness import likeness
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import BUILTINS, Function, Program

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
#: How many of each kind are proposed in one place, and the most lines of what is copied.
_MOST, _LINES = 12, 4
#: A parameter that nothing uses is hardly ever meant.
_UNUSED = 0.4


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a function that another function may lack: its text, without indentation."""

    text: str
    shape: str
    #: The names that it reads and that it does not bind itself.
    names: frozenset[str]
    function: str
    line: int


def same_guard(site: EditSite) -> Iterator[Edit]:
    """Add the guard with which other functions of the project begin."""
    program, node = site.program, site.node
    function = program.function_of(node)
    if function is None or not isinstance(node, ast.stmt) or node is not _first(function):
        return
    own = {ast.dump(one) for one in walk(function, ast.If)}
    parameters = {one.arg for one in walk(function.args, ast.arg)}
    known = parameters | set(program.names_in(program.tree)) | BUILTINS
    pieces = [one for other in (program, *site.others) for one in _guards(other)]
    often = Counter(one.shape for one in pieces)
    fitting: dict[str, _Piece] = {}
    for one in pieces:
        if one.shape not in own and one.names <= known and one.names & parameters - {"self"}:
            fitting.setdefault(one.shape, one)
    ranked = sorted(
        fitting.values(),
        key=lambda one: (-often[one.shape], -likeness(one.function, function.name), one.line),
    )
    for place, one in enumerate(ranked[:_MOST]):
        says = f"`{one.text.partition(chr(10))[0]}` as in `{one.function}`"
        made = _before(program, node, one.text)
        # What several functions do is a habit.
        rare = 0.5 if often[one.shape] > 1 else 1.0
        yield program.edit("sibling_code", node, says, made, unlikely=rare + 0.3 * place)


def same_branch(site: EditSite) -> Iterator[Edit]:
    """Add a branch to an `if` that other chains of the file have."""
    program, node = site.program, site.node
    function = program.function_of(node)
    if function is None or not isinstance(node, ast.If):
        return
    own = {ast.dump(one.test) for one in walk(function, ast.If)}
    known = {*program.names_in(function), *(one.id for one in walk(function, ast.Name))}
    here = {one.id for one in walk(node, ast.Name)}
    ranked = sorted(
        (one for one in _branches(program) if one.names <= known and one.names & here),
        key=lambda one: (one.shape in own, -len(one.names & here), abs(one.line - node.lineno)),
    )
    at = program.line_span(node.body[-1])[1]
    indent = program.indent_of(node.lineno)
    seen: set[str] = set()
    for one in ranked:
        if one.text not in seen and not program.source(node).startswith(one.text):
            seen.add(one.text)
            says = f"`el{one.text.partition(chr(10))[0]}` as in line {one.line}"
            made = Splice(at, at, _indented("el" + one.text, indent, program.step))
            yield program.edit("sibling_code", node, says, made, unlikely=1.0 + 0.4 * len(seen))
        if len(seen) >= _MOST:
            return


def same_for_parameter(site: EditSite) -> Iterator[Edit]:
    """Do for one parameter what is done for another: `b = clean(b)` behind `a = clean(a)`."""
    program, node = site.program, site.node
    function = program.function_of(node)
    if function is None or not isinstance(node, ast.stmt) or not free(program, node):
        return
    if isinstance(node, _ENDS) or is_docstring(node):
        return
    if rigid(node) or (node.end_lineno or 0) - node.lineno >= _LINES:
        return
    given = parameters(function)
    asked = {one.id for one in walk(node, ast.Name)}
    used = [name for name in given if name in asked]
    start, end = program.line_span(node)
    text, shapes = program.text[start:end], _shapes(function)
    unused = _unused(function)
    for other in used:
        copies = {
            name: re.sub(rf"\b{re.escape(other)}\b", name, text) for name in given if name != other
        }
        done = {name for name, copy in copies.items() if _shape(copy) in shapes}
        is_about = len(used) == 1 and _is_about(program, node, other)
        for name in given:
            if name in done | asked or not (is_about or name in unused):
                continue
            # What is done for several is a habit.
            rare = _UNUSED if name in unused else 0.5 if done else 2.0 - likeness(name, other)
            line = copies[name].rstrip("\n")
            made = Splice(end, end, f"{line}\n" if text.endswith("\n") else f"\n{line}")
            says = f"the same for `{name}` as for `{other}`"
            yield program.edit("sibling_code", node, says, made, unlikely=rare)
    for name in unused[:3]:
        for call in walk(node, ast.Call):
            if call.args or call.keywords:
                behind = program.span((call.args + [k.value for k in call.keywords])[-1])[1]
                if call.keywords:
                    behind = max(behind, *(program.span(one)[1] for one in call.keywords))
                says = f"`{name}={name}` handed on"
                made = Splice(behind, behind, f", {name}={name}")
                yield program.edit("sibling_code", node, says, made, unlikely=2 * _UNUSED)


def _is_about(program: Program, node: ast.stmt, name: str) -> bool:
    """Return whether a statement only asks for a value, or sets something named like it."""
    match node:
        case ast.If(test=test, orelse=[]):
            heads: list[ast.expr] = [test]
        case ast.Assign(targets=heads):
            pass
        case ast.AugAssign(target=target):
            heads = [target]
        case _:
            return False
    return any(re.search(rf"\b{re.escape(name)}\b", program.source(one)) for one in heads)


@edits("sibling_code")
def same_arguments(site: EditSite, node: ast.Call) -> Ways:
    """Call a function with the arguments that a call of the same or a like name has."""
    program = site.program
    if not (node.args or node.keywords):
        return
    name = _called(node)
    function = site.function
    if not name or function is None:
        return
    known = {*program.visible(node), *BUILTINS}
    own = _arguments(program, node)
    ranked: dict[str, float] = {}
    for other, text, names in _calls(program):
        alike = 1.0 if other == name else likeness(other, name)
        if alike > 0.6 and text != own and names <= known:
            ranked[text] = max(ranked.get(text, 0.0), alike)
    head, end = program.span(node.func)[1], program.span(node)[1]
    for place, (text, alike) in enumerate(sorted(ranked.items(), key=lambda one: -one[1])[:6]):
        says = f"`{name}({text})`, as elsewhere"
        yield program.edit(
            "sibling_code",
            node,
            says,
            Splice(head, end, f"({text})"),
            unlikely=1.0 + 0.5 * place + 2 * (1 - alike),
        )


# -- what a program has ----------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _guards(program: Program) -> tuple[_Piece, ...]:
    """Return the short guards with which functions of a program begin."""
    found = [
        _piece(program, one, ast.dump(one), function.name)
        for function in _functions(program)
        for one in function.body[:3]
        if isinstance(one, ast.If) and not one.orelse and isinstance(one.body[-1], _ENDS[:2])
    ]
    return tuple(one for one in found if one is not None)


@lru_cache(maxsize=256)
def _branches(program: Program) -> tuple[_Piece, ...]:
    """Return the short branches of a program, each as an `if` of its own."""
    found = [
        _piece(program, one, ast.dump(one.test), function.name)
        for function in _functions(program)
        for one in walk(function, ast.If)
    ]
    return tuple(one for one in found if one is not None)


@lru_cache(maxsize=256)
def _shapes(function: Function) -> frozenset[str]:
    """Return the shapes of the statements of a function."""
    return frozenset(ast.dump(one) for one in walk(function, ast.stmt))


def _shape(lines: str) -> str | None:
    """Return the shape of a statement as it is written; None if it is none."""
    try:
        return ast.dump(ast.parse(dedent(lines)).body[0])
    except (SyntaxError, IndexError):
        return None


@lru_cache(maxsize=256)
def _unused(function: Function) -> tuple[str, ...]:
    """Return the parameters of a function that it does not read."""
    read = {one.id for one in walk(function, ast.Name)}
    return tuple(name for name in parameters(function) if name not in read)


def _functions(program: Program) -> Iterator[Function]:
    return walk(program.tree, ast.FunctionDef, ast.AsyncFunctionDef)


@lru_cache(maxsize=64)
def _calls(program: Program) -> tuple[tuple[str, str, frozenset[str]], ...]:
    """Return the calls of a program: the name, the arguments as written, the names in these."""
    return tuple(
        (_called(one), _arguments(program, one), _names([*one.args, *one.keywords]))
        for one in ast.walk(program.tree)
        if isinstance(one, ast.Call) and _called(one) and (one.args or one.keywords)
    )


def _piece(program: Program, node: ast.If, shape: str, function: str) -> _Piece | None:
    body = node.body
    if len(body) > _LINES - 1 or (body[-1].end_lineno or 0) - node.lineno >= _LINES:
        return None
    if body[0].lineno == node.lineno:
        return None
    indent = len(program.indent_of(body[0].lineno))
    lines = [program.text[slice(*program.line_span(one))][indent:].rstrip() for one in body]
    if any("\n" in line for line in lines):
        return None
    test = program.source(node.test)
    if "\n" in test:
        return None
    text = "\n".join([f"if {test}:", *(f"\t{line}" for line in lines)])
    return _Piece(text, shape, _names([node.test, *body]), function, node.lineno)


def _names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    every = [one for node in nodes for one in walk(node, ast.Name)]
    bound = {one.id for one in every if isinstance(one.ctx, ast.Store)}
    return frozenset(one.id for one in every) - bound


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _arguments(program: Program, node: ast.Call) -> str:
    start, end = program.span(node.func)[1], program.span(node)[1]
    return program.text[start:end].strip().removeprefix("(").removesuffix(")").strip()


def _first(function: Function) -> ast.stmt | None:
    """Return the first statement of a function behind its docstring."""
    return next((one for one in function.body if not is_docstring(one)), None)


def _before(program: Program, node: ast.stmt, text: str) -> Splice:
    at = program.line_span(node)[0]
    return Splice(at, at, _indented(text, program.indent_of(node.lineno), program.step))


def _indented(text: str, indent: str, step: str) -> str:
    lines = text.split("\n")
    return "".join(f"{indent}{line.replace(chr(9), step, 1)}\n" for line in lines)
