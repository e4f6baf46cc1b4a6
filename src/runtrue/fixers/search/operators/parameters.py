"""Parameters: one that is missing, one that is not handed on, one that is not used for its name."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.clues import raised
from runtrue.fixers.search.operators.facts import program_facts
from runtrue.fixers.search.operators.layout import defaults_of, parameters
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import Function, Program

_UNEXPECTED = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_TESTED = (ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.UnaryOp)


def missing_parameter(site: EditSite) -> Iterator[Edit]:
    """A parameter for a name that a function reads and nothing binds."""
    program, node = site.program, site.node
    if not isinstance(node, ast.stmt) or (function := program.function_of(node)) is None:
        return
    for name in dict.fromkeys(one.name for one in raised(site, "NameError") if one.name):
        read = [one for one in walk(function, ast.Name) if one.id == name]
        tested = any(isinstance(program.parents.get(one), _TESTED) for one in read)
        usual = ["False", "None", "True"] if tested else ["None", "False", '""', "0"]
        defaults = [*_defaults(site).get(name, ()), *usual]
        for n, text in enumerate(dict.fromkeys(defaults)):
            put = _at_end(program, function, name, text)
            says = f"`{name}={text}` as a parameter of `{function.name}`"
            yield program.edit("parameter", node, says, put, unlikely=1.0 + 0.3 * n)
        if not function.args.defaults and not function.args.kwonlyargs:
            put = _at_end(program, function, name, None)
            says = f"`{name}` as a parameter of `{function.name}`"
            yield program.edit("parameter", node, says, put, unlikely=1.5)


def accepted_keyword(site: EditSite) -> Iterator[Edit]:
    """A keyword that a function is given, taken and handed on to what it calls."""
    program, node = site.program, site.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    asked = [_UNEXPECTED.search(one.message) for one in site.failures]
    for name in dict.fromkeys(one[2] for one in asked if one and one[1] == node.name):
        for call in walk(node, ast.Call):
            callee = _callee(site, call)
            if callee is None or name not in parameters(callee):
                continue
            for n, text in enumerate(dict.fromkeys([*_defaults(site).get(name, ()), "None"])):
                both = (_at_end(program, node, name, text), _added(program, call, f"{name}={name}"))
                says = f"`{name}={text}` taken and handed on to `{callee.name}`"
                yield program.edit("parameter", node, says, *both, unlikely=0.5 + 0.3 * n)


def own_name(site: EditSite) -> Iterator[Edit]:
    """What a keyword is named after, in place of something fixed: `encode=encode`."""
    program, node = site.program, site.node
    if not isinstance(node, ast.keyword) or node.arg is None:
        return
    if isinstance(node.value, ast.Name) and node.value.id == node.arg:
        return
    function = program.function_of(node)
    if function is not None and node.arg in parameters(function):
        rare = 0.3 if isinstance(node.value, ast.Constant) else 1.0
        yield program.replace("parameter", node.value, node.arg, unlikely=rare)


def handed_on(site: EditSite) -> Iterator[Edit]:
    """A parameter that the called function takes under the same name, handed on to it."""
    program, node = site.program, site.node
    if not isinstance(node, ast.Call) or (function := program.function_of(node)) is None:
        return
    callee = _callee(site, node)
    if callee is None or callee is function or any(one.arg is None for one in node.keywords):
        return
    taken = parameters(callee)
    given = {*taken[: len(node.args)], *(one.arg for one in node.keywords)}
    own = [name for name in parameters(function) if name in taken and name not in given]
    for n, name in enumerate(own[:3]):
        says = f"`{name}={name}` handed on to `{callee.name}`"
        put = _added(program, node, f"{name}={name}")
        yield program.edit("parameter", node, says, put, unlikely=0.7 + 0.3 * n)
    rest, wanted = function.args.kwarg, callee.args.kwarg
    if rest is not None and wanted is not None:
        says = f"`**{rest.arg}` handed on to `{callee.name}`"
        put = _added(program, node, f"**{rest.arg}")
        yield program.edit("parameter", node, says, put, unlikely=1.0)


def _callee(site: EditSite, call: ast.Call) -> Function | None:
    """Return the function of the project that a call means, by its name, if there is one."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            pass
        case _:
            return None
    for program in (site.program, *site.others):
        if found := program_facts(program).functions.get(name):
            return found
    return None


def _defaults(site: EditSite) -> dict[str, list[str]]:
    """Return the defaults that parameters of a name have in the file, the usual one first."""
    return _defaults_in(site.program)


@lru_cache(maxsize=64)
def _defaults_in(program: Program) -> dict[str, list[str]]:
    counted: dict[str, Counter[str]] = {}
    for function in walk(program.tree, ast.FunctionDef, ast.AsyncFunctionDef):
        for name, value in defaults_of(function):
            if isinstance(value, ast.Constant):
                counted.setdefault(name, Counter())[program.source(value)] += 1
    return {name: [text for text, _ in found.most_common(2)] for name, found in counted.items()}


def _at_end(program: Program, function: Function, name: str, default: str | None) -> Splice:
    """Return a further parameter, before `*args` and `**kwargs` if there are some."""
    spec = function.args
    text = name if default is None else f"{name}={default}"
    named = [*spec.posonlyargs, *spec.args]
    last: ast.AST | None = spec.defaults[-1] if spec.defaults else named[-1] if named else None
    if spec.kwonlyargs:
        kept = spec.kw_defaults[-1]
        last = spec.kwonlyargs[-1] if kept is None else kept
    elif spec.vararg is not None:
        last = spec.vararg
    if last is not None:
        at = program.span(last)[1]
        return Splice(at, at, f", {text}")
    opening = program.text.index("(", program.span(function)[0]) + 1
    comma = ", " if spec.kwarg is not None else ""
    return Splice(opening, opening, text + comma)


def _added(program: Program, call: ast.Call, text: str) -> Splice:
    given: list[ast.AST] = [*call.args, *call.keywords]
    if not given:
        at = program.span(call)[1] - 1
        return Splice(at, at, text)
    at = max(program.span(one)[1] for one in given)
    return Splice(at, at, f", {text}")


PARAMETERS = (missing_parameter, accepted_keyword, own_name, handed_on)
