"""The seam of the operators: what one is given, and what it gives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.program import Program


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


#: Proposes edits at a node. It is called for each expression, statement, argument, keyword and
#: handler on a line under suspicion, and gives nothing for nodes it has nothing to say about.
Operator = Callable[[EditSite], Iterator[Edit]]
