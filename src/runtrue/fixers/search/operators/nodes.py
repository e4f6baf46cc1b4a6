"""Nodes: walks over the syntax tree that give nodes of one or two types only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, TypeVar, overload

One = TypeVar("One", bound=ast.AST)
Other = TypeVar("Other", bound=ast.AST)


@overload
def walk(node: ast.AST, one: type[One], /) -> Iterator[One]: ...
@overload
def walk(node: ast.AST, one: type[One], other: type[Other], /) -> Iterator[One | Other]: ...
def walk(node: ast.AST, *types: type[Any]) -> Iterator[Any]:
    """Yield the nodes of some types in a tree, the outer ones first."""
    return (one for one in ast.walk(node) if isinstance(one, types))
