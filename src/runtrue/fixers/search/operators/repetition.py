"""Repeated: the same mistake made wherever the same thing is written, fixed at once."""

from __future__ import annotations

import ast
from itertools import pairwise
from weakref import WeakKeyDictionary

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.facts import ScopeFacts, facts_at, undefined
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import Code, code, fitted, level_of
from runtrue.fixers.search.operators.rules import fill
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

# Mistakes that come from what is thought of a thing, so that they are made each time it is used.
_KINDS = (
    *("index", "slice", "attribute", "undefined", "sibling", "off_by_one", "unwrap", "term_drop"),
    *("subscript", "wrap", "instead", "index_swap", "arithmetic"),
)
_MOST_UNLIKELY = 2.5
_FEWEST, _MOST = 2, 12


def repeated(site: EditSite, edit: Edit) -> Edit | None:
    """An edit of one expression, made at each place in the function that is written the same."""
    program, node = site.program, site.node
    if edit.kind not in _KINDS or len(edit.splices) != 1 or not isinstance(node, ast.expr):
        return None
    if edit.unlikely > _MOST_UNLIKELY and edit.kind != "undefined":
        return None
    one = edit.splices[0]
    if (one.start, one.end) != program.span(node):
        return None
    places = _places(site, node, anywhere=edit.kind == "undefined")
    if not _FEWEST <= len(places) <= _MOST:
        return None
    try:
        tree = ast.parse(one.text.strip(), mode="eval").body
    except SyntaxError:
        return None
    again = Code(one.text.strip(), 0 if isinstance(tree, ast.Tuple) else level_of(tree))
    splices = [Splice(*program.span(other), fitted(program, other, again)) for other in places]
    if _nested(splices):
        return None
    says = f"{edit.says}, at {len(splices)} places"
    # A name that is nowhere is missed wherever it is written; other mistakes are made less often.
    further = 0 if edit.kind == "undefined" else len(splices) - 2
    rare = edit.unlikely + 0.5 + 0.25 * further
    return program.edit(edit.kind, node, says, *splices, unlikely=rare, doubt=edit.doubt)


_known: WeakKeyDictionary[ScopeFacts, dict[tuple[str, ...], list[ast.expr]]] = WeakKeyDictionary()


def _places(site: EditSite, node: ast.expr, *, anywhere: bool) -> list[ast.expr]:
    """The expressions that are written as a node is, and used as it is; found once a function."""
    program = site.program
    if anywhere and isinstance(node, ast.Name):  # what is nowhere is missed in all functions
        names = (one for one in walk(program.tree, ast.Name))
        return [one for one in names if one.id == node.id and undefined(program, one)]
    facts = facts_at(program, node)
    if (groups := _known.get(facts)) is None:
        groups = _known[facts] = {}
        for one in facts.nodes:
            if isinstance(one, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp):
                groups.setdefault(_key(program, one), []).append(one)
    return groups.get(_key(program, node), [])


def _key(program: Program, node: ast.expr) -> tuple[str, ...]:
    """Return what has to be the same: the text, and what it is an index or function of."""
    parent = program.parents.get(node)
    role = type(getattr(node, "ctx", None)).__name__
    match parent:
        case ast.Subscript(value=value) if node is parent.slice:
            role += program.source(value)
        case ast.Call(func=ast.Name(), args=[first, *_]) if node is parent.func:
            role += program.source(first)
        case ast.JoinedStr() | ast.FormattedValue():
            role += "text"
    return type(node).__name__, role, program.source(node)


def _nested(splices: list[Splice]) -> bool:
    ordered = sorted(splices)
    return any(b.start < a.end for a, b in pairwise(ordered))


@edits("off_by_one")
def shift_indexes(
    site: EditSite, node: ast.Compare | ast.BinOp | ast.Assign | ast.Return | ast.Call
) -> Ways:
    """All places that a statement's line looks at, moved by one: `a[i] == b[j]`, each from 1."""
    program = site.program
    found: dict[str, list[ast.expr]] = {}
    for one in ast.walk(node):
        match one:
            case ast.Subscript(slice=ast.Name(id=name) as place):
                found.setdefault(name, []).append(place)
    places = [place for group in found.values() for place in group]
    if not 1 < len(places) <= 4:
        return
    for sign in ("-", "+"):
        splices = [
            Splice(*program.span(place), fill(f"{{a}} {sign} 1", a=code(program, place)).text)
            for place in places
        ]
        names = ", ".join(f"`{name}`" for name in found)
        says = f"{names} → one {'less' if sign == '-' else 'more'}, at {len(places)} places"
        yield program.edit("off_by_one", node, says, *splices, unlikely=2.0)


REPEATED = (shift_indexes,)
