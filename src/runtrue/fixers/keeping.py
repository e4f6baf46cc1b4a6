"""Keeping: what a verified fix leaves in the debug memory, for the next run that fails so."""

from __future__ import annotations

from runtrue.fixers.memory import fix_ids, language_of_finding
from runtrue.loop import Attempt, Finding, History, Sandbox, mended
from runtrue.memory import DebugMemory, Project, RememberedFix


def keep_fix(
    attempt: Attempt,
    history: History,
    memory: DebugMemory,
    sandbox: Sandbox,
    *,
    run_id: str,
    project: Project,
) -> list[tuple[Finding, RememberedFix]]:
    """Remember the fix of an attempt that led to what was accepted; kept again, it adds nothing.

    Remembered fixes that it used have passed once more, and so have the kinds of edits that a
    search has found. The change is kept for each finding that it made go away: those, with what is
    remembered.
    """
    fix = attempt.fix
    if fix is None:
        return []
    for fix_id in fix_ids(fix.parts):
        memory.passed(fix_id, run_id)
    for part in fix.parts:
        if part.trace is not None and part.files:
            kinds = part.analysis.patterns_matched if part.analysis else ()
            memory.edit_held(part.trace["causes"], kinds, run_id)
    diff = sandbox.difference(fix.base, fix.candidate)
    fixers = [part.fixer for part in fix.parts if part.files]
    remembered = []
    for finding in mended(attempt, history):
        kept = memory.record_fix(
            finding,
            diff=diff,
            fixer=fixers[-1] if fixers else "human",
            run_id=run_id,
            project=project,
            language=language_of_finding(finding),
        )
        if kept is not None:
            remembered.append((finding, kept))
    return remembered
