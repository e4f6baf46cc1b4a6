"""Refusals: an exception that a test waits for, and that nothing raises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.clues import raised
from runtrue.fixers.search.operators.differences import for_failures
from runtrue.fixers.search.operators.layout import (
    ENDS,
    after,
    entered,
    first_of,
    free,
    line_before,
    parameters,
)
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import BUILTINS, Function, Program

_MISSED = re.compile(r"DID NOT RAISE .*?([\w.]+)'?>?$|^(\w+) not raised", re.MULTILINE)
_MOST_PARAMETERS = 4
#: How the names of exceptions end, and those that are mostly raised.
_ERRORS = ("Error", "Exception", "Invalid")
_USUAL = ("ValueError", "TypeError", "KeyError", "AttributeError", "IndexError", "RuntimeError")


def refuse_rest(site: EditSite) -> Iterator[Edit]:
    """Raise at the end of a function that has no answer for what is left."""
    program, node = site.program, site.node
    if not isinstance(node, ast.stmt) or not (names := _missed(program, site.failures)):
        return
    function = program.function_of(node)
    if function is None or function.body[-1] is not node or isinstance(node, ENDS):
        return
    if not free(program, node):
        return
    for name in names:
        line = f"raise {_built(program, name, function)}"
        put = after(program, node, line)
        yield program.edit("refuse", node, f"`{line}` at the end", put, unlikely=0.5)


def refuse_else(site: EditSite) -> Iterator[Edit]:
    """Raise in an `else` that is missing."""
    program, node = site.program, site.node
    if not isinstance(node, ast.If) or node.orelse or not program.alone(node.body[-1]):
        return
    function = program.function_of(node)
    for name in _missed(program, site.failures) if function is not None else ():
        line = f"raise {_built(program, name, function)}"
        indent = program.indent_of(node.lineno)
        put = after(program, node.body[-1])
        text = f"{indent}else:\n{indent}{program.step}{line}\n"
        ending = "" if program.text[: put.start].endswith("\n") else "\n"
        made = type(put)(put.start, put.end, ending + text)
        yield program.edit("refuse", node, f"`else: {line}`", made, unlikely=0.7)


def refuse_argument(site: EditSite) -> Iterator[Edit]:
    """Raise for an argument that makes no sense, first of all."""
    program = site.program
    function = entered(program, site.node)
    if function is None or not free(program, first := first_of(function)):
        return
    for name in _missed(program, site.failures):
        for n, argument in enumerate(parameters(function)[:_MOST_PARAMETERS]):
            line = f"raise {_built(program, name, function, argument)}"
            for m, test in enumerate(_senseless(function, argument)):
                lines, rare = (f"if {test}:", line), 1.0 + 0.3 * (n + m)
                yield line_before(program, "refuse", first, "first", *lines, unlikely=rare)


def refuse_value(site: EditSite) -> Iterator[Edit]:
    """Raise for a value that was worked out and is none: `if not found: raise …` behind it."""
    program, node = site.program, site.node
    match node:
        case ast.Assign(targets=[ast.Name(id=about)]) if free(program, node):
            pass
        case _:
            return
    for name in _missed(program, site.failures):
        line = f"raise {_built(program, name, site.function, about)}"
        for n, test in enumerate((f"not {about}", f"{about} is None")):
            put = after(program, node, f"if {test}:", program.step + line)
            says = f"`if {test}: {line}` behind it"
            yield program.edit("refuse", node, says, put, unlikely=1.5 + 0.3 * n)


@edits("refuse")
def refuse_otherwise(site: EditSite, node: ast.Raise) -> Ways:
    """Another exception than the one that a test did not wait for."""
    match node.exc:
        case ast.Call(func=ast.Name(id=own) as called) | (ast.Name(id=own) as called):
            pass
        case _:
            return
    if not any(one.exception.rpartition(".")[2] == own for one in raised(site)):
        return
    named = [one for one in site.program.names_in(site.program.tree) if one.endswith(_ERRORS)]
    for n, name in enumerate(dict.fromkeys([*named, *_USUAL])):
        if name != own:
            yield called, name, 0.5 + 0.2 * n


def _senseless(function: Function, name: str) -> Iterator[str]:
    """Yield conditions under which an argument makes no sense."""
    note = next((a.annotation for a in walk(function.args, ast.arg) if a.arg == name), None)
    kind = note.id if isinstance(note, ast.Name) else None
    yield f"not {name}"
    if kind in ("int", "float", None):
        yield f"{name} < 0"
        yield f"{name} <= 0"
    yield f"{name} is None"
    if kind in ("int", "str", "float", "list", "dict", "bytes"):
        yield f"not isinstance({name}, {kind})"
    if kind == "str":
        yield f"not {name}.strip()"


def _missed(program: Program, failures: tuple[Failure, ...]) -> tuple[str, ...]:
    """Return the exceptions that tests wait for in vain, as this file can name them."""
    wanted = _waited_for(failures)
    return tuple(filter(None, (_as_named(program, one) for one in wanted))) if wanted else ()


@for_failures
def _waited_for(failures: tuple[Failure, ...]) -> tuple[str, ...]:
    found = [_MISSED.search(one.message) for one in failures]
    names = [(one[1] or one[2]).rpartition(".")[2] for one in found if one]
    return tuple(dict.fromkeys(names))


def _as_named(program: Program, name: str) -> str | None:
    if name in BUILTINS or name in program.names_in(program.tree):
        return name
    for one in walk(program.tree, ast.Attribute):
        if one.attr == name:
            return program.source(one)
    return None


def _built(program: Program, name: str, function: Function | None, about: str | None = None) -> str:
    """Return the exception with a message about the argument that it is for."""
    names = parameters(function) if function is not None else []
    about = about or _asked_for(function, names)
    if about is None:
        return f"{name}()" if name not in BUILTINS else f'{name}("invalid arguments")'
    return f'{name}(f"invalid {about}: {{{about}!r}}")'


def _asked_for(function: Function | None, names: list[str]) -> str | None:
    """Return the parameter that the conditions of a function are about."""
    tests = [one.test for one in walk(function, ast.If)] if function is not None else []
    asked = [one.id for test in tests for one in walk(test, ast.Name) if one.id in names]
    return max(asked, key=asked.count) if asked else next(iter(names), None)


REFUSALS = (refuse_rest, refuse_else, refuse_argument, refuse_value, refuse_otherwise)
