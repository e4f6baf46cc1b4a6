"""Doubts about edits that pass because a check refuses nothing any more, or by an accident.

A test that failed because a check raised passes as soon as that check is out of the way. Both the
old and the new condition are evaluated on some values, to see whether they have anything in common.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from textwrap import dedent
from typing import Any

from runtrue.fixers.search.edit import Edit, splice
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.messages import Sign
from runtrue.fixers.search.operators.differences import mentioned_texts
from runtrue.fixers.search.operators.likeness import likeness
from runtrue.fixers.search.program import Program

DROPS_A_CHECK = "it drops a check"
_CHECKS = (ast.Raise, ast.Assert)
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
#: Edits that put statements in another order, or end a block sooner.
_REORDERING = frozenset(("move", "move_in", "move_out", "borrow", "end_block", "jump", "return"))
#: What raises, or calls something that may, and the statements that do neither by themselves.
_TELLING = re.compile(r"\b(?:raise|assert|yield|await)\b|[\w.]+(?=\()|\w+(?==[^=])")
_PLAIN_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_ASKING = (ast.Compare, ast.BoolOp, ast.IfExp)
#: What makes a text of anything.
_TEXTS = ("str", "repr", "format")
#: Edits that add a condition of their own.
_GUARDING = frozenset(("condition_add", "guard", "condition", "isinstance", "get"))
#: The values a condition is evaluated on, besides the constants in it and their neighbours.
_VALUES: tuple[Any, ...] = (-10, -1, 0, 1, 10, "", "a", None, (), (1,), True)
_MOST_ROWS = 4_000
#: How much alike a text is to the one that was meant.
_SLIP = 0.6
_QUOTED = re.compile(r"(['\"])((?:(?!\1)[^\\\n]|\\.)*)\1")
_FUNCTIONS: dict[str, Any] = {"abs": abs, "len": len, "bool": bool, "__builtins__": {}}
#: Built-in classes and functions: as a condition, each is true.
_ALWAYS_TRUE = frozenset(name for name, one in vars(builtins).items() if callable(one))
_PLAIN = (
    *(ast.Expression, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.unaryop, ast.Compare, ast.cmpop),
    *(ast.Constant, ast.Name, ast.expr_context, ast.Tuple, ast.List, ast.Set),
)


@dataclass(frozen=True, slots=True)
class GuardCondition:
    """A condition under which the program refused a failing test's input, or without which."""

    test: ast.expr
    #: True if it refuses where the condition is true: an `assert` refuses where it is false.
    when: bool
    #: How many failing tests it refused.
    refused: int


def guards_of(program: Program, failures: Sequence[Failure]) -> list[GuardCondition]:
    """Return the conditions of a program that refused some of the failing tests."""
    lines = [one.frames[-1].line for one in failures if _is_innermost(program, one)]
    found: dict[ast.expr, GuardCondition] = {}
    for node in ast.walk(program.tree) if lines else ():
        if not isinstance(node, _CHECKS):
            continue
        refused = sum(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines)
        around = node if isinstance(node, ast.Assert) else program.parents.get(node)
        if refused and isinstance(around, ast.If | ast.Assert):
            when = isinstance(around, ast.If) and node in around.body
            before = found[around.test].refused if around.test in found else 0
            found[around.test] = GuardCondition(around.test, when, before + refused)
    return list(found.values())


def _is_innermost(program: Program, failure: Failure) -> bool:
    return bool(failure.frames) and failure.frames[-1].file == program.file


def doubted(
    program: Program,
    edits: Iterable[Edit],
    guards: Sequence[GuardCondition],
    failures: Sequence[Failure],
) -> Iterator[Edit]:
    """Yield the edits, with a doubt where they only get a check out of the way."""
    missed = any(one.says(Sign.NOT_RAISED) for one in failures)
    for edit in edits:
        if edit.doubt is None and any(_is_gone(program, edit, one, missed) for one in guards):
            yield replace(edit, doubt=DROPS_A_CHECK)
        else:
            yield edit


