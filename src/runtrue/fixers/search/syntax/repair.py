"""Repair: the readings of a text that does not parse, the likeliest first.

Each step fixes one thing; a step counts if the text then parses, or Python comes further than
before. What costs least is tried first, so that one small edit is found before two. What
parses is held back until nothing cheaper can come, and ordered by how much sense it makes.
"""

from __future__ import annotations

import ast
import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from runtrue.fixers.search.edit import Splice, splice
from runtrue.fixers.search.messages import Sign
from runtrue.fixers.search.syntax import (
    brackets,
    foreign,
    layout,
    near,
    sense,
    strings,
    whole,
    words,
)
from runtrue.fixers.search.syntax.damage import Damage, Patch, Rule, judged
from runtrue.fixers.search.syntax.diff import splices_between

RULES: tuple[Rule, ...] = (
    *(whole.fences, whole.conflicts, whole.margins, whole.prologue),
    *(strings.odd_characters, strings.backslashes, strings.quotes),
    *(brackets.unclosed, brackets.unopened, brackets.definitions, brackets.fields),
    *(near.colons, near.equals, foreign.operators, foreign.comments, foreign.braces),
    *(words.keywords, layout.indentation, near.holes, near.around),
)
_TRIES = 4000  # a bound that does not depend on how fast the machine is
_AGAIN = 0.3  # of its cost is what a step costs that was made on another line already
_BELOW = 0.5  # of its cost is what a step costs that fixes all of its line
_ODD_STEPS = 4  # of the kinds that may come anywhere, how many are made
_DEPTH = 40
_ALIKE = 2  # texts that are looked into of those that have the same damage left
_WAITING = 30
#: Kinds that may come anywhere; that one was made is no reason to make it again.
_ODD = {
    *("dropped token", "another token", "order", "missing operator", "commented out"),
    *("dropped line", "comma", "missing keyword", "header", "body", "reserved word", "space"),
    *("comment mark", "uncommented", "prose", "backslash", "digit", "long string"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxFix:
    """A text that parses, and how it was made of one that does not.

    `splices` are against the damaged text. `unlikely` is what its steps cost: about 0.5 for a
    colon put in, 1 to 2 for most single edits.
    """

    text: str
    splices: tuple[Splice, ...]
    says: str
    unlikely: float
    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class _Applied:
    """A step that was made, and how many lines lay below it."""

    step: Patch
    below: int


@dataclass(frozen=True, slots=True)
class _Rest:
    """A text that is fixed down to some line, and what it cost to come there."""

    head: str
    cost: float
    path: tuple[_Applied, ...]


@dataclass(order=True, slots=True)
class _Try:
    """A text to look at: what it costs, the steps that led to it, and where it comes from."""

    cost: float
    order: int
    path: tuple[_Applied, ...] = field(compare=False)
    parent: Damage | None = field(compare=False, default=None)
    text: str | None = field(compare=False, default=None)
    spent: float = field(compare=False, default=0.0)
    #: The texts on the way that were the first with their damage.
    keys: tuple[tuple[str, _Rest], ...] = field(compare=False, default=())


def search(text: str, *, limit: int, seconds: float) -> Iterator[SyntaxFix]:
    """The readings of one text, all of which is looked at with each try."""
    deadline = time.monotonic() + seconds
    error, tree = judged(text)
    if error is None:
        return
    state = _Frontier(text)
    state.expand(Damage(text, error, has_tree=tree is not None), 0.0, (), ())
    given = 0
    while state.todo and state.tries < _TRIES and time.monotonic() < deadline:
        one = heapq.heappop(state.todo)
        for repair in state.ready(one.cost):
            yield repair
            given += 1
            if given >= limit:
                return
        state.look(one)
    for repair in state.ready(None):
        yield repair
        given += 1
        if given >= limit:
            return


class _Frontier:
    """The texts that were tried, and those that wait to be."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tries = 0
        self.todo: list[_Try] = []
        self._order = 0
        self._seen = {text}
        self._done: list[tuple[float, int, SyntaxFix]] = []
        self._least: float | None = None
        self._alike: dict[str, int] = {}
        self._waiting: dict[str, list[_Rest]] = {}

    def ready(self, cost: float | None) -> Iterator[SyntaxFix]:
        """Yield what parses and cannot be beaten by anything that costs so much or more."""
        base = self._least or 0.0
        while self._done and (cost is None or self._done[0][0] - base <= cost):
            yield heapq.heappop(self._done)[2]

    def expand(
        self,
        damage: Damage,
        cost: float,
        path: tuple[_Applied, ...],
        keys: tuple[tuple[str, _Rest], ...],
    ) -> None:
        """Put up all steps from here, unless others with the same damage left went ahead."""
        start = damage.start(damage.line)
        key = f"{damage.message}\n{damage.text[start:]}"
        rest = _Rest(damage.text[:start], cost, path)
        self._alike[key] = self._alike.get(key, 0) + 1
        if self._alike[key] > _ALIKE:
            waiting = self._waiting.setdefault(key, [])
            if len(waiting) < _WAITING:
                waiting.append(rest)
            return
        below = len(damage.lines) - damage.line
        kinds = {one.step.kind for one in path if one.below != below} - _ODD
        odd = sum(one.step.kind in _ODD for one in path)
        for rule in RULES:
            for step in rule(damage):
                if step.kind in _ODD and odd >= _ODD_STEPS:
                    continue
                price = step.cost * (_AGAIN if step.kind in kinds else 1.0)
                made = (*path, _Applied(step, below))
                self._put(cost + price, made, damage, spent=cost, keys=(*keys, (key, rest)))

    def _put(
        self,
        cost: float,
        path: tuple[_Applied, ...],
        parent: Damage | None = None,
        *,
        text: str | None = None,
        spent: float = 0.0,
        keys: tuple[tuple[str, _Rest], ...] = (),
    ) -> None:
        self._order += 1
        heapq.heappush(self.todo, _Try(cost, self._order, path, parent, text, spent, keys))

    def look(self, one: _Try) -> None:
        """See what a text is good for: done, a step further, or nothing."""
        step = one.path[-1].step
        new = one.text
        if new is None and one.parent is not None:
            new = splice(one.parent.text, step.splices)
        if new is None or new in self._seen:
            return
        self._seen.add(new)
        self.tries += 1
        wrong, tree = judged(new)
        if wrong is None and tree is not None:
            self._finish(new, tree, one)
        elif wrong is not None and one.parent is not None and len(one.path) < _DEPTH:
            damage = Damage(new, wrong, has_tree=tree is not None)
            if _comes_further(one.parent, damage, step):
                price = one.cost - one.spent
                if _below(one.parent, damage, step):
                    price *= _BELOW
                self.expand(damage, one.spent + price, one.path, one.keys)

    def _finish(self, new: str, tree: ast.Module, one: _Try) -> None:
        odd = sense.oddity(tree)
        self._least = odd if self._least is None else min(self._least, odd)
        repair = _repair(self.text, new, one)
        heapq.heappush(self._done, (one.cost + odd, one.order, repair))
        names = words.foreign_names(new, sense.unbound(tree))
        if names:
            step = Patch(names, -0.2, "foreign names", "names as Python has them")
            self._put(one.cost - 0.2, (*one.path, _Applied(step, 0)), text=splice(new, names))
        # Those that wait have the same damage left, for which there is a remedy now.
        for key, first in one.keys[1:]:
            if new.startswith(first.head):
                for rest in self._waiting.get(key, ()):
                    cost = rest.cost + one.cost - first.cost
                    path = (*rest.path, *one.path[len(first.path) :])
                    self._put(cost, path, text=rest.head + new[len(first.head) :])


def _comes_further(before: Damage, after: Damage, step: Patch) -> bool:
    if after.phase != before.phase and 3 in (after.phase, before.phase):
        return after.phase == 3
    below = _below(before, after, step)
    if before.phase >= 2:
        return after.left < before.left and (after.phase >= before.phase or below)
    if after.phase == before.phase:
        return after.left < before.left
    if before.phase == 0 and after.phase == 1:
        return True
    if after.phase < before.phase:
        return below
    return below or (
        before.phase == 1 and after.says(Sign.COLON_EXPECTED) and after.line >= before.line
    )


def _below(before: Damage, after: Damage, step: Patch) -> bool:
    """True if what is wrong after a step is on a line below all that it changed."""
    edited = before.line_of(max(one.end for one in step.splices))
    return after.left < len(before.text) - before.end(max(edited, before.line))


def _repair(old: str, new: str, one: _Try) -> SyntaxFix:
    said: dict[str, int] = {}
    for made in one.path:
        said[made.step.says] = said.get(made.step.says, 0) + 1
    says = "; ".join(what if n == 1 else f"{what} ({n} times)" for what, n in said.items())
    splices = splices_between(old, new)
    return SyntaxFix(
        text=new,
        splices=splices,
        says=says,
        unlikely=round(max(one.cost, 0.1), 3),
        kind=one.path[0].step.kind,
        line=old.count("\n", 0, splices[0].start) + 1,
    )
