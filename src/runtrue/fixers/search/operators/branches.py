"""Branches: the parts of conditional expressions and of comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.facts import facts_at
from runtrue.fixers.search.operators.names import candidates
from runtrue.fixers.search.operators.precedence import Code, rewrite
from runtrue.fixers.search.operators.rules import Rule
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


@edits("comprehension")
def comprehended(site: EditSite, node: Comprehension) -> Ways:
    """The parts of a comprehension: its condition dropped, its kind changed, its loops swapped."""
    text = site.source(node)
    start = site.program.span(node)[0]
    for loop in node.generators:
        for condition in loop.ifs:
            from_, to = site.program.span(condition)
            head = text[: from_ - start].rstrip().rstrip("(").rstrip()
            tail = text[to - start :].lstrip()
            if not head.endswith("if"):
                continue
            head = head[:-2].rstrip()
            if not tail.startswith(")"):
                whole = head + text[to - start :]
                if not text.startswith("("):
                    yield Code(whole), 1.5
                elif text.endswith(")"):
                    yield whole, 1.5
            elif node.generators[-1] is loop and tail == ")" and text[0] == "(":
                yield f"{head})", 1.5
    yield from _filtered(site, node)
    if isinstance(node, ast.ListComp):
        yield f"{{{text[1:-1]}}}", 3
    elif isinstance(node, ast.SetComp):
        yield f"[{text[1:-1]}]", 2
    if not isinstance(node, ast.DictComp):
        yield from _elements(site, node)


def _filtered(site: EditSite, node: Comprehension) -> Iterator[Edit]:
    """Leave out what may be None: `x.y.z for x in xs` → `x.y.z for x in xs if x.y`."""
    program = site.program
    loop = node.generators[-1]
    if loop.ifs or not isinstance(loop.target, ast.Name):
        return
    given = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    used = [one for part in given for one in ast.walk(part)]
    holders = {
        program.source(one.value)
        for one in used
        if isinstance(one, ast.Attribute | ast.Subscript) and _root_name(one) == loop.target.id
    }
    end = program.span(loop.iter)[1]
    # What stands in brackets ends behind them.
    while program.text[end : end + 1] == ")" and end + 1 < program.span(node)[1]:
        end += 1
    for holder in sorted(holders | {loop.target.id}, key=lambda text: (-len(text), text)):
        for test in (holder, f"{holder} is not None"):
            says = f"only where `{test}`"
            made = Splice(end, end, f" if {test}")
            yield program.edit("comprehension", node, says, made, unlikely=2)


def _root_name(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _elements(
    site: EditSite, node: ast.ListComp | ast.SetComp | ast.GeneratorExp
) -> Iterator[Edit]:
    """Give the loop's variable itself, or what is looked up by it."""
    program = site.program
    loop = node.generators[0]
    if not isinstance(loop.target, ast.Name):
        return
    name = loop.target.id
    if not (isinstance(node.elt, ast.Name) and node.elt.id == name):
        yield rewrite(program, "comprehension", node.elt, Code(name), unlikely=2)
        return
    for other, _ in candidates(site, node.elt)[:4]:
        if facts_at(program, node).type_of_name(other) not in ("int", "bool", "float"):
            one = Code(f"{other}[{name}]")
            yield rewrite(program, "comprehension", node.elt, one, unlikely=2.5)


BRANCHES = (
    # Swapped, or one taken.
    Rule("branch", "{a} if {test} else {b}", {"{b} if {test} else {a}": 1, "{a}": 2, "{b}": 2}),
    comprehended,
)
