"""The gate `test_kinds`: whether the tests that passed are the ones that are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from runtrue.checks import CaseInfo, framework_of, language_of, load_cases
from runtrue.code.baseline import put
from runtrue.code.context import CodeContext
from runtrue.code.gate import exclusions
from runtrue.code.kinds import EXISTING, REGRESSION, REPRODUCTION, KindsJudgement, judge_kinds
from runtrue.code.suites import test_files_for
from runtrue.gates import is_source
from runtrue.loop import (
    COVERAGE_UNMET,
    TESTS_MISSING,
    Cause,
    Fault,
    Finding,
    Location,
    Mode,
    Outcome,
    Trial,
    Verdict,
    Workplace,
    cause_of,
    may_be_one_of,
)
from runtrue.sandbox import is_test

NAME = "test_kinds"
_BAD = (Outcome.FAILED, Outcome.ERROR)
#: Tests that a sentence names.
_MOST = 5


class KindsGate:
    """Wants the kinds of tests that the type of code requires; without a task, any tests at all."""

    name = NAME
    mode = Mode.REQUIRED

    def __init__(self, context: CodeContext) -> None:
        self._context = context

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Judge the tests by what ran, by what they are marked as, and by their names."""
        request = self._context.request
        check = request.tests
        verdict = next((v for v in trial.verdicts if v.check == check.name), None)
        cases = verdict.cases if verdict else {}
        infos = load_cases(workplace.scratch, check.name)
        own = self._own(cases, infos, workplace)
        required = request.requirement.required_tests if request.requirement else ()
        fixed = await self._fixed(required, own, trial, workplace)
        judgement = judge_kinds(
            required,
            own,
            infos,
            lambda file: _text(workplace, file),
            fixed=fixed,
            existing=_passed_before(trial, cases) if EXISTING in required else (),
        )
        findings = [*self._missing(judgement)]
        if request.task is None:
            known = {case for v in trial.history.before for case in v.cases}
            findings += [
                *self._untested(cases, infos, workplace, judgement),
                *self._skipped(cases, infos, workplace, known),
                *self._unmeasured(workplace),
            ]
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not findings,
            findings=tuple(findings),
            output=_told(judgement),
        )

    def _own(
        self, cases: Mapping[str, Outcome], infos: Mapping[str, CaseInfo], workplace: Workplace
    ) -> dict[str, Outcome]:
        """The cases of the tests that belong to the task, or to the change; if none does, all."""
        task = self._context.request.task
        if task is None:
            tests = tuple(self._tests_of_change(workplace))
        else:
            tests = (*task.tests, *self._tests_for(task.path, workplace))
        own = {
            case: outcome
            for case, outcome in cases.items()
            if may_be_one_of(file_of(case, infos), tests)
        }
        return own or dict(cases)

    def _tests_of_change(self, workplace: Workplace) -> Iterator[str]:
        for path in self._changed_files(workplace):
            if is_test(path):
                yield path
            elif is_source(path):
                yield from self._tests_for(path, workplace)

    def _changed_files(self, workplace: Workplace) -> Iterator[str]:
        """Return what was changed and is still there, as seen from the project."""
        prefix = workplace.directory.relative_to(workplace.root)
        for file in self._context.request.changes or {}:
            if Path(file).is_relative_to(prefix) and (workplace.root / file).is_file():
                yield Path(file).relative_to(prefix).as_posix()

    def _tests_for(self, path: str, workplace: Workplace) -> tuple[str, ...]:
        framework = framework_of(self._context.request.tests.command, workplace.directory)
        return test_files_for(workplace.directory, path, language_of(path), framework)

    # -- the bug, reproduced ----------------------------------------------------------------

    async def _fixed(
        self,
        required: tuple[str, ...],
        own: Mapping[str, Outcome],
        trial: Trial,
        workplace: Workplace,
    ) -> frozenset[str]:
        """The tests that fail on the code as it was and pass now."""
        if REPRODUCTION not in required and REGRESSION not in required:
            return frozenset()
        sources = [file for file in self._context.changed(trial.candidate) if is_source(file)]
        if not sources:
            # Where the code is as it was, nothing was fixed, whatever turned green.
            return frozenset()
        passed = {case for case, outcome in own.items() if outcome is Outcome.PASSED}
        before = trial.history.baseline if trial.history.attempts or trial.history.before else ()
        failed = {case for verdict in before for case in failing(verdict)}
        seen = frozenset(passed & failed)
        return seen or frozenset(passed & await self._failing_before(sources, trial, workplace))

    async def _failing_before(
        self, sources: list[str], trial: Trial, workplace: Workplace
    ) -> set[str]:
        """The cases that fail when these tests run on the code as it was."""
        sandbox, check = self._context.sandbox, self._context.request.tests
        try:
            for file in sources:
                put(workplace.root / file, self._context.original(file))
            verdict = await check.run(workplace)
        finally:
            sandbox.restore(trial.candidate)
        return failing(verdict)

    # -- findings ---------------------------------------------------------------------------

    def _missing(self, judgement: KindsJudgement) -> Iterator[Finding]:
        if not judgement.missing:
            return
        kinds = ", ".join(judgement.missing)
        idle = _few(judgement.asserting_nothing)
        because = f"; these assert nothing and do not count: {idle}" if idle else ""
        how = (
            "mark or name a test accordingly"
            if set(judgement.missing) != {REPRODUCTION}
            else "write one that fails on the code before the fix"
        )
        yield self._finding(f"no test of these kinds: {kinds}{because}; {how}", judgement.missing)

    def _untested(
        self,
        cases: Mapping[str, Outcome],
        infos: Mapping[str, CaseInfo],
        workplace: Workplace,
        judgement: KindsJudgement,
    ) -> Iterator[Finding]:
        """Of a change without a task: sources that no test is for, or that none really tests."""
        nothing = set(judgement.asserting_nothing)
        fresh = fresh_cases(infos, written_lines(self._context.request.changes or {}, workplace))
        prefix = workplace.directory.relative_to(workplace.root)
        for path in filter(is_source, self._changed_files(workplace)):
            file = (prefix / path).as_posix()
            tests = self._tests_for(path, workplace)
            own = {c: o for c, o in cases.items() if may_be_one_of(file_of(c, infos), tests)}
            ran = [case for case, outcome in own.items() if outcome is not Outcome.SKIPPED]
            if not tests:
                yield self._finding(f"no test covers {file}; write one", (file,), file)
            elif own and not ran:
                skipped = f"the tests for {file} were skipped: {_few(tests)}; make them run"
                yield self._finding(skipped, (file,), file)
            elif ran and set(ran) <= nothing:
                idle = f"the tests for {file} assert nothing: {_few(tuple(ran))}; add assertions"
                yield self._finding(idle, (file,), file)
            elif (new := [case for case in ran if case in fresh]) and set(new) <= nothing:
                idle = f"the new or changed tests for {file} assert nothing: {_few(tuple(new))}"
                yield self._finding(f"{idle}; add assertions", (file,), file)

    def _skipped(
        self,
        cases: Mapping[str, Outcome],
        infos: Mapping[str, CaseInfo],
        workplace: Workplace,
        known: set[str],
    ) -> Iterator[Finding]:
        """Tests that the change brings, and that did not run."""
        tests = tuple(filter(is_test, self._changed_files(workplace)))
        skipped: dict[str, list[str]] = {}
        for case, outcome in cases.items():
            file = file_of(case, infos)
            if outcome is Outcome.SKIPPED and case not in known and may_be_one_of(file, tests):
                skipped.setdefault(file, []).append(case)
        for file, names in skipped.items():
            text = f"new tests were skipped, or expected to fail: {_few(tuple(names))}"
            yield self._finding(f"{text}; make them run, or remove them", tuple(names), file)

    def _unmeasured(self, workplace: Workplace) -> Iterator[Finding]:
        """Changed lines that say of themselves that no test need run them."""
        for file, lines in (self._context.request.changes or {}).items():
            text = _text(workplace, file) if is_source(file) else None
            before = (self._context.original(file) or b"").decode(errors="replace")
            for line in exclusions(text or "", lines, before):
                yield Finding(
                    source=self.name,
                    category=COVERAGE_UNMET,
                    message="a comment keeps this line from being measured; take it out, and "
                    "have a test run the line",
                    fault=Fault.CANDIDATE,
                    location=Location(file=file, line=line, symbol=self.name),
                )

    def _finding(
        self, message: str, attempted: tuple[str, ...], file: str | None = None
    ) -> Finding:
        return Finding(
            source=self.name,
            category=TESTS_MISSING,
            message=message,
            fault=Fault.CANDIDATE,
            location=Location(file=file, symbol=self.name),
            attempted=attempted,
        )


