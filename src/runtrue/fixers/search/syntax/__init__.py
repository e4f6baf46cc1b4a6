"""SyntaxFix of programs that do not parse, by small edits of their tokens and lines."""

from __future__ import annotations

from runtrue.fixers.search.syntax.damage import parses
from runtrue.fixers.search.syntax.repair import SyntaxFix
from runtrue.fixers.search.syntax.window import repairs

__all__ = ["SyntaxFix", "parses", "repairs"]
