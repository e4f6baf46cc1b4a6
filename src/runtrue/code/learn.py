"""The debug memory of the code loop: what a run leaves there, and what the next one recalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runtrue.code.context import CodeContext, CodeState, Learned
from runtrue.code.events import Recalled
from runtrue.code.sessions import keep_session, learning_of, with_generation
from runtrue.fixers import fix_ids, language_of_finding, remember_fix
from runtrue.flow import Run, emit
from runtrue.loop import (
    Action,
    Attempt,
    Decision,
    Fault,
    Fix,
    History,
    Why,
    fixed_findings,
    lineage,
)
from runtrue.memory import Retention, load_sessions

_MOST_LESSONS = 8


@dataclass(frozen=True, slots=True)
class LearnInputs:
    """All that happened, and how it ended."""

    history: History
    decision: Decision
    #: What those said of it who wrote the code at first.
    said: str = ""


async def recall(run: Run, context: CodeContext, state: CodeState) -> None:
    """Look into the debug memory for what failed here before."""
    state.lessons = await run.step("recall", partial(_lessons, context))


async def learn(run: Run, context: CodeContext, state: CodeState) -> None:
    """Remember what was verified, and how remembered fixes fared. Done again, it adds nothing."""
    said = "; ".join(one.description for one in state.written if one.description)
    inputs = LearnInputs(state.history, state.last_decision, said)
    state.learned = await run.step("learn", partial(_learn, context), inputs)


def _lessons(context: CodeContext) -> tuple[str, ...]:
    """Return what failed here before, in sentences for those who write the code."""
    request, task = context.request, context.request.task
    files, tests = ((task.path,), task.tests) if task else ((), ())
    failures = context.memory.recurring(context.project, files=files, tests=tests)
    lessons = [
        f"{one.error_type} in {one.file or one.test or 'this project'}, seen {one.seen} times: "
        f"{one.message}{f' ({one.learning})' if one.learning else ''}"
        for one in failures
    ]
    iteration = request.iteration
    learns = iteration is None or iteration.cross_iteration_learning
    if learns and request.retention.sessions:
        loop_id = iteration.loop_id if iteration else None
        for session in load_sessions(Path(request.project), loop_id):
            lessons += session.learnings
    found = tuple(dict.fromkeys(lessons))[:_MOST_LESSONS]
    emit(Recalled(lessons=found))
    return found


def _learn(context: CodeContext, inputs: LearnInputs) -> Learned:
    history = with_generation(inputs.history, context, inputs.said)
    is_accepted = inputs.decision.action is Action.ACCEPT
    chain = list(lineage(history, inputs.decision.candidate)) if is_accepted else []
    used = {fix_id for attempt in chain for fix_id in _used(attempt.fix)}
    for attempt in history.attempts:
        for fix_id in _used(attempt.fix):
            context.memory.tried(fix_id, context.run_id)
    _remember_before(context, history)
    fixes: list[str] = []
    # What is below the policy's floor, a person has agreed to; to what is flagged, nobody has.
    for attempt in chain if inputs.decision.why is not Why.FLAGGED else ():
        fixes += _remember_fix(context, attempt, history)
    if history.escalations:
        failed = [f.fingerprint for a in history.attempts for f in a.blocking]
        context.memory.note(context.project, failed, escalated=True)
    status = inputs.decision.status or inputs.decision.action
    session = keep_session(context, history, status=status, chain=chain)
    context.memory.prune(
        Retention(
            days=context.request.retention.days,
            learning_days=context.request.retention.learning_days,
            escalated_days=context.request.retention.escalated_days,
        )
    )
    return Learned(
        session=session.ref,
        fixes=tuple(dict.fromkeys(fixes)),
        reused=tuple(f"fix-{fix_id}" for fix_id in sorted(used)),
        trouble=context.memory.trouble or session.trouble,
    )


def _remember_before(context: CodeContext, history: History) -> None:
    """Record the failures that the generator has fixed before anything else looked at them."""
    before = history.attempts[0]
    if before.number:
        return
    written = next(a for a in history.attempts if a.fix and a.fix.base == before.candidate)
    gone = [f for f in fixed_findings(written, history) if f.fault is Fault.CANDIDATE]
    context.memory.record_failures(
        gone,
        run_id=context.run_id,
        attempt=before.number,
        project=context.project,
        language_of=language_of_finding,
    )


def _remember_fix(context: CodeContext, attempt: Attempt, history: History) -> Iterator[str]:
    """Remember the fix of an attempt, and what it taught; the names of what is remembered."""
    fix = attempt.fix
    if fix is None:
        return
    remembered = remember_fix(
        attempt,
        history,
        context.memory,
        context.sandbox,
        run_id=context.run_id,
        project=context.project,
    )
    for finding, kept in remembered:
        learning = learning_of(finding, fix)
        context.memory.note(context.project, [finding.fingerprint], learning=learning)
        yield kept.name


def _used(fix: Fix | None) -> tuple[int, ...]:
    return fix_ids(fix.parts) if fix else ()
