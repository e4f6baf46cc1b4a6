"""Syntax trees of JavaScript and TypeScript files, with offsets in characters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from tree_sitter import Language, Node, Parser, Tree

from runtrue.fixers.search.edit import Edit

FUNCTIONS = frozenset(
    (
        *("function_declaration", "function_expression", "arrow_function", "method_definition"),
        *("generator_function", "generator_function_declaration"),
    )
)
_STATEMENTS = ("_statement", "_declaration")
#: Nodes that hold statements one after another.
BLOCKS = frozenset(("program", "statement_block", "switch_case", "switch_default"))
SUFFIXES = frozenset((".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"))


@lru_cache
def _parser(grammar: str) -> Parser:
    # Loaded late: most runs fix no JavaScript.
    if grammar == "javascript":
        import tree_sitter_javascript

        return Parser(Language(tree_sitter_javascript.language()))
    import tree_sitter_typescript

    if grammar == "tsx":
        return Parser(Language(tree_sitter_typescript.language_tsx()))
    return Parser(Language(tree_sitter_typescript.language_typescript()))


def parse(file: str, text: str) -> Tree:
    """Parse the text of a file by the grammar that its name asks for."""
    match PurePosixPath(file).suffix:
        case ".ts" | ".cts" | ".mts":
            grammar = "typescript"
        case ".tsx":
            grammar = "tsx"
        case _:
            grammar = "javascript"
    return _parser(grammar).parse(text.encode("utf-8", "replace"))


def parses(file: str, text: str) -> bool:
    """True if a file has no syntax error that the grammar sees."""
    return not parse(file, text).root_node.has_error


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, in the order of the text."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(one.children))


class JavascriptProgram:
    """One file: its text, its tree, and what surrounds a node."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._tree = parse(file, text)
        self.root = self._tree.root_node
        self._data = text.encode("utf-8", "replace")
        self._bodies: dict[tuple[int, int], tuple[int, int] | None] = {}
        self._starts = None if len(self._data) == len(text) else _character_offsets(text)

    def at(self, byte: int) -> int:
        """Return the offset in characters of an offset in bytes."""
        return byte if self._starts is None else self._starts[byte]

    def span(self, node: Node) -> tuple[int, int]:
        """Return where a node begins and ends, in characters."""
        return self.at(node.start_byte), self.at(node.end_byte)

    def source(self, node: Node) -> str:
        """Return the text of a node."""
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All named nodes, in the order of the text."""
        return tuple(node for node in walk(self.root) if node.is_named)

    @cached_property
    def functions(self) -> tuple[Node, ...]:
        """All functions."""
        return tuple(node for node in self.nodes if node.type in FUNCTIONS)

    @cached_property
    def lines_outside_functions(self) -> frozenset[int]:
        """The lines on which something begins that runs as soon as the file is loaded."""
        inside: set[int] = set()
        for one in self.functions:
            first, last = one.start_point.row + 1, one.end_point.row + 1
            inside.update(range(first + 1, last) if last > first else ())
        return frozenset(range(1, self.text.count("\n") + 2)) - inside

    def function_of(self, node: Node) -> Node | None:
        """Return the innermost function around a node, which may be the node itself."""
        return next((one for one in self.around(node) if one.type in FUNCTIONS), None)

    def around(self, node: Node) -> Iterator[Node]:
        """Yield a node and all around it, the innermost first."""
        one: Node | None = node
        while one is not None:
            yield one
            one = one.parent

    def statement_of(self, node: Node) -> Node:
        """Return the innermost statement around a node."""
        return next((one for one in self.around(node) if is_statement(one)), node)

    def body_around(self, edit: Edit) -> tuple[int, int] | None:
        """Return the lines of the innermost function that holds all of an edit; None for none."""
        first = min(one.start for one in edit.splices)
        last = max(one.end for one in edit.splices)
        if (first, last) not in self._bodies:
            # An edit at the very start of a function may still be of what is around it.
            inside = (lines for start, end, lines in self._spans if start < first and last < end)
            *_, self._bodies[first, last] = (None, *inside)
        return self._bodies[first, last]

    @cached_property
    def _spans(self) -> tuple[tuple[int, int, tuple[int, int]], ...]:
        """Where each function begins and ends, and its first and last line."""
        return tuple(
            (*self.span(one), (one.start_point.row + 1, one.end_point.row + 1))
            for one in self.functions
        )


def is_statement(node: Node) -> bool:
    """True for what stands in a block."""
    return node.type.endswith(_STATEMENTS) or node.type == "statement_block"


def _character_offsets(text: str) -> list[int]:
    starts: list[int] = []
    for at, character in enumerate(text):
        starts += [at] * len(character.encode("utf-8", "replace"))
    starts.append(len(text))
    return starts
