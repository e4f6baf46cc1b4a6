"""Absent: the call of a function that is nowhere, as the operation its name says."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.classes import members
from runtrue.fixers.search.operators.clues import closest, raised
from runtrue.fixers.search.operators.layout import is_known, parameters, undefined
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import BUILTINS, Function, Program

#: What a function that is not there may have meant, by words in its name: with one argument and
#: with two. Those without a word that fits are tried too, later.
_MEANT_ONE = {
    "{0}[::-1]": ("reverse", "flip"),
    "len({0})": ("length", "size", "count"),
    "sum({0})": ("sum", "total", "add"),
    "max({0})": ("max", "largest", "biggest"),
    "min({0})": ("min", "smallest"),
    "sorted({0})": ("sort", "order"),
    "set({0})": ("unique", "set", "distinct"),
    "list({0})": ("list", "array"),
    "str({0})": ("str", "text"),
    "int({0})": ("int", "number", "parse"),
    "float({0})": ("float", "double", "decimal"),
    "abs({0})": ("abs", "absolute"),
    "not {0}": ("not", "negate", "is"),
    "{0} % 2 == 0": ("even",),
    "{0} % 2 == 1": ("odd",),
    "{0} ** 2": ("square",),
    "{0} + 1": ("increment", "next"),
    "{0} - 1": ("decrement", "previous"),
    "{0}.copy()": ("copy", "clone"),
    "max({0}) - min({0})": ("max", "min", "range"),
    "not {0} ": ("empty",),
    "{0}": ("identity", "get", "value"),
}
_MEANT_TWO = {
    "{0} + {1}": ("sum", "add", "plus", "concat"),
    "{0} - {1}": ("difference", "subtract", "minus", "sub", "remainder"),
    "{0} * {1}": ("multiply", "product", "times", "mul"),
    "{0} // {1}": ("divide", "division", "div", "quotient"),
    "{0} / {1}": ("divide", "ratio", "div"),
    "{0} % {1}": ("mod", "remainder", "modulo"),
    "{0} ** {1}": ("power", "pow"),
    "{0} < {1}": ("less", "smaller", "lower", "before", "compare"),
    "{0} > {1}": ("greater", "larger", "more", "bigger", "after"),
    "{0} == {1}": ("equal", "equals", "same", "compare", "match"),
    "{0} != {1}": ("different", "differ", "not"),
    "{0} <= {1}": ("most",),
    "{0} >= {1}": ("least",),
    "max({0}, {1})": ("max", "maximum", "larger"),
    "min({0}, {1})": ("min", "minimum", "smaller"),
    "{0} in {1}": ("in", "contains", "has", "includes"),
    "{1} in {0}": ("contains", "includes", "has"),
    "{0} and {1}": ("and", "both"),
    "{0} or {1}": ("or", "either"),
    "abs({0} - {1})": ("distance", "difference", "diff", "abs"),
    "{0}[{1}]": ("get", "at", "element", "item", "index", "value", "char"),
    "{0}.append({1})": ("append", "push", "add"),
}


@edits("absent")
def absent(site: EditSite, node: ast.Call) -> Ways:
    """The call of a function that is nowhere, as the plain operation it names; or without it."""
    program = site.program
    if node.keywords or not _is_absent(site, node):
        return
    called = program.source(node.func).rpartition(".")[2]
    given = [_bracketed(program, one) for one in node.args]
    if any(isinstance(one, ast.Starred) for one in node.args):
        return
    table = {1: _MEANT_ONE, 2: _MEANT_TWO}.get(len(given), {})
    words = called.lower()
    ranked = sorted(
        table, key=lambda text: -max((len(w) for w in table[text] if w in words), default=0)
    )
    outer = isinstance(program.parents[node], ast.expr | ast.keyword)
    call = isinstance(program.parents[node], ast.Call)
    for n, form in enumerate(ranked):
        fits = any(word in words for word in table[form])
        text = form.strip().format(*given)
        text = f"({text})" if outer and not call else text
        yield text, (1.2 if fits else 2.0) + n / 8
    for n, one in enumerate(given):
        yield one, 1.5 + n / 4
    if isinstance(program.parents[node], ast.Expr):
        yield from _as_statement(program, node, given, ranked)
    if called in BUILTINS:
        start, end = program.span(node.func)
        at = Splice(start, end, called)
        yield program.edit("absent", node, f"the built-in `{called}`", at)
    inside = ", ".join(program.source(one) for one in node.args)
    plain = [n for n in BUILTINS if n.islower() and not n.startswith("_")]
    for n, one in enumerate(closest(called, tuple(sorted(plain)), 3)):
        yield f"{one}({inside})", 1.5 + n / 3
    functions = list(walk(program.tree, ast.FunctionDef, ast.AsyncFunctionDef))
    fitting = {one.name: one for one in functions if len(parameters(one)) == len(given)}
    for n, one in enumerate(closest(called, tuple(fitting), 4)):
        yield f"{_path_of(program, fitting[one])}({inside})", 1.2 + n / 3


def _as_statement(
    program: Program, node: ast.Call, given: list[str], forms: list[str]
) -> Iterator[Edit]:
    """A call that nothing is done with: it changed what it was given, or was to be returned."""
    statement = program.statement_of(node)
    function = program.function_of(node)
    for n, (one, arg) in enumerate(zip(given, node.args, strict=True)):
        if isinstance(arg, ast.Name | ast.Attribute):
            for m, word in enumerate(("sort", "reverse", "clear")):
                yield program.replace("absent", node, f"{one}.{word}()", unlikely=2.0 + n / 4 + m)
        if function is not None and function.body[-1] is statement:
            yield program.replace("absent", node, f"return {one}", unlikely=1.5 + n / 4)
    if function is not None and function.body[-1] is statement:
        for n, form in enumerate(forms[:10]):
            text = f"return {form.strip().format(*given)}"
            yield program.replace("absent", node, text, unlikely=2.0 + n / 4)


def _path_of(program: Program, function: Function) -> str:
    inside = isinstance(program.parents[function], ast.ClassDef)
    return f"self.{function.name}" if inside else function.name


def _is_absent(site: EditSite, node: ast.Call) -> bool:
    func, program = node.func, site.program
    if isinstance(func, ast.Name):
        return func.id in undefined(program) and not is_known(program, func)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        owner = program.class_of(node)
        if func.value.id in undefined(program) and not is_known(program, func.value):
            return True
        if func.value.id == "self" and owner is not None:
            return func.attr not in members(program, owner) and not (
                owner.bases and not any(one.missed_attribute == func.attr for one in site.failures)
            )
    return any(
        one.exception == "AttributeError"
        and isinstance(func, ast.Attribute)
        and one.missed_attribute == func.attr
        for one in raised(site)
    )


def _bracketed(program: Program, node: ast.expr) -> str:
    text = program.source(node)
    atom = ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.List
    return text if isinstance(node, atom) and "\n" not in text else f"({text})"
