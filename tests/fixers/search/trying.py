"""What the operators of statements propose for a program, as texts."""

from __future__ import annotations

import ast
from textwrap import dedent

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Failure, Frame, Value
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.operators.statements import KINDS, STATEMENTS
from runtrue.fixers.search.program import Program

FILE = "shop.py"
_NODES = (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.excepthandler)


def proposed(
    source: str, *failures: Failure, file: str = FILE, others: dict[str, str] | None = None
) -> dict[str, Edit]:
    """The texts that edits of a program give, with the first edit that gives each."""
    program = Program(file, dedent(source))
    beside = tuple(Program(name, text) for name, text in (others or {}).items())
    found: dict[str, Edit] = {}
    for node in ast.walk(program.tree):
        if not isinstance(node, _NODES):
            continue
        for operator in STATEMENTS:
            site = EditSite(program=program, node=node, failures=failures, others=beside)
            for edit in operator(site):
                assert edit.kind in KINDS
                found.setdefault(edit.applied(program.text), edit)
    return found


def offers(kind: str, source: str, wanted: str, *failures: Failure) -> Edit:
    """The edit of a kind that makes one text of another."""
    found = proposed(source, *failures)
    edit = found.get(dedent(wanted))
    assert edit is not None, "not proposed; of that kind:\n\n" + "\n---\n".join(
        text for text, one in found.items() if one.kind == kind
    )
    assert edit.kind == kind, edit
    return edit


def failed(
    exception: str,
    message: str,
    line: int,
    *,
    missing_from: Value | None = None,
    key: str | None = None,
    attribute: str | None = None,
    expected: Value | None = None,
    actual: Value | None = None,
    **values: Value,
) -> Failure:
    """A test that failed with an exception on a line of the program."""
    return Failure(
        test="test_it",
        exception=exception,
        message=message,
        frames=(Frame(file=FILE, line=line, function="f", values=values),),
        missing_from=missing_from,
        key=key,
        attribute=attribute,
        expected=expected,
        actual=actual,
    )
