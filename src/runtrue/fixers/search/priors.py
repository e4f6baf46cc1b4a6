"""Priors: which kinds of edits come first, by how tests fail and by verified fixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.messages import Sign
from runtrue.loop import Cause, cause_of_type

#: How likely a kind of edit is to be the right one, whatever the failure. Others have 1.
_USUAL: dict[str, float] = {
    # Hardly ever meant as they are, whatever fails: closures over the last value of a loop, loops
    # that end in their first round, exit codes that are dropped.
    **dict.fromkeys(("bind", "keep_looking", "exit"), 4.0),
    **dict.fromkeys(("comparison", "off_by_one"), 3.0),
    **dict.fromkeys(("arithmetic", "augmented", "boolean"), 2.5),
    **dict.fromkeys(("constant", "negation", "sibling", "index", "slice", "range"), 2.0),
    **dict.fromkeys(("finally", "round_up"), 2.0),
    **dict.fromkeys(("attribute", "argument_swap", "index_swap", "key", "await"), 2.0),
    **dict.fromkeys(("variable", "operand_swap", "tuple_swap", "string", "keep"), 1.5),
    **dict.fromkeys(("pattern", "copy", "only_none"), 1.5),
    **dict.fromkeys(("augment", "chain"), 1.2),
    **dict.fromkeys(("unwrap", "condition", "get", "guard", "branch", "jump"), 0.8),
    **dict.fromkeys(("move_in", "move_out", "comprehension", "convert"), 0.8),
    **dict.fromkeys(("wrap", "term_add", "scale", "subscript", "move", "else", "star"), 0.6),
    **dict.fromkeys(("condition_add", "delete", "end_block", "begin"), 0.5),
    **dict.fromkeys(("borrow", "clamp", "base_case", "yield", "result", "instead"), 0.3),
    **dict.fromkeys(("expected", "catch", "try"), 0.1),
}
#: How much likelier a kind is where tests fail in a certain way.
_TELLING: dict[Cause, dict[str, float]] = {
    Cause.MISSING_NAME: {
        **dict.fromkeys(("name", "undefined", "import"), 20.0),
        **dict.fromkeys(("foreign", "self", "attribute"), 6.0),
        **dict.fromkeys(("absent", "instead", "declare", "begin"), 4.0),
        **dict.fromkeys(("parameter", "target", "other_call"), 10.0),
    },
    Cause.MISSING_MEMBER: {
        **dict.fromkeys(("missing_attribute", "key"), 20.0),
        **dict.fromkeys(("foreign", "get", "sibling"), 5.0),
        **dict.fromkeys(("guard", "begin", "absent", "self"), 3.0),
    },
    Cause.NULL_ACCESS: {
        **dict.fromkeys(("guard", "return", "in_place", "keep"), 8.0),
        **dict.fromkeys(("default", "get", "await", "convert"), 4.0),
    },
    Cause.TYPE_MISMATCH: {
        **dict.fromkeys(("arguments", "await", "call", "self", "in_place", "use"), 8.0),
        **dict.fromkeys(("convert", "decorate", "foreign", "default", "star"), 5.0),
        **dict.fromkeys(("subscript", "wrap", "unwrap", "get"), 2.0),
    },
    Cause.OUT_OF_RANGE: {
        **dict.fromkeys(("off_by_one", "index", "range", "guard"), 3.0),
        **dict.fromkeys(("comparison", "slice", "condition_add"), 2.0),
    },
    Cause.ARITHMETIC: {"guard": 6.0, "clamp": 4.0},
    Cause.RECURSION: {"base_case": 6.0, "off_by_one": 2.0, "comparison": 2.0},
    Cause.TIMEOUT: {
        **dict.fromkeys(("count_on", "augmented", "end_block"), 4.0),
        **dict.fromkeys(("comparison", "off_by_one", "condition", "jump"), 2.0),
    },
    Cause.BAD_ARGUMENT: {
        **dict.fromkeys(("convert", "default"), 3.0),
        **dict.fromkeys(("guard", "string", "raise"), 2.0),
    },
}
#: The weight of one verified fix of a kind against these numbers.
_LEARNT = 0.25


@dataclass(frozen=True, slots=True)
class Priors:
    """How likely each kind of edit is. `held` counts the verified fixes by cause and kind."""

    causes: tuple[Cause, ...] = ()
    held: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def for_(cls, failures: Iterable[Failure], held: Mapping[tuple[str, str], int]) -> Priors:
        """Return the priors for some failing tests."""
        return cls(tuple(sorted({cause_of_failure(one) for one in failures})), held)

    def of(self, kind: str) -> float:
        """Return how likely a kind is, compared with others."""
        usual = _USUAL.get(kind, 1.0)
        telling = max((_TELLING.get(c, {}).get(kind, 1.0) for c in self.causes), default=1.0)
        held = sum(self.held.get((cause, kind), 0) for cause in self.causes)
        return usual * telling * (1.0 + _LEARNT * held)


def cause_of_failure(failure: Failure) -> Cause:
    """Return the kind of mistake that a failing test points to."""
    if failure.timed_out:
        return Cause.TIMEOUT
    if failure.says(Sign.NONE) and failure.exception in ("AttributeError", "TypeError"):
        return Cause.NULL_ACCESS
    return cause_of_type(failure.exception)
