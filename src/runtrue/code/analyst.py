"""The analyst: why an attempt failed, by its findings and the debug memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from runtrue.code.context import CodeContext
from runtrue.code.sessions import keep_session, with_generation
from runtrue.fixers import failed_fixes, language_of_finding
from runtrue.flow import RunState
from runtrue.loop import (
    COVERAGE_UNMET,
    NOTHING_COLLECTED,
    TESTS_CANNOT_FAIL,
    TESTS_MISSING,
    Analysis,
    Attempt,
    Cause,
    Fault,
    Finding,
    History,
    cause_of,
)
from runtrue.memory import KnownFailure, RememberedFix
from runtrue.sandbox import is_judge

#: More than so many words of a message do not make a cause any clearer.
_MESSAGE = 200
#: What is recalled of the past at most: failures and fixes, and characters of a fix.
_RECALLED, _DIFF = 4, 1_200
#: A remembered failure that says less of the same is another one.
_ALIKE = 0.6

_WORDS = {
    Cause.WRONG_VALUE: "a value is not what the test expects",
    Cause.MISSING_NAME: "an undefined name is used",
    Cause.MISSING_MEMBER: "a lookup finds nothing",
    Cause.TYPE_MISMATCH: "a value has the wrong type",
    Cause.NULL_ACCESS: "a value may be missing",
    Cause.OUT_OF_RANGE: "an index or a size is out of range",
    Cause.BAD_ARGUMENT: "a call rejects its argument",
    Cause.ARITHMETIC: "a calculation has no result",
    Cause.RECURSION: "the recursion does not end",
    Cause.SYNTAX: "the code has a syntax error",
    Cause.STATIC_CHECK: "a static check reports a problem",
    Cause.TIMEOUT: "a check timed out",
    Cause.CRASH: "the process died",
    Cause.NOT_RUN: "tests that ran before are skipped or gone",
    Cause.COVERAGE: "the tests cover too little of the code",
    Cause.MISSING_TESTS: "required tests are missing",
    Cause.SECURITY: "a scanner reports the code as unsafe",
    Cause.OUTSIDE: "something outside the code failed",
    Cause.UNKNOWN: "the cause is unknown",
}


class MemoryAnalyst:
    """Keeps what failed in the debug memory, and looks there for what it is like."""

    blocking = True

    def __init__(self, context: CodeContext) -> None:
        self._context = context

    def analyse(self, attempt: Attempt, history: History) -> Analysis:
        """Analyse the failures of an attempt. Asked twice, nothing more is kept."""
        context = self._context
        own = tuple(f for f in attempt.blocking if f.fault is Fault.CANDIDATE)
        context.memory.record_failures(
            own,
            run_id=context.run_id,
            attempt=attempt.number,
            project=context.project,
            language_of=language_of_finding,
        )
        for fix_id, findings in failed_fixes(attempt, history).items():
            context.memory.failed(
                fix_id, context.run_id, project=context.project, findings=findings
            )
        # The one that most failures share says most.
        shown = _first(own or attempt.blocking)
        patterns, recalled, strategy, confidence = self._remembered(own)
        analysis = Analysis(
            root_cause=_root_cause(shown, len(attempt.blocking)),
            fix_strategy=strategy or strategy_for(shown),
            confidence=confidence,
            patterns_matched=patterns,
            recalled=recalled,
        )
        # A run may wait for a person after this, or never get any further.
        analysed = (*history.attempts[:-1], replace(attempt, analysis=analysis))
        so_far = with_generation(replace(history, attempts=analysed), context)
        keep_session(context, so_far, status=RunState.RUNNING)
        return analysis

    def _remembered(
        self, findings: tuple[Finding, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...], str | None, float | None]:
        """Return the known failures and fixes that these are like, and what the best of them says.

        First their names, then what is known of each.
        """
        names: dict[str, str] = {}
        strategy, confidence = None, None
        for finding in findings[:5]:
            language = language_of_finding(finding)
            ranked = self._context.memory.fixes_for(finding, language, self._context.project)
            usable = {one.fix.id for one in ranked}
            for fix in self._context.memory.lookup(finding.fingerprint):
                names.setdefault(fix.name, _fix_in_words(fix))
                if fix.id in usable and (confidence is None or fix.confidence > confidence):
                    strategy = f"repeat {fix.name}, by {fix.fixer}"
                    confidence = round(fix.confidence, 2)
            alike = self._context.memory.similar_to(
                finding, language=language, before_run=self._context.run_id, limit=3
            )
            for similar in alike:
                if similar.score >= _ALIKE:
                    names.setdefault(similar.failure.name, _failure_in_words(similar.failure))
                    names |= {fix.name: _fix_in_words(fix) for fix in similar.fixes}
        return tuple(names), tuple(names.values())[:_RECALLED], strategy, confidence


def _fix_in_words(fix: RememberedFix) -> str:
    held = f"worked {fix.passed} of {fix.tried} times"
    return f"{fix.name}, for a {fix.error_type}, by {fix.fixer}, {held}:\n{fix.diff[:_DIFF]}"


def _failure_in_words(failure: KnownFailure) -> str:
    learning = f"\n{failure.learning}" if failure.learning else ""
    return f"{failure.name}, {failure.error_type}: {failure.message[:_MESSAGE]}{learning}"


def cause_in_words(finding: Finding) -> str:
    """Return what kind of mistake is behind a finding, for people."""
    if finding.category == NOTHING_COLLECTED:
        return "no test ran, so nothing is proven"
    return _WORDS[cause_of(finding)]


def _first(findings: tuple[Finding, ...]) -> Finding:
    causes = Counter(cause_of(finding) for finding in findings)
    return max(findings, key=lambda finding: causes[cause_of(finding)])


def _root_cause(finding: Finding, count: int) -> str:
    where = str(finding.location)
    frames = _frames(finding)
    function = frames[-1].get("function") if frames else None
    inside = f" in {function}()" if function and function.isidentifier() else ""
    message = " ".join(finding.message.split())[:_MESSAGE]
    more = f" (and {count - 1} more)" if count > 1 else ""
    return f"{cause_in_words(finding)}: {finding.category}{inside} at {where}: {message}{more}"


def strategy_for(finding: Finding) -> str:
    """Return what is to be done about a finding that nothing is remembered of."""
    if finding.category == NOTHING_COLLECTED:
        return "add a test that the check finds, or correct its command"
    if finding.fault is not Fault.CANDIDATE:
        return "no code change can fix this; look at the machine or the check"
    if finding.category in (COVERAGE_UNMET, TESTS_MISSING):
        return "add tests; do not change the code"
    if finding.category == TESTS_CANNOT_FAIL:
        return "make the test assert what the code returns; do not change the code"
    files = [finding.location.file, *(frame.get("file") for frame in _frames(finding)[::-1])]
    # What fails is the test, and what is wrong is as a rule the code that it runs.
    code = next((file for file in files if file and not is_judge(file)), None)
    return f"change {code}" if code else "change the code that the failing check runs"


def _frames(finding: Finding) -> list[dict[str, Any]]:
    frames = finding.data.get("frames")
    return [f for f in frames if isinstance(f, dict)] if isinstance(frames, list) else []
