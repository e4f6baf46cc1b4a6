"""The baseline of a plan: what its validations say before the first step, to compare with.

What failed before is known. While steps are left it never blocks: a later step may be the one that
fixes it. After the last step, what the plan's change reaches has to pass, and the rest is still
known: an old failure of something else neither blocks a plan nor widens its bounds.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from runtrue.loop import (
    Fault,
    Finding,
    Known,
    Outcome,
    Verdict,
    Workplace,
    drop_known_findings,
)
from runtrue.plan.context import PlanRun
from runtrue.sandbox import BaselineFiles, TreeSandbox

_BAD = (Outcome.FAILED, Outcome.ERROR)
#: Languages in which the files that a test imports can be followed.
_FOLLOWED = (".py", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """Leaves out of verdicts what failed before the first step and is known."""

    plan: PlanRun
    sandbox: TreeSandbox

    def __call__(self, verdict: Verdict, workplace: Workplace) -> Verdict:
        """Return a verdict without what is known."""
        before = next((v for v in self.plan.baseline if v.check == verdict.check), None)
        if verdict.passed or before is None or before.passed:
            return verdict
        if not verdict.cases and not before.cases:
            return self._without_old_findings(verdict, before)
        reach = PlanReach.of(self.plan, self.sandbox, workplace)
        failing = {case for case, outcome in before.cases.items() if outcome in _BAD}
        failing |= {f.location.symbol for f in before.findings if f.location.symbol}
        known = [
            finding
            for finding in verdict.findings
            if finding.location.symbol in failing
            and (self.plan.has_more_steps or not reach.is_reached(finding))
        ]
        return _without(verdict, known)

    def _without_old_findings(self, verdict: Verdict, before: Verdict) -> Verdict:
        """Drop what a linter found before; a command without a report has to pass at the end."""
        findings = (*before.findings, *verdict.findings)
        is_own = all(finding.fault is Fault.CANDIDATE for finding in findings)
        is_listed = all(finding.location.file for finding in findings)
        if not is_own or not (is_listed or self.plan.has_more_steps):
            return verdict
        return drop_known_findings(verdict, before, Known.IGNORE)


@dataclass(frozen=True, slots=True)
class MergeComparison:
    """Leaves out of verdicts on merged files what fails in the user's files alone as well."""

    #: What the validations said of the user's files without the plan's change.
    alone: tuple[Verdict, ...]
    #: The files that the user has changed since the plan began.
    files: frozenset[str]
    #: The tests that passed on the plan's result, before it was merged.
    proven: frozenset[str]

    def __call__(self, verdict: Verdict, workplace: Workplace) -> Verdict:
        """Return a verdict without what is not the plan's."""
        alone = next((v for v in self.alone if v.check == verdict.check), None)
        if verdict.passed or alone is None or alone.passed:
            return verdict
        if not verdict.cases and not alone.cases:
            findings = (*alone.findings, *verdict.findings)
            if all(f.location.file and f.fault is Fault.CANDIDATE for f in findings):
                return drop_known_findings(verdict, alone, Known.IGNORE)
            # Nobody can say whether it fails for the same reason.
            return verdict
        failing = {case for case, outcome in alone.cases.items() if outcome in _BAD}
        failing |= {f.location.symbol for f in alone.findings if f.location.symbol}
        known = [f for f in verdict.findings if self._is_users(f.location.symbol, failing)]
        return _without(verdict, known)

    def _is_users(self, case: str | None, failing: set[str]) -> bool:
        """True for a test that the plan has not made pass, or that the user is working on."""
        if case is None or case not in failing:
            return False
        return case not in self.proven or case.partition("::")[0] in self.files


def _without(verdict: Verdict, known: list[Finding]) -> Verdict:
    left = tuple(finding for finding in verdict.findings if finding not in known)
    if not known:
        return verdict
    return replace(verdict, passed=not left, findings=left, known=(*verdict.known, *known))


@dataclass(frozen=True, slots=True)
class PlanReach:
    """The tests that a plan's change can make pass or fail, as far as their imports show."""

    files: BaselineFiles
    #: The files that the plan has changed, from the sandbox's root.
    changed: frozenset[str]
    #: Where tests may be named from.
    places: tuple[str, ...]

    @classmethod
    def of(cls, plan: PlanRun, sandbox: TreeSandbox, workplace: Workplace) -> PlanReach:
        """Return the reach of what a plan has changed so far."""
        # A test that the plan was to change, and may not, is its business as well.
        refused = {file for result in plan.progress.results for file in result.restored}
        changed = frozenset({*sandbox.changed(plan.base, sandbox.snapshot()), *refused})
        here = workplace.directory.relative_to(workplace.root).as_posix()
        return cls(BaselineFiles(workplace.root), changed, ("", "" if here == "." else here))

    def is_reached(self, finding: Finding) -> bool:
        """True unless the test is known to import nothing that was changed."""
        if not self.changed:
            return True
        test = self._file(finding)
        if test is None:
            return True
        used = self._used_by(test)
        if used & self.changed:
            return True
        names = {PurePosixPath(file).name for file in self.changed}
        return any(name in self.files.text(file) for file in used for name in names)

    def _file(self, finding: Finding) -> str | None:
        """The file of the failing test, if its imports can be followed."""
        name = (finding.location.symbol or "").partition("::")[0]
        for place in self.places:
            file = posixpath.normpath(posixpath.join(place, name))
            if file in self.files.names and file.endswith(_FOLLOWED):
                return file
        return None

    def _used_by(self, test: str) -> set[str]:
        """A test with what it imports, and what pytest loads for it, all the way down."""
        parents = (str(parent / "conftest.py") for parent in PurePosixPath(test).parents)
        pending = [test, *(file for file in parents if file in self.files.names)]
        used: set[str] = set()
        while pending:
            file = pending.pop()
            if file not in used:
                used.add(file)
                pending += self.files.imports(file)
        return used
