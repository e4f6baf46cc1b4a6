"""Rules: a pattern with holes, and what is tried in its place.

A pattern is a piece of JavaScript in which `$A` stands for any expression (the same for the same
name), `$N` for a name or a member, `$P` for a property and `$$$A` for any number of arguments. In a
replacement `($A)` has its brackets only where what fills the hole needs them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tree_sitter import Node

from runtrue.fixers.search.javascript.syntax_tree import JavascriptProgram, parse

_HOLE = re.compile(r"\$\$\$[A-Z]|\$[A-Z]")
_FILLED = re.compile(r"(?<![\w$\]).])\((\$[A-Z])\)|\$\$\$[A-Z]|\$[A-Z]")
#: Whatever else fills a hole needs brackets.
_SIMPLE = frozenset(
    (
        *("identifier", "member_expression", "subscript_expression", "call_expression", "number"),
        *("string", "template_string", "array", "object", "this", "true", "false", "null"),
        *("undefined", "parenthesized_expression", "regex", "new_expression", "super"),
    )
)
_PLACES = frozenset(("identifier", "member_expression", "subscript_expression"))
_NAMES = frozenset(("identifier", "property_identifier", "shorthand_property_identifier"))

Holes = dict[str, Node]


@dataclass(frozen=True)
class ScriptRule:
    """A kind of mistake: what it looks like, and what is tried, with how unlikely each is."""

    kind: str
    pattern: str
    tried: tuple[tuple[str, float], ...]
    #: Why it would be a poor fix even if all tests pass.
    doubt: str | None = None

    @cached_property
    def shape(self) -> Node:
        """The pattern's tree."""
        return _shape(self.pattern)


def rules(kind: str, table: str, doubt: str | None = None) -> tuple[ScriptRule, ...]:
    """Read a table of rules of one kind: `pattern → tried ¦ tried ~3`, one on each line.

    `~3` says that something is three times less likely than the plain edits of its kind, `~0.3`
    that what stands there is hardly ever meant. A line that begins with `¦` goes on with the one
    before it.
    """
    found = []
    whole = re.sub(r"\n\s*¦", " ¦", table)
    for line in filter(None, map(str.strip, whole.splitlines())):
        pattern, _, replacements = line.partition(" → ")
        tried = []
        for one in replacements.split(" ¦ "):
            text, is_weighed, unlikely = one.strip().rpartition(" ~")
            tried.append((text, float(unlikely)) if is_weighed else (one.strip(), 1.0))
        found.append(ScriptRule(kind, pattern.strip(), tuple(tried), doubt))
    return tuple(found)


class RuleSet:
    """Rules, found by the type of node that their pattern begins with."""

    def __init__(self, every: Iterable[ScriptRule]) -> None:
        self._by_type: defaultdict[str, list[ScriptRule]] = defaultdict(list)
        for rule in every:
            self._by_type[rule.shape.type].append(rule)

    def applied(
        self, program: JavascriptProgram, node: Node
    ) -> Iterator[tuple[ScriptRule, str, float]]:
        """Yield each rule that fits a node, with the text in its place and how unlikely it is."""
        for rule in self._by_type.get(node.type, ()):
            holes: Holes = {}
            if not _fits(rule.shape, node, holes, program):
                continue
            for template, unlikely in rule.tried:
                if rule.pattern.startswith("({"):
                    template = template[1:-1]  # noqa: PLW2901 - the brackets are the pattern's
                text = _filled(template, holes, program)
                if text is not None and text != program.source(node):
                    yield rule, text, unlikely


def _fits(pattern: Node, node: Node, holes: Holes, program: JavascriptProgram) -> bool:
    text = (pattern.text or b"").decode()
    if _HOLE.fullmatch(text) and pattern.type in _NAMES:
        if pattern.type == "property_identifier" and node.type != "property_identifier":
            return False
        if text == "$N" and node.type not in _PLACES:
            return False
        known = holes.setdefault(text, node)
        return known is node or program.source(known) == program.source(node)
    if pattern.type != node.type:
        return False
    own, theirs = _parts(pattern), _parts(node)
    if not own and not theirs:
        return text == program.source(node)
    if pattern.type == "arguments" and any(b"$$$" in (one.text or b"") for one in own):
        return _fit_rest(own, theirs, node, holes, program)
    return len(own) == len(theirs) and all(
        _fits(a, b, holes, program) for a, b in zip(own, theirs, strict=True)
    )


def _fit_rest(
    own: list[Node], theirs: list[Node], node: Node, holes: Holes, program: JavascriptProgram
) -> bool:
    """Match arguments of which the last is any number of them."""
    first = own[1:-1]
    fixed = [one for one in first if b"$$$" not in (one.text or b"")]
    given = theirs[1:-1]
    if len(given) < len(fixed):
        return False
    if not all(_fits(a, b, holes, program) for a, b in zip(fixed, given, strict=False)):
        return False
    holes["$$$A"] = node
    return True


def _parts(node: Node) -> list[Node]:
    """Return the parts that count: a last semicolon does not."""
    return [one for one in node.children if one.type not in (";", "comment")]


def _filled(template: str, holes: Holes, program: JavascriptProgram) -> str | None:
    def fill(match: re.Match[str]) -> str:
        name = match[1] or match[0]
        if name == "$$$A":
            return program.source(holes[name])[1:-1].strip()
        text = program.source(holes[name])
        bare = not match[1] or holes[name].type in _SIMPLE
        return text if bare else f"({text})"

    try:
        return _FILLED.sub(fill, template)
    except KeyError:
        return None


@lru_cache(maxsize=1024)
def _shape(pattern: str) -> Node:
    root = parse("pattern.js", pattern).root_node
    node = root.named_children[0]
    if node.type == "expression_statement" and not pattern.rstrip().endswith(";"):
        node = node.named_children[0]
    # An object needs brackets to be an expression.
    return node.named_children[0] if node.type == "parenthesized_expression" else node
