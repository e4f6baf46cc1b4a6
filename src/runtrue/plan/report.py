"""Reports: what a plan tells of itself, as the data that `--json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from runtrue.fixers import Hide
from runtrue.flow import Question, RunState
from runtrue.loop import (
    COUNTED,
    Attempt,
    Decision,
    Finding,
    Fix,
    History,
    Verdict,
    Why,
)
from runtrue.plan.context import FixDiffs, PlanRun
from runtrue.plan.progress import Chapter, Progress, StepState, seen_from
from runtrue.plan.states import Phase, PlanState, Position
from runtrue.plan.strategy import Step
from runtrue.sandbox import Isolation

#: What one fix changed is shown up to this many characters.
_DIFF = 20_000


class Differs(Protocol):
    """What can tell two candidates apart."""

    def difference(self, old: str, new: str) -> str:
        """The patch from one candidate to another."""
        ...


def fix_diffs(sandbox: Differs, fixes: tuple[tuple[str, str], ...], hide: Hide) -> FixDiffs:
    """The patches of some fixes, as texts that may be shown."""
    return {f"{old}..{new}": _readable(hide(sandbox.difference(old, new))) for old, new in fixes}


def tried_fixes(plan: PlanRun) -> tuple[tuple[str, str], ...]:
    """Every fix that was run, by the candidates that it lies between."""
    attempts = (a for chapter in all_chapters(plan) for a in chapter.history.attempts)
    return tuple(sorted({(a.fix.base, a.fix.candidate) for a in attempts if a.fix}))


def _readable(diff: str) -> str:
    text = diff.encode("utf-8", "replace").decode()
    more = len(text) - _DIFF
    return text if more <= 0 else f"{text[:_DIFF]}\n… and {more} characters more\n"


def report_of(
    plan: PlanRun,
    status: RunState,
    *,
    question: Question | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    """Return the report of a plan, finished or not."""
    progress, request = plan.progress, plan.request
    chapters = all_chapters(plan)
    position = position_of(progress, status, question)
    decision: Decision | None = plan.decision
    ended = position.state.is_terminal
    why: str | None = plan.why or (decision.why if decision else None)
    if question is not None and question.question.get("approve") == "edits":
        why = "edited"
    histories = [chapter.history for chapter in chapters]
    return {
        "status": _status(position.state),
        "run_id": plan.run_id,
        "kind": "plan",
        "project": request.project,
        "state": position.state,
        "phase": position.phase,
        "why": _why(why, position.state),
        "plan": {
            "id": plan.run_id,
            "instruction": request.instruction,
            "source": request.source,
            "profile": request.profile_name,
            "sandbox": request.sandbox,
            "automation_profile": _plain(request.profile),
            "validation_retry_limit": request.retry_limit,
            "validations": _plain(request.validations),
            "strategy": _strategy(progress),
            "steps": [_step(progress, depth, step) for depth, step in _steps(progress)],
            "deeds": _plain(progress.results),
            "strategies": _plain(progress.strategies),
            "guidance": list(progress.guidance(plan.open_history)),
            "budget": _budget(plan),
            "metadata": metadata(plan),
        },
        "attempts": [_attempt(c, attempt) for c in chapters for attempt in c.history.attempts],
        "rejected": [
            {"step": c.step, "after": r.after, "reason": r.reason, "fix": _plain(r.fix)}
            for c in chapters
            for r in c.history.rejections
        ],
        "findings": [] if not _matters(position.state) else _plain(_left(histories, decision)),
        "needed": _needed(plan, histories),
        "question": _plain(question.question) if question and not ended else None,
        "diff": plan.diff,
        "patch": plan.patch,
        "patch_root": plan.patch_root,
        "applied": position.state is PlanState.APPLIED,
        "refused": progress.refused,
        "sandbox": plan.sandbox,
        "isolation": Isolation(request.isolation).record,
        "candidate": plan.candidate or None,
        "error": error,
        "seconds": round(sum(h.seconds for h in histories) + _acted(progress), 3),
    }


def position_of(progress: Progress, status: RunState, question: Question | None) -> Position:
    """Where a plan stands, with what the journal knows of it."""
    position = progress.position
    if status is RunState.CANCELLED:
        return Position(position.phase, PlanState.CANCELLED)
    asked = question.question if question is not None and not question.answered else None
    inside = position == Position(Phase.EXECUTE, PlanState.PROCESSING)
    if status is RunState.WAITING and asked is not None and inside:
        # Asked by the repair cycle, or by a revision, which know nothing of positions.
        return Position(Phase.EXECUTE, PlanState.WAITING)
    if position.state is PlanState.COMPLETE and status is not RunState.WAITING:
        # It was told to apply, and has not come to the end of that.
        return Position(Phase.APPLY, PlanState.PROCESSING)
    return position


def metadata(plan: PlanRun) -> dict[str, Any]:
    """The plan's execution metadata, under the names that the seed gives them."""
    history = fix_history(plan)
    tries = Counter(entry["validation"] for entry in history if entry["counted"])
    usage = list(_usage(plan))
    known = all("cost" in used for used in usage if used.get("requests"))
    return {
        "validation_attempts": dict(tries),
        "validation_fix_history": history,
        "strategy_revisions": sum(
            1 for one in plan.progress.strategies if one.step and not one.failure
        ),
        "usage": {
            name: round(sum(used.get(name, 0) for used in usage), 6)
            for name in ("requests", "input_tokens", "output_tokens", "cost")
        },
        "cost_is_known": known,
    }