def _passed_before(trial: Trial, cases: Mapping[str, Outcome]) -> frozenset[str]:
    """The tests that passed on the code as it was; in a first attempt, that is this one."""
    history = trial.history
    if not history.attempts and not history.before:
        return frozenset(cases)
    passed = (c for v in history.baseline for c, o in v.cases.items() if o is Outcome.PASSED)
    return frozenset(passed)


def failing(verdict: Verdict) -> set[str]:
    """The cases of a verdict that failed by what the code does, not for want of a name in it.

    A test of something new cannot but fail on the code before: that shows no bug.
    """
    nameless = {
        finding.location.symbol
        for finding in verdict.findings
        if cause_of(finding) in (Cause.MISSING_NAME, Cause.SYNTAX)
        and not _is_within_source(finding)
    }
    bad = {case for case, outcome in verdict.cases.items() if outcome in _BAD}
    return {case for case in bad if case not in nameless}


def _is_within_source(finding: Finding) -> bool:
    """True if it was the code under test that has looked for the name."""
    frames = finding.data.get("frames")
    last = frames[-1] if isinstance(frames, list) and frames else {}
    file = last.get("file") if isinstance(last, dict) else None
    return isinstance(file, str) and is_source(file)


def written_lines(
    changes: Mapping[str, Collection[int]], workplace: Workplace
) -> dict[str, tuple[int, ...]]:
    """The changed lines of tests that hold something: those between two belong to neither."""
    written = {}
    for file, lines in changes.items():
        text = (_text(workplace, file) or "").splitlines() if is_test(file) else []
        written[file] = tuple(n for n in sorted(lines) if n <= len(text) and text[n - 1].strip())
    return written


