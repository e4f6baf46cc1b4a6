"""The gate `coverage`: whether the tests run enough of the code, for the type of code it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path

from runtrue.checks import (
    Coverage,
    FileCoverage,
    Language,
    language_of,
    lines_with_code,
    load_measured,
)
from runtrue.loop import (
    COVERAGE_UNMET,
    MATCH,
    CodeType,
    Fault,
    Finding,
    Location,
    Mode,
    Trial,
    Verdict,
    Workplace,
)
from runtrue.sandbox import TreeSandbox, is_test

#: The check's and the finding's name when nothing could be measured.
UNKNOWN = "coverage_unknown"
NAME = "coverage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How much of something was run, and which lines were not, by file."""

    percent: float | None
    missing: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageGate:
    """Holds the candidate to a minimum of coverage: of the artifact, or of what was changed.

    Without an artifact, as when a whole change is judged, it is the changed lines that count.
    """

    sandbox: TreeSandbox
    #: The lines of a candidate that are changed, by file.
    changed: Callable[[str], Mapping[str, frozenset[int]]]
    #: The checks that measure.
    checks: tuple[str, ...]
    minimum: float
    code_type: CodeType
    #: As seen from the project.
    artifact: str | None = None
    #: What is not known fails; otherwise it is only said.
    strict: bool = False
    name: str = NAME
    mode: Mode = Mode.REQUIRED

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Compare what was measured with what is required."""
        coverage, trouble = self._measured(workplace)
        changed = {
            file: lines for file, lines in self.changed(trial.candidate).items() if is_source(file)
        }
        if coverage is None:
            return self._unknown(trouble or "nothing measured it", needed=bool(changed))
        if self.minimum == MATCH:
            return self._matched(coverage, trial)
        subject, share = self._share(coverage, changed, workplace.root)
        if share.percent is None or share.percent >= self.minimum:
            return self._passed(coverage, f"{subject}: {_shown(share.percent)}")
        return self._failed(coverage, subject, share, self.minimum)

    @property
    def _rooted(self) -> str | None:
        return self.sandbox.rooted(self.artifact) if self.artifact else None

    def _measured(self, workplace: Workplace) -> tuple[Coverage | None, str | None]:
        """What all checks measured together, or why none could."""
        measured = [load_measured(workplace.scratch, check) for check in self.checks]
        found = [one.coverage for one in measured if one and one.coverage]
        if found:
            return reduce(or_, found), None
        return None, next((one.why_not for one in measured if one and one.why_not), None)

    def _share(
        self, coverage: Coverage, changed: Mapping[str, frozenset[int]], root: Path
    ) -> tuple[str, Share]:
        """What is measured for this type of code, and how much of it was run."""
        artifact = self._rooted
        is_new = artifact is not None and self.sandbox.original(artifact) is None
        whole = is_new or artifact not in changed
        if artifact is not None and whole and self.code_type is not CodeType.BUG_FIX:
            missing = {artifact: _missing(coverage, artifact)}
            return artifact, Share(percent=_percent(coverage, artifact), missing=missing)
        return "the changed lines", _share_of(coverage, changed, root)

    def _matched(self, coverage: Coverage, trial: Trial) -> Verdict:
        """Not below what it was before."""
        files = [self._rooted] if self._rooted else sorted(coverage.files)
        before = _before(trial, files)
        now = coverage.percent([file for file in files if file in coverage.files])
        # A last digit of rounding is no loss.
        if before is None or (now is not None and now >= before - 0.005):
            was = _shown(before)
            return self._passed(coverage, f"{_shown(now)} now, {was} before")
        share = Share(percent=now or 0.0, missing={f: _missing(coverage, f) for f in files})
        return self._failed(coverage, files[0], share, before)

    def _passed(self, coverage: Coverage, said: str) -> Verdict:
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=True,
            output=said,
            coverage=self._counts(coverage),
        )

    def _failed(self, coverage: Coverage, subject: str, share: Share, required: float) -> Verdict:
        where = "; ".join(f"{file}: {ranges(lines)}" for file, lines in share.missing.items())
        message = (
            f"the tests run {_shown(share.percent)} of {subject}, {required:g} % are required"
            f"{f'; never run: {where}' if where else ''}"
        )
        file, lines = next(iter(share.missing.items()), (self._rooted, ()))
        finding = Finding(
            source=self.name,
            category=COVERAGE_UNMET,
            message=message,
            fault=Fault.CANDIDATE,
            location=Location(file=file, line=lines[0] if lines else None, symbol=subject),
            data={
                "missing": {name: list(rows) for name, rows in share.missing.items()},
                "percent": share.percent,
                "required": required,
            },
        )
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=False,
            findings=(finding,),
            output=message,
            coverage=self._counts(coverage),
        )

    def _unknown(self, trouble: str, *, needed: bool) -> Verdict:
        message = f"not known: {trouble}"
        findings: tuple[Finding, ...] = ()
        if self.strict and needed:
            findings = (
                Finding(
                    source=self.name,
                    category=UNKNOWN,
                    message=message,
                    fault=Fault.CHECK,
                    location=Location(symbol=self.name),
                ),
            )
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not findings,
            findings=findings,
            output=message,
        )

    def _counts(self, coverage: Coverage) -> dict[str, tuple[int, int]]:
        """The counts of what is judged, and of nothing else: there may be thousands of files."""
        wanted = self._rooted
        return {f: count for f, count in coverage.counts.items() if wanted is None or f == wanted}


def is_source(file: str) -> bool:
    """Whether a file is code that tests could run."""
    return language_of(file) is not Language.OTHER and not is_test(file)


def ranges(lines: Sequence[int]) -> str:
    """Line numbers as people write them: `3-7, 12`."""
    parts: list[str] = []
    start = previous = None
    for line in [*sorted(lines), None]:
        if previous is not None and line == previous + 1:
            previous = line
            continue
        if start is not None and previous is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = line
    return ", ".join(parts)


def _before(trial: Trial, files: Sequence[str]) -> float | None:
    """The coverage of files in the baseline, if it was measured there."""
    verdicts = trial.history.baseline if trial.history.attempts or trial.history.before else ()
    for verdict in verdicts:
        counts = [verdict.coverage[f] for f in files if verdict.coverage and f in verdict.coverage]
        if total := sum(all_ for _, all_ in counts):
            return 100.0 * sum(run for run, _ in counts) / total
    return None


def _share_of(coverage: Coverage, changed: Mapping[str, frozenset[int]], root: Path) -> Share:
    """How much of some lines ran. Not a line did of a file that no test so much as loads."""
    languages = {language_of(file) for file in coverage.files}
    unseen = {
        file: lines & lines_with_code(root / file)
        for file, lines in changed.items()
        if file not in coverage.files and (not languages or language_of(file) in languages)
    }
    whole = coverage | Coverage({f: FileCoverage(missing=lines) for f, lines in unseen.items()})
    return Share(percent=whole.percent_of_lines(changed), missing=whole.missed(changed))


def _percent(coverage: Coverage, file: str) -> float | None:
    # A file that the tests never load is not in the report at all.
    return coverage.percent([file]) if file in coverage.files else 0.0


def _missing(coverage: Coverage, file: str) -> tuple[int, ...]:
    return tuple(sorted(coverage.files[file].missing)) if file in coverage.files else ()


def _shown(percent: float | None) -> str:
    return "no line to run" if percent is None else f"{percent:.1f} %"
