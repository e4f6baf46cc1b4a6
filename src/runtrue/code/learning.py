"""Learning: what a run leaves in the debug memory, and what the next one is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.code.place import Place
from runtrue.code.sessions import keep_session, learning_of, with_generation
from runtrue.code.task import CodeTask
from runtrue.fixers import fix_ids, language_of_finding, remember_fix
from runtrue.flow import Node
from runtrue.loop import Action, Attempt, Decision, Fault, Fix, History, lineage, mended
from runtrue.memory import Retention, load_sessions

Shared = dict[str, Any]

_MOST_LESSONS = 8


def lessons_of(place: Place, task: CodeTask) -> tuple[str, ...]:
    """What failed here before, in sentences for whoever writes the code."""
    request = place.request
    failures = place.memory.recurring(place.project, files=(task.path,), tests=task.tests)
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
    #: What those said of it who wrote the code at first.
    said: str = ""


class LearnNode(Node):
    """Keeps what was verified, and how remembered fixes fared. Done again, it adds nothing."""

    blocking = True

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name)
        self.place = place

    def prep(self, shared: Shared) -> LearnInputs:
        """What there is to learn from."""
        said = [one.description for one in shared.get("written", ()) if one.description]
        return LearnInputs(shared["history"], shared["decision"], "; ".join(said))

    def exec(self, inputs: LearnInputs) -> Learned:
        """Keep it."""
        place = self.place
        history = with_generation(inputs.history, place, inputs.said)
        accepted = inputs.decision.action is Action.ACCEPT
        chain = list(lineage(history, inputs.decision.candidate)) if accepted else []
        used = {fix_id for attempt in chain for fix_id in _used(attempt.fix)}
        for attempt in history.attempts:
            for fix_id in _used(attempt.fix):
                place.memory.tried(fix_id, place.run_id)
        self._keep_before(history)
        fixes = []
        for attempt in chain:
            fixes += list(self._keep(attempt, history))
        if history.escalations:
            failed = [f.fingerprint for a in history.attempts for f in a.blocking]
            place.memory.note(place.project, failed, escalated=True)
        status = inputs.decision.status or inputs.decision.action
        session = keep_session(place, history, status=status, chain=chain)
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

    def _keep_before(self, history: History) -> None:
        """Keep the failures that the generator has mended before anything else looked at them."""
        before = history.attempts[0]
        if before.number:
            return
        written = next(a for a in history.attempts if a.fix and a.fix.base == before.candidate)
        gone = [f for f in mended(written, history) if f.fault is Fault.CANDIDATE]
        self.place.memory.record_failures(
            gone,
            run_id=self.place.run_id,
            attempt=before.number,
            project=self.place.project,
            language_of=language_of_finding,
        )

    def _keep(self, attempt: Attempt, history: History) -> Iterator[str]:
        """Remember the fix of an attempt, and what it taught; the names of what is remembered."""
        place, fix = self.place, attempt.fix
        if fix is None:
            return
        remembered = remember_fix(
            attempt,
            history,
            place.memory,
            place.sandbox,
            run_id=place.run_id,
            project=place.project,
        )
        for finding, kept in remembered:
            learning = learning_of(finding, fix)
            place.memory.note(place.project, [finding.fingerprint], learning=learning)
            yield kept.name

    def post(self, shared: Shared, inputs: LearnInputs, result: Learned) -> None:
        """Tell what was learned."""
        shared["memory"] = result


def _used(fix: Fix | None) -> tuple[int, ...]:
    return fix_ids(fix.parts) if fix else ()
