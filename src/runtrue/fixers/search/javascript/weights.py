"""Weights: how likely each kind of edit is, by how the tests fail and by verified fixes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Failure
from runtrue.loop import Cause, cause_of_type

#: Whatever the failure. Others have 1.
_USUAL: dict[str, float] = {
    **dict.fromkeys(("comparison", "off_by_one"), 3.0),
    **dict.fromkeys(("boolean", "arithmetic", "augmented", "call", "falsy"), 2.5),
    **dict.fromkeys(("constant", "negation", "attribute", "argument_swap", "iterate"), 2.0),
    **dict.fromkeys(("type_guard", "pattern", "await", "return", "else"), 2.0),
    **dict.fromkeys(("variable", "string", "operand_swap", "copy", "jump", "declare"), 1.5),
    **dict.fromkeys(("self", "keep", "move_out"), 1.5),
    **dict.fromkeys(("guard", "optional", "convert", "default", "move", "flow"), 0.8),
    **dict.fromkeys(("condition_add", "delete", "unwrap", "wrap", "term_add"), 0.5),
    **dict.fromkeys(("insert", "spread", "conditional"), 1.0),
    **dict.fromkeys(("tail", "near", "predicate"), 0.6),
    **dict.fromkeys(("borrow", "result", "arguments", "star", "move_in"), 0.4),
}
#: How a message begins to say what is wrong, and the kinds that it makes likelier.
_TELLING: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    (r"Cannot (?:read|set) propert|(?:null|undefined) \(reading", 8.0, ("guard", "optional")),
    (
        r"Cannot (?:read|set) propert|(?:null|undefined) \(reading",
        4.0,
        ("default", "condition_add"),
    ),
    (r"Cannot (?:read|set) propert", 3.0, ("return", "self", "attribute", "off_by_one", "await")),
    (r"Cannot convert undefined or null", 6.0, ("guard", "default")),
    (r"is not defined", 10.0, ("variable", "self", "declare")),
    (r"is not a function", 6.0, ("attribute", "call", "self", "copy", "convert", "iterate")),
    (r"is not iterable", 6.0, ("copy", "iterate", "default", "call", "guard", "optional")),
    (r"Assignment to constant", 20.0, ("declare",)),
    (r"before initialization", 5.0, ("move", "variable")),
    (r"Promise|async", 5.0, ("await",)),
    (r"Maximum call stack", 4.0, ("guard", "comparison", "off_by_one")),
    (r"NaN", 2.0, ("default", "guard", "convert", "constant", "falsy")),
    (r"proto|pollut", 5.0, ("guard", "condition_add")),
    (r"frozen|read only|mutat", 4.0, ("copy", "call")),
)
_LEARNT = 0.25
_HANGING = frozenset(("augmented", "off_by_one", "comparison", "borrow"))


@dataclass(frozen=True)
class Weights:
    """How likely each kind of edit is. `held` counts the verified fixes by cause and kind."""

    failures: Sequence[Failure] = ()
    held: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """What the failing tests point to."""
        return tuple(sorted({_cause(one) for one in self.failures}))

    @cached_property
    def _telling(self) -> dict[str, float]:
        """How much likelier the messages make each kind."""
        found: dict[str, float] = {}
        if any(one.timed_out for one in self.failures):
            found = dict.fromkeys(_HANGING, 2.0)
        for pattern, times, kinds in _TELLING:
            if any(re.search(pattern, one.message) for one in self.failures):
                found |= {kind: max(times, found.get(kind, 1.0)) for kind in kinds}
        return found

    def of(self, edit: Edit) -> float:
        """Return how likely an edit's kind is, compared with others."""
        weight = _USUAL.get(edit.kind, 1.0) * self._telling.get(edit.kind, 1.0)
        held = sum(self.held.get((str(cause), edit.kind), 0) for cause in self.causes)
        return weight * (1.0 + _LEARNT * held)


def _cause(failure: Failure) -> Cause:
    if failure.timed_out:
        return Cause.TIMEOUT
    if re.search(r"of (?:undefined|null)\b", failure.message):
        return Cause.NULL_ACCESS
    return cause_of_type(failure.exception)
