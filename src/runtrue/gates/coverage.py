"""The gate `coverage`: require that the tests run enough of the code, by its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
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

#: The category of the finding if nothing could be measured.
UNKNOWN = "coverage_unknown"
NAME = "coverage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The percentage of lines that ran, and the lines that did not, by file."""

    percent: float | None
    missing: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageGate:
    """Requires a minimum of coverage: of the artifact, or of what was changed.

    Without an artifact, as for a whole change, the changed lines count.
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
    #: True if an unknown coverage fails; otherwise it is only reported.
    strict: bool = False
    name: str = NAME
    mode: Mode = Mode.REQUIRED

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Compare the measured coverage with the required one."""
        coverage, trouble = self._measured(workplace)
        changed = {
            file: lines for file, lines in self.changed(trial.candidate).items() if is_source(file)
        }
        if coverage is None:
            # Where code was only taken away, there is nothing to cover.
            needed = any(changed.values())
            return self._unknown(trouble or "not measured", needed=needed)
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
        measured = [load_measured(workplace.scratch, check) for check in self.checks]
        found = [one.coverage for one in measured if one and one.coverage]
        if found:
            return reduce(or_, found), None
        return None, next((one.why_not for one in measured if one and one.why_not), None)

    def _share(
        self, coverage: Coverage, changed: Mapping[str, frozenset[int]], root: Path
    ) -> tuple[str, Share]:
        """Return what is measured for this type of code, and how much of it ran."""
        artifact = self._rooted
        is_new = artifact is not None and self.sandbox.original(artifact) is None
        whole = is_new or artifact not in changed
        if artifact is not None and whole and self.code_type is not CodeType.BUG_FIX:
            missing = {artifact: _missing(coverage, artifact)}
            return artifact, Share(percent=_percent(coverage, artifact), missing=missing)
        return "the changed lines", _share_of(coverage, changed, root)

    def _matched(self, coverage: Coverage, trial: Trial) -> Verdict:
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
        return replace(self._verdict(said), coverage=self._counts(coverage))

    def _failed(self, coverage: Coverage, subject: str, share: Share, required: float) -> Verdict:
        where = "; ".join(f"{file}: {ranges(lines)}" for file, lines in share.missing.items())
        message = (
            f"the tests cover {_shown(share.percent)} of {subject}, {required:g} % is required"
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
        return replace(self._verdict(message, finding), coverage=self._counts(coverage))

    def _unknown(self, trouble: str, *, needed: bool) -> Verdict:
        message = f"not known: {trouble}"
        if not (self.strict and needed):
            return self._verdict(message)
        finding = Finding(
            source=self.name,
            category=UNKNOWN,
            message=message,
            fault=Fault.CHECK,
            location=Location(symbol=self.name),
        )
        return self._verdict(message, finding)

    def _verdict(self, output: str, *findings: Finding) -> Verdict:
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not findings,
            findings=findings,
            output=output,
        )

    def _counts(self, coverage: Coverage) -> dict[str, tuple[int, int]]:
        """Return the counts of the artifact, if any: there may be thousands of files."""
        wanted = self._rooted
        return {f: count for f, count in coverage.counts.items() if wanted is None or f == wanted}


def is_source(file: str) -> bool:
    """Return whether a file is code that tests could run."""
    return language_of(file) is not Language.OTHER and not is_test(file)


def ranges(lines: Sequence[int]) -> str:
    """Return line numbers as people write them: `3-7, 12`."""
    runs = groupby(enumerate(sorted(lines)), key=lambda pair: pair[1] - pair[0])
    spans = [[line for _, line in run] for _, run in runs]
    return ", ".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)


def _before(trial: Trial, files: Sequence[str]) -> float | None:
    verdicts = trial.history.baseline if trial.history.attempts or trial.history.before else ()
    for verdict in verdicts:
        counts = [verdict.coverage[f] for f in files if verdict.coverage and f in verdict.coverage]
        if total := sum(all_ for _, all_ in counts):
            return 100.0 * sum(run for run, _ in counts) / total
    return None


def _share_of(coverage: Coverage, changed: Mapping[str, frozenset[int]], root: Path) -> Share:
    """Return how much of some lines ran; of a file that no test loads, none did."""
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
    return "no line to cover" if percent is None else f"{percent:.1f} %"
