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


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param(
            "class A {\n  constructor(a) {\n    this.b = 1;\n  }\n}",
            "class A {\n  constructor(a) {\n    this.b = 1;\n    this.a = a;\n  }\n}",
            id="a parameter of a constructor that is not kept",
        ),
        pytest.param(
            "function f(g) {\n  const known = new Map();\n  return (key) => {\n"
            "    if (known.has(key)) return known.get(key);\n    const value = g(key);\n"
            "    return value;\n  };\n}",
            "function f(g) {\n  const known = new Map();\n  return (key) => {\n"
            "    if (known.has(key)) return known.get(key);\n    const value = g(key);\n"
            "    known.set(key, value);\n    return value;\n  };\n}",
            id="a collection that is never filled",
        ),
        pytest.param(
            "function f(items) {\n  let part = [];\n  for (const item of items) {\n"
            "    part.push(item);\n    if (part.length > 2) {\n      g(part);\n    }\n  }\n}",
            "function f(items) {\n  let part = [];\n  for (const item of items) {\n"
            "    part.push(item);\n    if (part.length > 2) {\n      g(part);\n      part = [];\n"
            "    }\n  }\n}",
            id="a variable that is not set again",
        ),
        pytest.param(
            "function* f(items) {\n  let part = [];\n  for (const item of items) {\n"
            "    yield part;\n  }\n}",
            "function* f(items) {\n  let part = [];\n  for (const item of items) {\n"
            "    yield part;\n  }\n  if (part.length > 0) yield part;\n}",
            id="what is left over behind a loop",
        ),
        pytest.param(
            "function f(map, key, one) {\n  map.get(key).push(one);\n}",
            "function f(map, key, one) {\n  if (!map.has(key)) map.set(key, []);\n"
            "  map.get(key).push(one);\n}",
            id="an entry that is not made",
        ),
        pytest.param(
            "function f(map, key) {\n  map.set(key, []);\n}",
            "function f(map, key) {\n  if (!map.has(key)) map.set(key, []);\n}",
            id="an entry that is made again",
        ),
        pytest.param(
            "class A {\n  #n = 0;\n  add(x) {\n    this.#log(x);\n  }\n}",
            "class A {\n  #n = 0;\n  add(x) {\n    this.#log(x);\n    this.#n += 1;\n  }\n}",
            id="a field that is not counted",
        ),
        pytest.param(
            "class A {\n  constructor() {\n    this.rest = [];\n  }\n  clear() {\n"
            "    this.log();\n  }\n}",
            "class A {\n  constructor() {\n    this.rest = [];\n  }\n  clear() {\n"
            "    this.log();\n    this.rest = [];\n  }\n}",
            id="a field that is not emptied",
        ),
        pytest.param(
            "function f(text) {\n  const part = text.slice(1);\n  return part.split(',');\n}",
            "function f(text) {\n  const part = text.slice(1);\n  if (!part) return [];\n"
            "  return part.split(',');\n}",
            id="an early return by what was just made",
        ),
        pytest.param(
            "function f(rows) {\n  for (const row of rows) {\n    g(row.name);\n  }\n}",
            "function f(rows) {\n  for (const row of rows) {\n    if (!row) continue;\n"
            "    g(row.name);\n  }\n}",
            id="an element that is skipped",
        ),
        pytest.param(
            "async function f(work, { fatal = () => false } = {}) {\n  try {\n"
            "    return await work();\n  } catch (error) {\n    log(error);\n  }\n}",
            "async function f(work, { fatal = () => false } = {}) {\n  try {\n"
            "    return await work();\n  } catch (error) {\n"
            "    if (fatal(error)) throw error;\n    log(error);\n  }\n}",
            id="a question of the options that nobody asks",
        ),
        pytest.param(
            "class A {\n  add(a) {\n    this.check(a);\n    return this.n + a;\n  }\n"
            "  take(b) {\n    return this.n - b;\n  }\n}",
            "class A {\n  add(a) {\n    this.check(a);\n    return this.n + a;\n  }\n"
            "  take(b) {\n    this.check(b);\n    return this.n - b;\n  }\n}",
            id="a check that other methods begin with",
        ),
        pytest.param(
            "x = rows.map((row) => ({ ...row, count: more.count }));",
            "x = rows.map((row) => ({ ...row, count: row.count + more.count }));",
            id="what a property was before a spread",
        ),
        pytest.param(
            "for (const one of list) one();",
            "for (const one of [...list]) one();",
            id="a list that changes while it is read",
        ),
        pytest.param(
            "counts[key] = [];",
            "counts[key] ??= [];",
            id="an entry that is made each time",
        ),
        ("x = items.map((item, at) => g(item));", "x = items.map((item, at) => g(item, at));"),
        ("x = [b, a];", "x = [a, b];"),
        ("x = { a, ...b };", "x = { ...b, a };"),
        ("const x = name.slice(1);", "const x = name.slice(1).toLowerCase();"),
        (
            "function f(a, b) { return a / b; }",
            "function f(a, b) { return (b === 0 ? 0 : a / b); }",
        ),
        ("const [a, b] = c;", "const [a, b = ''] = c;"),
        ("function* f(a) { yield g(a); }", "function* f(a) { yield* g(a); }"),
        ("x = text.split(' ');", "x = text.split(/\\s+/);"),
        ("x = texts.map(parseInt);", "x = texts.map((one) => parseInt(one, 10));"),
        ("x = grid[i][j];", "x = grid[j][i];"),
        ("x = points[i + 1];", "x = points[(i + 1) % points.length];"),
        ("if (a < b) c();", "if (Number(a) < Number(b)) c();"),
        ("changed = next !== old;", "changed ||= next !== old;"),
        ("sums.set(key, n);", "sums.set(key, (sums.get(key) ?? 0) + n);"),
        (
            "if (!list[i + 1].startsWith('-')) f();",
            "if (i + 1 < list.length && !list[i + 1].startsWith('-')) f();",
        ),
        (
            "class A { has(a) { return a !== null; } isOld(a) { return a.b; } }",
            "class A { has(a) { return a !== null && !this.isOld(a); } isOld(a) { return a.b; } }",
        ),
    ],
)
def test_what_is_missing_is_added(wrong: str, right: str) -> None:
    assert right in tried(wrong)
