"""Handlers: which exceptions are caught, and what is then done."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.clues import defaults, raised
from runtrue.fixers.search.operators.layout import (
    around,
    free,
    is_docstring,
    line_after,
    loop_of,
    rigid,
)
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import BUILTINS

_SWALLOWS = "it swallows an exception"
#: What a program raises by mistake only: a handler for it hides the mistake.
_SLIPS = ("NameError", "UnboundLocalError", "AttributeError", "SyntaxError", "RecursionError")
#: Names for an exception that is caught without one.
_ERRORS = ("error", "exc", "exception")


def catch(site: EditSite) -> Iterator[Edit]:
    """The exception that was really seen, beside or instead of the one that is caught."""
    node, program = site.node, site.program
    if isinstance(node, ast.Try):
        handlers = node.handlers
    elif isinstance(node, ast.ExceptHandler):
        handlers = [node]
    else:
        # What failed is inside a `try` that did not catch it.
        around = next((one for one in program.ancestors(node) if isinstance(one, ast.Try)), None)
        is_inside = isinstance(node, ast.stmt) and around is not None and any(raised(site))
        handlers = around.handlers if around is not None and is_inside else []
    seen = list(dict.fromkeys(one.exception for one in site.failures))
    for handler in handlers:
        if handler.type is None:
            continue
        text = program.source(handler.type)
        for name in seen:
            short = name.rpartition(".")[2]
            if (short not in BUILTINS and name == short) or short == "AssertionError":
                continue
            if short in text:
                continue
            parts = text.strip("()") if isinstance(handler.type, ast.Tuple) else text
            wider = f"({parts.rstrip(', ')}, {name})"
            doubt = _SWALLOWS if _is_silent(handler) or short in _SLIPS else None
            yield program.replace("catch", handler.type, name, unlikely=1.5, doubt=doubt)
            yield program.replace("catch", handler.type, wider, unlikely=1.2, doubt=doubt)
    yield from _reraise(site)


def _is_silent(handler: ast.ExceptHandler) -> bool:
    return all(
        isinstance(one, ast.Pass | ast.Continue) or is_docstring(one) for one in handler.body
    )


def _reraise(site: EditSite) -> Iterator[Edit]:
    node, program = site.node, site.program
    if not isinstance(node, ast.ExceptHandler):
        return
    last = node.body[-1]
    if isinstance(last, ast.Pass):
        yield program.replace("reraise", last, "raise")
    elif not isinstance(last, ast.Raise | ast.Return | ast.Continue | ast.Break):
        if free(program, last):
            yield line_after(program, "reraise", last, "at the end", "raise", unlikely=2.0)
    elif isinstance(last, ast.Return):
        yield program.replace("reraise", last, "raise", unlikely=2.5)


def cause(site: EditSite) -> Iterator[Edit]:
    """The exception that is handled, as the cause of the one that is raised instead."""
    node, program = site.node, site.program
    if not isinstance(node, ast.Raise) or node.exc is None:
        return
    handler = next((o for o in program.ancestors(node) if isinstance(o, ast.ExceptHandler)), None)
    if handler is None or program.function_of(handler) is not program.function_of(node):
        return
    if isinstance(node.exc, ast.Name) and node.exc.id == handler.name:
        return
    end = program.span(node.exc)[1]
    if isinstance(node.cause, ast.Constant) and handler.name:
        yield program.replace("cause", node.cause, handler.name)
    elif node.cause is None and handler.name:
        put = Splice(end, end, f" from {handler.name}")
        yield program.edit("cause", node, f"`from {handler.name}` behind it", put)
    elif node.cause is None and handler.type is not None:
        taken = {one.id for one in walk(program.scope_of(node), ast.Name)}
        name = next((one for one in _ERRORS if one not in taken), "caught_error")
        caught = program.span(handler.type)[1]
        both = Splice(caught, caught, f" as {name}"), Splice(end, end, f" from {name}")
        yield program.edit("cause", node, f"`from {name}` behind it", *both)
    if node.cause is None:
        hidden = Splice(end, end, " from None")
        yield program.edit("cause", node, "`from None` behind it", hidden, unlikely=2.0)


@edits("try")
def guard_try(site: EditSite, node: ast.stmt) -> Ways:
    """Put what raises in a `try`, with a handler for what it raised."""
    program = site.program
    if not free(program, node) or rigid(node):
        return
    if any(isinstance(one, ast.Raise | ast.Assert) for one in ast.walk(node)):
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        return  # what it was to bind would be missed later
    for name in dict.fromkeys(one.exception for one in raised(site)):
        if name not in BUILTINS:
            continue
        function = site.function
        ways = [*(("continue",) if loop_of(program, node) else ())]
        ways += [f"return {text}" for text in defaults(site, function, 3)]
        for n, way in enumerate([*ways, "pass"]):
            says, tail = f"`except {name}: {way}` around it", f"except {name}:\n\t{way}"
            rare = 5.0 + n / 2
            yield around(
                program, "try", node, says, "try:", tail=tail, unlikely=rare, doubt=_SWALLOWS
            )
