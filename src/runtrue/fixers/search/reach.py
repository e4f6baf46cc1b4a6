"""Reach: the passing tests that an edit can affect, by the lines that they ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from runtrue.fixers.search.evidence import Baseline
from runtrue.fixers.search.program import Program
from runtrue.fixers.search.proposals import EditSet


class TestReach:
    """The passing tests of a baseline, by the lines of each file that they ran."""

    __test__ = False

    def __init__(self, baseline: Baseline, programs: Mapping[str, Program]) -> None:
        self._programs = programs
        self._passing = [case.test for case in baseline.cases if case.passed]
        self._untraced = [c.test for c in baseline.cases if c.passed and c.lines is None]
        self._ran: defaultdict[str, defaultdict[int, set[str]]]
        self._ran = defaultdict(lambda: defaultdict(set))
        for case in baseline.cases:
            for file, lines in (case.lines or {}).items() if case.passed else ():
                for line in lines:
                    self._ran[file][line].add(case.test)
        self._known: dict[tuple[str, int, int], frozenset[str]] = {}

    def bodies(self, candidates: Iterable[EditSet]) -> dict[str, list[tuple[int, int]]]:
        """Return the lines of the functions that candidates change, by file."""
        found: dict[str, dict[tuple[int, int], None]] = {}
        for edit in (edit for one in candidates for edit in one.edits):
            program = self._programs.get(edit.file)
            body = program.body_around(edit) if program is not None else None
            if body is not None:
                found.setdefault(edit.file, {})[body] = None
        return {file: list(bodies) for file, bodies in found.items()}

    def tests(self, candidate: EditSet) -> list[str]:
        """Return the passing tests to run on a candidate: all, unless it only changes functions."""
        affected = set(self._untraced)
        for edit in candidate.edits:
            program = self._programs.get(edit.file)
            body = program.body_around(edit) if program is not None else None
            if body is None or edit.file not in self._ran:
                return self._passing
            key = edit.file, *body
            if key not in self._known:
                lines = self._ran[edit.file]
                hits = (lines[n] for n in range(body[0], body[1] + 1) if n in lines)
                self._known[key] = frozenset().union(*hits)
            affected |= self._known[key]
        return [test for test in self._passing if test in affected]

    def witnesses(self, candidate: EditSet) -> int:
        """Count the passing tests that ran a line which a candidate changes, not only its function.

        What is outside of functions ran for all of them.
        """
        found: set[str] = set()
        for edit in candidate.edits:
            program = self._programs.get(edit.file)
            if program is None or program.body_around(edit) is None:
                return len(self._passing)
            found |= self._ran[edit.file].get(edit.line, set())
        return len(found)
