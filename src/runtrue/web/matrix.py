"""The matrix of tests and attempts: what was red, and when it turned green."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtrue.code import AttemptReport, CodeReport, VerdictReport
from runtrue.loop import Finding
from runtrue.plan import PlanAttempt, PlanReport, PlanVerdict

#: More tests than these are counted, not drawn.
_MOST_ROWS = 60


@dataclass(frozen=True, slots=True)
class TestedCandidate:
    """What one check said of one candidate, of any kind of report."""

    check: str
    passed: bool
    failing: frozenset[str]
    known: frozenset[str]
    flaky: frozenset[str]
    cases: dict[str, int]
    partial: bool
    mode: str


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """One attempt."""

    label: str
    note: str
    passed: bool
    anchor: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A check, or a test of it that failed in some attempt, with an outcome for each attempt."""

    name: str
    outcomes: tuple[str, ...]
    notes: tuple[str, ...]
    is_check: bool = False
    mode: str = ""

    @property
    def turned_green(self) -> bool:
        """True if it failed first and passes now."""
        known = [outcome for outcome in self.outcomes if outcome != "not run"]
        return bool(known) and known[0] == "failed" and known[-1] == "passed"


@dataclass(frozen=True, slots=True)
class Matrix:
    """All checks and all tests that ever failed, over all attempts."""

    columns: tuple[MatrixColumn, ...]
    rows: tuple[MatrixRow, ...]
    left_out: int = 0


def matrix_of(report: CodeReport | PlanReport) -> Matrix:
    """Return the matrix of a report."""
    columns, tested = [], []
    attempts: Sequence[AttemptReport | PlanAttempt] = report.attempts
    for index, attempt in enumerate(attempts):
        step = getattr(attempt, "step", None)
        again = " (again)" if getattr(attempt, "recheck", False) else ""
        label = f"{step} · {attempt.number}" if step else f"{attempt.number}{again}"
        fix = attempt.fix
        note = (
            ", ".join(dict.fromkeys(p.fixer for p in fix.parts if p.files))
            if fix
            else "step"
            if step
            else "before"
        )
        columns.append(MatrixColumn(label, note, attempt.passed, f"attempt-{index + 1}"))
        tested.append({one.check: one for one in map(_tested, attempt.verdicts)})
    rows: list[MatrixRow] = []
    left_out = 0
    for check in dict.fromkeys(name for one in tested for name in one):
        verdicts = [one.get(check) for one in tested]
        rows.append(_check_row(check, verdicts))
        tests = dict.fromkeys(name for v in verdicts if v for name in sorted(v.failing | v.flaky))
        tests.pop(check, None)  # a check without named tests calls itself so
        shown = list(tests)[: max(0, _MOST_ROWS - len(rows))]
        left_out += len(tests) - len(shown)
        rows += [_test_row(test, verdicts) for test in shown]
    return Matrix(tuple(columns), tuple(rows), left_out)


def _tested(verdict: VerdictReport | PlanVerdict) -> TestedCandidate:
    failing, cases, mode = _names(verdict.findings), verdict.cases, verdict.mode
    if isinstance(verdict, PlanVerdict):
        name, known, flaky, partial = verdict.validation, _names(()), _names(()), False
    else:
        name, partial = verdict.check, verdict.partial
        known, flaky = _names(verdict.known), _names(verdict.flaky)
    return TestedCandidate(name, verdict.passed, failing, known, flaky, cases, partial, mode)


def _names(findings: Iterable[Finding]) -> frozenset[str]:
    return frozenset(f.location.symbol for f in findings if f.location.symbol)


def _check_row(check: str, verdicts: Sequence[TestedCandidate | None]) -> MatrixRow:
    outcomes, notes = [], []
    for verdict in verdicts:
        if verdict is None:
            outcomes.append("not run")
            notes.append("")
            continue
        total = sum(verdict.cases.values())
        passed = verdict.cases.get("passed", 0)
        outcomes.append("passed" if verdict.passed else "failed")
        partly = " of those that failed" if verdict.partial else ""
        notes.append(f"{passed}/{total}{partly}" if total else "")
    mode = next((verdict.mode for verdict in verdicts if verdict), "")
    return MatrixRow(check, tuple(outcomes), tuple(notes), is_check=True, mode=mode)


def _test_row(test: str, verdicts: Sequence[TestedCandidate | None]) -> MatrixRow:
    outcomes = tuple(_outcome(test, verdict) for verdict in verdicts)
    return MatrixRow(test, outcomes, ("",) * len(outcomes))


def _outcome(test: str, verdict: TestedCandidate | None) -> str:
    if verdict is None:
        return "not run"
    if test in verdict.flaky:
        return "flaky"
    if test in verdict.failing:
        return "failed"
    if test in verdict.known:
        return "known"
    return "not run" if verdict.partial and not verdict.passed else "passed"
