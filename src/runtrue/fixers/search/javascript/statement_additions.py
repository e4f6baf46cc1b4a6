"""Edits that add a statement that is not there, or the condition of one.

What is added comes from the code around: parameters and locals that nobody reads, collections that
are never filled, statements of a loop that are needed once more behind it, methods never called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.javascript.scope import Scope
from runtrue.fixers.search.javascript.site import Site
from runtrue.fixers.search.javascript.syntax_tree import (
    BLOCKS,
    FUNCTIONS,
    JavascriptProgram,
    is_statement,
    walk,
)

_LOOPS = frozenset(("for_statement", "for_in_statement", "while_statement", "do_statement"))
_ENDS = frozenset(("return_statement", "throw_statement", "break_statement", "continue_statement"))
WORD = re.compile(r"(?<![\w.$'\"])[A-Za-z_$][\w$]*")
#: What fills a collection, by how it is made, and what empties it.
_FILLS = {
    "Map": ("{0}.set({1}, {2});", "{0}.delete({1});"),
    "Set": ("{0}.add({1});", "{0}.delete({1});"),
    "[": ("{0}.push({1});",),
}
_NEGATED = {"true": "false", "false": "true"}
#: The longest value that a variable is set to again.
_SHORT = 28
#: What a function returns where there is nothing to work on.
_NOTHING = ("", "null", "[]", "''", "0", "false")


def unused(site: Site) -> Iterator[Edit]:
    """Use what a function is given, or has made, and nobody reads."""
    node = site.node
    if node.type != "statement_block" or node.parent is None or node.parent.type not in FUNCTIONS:
        return
    function = node.parent
    used = _words_in(site.program, node)
    last = _last(node)
    if last is None:
        return
    name = function.child_by_field_name("name")
    is_constructor = name is not None and site.program.source(name) == "constructor"
    for one in site.scope.parameters_of(function):
        if used[one] > (1 if is_constructor else 0):
            continue
        if is_constructor:
            yield _behind(site, last, f"this.{one} = {one};", 0.5)
    for one in _locals(site, node):
        if used[one] > 1 and not _is_only_assigned(site, node, one):
            continue
        is_async = any(part.type == "async" for part in function.children)
        for text in (
            *((f"await Promise.all({one});", f"await {one};") if is_async else ()),
            *(f"return {one};", f"throw {one};", f"{one}();"),
        ):
            yield from _around(site, last, text, 1.0)


def exits(site: Site) -> Iterator[Edit]:
    """Leave a function, or go on with a loop, early, by what was just bound."""
    node = site.node
    block = node.parent
    if node.type in ("for_in_statement", "catch_clause"):
        block = node.child_by_field_name("body")
    elif node.type != "lexical_declaration" or block is None or block.type != "statement_block":
        return
    function = site.program.function_of(node)
    if block is None or block.type != "statement_block" or not block.named_children:
        return
    is_loop = node.type == "for_in_statement" or _is_of_loop(block)
    if node.type == "lexical_declaration":
        names = site.scope.declared_in_statement(node)
    else:
        bound = node.child_by_field_name("left") or node.child_by_field_name("parameter")
        names = site.scope.bound_by(bound)
    ends = ["continue;"] if is_loop else []
    if function is not None and node.type != "catch_clause" and len(names) == 1:
        results = dict.fromkeys((*results_of(site, function), *_locals(site, block), *_NOTHING))
        results.pop(names[0], None)
        ends += [f"return {one};" if one else "return;" for one in [*results][:8]]
    tests: dict[str, float] = {}
    for name in names[:3]:
        own = {f"!{name}": 2.0, f"{name} === undefined": 4.0, f"{name} === null": 4.0}
        if f"{name}." in site.program.source(block):
            own[f"{name}.length === 0"] = 3.0
        if f"{name}." not in site.program.source(block):
            own |= {f"{name} < 0": 4.0, f"{name} === 0": 5.0, name: 5.0}
        tests |= own
    if is_loop:
        for other in _loop_names(site, block):
            tests |= {f"{name} === {other}": 3.0 for name in names[:1] if name != other}
    place = node if node.type == "lexical_declaration" else None
    first = block.named_children[0]
    end = f"throw {names[0]};" if node.type == "catch_clause" and names else "".join(ends[:1])
    for asked in sorted(site.scope.unread_at(block) - {*names}) if names and end else ():
        yield _put(site, place, first, f"if (!{asked}({names[0]})) {end}", 4.0)
        yield _put(site, place, first, f"if ({asked}({names[0]})) {end}", 6.0)
    for test, unlikely in tests.items():
        for at, end in enumerate(ends):
            yield _put(site, place, first, f"if ({test}) {end}", unlikely * (1 + 0.2 * at))


def assignments(site: Site) -> Iterator[Edit]:
    """Set a variable again: to what it began with, the other truth value, or a local."""
    node = site.node
    if node.type not in BLOCKS or node.type == "program" or not node.named_children:
        return
    last = _last(node)
    if last is None:
        return
    inside = set(_locals(site, node))
    for name, value in _variables(site, node):
        if name in inside:
            continue
        of_loops = [*_loop_names(site, node)]
        values = dict.fromkeys((_NEGATED.get(value, value), *inside, *of_loops))
        values |= dict.fromkeys(f"{name}[{one}]" for one in of_loops[:2])
        for other in values:
            if other and other != name:
                rare = 1.5 if other == _NEGATED.get(value, value) else 3.0
                yield from _around(site, last, f"{name} = {other};", rare)
                first = node.named_children[0]
                if first != last:
                    yield _before(site, first, f"{name} = {other};", 2 * rare)
        function = site.program.function_of(node)
        given = site.scope.parameters_of(function) if function is not None else ()
        if re.fullmatch(r"-?\d+|[\w$.]+", value) and value not in _NEGATED:
            for one in (*given[:2], "1"):
                yield from _around(site, last, f"{name} += {one};", 3.0)
                yield from _around(site, last, f"{name} -= {one};", 3.0)


def collections(site: Site) -> Iterator[Edit]:
    """Fill, or empty, a collection; skip what is in it; make an entry before it is used."""
    node = site.node
    if node.parent is None or node.parent.type not in BLOCKS or not is_statement(node):
        return
    if node.type == "statement_block":
        return
    names = [one for one in site.scope.names_at(node) if one not in function_names(site.scope)][:10]
    near = [*dict.fromkeys(WORD.findall(site.text))]
    near = [one for one in near if one in names]
    body = node.parent
    loop = body.parent
    for holder, made in _collections(site):
        text = site.program.source(body)
        for fill in _FILLS[made]:
            method = fill.partition("(")[0].format(holder)
            fresh = method not in site.program.text
            rare = 1.0 if fresh else 3.0 if method not in text else 5.0
            for given in _given(fill, near or names):
                yield _behind(site, node, fill.format(holder, *given), rare)
                if node == body.named_children[0]:
                    yield _before(site, node, fill.format(holder, *given), rare * 1.5)
        if made != "[" and loop is not None and loop.type in _LOOPS:
            for one in near[:3]:
                if node == body.named_children[0] and one != holder:
                    yield _before(site, node, f"if ({holder}.has({one})) continue;", 2.0)
    for holder, key in re.findall(r"([\w$.#]+)\.get\(([\w$.]+)\)\.", site.text):
        for value in ("[]", "new Map()", "new Set()", "{}", "0"):
            text = f"if (!{holder}.has({key})) {holder}.set({key}, {value});"
            yield _before(site, node, text, 1.5)
    for holder, key in re.findall(r"([\w$]+)\[([\w$.]+)\](?:\.push|\[|\.)", site.text):
        for value in ("[]", "{}"):
            yield _before(site, node, f"if (!{holder}[{key}]) {holder}[{key}] = {value};", 2.0)


def again(site: Site) -> Iterator[Edit]:
    """Do once more behind a loop what its body does with what is left over."""
    node = site.node
    if node.type not in _LOOPS or node.parent is None or node.parent.type not in BLOCKS:
        return
    seen: set[str] = set()
    for one in walk(node):
        if one.type != "expression_statement" or not one.named_child_count:
            continue
        inner = one.named_children[0]
        if inner.type not in ("call_expression", "yield_expression"):
            continue
        text = site.program.source(one)
        left = re.search(r"[( ]([A-Za-z_$][\w$]*)\)?;?$", text)
        if len(text) > 60 or text in seen or "\n" in text:
            continue
        seen.add(text)
        yield _behind(site, node, text, 1.5)
        if left:
            yield _behind(site, node, f"if ({left[1]}.length > 0) {text}", 1.5)
            yield _behind(site, node, f"if ({left[1]}) {text}", 2.5)


def conditional(site: Site) -> Iterator[Edit]:
    """Do a statement only if something holds."""
    node = site.node
    if node.parent is None or node.parent.type not in BLOCKS:
        return
    if node.type not in ("expression_statement", "return_statement", "throw_statement"):
        return
    text = site.text
    if len(text) > 100 or "\n" in text:
        return
    tests: dict[str, float] = {}
    if filled := re.match(r"([\w$.#]+)\.set\(([\w$.]+),", text):
        tests[f"!{filled[1]}.has({filled[2]})"] = 0.8
    if filled := re.match(r"([\w$.#]+)\.add\(([\w$.]+)\)", text):
        tests[f"!{filled[1]}.has({filled[2]})"] = 2.0
    known = [one for one in dict.fromkeys(WORD.findall(text)) if one in names_of(site)]
    for name in known[:3]:
        tests |= {f"{name} !== null": 2.5, name: 3.0, f"!{name}": 3.0, f"{name} !== undefined": 3.0}
        tests[f"{name}.length > 0"] = 4.0
    for other in _conditions(site.program):
        if set(WORD.findall(other)) <= names_of(site) | {"typeof", "null", "undefined"}:
            tests.setdefault(other, 3.5)
    for test, unlikely in tests.items():
        yield site.replace("conditional", f"if ({test}) {text}", unlikely)


def forgotten_calls(site: Site) -> Iterator[Edit]:
    """Call a method or a local function that nothing calls."""
    node = site.node
    if node.parent is None or node.parent.type not in BLOCKS or node.type in _ENDS:
        return
    if not is_statement(node) or node.type == "statement_block":
        return
    names = [one for one in site.scope.names_at(node) if one not in function_names(site.scope)]
    for call, parameters in _never_called(site.program, site.scope):
        if call.startswith("this.") or call in site.scope.names_at(node):
            given = ["0"] if parameters == 1 else []
            given += names[:3] if parameters == 1 else [", ".join(names[:parameters])]
            for one in dict.fromkeys(given):
                yield _behind(site, node, f"{call}({one});", 1.5)
                yield _before(site, node, f"{call}({one});", 2.0)


def fields(site: Site) -> Iterator[Edit]:
    """Set a field of an object again, or count with it, at the end of a block."""
    node = site.node
    if node.type != "statement_block" or not node.named_children:
        return
    last = _last(node)
    function = site.program.function_of(last) if last is not None else None
    name = function.child_by_field_name("name") if function is not None else None
    if last is None or (name is not None and site.program.source(name) == "constructor"):
        return
    if not any(one.type == "class_body" for one in site.program.around(node)):
        return
    given = site.scope.parameters_of(function) if function is not None else ()
    for field, value in _fields_of(site.program):
        rare = 3.0 if f"{field} = " not in site.text else 6.0
        if not re.match(r"[\w$]+\b(?!\()", value) or value in (
            "null",
            "true",
            "false",
            "undefined",
        ):
            yield from _around(site, last, f"{field} = {_NEGATED.get(value, value)};", rare)
        if re.match(r"new |\[|\{|0|''|null", value):
            yield from _around(site, last, f"{field} = {value};", rare)
        if re.fullmatch(r"\d+", value):
            for sign in ("+", "-"):
                for by in ("1", *given[:2]):
                    yield from _around(site, last, f"{field} {sign}= {by};", rare)


OPERATORS = (unused, exits, fields, assignments, collections, again, conditional, forgotten_calls)


def names_of(site: Site) -> set[str]:
    """Return the names that a node can use."""
    return {*site.scope.names_at(site.node), "this"}


def function_names(scope: Scope) -> frozenset[str]:
    """Return the names of a program's functions."""
    return frozenset(one.name for one in scope.functions)


