"""Proposals: the edits of some JavaScript files, likeliest first."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.javascript.expressions import OPERATORS as OF_EXPRESSIONS
from runtrue.fixers.search.javascript.literals import OPERATORS as OF_LITERALS
from runtrue.fixers.search.javascript.names import OPERATORS as OF_NAMES
from runtrue.fixers.search.javascript.part_additions import OPERATORS as MISSING_PARTS
from runtrue.fixers.search.javascript.scope import Scope
from runtrue.fixers.search.javascript.site import Clues, Site
from runtrue.fixers.search.javascript.statement_additions import OPERATORS as MISSING_STATEMENTS
from runtrue.fixers.search.javascript.statements import OPERATORS as OF_STATEMENTS
from runtrue.fixers.search.javascript.syntax_tree import JavascriptProgram, is_statement
from runtrue.fixers.search.javascript.weights import Weights
from runtrue.fixers.search.localise import Suspicion
from runtrue.fixers.search.proposals import EditSet

_OPERATORS = (
    *(*OF_EXPRESSIONS, *OF_NAMES, *OF_LITERALS, *OF_STATEMENTS),
    *(*MISSING_STATEMENTS, *MISSING_PARTS),
)
#: The worth of a line that did not run, in a function that did, and of what uses are suspect.
_UNRUN, _DEFINED = 0.05, 0.5
#: How much likelier an edit is that uses a name which nothing reads.
_FORGOTTEN = 4.0
#: How much rarer the same mistake in two places is, and in each further one.
_EVERYWHERE, _FURTHER = 1.5, 1.2
#: Edits after which the order of the rest is made again, and what a fixed test makes of a line.
_SLICE, _FIXES, _LEAST_GAIN = 60, 4.0, -0.7
#: Edits that are sorted at a time: a large program is not read as a whole.
_CHUNK, _FIRST, _LESS = 3_000, 400, 0.6

_WORD = re.compile(r"[A-Za-z_$][\w$]*")

Key = tuple[tuple[str, int, int, str], ...]


class JavascriptProposals:
    """The candidates for some files."""

    def __init__(
        self,
        texts: Mapping[str, str],
        suspicion: Suspicion,
        clues: Clues,
        weights: Weights,
    ) -> None:
        self._suspicion = suspicion
        self._clues = clues
        self._weights = weights
        self.programs = {file: JavascriptProgram(file, text) for file, text in texts.items()}
        self._scopes = {file: Scope(one) for file, one in self.programs.items()}
        self._seen: set[Key] = set()
        self._effects: defaultdict[tuple[str, int, int], list[int]] = defaultdict(lambda: [0, 0])
        self._fixing: set[tuple[str, int]] = set()

    def singles(self) -> Iterator[EditSet]:
        """Yield candidates of one edit, or of the same edit everywhere in a function."""
        chunk: list[EditSet] = []
        most = 0.0
        for worth, program, node in sorted(self._sites(), key=lambda site: -site[0]):
            is_less = len(chunk) >= _FIRST and worth < _LESS * most
            if len(chunk) >= _CHUNK or is_less:
                yield from self._ordered(chunk)
                chunk = []
            most = worth if not chunk else most
            chunk += [self._weighed(edit, worth) for edit in self._edits(program, node)]
        yield from self._ordered(chunk)

    def learn(self, candidate: EditSet, *, changes: bool, fixes: bool) -> None:
        """Note a candidate that failed: whether it changes how, and whether it fixes some test."""
        for edit in candidate.edits:
            seen = self._effects[self._place(edit)]
            seen[0] += 1
            seen[1] += changes
            if fixes:
                self._fixing.add((edit.file, edit.line))

    def is_new(self, candidate: EditSet) -> bool:
        """Return whether no earlier candidate made the same of the files."""
        key: Key = tuple(
            (edit.file, *self._trimmed(edit.file, one))
            for edit in candidate.edits
            for one in edit.splices
        )
        if key in self._seen or all(start == end and not text for _, start, end, text in key):
            return False
        self._seen.add(key)
        return True

    def _trimmed(self, file: str, splice: Splice) -> tuple[int, int, str]:
        """Return a splice without what it leaves as it is at its ends."""
        old, new = self.programs[file].text[splice.start : splice.end], splice.text
        head = next(
            (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
            min(len(old), len(new)),
        )
        old, new = old[head:], new[head:]
        tail = next(
            (n for n, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b),
            min(len(old), len(new)),
        )
        end = len(old) - tail
        return splice.start + head, splice.start + head + end, new[: len(new) - tail]

    def _ordered(self, chunk: list[EditSet]) -> Iterator[EditSet]:
        chunk += self._everywhere(chunk)
        rest = sorted(chunk, key=lambda one: one.cost)
        while rest:
            yield from rest[:_SLICE]
            rest = sorted(rest[_SLICE:], key=lambda one: one.cost - self._gain(one))

    def _gain(self, candidate: EditSet) -> float:
        edit = candidate.edits[0]
        tried, changed = self._effects[self._place(edit)]
        fixes = _FIXES if (edit.file, edit.line) in self._fixing else 1.0
        return max(math.log(2 * fixes * (changed + 1) / (tried + 2)), _LEAST_GAIN)

    def _place(self, edit: Edit) -> tuple[str, int, int]:
        return edit.file, *(self.programs[edit.file].body_around(edit) or (0, 0))

    # -- sites and their edits ------------------------------------------------------------------

    def _sites(self) -> Iterator[tuple[float, JavascriptProgram, Node]]:
        for file in self._suspicion.files:
            program = self.programs.get(file)
            if program is None:
                continue
            lines = self._suspicion.lines.get(file, {})
            ran = _functions_that_ran(program, lines)
            used = _uses(program, lines)
            for node in program.nodes:
                worth = self._worth(program, node, lines)
                if not worth:
                    worth = _DEFINED * _use_of(program, node, used)
                if not worth and program.function_of(node) in ran:
                    worth = _UNRUN
                if worth:
                    yield worth, program, node

    def _worth(self, program: JavascriptProgram, node: Node, lines: Mapping[int, float]) -> float:
        """Return the suspicion of the most suspect line of a node, or of its statement's head."""
        if node.type == "statement_block":
            # What is inserted at the start of a function is as suspect as its first lines.
            first, last = (
                node.start_point.row + 1,
                min(node.start_point.row + 4, node.end_point.row),
            )
            return max((lines.get(n, 0.0) for n in range(first, last + 1)), default=0.0)
        own = range(node.start_point.row + 1, node.end_point.row + 2)
        if len(own) <= 3:
            best = max((lines.get(n, 0.0) for n in own), default=0.0)
            if best or not is_statement(node):
                statement = program.statement_of(node)
                return best or lines.get(statement.start_point.row + 1, 0.0) * (
                    1.0 if statement.end_point.row - statement.start_point.row < 6 else 0.0
                )
        return lines.get(node.start_point.row + 1, 0.0)

    def _edits(self, program: JavascriptProgram, node: Node) -> Iterator[Edit]:
        scope = self._scopes[program.file]
        others = [one for file, one in self._scopes.items() if file != program.file]
        site = Site(program=program, scope=scope, node=node, clues=self._clues, others=others)
        unread = scope.unread_at(node)
        for operator in _OPERATORS:
            for edit in operator(site):
                new = {word for one in edit.splices for word in _WORD.findall(one.text)}
                # What is there, and nobody reads, is what was forgotten.
                is_forgotten = bool(new & unread)
                yield replace(edit, unlikely=edit.unlikely / _FORGOTTEN) if is_forgotten else edit

    def _weighed(self, edit: Edit, worth: float) -> EditSet:
        weight = self._weights.of(edit)
        doubt = 3.0 if edit.doubt else 0.0
        cost = math.log(max(edit.unlikely, 0.05)) - math.log(weight) - math.log(worth) + doubt
        return EditSet(edits=(edit,), cost=cost)

    def _everywhere(self, singles: Iterable[EditSet]) -> Iterator[EditSet]:
        """Yield the same edit made everywhere in a function where it can be."""
        groups: defaultdict[tuple[object, ...], dict[int, EditSet]] = defaultdict(dict)
        for one in singles:
            edit = one.edits[0]
            made = edit.splices[0]
            old = self.programs[edit.file].text[made.start : made.end]
            if len(edit.splices) == 1 and not edit.doubt and old and "\n" not in old:
                place = self._place(edit)
                groups[*place, edit.kind, old, made.text].setdefault(made.start, one)
        for same in groups.values():
            if not 2 <= len(same) <= 12:
                continue
            first = min(same.values(), key=lambda one: one.cost)
            splices = tuple(sorted(one.edits[0].splices[0] for one in same.values()))
            if any(a.end > b.start for a, b in pairwise(splices)):
                continue
            says = f"{first.edits[0].says}, in {len(same)} places"
            edit = replace(first.edits[0], splices=splices, says=says)
            rarer = math.log(_EVERYWHERE) + (len(same) - 2) * math.log(_FURTHER)
            yield EditSet(edits=(edit,), cost=first.cost + rarer)


