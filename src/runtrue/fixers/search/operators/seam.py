"""The seam of the operators: what one is given, and what it gives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, get_args, get_type_hints

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.facts import (
    ProgramFacts,
    ScopeFacts,
    facts_at,
    program_facts,
)
from runtrue.fixers.search.operators.precedence import Code, code, rewrite
from runtrue.fixers.search.program import Function, Program

_READ = ast.Load()
_TEST = {"test": "test", "body": "branch", "orelse": "branch"}
_LOOP = {"target": "target", "iter": "iterated", "ifs": "filter"}
#: What a node is to its parent: one word, or a word by the field that it is in.
_ROLES: dict[type[ast.AST] | type[None], str | dict[str, str]] = {
    **dict.fromkeys((ast.If, ast.While, ast.IfExp), _TEST),
    **dict.fromkeys((ast.For, ast.AsyncFor, ast.comprehension), _LOOP),
    **{key: {"elt": "given"} for key in (ast.ListComp, ast.SetComp, ast.GeneratorExp)},
    **dict.fromkeys((ast.Tuple, ast.List), "element"),
    ast.Assert: {"test": "asserted"},
    ast.BoolOp: "part",
    ast.UnaryOp: "signed",
    ast.BinOp: "operand",
    ast.Compare: "compared",
    ast.Return: "returned",
    ast.Assign: "assigned",
    ast.AnnAssign: "noted",
    ast.AugAssign: "added",
    ast.Slice: "bound",
    ast.Subscript: {"slice": "index", "value": "owner"},
    ast.Call: {"func": "called", "args": "argument"},
    ast.keyword: "keyword",
    ast.Lambda: "result",
    ast.Starred: "starred",
    ast.FormattedValue: "shown",
    ast.Expr: "alone",
    ast.JoinedStr: "text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditSite:
    """A node of a program that may be wrong, with what the failing tests have shown."""

    program: Program
    node: ast.AST
    failures: tuple[Failure, ...] = ()
    #: The other files of the project that are known, in which a name may be.
    others: tuple[Program, ...] = ()
    #: Short texts that the tests use: the names of what they hand over are among them.
    strings: tuple[str, ...] = ()

    @property
    def parent(self) -> ast.AST | None:
        """The node that the site's node is a part of."""
        return self.program.parents.get(self.node)

    @property
    def function(self) -> Function | None:
        """The function around the node."""
        return self.program.function_of(self.node)

    @property
    def facts(self) -> ScopeFacts:
        """The facts of the function around the node."""
        return facts_at(self.program, self.node)

    @property
    def known(self) -> ProgramFacts:
        """The facts of the whole program."""
        return program_facts(self.program)

    @property
    def is_read(self) -> bool:
        """True if the node is neither assigned to nor deleted."""
        return isinstance(getattr(self.node, "ctx", _READ), ast.Load)

    @property
    def is_called(self) -> bool:
        """True if the node is what a call calls."""
        return isinstance(parent := self.parent, ast.Call) and parent.func is self.node

    @property
    def role(self) -> str:
        """What the node is to its parent: a `test`, an `index`, an `argument`, …; else nothing."""
        node, parent = self.node, self.parent
        found = _ROLES.get(type(parent), "")
        if isinstance(found, str):
            return found
        for field, role in found.items():
            value = getattr(parent, field)
            if value is node or (isinstance(value, list) and any(one is node for one in value)):
                return role
        return ""

    def source(self, node: ast.AST) -> str:
        """Return the text of a node."""
        return self.program.source(node)

    def code(self, node: ast.expr) -> Code:
        """Return an expression of the program, to be written elsewhere."""
        return code(self.program, node)


#: Proposes edits at a node. It is called for each expression, statement, argument, keyword and
#: handler on a line under suspicion, and gives nothing for nodes it has nothing to say about.
Operator = Callable[[EditSite], Iterator[Edit]]
#: A node written in another way, and how unlikely that is; before it the node, if that is another
#: one than the site's. Code gets the brackets it needs, text is written as it is.
Way = tuple[str | Code, float] | tuple[ast.AST, str | Code, float]
Ways = Iterator[Edit | Way]


def edits(
    kind: str, *, read: bool = False
) -> Callable[[Callable[[EditSite, Any], Iterable[Edit | Way]]], Operator]:
    """Make an operator of a function that proposes ways to write a node.

    It is called for nodes of the type that its parameter `node` has; with `read`, only for those
    that are neither assigned to nor deleted.
    """

    def decorate(propose: Callable[[EditSite, Any], Iterable[Edit | Way]]) -> Operator:
        hint = get_type_hints(propose)["node"]
        types = get_args(hint) or (hint,)

        @wraps(propose)
        def operator(site: EditSite) -> Iterator[Edit]:
            node = site.node
            if isinstance(node, types) and (not read or site.is_read):
                for way in propose(site, node):
                    yield way if isinstance(way, Edit) else _edit(site.program, kind, node, way)

        return operator

    return decorate


def _edit(program: Program, kind: str, node: ast.AST, way: Way) -> Edit:
    *places, made, unlikely = way
    at: Any = places[0] if places else node
    if isinstance(made, Code):
        return rewrite(program, kind, at, made, unlikely=unlikely)
    return program.replace(kind, at, str(made), unlikely=unlikely)
