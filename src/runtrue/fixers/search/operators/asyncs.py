"""Asynchronous code: `await` and `async` where they are missing or too many."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.messages import Sign
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program


def add_await(site: EditSite) -> Iterator[Edit]:
    """`await` before a call whose result is only promised; none before a value."""
    node, program = site.node, site.program
    if isinstance(node, ast.Await):
        yield program.replace("await", node, program.source(node.value), unlikely=1.5)
        return
    if not isinstance(node, ast.Call):
        return
    parent = program.parents[node]
    if isinstance(parent, ast.Await):
        return
    name = program.source(node.func).rpartition(".")[2]
    promised = name in _promising(program)
    hinted = any(one.says(Sign.AWAIT) for one in site.failures)
    text = program.source(node)
    if _may_wait(program, node):
        bare = isinstance(parent, ast.Expr | ast.Assign | ast.Return | ast.keyword | ast.AnnAssign)
        waiting = f"await {text}" if bare else f"(await {text})"
        unlikely = 1.0 if promised else 1.5 if hinted else 3.0
        yield program.replace("await", node, waiting, unlikely=unlikely)
    elif promised and "asyncio" in program.names_in(program.tree):
        yield program.replace("await", node, f"asyncio.run({text})", unlikely=2.0)


def _may_wait(program: Program, node: ast.AST) -> bool:
    """True if the innermost function around a node is asynchronous; a lambda never is."""
    for one in program.ancestors(node):
        if isinstance(one, ast.Lambda | ast.FunctionDef | ast.ClassDef | ast.GeneratorExp):
            return False
        if isinstance(one, ast.arguments):
            return False
        if isinstance(one, ast.AsyncFunctionDef):
            # Not in what is worked out when the function is defined.
            return any(node is x for part in one.body for x in ast.walk(part))
    return False


@lru_cache(maxsize=16)
def _promising(program: Program) -> frozenset[str]:
    return frozenset(one.name for one in walk(program.tree, ast.AsyncFunctionDef)) | {
        "sleep",
        "gather",
        "wait_for",
    }


@edits("async")
def make_async(site: EditSite, node: ast.For | ast.With | ast.AsyncFor | ast.AsyncWith) -> Ways:
    """`async with` and `async for` for `with` and `for`, and back."""
    program = site.program
    start = program.span(node)[0]
    if isinstance(node, ast.AsyncFor | ast.AsyncWith):
        end = start + len("async") + 1
        if program.text[start:end] == "async ":
            yield program.edit("async", node, "without `async`", Splice(start, end, ""))
    elif isinstance(site.function, ast.AsyncFunctionDef):
        hinted = any(one.says(Sign.ASYNC) for one in site.failures)
        at = Splice(start, start, "async ")
        yield program.edit("async", node, "`async`", at, unlikely=1.0 if hinted else 2.5)
