"""Edits of names: another variable, property or method in the place of one."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.javascript.rules import FAMILIES
from runtrue.fixers.search.javascript.site import Site
from runtrue.fixers.search.javascript.syntax_tree import FUNCTIONS

_REFERENCES = frozenset(("identifier", "shorthand_property_identifier"))
#: Other names of the scope, and properties, that are tried in the place of one.
_MOST_NAMES, _MOST_PROPERTIES = 14, 10
#: What every program can use.
GLOBALS = frozenset(
    (
        *("Math", "Object", "Array", "String", "Number", "Boolean", "JSON", "Date", "Promise"),
        *("Map", "Set", "WeakMap", "Symbol", "RegExp", "Error", "TypeError", "RangeError"),
        *("undefined", "NaN", "Infinity", "parseInt", "parseFloat", "isNaN", "isFinite", "BigInt"),
        *("console", "require", "module", "exports", "process", "Buffer", "globalThis", "Proxy"),
        *("setTimeout", "clearTimeout", "setImmediate", "arguments", "structuredClone", "Reflect"),
    )
)


def family_names(site: Site) -> Iterator[Edit]:
    """Try a method, or a function, that is taken for this one."""
    if site.node.type not in ("property_identifier", "identifier"):
        return
    name = site.text
    for family in FAMILIES:
        if name in family:
            for other in family:
                if other != name:
                    yield site.replace("attribute", other, 1.5)


def variables(site: Site) -> Iterator[Edit]:
    """Try another name of the scope; the likest first."""
    node, name = site.node, site.text
    if node.type not in _REFERENCES or _is_declared(node):
        return
    shorthand = f"{name}: " if node.type == "shorthand_property_identifier" else ""
    is_called = _is_called(node)
    functions = {one.name for one in site.scope.functions}
    near = [one for one in site.scope.names_at(node) if one != name]
    is_known = name in site.scope.names_at(node) or name in GLOBALS
    same_kind = [one for one in near if (one in functions) == is_called]
    ranked = sorted(same_kind, key=lambda one: -likeness(name, one))[:_MOST_NAMES]
    for other in ranked:
        unlikely = 4.0 - 2.5 * likeness(name, other)
        unlikely = unlikely if is_known else unlikely / 10
        yield site.replace("variable", f"{shorthand}{other}", unlikely)
    if not is_known or not is_called:
        for member in sorted(site.scope.members, key=lambda one: -likeness(name, one)):
            if member == name:
                yield site.replace("self", f"{shorthand}this.{name}", 0.5 if not is_known else 3.0)


def properties(site: Site) -> Iterator[Edit]:
    """Try another property: those used of the same thing, then those that are spelt alike."""
    node = site.node
    if node.type != "property_identifier" or node.parent is None:
        return
    name = site.text
    parent = node.parent
    own: Counter[str] = Counter()
    if parent.type == "member_expression":
        holder = parent.child_by_field_name("object")
        if holder is not None:
            own = Counter(site.scope.properties.get(site.program.source(holder), {}))
            if holder.type == "this":
                own.update(site.scope.members)
        if holder is not None and holder.type == "this" and name in site.scope.names_at(node):
            yield site.replace("self", name, 4.0, node=parent)
    elif parent.type not in ("pair", "method_definition"):
        return
    every: Counter[str] = Counter(site.scope.properties.get("", {}))
    for scope in site.others:
        every.update(scope.properties.get("", {}))
    every.update(dict.fromkeys(site.clues.words, 1))
    alike = [one for one in every if one != name and likeness(name, one) > 0.6]
    ranked = sorted(own, key=lambda one: -likeness(name, one))[:_MOST_PROPERTIES]
    is_rare = every[name] <= 1
    for other in dict.fromkeys((*sorted(alike, key=lambda one: -likeness(name, one))[:5], *ranked)):
        if other != name:
            unlikely = 4.0 - 3.0 * likeness(name, other)
            yield site.replace("attribute", other, unlikely / 2 if is_rare else unlikely)


def _is_declared(node: Node) -> bool:
    """True for a name where it is declared, not used."""
    parent = node.parent
    if parent is None:
        return True
    if parent.type in ("variable_declarator", "function_declaration", "class_declaration"):
        return parent.child_by_field_name("name") == node
    if parent.type in FUNCTIONS:
        return parent.child_by_field_name("body") != node
    return parent.type in ("formal_parameters", "import_specifier", "rest_pattern", "import_clause")


def _is_called(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type not in ("call_expression", "new_expression"):
        return False
    return node in (
        parent.child_by_field_name("function"),
        parent.child_by_field_name("constructor"),
    )


@lru_cache(maxsize=65_536)
def likeness(one: str, other: str) -> float:
    """Return how alike two names are, from 0 to 1."""
    if not one or not other:
        return 0.0
    ratio = difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()
    return float(ratio**1.5)


OPERATORS = (family_names, variables, properties)
