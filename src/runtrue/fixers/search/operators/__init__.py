"""Operators: the kinds of small edits that are tried, each explainable as a mistake people make."""

from runtrue.fixers.search.operators import expressions, statements
from runtrue.fixers.search.operators.rules import Rule
from runtrue.fixers.search.operators.seam import EditSite, Operator

#: All operators; the order is that of equals in the search.
OPERATORS: tuple[Operator, ...] = (*expressions.EXPRESSIONS, *statements.STATEMENTS)
#: What each kind of edit is, by its name.
KINDS: dict[str, str] = {**expressions.KINDS, **statements.KINDS}
#: The operators that are data: the docs list them.
RULES = tuple(one for one in expressions.ALL if isinstance(one, Rule))

__all__ = ["KINDS", "OPERATORS", "RULES", "EditSite", "Operator"]