def fix_history(plan: PlanRun) -> list[dict[str, Any]]:
    """Every fix that was tried, for each validation that it was for, oldest first."""
    diffs: FixDiffs = plan.fix_diffs or {}
    return [
        entry
        for chapter in all_chapters(plan)
        for fix, result, counted, failing in _fixes(chapter.history)
        for entry in _entries(chapter, fix, result, counted, failing, diffs)
    ]


def _fixes(history: History) -> Iterator[tuple[Fix, str, bool, Attempt]]:
    """The fixes in the order in which they were tried, and what came of each."""
    by_number = {attempt.number: attempt for attempt in history.attempts}
    tried = [(a.number, 1, a.fix, "", a) for a in history.attempts if a.fix]
    tried += [(r.after, 2, r.fix, r.reason, by_number[r.after]) for r in history.rejections]
    for number, _, fix, reason, attempt in sorted(tried, key=lambda one: one[:2]):
        if reason:
            yield fix, str(reason), reason in COUNTED, attempt
            continue
        base = next(a for a in history.attempts if a.candidate == fix.base)
        is_human = bool(fix.parts) and all(part.fixer == "human" for part in fix.parts)
        failing = {verdict.check for verdict in attempt.verdicts if verdict.blocks}
        mended = not failing & set(fix.checks)
        result = "passed" if not failing else "broke_another" if mended else "failed"
        yield fix, result, not is_human and number > 0, base


def _entries(
    chapter: Chapter, fix: Fix, result: str, counted: bool, base: Attempt, diffs: FixDiffs
) -> Iterator[dict[str, Any]]:
    by_check = {verdict.check: verdict for verdict in base.verdicts}
    names = fix.checks or tuple(v.check for v in base.verdicts if v.blocks)
    used = [part.usage for part in fix.parts if part.usage]
    outside = sorted({file for part in fix.parts for file in part.outside})
    analyses = [part.analysis.root_cause for part in fix.parts if part.analysis]
    own = base.analysis.root_cause if base.analysis else None
    # Those who had nothing to do with it are named only where nobody had.
    busy = [p for p in fix.parts if p.files or p.outside or p.failure] or fix.parts
    for name in names:
        found = by_check[name].findings if name in by_check else ()
        yield {
            "validation": name,
            "step": chapter.step,
            "message": found[0].message if found else "",
            "data": _data(found),
            "diagnosis": analyses[-1] if analyses else own,
            "diff": diffs.get(f"{fix.base}..{fix.candidate}", ""),
            "files": list(fix.files),
            "outside": outside,
            "result": result,
            "counted": counted,
            "duration": round(fix.seconds, 3),
            "fixer": "+".join(dict.fromkeys(part.fixer for part in busy)) or None,
            "cost": sum(one.get("cost", 0.0) for one in used) if used else 0.0,
        }


def _data(findings: tuple[Finding, ...]) -> dict[str, Any]:
    paths = list(dict.fromkeys(f.location.file for f in findings if f.location.file))
    lines = [f.location.line for f in findings if f.location.line]
    own = findings[0].data if findings else {}
    return {"paths": paths, "lines": lines, **own}


def all_chapters(plan: PlanRun) -> tuple[Chapter, ...]:
    """The chapters that are over, and the one that is being written."""
    progress, history = plan.progress, plan.open_history
    if history is None or not (history.attempts or history.rejections):
        return progress.chapters
    return (*progress.chapters, Chapter(step=progress.step, history=history))


