"""Patterns: regular expressions that match too much, or too little."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

_FUNCTIONS = frozenset(
    ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
)
#: A quantifier, and what it may stand for; not what is escaped, and not in a class of characters.
_PART = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?<![(])[+*](?![?+])|[+*]\?|\.(?![+*{?])|(?<=[^(+*?}])\?"
)


@edits("pattern")
def pattern(site: EditSite, node: ast.Constant) -> Ways:
    """Another regular expression: less greedy, anchored, one or more for any number."""
    program = site.program
    if not isinstance(node.value, str):
        return
    if not _is_pattern(program, node):
        return
    text = program.source(node)
    opened = re.match(r"[rRbBuU]*('''|\"\"\"|'|\")", text)
    if opened is None or "\n" in text:
        return
    begin, end = opened.end(), len(text) - len(opened.group(1))
    inner = text[begin:end]
    for other, unlikely in _others(inner):
        try:
            re.compile(other)
        except (re.error, RecursionError, OverflowError):
            continue
        yield text[:begin] + other + text[end:], unlikely


def _is_pattern(program: Program, node: ast.Constant) -> bool:
    parent = program.parents.get(node)
    match parent:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)):
            return name in _FUNCTIONS and parent.args[:1] == [node]
        case ast.Call(func=ast.Name(id="compile"), args=[first, *_]):
            return first is node
        case _:
            return False


def _others(text: str) -> Iterator[tuple[str, float]]:
    found = list(_PART.finditer(text))
    greedy = [one for one in found if one.group() in ("+", "*")]
    for one in greedy:
        yield text[: one.end()] + "?" + text[one.end() :], 1.0
    if len(greedy) > 1:
        yield _PART.sub(lambda one: one.group() + "?" * (one.group() in ("+", "*")), text), 1.5
    for one in found:
        start, end = one.span()
        match one.group():
            case "+?" | "*?":
                yield text[: end - 1] + text[end:], 1.5
            case "+":
                yield text[:start] + "*" + text[end:], 1.5
            case "*":
                yield text[:start] + "+" + text[end:], 1.5
            case "?":
                yield text[:start] + text[end:], 1.2
            case ".":
                yield text[:start] + r"\." + text[end:], 2.0
    if not text.startswith(("^", r"\A")):
        yield "^" + text, 2.0
    if not text.endswith(("$", r"\Z")):
        yield text + "$", 1.5
    for mark in ("^", "$"):
        if mark in (text[:1], text[-1:]):
            yield text.removeprefix("^") if mark == "^" else text.removesuffix("$"), 2.5
    yield rf"\b{text}\b", 3.0
