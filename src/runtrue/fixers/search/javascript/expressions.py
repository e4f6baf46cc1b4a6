"""Edits of expressions that a rule cannot say: they need the names, values and texts around."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.javascript.names import GLOBALS, likeness
from runtrue.fixers.search.javascript.rules import RULES
from runtrue.fixers.search.javascript.site import Site
from runtrue.fixers.search.javascript.syntax_tree import FUNCTIONS, JavascriptProgram

_CONDITIONED = frozenset(
    ("if_statement", "while_statement", "do_statement", "for_statement", "ternary_expression")
)
_WRAPS = ("Math.abs({})", "String({})", "Number({})", "{}.trim()", "{}.toLowerCase()")


def by_rules(site: Site) -> Iterator[Edit]:
    """Try what the rules say."""
    for rule, text, unlikely in RULES.applied(site.program, site.node):
        if rule.kind == "await" and not _may_await(site):
            continue
        yield site.replace(rule.kind, text, unlikely, doubt=rule.doubt)


def arguments(site: Site) -> Iterator[Edit]:
    """Try arguments in another order, one less, or one more."""
    node = site.node
    if node.type not in ("call_expression", "new_expression"):
        return
    given = node.child_by_field_name("arguments")
    if given is None or given.type != "arguments":
        return
    own = given.named_children
    for at in range(len(own) - 1):
        yield site.swap("argument_swap", own[at], own[at + 1], 1.0 + at)
    if len(own) == 3:
        yield site.swap("argument_swap", own[0], own[2], 3.0)
    if len(own) > 1:
        rest = ", ".join(site.program.source(one) for one in own[:-1])
        yield site.replace("arguments", f"({rest})", 5.0, node=given)
    function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    name = site.program.source(function).rpartition(".")[2] if function is not None else ""
    inside = ", ".join(site.program.source(one) for one in own)
    known = next(
        (f for s in (site.scope, *site.others) for f in s.functions if f.name == name), None
    )
    if known is not None and len(known.parameters) > len(own):
        wanted = known.parameters[len(own)]
        names = sorted(site.scope.names_at(node), key=lambda one: -likeness(wanted, one))[:6]
        for other in (*names, "true", "false"):
            both = f"{inside}, {other}" if inside else other
            unlikely = 3.0 - 2.0 * likeness(wanted, other)
            yield site.replace("arguments", f"({both})", unlikely, node=given)
    if len(own) == 1 and node.type == "call_expression":
        yield site.replace("unwrap", site.program.source(own[0]), 4.0)


def conditions(site: Site) -> Iterator[Edit]:
    """Try a condition turned round, and joined with another one."""
    parent = site.node.parent
    if parent is None or not _is_condition(site.node):
        return
    text = site.text
    inner = text[1:-1] if site.node.type == "parenthesized_expression" else text
    new = f"!({inner})"
    outer = "({})" if site.node.type == "parenthesized_expression" else "{}"
    yield site.replace("negation", outer.format(new), 1.5)
    function = site.program.function_of(site.node)
    names = site.scope.names_at(site.node)
    near = site.scope.parameters_of(function) if function is not None else ()
    if len(inner) < 60:
        if re.fullmatch(r"[\w$.]+", inner):
            for tail in (" !== undefined", " != null", ".length > 0", ".length"):
                yield site.replace("falsy", outer.format(f"{inner}{tail}"), 3.0)
        others: dict[str, float] = {}
        for name in dict.fromkeys((*_names_in(site, site.node), *near, *names[:4])):
            others |= {f"{name} != null": 4.0, f"!{name}": 5.0, name: 5.0}
            others |= {f"{name}.length > 0": 7.0, f"typeof {name} === 'object'": 8.0}
            others |= {f"!Array.isArray({name})": 8.0, f"Array.isArray({name})": 8.0}
            others |= {f"{name} > 0": 8.0, f"typeof {name} === 'string'": 9.0}
        for other in _conditions_near(site):
            others[other] = min(others.get(other, 9.0), 4.0)
        left = inner if _is_plain(site.node) else f"({inner})"
        for other, unlikely in others.items():
            if other.strip() != inner.strip():
                right = other if re.fullmatch(r"[^|?:=]*|[^|?:&]*", other) else f"({other})"
                before = " != null" in other or other.startswith(("typeof", "Array"))
                both = f"{right} && {left}" if before else f"{left} && {right}"
                yield site.replace("condition_add", outer.format(both), unlikely)
                yield site.replace("condition_add", outer.format(f"{left} || {right}"), unlikely)


def terms(site: Site) -> Iterator[Edit]:
    """Try a value with a term that is missing, or wrapped in a call."""
    node, parent = site.node, site.node.parent
    if parent is None or not _is_value(node):
        return
    text = site.text
    if len(text) > 60 or "\n" in text:
        return
    names = site.scope.names_at(node)[:6]
    plain = text if _is_plain(node) else f"({text})"
    for name in names:
        if name != text and not any(one.name == name for one in site.scope.functions):
            for sign, unlikely in (("+", 6.0), ("-", 7.0), ("*", 8.0)):
                yield site.replace("term_add", f"{plain} {sign} {name}", unlikely)
    for number in ("1",):
        yield site.replace("term_add", f"{plain} + {number}", 3.0)
        yield site.replace("term_add", f"{plain} - {number}", 3.0)
    for tail in (" || 0", " ?? 0", " || ''", " || []", " || {}", " ?? null", " || null"):
        yield site.replace("default", f"{plain}{tail}", 6.0)
    for wrap in _WRAPS:
        yield site.replace("wrap", wrap.format(text if wrap[0] != "{" else plain), 7.0)
    for info in site.scope.functions:
        if len(info.parameters) == 1 and info.name in site.scope.names_at(node):
            yield site.replace("wrap", f"{info.name}({text})", 6.0)


def parameters(site: Site) -> Iterator[Edit]:
    """Try parameters with a default, with all the rest, or in another order."""
    node, parent = site.node, site.node.parent
    if node.type == "formal_parameters":
        own = node.named_children
        for at in range(len(own) - 1):
            yield site.swap("argument_swap", own[at], own[at + 1], 3.0)
        return
    if node.type != "identifier" or parent is None or parent.type != "formal_parameters":
        return
    around = sorted(site.scope.unread_at(parent) - {site.text})
    for value in (*around, "0", "''", "[]", "{}", "1", "false", "true", "null", "Infinity"):
        yield site.replace("default", f"{site.text} = {value}", 4.0)
    if node.next_named_sibling is None:
        yield site.replace("star", f"...{site.text}", 4.0)


def objects(site: Site) -> Iterator[Edit]:
    """Try the same names as properties, and properties that are missing, of an object."""
    if site.node.type not in ("object", "object_pattern"):
        return
    own = {site.program.source(one).partition(":")[0] for one in site.node.named_children}
    names = [one for one in site.scope.names_at(site.node)[:8] if one not in own]
    inside = site.text[1:-1].strip().rstrip(",")
    if site.node.type == "object" and "\n" not in inside:
        for name in names:
            both = f"{inside}, {name}" if inside else name
            yield site.replace("term_add", f"{{ {both} }}", 6.0)
            yield site.replace("copy", f"{{ ...{name}{', ' if inside else ''}{inside} }}", 6.0)


OPERATORS = (by_rules, arguments, conditions, terms, parameters, objects)


# -- what a node is --------------------------------------------------------------------------------


def _may_await(site: Site) -> bool:
    function = site.program.function_of(site.node)
    if function is None:
        return True
    return any(one.type == "async" for one in function.children)


def _is_condition(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type not in _CONDITIONED:
        return False
    return parent.child_by_field_name("condition") == node


def _is_value(node: Node) -> bool:
    """True for what is returned, assigned or given to a name."""
    parent = node.parent
    if parent is None or not node.is_named:
        return False
    match parent.type:
        case "return_statement":
            return True
        case "variable_declarator":
            return parent.child_by_field_name("value") == node
        case "assignment_expression" | "augmented_assignment_expression":
            return parent.child_by_field_name("right") == node
        case "arrow_function":
            return parent.child_by_field_name("body") == node and node.type != "statement_block"
        case "arguments" | "template_substitution" | "pair":
            return node.type != "property_identifier" and node.type not in FUNCTIONS
    return False


def _is_plain(node: Node) -> bool:
    return node.type in (
        *("identifier", "member_expression", "call_expression", "subscript_expression", "number"),
        *("string", "parenthesized_expression", "array", "template_string", "this"),
    )


def _names_in(site: Site, node: Node) -> list[str]:
    return re.findall(
        r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?!\w|\()", site.program.source(node)
    )[:4]


def _conditions_near(site: Site) -> list[str]:
    """Return the other conditions of the program, which may be what is missing here."""
    names = set(site.scope.names_at(site.node)) | GLOBALS | {"this", "typeof", "null", "true"}
    own = site.text.strip("()")
    every = _conditions_of(site.program)
    return [text for text, words in every if words <= names and text != own][:8]


@lru_cache(maxsize=64)
def _conditions_of(program: JavascriptProgram) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the short conditions of a program, each with the names that it uses."""
    found: dict[str, frozenset[str]] = {}
    for node in program.nodes:
        if _is_condition(node):
            text = program.source(node)
            inner = text[1:-1] if node.type == "parenthesized_expression" else text
            if len(inner) < 80:
                bare = re.sub(r"'[^']*'", "", inner)
                words = re.findall(r"(?<![\w.$'\"])[A-Za-z_$][\w$]*", bare)
                found[inner] = frozenset(words)
    return tuple(found.items())