def dodges(program: Program, edit: Edit, failures: Sequence[Failure]) -> bool:
    """Return whether an edit may pass only because the code that raised is not reached any more.

    That is so where it asks something else around a line of a traceback. A further condition, or a
    guard, says which case it is about; a name or an operator that was replaced does not. Where the
    program itself refuses, what it asks may well be the mistake; but what it asserts was thought to
    hold always, and no longer asking for it proves nothing.
    """
    if any(_is_inside(program.span(one), edit) for one in _asserted(program, failures)):
        return True
    if edit.kind in _GUARDING:
        return False
    refusals = {one.lineno for one in ast.walk(program.tree) if isinstance(one, _CHECKS)}
    lines = {
        frame.line
        for failure in failures
        if failure.exception != "AssertionError"
        and not (_is_innermost(program, failure) and failure.frames[-1].line in refusals)
        for frame in failure.frames
        if frame.file == program.file
    }
    for node in ast.walk(program.tree) if lines else ():
        if (
            isinstance(node, ast.If | ast.While | ast.For)
            and any(
                node.body[0].lineno <= line <= (node.body[-1].end_lineno or line) for line in lines
            )
            and _is_inside(
                program.span(node.iter if isinstance(node, ast.For) else node.test), edit
            )
        ):
            return True
    return False


def _asserted(program: Program, failures: Sequence[Failure]) -> Iterator[ast.Assert]:
    """Yield the program's own assertions that failing tests ran into."""
    lines = {one.frames[-1].line for one in failures if _is_innermost(program, one)}
    for node in ast.walk(program.tree) if lines else ():
        if isinstance(node, ast.Assert) and lines & {*range(node.lineno, _last_line(node) + 1)}:
            yield node


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _is_inside(span: tuple[int, int], edit: Edit) -> bool:
    start, end = span
    return all(start <= one.start and one.end <= end for one in edit.splices)


def raises_by_accident(program: Program, edit: Edit, failures: Sequence[Failure]) -> bool:
    """Return whether an edit may only break a statement, where a test waits for an exception.

    That is so where it neither raises nor calls anything that was not there, nor asks for anything.
    """
    if not any(one.says(Sign.NOT_RAISED) for one in failures) or edit.kind in _REORDERING:
        return False
    start, end = edit.splices[0].start, max(one.end for one in edit.splices)
    old = program.text[start:end]
    new = splice(old, [replace(s, start=s.start - start, end=s.end - start) for s in edit.splices])
    if set(_TELLING.findall(new)) - set(_TELLING.findall(old)):
        return False
    around = [
        node
        for node in ast.walk(program.tree)
        if isinstance(node, ast.stmt | ast.expr) and _covers(program.span(node), start, end)
    ]
    statement = max((n for n in around if isinstance(n, ast.stmt)), key=_begin, default=None)
    return isinstance(statement, _PLAIN_STATEMENTS) and not any(
        isinstance(node, _ASKING) for node in around if _begin(node) >= _begin(statement)
    )


def writes_none_out(program: Program, edit: Edit, failures: Sequence[Failure]) -> bool:
    """Return whether an edit may turn a None into the text "None", where a test fails for a None.

    It no longer raises then, and nobody wants to read it.
    """
    if not any(one.says(Sign.NONE) for one in failures):
        return False
    new = edit.applied(program.text)
    return any(new.count(f"{name}(") > program.text.count(f"{name}(") for name in _TEXTS)


def copies_a_text(program: Program, edit: Edit, failures: Sequence[Failure]) -> bool:
    """Return whether an edit writes a text that only a failing test has.

    Such an edit may answer this test and no other. A sign alone (`_`, `v`) is no answer, nor is
    what was there with a slip in it.
    """
    wanted = "\n".join((one.expected.repr or "") for one in failures if one.expected)
    mentioned = mentioned_texts(tuple(failures))
    for part in edit.splices:
        old = [one[2] for one in _QUOTED.finditer(program.text[part.start : part.end])]
        for text in (one[2] for one in _QUOTED.finditer(part.text)):
            is_word = len(text) > 1 and any(sign.isalnum() for sign in text)
            is_new = text not in program.text and all(likeness(one, text) < _SLIP for one in old)
            if is_word and is_new and (text in wanted or text in mentioned):
                return True
    return False


def asks_nothing(program: Program, edit: Edit) -> bool:
    """Return whether an edit makes a condition of what is always true or always false.

    That is a class or a function that is not called, a value that is written out, or something
    compared with itself: a check that is got out of the way, whatever it was about.
    """
    try:
        new = ast.parse(edit.applied(program.text))
    except (SyntaxError, ValueError, RecursionError):
        return False
    return _count_fixed(new) > _count_fixed(program.tree)


