"""What a plan leaves in the debug memory, for the next run that fails so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from runtrue.fixers import fix_ids, language_of_finding, remember_fix
from runtrue.flow import Run
from runtrue.loop import Fault, History, lineage
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.next_step import is_proved


@dataclass(frozen=True, slots=True)
class PlanLearnInputs:
    """All that happened, and whether every required validation has passed in the end."""

    histories: tuple[History, ...]
    is_proved: bool


async def learn(run: Run, context: PlanContext, plan: PlanRun) -> None:
    """Record what failed, and, of a plan that is complete, what fixed it. Again adds nothing."""
    is_complete = plan.progress.pending is None and is_proved(plan)
    histories = tuple(chapter.history for chapter in plan.progress.chapters)
    await run.step("learn", partial(_learn, context), PlanLearnInputs(histories, is_complete))


def _learn(context: PlanContext, inputs: PlanLearnInputs) -> None:
    number = 0
    for history in inputs.histories:
        for attempt in history.attempts:
            number += 1
            context.memory.record_failures(
                [f for f in attempt.blocking if f.fault is Fault.CANDIDATE],
                run_id=context.run_id,
                attempt=number,
                project=context.project,
                language_of=language_of_finding,
            )
            for fix_id in fix_ids(attempt.fix.parts) if attempt.fix else ():
                context.memory.tried(fix_id, context.run_id)
        last = history.attempts[-1:] if inputs.is_proved else ()
        for accepted in (one for one in last if one.passed):
            for attempt in lineage(history, accepted.candidate):
                remember_fix(
                    attempt,
                    history,
                    context.memory,
                    context.sandbox,
                    run_id=context.run_id,
                    project=context.project,
                )
