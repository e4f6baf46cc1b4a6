"""Proposals: the edits of a program, likeliest first, without equivalent ones."""

from __future__ import annotations

import ast
import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from runtrue.fixers.search.doubts import doubted, guards_of
from runtrue.fixers.search.edit import Edit, Splice, overlap, splice
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.localise import Suspicion
from runtrue.fixers.search.operators import OPERATORS, POINTED, EditSite, Operator
from runtrue.fixers.search.priors import Priors
from runtrue.fixers.search.program import Function, Program

_SITES = (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.excepthandler)
#: The worth of a line that did not run, in a function that did.
_UNRUN = 0.05
#: The worth of a line that only runs where the module is run as a program.
_STARTED = 0.3
#: The worth of a module-level value, as a share of that of the lines that use it.
_DEFINED = 0.5
#: How much rarer the same mistake in two places is, and in each further one.
_EVERYWHERE, _FURTHER = 1.5, 1.2
#: Edits that are sorted at a time: a large program is not read as a whole.
_CHUNK = 6_000
#: So many are enough where the next place is that much less suspect.
_FIRST, _LESS = 1_000, 0.6
#: Edits after which the order of the rest is made again, and how much likelier those of a line are
#: where another has fixed a test.
_SLICE, _FIXES = 100, 4.0
_LEAST_GAIN = -0.7
#: The least worth of a line for what evidence points at, and how many of these come at once.
_POINTED_AT, _MOST_POINTED = 0.1, 150


