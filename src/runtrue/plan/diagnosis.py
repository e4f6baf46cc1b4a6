"""Diagnosis: what the messages and the data of failed validations say about their cause."""

from __future__ import annotations

from runtrue.loop import Analysis, Attempt, Finding, History, cause_of

#: How many findings a diagnosis speaks of, and how much of each message.
_MOST = 3
_MESSAGE = 200


class PlanAnalyst:
    """Says what failed where, and what was expected, from structure alone."""

    blocking = False

    def analyse(self, attempt: Attempt, history: History) -> Analysis:
        """The diagnosis of an attempt that failed."""
        findings = attempt.blocking
        said = [_diagnosis(finding) for finding in findings[:_MOST]]
        if len(findings) > _MOST:
            said.append(f"and {len(findings) - _MOST} more")
        return Analysis(root_cause="; ".join(said) or "a validation failed without giving a reason")


def _diagnosis(finding: Finding) -> str:
    where = f" at {finding.location}" if str(finding.location) else ""
    message = " ".join(finding.message.split())[:_MESSAGE]
    data = finding.data
    wanted = ""
    if "expected" in data or "actual" in data:
        wanted = f" (expected {data.get('expected')!r}, got {data.get('actual')!r})"
    return f"{finding.source}: {cause_of(finding)}{where}: {message}{wanted}"
