"""Fix history: every fix that a plan tried, what it cost, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Protocol

from runtrue.fixers import Redact
from runtrue.loop import COUNTED, Attempt, Finding, Fix, History
from runtrue.plan.context import FixDiffs, PlanRun
from runtrue.plan.progress import Chapter
from runtrue.plan.report import FixEntry, PlanMetadata

#: What one fix changed is shown up to this many characters.
_DIFF = 20_000


class Differs(Protocol):
    """What can tell two candidates apart."""

    def difference(self, old: str, new: str) -> str:
        """The patch from one candidate to another."""
        ...


def fix_diffs(sandbox: Differs, fixes: tuple[tuple[str, str], ...], redact: Redact) -> FixDiffs:
    """The patches of some fixes, as texts that may be shown."""
    return {f"{old}..{new}": _readable(redact(sandbox.difference(old, new))) for old, new in fixes}


def tried_fixes(plan: PlanRun) -> tuple[tuple[str, str], ...]:
    """Every fix that was run, by the candidates that it lies between."""
    attempts = (a for chapter in all_chapters(plan) for a in chapter.history.attempts)
    return tuple(sorted({(a.fix.base, a.fix.candidate) for a in attempts if a.fix}))


def _readable(diff: str) -> str:
    text = diff.encode("utf-8", "replace").decode()
    more = len(text) - _DIFF
    return text if more <= 0 else f"{text[:_DIFF]}\n… and {more} characters more\n"


def metadata(plan: PlanRun) -> PlanMetadata:
    """Return the plan's execution metadata."""
    history = fix_history(plan)
    tries = Counter(entry.validation for entry in history if entry.counted)
    usage = list(_usage(plan))
    known = all("cost" in used for used in usage if used.get("requests"))
    return PlanMetadata(
        validation_attempts=dict(tries),
        validation_fix_history=history,
        strategy_revisions=sum(
            1 for one in plan.progress.strategies if one.step and not one.failure
        ),
        usage={
            name: round(sum(used.get(name, 0) for used in usage), 6)
            for name in ("requests", "input_tokens", "output_tokens", "cost")
        },
        cost_is_known=known,
    )


def fix_history(plan: PlanRun) -> tuple[FixEntry, ...]:
    """Return every fix that was tried, for each validation that it was for, oldest first."""
    diffs: FixDiffs = plan.fix_diffs or {}
    return tuple(
        entry
        for chapter in all_chapters(plan)
        for fix, result, counted, failing in _fixes(chapter.history)
        for entry in _entries(chapter, fix, result, counted, failing, diffs)
    )


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
        is_fixed = not failing & set(fix.checks)
        result = "passed" if not failing else "broke_another" if is_fixed else "failed"
        yield fix, result, not is_human and number > 0, base


def _entries(
    chapter: Chapter, fix: Fix, result: str, counted: bool, base: Attempt, diffs: FixDiffs
) -> Iterator[FixEntry]:
    by_check = {verdict.check: verdict for verdict in base.verdicts}
    names = fix.checks or tuple(v.check for v in base.verdicts if v.blocks)
    used = [part.usage for part in fix.parts if part.usage]
    outside = tuple(sorted({file for part in fix.parts for file in part.outside}))
    analyses = [part.analysis.root_cause for part in fix.parts if part.analysis]
    own = base.analysis.root_cause if base.analysis else None
    # Those who had nothing to do with it are named only where nobody had.
    busy = [p for p in fix.parts if p.files or p.outside or p.failure] or fix.parts
    for name in names:
        found = by_check[name].findings if name in by_check else ()
        yield FixEntry(
            validation=name,
            step=chapter.step,
            message=found[0].message if found else "",
            data=finding_data(found),
            diagnosis=analyses[-1] if analyses else own,
            diff=diffs.get(f"{fix.base}..{fix.candidate}", ""),
            files=fix.files,
            outside=outside,
            result=result,
            counted=counted,
            duration=round(fix.seconds, 3),
            fixer="+".join(dict.fromkeys(part.fixer for part in busy)) or None,
            cost=sum(one.get("cost", 0.0) for one in used) if used else 0.0,
        )


def finding_data(findings: tuple[Finding, ...]) -> dict[str, Any]:
    """Return the files and lines of findings, with the data of the first."""
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
