"""Expressions: all operators that change one, and what their kinds are called."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from textwrap import dedent

from runtrue.fixers.search.edit import Edit, parsed, splice
from runtrue.fixers.search.operators.arguments import ARGUMENTS
from runtrue.fixers.search.operators.branches import BRANCHES
from runtrue.fixers.search.operators.calls import CALLS
from runtrue.fixers.search.operators.characters import CHARACTERS
from runtrue.fixers.search.operators.conditions import CONDITIONS
from runtrue.fixers.search.operators.constants import CONSTANTS
from runtrue.fixers.search.operators.frame_values import SEEN
from runtrue.fixers.search.operators.names import NAMES, is_never_evaluated
from runtrue.fixers.search.operators.operations import OPERATIONS
from runtrue.fixers.search.operators.parallels import PARALLEL_EXPRESSIONS
from runtrue.fixers.search.operators.patterns import pattern
from runtrue.fixers.search.operators.repetition import REPEATED, repeated
from runtrue.fixers.search.operators.seam import EditSite, Operator
from runtrue.fixers.search.operators.slices import SLICES
from runtrue.fixers.search.operators.swaps import SWAPS
from runtrue.fixers.search.operators.terms import TERMS
from runtrue.fixers.search.operators.transforms import TRANSFORMS
from runtrue.fixers.search.operators.type_tests import TYPES
from runtrue.fixers.search.operators.wraps import WRAPS
from runtrue.fixers.search.program import Program

#: The kinds of edits, as reports and priors name them.
KINDS: dict[str, str] = {
    "comparison": "another comparison: `<` → `<=`, `==` → `!=`, `in` → `not in`",
    "boolean": "`and` → `or`, all of a row or one of it; `&` → `and`",
    "negation": "a condition turned round, a `not` or a minus taken away",
    "sign": "a minus before a number",
    "arithmetic": "another operator: `+` → `-`, `/` → `//`",
    "augmented": "another operator in an assignment: `+=` → `-=`",
    "off_by_one": "one more or one less where something is counted",
    "constant": "another number, truth value or way to begin",
    "string": "another text: case, white space, or one like it from the file",
    "interpolation": "an `f` before a text with names in braces",
    "expected": "a constant worked out from what a test expects",
    "variable": "another variable in scope",
    "undefined": "a name that is nowhere, replaced by one that is there",
    "attribute": "another attribute or method of the object; `self.` added or dropped",
    "key": "another key that the mapping has",
    "argument_swap": "two arguments swapped, or the values of two keywords",
    "operand_swap": "two operands swapped",
    "tuple_swap": "two elements or targets swapped",
    "element": "an element of a tuple or list dropped, or taken alone",
    "index_swap": "two subscripts swapped: `a[i][j]` → `a[j][i]`",
    "sibling": "a function or method of the same family: `max` → `min`",
    "argument_drop": "an argument dropped",
    "argument_add": "an argument added",
    "star": "the elements of an argument given one by one, or together",
    "range": "another way through a range, or over a thing",
    "instead": "a call of something that is not there, replaced by an operation on its arguments",
    "unwrap": "a call given up for what it is called with",
    "wrap": "a call, an index or a method added around or behind",
    "clamp": "`max(0, …)` and the like around a number",
    "term_drop": "one side of an operation dropped",
    "term_add": "a term added to an operation",
    "round_up": "a division rounded up: `(a + b - 1) // b`",
    "pattern": "another regular expression: less greedy, anchored, `+` for `*`",
    "only_none": "a default for None alone: `b if a is None else a` for `a or b`",
    "scale": "a number in another unit: `percent / 100`, `seconds * 1000`",
    "condition_drop": "a part of a condition dropped",
    "condition_add": "a part of a condition added",
    "condition": "another condition, from nearby or from one side of it",
    "chain": "one side of a chained comparison",
    "grouping": "another grouping: `a + b * c` → `(a + b) * c`",
    "branch": "the branches of a conditional expression swapped, or one taken",
    "comprehension": "a part of a comprehension dropped or changed",
    "slice": "another part of a sequence",
    "index": "another place in a sequence, or a subscript dropped",
    "subscript": "a subscript that was left out",
    "transform": "a value turned into what the test expects: `.strip()`, `.replace(…)`",
    "same_use": "a value used as elsewhere in the file: `f(x)` for `x`",
    "parallel": "an expression as a like statement has it, with its own names",
    "other_call": "a call that the class makes with the same arguments elsewhere",
    "characters": "one more character that a text or a pattern lets in",
    "isinstance": "one more type in an `isinstance`, or one less",
}

# What may differ between two texts that are the same program.
_SPELLING = re.compile(r"""[\s()"']""")
#: The operators of expressions, in the order of equals.
ALL: tuple[Operator, ...] = (
    # First: others may propose the same, without knowing that it gives what is expected.
    *TRANSFORMS,
    *OPERATIONS,
    *CONSTANTS,
    *NAMES,
    *SEEN,
    *SWAPS,
    *CALLS,
    *ARGUMENTS,
    *WRAPS,
    *TERMS,
    *BRANCHES,
    *SLICES,
    *CONDITIONS,
    *REPEATED,
    pattern,
    *PARALLEL_EXPRESSIONS,
    *CHARACTERS,
    *TYPES,
)


