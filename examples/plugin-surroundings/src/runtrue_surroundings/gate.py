"""A gate: a change is small enough to be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from runtrue.loop import Fault, Finding, Mode, Trial, Verdict, Workplace

MOST = 200


class SizeGate:
    """Fails a candidate that changes more lines than a person reads."""

    name = "size"
    mode = Mode.REQUIRED

    def __init__(self, changed: Callable[[str], Mapping[str, frozenset[int]]]) -> None:
        self._changed = changed

    async def judge(self, workplace: Workplace, trial: Trial) -> Verdict:
        """Count the changed lines of the candidate."""
        count = sum(map(len, self._changed(trial.candidate).values()))
        said = f"{count} lines are changed, and {MOST} are the most; split the change"
        finding = Finding(
            source=self.name, category="too_large", message=said, fault=Fault.CANDIDATE
        )
        findings = (finding,) if count > MOST else ()
        return Verdict(check=self.name, mode=self.mode, passed=not findings, findings=findings)
