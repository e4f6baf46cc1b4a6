"""Edits of statements: guards that are missing, results that are lost, the wrong order or block."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.javascript.scope import Scope
from runtrue.fixers.search.javascript.site import Site
from runtrue.fixers.search.javascript.statement_additions import results_of
from runtrue.fixers.search.javascript.syntax_tree import BLOCKS, FUNCTIONS, is_statement, walk

_LOOPS = frozenset(("for_statement", "for_in_statement", "while_statement", "do_statement"))
_ENDS = frozenset(("return_statement", "throw_statement", "break_statement", "continue_statement"))
#: What a function returns where there is nothing to work on.
_NOTHING = ("", "null", "[]", "''", "0", "false", "true", "{}", "-1", "NaN", "1")
_FORBIDDEN = "{0} === '__proto__' || {0} === 'constructor' || {0} === 'prototype'"
#: The longest statement that is copied from elsewhere.
_LONGEST = 120
_MOST_COPIED = 10


def loops(site: Site) -> Iterator[Edit]:
    """Try `of` for `in`, and skip what an object has only inherited."""
    node = site.node
    if node.type != "for_in_statement":
        return
    operator = next((one for one in node.children if one.type in ("in", "of")), None)
    if operator is None:
        return
    other = "of" if operator.type == "in" else "in"
    yield site.replace("iterate", other, node=operator)
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    body = node.child_by_field_name("body")
    if left is None or right is None or body is None:
        return
    key, holder = site.program.source(left), site.program.source(right)
    if operator.type == "of":
        yield site.replace("iterate", f"{holder}.entries()", 4.0, node=right)
        yield site.replace("copy", f"[...{holder}]", 2.0, node=right)
        yield site.replace("iterate", f"Object.keys({holder})", 3.0, node=right)
    else:
        yield site.replace("iterate", f"Object.keys({holder})", 4.0, node=right)
        owns = f"Object.prototype.hasOwnProperty.call({holder}, {key})"
        yield from _at_start(site, body, "guard", f"if (!{owns}) continue;", 1.5)
    for bad in (_FORBIDDEN.format(key), f"{key} === '__proto__'"):
        yield from _at_start(site, body, "guard", f"if ({bad}) continue;", 2.5)


def declarations(site: Site) -> Iterator[Edit]:
    """Try `let` for `const` and `var`."""
    node = site.node
    if node.type not in ("lexical_declaration", "variable_declaration"):
        return
    first = node.children[0]
    for other in ("let", "const"):
        if first.type != other:
            unlikely = 1.0 if first.type == "var" else 3.0
            if other == "let" or first.type == "var":
                yield site.replace("declare", other, unlikely, node=first)


def returns(site: Site) -> Iterator[Edit]:
    """Give back what is computed and lost."""
    node = site.node
    if node.type == "expression_statement" and node.parent is not None:
        inner = node.named_children[0] if node.named_child_count else None
        function = site.program.function_of(node)
        if inner is not None and function is not None:
            is_last = node.next_named_sibling is None
            start = site.program.span(node)[0]
            if inner.type not in ("assignment_expression", "update_expression", "await_expression"):
                yield _prefixed(site, "return", start, "return ", 1.0 if is_last else 3.0)
            if inner.type == "call_expression" and _is_async(function):
                yield _prefixed(site, "await", start, "await ", 1.0)
            target = _subject(inner)
            if target is not None and inner.type == "call_expression":
                name = site.program.source(target)
                yield _prefixed(site, "keep", start, f"{name} = ", 2.5)
    elif node.type == "statement_block" and node.parent is not None:
        function = node.parent
        if function.type not in FUNCTIONS or not node.named_children:
            return
        last = node.named_children[-1]
        if last.type not in ("return_statement", "throw_statement"):
            names = [*_local_names(site, node)][-4:]
            for name in (*names, *site.scope.parameters_of(function)[:2], "this"):
                yield from _after(site, last, "return", f"return {name};", 3.0)
            for value in ("false", "true", "null", "[]", "0", "''", "-1"):
                yield from _after(site, last, "return", f"return {value};", 6.0)
        if len(node.named_children) == 1 and last.type == "expression_statement":
            expression = site.program.source(last).rstrip(";")
            if function.type == "arrow_function":
                yield site.replace("return", expression, 1.5)
    elif node.type == "return_statement" and node.parent is not None:
        yield from _returned_elsewhere(site)


def guards(site: Site) -> Iterator[Edit]:
    """Begin a function with a guard: one that another function has, or an ordinary one."""
    node = site.node
    if node.type != "statement_block" or node.parent is None or node.parent.type not in FUNCTIONS:
        return
    own = site.scope.parameters_of(node.parent)
    for text, unlikely in _sibling_guards(site, own):
        yield from _at_start(site, node, "guard", text, unlikely)
    yield from _paired_guards(site, node, own)
    results = dict.fromkeys((*results_of(site, node), *_NOTHING))
    for at, name in enumerate(own[:3]):
        tests = {
            f"{name} == null": 2.0,
            f"!{name}": 2.0,
            f"{name}.length === 0": 2.5,
            f"{name} === 0": 4.0,
            f"{name} < 0": 4.0,
            f"{name} <= 1": 4.0,
            f"typeof {name} !== 'string'": 4.0,
            f"!Array.isArray({name})": 4.0,
            f"typeof {name} !== 'object'": 5.0,
        }
        for test, unlikely in tests.items():
            for place, result in enumerate((*results, name)):
                rarer = unlikely * (1 + 0.15 * place) * (1 + 0.5 * at)
                text = f"if ({test}) return{' ' if result else ''}{result};"
                yield from _at_start(site, node, "guard", text, 2 * rarer)
        yield from _at_start(
            site, node, "guard", f"if ({_FORBIDDEN.format(name)}) return;", 5.0 + at
        )
        yield from _at_start(site, node, "copy", f"{name} = [...{name}];", 5.0)
        yield from _at_start(site, node, "copy", f"{name} = {{ ...{name} }};", 6.0)
        yield from _at_start(site, node, "convert", f"{name} = String({name});", 7.0)
        yield from _at_start(site, node, "convert", f"{name} = Number({name});", 7.0)


def _paired_guards(site: Site, node: Node, own: tuple[str, ...]) -> Iterator[Edit]:
    """Begin a function with a guard on two of its parameters, or on what kind of thing one is."""
    if len(own) >= 2:
        one, other = own[:2]
        for test, result in (
            (f"{one} === {other}", "true"),
            (f"{one}.length !== {other}.length", "false"),
            (f"Object.keys({one}).length !== Object.keys({other}).length", "false"),
            (f"Array.isArray({one}) !== Array.isArray({other})", "false"),
            (f"typeof {one} !== typeof {other}", "false"),
            (f"{one} === {other}", "0"),
            (f"{one} == null || {other} == null", "false"),
        ):
            yield from _at_start(site, node, "guard", f"if ({test}) return {result};", 4.0)
    for name in own[:1]:
        text = f"if ({name} instanceof Date) return new Date({name});"
        yield from _at_start(site, node, "guard", text, 6.0)


def order(site: Site) -> Iterator[Edit]:
    """Try a statement left out, swapped with the next, behind its block, or in a loop."""
    node = site.node
    parent = node.parent
    if parent is None or not is_statement(node) or node.type == "statement_block":
        return
    if node.type in ("function_declaration", "class_declaration", "import_statement"):
        return
    if parent.type in BLOCKS and node.type not in ("lexical_declaration", "return_statement"):
        drops = node.type == "throw_statement" or "throw" in site.text
        edit = site.delete("delete", node, 4.0)
        yield edit if not drops else _doubted(edit)
    following = node.next_named_sibling
    if following is not None and is_statement(following) and parent.type in BLOCKS:
        yield site.swap("move", node, following, 3.0)
    loop = parent.parent
    is_last = parent.type in BLOCKS and node == parent.named_children[-1]
    if is_last and loop is not None and loop.type in _LOOPS:
        yield _moved_behind(site, node, loop, 2.0)
    if loop is not None and loop.type in ("if_statement", "else_clause") and parent.type in BLOCKS:
        around = loop if loop.type == "if_statement" else loop.parent
        if around is not None and node == parent.named_children[-1]:
            yield _moved_behind(site, node, around, 4.0)
    if (
        node.prev_named_sibling is not None
        and node.prev_named_sibling.type in _LOOPS
        and parent.type in BLOCKS
    ):
        body = node.prev_named_sibling.child_by_field_name("body")
        if body is not None and body.type == "statement_block":
            yield _moved_into(site, node, body, 3.0)


def branches(site: Site) -> Iterator[Edit]:
    """Try `else if` for a second `if`, an `if` for an `else if`, and `break` at a case's end."""
    node = site.node
    if node.type == "if_statement":
        before = node.prev_named_sibling
        start = site.program.span(node)[0]
        is_second = before is not None and before.type == "if_statement"
        if is_second and node.parent is not None and node.parent.type in BLOCKS:
            yield _prefixed(site, "else", start, "else ", 2.0)
        consequence = node.child_by_field_name("consequence")
        if consequence is not None:
            for end in ("return", "continue", "break"):
                if end == "return" or any(o.type in _LOOPS for o in site.program.around(node)):
                    last = consequence.named_children[-1] if consequence.named_children else None
                    if (
                        consequence.type == "statement_block"
                        and last is not None
                        and last.type not in _ENDS
                    ):
                        yield from _after(site, last, "jump", f"{end};", 3.0)
    elif node.type == "else_clause":
        inner = node.named_children[0] if node.named_child_count else None
        if inner is not None and inner.type == "if_statement":
            yield site.replace("else", site.program.source(inner), 3.0)
    elif node.type in ("switch_case", "switch_default"):
        last = node.named_children[-1] if node.named_children else None
        value = node.child_by_field_name("value")
        if last is not None and last != value and last.type not in _ENDS:
            yield from _after(site, last, "jump", "break;", 1.0)


