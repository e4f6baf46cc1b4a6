"""Localise the fault: how suspect the failing tests make each line of the program."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from runtrue.fixers.search.evidence import Baseline, Failure, MeasuredTest

#: The worth of the innermost frame of a failure, and the factor for each frame further out.
_INNERMOST = 1.0
_OUTWARDS = 0.7
#: The worth of a line that an import ran, when something fails.
_IMPORTED = 0.08
#: The least worth of the most suspect line: one that the failing tests ran.
_MOST_SUSPECT = 0.8
#: The share of a line's worth where an exception names another one.
_ELSEWHERE = 0.6
#: Lines next to that of a frame: a statement may begin before the line that is named.
_BESIDE = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """How suspect each line is, by file: more than 0, and at most 1."""

    lines: dict[str, dict[int, float]]

    @property
    def files(self) -> list[str]:
        """The files with suspect lines, the most suspect first."""
        most = {file: max(lines.values()) for file, lines in self.lines.items() if lines}
        return sorted(most, key=lambda file: (-most[file], file))

    def of(self, file: str, line: int) -> float:
        """Return how suspect a line is; 0 when nothing speaks against it."""
        return self.lines.get(file, {}).get(line, 0.0)

    def top(self, count: int) -> list[tuple[str, int, float]]:
        """Return the most suspect lines, with file and suspicion."""
        every = [(f, n, s) for f, lines in self.lines.items() for n, s in lines.items()]
        return sorted(every, key=lambda one: (-one[2], one[0], one[1]))[:count]


def suspicion(
    baseline: Baseline,
    targets: Collection[str],
    editable: Collection[str],
    imports: Mapping[str, Collection[int]] | None = None,
) -> Suspicion:
    """Rank the lines of the editable files by what the target tests ran and the others did not.

    Ochiai's measure, widened by the frames of the failures: a line in the innermost frame of a
    failure is worth as much as one that just the failing tests ran. `imports` are the lines by file
    that run on import: a test that is the first to import a module says little about them.
    """
    failing = [case for case in baseline.cases if case.test in targets]
    passing = [case for case in baseline.cases if case.passed and case.lines is not None]
    allowed = set(editable)
    scores = _ochiai(failing, passing, allowed)
    for file, lines in (imports or {}).items():
        for line in scores[file].keys() & set(lines):
            scores[file][line] = min(scores[file][line], _IMPORTED)
    failures = [case.failure for case in failing if case.failure is not None]
    if failures and all(_raises_in(one, allowed) for one in failures):
        for lines in scores.values():
            lines.update({line: _ELSEWHERE * score for line, score in lines.items()})
    for failure in failures:
        _widen(scores, failure)
    for file, lines in baseline.imported.items():
        for line in lines:
            scores[file][line] = max(scores[file].get(line, 0.0), _IMPORTED)
    return Suspicion(lines={f: dict(lines) for f, lines in scores.items() if f in allowed})


def _raises_in(failure: Failure, files: Collection[str]) -> bool:
    """Return whether a test fails at an exception of the program, not at what it compares."""
    inner = failure.frames[-1].file if failure.frames else None
    return inner in files and failure.exception != "AssertionError"


def _ochiai(
    failing: list[MeasuredTest], passing: list[MeasuredTest], files: Collection[str]
) -> defaultdict[str, dict[int, float]]:
    """Return Ochiai's measure of each line, made larger where all are small."""
    bad, good = _counts(failing), _counts(passing)
    scores: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for (file, line), count in bad.items():
        if file in files:
            ran = count + good[file, line]
            scores[file][line] = count / math.sqrt(len(failing) * ran)
    # Many passing tests make all of them small, which says nothing about their order.
    most = max((max(lines.values()) for lines in scores.values()), default=1.0)
    times = max(1.0, _MOST_SUSPECT / most)
    for lines in scores.values():
        lines.update({line: times * score for line, score in lines.items()})
    return scores


def _counts(cases: list[MeasuredTest]) -> Counter[tuple[str, int]]:
    return Counter(
        (file, line)
        for case in cases
        for file, lines in (case.lines or {}).items()
        for line in lines
    )


def _widen(scores: defaultdict[str, dict[int, float]], failure: Failure) -> None:
    worth = _INNERMOST
    for frame in reversed(failure.frames):
        for line, share in (
            (frame.line, 1.0),
            (frame.line - 1, _BESIDE),
            (frame.line + 1, _BESIDE),
        ):
            known = scores[frame.file]
            # The next line is only suspect where something ran there.
            if share == 1.0 or line in known:
                known[line] = max(known.get(line, 0.0), worth * share)
        worth *= _OUTWARDS