#: A file, an offset in it, and a hash of the statement there.
Key = tuple[str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditSet:
    """One or more edits that are made together, and how unlikely they are: less is better."""

    edits: tuple[Edit, ...]
    cost: float

    @property
    def kind(self) -> str:
        """The kinds of its edits."""
        return "+".join(edit.kind for edit in self.edits)

    @property
    def says(self) -> str:
        """A description with its lines."""
        return "; ".join(f"{edit.says} in {edit.file}:{edit.line}" for edit in self.edits)

    @property
    def doubt(self) -> str | None:
        """The reason for which it would be a poor fix, if any."""
        return next((edit.doubt for edit in self.edits if edit.doubt), None)

    def texts(self, base: dict[str, str]) -> dict[str, str]:
        """Return the files it changes, with the edits made."""
        splices: defaultdict[str, list[Splice]] = defaultdict(list)
        for edit in self.edits:
            splices[edit.file] += edit.splices
        return {file: splice(base[file], made) for file, made in splices.items()}

    def with_(self, other: EditSet) -> EditSet | None:
        """Return both together; None if they overlap."""
        if any(overlap(a, b) for a in self.edits for b in other.edits):
            return None
        return EditSet(edits=(*self.edits, *other.edits), cost=self.cost + other.cost)


class Proposals:
    """The candidates for some files. Those that do not parse give none."""

    def __init__(
        self,
        texts: dict[str, str],
        suspicion: Suspicion,
        failures: Sequence[Failure],
        priors: Priors,
        operators: Sequence[Operator] = OPERATORS,
        strings: Sequence[str] = (),
    ) -> None:
        self._suspicion = suspicion
        self._failures = tuple(failures)
        self._priors = priors
        self._operators = operators
        self._strings = tuple(strings)
        self.programs: dict[str, Program] = {}
        for file, text in texts.items():
            try:
                self.programs[file] = Program(file, text)
            except (SyntaxError, ValueError, RecursionError):
                continue
        self._guards = {file: guards_of(one, self._failures) for file, one in self.programs.items()}
        self._seen: set[tuple[Key | None, ...]] = set()
        self._shapes: dict[tuple[str, int, int], str | None] = {}
        #: By function, how many edits were tried and how many changed the failure; the lines where
        #: one has fixed a test.
        self._effects: defaultdict[tuple[str, int, int], list[int]] = defaultdict(lambda: [0, 0])
        self._fixing: defaultdict[tuple[str, int], bool] = defaultdict(bool)
        self._places: dict[tuple[str, tuple[Splice, ...]], tuple[str, int, int]] = {}

    def singles(self) -> Iterator[EditSet]:
        """Yield candidates of one edit, or of the same edit everywhere in a function."""
        sites = sorted(self._sites(), key=lambda site: -site[0])
        # What evidence points at does not wait until all of a more suspect place has been tried.
        pointed = self._pointed(sites)
        chunk: list[EditSet] = []
        most = 0.0
        for worth, program, node in sites:
            is_less = len(chunk) >= _FIRST and worth < _LESS * most
            if len(chunk) >= _CHUNK or is_less:
                yield from self._ordered([*pointed, *chunk])
                pointed, chunk = [], []
            most = worth if not chunk else most
            edits = self._edits(program, node, self._operators)
            chunk += [self._weighed(edit, worth) for edit in edits]
        yield from self._ordered([*pointed, *chunk])

    def _pointed(self, sites: Iterable[tuple[float, Program, ast.AST]]) -> list[EditSet]:
        """Return the likeliest edits, wherever they are, that something points at."""
        found = [
            self._weighed(edit, worth)
            for worth, program, node in sites
            if worth >= _POINTED_AT
            for edit in self._edits(program, node, POINTED)
        ]
        return sorted(found, key=lambda one: one.cost)[:_MOST_POINTED]

    def _ordered(self, chunk: list[EditSet]) -> Iterator[EditSet]:
        chunk += self._everywhere(chunk)
        # The sort is stable: of equals, the more suspect and then the earlier place comes first.
        rest = sorted(chunk, key=lambda one: one.cost)
        while rest:
            yield from rest[:_SLICE]
            # What was tried meanwhile has shown which places matter.
            rest = sorted(rest[_SLICE:], key=lambda one: one.cost - self._gain(one))

    def learn(self, candidate: EditSet, *, changes: bool, fixes: bool) -> None:
        """Note a candidate that failed: whether it changes how, and whether it fixes some test."""
        for edit in candidate.edits:
            seen = self._effects[self._place(edit)]
            seen[0] += 1
            seen[1] += changes
            self._fixing[edit.file, edit.line] |= fixes

    def _gain(self, candidate: EditSet) -> float:
        """Return how much likelier a candidate is for what others in its place have shown."""
        edit = candidate.edits[0]
        tried, changed = self._effects[self._place(edit)]
        fixes = _FIXES if self._fixing[edit.file, edit.line] else 1.0
        # Where something is missing, no edit of what is there may change anything.
        return max(math.log(2 * fixes * (changed + 1) / (tried + 2)), _LEAST_GAIN)

    def _place(self, edit: Edit) -> tuple[str, int, int]:
        """Return the function that an edit is in; the module where it is in none."""
        key = edit.file, edit.splices
        if key not in self._places:
            body = self.programs[edit.file].body_around(edit) or (0, 0)
            self._places[key] = edit.file, *body
        return self._places[key]

    def is_new(self, candidate: EditSet) -> bool:
        """Return whether a candidate gives a valid program that no earlier one gave."""
        keys = [self._key(edit) for edit in candidate.edits]
        if None in keys:
            return False
        key = tuple(keys)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _key(self, edit: Edit) -> Key | None:
        """Return the statement that an edit changes and what it becomes, whatever its layout."""
        program = self.programs[edit.file]
        first, last = edit.splices[0].start, max(one.end for one in edit.splices)
        for start, end in program.pieces(first, last):
            old = self._shape(program, start, end)
            if old is None:
                continue
            inner = [replace(s, start=s.start - start, end=s.end - start) for s in edit.splices]
            new = _shape(splice(program.text[start:end], inner))
            # A statement that leaves its block shows only in the statements around it.
            if new is not None and new != old:
                return edit.file, start, hash(new)
        return None

    def _shape(self, program: Program, start: int, end: int) -> str | None:
        key = (program.file, start, end)
        if key not in self._shapes:
            self._shapes[key] = _shape(program.text[start:end])
        return self._shapes[key]

    # -- sites and their edits ------------------------------------------------------------------

    def _sites(self) -> Iterator[tuple[float, Program, ast.AST]]:
        for file in self._suspicion.files:
            program = self.programs.get(file)
            if program is None:
                continue
            ran = _functions_that_ran(program, self._suspicion)
            used = _suspicion_of_names(program, self._suspicion)
            for node in ast.walk(program.tree):
                if not isinstance(node, _SITES) or _is_docstring(program, node):
                    continue
                worth = max(self._worth(program, node), _DEFINED * _use_of(program, node, used))
                if not worth and _is_started(program, node):
                    worth = _STARTED
                if not worth and program.function_of(node) in ran:
                    worth = _UNRUN
                if worth:
                    yield worth, program, node

    def _worth(self, program: Program, node: ast.AST) -> float:
        """Return the suspicion of the most suspect line of the statement, or of its head."""
        statement = program.statement_of(node)
        first, last = _head(statement)
        own = range(node.lineno, (node.end_lineno or node.lineno) + 1)  # type: ignore[attr-defined]
        lines = own if isinstance(node, ast.expr) and last - first > 3 else range(first, last + 1)
        best = max((self._suspicion.of(program.file, line) for line in lines), default=0.0)
        return best or self._suspicion.of(program.file, first)

    def _edits(
        self, program: Program, node: ast.AST, operators: Sequence[Operator]
    ) -> Iterator[Edit]:
        others = tuple(one for one in self.programs.values() if one is not program)
        site = EditSite(
            program=program,
            node=node,
            failures=self._failures,
            others=others,
            strings=self._strings,
        )
        guards = self._guards.get(program.file, ())
        for operator in operators:
            edits = operator(site)
            yield from doubted(program, edits, guards, self._failures) if guards else edits

    def _weighed(self, edit: Edit, worth: float) -> EditSet:
        prior = self._priors.of(edit.kind)
        doubt = 3.0 if edit.doubt else 0.0
        cost = math.log(max(edit.unlikely, 0.1)) - math.log(prior) - math.log(worth) + doubt
        return EditSet(edits=(edit,), cost=cost)

    def _everywhere(self, singles: Iterable[EditSet]) -> Iterator[EditSet]:
        """Yield the same edit made everywhere in a function where it can be."""
        groups: defaultdict[tuple[object, ...], dict[int, EditSet]] = defaultdict(dict)
        for one in singles:
            edit = one.edits[0]
            program = self.programs[edit.file]
            if len(edit.splices) != 1 or edit.doubt:
                continue
            made = edit.splices[0]
            old = program.text[made.start : made.end]
            if not old or "\n" in old:
                continue
            scope = program.around(edit)[0]
            groups[edit.file, scope, edit.kind, old, made.text].setdefault(made.start, one)
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


def _is_docstring(program: Program, node: ast.AST) -> bool:
    # Docstrings are not edited: they may hold doctests, and those are judges.
    value = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        return False
    return isinstance(node, ast.Expr) or isinstance(program.parents.get(node), ast.Expr)


def _functions_that_ran(program: Program, suspicion: Suspicion) -> set[Function | None]:
    lines = suspicion.lines.get(program.file, {})
    found: set[Function | None] = set()
    for node in ast.walk(program.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0].lineno
            if any(first <= line <= (node.end_lineno or first) for line in lines):
                found.add(node)
    return found


def _suspicion_of_names(program: Program, suspicion: Suspicion) -> dict[str, float]:
    found: dict[str, float] = {}
    for node in ast.walk(program.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            worth = suspicion.of(program.file, node.lineno)
            found[node.id] = max(found.get(node.id, 0.0), worth)
    return found


def _use_of(program: Program, node: ast.AST, used: dict[str, float]) -> float:
    """Return the suspicion of the lines that use what a module-level statement defines."""
    statement = program.statement_of(node)
    if program.parents.get(statement) is not program.tree:
        return 0.0
    match statement:
        case ast.Assign(targets=targets):
            names = [one.id for one in targets if isinstance(one, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            names = [name]
        case _:
            return 0.0
    return max((used.get(name, 0.0) for name in names), default=0.0)


def _is_started(program: Program, node: ast.AST) -> bool:
    """Return whether a node runs only when its module is run as a program."""
    guard = program.parents.get(program.statement_of(node))
    return isinstance(guard, ast.If) and "__name__" in program.source(guard.test)


def _head(statement: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement, without its body."""
    body = getattr(statement, "body", None)
    end = statement.end_lineno or statement.lineno
    if isinstance(body, list) and body:
        end = max(statement.lineno, min(end, body[0].lineno - 1))
    return statement.lineno, end


def _shape(text: str) -> str | None:
    """Return a text's syntax tree; None if it is no program."""
    try:
        return ast.dump(ast.parse(textwrap.dedent(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
