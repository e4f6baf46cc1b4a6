"""Sessions: what a run of the code loop has seen and done so far, written beside the project."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from runtrue.code.context import CodeContext
from runtrue.code.request import CodeRequest, Kind
from runtrue.loop import Attempt, Finding, Fix, FixPart, History, cause_of, fixed_findings
from runtrue.memory import (
    DebugSession,
    SessionFailure,
    SessionFile,
    SessionFix,
    session_path,
    without_places,
    write_session,
)


def keep_session(
    context: CodeContext, history: History, *, status: str, chain: Collection[Attempt] = ()
) -> SessionFile:
    """Write the session of a run as far as it has come; what was written before is replaced.

    `chain` are the attempts whose fixes make up what was accepted.
    """
    request = context.request
    if request.kind is Kind.FIX or not request.retention.sessions:
        # What a fix does to the project is a diff, and nothing else.
        return SessionFile(None)
    loop_id, number = _iteration(request)
    session = DebugSession(
        session_id=request.workflow_id,
        run_id=context.run_id,
        project=Path(request.project).name,
        status=status,
        started_at=_time(next(a.at for a in history.attempts if a.number)),
        ended_at=_time(history.latest.at),
        loop_id=loop_id,
        iteration=number,
        failures=tuple(_failures(history)),
        fixes=tuple(_fixes(context, history, chain)),
        learnings=tuple(
            learning_of(finding, attempt.fix)
            for attempt in chain
            for finding in fixed_findings(attempt, history)
        ),
    )
    redact, relative = context.redact, without_places(_places(context))
    return write_session(Path(request.project), session, lambda text: relative(redact(text)))


def _places(context: CodeContext) -> dict[str, str]:
    """The directories of this machine that texts may name, and what they are called instead."""
    return {
        str(context.sandbox.directory): ".",
        str(context.sandbox.top): ".",
        str(context.home.path): "~/.runtrue",
        str(Path.home()): "~",
        tempfile.gettempdir(): "$TMPDIR",
    }


def session_ref(request: CodeRequest, history: History) -> str | None:
    """Return where the session of a run that has not ended lies, if it has been written."""
    is_written = any(attempt.analysis for attempt in history.attempts)
    if request.kind is Kind.FIX or not is_written:
        return None
    ref = session_path(request.workflow_id, *_iteration(request))
    return ref.as_posix() if (Path(request.project) / ref).is_file() else None


def with_generation(history: History, context: CodeContext, said: str = "") -> History:
    """The history with what the generator did as a fix, of the code as it was: attempt 0.

    Where there was no code before, nothing was fixed, and the history is as it was.
    """
    request, sandbox = context.request, context.sandbox
    first = [attempt for attempt in history.attempts if attempt.number == 1]
    if request.task is None or request.generator is None or not history.before or not first:
        return history
    base, candidate = sandbox.base, first[-1].candidate
    if candidate == base or sandbox.original(sandbox.rooted(request.task.path)) is None:
        return history
    part = FixPart(
        fixer=request.generator,
        findings=(),
        description=said,
        files=sandbox.changed(base, candidate),
    )
    added, removed = sandbox.count_lines(base, candidate)
    fix = Fix(base=base, candidate=candidate, parts=(part,), added=added, removed=removed)
    before = Attempt(number=0, candidate=base, verdicts=history.before)
    later = [replace(a, fix=fix) if a is first[-1] else a for a in history.attempts]
    return replace(history, attempts=(before, *later))


def learning_of(finding: Finding, fix: Fix | None) -> str:
    """Return what is to be learned from a fix, in a sentence."""
    files = ", ".join(fix.files) if fix else ""
    said = next((p.analysis.root_cause for p in fix.parts if p.analysis), None) if fix else None
    why = f": {said}" if said else ""
    return f"{finding.category} was fixed by changing {files}{why}"


def _iteration(request: CodeRequest) -> tuple[str | None, int | None]:
    iteration = request.iteration
    kept = iteration if iteration and iteration.persist_per_iteration else None
    return (kept.loop_id, kept.number) if kept else (None, None)


def _failures(history: History) -> Iterator[SessionFailure]:
    for attempt in history.attempts:
        for finding in attempt.blocking:
            yield SessionFailure(
                attempt=attempt.number,
                fingerprint=finding.fingerprint,
                error_type=finding.category,
                cause=cause_of(finding),
                message=finding.message,
                test=finding.location.symbol,
                file=finding.location.file,
                analysis=attempt.analysis,
            )


def _fixes(
    context: CodeContext, history: History, chain: Collection[Attempt]
) -> Iterator[SessionFix]:
    for attempt in history.attempts:
        fix = attempt.fix
        if fix is None:
            continue
        regressed = "regression" if history.regressions(attempt) else "failed"
        yield SessionFix(
            attempt=attempt.number,
            fixer=", ".join(part.fixer for part in fix.parts if part.files),
            description="; ".join(part.description for part in fix.parts if part.files),
            files=fix.files,
            outcome="passed" if attempt in chain else regressed,
            diff=context.sandbox.difference(fix.base, fix.candidate),
        )


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