def functions(site: Site) -> Iterator[Edit]:
    """Try an arrow function for a callback that has lost `this`, and `async` where it awaits."""
    node = site.node
    if node.type not in FUNCTIONS:
        return
    awaits = any(one.type == "await_expression" for one in walk(node))
    if awaits and not _is_async(node) and node.type != "method_definition":
        yield _prefixed(site, "await", site.program.span(node)[0], "async ", 0.5)
    if node.type == "function_expression" and node.child_by_field_name("name") is None:
        given, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        if given is not None and body is not None:
            arrow = f"{site.program.source(given)} => {site.program.source(body)}"
            unlikely = 1.0 if "this" in site.program.source(body) else 5.0
            yield site.replace("self", arrow, unlikely)


def borrowed(site: Site) -> Iterator[Edit]:
    """Insert a statement that the program has elsewhere, after this one."""
    node = site.node
    if node.parent is None or node.parent.type not in BLOCKS or node.type in _ENDS:
        return
    if not is_statement(node) or node.type == "statement_block":
        return
    names = set(site.scope.names_at(node)) | {"this"}
    count = 0
    seen = {site.text}
    for other in site.program.nodes:
        if other.type not in ("expression_statement", "if_statement") or other == node:
            continue
        text = site.program.source(other)
        words = set(re.findall(r"(?<![\w.$'\"])[a-z_$][\w$]*(?!\s*[:(\w])", text))
        keywords = {"if", "return", "null", "undefined", "true", "false", "continue", "break"}
        if len(text) > _LONGEST or text in seen or not words - keywords <= names:
            continue
        seen.add(text)
        yield from _after(site, node, "borrow", text, 6.0)
        if node == node.parent.named_children[0]:
            yield from _at_start(site, node.parent, "borrow", text, 6.0)
        count += 1
        if count >= _MOST_COPIED:
            return