def _count_fixed(tree: ast.Module) -> int:
    fixed = _ALWAYS_TRUE | {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return sum(_is_fixed(one, fixed) for one in _conditions(tree))


def _conditions(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield test
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield operand
            case ast.comprehension(ifs=ifs):
                yield from ifs
            case ast.BoolOp(values=[*values, _]):
                yield from values


def _is_fixed(node: ast.expr, always_true: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in always_true
        case ast.Lambda() | ast.Constant():
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts)
        case ast.Compare(left=left, comparators=[right]):
            return ast.dump(left) == ast.dump(right)
        case ast.BoolOp(values=[*_, last]):
            return _is_fixed(last, always_true)
    return False


def _covers(span: tuple[int, int], start: int, end: int) -> bool:
    return span[0] <= start and end <= span[1]


def _begin(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _is_gone(program: Program, edit: Edit, guard: GuardCondition, missed: bool) -> bool:
    start, end = program.span(guard.test)
    if edit.kind in _REORDERING:
        return _is_behind(program, edit, guard)
    if not all(start <= one.start and one.end <= end for one in edit.splices):
        return False
    inner = [replace(one, start=one.start - start, end=one.end - start) for one in edit.splices]
    try:
        new = ast.parse(f"({splice(program.text[start:end], inner)})", mode="eval").body
    except (SyntaxError, ValueError):
        return False
    both = _evaluated(guard.test, new, guard.when)
    if not both:
        return False
    if not any(after for _, after in both):
        return True
    # Inverted, it may have been written the wrong way; but one test is too few to say so.
    in_common = any(before and after for before, after in both)
    return not in_common and guard.refused < 2 and not missed


def _is_behind(program: Program, edit: Edit, guard: GuardCondition) -> bool:
    """Return whether an edit leaves more checks of a function unreachable in their block."""
    function = program.function_of(guard.test)
    if function is None:
        return False
    start, end = program.line_span(function)
    if not all(start <= one.start and one.end <= end for one in edit.splices):
        return False
    inner = [replace(one, start=one.start - start, end=one.end - start) for one in edit.splices]
    old = program.text[start:end]
    return _count_unreachable_checks(splice(old, inner)) > _count_unreachable_checks(old)


@lru_cache(maxsize=64)
def _count_unreachable_checks(text: str) -> int:
    try:
        tree = ast.parse(dedent(text))
    except (SyntaxError, ValueError):
        return 0
    found = 0
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                ends = (n for n, one in enumerate(block) if isinstance(one, _ENDS))
                behind = block[next(ends, len(block)) + 1 :]
                found += sum(isinstance(one, _CHECKS) for part in behind for one in ast.walk(part))
    return found


# -- evaluating conditions -------------------------------------------------------------------------


def _evaluated(old: ast.expr, new: ast.expr, when: bool) -> list[tuple[bool, bool]]:
    """Return whether the old and the new condition refuse, for each of some values."""
    atoms: dict[str, str] = {}
    both = [_compiled(one, atoms) for one in (old, new)]
    values = dict.fromkeys((type(value), value) for value in (*_VALUES, *_constants(old, new)))
    if len(values) ** len(atoms) > _MOST_ROWS:
        return []
    found = []
    for row in product([value for _, value in values], repeat=len(atoms)):
        names = {**_FUNCTIONS, **dict(zip(atoms.values(), row, strict=True))}
        try:
            # Only comparisons of names that have our own values.
            old_holds, new_holds = (bool(eval(code, names)) for code in both)  # noqa: S307
        except (TypeError, ValueError, ArithmeticError):
            continue  # not a value for this condition
        found.append((old_holds is when, new_holds is when))
    return found


def _constants(*tests: ast.expr) -> Iterator[Any]:
    for one in (node for test in tests for node in ast.walk(test)):
        if isinstance(one, ast.Constant) and isinstance(one.value, int | float | str):
            yield one.value
            if not isinstance(one.value, str):
                yield from (one.value - 1, one.value + 1)


class _AtomNames(ast.NodeTransformer):
    """Replaces what is not evaluated (calls, attributes, sums) by names."""

    def __init__(self, atoms: dict[str, str]) -> None:
        self._atoms = atoms

    def visit(self, node: ast.AST) -> ast.AST:
        """Return a node with its parts replaced."""
        if isinstance(node, ast.Call) and _is_known(node):
            node.args = [self.visit(one) for one in node.args]  # type: ignore[misc]
            return node
        if isinstance(node, ast.expr) and (
            not isinstance(node, _PLAIN) or isinstance(node, ast.Name)
        ):
            name = self._atoms.setdefault(ast.dump(node), f"_{len(self._atoms)}")
            return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node)
        return self.generic_visit(node)


def _is_known(node: ast.Call) -> bool:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    return name in _FUNCTIONS and len(node.args) == 1 and not node.keywords


def _compiled(test: ast.expr, atoms: dict[str, str]) -> Any:
    body = _AtomNames(atoms).visit(ast.parse(ast.unparse(test), mode="eval").body)
    return compile(ast.unparse(body), "<condition>", "eval")