def results_of(site: Site, function: Node) -> Iterator[str]:
    """Yield the short values that a function returns."""
    for one in walk(function):
        if one.type == "return_statement" and one.named_child_count:
            text = site.program.source(one.named_children[0])
            if len(text) < 40 and "\n" not in text:
                yield text


# -- pieces ----------------------------------------------------------------------------------------


def _behind(site: Site, node: Node, text: str, unlikely: float) -> Edit:
    """Insert a statement after another."""
    at = f"\n{site.indent_of(node)}{text}"
    line = node.end_point.row + 1
    return site.insert("insert", site.program.span(node)[1], at, unlikely, line=line)


def _before(site: Site, node: Node, text: str, unlikely: float) -> Edit:
    at = f"{text}\n{site.indent_of(node)}"
    line = node.start_point.row + 1
    return site.insert("insert", site.program.span(node)[0], at, unlikely, line=line)


def _around(site: Site, last: Node, text: str, unlikely: float) -> Iterator[Edit]:
    """Insert a statement at the end of a block: before a last one that leaves it."""
    if last.type in _ENDS:
        yield _before(site, last, text, unlikely)
    else:
        yield _behind(site, last, text, unlikely)


def _put(site: Site, place: Node | None, first: Node, text: str, unlikely: float) -> Edit:
    """Insert a statement after a place, or before the first of a block."""
    if place is None:
        return _before(site, first, text, unlikely)
    return _behind(site, place, text, unlikely)


