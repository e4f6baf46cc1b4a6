"""Repair of programs that do not parse, by small edits of their tokens and lines."""

from __future__ import annotations

from runtrue.fixers.search.syntax.damage import parses
from runtrue.fixers.search.syntax.repair import Repair
from runtrue.fixers.search.syntax.window import repairs

__all__ = ["Repair", "parses", "repairs"]
