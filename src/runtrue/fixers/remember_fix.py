"""Remember a verified fix in the debug memory, for the next run that fails in the same way."""

from __future__ import annotations

from runtrue.fixers.memory import fix_ids, language_of_finding
from runtrue.loop import Attempt, Finding, History, Sandbox, fixed_findings
from runtrue.memory import DebugMemory, Project, RememberedFix


def remember_fix(
    attempt: Attempt,
    history: History,
    memory: DebugMemory,
    sandbox: Sandbox,
    *,
    run_id: str,
    project: Project,
) -> list[tuple[Finding, RememberedFix]]:
    """Remember the fix of an attempt that led to the accepted candidate; twice adds nothing.

    Counts a pass for the remembered fixes that it used and for the kinds of edits that a search
    found. Returns the findings that it fixed, each with what is now remembered for it.
    """
    fix = attempt.fix
    if fix is None:
        return []
    for fix_id in fix_ids(fix.parts):
        memory.passed(fix_id, run_id)
    for part in fix.parts:
        if part.trace is not None and part.files:
            kinds = part.analysis.patterns_matched if part.analysis else ()
            memory.record_edits(part.trace["causes"], kinds, run_id)
    diff = sandbox.difference(fix.base, fix.candidate)
    fixers = [part.fixer for part in fix.parts if part.files]
    remembered = []
    for finding in fixed_findings(attempt, history):
        new = memory.record_fix(
            finding,
            diff=diff,
            fixer=fixers[-1] if fixers else "human",
            run_id=run_id,
            project=project,
            language=language_of_finding(finding),
        )
        if new is not None:
            remembered.append((finding, new))
    return remembered
