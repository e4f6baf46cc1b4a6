"""Edits that add a part that is not there: an argument, a call in a chain, a term, a question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.javascript.site import Site
from runtrue.fixers.search.javascript.statement_additions import WORD, function_names, names_of
from runtrue.fixers.search.javascript.syntax_tree import FUNCTIONS, JavascriptProgram, walk

#: Calls that are left out of a chain, by how unlikely.
_TAILS = {
    **dict.fromkeys((".trim()", ".toLowerCase()", ".slice()", ".trimEnd()"), 4.0),
    **dict.fromkeys((".sort()", ".reverse()", ".join('')", ".filter(Boolean)"), 5.0),
    **dict.fromkeys((".toUpperCase()", ".sort((a, b) => a - b)", ".length", ".flat()"), 6.0),
}
_SHORT, _MOST_NEAR = 28, 8
#: Signs between parts of a text.
_SEPARATORS = "?#;,:=@/|"


def call_arguments(site: Site) -> Iterator[Edit]:
    """Give a call one argument more, spread one, or put one in a list."""
    node = site.node
    if node.type not in ("call_expression", "new_expression"):
        return
    given = node.child_by_field_name("arguments")
    if given is None or given.type != "arguments":
        return
    own = [site.program.source(one) for one in given.named_children]
    if any(len(one) > 60 for one in own) or len(own) > 4:
        return
    for at, one in enumerate(given.named_children):
        if one.type == "identifier":
            rest = own[:at], own[at + 1 :]
            for new, unlikely in ((f"...{own[at]}", 2.5), (f"[{own[at]}]", 5.0)):
                text = f"({', '.join((*rest[0], new, *rest[1]))})"
                yield site.replace("spread", text, unlikely, node=given)
    function = site.program.function_of(node)
    inner = site.scope.parameters_of(function) if function is not None else ()
    if any(one.startswith("...") for one in own):
        for name in inner:
            if name not in " ".join(own):
                yield site.replace("arguments", f"({', '.join((name, *own))})", 1.0, node=given)
    around = [one for one in site.program.around(node) if one.type in FUNCTIONS][1:2]
    outer = site.scope.parameters_of(around[0]) if around else ()
    text = site.program.source(function) if function is not None else ""
    for name in dict.fromkeys((*inner, *outer, *site.scope.names_at(node)[:6])):
        if name in own or name in function_names(site.scope):
            continue
        unread = len(re.findall(rf"(?<![\w$.]){re.escape(name)}(?![\w$])", text)) <= 1
        unlikely = 0.8 if unread and name in inner else 2.0 if name in (*inner, *outer) else 4.0
        yield site.replace("arguments", f"({', '.join((*own, name))})", unlikely, node=given)
    for name in WORD.findall(site.text):
        if name in inner and len(own) == 1 and node.type == "call_expression":
            called = site.program.source(node.children[0])
            if re.fullmatch(r"[\w$]+", called):
                yield site.replace("self", f"{called}.apply(this, {own[0]})", 4.0)
                yield site.replace("self", f"{called}.call(this, {own[0]})", 4.0)
            break


def elements(site: Site) -> Iterator[Edit]:
    """Swap neighbours of a list or an object; begin a copy with all of another."""
    node = site.node
    if node.type not in ("array", "object", "array_pattern"):
        return
    own = node.named_children
    if not 2 <= len(own) <= 6:
        return
    for one, other in pairwise(own):
        spread = "spread_element" in (one.type, other.type)
        if node.type != "object" or spread:
            yield site.swap("argument_swap", one, other, 1.5)


def tails(site: Site) -> Iterator[Edit]:
    """Add a call to the end of a value, or in the middle of a chain."""
    node, parent = site.node, site.node.parent
    if parent is None or len(site.text) > 60 or "\n" in site.text:
        return
    if node.type not in ("call_expression", "identifier", "member_expression", "array"):
        return
    is_inner = parent.type == "member_expression" and parent.child_by_field_name("object") == node
    is_value = parent.type in ("return_statement", "variable_declarator", "arguments") or (
        parent.type in ("assignment_expression", "binary_expression", "arrow_function", "pair")
    )
    if not is_inner and not (is_value and node.prev_sibling is not None):
        return
    # What the failing tests' texts have in them may be what is to be cut off.
    signs = sorted({sign for one in site.clues.strings for sign in one} & set(_SEPARATORS))
    cuts = {f".split('{sign}')[0]": 5.0 for sign in signs}
    for tail, unlikely in {**_TAILS, **cuts}.items():
        if not site.text.endswith(tail) and not (is_inner and tail == ".length"):
            yield site.replace("tail", f"{site.text}{tail}", unlikely)


def near_terms(site: Site) -> Iterator[Edit]:
    """Join a value with what the function computes nearby, or with a constant."""
    node, parent = site.node, site.node.parent
    if parent is None or parent.type not in (
        *("return_statement", "variable_declarator", "assignment_expression", "arguments"),
        *("augmented_assignment_expression", "binary_expression", "pair", "arrow_function"),
    ):
        return
    text = site.text
    if node.type not in (
        *("identifier", "number", "call_expression", "member_expression", "binary_expression"),
        *("subscript_expression", "parenthesized_expression"),
    ):
        return
    if len(text) > 40 or "\n" in text or node.prev_sibling is None:
        return
    plain = f"({text})" if node.type == "binary_expression" else text
    for other, unlikely in _near(site).items():
        if re.search(rf"(?<![\w$.]){re.escape(other)}(?![\w$.])", text) or text in other:
            continue
        yield site.replace("near", f"{other} + {plain}", unlikely)
        yield site.replace("near", f"{plain} - {other}", 1.5 * unlikely)
        yield site.replace("near", f"{plain} * {other}", 1.5 * unlikely)
        yield site.replace("near", f"Math.min({text}, {other})", 2 * unlikely)
        yield site.replace("near", f"Math.max({text}, {other})", 2 * unlikely)
    for low in ("0", "1"):
        yield site.replace("near", f"Math.max({low}, {text})", 4.0)
        yield site.replace("near", f"{low} + {plain}", 4.0)
    for factor in ("/ 1000", "* 1000", "/ 100", "* 100", "/ 2", "* 2", "* 60", "/ 60", "% 2"):
        yield site.replace("near", f"{plain} {factor}", 6.0)
    yield site.replace("near", f"Math.floor({text})", 4.0)
    yield site.replace("near", f"Math.round({text})", 5.0)
    if node.type == "binary_expression" and " / " in text:
        below = text.rpartition(" / ")[2]
        for nothing in ("0", "null"):
            yield site.replace("near", f"({below} === 0 ? {nothing} : {text})", 1.5)


def predicates(site: Site) -> Iterator[Edit]:
    """Join a condition, or a truth that is returned, with a question that the program can ask."""
    node, parent = site.node, site.node.parent
    if parent is None or node.type not in ("binary_expression", "call_expression", "identifier"):
        return
    if parent.type not in (
        *("parenthesized_expression", "return_statement", "arrow_function", "ternary_expression"),
        *("while_statement", "for_statement", "if_statement", "binary_expression"),
    ):
        return
    text = site.text
    if len(text) > 70 or "\n" in text or node.prev_sibling is None:
        return
    if parent.type != "parenthesized_expression" and not re.search(r"[=<>]|\b(?:is|has)", text):
        return
    names = names_of(site)
    own = [one for one in dict.fromkeys(WORD.findall(text)) if one in names]
    asked: dict[str, float] = {}
    for info in site.scope.functions:
        if len(info.parameters) != 1 or not re.match(r"(?:is|has|can|should)[A-Z_]", info.name):
            continue
        is_method = info.node.type == "method_definition"
        call = f"this.{info.name}" if is_method else info.name
        asked |= dict.fromkeys((f"!{call}({one})" for one in own[:2]), 2.0)
        asked |= dict.fromkeys((f"{call}({one})" for one in own[:2]), 2.0)
    for one in own[:2]:
        asked |= dict.fromkeys((f"Number.isFinite({one})", f"!Array.isArray({one})"), 5.0)
        asked |= dict.fromkeys((f"!Number.isInteger({one})", f"Number.isNaN({one})"), 4.0)
        asked |= dict.fromkeys((f"{one} === null", f"{one} === undefined"), 5.0)
    for one in [*names][:8]:
        asked |= dict.fromkeys((f"{one}.size > 0", f"{one}.length > 0"), 7.0)
    for other, unlikely in asked.items():
        if other not in text:
            yield site.replace("predicate", f"{text} && {other}", unlikely)
            yield site.replace("predicate", f"{other} || {text}", 1.3 * unlikely)


def defaults(site: Site) -> Iterator[Edit]:
    """Give a name that a pattern binds a default."""
    node, parent = site.node, site.node.parent
    if parent is None or parent.type not in ("array_pattern", "object_pattern"):
        return
    if node.type in ("identifier", "shorthand_property_identifier_pattern"):
        for value in ("''", "0", "[]", "{}", "1", "false", "true", "null"):
            yield site.replace("default", f"{site.text} = {value}", 3.0)


def steps(site: Site) -> Iterator[Edit]:
    """Take a step of another size; use a name for a fixed index."""
    node, parent = site.node, site.node.parent
    names = site.scope.names_at(node)
    if node.type == "yield_expression" and not site.text.startswith("yield*"):
        yield site.replace("iterate", site.text.replace("yield", "yield*", 1), 1.5)
    elif node.type == "update_expression":
        sign = "+=" if "++" in site.text else "-="
        what = site.text.strip("+-")
        for name in names[:8]:
            if name != what and name not in function_names(site.scope):
                yield site.replace("augmented", f"{what} {sign} {name}", 3.0)
    elif node.type == "number" and parent is not None and parent.type == "subscript_expression":
        for name in names[:5]:
            if name not in function_names(site.scope) and len(name) <= 6:
                yield site.replace("variable", name, 3.0)


OPERATORS = (call_arguments, elements, tails, near_terms, predicates, defaults, steps)


def _near(site: Site) -> dict[str, float]:
    """Return short expressions of the function, its names and the file's constants.

    In `{ ...all, part: value }` the part that there was is likelier than any of them.
    """
    function = site.program.function_of(site.node)
    if function is None:
        return {}
    near = dict.fromkeys(_near_of(site.program, function), 4.0)
    pair = site.node.parent
    if pair is not None and pair.type == "pair" and pair.parent is not None:
        key = site.program.source(pair.named_children[0])
        for one in pair.parent.named_children:
            if one.type == "spread_element" and re.fullmatch(r"[\w$]+", key):
                near[f"{site.program.source(one.named_children[0])}.{key}"] = 1.0
    method = function.child_by_field_name("name")
    is_heir = "extends" in site.program.text and function.type == "method_definition"
    if is_heir and method is not None:
        near[f"super.{site.program.source(method)}()"] = 3.0
    for name in site.scope.names_at(site.node):
        if re.fullmatch(r"[A-Z][A-Z0-9_]+", name):
            near[name] = 3.0
    return near


@lru_cache(maxsize=256)
def _near_of(program: JavascriptProgram, function: Node) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for one in walk(function):
        if one.type in ("call_expression", "member_expression", "subscript_expression"):
            text = program.source(one)
            is_called = one.parent is not None and one.parent.type == "call_expression"
            if len(text) <= _SHORT and not is_called and "=>" not in text and "\n" not in text:
                found.setdefault(text)
    return tuple(found)[:_MOST_NEAR]
