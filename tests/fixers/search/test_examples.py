"""Each kind of edit has an example in the docs, and the example is really proposed."""

from __future__ import annotations

import ast

import pytest

from runtrue.fixers.search.operators import KINDS, OPERATORS, EditSite
from runtrue.fixers.search.program import Program
from tests.fixers.search.examples import EXAMPLES, FILE

_SITES = (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.excepthandler)


def test_each_kind_of_edit_has_an_example() -> None:
    assert set(KINDS) == set(EXAMPLES), "add the example to tests/fixers/search/examples.py"


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_example_of_a_kind_is_proposed(kind: str) -> None:
    before, after, *failures = EXAMPLES[kind]
    program = Program(FILE, f"{before}\n")
    made = {
        edit.applied(program.text)
        for node in ast.walk(program.tree)
        if isinstance(node, _SITES)
        for operator in OPERATORS
        for edit in operator(EditSite(program=program, node=node, failures=tuple(failures)))
        if edit.kind == kind
    }
    assert f"{after}\n" in made, made
