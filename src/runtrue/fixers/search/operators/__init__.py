"""Operators: the kinds of small edits that are tried, each explainable as a mistake people make."""

from runtrue.fixers.search.operators import expressions, statements
from runtrue.fixers.search.operators.seam import EditSite, Operator

#: All operators; the order is that of equals in the search.
OPERATORS: tuple[Operator, ...] = (*expressions.EXPRESSIONS, *statements.STATEMENTS)
#: What each kind of edit is, by its name.
KINDS: dict[str, str] = {**expressions.KINDS, **statements.KINDS}

__all__ = ["KINDS", "OPERATORS", "EditSite", "Operator"]