OPERATORS = (loops, declarations, returns, guards, order, branches, functions, borrowed)


# -- pieces ----------------------------------------------------------------------------------------


def _prefixed(site: Site, kind: str, at: int, text: str, unlikely: float) -> Edit:
    line = site.node.start_point.row + 1
    return site.insert(kind, at, text, unlikely, line=line)


def _at_start(site: Site, block: Node, kind: str, text: str, unlikely: float) -> Iterator[Edit]:
    """Insert a statement at the start of a block."""
    if block.type != "statement_block" or not block.named_children:
        return
    first = next((one for one in block.named_children if one.type != "comment"), None)
    if first is None:
        return
    if site.program.source(first).startswith(("'use strict'", '"use strict"')):
        following = first.next_named_sibling
        first = following if following is not None else first
    start = site.program.span(first)[0]
    is_own_line = first.start_point.row > block.start_point.row
    break_ = f"\n{site.indent_of(first)}" if is_own_line else " "
    line = first.start_point.row + 1
    yield site.insert(kind, start, f"{text}{break_}", unlikely, line=line)


def _after(site: Site, node: Node, kind: str, text: str, unlikely: float) -> Iterator[Edit]:
    """Insert a statement after another."""
    end = site.program.span(node)[1]
    yield site.insert(
        kind, end, f"\n{site.indent_of(node)}{text}", unlikely, line=node.end_point.row + 1
    )


