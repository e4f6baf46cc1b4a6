"""Sense: how odd a program is that parses. Of several readings the one that makes sense is better.

What counts is what a linter would complain about: names that nothing binds, values that nothing
uses, statements that nothing reaches, methods without `self`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from runtrue.fixers.search.program import BUILTINS

_BUILTINS = BUILTINS | {"__file__", "__path__", "__class__", "__module__"}
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTION, ast.Lambda, ast.ClassDef)
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)

_UNBOUND = 0.6
_USELESS = 0.7
_UNREACHED = 0.8
_MISFIT = 0.8


def oddity(tree: ast.Module) -> float:
    """Return how much of a program makes no sense; 0 for most real programs."""
    return _UNBOUND * len(unbound(tree)) + sum(_oddities(tree))


def _oddities(tree: ast.Module) -> Iterator[float]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            value = node.value
            if isinstance(value, ast.Constant):
                if not isinstance(value.value, str | type(...)):
                    yield _USELESS
            elif not isinstance(value, ast.Call | ast.Await | ast.Yield | ast.YieldFrom):
                yield _USELESS
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and any(isinstance(one, _ENDS) for one in block[:-1]):
                yield _UNREACHED
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Constant | ast.List | ast.Dict):
            yield _MISFIT
        if isinstance(node, ast.ClassDef):
            yield from (_MISFIT for one in node.body if not _fits(one))
            if any(isinstance(one, ast.For | ast.While | ast.Expr) for one in node.body[1:]):
                yield _MISFIT / 2
    for one in tree.body:
        if isinstance(one, _FUNCTION) and [arg.arg for arg in one.args.args[:1]] == ["self"]:
            yield _MISFIT


def _fits(node: ast.stmt) -> bool:
    if not isinstance(node, _FUNCTION) or node.decorator_list or node.args.vararg:
        return True
    arguments = [*node.args.posonlyargs, *node.args.args]
    return bool(arguments) and arguments[0].arg in ("self", "cls", "mcs", "_", "klass", "metacls")


def unbound(tree: ast.Module) -> set[str]:
    """The names that are used where nothing binds them."""
    if any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in ast.walk(tree)):
        return set()
    missing: set[str] = set()
    _look(tree, _BUILTINS, missing)
    return missing


def _look(scope: ast.AST, outer: frozenset[str], missing: set[str]) -> None:
    used: set[str] = set()
    own: set[str] = set()
    inner: list[ast.AST] = []
    for node in _own(scope):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else own).add(node.id)
        elif isinstance(node, _SCOPES):
            inner.append(node)
            if not isinstance(node, ast.Lambda):
                own.add(node.name)
        elif isinstance(node, ast.alias):
            own.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            own.update(node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            own.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            own.add(node.rest)
    seen = outer | own
    missing |= used - seen
    below = outer if isinstance(scope, ast.ClassDef) else seen
    for one in inner:
        _look(one, below, missing)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope. What a definition evaluates outside of itself is not its own."""
    todo: list[ast.AST] = list(_inside(scope))
    while todo:
        node = todo.pop()
        yield node
        todo += _around(node) if isinstance(node, _SCOPES) else ast.iter_child_nodes(node)


def _inside(scope: ast.AST) -> Iterable[ast.AST]:
    if isinstance(scope, ast.Lambda):
        return [*(ast.arg(arg=one.arg) for one in _arguments(scope.args)), scope.body]
    if isinstance(scope, _FUNCTION):
        return [*(ast.arg(arg=one.arg) for one in _arguments(scope.args)), *scope.body]
    if isinstance(scope, ast.ClassDef):
        return scope.body
    return ast.iter_child_nodes(scope)


def _around(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef,
) -> Iterable[ast.AST]:
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(word.value for word in node.keywords)]
    if isinstance(node, ast.Lambda):
        return [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    hints = [arg.annotation for arg in _arguments(node.args) if arg.annotation]
    returns = [node.returns] if node.returns else []
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return [*node.decorator_list, *defaults, *hints, *returns]


def _arguments(args: ast.arguments) -> list[ast.arg]:
    named = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [one for one in named if one]
