"""The events of a run as lines that people read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from runtrue.flow import TimedEvent

#: What is said of an event, by its name in the journal: its tone and its text.
_TEXTS: Mapping[str, tuple[str, str]] = {
    "attempt_started": ("", "Attempt {number} of {limit}"),
    "check_started": ("", "{check} runs"),
    "check_repeated": ("warn", "{check} runs again to see if the failure is stable"),
    "check_finished": ("", "{check} {passed}"),
    "fix_attempted": ("", "Fixers are asked to fix {findings} findings"),
    "fixer_started": ("", "{fixer} tries to fix {findings} findings"),
    "fixer_finished": ("", "{fixer} changed {files}"),
    "fix_exhausted": ("bad", "No budget is left for another fix: {why}"),
    "fix_succeeded": ("good", "Fixed: every required validation passes"),
    "backing_off": ("warn", "Waits {seconds:.0f} s before the next fix"),
    "escalated": ("warn", "Escalated to a person: {action}"),
    "recalled": ("", "Memory is searched for similar failures"),
    "before_started": ("", "The checks run on the code before the change"),
    "generation_started": ("", "{by} writes {what}"),
    "generation_finished": ("", "{what}: wrote {files}"),
    "generation_failed": ("bad", "{what}: {failure}"),
    "strategize_started": ("", "{by} plans the strategy"),
    "strategize_finished": ("", "Strategy by {by}"),
    "step_started": ("", "Step {step} by {actor}: {description}"),
    "step_failed": ("warn", "Step {step} failed and is tried again: {failure}"),
    "step_refused": ("bad", "Step {step} was not kept: {failure}"),
    "step_done": ("good", "Step {step} changed {files}"),
    "strategy_revision_started": ("warn", "The strategy of step {step} is revised"),
    "strategy_revised": ("", "Step {step} was revised by {by}"),
    "apply_refused": ("bad", "Not applied: {why}"),
    "apply_renewed": ("warn", "You changed {files} in the meantime: validating again"),
    "applied": ("good", "Applied: {files}"),
    "planning": ("", "Planning ({generator})"),
    "found_existing": ("good", "The saved workflow {name} does this"),
    "workflow_made": ("", "Planned: {nodes}"),
    "invalid_workflow": ("warn", "Invalid plan: {problems}"),
    "attempt_finished": ("", "Run {number} ended"),
    "fix_proposed": ("", "{fixer} changed the workflow: {changes}"),
    "fix_rejected": ("warn", "A fix by {fixer} was not run: {reasons}"),
    "node_failed": ("bad", "{node_id} failed: {message}"),
    "node_retried": ("warn", "{origin} is run again: {error}"),
    "isolated": ("", "Isolated by {level}"),
}


@dataclass(frozen=True, slots=True)
class Activity:
    """One line of what happened."""

    n: int
    at: float
    tone: str
    text: str


def merged(lines: Iterable[Activity]) -> Iterator[Activity]:
    """Yield lines, with those that only repeat the one before as one of them."""
    for _, same in groupby(lines, key=lambda line: (line.tone, line.text)):
        first, *others = same
        count = len(others) + 1
        yield replace(first, text=f"{first.text} ({count} times)") if others else first


class _Words(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"


def activity_of(timed: TimedEvent) -> Activity:
    """Return an event as a line; one that is not known by its name and data."""
    kind, payload = timed.event.kind, timed.event.payload
    tone, text = _TEXTS.get(kind, ("", kind.replace("_", " ").capitalize()))
    words = _Words({name: _said(value) for name, value in payload.items()})
    words["origin"] = timed.event.origin
    if kind == "check_finished":
        tone = "good" if payload.get("passed") else "bad"
        count = payload.get("findings") or 0
        found = f"{count} finding{'' if count == 1 else 's'}"
        words["passed"] = "passed" if payload.get("passed") else f"failed with {found}"
    failure = payload.get("failure") or payload.get("refused")
    if failure and kind in ("fixer_finished", "strategize_finished", "strategy_revised"):
        tone, text = "warn", f"{text.partition(' changed')[0]}: {{failed}}"
        words["failed"] = _said(failure)
    try:
        said = re.sub(r"\b1 findings\b", "1 finding", text.format_map(words))
        return Activity(timed.n, timed.at, tone, said)
    except (ValueError, TypeError, AttributeError, IndexError):
        return Activity(timed.n, timed.at, tone, kind.replace("_", " ").capitalize())


def _said(value: Any) -> Any:
    if isinstance(value, list):
        shown = ", ".join(str(one) for one in value[:5])
        return f"{shown} …" if len(value) > 5 else shown or "nothing"
    if isinstance(value, str):
        return value.replace("_", " ") if len(value) < 40 and " " not in value else value[:300]
    return "" if value is None else value