def _is_of_loop(block: Node) -> bool:
    return block.parent is not None and block.parent.type in _LOOPS


def _last(block: Node) -> Node | None:
    return next((one for one in reversed(block.named_children) if one.type != "comment"), None)


def _words_in(program: JavascriptProgram, node: Node) -> Counter[str]:
    return Counter(WORD.findall(re.sub(r"\$\{", " ", program.source(node))))


def _locals(site: Site, block: Node) -> Iterator[str]:
    for one in block.named_children:
        if one.type in ("lexical_declaration", "variable_declaration"):
            for part in one.named_children:
                name = part.child_by_field_name("name")
                if name is not None and name.type == "identifier":
                    yield site.program.source(name)


def _loop_names(site: Site, block: Node) -> Iterator[str]:
    for around in site.program.around(block):
        if around.type in FUNCTIONS:
            return
        if around.type == "for_in_statement":
            left = around.child_by_field_name("left")
            if left is not None and left.type == "identifier":
                yield site.program.source(left)
        if around.type == "statement_block" and around != block:
            yield from _locals(site, around)


def _variables(site: Site, node: Node) -> Iterator[tuple[str, str]]:
    """Yield the variables around a block that may be set again, with what they begin with."""
    for around in site.program.around(node):
        is_loop = around.type == "for_statement"
        if not is_loop and (around.type not in BLOCKS or around.type == "program"):
            continue
        start = around.child_by_field_name("initializer") if is_loop else None
        for one in [start] if start is not None else around.named_children:
            if one.type == "lexical_declaration" and one.children[0].type == "let":
                for part in one.named_children:
                    name, value = (part.child_by_field_name(f) for f in ("name", "value"))
                    if name is not None and name.type == "identifier":
                        text = site.program.source(value) if value is not None else ""
                        yield site.program.source(name), text if len(text) < _SHORT else ""


