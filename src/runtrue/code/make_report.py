"""Make the report and the record of a run of the code loop, finished or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from runtrue.code.context import CodeState
from runtrue.code.gate import is_ready
from runtrue.code.metrics import facts_of
from runtrue.code.record import Record, RecordPhase
from runtrue.code.report import (
    AlternativeReport,
    AttemptReport,
    CodeReport,
    EscalationReport,
    FixReport,
    RejectedFix,
    VerdictReport,
)
from runtrue.code.request import CodeRequest, Kind
from runtrue.code.sessions import session_ref
from runtrue.flow import RunState
from runtrue.loop import (
    Action,
    Attempt,
    Budget,
    Decision,
    Finding,
    Fix,
    History,
    Verdict,
    chosen,
    confidence_in,
    is_yes,
    lineage,
    turned_green,
)
from runtrue.sandbox import Isolation, SelfRunning, find_self_running


def _judged_self_running(request: CodeRequest) -> tuple[SelfRunning, ...]:
    """Return the files that run by themselves in the change that a gate judges."""
    found = (find_self_running(file) for file in request.changes or ())
    return tuple(filter(None, found))


def report_of(state: CodeState, status: RunState) -> CodeReport:
    """Return the report of a run from its state store, finished or not."""
    history = state.history
    decision = state.decision
    request = state.request
    if status is RunState.FAILED and decision is not None and decision.action is Action.ACCEPT:
        # What is proven stays so where it could not be applied: that is in `applied` and `error`.
        status = RunState.PASSED
    remaining = _remaining(history, decision, status)
    attempt = _result(history, decision)
    confidence = confidence_in(history, attempt) if attempt else None
    offer = state.offer
    report = CodeReport(
        status=status,
        run_id=state.run_id,
        workflow_id=request.workflow_id,
        kind=request.kind,
        project=request.project,
        why=decision.why if decision else None,
        attempts=tuple(
            _attempt(history, attempt, _limit(request, history, index))
            for index, attempt in enumerate(history.attempts)
        ),
        rejected=tuple(
            RejectedFix(after=r.after, reason=r.reason, fix=_fix(r.fix)) for r in history.rejections
        ),
        answers=tuple(answer.text for answer in history.answers),
        escalations=tuple(
            EscalationReport(
                condition=one.trigger.condition, action=one.trigger.action, after=one.attempts
            )
            for one in history.escalations
        ),
        notices=tuple(state.notices),
        flags=tuple(decision.flags) if decision else (),
        flaky=tuple(sorted({name for a in history.attempts for name in _flaky(a)})),
        findings=remaining,
        regressions=tuple(decision.regressions) if decision else (),
        vanished=() if status is RunState.PASSED else _vanished(history),
        restored=_restored(history),
        budget=Budget.left(request.policy, history),
        max_attempts=request.policy.max_attempts,
        confidence=round(confidence.value, 2) if confidence else None,
        confidence_reason=confidence.reason if confidence else None,
        suspicious=_suspicious(history, attempt) if attempt else (),
        alternatives=_alternatives(attempt) if attempt else (),
        proposed_test=_proposed_test(history),
        gained=turned_green(history, attempt) if attempt and not attempt.passed else (),
        reduced=attempt.fix.reduced or None if attempt and attempt.fix else None,
        reduced_patch=attempt.fix.reduced_patch if attempt and attempt.fix else None,
        diff=state.diff or (offer.diff if offer else ""),
        patch=state.patch or (offer.patch if offer else None),
        patch_root=state.patch_root,
        applied=state.applied,
        receipt=state.receipt,
        self_running=state.self_running or _judged_self_running(request),
        sandbox=state.sandbox,
        isolation=Isolation(request.isolation).record,
        seconds=round(history.seconds, 3),
        metrics=facts_of(history, decision, repairs=request.kind is not Kind.GATE),
        memory=state.learned,
    )
    record = record_of(state, status)
    report = replace(report, record=record.to_dict())
    if request.kind is not Kind.FIX:
        report = replace(
            report,
            task=request.task,
            written=tuple(state.written),
            lessons=tuple(state.lessons),
            progress=record.progress,
        )
    if request.kind is Kind.GATE:
        report = replace(
            report,
            ready=is_ready(request, status, remaining),
            skipped=None,
            changed=tuple(sorted(request.changes or ())),
            against=request.against,
            reused=False,
        )
    return report


def record_of(state: CodeState, status: RunState) -> Record:
    """The record of a run from its state store."""
    request: CodeRequest = state.request
    history: History = state.history
    written, learned = state.written, state.learned
    task = request.task
    return Record(
        request=request,
        history=history,
        decision=state.decision,
        state=status,
        phase=_phase(state),
        artifact=task.path if task else "",
        rooted=state.rooted if task else "",
        tests=state.tests if task else _test_files(history),
        written=tuple(file for one in written for file in one.files),
        written_by=written[-1].by if written else None,
        version=state.agent_version,
        debug_memory_ref=learned.session if learned else session_ref(request, history),
        started_at=state.started_at,
        completed_at=state.ended_at,
    )


def _test_files(history: History) -> tuple[str, ...]:
    return history.test_files() if history.before or history.attempts else ()


def _phase(state: CodeState) -> RecordPhase:
    """Return where a run is, or was when it ended in failure."""
    history: History = state.history
    request: CodeRequest = state.request
    if not history.attempts:
        if request.generator is None:
            return RecordPhase.EXECUTE_TESTS
        phases = (RecordPhase.GENERATE_CODE, RecordPhase.GENERATE_TESTS, RecordPhase.EXECUTE_TESTS)
        return phases[min(len(state.written), 2)]
    if state.fix is not None:
        return RecordPhase.VERIFY_FIX
    latest = history.latest
    ran = RecordPhase.VERIFY_FIX if latest.fix else RecordPhase.EXECUTE_TESTS
    if latest.passed:
        return ran
    if latest.analysis is None:
        # What was decided before this attempt says nothing about it.
        return RecordPhase.ANALYZE_FAILURES
    decision: Decision | None = state.decision
    if decision is not None and decision.action is Action.FIX:
        return RecordPhase.APPLY_FIX
    if any(rejection.after == latest.number for rejection in history.rejections):
        return RecordPhase.APPLY_FIX
    return RecordPhase.ANALYZE_FAILURES if decision is None else ran


def _remaining(
    history: History, decision: Decision | None, status: RunState
) -> tuple[Finding, ...]:
    if not history.attempts:
        return ()
    if status is RunState.PASSED:
        # What was accepted although it is flagged is still there.
        return decision.findings if decision else ()
    return history.best.blocking


def _vanished(history: History) -> tuple[str, ...]:
    """Return the tests that the last attempt no longer ran."""
    verdicts = history.latest.verdicts if history.attempts else ()
    return tuple(case for verdict in verdicts for case in verdict.vanished)


def _restored(history: History) -> tuple[str, ...]:
    """Return the judges that fixers edited, and that were restored."""
    fixes = [*(a.fix for a in history.attempts if a.fix), *(r.fix for r in history.rejections)]
    return tuple(sorted({file for fix in fixes for part in fix.parts for file in part.restored}))


def _result(history: History, decision: Decision | None) -> Attempt | None:
    """Return the attempt on the candidate that was decided on, if it was fixed."""
    wanted = decision.candidate if decision else ""
    found = (one for one in reversed(history.attempts) if one.candidate == wanted)
    return next((one for one in found if one.fix), None)


def _suspicious(history: History, attempt: Attempt) -> tuple[str, ...]:
    fixes = (one.fix for one in lineage(history, attempt.candidate))
    return tuple(dict.fromkeys(s for fix in fixes if fix for part in fix.parts for s in part.signs))


def _alternatives(attempt: Attempt) -> tuple[AlternativeReport, ...]:
    return tuple(
        AlternativeReport(
            number=number,
            says=one.says,
            confidence=one.confidence,
            diff=one.diff,
            example=one.example,
        )
        for number, one in enumerate(attempt.alternatives, start=2)
    )


def _proposed_test(history: History) -> str | None:
    """Return what a person has said about a fix and its alternatives, as a test."""
    for answer in reversed(history.answers):
        others = history.attempts[answer.attempts - 1].alternatives if answer.attempts else ()
        if one := chosen(others, answer.text):
            return one.example.as_test(one.example.gives)
        if others and is_yes(answer.text):
            return others[0].example.as_test(others[0].example.instead)
    return None


def _limit(request: CodeRequest, history: History, index: int) -> int:
    """Return how many attempts there could be, as it stood when this one began.

    A person's answer, or a stronger fixer, brings more of them.
    """
    number = history.attempts[index].number
    before = replace(
        history,
        attempts=history.attempts[:index],
        rejections=tuple(r for r in history.rejections if r.after < number),
        answers=tuple(a for a in history.answers if a.attempts <= index),
        escalations=tuple(e for e in history.escalations if e.attempts <= index),
    )
    return max(number, Budget.last_attempt(request.policy, before))


def _attempt(history: History, attempt: Attempt, limit: int) -> AttemptReport:
    return AttemptReport(
        number=attempt.number,
        limit=limit,
        candidate=attempt.candidate,
        passed=attempt.passed,
        recheck=attempt.recheck,
        fix=_fix(attempt.fix) if attempt.fix else None,
        verdicts=tuple(_verdict(verdict) for verdict in attempt.verdicts),
        findings=attempt.blocking,
        analysis=attempt.analysis,
        regressions=tuple(history.regressions(attempt)),
        flaky=_flaky(attempt),
    )


def _flaky(attempt: Attempt) -> tuple[str, ...]:
    return tuple(f.location.symbol or f.source for v in attempt.verdicts for f in v.flaky)


def _fix(fix: Fix) -> FixReport:
    return FixReport(
        files=fix.files,
        added=fix.added,
        removed=fix.removed,
        hunks=fix.hunks,
        parts=fix.parts,
        skipped=fix.skipped,
    )


def _verdict(verdict: Verdict) -> VerdictReport:
    # A check without cases of its own has one, of its own name, to tell regressions by.
    outcomes = Counter(o for case, o in verdict.cases.items() if case != verdict.check)
    return VerdictReport(
        check=verdict.check,
        mode=verdict.mode,
        passed=verdict.passed,
        exit_code=verdict.exit_code,
        seconds=round(verdict.seconds, 3),
        cases=dict(sorted(outcomes.items())),
        findings=verdict.findings,
        flaky=verdict.flaky,
        known=verdict.known,
        vanished=verdict.vanished,
        partial=verdict.partial,
        judged_by=verdict.judged_by,
        output=verdict.output,
    )