def _status(state: PlanState) -> str:
    """The word that every `--json` document has for how it stands."""
    if state in (PlanState.COMPLETE, PlanState.APPLIED):
        return "passed"
    if state in (PlanState.FAILED, PlanState.CANCELLED):
        return state.value
    return "running" if state is PlanState.PROCESSING else "waiting"


def _why(why: Any, state: PlanState) -> str | None:
    if state not in (PlanState.WAITING, PlanState.FAILED):
        return None
    return "budget" if why in (Why.TIME_SPENT, Why.MONEY_SPENT) else why


def _matters(state: PlanState) -> bool:
    """Whether findings that are left still say something."""
    return state not in (PlanState.COMPLETE, PlanState.APPLIED)


def _left(histories: list[History], decision: Decision | None) -> tuple[Finding, ...]:
    if decision is not None and decision.findings:
        return decision.findings
    latest = histories[-1].latest if histories and histories[-1].attempts else None
    return latest.blocking if latest else ()


def _needed(plan: PlanRun, histories: list[History]) -> list[str]:
    """The files that were needed and may not be changed, as seen from the project."""
    files = histories[-1].needed if histories and histories[-1].attempts else ()
    return list(seen_from(plan.prefix, files))


def _budget(plan: PlanRun) -> dict[str, Any]:
    """What was used up since a person last said something, and of how much."""
    history: History | None = plan.open_history
    spent = history.spent if history is not None else plan.progress.spent
    profile = plan.request.profile
    return {
        "fixes": spent.fixes,
        "validation_retry_limit": plan.request.retry_limit,
        "seconds": round(spent.seconds, 3),
        "max_time": profile.max_time,
        "cost": spent.cost,
        "max_cost": profile.max_cost,
    }


def _attempt(chapter: Chapter, attempt: Attempt) -> dict[str, Any]:
    return {
        "step": chapter.step,
        "number": attempt.number,
        "candidate": attempt.candidate,
        "passed": attempt.passed,
        "findings": _plain(attempt.blocking),
        "fix": _plain(attempt.fix),
        "diagnosis": attempt.analysis.root_cause if attempt.analysis else None,
        "verdicts": [_verdict(verdict) for verdict in attempt.verdicts],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "validation": verdict.check,
        "mode": verdict.mode,
        "passed": verdict.passed,
        "message": verdict.findings[0].message if verdict.findings else "",
        "data": _data(verdict.findings),
        "findings": _plain(verdict.findings),
        "cases": dict(Counter(verdict.cases.values())),
        "exit_code": verdict.exit_code,
        "seconds": round(verdict.seconds, 3),
        "wrote": list(verdict.wrote),
    }


def _strategy(progress: Progress) -> Any:
    return None if progress.strategy is None else _plain(progress.strategy)


def _steps(progress: Progress) -> Iterator[tuple[int, Step]]:
    if progress.strategy is not None:
        yield from progress.strategy.all_steps()


def _step(progress: Progress, depth: int, step: Step) -> dict[str, Any]:
    return {
        "id": step.id,
        "depth": depth,
        "description": step.description,
        "actor": step.actor if step.is_leaf else None,
        "command": step.command,
        "paths": None if step.bounds.paths is None else list(step.bounds.paths),
        "state": step_state(progress, step),
    }


def step_state(progress: Progress, step: Step) -> StepState:
    """How it stands with a step: with one that has steps of its own, how it stands with those."""
    if step.is_leaf:
        return progress.states.get(step.id, StepState.PENDING)
    below = {step_state(progress, one) for one in step.steps}
    for state in (StepState.FAILED, StepState.PROCESSING):
        if state in below:
            return state
    if below == {StepState.DONE}:
        return StepState.DONE
    return StepState.PROCESSING if StepState.DONE in below else StepState.PENDING


def _usage(plan: PlanRun) -> Iterator[dict[str, float]]:
    progress = plan.progress
    acted = [result.usage for result in progress.results]
    made = [one.usage for one in progress.strategies]
    yield from (used for used in (*acted, *made) if used)
    for chapter in all_chapters(plan):
        history = chapter.history
        fixes = [a.fix for a in history.attempts if a.fix]
        fixes += [r.fix for r in history.rejections]
        for part in (part for fix in fixes for part in fix.parts):
            if part.usage:
                yield part.usage


def _acted(progress: Progress) -> float:
    return sum(result.seconds for result in progress.results)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
