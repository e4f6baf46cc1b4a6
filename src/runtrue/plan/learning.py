"""Learning: what a plan leaves in the debug memory, for the next run that fails so."""

from __future__ import annotations

from dataclasses import dataclass

from runtrue.fixers import fix_ids, language_of_finding, remember_fix
from runtrue.loop import Fault, History, lineage
from runtrue.plan.picking import is_proved
from runtrue.plan.place import PlaceNode
from runtrue.plan.progress import Shared, progress_of


@dataclass(frozen=True, slots=True)
class LearnInputs:
    """All that happened, and whether every required validation has passed in the end."""

    histories: tuple[History, ...]
    is_proved: bool


class LearnNode(PlaceNode):
    """Keeps what failed, and, of a plan that is complete, what mended it.

    Done again, it adds nothing.
    """

    def prep(self, shared: Shared) -> LearnInputs:
        """What there is to learn from."""
        progress = progress_of(shared)
        is_complete = progress.pending is None and is_proved(shared)
        return LearnInputs(tuple(c.history for c in progress.chapters), is_complete)

    def exec(self, inputs: LearnInputs) -> None:
        """Keep it."""
        place, number = self.place, 0
        for history in inputs.histories:
            for attempt in history.attempts:
                number += 1
                place.memory.record_failures(
                    [f for f in attempt.blocking if f.fault is Fault.CANDIDATE],
                    run_id=place.run_id,
                    attempt=number,
                    project=place.project,
                    language_of=language_of_finding,
                )
                for fix_id in fix_ids(attempt.fix.parts) if attempt.fix else ():
                    place.memory.tried(fix_id, place.run_id)
            last = history.attempts[-1:] if inputs.is_proved else ()
            for accepted in (one for one in last if one.passed):
                for attempt in lineage(history, accepted.candidate):
                    remember_fix(
                        attempt,
                        history,
                        place.memory,
                        place.sandbox,
                        run_id=place.run_id,
                        project=place.project,
                    )
