"""Seen: what the values at a failing frame really have, for what is asked of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Value
from runtrue.fixers.search.operators.likeness import by_likeness
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST = 6


@edits("attribute", read=True)
def attribute_seen(site: EditSite, node: ast.Attribute) -> Ways:
    """Another attribute that the object had when a test failed."""
    program = site.program
    parent = site.parent
    value = _value_of(site, node.value)
    if value is None or (isinstance(parent, ast.Call) and node is parent.func):
        return
    owner = program.source(node.value)
    public = [one for one in value.attributes if not one.startswith("_")]
    if node.attr not in public:
        return
    for n, (other, _) in enumerate(by_likeness(node.attr, public)[:_MOST]):
        yield f"{owner}.{other}", 1.5 + 0.3 * n


def key_seen(site: EditSite) -> Iterator[Edit]:
    """Another key that the mapping had when a test failed."""
    program, node = site.program, site.node
    match node:
        case ast.Subscript(value=owner, slice=ast.Constant() as asked):
            pass
        case ast.Call(
            func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant() as asked, *_]
        ):
            pass
        case _:
            return
    value = _value_of(site, owner)
    if value is None:
        return
    for n, (other, _) in enumerate(by_likeness(repr(asked.value), value.keys)[:_MOST]):
        yield program.replace("key", asked, other, unlikely=1.5 + 0.3 * n)


def _value_of(site: EditSite, owner: ast.expr) -> Value | None:
    """Return the value of a variable, or field of `self`, in the innermost frame."""
    function = site.program.function_of(owner)
    if function is None or not isinstance(owner, ast.Name | ast.Attribute):
        return None
    name = site.program.source(owner)
    for failure in site.failures:
        for frame in reversed(failure.frames):
            is_here = frame.file == site.program.file and frame.function == function.name
            if is_here and name in frame.values:
                return frame.values[name]
    return None


SEEN = (attribute_seen, key_seen)
