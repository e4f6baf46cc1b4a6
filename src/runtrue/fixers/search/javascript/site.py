"""Sites: a node of a program with what is known around it, and the edits that are made there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.javascript.scope import Scope
from runtrue.fixers.search.javascript.syntax_tree import JavascriptProgram, parse

#: The longest piece of code that a description shows.
_SHOWN = 60
#: Operators by how tightly they bind.
_BINDING = {
    **dict.fromkeys(("??", "||"), 1),
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    **dict.fromkeys(("==", "!=", "===", "!=="), 6),
    **dict.fromkeys(("<", ">", "<=", ">=", "in", "instanceof"), 7),
    **dict.fromkeys(("<<", ">>", ">>>"), 8),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("*", "/", "%"), 10),
    "**": 11,
}
_LOOSE = frozenset(
    (
        *("binary_expression", "ternary_expression", "arrow_function", "await_expression"),
        *("assignment_expression", "augmented_assignment_expression", "unary_expression"),
        *("yield_expression", "sequence_expression"),
    )
)
_TIGHT = frozenset(("member_expression", "subscript_expression", "call_expression"))


@dataclass(frozen=True, kw_only=True)
class Clues:
    """What the failing tests say: their words, strings and numbers."""

    failures: tuple[Failure, ...] = ()
    strings: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Site:
    """One node that edits are made at."""

    program: JavascriptProgram
    scope: Scope
    node: Node
    clues: Clues = field(default_factory=Clues)
    #: The other programs of the project, with their scopes.
    others: Sequence[Scope] = ()

    @property
    def text(self) -> str:
        """The node's text."""
        return self.program.source(self.node)

    def replace(
        self,
        kind: str,
        new: str,
        unlikely: float = 1.0,
        *,
        node: Node | None = None,
        doubt: str | None = None,
        says: str | None = None,
    ) -> Edit:
        """Return the edit that puts a text in the place of a node, in brackets where needed."""
        target = self.node if node is None else node
        start, end = self.program.span(target)
        old = self.program.text[start:end]
        new = _bracketed(self.program, target, new)
        return Edit(
            file=self.program.file,
            splices=(Splice(start, end, new),),
            kind=kind,
            line=target.start_point.row + 1,
            says=says or f"`{_short(old)}` → `{_short(new)}`",
            unlikely=unlikely,
            doubt=doubt,
        )

    def insert(self, kind: str, at: int, text: str, unlikely: float, *, line: int) -> Edit:
        """Return the edit that inserts a text at an offset."""
        return Edit(
            file=self.program.file,
            splices=(Splice(at, at, text),),
            kind=kind,
            line=line,
            says=f"insert `{_short(' '.join(text.split()))}`",
            unlikely=unlikely,
        )

    def delete(self, kind: str, node: Node, unlikely: float) -> Edit:
        """Return the edit that removes a node."""
        start, end = self.program.span(node)
        return Edit(
            file=self.program.file,
            splices=(Splice(start, end, ""),),
            kind=kind,
            line=node.start_point.row + 1,
            says=f"delete `{_short(self.program.text[start:end])}`",
            unlikely=unlikely,
        )

    def swap(self, kind: str, one: Node, other: Node, unlikely: float = 1.0) -> Edit:
        """Return the edit that swaps two nodes."""
        first, second = self.program.source(one), self.program.source(other)
        splices = (
            Splice(*self.program.span(one), second),
            Splice(*self.program.span(other), first),
        )
        return Edit(
            file=self.program.file,
            splices=splices,
            kind=kind,
            line=one.start_point.row + 1,
            says=f"swap `{_short(first)}` and `{_short(second)}`",
            unlikely=unlikely,
        )

    def indent_of(self, node: Node) -> str:
        """Return the white space before the line that a node begins on."""
        start = self.program.span(node)[0]
        line = self.program.text[self.program.text.rfind("\n", 0, start) + 1 : start]
        return line[: len(line) - len(line.lstrip())]


def _short(code: str) -> str:
    flat = " ".join(code.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"


def _bracketed(program: JavascriptProgram, node: Node, new: str) -> str:
    """Put brackets around a text that would otherwise fall apart where the node is."""
    parent = node.parent
    if parent is None or (parent.type not in _TIGHT and parent.type not in _LOOSE):
        return new
    if parent.type in ("arrow_function", "assignment_expression", "call_expression") and (
        parent.child_by_field_name("function") != node
    ):
        return new
    if parent.type == "subscript_expression" and parent.child_by_field_name("index") == node:
        return new
    if parent.type in ("augmented_assignment_expression", "yield_expression"):
        return new
    inner = _expression(new)
    if inner is None or inner.type not in _LOOSE:
        return new
    if parent.type == "ternary_expression" and inner.type in (
        "binary_expression",
        "unary_expression",
    ):
        return new
    if parent.type == "binary_expression" and inner.type == "unary_expression":
        return new
    if parent.type == "binary_expression" and inner.type == "binary_expression":
        own, around = _binding(inner), _binding(parent)
        is_right = parent.child_by_field_name("right") == node
        if own > around or (own == around and not is_right and _operator(inner) != "??"):
            return new
        if node.type == "binary_expression" and own >= _binding(node) and own != around:
            return new
    return f"({new})"


def _expression(text: str) -> Node | None:
    root = parse("piece.js", text).root_node
    node = root.named_children[0] if root.named_child_count else None
    if node is not None and node.type == "expression_statement":
        return node.named_children[0] if node.named_child_count else None
    return None


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return (operator.text or b"").decode() if operator is not None else ""


def _binding(node: Node) -> int:
    return _BINDING.get(_operator(node), 0)
