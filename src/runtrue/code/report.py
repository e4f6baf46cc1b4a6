"""Reports: what a run of the code loop tells, as the data that `--json` prints."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec

from runtrue.code.context import CodeState
from runtrue.code.gate import is_ready
from runtrue.code.metrics import facts_of
from runtrue.code.record import Phase, Record
from runtrue.code.request import CodeRequest, Kind
from runtrue.code.sessions import session_ref
from runtrue.flow import RunState
from runtrue.loop import Action, Attempt, Budget, Decision, Fix, History, Verdict
from runtrue.sandbox import Isolation


def report_of(state: CodeState, status: RunState) -> dict[str, Any]:
    """The report of a run from its shared store, finished or not."""
    history: History = state.history
    decision: Decision | None = state.decision
    request: CodeRequest = state.request
    if status is RunState.FAILED and decision is not None and decision.action is Action.ACCEPT:
        # What is proven stays so where it could not be applied: that is in `applied` and `error`.
        status = RunState.PASSED
    report = {
        "status": status,
        "run_id": state.run_id,
        "workflow_id": request.workflow_id,
        "kind": request.kind,
        "project": request.project,
        "why": decision.why if decision else None,
        "attempts": [
            _attempt(history, attempt, _limit(request, history, index))
            for index, attempt in enumerate(history.attempts)
        ],
        "rejected": [
            {"after": r.after, "reason": r.reason, "fix": _fix(r.fix)} for r in history.rejections
        ],
        "answers": [answer.text for answer in history.answers],
        "escalations": [
            {
                "condition": one.trigger.condition,
                "action": one.trigger.action,
                "after": one.attempts,
            }
            for one in history.escalations
        ],
        "notices": _plain(state.notices),
        "flags": list(decision.flags) if decision else [],
        "flaky": sorted({name for a in history.attempts for name in _flaky(a)}),
        "findings": _plain(_remaining(history, decision, status)),
        "regressions": list(decision.regressions) if decision else [],
        "budget": _plain(Budget.left(request.policy, history)),
        "max_attempts": request.policy.max_attempts,
        "diff": state.diff,
        "patch": state.patch,
        "patch_root": state.patch_root,
        "applied": state.applied,
        "sandbox": state.sandbox,
        "isolation": Isolation(request.isolation).record,
        "seconds": round(history.seconds, 3),
        "metrics": _plain(facts_of(history, decision, repairs=request.kind is not Kind.GATE)),
        "memory": _plain(state.learned),
    }
    if request.kind is not Kind.FIX:
        report |= _of_task(state, request, status)
    if request.kind is Kind.GATE:
        found = _remaining(history, decision, status)
        report |= {
            "ready": is_ready(request, status, found),
            "skipped": None,
            "changed": sorted(request.changes or ()),
            "against": request.against,
        }
    return report


def _of_task(state: CodeState, request: CodeRequest, status: RunState) -> dict[str, Any]:
    record = record_of(state, status)
    return {
        "task": _plain(request.task),
        "written": _plain(state.written),
        "lessons": list(state.lessons),
        "progress": record.progress,
        "record": record.to_dict(),
    }


def record_of(state: CodeState, status: RunState) -> Record:
    """The record of a run from its shared store."""
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
        artifact=task.path if task else ".",
        rooted=state.rooted if task else "",
        tests=state.tests,
        agent=written[-1].by if written else "runtrue",
        debug_memory_ref=learned.session if learned else session_ref(request, history),
        started_at=state.started_at,
        completed_at=state.ended_at,
    )


def _phase(state: CodeState) -> Phase:
    """Where a run is, or was when it ended in failure."""
    history: History = state.history
    request: CodeRequest = state.request
    if not history.attempts:
        if request.generator is None:
            return Phase.EXECUTE_TESTS
        phases = (Phase.GENERATE_CODE, Phase.GENERATE_TESTS, Phase.EXECUTE_TESTS)
        return phases[min(len(state.written), 2)]
    if state.fix is not None:
        return Phase.VERIFY_FIX
    latest = history.latest
    ran = Phase.VERIFY_FIX if latest.fix else Phase.EXECUTE_TESTS
    if latest.passed:
        return ran
    if latest.analysis is None:
        # What was decided before this attempt says nothing about it.
        return Phase.ANALYZE_FAILURES
    decision: Decision | None = state.decision
    if decision is not None and decision.action is Action.FIX:
        return Phase.APPLY_FIX
    if any(rejection.after == latest.number for rejection in history.rejections):
        return Phase.APPLY_FIX
    return Phase.ANALYZE_FAILURES if decision is None else ran


def _remaining(history: History, decision: Decision | None, status: RunState) -> Any:
    if not history.attempts:
        return ()
    if status is RunState.PASSED:
        # What was accepted although it is flagged is still there.
        return decision.findings if decision else ()
    return history.best.blocking


def _limit(request: CodeRequest, history: History, index: int) -> int:
    """How many attempts there could be, as it stood when this one began.

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


def _attempt(history: History, attempt: Attempt, limit: int) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "limit": limit,
        "candidate": attempt.candidate,
        "passed": attempt.passed,
        "recheck": attempt.recheck,
        "fix": _fix(attempt.fix) if attempt.fix else None,
        "verdicts": [_verdict(verdict) for verdict in attempt.verdicts],
        "findings": _plain(attempt.blocking),
        "analysis": _plain(attempt.analysis),
        "regressions": list(history.regressions(attempt)),
        "flaky": _flaky(attempt),
    }


def _flaky(attempt: Attempt) -> list[str]:
    return [f.location.symbol or f.source for v in attempt.verdicts for f in v.flaky]


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "files": list(fix.files),
        "added": fix.added,
        "removed": fix.removed,
        "parts": _plain(fix.parts),
        "skipped": _plain(fix.skipped),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    # A check without cases of its own has one, of its own name, to tell regressions by.
    outcomes = Counter(o for case, o in verdict.cases.items() if case != verdict.check)
    return {
        "check": verdict.check,
        "mode": verdict.mode,
        "passed": verdict.passed,
        "exit_code": verdict.exit_code,
        "seconds": round(verdict.seconds, 3),
        "cases": dict(sorted(outcomes.items())),
        "findings": _plain(verdict.findings),
        "flaky": _plain(verdict.flaky),
        "known": _plain(verdict.known),
        "output": verdict.output,
    }


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
