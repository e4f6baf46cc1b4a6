"""What is tried in the place of a piece of JavaScript."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.javascript.damage import repairs
from runtrue.fixers.search.javascript.proposals import JavascriptProposals
from runtrue.fixers.search.javascript.site import Clues
from runtrue.fixers.search.javascript.syntax_tree import parses
from runtrue.fixers.search.javascript.weights import Weights
from runtrue.fixers.search.localise import Suspicion


def tried(text: str, file: str = "program.js") -> dict[str, Edit]:
    """Return the texts that the edits of a program make, with the edits."""
    lines = {file: dict.fromkeys(range(1, text.count("\n") + 2), 1.0)}
    proposals = JavascriptProposals({file: text}, Suspicion(lines=lines), Clues(), Weights())
    edits = [one.edits[0] for one in proposals.singles()]
    return {edit.applied(text): edit for edit in reversed(edits)}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("if (a < b) c();", "if (a <= b) c();"),
        ("if (a == b) c();", "if (a === b) c();"),
        ("x = a || b;", "x = a ?? b;"),
        ("x = a && b;", "x = a || b;"),
        ("if (!a) b();", "if (a) b();"),
        ("x = list.length;", "x = list.length - 1;"),
        ("x = list.sort();", "x = list.sort((a, b) => a - b);"),
        ("x = list.splice(1, 2);", "x = list.slice(1, 2);"),
        ("x = parseInt(a);", "x = parseInt(a, 10);"),
        ("x = typeof a === 'object';", "x = typeof a === 'object' && a !== null;"),
        ("x = date.getMonth();", "x = date.getMonth() + 1;"),
        ("x = a.b.c;", "x = a.b?.c;"),
        ("for (const a in b) c(a);", "for (const a of b) c(a);"),
        ("async function f() { g(); }", "async function f() { await g(); }"),
        ("function f(a) { g(a); }", "function f(a) { return g(a); }"),
        ("function f(a, b) { return g(a, b); }", "function f(a, b) { return g(b, a); }"),
        ("x = /ab/.test(y);", "x = /ab/g.test(y);"),
        ("x = /^a|b$/.test(y);", "x = /^(?:a|b)$/.test(y);"),
        ("x = a ? b : c;", "x = a ? c : b;"),
        ("x = Math.max(list);", "x = Math.max(...list);"),
        ("const x = y;", "const x = [...y];"),
        ("x = Object.assign(a, b);", "x = Object.assign({}, a, b);"),
        ("x = c - a * b;", "x = c - (a + b);"),
        ("x = 'ü'; if (a < b) c();", "x = 'ü'; if (a <= b) c();"),
        (
            "class A { b() { return c; } constructor() { this.c = 1; } }",
            "class A { b() { return this.c; } constructor() { this.c = 1; } }",
        ),
        (
            "for (const key in from) { to[key] = from[key]; }",
            "for (const key in from) { if (!Object.prototype.hasOwnProperty.call(from, key)) "
            "continue; to[key] = from[key]; }",
        ),
    ],
)
def test_an_everyday_mistake_has_its_correction_among_what_is_tried(wrong: str, right: str) -> None:
    assert right in tried(wrong)


def test_nothing_is_awaited_outside_of_async_functions() -> None:
    assert not [text for text in tried("function f() { return g(); }") if "await" in text]


def test_types_are_read_and_kept() -> None:
    program = "export const f = (a: number): boolean => a < 3;"
    assert "export const f = (a: number): boolean => a <= 3;" in tried(program, "program.ts")


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("f(a, b;\n", "f(a, b);\n"),
        ("const a = [1, 2;\n", "const a = [1, 2];\n"),
        ("const a = 'b;\nc();\n", "const a = 'b';\nc();\n"),
        ("fucntion f() {}\n", "function f() {}\n"),
    ],
)
def test_damage_is_repaired_near_the_first_error(broken: str, whole: str) -> None:
    assert not parses("program.js", broken)
    found = [one.applied(broken) for one in repairs("program.js", broken, limit=200, seconds=20)]
    assert whole in found
    assert all(parses("program.js", one) for one in found)
