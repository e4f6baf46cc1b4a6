"""Operators: the kinds of small edits that are tried, each explainable as a mistake people make."""

from runtrue.fixers.search.operators import (
    characters,
    expressions,
    parallels,
    parameters,
    refusals,
    siblings,
    statements,
    transforms,
    type_tests,
    unread,
)
from runtrue.fixers.search.operators.rules import ExpressionRule
from runtrue.fixers.search.operators.seam import EditSite, Operator

#: All operators; the order is that of equals in the search.
OPERATORS: tuple[Operator, ...] = (*expressions.EXPRESSIONS, *statements.STATEMENTS)
#: Those of them that propose little, and only what the failing tests or the code beside point at.
POINTED: tuple[Operator, ...] = (
    *(transforms.transformed, transforms.begins_with, characters.one_more),
    *(*parameters.PARAMETERS, *refusals.REFUSALS, *parallels.PARALLEL_STATEMENTS),
    *(parallels.flagged, parallels.like_parallel),
    *(
        type_tests.wider_isinstance,
        type_tests.converted_if,
        unread.use_unread,
        unread.hungry_attribute,
        unread.unset_attribute,
        siblings.same_for_parameter,
    ),
)
#: What each kind of edit is, by its name.
KINDS: dict[str, str] = {**expressions.KINDS, **statements.KINDS}
#: The operators that are data: the docs list them.
RULES = tuple(one for one in expressions.ALL if isinstance(one, ExpressionRule))

__all__ = ["KINDS", "OPERATORS", "POINTED", "RULES", "EditSite", "Operator"]
