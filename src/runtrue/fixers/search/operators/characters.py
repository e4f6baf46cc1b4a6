"""Characters: one more that a text of characters, or a class of a pattern, lets in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.differences import odd_characters
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import Program

_STRIPS = ("strip", "lstrip", "rstrip", "translate", "maketrans")
_LONGEST = 200
_CLASS = re.compile(r"\\.|\[(\^?)(\]?(?:\\.|[^\]\\])*)\]")
_MOST_CLASSES, _MOST = 6, 6
_REGEX = re.compile(r"\[[^\]]+\]|\\[dwsbDWS]|\(\?")
_CALLS = frozenset(
    ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
)
_FLAGS = ("re.IGNORECASE", "re.DOTALL", "re.MULTILINE", "re.ASCII")


def one_more(site: EditSite) -> Iterator[Edit]:
    """One more character in a text whose characters are looked for, or are taken off."""
    program, node = site.program, site.node
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    if not 1 < len(node.value) < _LONGEST or not _is_a_set(program, node):
        return
    lacking = [one for one in odd_characters(site.failures) if one not in node.value]
    text = program.source(node)
    for n, one in enumerate(lacking[:_MOST]):
        if text[0] in "\"'" and "\n" not in text:
            at = program.span(node)[0] + 1
            sign = repr(one)[1:-1] if one != text[0] else "\\" + one
            says = f"`{one}` as one of `{text[:40]}`"
            put = Splice(at, at, sign)
            yield program.edit("characters", node, says, put, unlikely=0.5 + 0.2 * n)


def _is_a_set(program: Program, node: ast.Constant) -> bool:
    """Return whether the characters of a text count, rather than the whole."""
    text = str(node.value)
    if text.isalpha() and not text.isupper():
        return False
    match program.parents.get(node):
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[other]):
            return other is node
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]):
            return name in _STRIPS and first is node
        case ast.Call(func=ast.Name(id="set" | "frozenset" | "list" | "tuple"), args=[first]):
            return first is node
        case ast.Assign() | ast.AnnAssign():
            return not re.search(r"\w{2}|\s\w", text)
        case _:
            return False


def one_more_in_class(site: EditSite) -> Iterator[Edit]:
    """One more character in a class of a pattern; a class where only one is let in."""
    program, node = site.program, site.node
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    text = program.source(node)
    opened = re.match(r"[rRbBuU]*('''|\"\"\"|'|\")", text)
    if opened is None or len(text) > 4 * _LONGEST or not _REGEX.search(text):
        return
    start = program.span(node)[0]
    found = [one for one in _CLASS.finditer(text, opened.end()) if one[0].startswith("[")]
    for n, one in enumerate(found[:_MOST_CLASSES]):
        for m, sign in enumerate(odd_characters(site.failures)[:_MOST]):
            written = "\\" + sign if sign in "\\]^-" else sign
            if sign in one[2] or sign in "\"'\n" or ("\\" in written and not _is_raw(text)):
                continue
            at = start + one.start(2)
            says = f"`{sign}` in `{one[0][:30]}`"
            put = Splice(at, at, written)
            yield program.edit("characters", node, says, put, unlikely=1.0 + 0.2 * (n + m))


def _is_raw(text: str) -> bool:
    return text[:2].lower().strip("\"'bu")[:1] == "r"


def pattern_flag(site: EditSite) -> Iterator[Edit]:
    """A pattern that takes capital letters, lines or line ends otherwise."""
    program, node = site.program, site.node
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[_, *_]):
            pass
        case _:
            return
    if name not in _CALLS or any(one.arg == "flags" for one in node.keywords):
        return
    usual = 1 if name == "compile" else 3 if name in ("sub", "subn") else 2
    if len(node.args) > usual:
        flag = node.args[-1]
        for n, text in enumerate(_FLAGS):
            if name == "compile" and text not in program.source(flag):
                put = f"{program.source(flag)} | {text}"
                yield program.replace("pattern", flag, put, unlikely=2.0 + 0.3 * n)
        return
    at = max(program.span(one)[1] for one in (*node.args, *node.keywords))
    for n, text in enumerate(_FLAGS):
        written = f", {text}" if name == "compile" and not node.keywords else f", flags={text}"
        says = f"`{text}` for the pattern"
        yield program.edit("pattern", node, says, Splice(at, at, written), unlikely=1.5 + 0.3 * n)


def whole_match(site: EditSite) -> Iterator[Edit]:
    """`fullmatch`, `match` and `search` for one another."""
    program, node = site.program, site.node
    if not isinstance(node, ast.Attribute) or node.attr not in ("match", "search", "fullmatch"):
        return
    parent = program.parents.get(node)
    if not isinstance(parent, ast.Call) or parent.func is not node:
        return
    owner = program.source(node.value)
    for n, name in enumerate(("fullmatch", "match", "search")):
        if name != node.attr and "\n" not in owner:
            yield program.replace("pattern", node, f"{owner}.{name}", unlikely=1.0 + 0.3 * n)


CHARACTERS = (one_more, one_more_in_class, pattern_flag, whole_match)