def _functions_that_ran(program: JavascriptProgram, lines: Iterable[int]) -> set[Node | None]:
    known = set(lines)
    found: set[Node | None] = set()
    for one in program.functions:
        first, last = one.start_point.row + 1, one.end_point.row + 1
        if known & set(range(first, last + 1)):
            found.add(one)
    return found


def _uses(program: JavascriptProgram, lines: Mapping[int, float]) -> dict[str, float]:
    """Return how suspect the lines are that use each name."""
    found: dict[str, float] = {}
    for node in program.nodes:
        if node.type == "identifier":
            worth = lines.get(node.start_point.row + 1, 0.0)
            if worth:
                name = program.source(node)
                found[name] = max(found.get(name, 0.0), worth)
    return found


def _use_of(program: JavascriptProgram, node: Node, used: Mapping[str, float]) -> float:
    """Return the suspicion of the lines that use what a statement at the file's level defines."""
    if program.function_of(node) is not None:
        return 0.0
    statement: Node | None = program.statement_of(node)
    while statement is not None and statement.type not in (
        *("lexical_declaration", "variable_declaration"),
    ):
        statement = statement.parent
    names: Sequence[Node | None] = (
        [one.child_by_field_name("name") for one in statement.named_children] if statement else ()
    )
    return max((used.get(program.source(one), 0.0) for one in names if one), default=0.0)