def fresh_cases(
    infos: Mapping[str, CaseInfo], changes: Mapping[str, tuple[int, ...]]
) -> frozenset[str]:
    """The tests that are new or changed: those with a changed line before the next one begins."""
    starts: dict[str, set[int]] = {}
    for info in infos.values():
        if info.file and info.line:
            starts.setdefault(info.file, set()).add(info.line)
    fresh = set()
    for case, info in infos.items():
        lines = changes.get(info.file or "")
        if not lines:
            continue
        after = (line for line in starts.get(info.file or "", ()) if info.line and line > info.line)
        end = min(after, default=lines[-1] + 1)
        if info.line is None or any(info.line <= line < end for line in lines):
            fresh.add(case)
    return frozenset(fresh)


def file_of(case: str, infos: Mapping[str, CaseInfo]) -> str:
    """The file of a test, as far as it is known."""
    info = infos.get(case)
    return (info.file if info else None) or case.partition("::")[0]


def _text(workplace: Workplace, file: str) -> str | None:
    try:
        return (workplace.root / file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _told(judgement: KindsJudgement) -> str:
    """The evidence, in words."""
    parts = [f"{one.kind} by {one.how}: {_few(one.tests)}" for one in judgement.evidence]
    if judgement.asserting_nothing:
        parts.append(f"assert nothing: {_few(judgement.asserting_nothing)}")
    return "; ".join(parts)


def _few(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(name.partition("::")[2] or name for name in names[:_MOST]) + more