def expressions(site: EditSite) -> Iterator[Edit]:
    """All edits of expressions at a node, each once."""
    program, node = site.program, site.node
    if is_never_evaluated(site):
        return
    around = _fstring_around(program, node)
    if around is not None and not _is_placed(program, node):
        return
    seen: set[object] = set()
    for operator in ALL:
        for edit in operator(site):
            if edit.splices in seen or _changes_nothing(program, edit):
                continue
            seen.add(edit.splices)
            if around is not None and not _fits_in_fstring(edit, around, program):
                continue
            yield edit
            if around is None and (again := repeated(site, edit)) is not None:
                yield again


def _changes_nothing(program: Program, edit: Edit) -> bool:
    for one in edit.splices:
        old = _SPELLING.sub("", program.text[one.start : one.end])
        if old != _SPELLING.sub("", one.text):
            return False
    start, end = next(program.pieces(edit.splices[0].start, edit.splices[-1].end))
    inner = [replace(s, start=s.start - start, end=s.end - start) for s in edit.splices]
    old = program.text[start:end]
    try:
        both = [ast.dump(ast.parse(dedent(one))) for one in (old, splice(old, inner))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.dump(parsed(edit.applied(program.text))) == ast.dump(program.tree)
    return both[0] == both[1]


def _fstring_around(program: Program, node: ast.AST) -> ast.JoinedStr | None:
    if not isinstance(node, ast.expr):
        return None
    for one in program.ancestors(node):
        if isinstance(one, ast.JoinedStr):
            return one
        if isinstance(one, ast.stmt):
            return None
    return None


def _is_placed(program: Program, node: ast.AST) -> bool:
    """True if the tree has a node's position; in f-strings before 3.12 it may not."""
    try:
        tree = ast.parse(f"({program.source(node)})", mode="eval")
    except (SyntaxError, ValueError, AssertionError, IndexError):
        return False
    return ast.dump(tree.body) == ast.dump(node)


def _fits_in_fstring(edit: Edit, around: ast.JoinedStr, program: Program) -> bool:
    """True if an f-string may contain the edit: before 3.12 no quotes or backslashes."""
    written = "".join(one.text for one in edit.splices)
    if sys.version_info < (3, 12) and any(sign in written for sign in "\\'\""):
        return False
    if any(sign in written for sign in ("\\", "{", "}", "\n", "#", ":", "!", '"', "'")):
        return False
    inside = program.span(around)
    return all(inside[0] < one.start and one.end < inside[1] for one in edit.splices)


EXPRESSIONS: tuple[Operator, ...] = (expressions,)