def _moved_behind(site: Site, node: Node, place: Node, unlikely: float) -> Edit:
    start, end = site.program.span(node)
    behind = site.program.span(place)[1]
    moved = f"\n{site.indent_of(place)}{site.program.text[start:end]}"
    return Edit(
        file=site.program.file,
        splices=(Splice(start, end, ""), Splice(behind, behind, moved)),
        kind="move_out",
        line=node.start_point.row + 1,
        says=f"move `{' '.join(site.program.text[start:end].split())[:60]}` behind the block",
        unlikely=unlikely,
    )


def _moved_into(site: Site, node: Node, body: Node, unlikely: float) -> Edit:
    start, end = site.program.span(node)
    inside = site.program.span(body)[1] - 1
    text = site.program.text[start:end]
    return Edit(
        file=site.program.file,
        splices=(Splice(inside, inside, f"{text}\n"), Splice(start, end, "")),
        kind="move_in",
        line=node.start_point.row + 1,
        says=f"move `{' '.join(text.split())[:60]}` into the loop before",
        unlikely=unlikely,
    )


def _doubted(edit: Edit) -> Edit:
    return Edit(
        file=edit.file,
        splices=edit.splices,
        kind=edit.kind,
        line=edit.line,
        says=edit.says,
        unlikely=edit.unlikely,
        doubt="drops a check",
    )


def _is_async(function: Node) -> bool:
    return any(one.type == "async" for one in function.children)


def _subject(call: Node) -> Node | None:
    """Return the thing that a method is called on, as in `text.trim()`."""
    function = call.child_by_field_name("function")
    if function is None or function.type != "member_expression":
        return None
    holder = function.child_by_field_name("object")
    return holder if holder is not None and holder.type == "identifier" else None


def _local_names(site: Site, block: Node) -> Iterator[str]:
    for one in block.named_children:
        if one.type in ("lexical_declaration", "variable_declaration"):
            for part in one.named_children:
                name = part.child_by_field_name("name")
                if name is not None and name.type == "identifier":
                    yield site.program.source(name)


def _returned_elsewhere(site: Site) -> Iterator[Edit]:
    """Return what other `return`s of the function do, or another local name."""
    node = site.node
    function = site.program.function_of(node)
    if function is None:
        return
    own = site.text.removeprefix("return").rstrip(";").strip()
    every = dict.fromkeys(results_of(site, function))
    for other in (*every, *_NOTHING):
        if other != own:
            text = f"return {other};" if other else "return;"
            yield site.replace("result", text, 3.0 if other in every else 6.0)


def _sibling_guards(site: Site, own: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """Yield the guards with which other functions begin, with their parameters renamed."""
    seen: set[str] = set()
    for rank, scope in enumerate((site.scope, *site.others)):
        for info in scope.functions:
            if info.node.child_by_field_name("body") == site.node:
                continue
            for text in _first_guards(scope, info.node):
                renamed = text
                for theirs, ours in zip(info.parameters, own, strict=False):
                    renamed = re.sub(rf"(?<![\w.$]){re.escape(theirs)}(?![\w$])", ours, renamed)
                if renamed not in seen and renamed not in site.text:
                    seen.add(renamed)
                    yield renamed, 2.0 + rank


def _first_guards(scope: Scope, function: Node) -> Iterator[str]:
    body = function.child_by_field_name("body")
    if body is None or body.type != "statement_block":
        return
    for one in body.named_children:
        text = scope.source(one)
        if one.type != "if_statement":
            inner = one.named_children[0] if one.type == "expression_statement" else None
            if inner is not None and inner.type == "call_expression" and len(text) < 60:
                yield text
            if one.type in ("comment", "expression_statement", "lexical_declaration"):
                continue
            return
        if len(text) < 200 and ("return" in text or "throw" in text) and "else" not in text:
            yield text
