"""Learning: what a run leaves in the debug memory, and what the next one is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtrue.code.place import Place
from runtrue.code.request import Kind
from runtrue.code.task import CodeTask
from runtrue.fixers import fix_ids, language_of_finding
from runtrue.flow import Node
from runtrue.loop import Action, Attempt, Decision, Finding, Fix, History, cause_of
from runtrue.memory import (
    Project,
    Retention,
    Session,
    SessionFailure,
    SessionFile,
    SessionFix,
    load_sessions,
    write_session,
)

Shared = dict[str, Any]

_MOST_LESSONS = 8


def lessons_of(place: Place, task: CodeTask) -> tuple[str, ...]:
    """What failed here before, in sentences for whoever writes the code."""
    request = place.request
    project = Project.at(Path(request.project))
    failures = place.memory.recurring(project, files=(task.path,), tests=task.tests)
    lessons = [
        f"{one.error_type} in {one.file or one.test or 'this project'}, seen {one.seen} times: "
        f"{one.message}{f' ({one.learning})' if one.learning else ''}"
        for one in failures
    ]
    iteration = request.iteration
    if iteration is None or iteration.cross_iteration_learning:
        loop_id = iteration.loop_id if iteration else None
        for session in load_sessions(Path(request.project), loop_id):
            lessons += session.learnings
    return tuple(dict.fromkeys(lessons))[:_MOST_LESSONS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a run left behind: the session's file, and the fixes that are now remembered."""

    session: str | None = None
    fixes: tuple[str, ...] = ()
    reused: tuple[str, ...] = ()
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class LearnInputs:
    """All that happened, and how it ended."""

    history: History
    decision: Decision


class LearnNode(Node):
    """Keeps what was verified, and how remembered fixes fared. Done again, it adds nothing."""

    blocking = True

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name)
        self.place = place

    def prep(self, shared: Shared) -> LearnInputs:
        """What there is to learn from."""
        return LearnInputs(shared["history"], shared["decision"])

    def exec(self, inputs: LearnInputs) -> Learned:
        """Keep it."""
        place, history = self.place, inputs.history
        project = Project.at(Path(place.request.project))
        accepted = inputs.decision.action is Action.ACCEPT
        chain = list(_chain(history, inputs.decision)) if accepted else []
        used = {fix_id for attempt in chain for fix_id in _used(attempt.fix)}
        for attempt in history.attempts:
            for fix_id in _used(attempt.fix):
                place.memory.tried(fix_id, place.run_id)
        for fix_id in used:
            place.memory.passed(fix_id, place.run_id)
        fixes = []
        for attempt in chain:
            fixes += list(self._keep(attempt, history, project))
        session = self._session(inputs, chain, project)
        place.memory.prune(
            Retention(
                days=place.request.retention.days,
                learning_days=place.request.retention.learning_days,
                escalated_days=place.request.retention.escalated_days,
            )
        )
        return Learned(
            session=session.ref,
            fixes=tuple(dict.fromkeys(fixes)),
            reused=tuple(f"fix-{fix_id}" for fix_id in sorted(used)),
            trouble=place.memory.trouble or session.trouble,
        )

    def _keep(self, attempt: Attempt, history: History, project: Project) -> Iterator[str]:
        """Remember the fix of an attempt for each finding that it made go away."""
        place, fix = self.place, attempt.fix
        if fix is None:
            return
        diff = place.sandbox.difference(fix.base, fix.candidate)
        fixers = [part.fixer for part in fix.parts if part.files]
        for finding in _mended(attempt, history):
            kept = place.memory.record_fix(
                finding,
                diff=diff,
                fixer=fixers[-1] if fixers else "human",
                run_id=place.run_id,
                project=project,
                language=language_of_finding(finding),
            )
            if kept is not None:
                learning = _learning(finding, fix)
                place.memory.note(project, [finding.fingerprint], learning=learning)
                yield kept.name

    def _session(self, inputs: LearnInputs, chain: list[Attempt], project: Project) -> SessionFile:
        place, request, history = self.place, self.place.request, inputs.history
        if history.escalations:
            failed = [f.fingerprint for a in history.attempts for f in a.blocking]
            place.memory.note(project, failed, escalated=True)
        if request.kind is Kind.FIX:
            # What it does to the project is a diff, and nothing else.
            return SessionFile(None)
        iteration = request.iteration
        kept = iteration if iteration and iteration.persist_per_iteration else None
        return write_session(
            Path(request.project),
            Session(
                session_id=request.workflow_id,
                run_id=place.run_id,
                project=request.project,
                status=inputs.decision.status or inputs.decision.action,
                started_at=_time(history.attempts[0].at),
                ended_at=_time(history.latest.at),
                loop_id=kept.loop_id if kept else None,
                iteration=kept.number if kept else None,
                failures=tuple(_failures(history)),
                fixes=tuple(self._fixes(history, chain)),
                learnings=tuple(_learnings(history, chain)),
            ),
        )

    def _fixes(self, history: History, chain: list[Attempt]) -> Iterator[SessionFix]:
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
                diff=self.place.sandbox.difference(fix.base, fix.candidate),
            )

    def post(self, shared: Shared, inputs: LearnInputs, result: Learned) -> None:
        """Tell what was learned."""
        shared["memory"] = result


def _chain(history: History, decision: Decision) -> Iterator[Attempt]:
    """The attempts whose fixes, one upon the other, make up what was accepted."""
    made = {attempt.candidate: attempt for attempt in history.attempts if attempt.fix}
    candidate, seen = decision.candidate, set[str]()
    while candidate in made and candidate not in seen:
        seen.add(candidate)
        attempt = made[candidate]
        yield attempt
        candidate = attempt.fix.base if attempt.fix else ""


def _used(fix: Fix | None) -> tuple[int, ...]:
    return fix_ids(fix.parts) if fix else ()


def _mended(attempt: Attempt, history: History) -> Iterator[Finding]:
    """The findings of the candidate that a fix was made from that are gone after it."""
    base = attempt.fix.base if attempt.fix else ""
    before = next((a for a in history.attempts if a.candidate == base), None)
    left = {finding.fingerprint for finding in attempt.blocking}
    yield from (f for f in (before.blocking if before else ()) if f.fingerprint not in left)


def _learning(finding: Finding, fix: Fix | None) -> str:
    files = ", ".join(fix.files) if fix else ""
    said = next((p.analysis.root_cause for p in fix.parts if p.analysis), None) if fix else None
    why = f": {said}" if said else ""
    return f"{finding.category} was mended by changing {files}{why}"


def _learnings(history: History, chain: list[Attempt]) -> Iterator[str]:
    for attempt in chain:
        for finding in _mended(attempt, history):
            yield _learning(finding, attempt.fix)


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


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
