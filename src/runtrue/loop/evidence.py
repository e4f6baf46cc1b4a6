"""Evidence: what the history of a run says for a candidate, and the confidence that follows."""

from __future__ import annotations

from runtrue.loop.attempt import SUSPICIOUS, Attempt, Confidence, FixPart
from runtrue.loop.finding import Outcome
from runtrue.loop.history import History
from runtrue.loop.lineage import fixed_findings, lineage

#: The most that passing checks alone can say for an edit of a model or an agent.
_MOST = 0.95
#: What one test that turned green leaves in doubt; each further one leaves a smaller share.
_DOUBT = 0.3


def confidence_in(history: History, attempt: Attempt) -> Confidence | None:
    """Return the confidence in a candidate: that in the weakest of the fixes which made it.

    None where nobody has fixed anything, and nothing is known of what there was at first.
    """
    chain = list(lineage(history, attempt.candidate))
    parts = [part for one in chain if one.fix for part in one.fix.parts if part.files]
    if not parts:
        return history.begun_with
    # What a person made, or looked at and edited, is theirs.
    if parts[0].fixer == "human":
        return Confidence(value=1.0, reason="a person edited it")
    evidence = _evidence(history, attempt, chain)
    every = [_of_part(part, evidence) for part in parts]
    every += [history.begun_with] if history.begun_with else []
    return min(every, key=lambda one: one.value)


def turned_green(history: History, attempt: Attempt) -> tuple[str, ...]:
    """Return the cases that failed before the first change and pass in `attempt`."""
    bad = (Outcome.FAILED, Outcome.ERROR)
    return tuple(
        case
        for before in history.baseline
        if (now := attempt.verdict(before.check))
        for case, outcome in before.cases.items()
        if outcome in bad and now.cases.get(case) is Outcome.PASSED
    )


def _of_part(part: FixPart, evidence: Confidence) -> Confidence:
    found = part.confidence or evidence
    if part.signs:
        reason = f"suspicious: {part.signs[0]}"
        more = len(part.signs) - 1
        reason += f", and {more} more" if more else ""
        return Confidence(value=min(SUSPICIOUS, found.value), reason=reason)
    return found


def _evidence(history: History, attempt: Attempt, chain: list[Attempt]) -> Confidence:
    """Return what the checks alone say for an edit: the more that failed and passes, the surer."""
    green = turned_green(history, attempt)
    if green:
        word = "test turns" if len(green) == 1 else "tests turn"
        reason = f"{len(green)} failing {word} green, and nothing breaks"
    else:
        green = tuple(f.fingerprint for one in chain for f in fixed_findings(one, history))
        reason = f"{len(green)} finding{'' if len(green) == 1 else 's'} gone, and nothing breaks"
    value = 1 - _DOUBT / max(len(green), 1)
    return Confidence(value=round(min(value, _MOST), 2), reason=reason)