@lru_cache(maxsize=64)
def _fields_of(program: JavascriptProgram) -> tuple[tuple[str, str], ...]:
    """Return the fields of the program's classes, with the short values they begin with."""
    found = re.findall(r"(?:^|[^.\w])(this\.#?[\w$]+) = ([^;\n]{1,28});", program.text)
    for node in program.nodes:
        if node.type in ("field_definition", "public_field_definition"):
            name = node.child_by_field_name("property") or node.child_by_field_name("name")
            value = node.child_by_field_name("value")
            if name is not None and value is not None and len(program.source(value)) <= _SHORT:
                found.append((f"this.{program.source(name)}", program.source(value)))
    return tuple(dict(reversed(found)).items())[:8]


def _is_only_assigned(site: Site, node: Node, name: str) -> bool:
    """True if what a variable is set to is never read."""
    text = site.program.source(node)
    every = len(re.findall(rf"(?<![\w$.]){re.escape(name)}(?![\w$])", text))
    own = rf"(?:(?:let|var|const) {re.escape(name)}\b|(?<![\w$.]){re.escape(name)} = )"
    return every == len(re.findall(own, text))


def _collections(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the collections that a node can use, with how each is made."""
    names = set(site.scope.names_at(site.node))
    for name, made in _collections_of(site.program):
        if name in names or name.startswith("this."):
            yield name, made


@lru_cache(maxsize=64)
def _collections_of(program: JavascriptProgram) -> tuple[tuple[str, str], ...]:
    found = re.findall(
        r"(?:const|let|var)?\s*((?:this\.)?#?[\w$]+) = (?:new (Map|Set)\b|(\[))", program.text
    )
    return tuple((name, made or "[") for name, made, _ in found)


def _given(fill: str, names: list[str]) -> Iterator[tuple[str, ...]]:
    if "{2}" not in fill:
        yield from ((one,) for one in names[:4])
        return
    yield from ((one, other) for one in names[:4] for other in names[:4] if one != other)


@lru_cache(maxsize=64)
def _never_called(program: JavascriptProgram, scope: Scope) -> tuple[tuple[str, int], ...]:
    """Return the methods and local functions that nothing in the program calls."""
    found = []
    for info in scope.functions:
        own = re.escape(info.name)
        if info.node.type == "method_definition":
            if info.name != "constructor" and not re.search(rf"\.{own}\(", program.text):
                found.append((f"this.{info.name}", len(info.parameters)))
        elif not re.search(rf"(?<!function )(?<![\w$.]){own}\(", program.text):
            found.append((info.name, len(info.parameters)))
    made = re.findall(r"const ([\w$]+) = (?:this\.)?[\w$]+\(", program.text)
    found += [
        (name, 0) for name in made if not re.search(rf"(?<![\w$]){re.escape(name)}\(", program.text)
    ]
    return tuple(found[:6])


@lru_cache(maxsize=64)
def _conditions(program: JavascriptProgram) -> tuple[str, ...]:
    found = dict.fromkeys(
        program.source(one)[1:-1]
        for node in program.nodes
        if node.type == "if_statement"
        and (one := node.child_by_field_name("condition")) is not None
        and one.end_byte - one.start_byte < 50
    )
    return tuple(found)[:6]
