"""Reports: what a run of the code loop tells, as the data that `--json` prints."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from runtrue.flow import RunState
from runtrue.loop import Attempt, Budget, Decision, Fix, History, Verdict

Shared = dict[str, Any]


def report_of(shared: Shared, status: RunState) -> dict[str, Any]:
    """The report of a run from its shared store, finished or not."""
    history: History = shared.get("history", History())
    decision: Decision | None = shared.get("decision")
    request = shared["request"]
    return {
        "status": status,
        "run_id": shared["run_id"],
        "kind": "fix",
        "project": request.project,
        "why": decision.why if decision else None,
        "attempts": [_attempt(history, attempt) for attempt in history.attempts],
        "rejected": [
            {"after": r.after, "reason": r.reason, "fix": _fix(r.fix)} for r in history.rejections
        ],
        "answers": [answer.text for answer in history.answers],
        "findings": _plain(_remaining(history, status)),
        "regressions": list(decision.regressions) if decision else [],
        "budget": _plain(Budget.left(request.policy, history)),
        "max_attempts": request.policy.max_attempts,
        "diff": shared.get("diff", ""),
        "patch": shared.get("patch"),
        "patch_root": shared.get("patch_root"),
        "applied": shared.get("applied", False),
        "sandbox": shared.get("sandbox"),
        "seconds": round(history.seconds, 3),
    }


def _remaining(history: History, status: RunState) -> Any:
    if not history.attempts or status is RunState.PASSED:
        return ()
    return history.best.blocking


def _attempt(history: History, attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "candidate": attempt.candidate,
        "passed": attempt.passed,
        "recheck": attempt.recheck,
        "fix": _fix(attempt.fix) if attempt.fix else None,
        "verdicts": [_verdict(verdict) for verdict in attempt.verdicts],
        "findings": _plain(attempt.blocking),
        "regressions": list(history.regressions(attempt)),
    }


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
        "output": verdict.output,
    }


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
