"""Scope: the names that a node can use, and the properties that the project uses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from tree_sitter import Node

from runtrue.fixers.search.javascript.syntax_tree import FUNCTIONS, JavascriptProgram, walk

_PATTERNS = frozenset(
    (
        *("object_pattern", "array_pattern", "pair_pattern", "rest_pattern", "assignment_pattern"),
        *("object_assignment_pattern", "formal_parameters", "required_parameter"),
        "optional_parameter",
    )
)
_SCOPES = FUNCTIONS | {
    *("program", "statement_block", "for_statement", "for_in_statement", "catch_clause"),
}
_BOUND = frozenset(("identifier", "shorthand_property_identifier_pattern"))
_MENTIONS = _BOUND | {"shorthand_property_identifier"}
_DECLARATIONS = frozenset(("variable_declarator", "function_declaration", "class_declaration"))


class FunctionInfo(NamedTuple):
    """A function that has a name, and its parameters."""

    name: str
    parameters: tuple[str, ...]
    node: Node


class Scope:
    """The names of one program."""

    def __init__(self, program: JavascriptProgram) -> None:
        self._program = program
        self._known: dict[int, tuple[str, ...]] = {}
        self._unread: dict[int, tuple[str, ...]] = {}

    def source(self, node: Node) -> str:
        """Return the text of a node."""
        return self._program.source(node)

    def names_at(self, node: Node) -> tuple[str, ...]:
        """Return the names that a node can use, the innermost first, without repeats."""
        place = next(
            (one for one in self._program.around(node) if one.type in _SCOPES), self._program.root
        )
        if place.id not in self._known:
            self._known[place.id] = self._names_at(place)
        return self._known[place.id]

    def _names_at(self, node: Node) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for one in self._program.around(node):
            if one.type in FUNCTIONS or one.type in ("program", "statement_block", "for_statement"):
                found |= dict.fromkeys(self._declared(one))
            elif one.type in ("for_in_statement", "catch_clause"):
                left = one.child_by_field_name("left") or one.child_by_field_name("parameter")
                found |= dict.fromkeys(self._bound(left))
        return tuple(found)

    def declared_in(self, block: Node) -> tuple[str, ...]:
        """Return the names that the statements of a block declare."""
        return tuple(self._of_declarations(block.named_children))

    def declared_in_statement(self, statement: Node) -> tuple[str, ...]:
        """Return the names that one statement declares."""
        return tuple(self._of_declarations([statement]))

    def bound_by(self, pattern: Node | None) -> tuple[str, ...]:
        """Return the names that a pattern binds."""
        return tuple(self._bound(pattern))

    def unread_at(self, node: Node) -> frozenset[str]:
        """Return the names that the functions around a node bind, and do nothing with."""
        around = (one for one in self._program.around(node) if one.type in FUNCTIONS)
        return frozenset(name for one in around for name in self._unread_in(one))

    def _unread_in(self, function: Node) -> tuple[str, ...]:
        if function.id not in self._unread:
            every = [one for one in walk(function) if one.type in _MENTIONS]
            counts = Counter(self._program.source(one) for one in every)
            bound = [*self.parameters_of(function)]
            for one in walk(function):
                if one.type == "statement_block" and self._program.function_of(one) == function:
                    bound += self.declared_in(one)
            self._unread[function.id] = tuple(
                one for one in bound if counts[one] == 1 and not one.startswith("_")
            )
        return self._unread[function.id]

    def parameters_of(self, function: Node) -> tuple[str, ...]:
        """Return the names that the parameters of a function bind."""
        given = function.child_by_field_name("parameters") or function.child_by_field_name(
            "parameter"
        )
        return tuple(self._bound(given))

    @cached_property
    def functions(self) -> tuple[FunctionInfo, ...]:
        """The functions with a name."""
        found = []
        for one in self._program.functions:
            name = one.child_by_field_name("name")
            if name is None and one.parent is not None:
                name = one.parent.child_by_field_name("name") or one.parent.child_by_field_name(
                    "key"
                )
            if name is None and one.parent is not None and one.parent.type.startswith("assignment"):
                left = one.parent.child_by_field_name("left")
                name = left.child_by_field_name("property") if left else None
            if name is not None:
                text = self._program.source(name)
                found.append(FunctionInfo(text, self.parameters_of(one), one))
        return tuple(found)

    @cached_property
    def members(self) -> frozenset[str]:
        """The methods and fields of the program's classes, and what is set on `this`."""
        found = set()
        for node in self._program.nodes:
            if node.type in ("method_definition", "field_definition", "public_field_definition"):
                name = node.child_by_field_name("name") or node.child_by_field_name("property")
                found.add(self._program.source(name) if name else "")
            elif node.type == "member_expression" and node.children[0].type == "this":
                found.add(self._program.source(node.children[-1]))
        return frozenset(found - {""})

    @cached_property
    def properties(self) -> dict[str, Counter[str]]:
        """The properties that are used of each name, and of all of them under the empty name."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for node in self._program.nodes:
            if node.type == "member_expression":
                holder = node.child_by_field_name("object")
                name = node.child_by_field_name("property")
                if holder is not None and name is not None:
                    found[self._program.source(holder)][self._program.source(name)] += 1
                    found[""][self._program.source(name)] += 1
            elif node.type in ("pair", "shorthand_property_identifier"):
                key = node.child_by_field_name("key") or node
                if key.type.endswith("property_identifier"):
                    found[""][self._program.source(key)] += 1
        return dict(found)

    def _declared(self, place: Node) -> Iterator[str]:
        if place.type in FUNCTIONS:
            yield from self.parameters_of(place)
            return
        if place.type == "for_statement":
            yield from self._of_declarations([place.child_by_field_name("initializer")])
            return
        yield from self._of_declarations(place.named_children)

    def _of_declarations(self, statements: Iterable[Node | None]) -> Iterator[str]:
        for one in statements:
            inner = one
            if one is not None and one.type == "export_statement":
                inner = one.child_by_field_name("declaration")
            if inner is None:
                continue
            if inner.type in ("lexical_declaration", "variable_declaration"):
                for part in inner.named_children:
                    yield from self._bound(part.child_by_field_name("name"))
            elif inner.type == "import_statement":
                for part in walk(inner):
                    if part.type == "identifier":
                        yield self._program.source(part)
            elif inner.type in _DECLARATIONS or inner.type.endswith("function_declaration"):
                yield from self._bound(inner.child_by_field_name("name"))

    def _bound(self, pattern: Node | None) -> Iterator[str]:
        if pattern is None:
            return
        if pattern.type in _BOUND or pattern.type == "type_identifier":
            yield self._program.source(pattern)
        elif pattern.type in _PATTERNS:
            for part in pattern.named_children:
                # Of a default only the name counts, of a renamed property the new name.
                if part.prev_sibling is not None and part.prev_sibling.type == "=":
                    continue
                if part.type == "property_identifier" or part.type == "type_annotation":
                    continue
                yield from self._bound(part)
