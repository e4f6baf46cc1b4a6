"""The gate `tests_can_fail`: whether new tests notice when the code they test is changed.

A few edits of the changed lines are tried on the new and changed tests that run them. Only tests of
Python that pytest runs can be tried so; of others, and where the time is up, nothing is known.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from runtrue.checks import CommandCheck, Language, is_shell, language_of, load_cases
from runtrue.code.context import CodeContext
from runtrue.code.proof import file_of, fresh_cases, written_lines
from runtrue.fixers import MutantReport, try_mutants
from runtrue.gates import is_source
from runtrue.loop import (
    TESTS_CANNOT_FAIL,
    Fault,
    Finding,
    Location,
    Mode,
    Outcome,
    Trial,
    Verdict,
    Workplace,
    may_be_one_of,
)

NAME = "tests_can_fail"
#: Edits that a finding names.
_SHOWN = 3
#: Options of pytest that are followed by a value, which may be a path.
_WITH_VALUE = frozenset(
    {
        *("-c", "-k", "-m", "-n", "-o", "-p", "-r", "-W", "--rootdir", "--confcutdir", "--cov"),
        *("--basetemp", "--cov-config", "--cov-report", "--ignore", "--deselect", "--import-mode"),
        *("--durations", "--maxfail", "--tb", "--log-level", "--timeout", "--ds"),
    }
)


class CanFailGate:
    """Reports new and changed tests that pass whatever the changed code returns."""

    name = NAME

    def __init__(self, context: CodeContext) -> None:
        self._context = context
        self.mode = Mode(context.request.gate.tests_can_fail)

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Try edits of the changed lines on the new and changed tests that passed."""
        check = self._context.request.tests
        changed = self._context.changed(trial.candidate)
        sources = {
            file: lines
            for file, lines in changed.items()
            if lines and is_source(file) and language_of(file) is Language.PYTHON
        }
        if not sources:
            return self._verdict("nothing to try: no Python line changed")
        if check.tool != "pytest":
            return self._verdict(f"not known: only pytest tests are tried, not {check.command}")
        fresh = self._fresh(check, changed, workplace, trial)
        if not fresh:
            return self._verdict("no new or changed test")
        files = tuple(sorted({file for file, _ in fresh.values()}))
        narrowed = partial(narrowed_to, check, workplace)
        command = narrowed(files)
        if command is None:
            return self._verdict(f"not known: {check.command} cannot run single tests")

        def case_of(test: str) -> str | None:
            file, _, name = test.partition("::")
            return next(
                (c for c, (f, n) in fresh.items() if n == name and may_be_one_of(file, (f,))), None
            )

        def alone(test: str) -> CommandCheck:
            file, name = fresh[case_of(test) or ""]
            return narrowed((f"{file}::{name}",)) or check

        try:
            report = await try_mutants(
                command,
                alone,
                workplace,
                sources,
                lambda test: case_of(test) is not None,
                self._context.request.gate.tests_can_fail_seconds,
            )
        finally:
            self._context.sandbox.restore(trial.candidate)
        findings = tuple(
            self._finding(one.test, case_of(one.test) or one.test, one.edits, fresh)
            for one in report.idle
        )
        return self._verdict(_told(report), findings)

    def _fresh(
        self,
        check: CommandCheck,
        changed: Mapping[str, frozenset[int]],
        workplace: Workplace,
        trial: Trial,
    ) -> dict[str, tuple[str, str]]:
        """The file, as seen from the root, and the name of each new or changed test that passed."""
        verdict = next((v for v in trial.verdicts if v.check == check.name), None)
        infos = load_cases(workplace.scratch, check.name)
        fresh = fresh_cases(infos, written_lines(changed, workplace))
        cases = verdict.cases if verdict else {}
        return {
            case: (file_of(case, infos), case.partition("::")[2])
            for case, outcome in cases.items()
            if outcome is Outcome.PASSED and case in fresh and "::" in case
        }

    def _finding(
        self,
        test: str,
        case: str,
        edits: tuple[str, ...],
        fresh: Mapping[str, tuple[str, str]],
    ) -> Finding:
        more = f" and {len(edits) - _SHOWN} more" if len(edits) > _SHOWN else ""
        return Finding(
            source=self.name,
            category=TESTS_CANNOT_FAIL,
            message=f"{test} passes although edits change what it calls: "
            f"{'; '.join(edits[:_SHOWN])}{more}; make it assert what the calls return",
            fault=Fault.CANDIDATE,
            location=Location(file=fresh[case][0] if case in fresh else None, symbol=case),
            attempted=edits,
        )

    def _verdict(self, said: str, findings: tuple[Finding, ...] = ()) -> Verdict:
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=not findings,
            findings=findings,
            output=said,
        )


def narrowed_to(
    check: CommandCheck, workplace: Workplace, tests: tuple[str, ...]
) -> CommandCheck | None:
    """Return a check of pytest that runs only some files or tests, given as seen from the root.

    None where the command is not plainly one of pytest.
    """
    if is_shell(check.command):
        return None
    words = shlex.split(check.command)
    names = [Path(word).name for word in words]
    at = next((n for n, name in enumerate(names) if name in ("pytest", "py.test")), None)
    if at is None:
        return None
    directory = workplace.directory / check.directory
    kept = [
        word
        for before, word in zip(words[at:], words[at + 1 :], strict=False)
        if word.startswith("-")
        or before in _WITH_VALUE
        or not (directory / word.partition("::")[0]).exists()
    ]
    targets = [os.path.relpath(workplace.root / test, directory) for test in tests]
    command = shlex.join([*words[: at + 1], *kept, *targets])
    return replace(check, command=command, cover=False)


def _told(report: MutantReport) -> str:
    """What came of it, in words."""
    said = [f"{len(report.noticing)} of {report.tests} new or changed tests notice edits"]
    if not report.tests:
        said = ["no new or changed test runs a changed line"]
    if report.unknown:
        said.append(f"not known for the others: {report.unknown}")
    return "; ".join(said)
