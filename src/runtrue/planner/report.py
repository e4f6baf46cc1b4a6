"""Reports of the planner: a dataclass whose JSON is what `--json` prints."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType

from runtrue.flow import RunRow, RunState
from runtrue.loop import Attempt, Finding, FixPart, History
from runtrue.models import Usage
from runtrue.planner.context import Shared
from runtrue.planner.seams import Doubt
from runtrue.sandbox import IsolationRecord
from runtrue.workflow import EffectReport, redact_by_name

KIND = "do"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingInput:
    """An input of the workflow that the task gives no value for."""

    name: str
    description: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskVerdict:
    """The verdict of one run of the workflow."""

    check: str
    passed: bool
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAttempt:
    """One run of the workflow, and the fix that led to it."""

    number: int
    candidate: str
    passed: bool
    fix: FixPart | None = None
    #: What the fix changed in the workflow.
    changes: tuple[Any, ...] = ()
    verdicts: tuple[TaskVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCost:
    """The use of models; no cost where that of one answer is unknown."""

    models: tuple[str, ...] = ()
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int | float | None = None

    @classmethod
    def of(cls, usages: Iterable[Usage]) -> ModelCost:
        """Add up what was used."""
        used = tuple(usages)
        prices = [usage.cost for usage in used]
        known = [price for price in prices if price is not None]
        return cls(
            models=tuple(sorted({usage.model for usage in used})),
            requests=sum(usage.requests for usage in used),
            input_tokens=sum(usage.input_tokens for usage in used),
            output_tokens=sum(usage.output_tokens for usage in used),
            cost=sum(known) if len(known) == len(prices) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """The report of `runtrue do`."""

    status: str
    run_id: str
    kind: str = KIND
    task: str = ""
    workflow: dict[str, Any] | None = None
    name: str | None = None
    #: Whether a saved workflow did the task.
    found: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)
    missing: tuple[MissingInput, ...] = ()
    attempts: tuple[TaskAttempt, ...] = ()
    #: Why proposed fixes were not run.
    rejected: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    candidates: tuple[Doubt, ...] = ()
    #: The outputs that are sure, where the task is not done.
    partial: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: What the task was understood as, in one sentence.
    understood: str = ""
    silent_servers: tuple[str, ...] = ()
    generation_attempts: int = 0
    runtime_attempts: int = 0
    #: What the workflow does outside of its run, and who agreed to it.
    effects: tuple[EffectReport, ...] = ()
    #: It was planned and not run.
    dry_run: bool = False
    #: The nodes whose side effects have happened.
    done: tuple[str, ...] = ()
    result: Any = None
    cost: ModelCost = ModelCost()
    error: str | None = None
    resumable: bool = False
    seconds: float = 0.0
    isolation: IsolationRecord | UnsetType | None = UNSET
    #: The name that the workflow was saved under.
    saved: str | UnsetType | None = UNSET
    save_error: str | UnsetType | None = UNSET
    interrupted: bool | UnsetType = UNSET
    driven: bool | UnsetType = UNSET


def report_of(
    run: RunRow, shared: Shared, status: RunState, *, dry_run: bool = False
) -> TaskReport:
    """Return the report of a run from its shared store, finished or not."""
    history: History = shared.get("history", History())
    output = shared.get("planner_output", {})
    metadata = shared.get("workflow_metadata") or {}
    passed = status is RunState.PASSED
    changes = shared.get("changes", {})
    return TaskReport(
        status=status,
        run_id=run.id,
        task=shared["task"],
        workflow=output.get("workflow_ir", shared.get("generated_workflow")),
        name=shared.get("found_workflow") or metadata.get("name"),
        found="found_workflow" in shared,
        parameters=redact_by_name(
            output.get("execution_params", shared.get("execution_params", {}))
        ),
        missing=tuple(MissingInput(**one) for one in shared.get("missing_params", ())),
        attempts=tuple(_attempt(a, changes.get(a.number, ())) for a in history.attempts),
        rejected=tuple(shared.get("rejected", ())),
        findings=() if passed else tuple(shared.get("runtime_findings", ())),
        candidates=() if passed else tuple(shared.get("doubts", ())),
        partial={} if passed else shared.get("partial", {}),
        notes=tuple(shared.get("notes", ())),
        understood=shared.get("understood", ""),
        silent_servers=tuple(shared.get("silent_servers", ())),
        generation_attempts=shared.get("generation_attempts", 0),
        runtime_attempts=shared.get("runtime_attempts", 0),
        effects=tuple(shared.get("effects", ())),
        dry_run=dry_run,
        done=tuple(shared.get("done", ())),
        result=output.get("result"),
        cost=ModelCost.of(shared.get("usage", ())),
        error=shared.get("planner_error") if not passed else None,
        seconds=round((run.ended_at or time.time()) - run.created_at, 3),
    )


def _attempt(attempt: Attempt, changes: Iterable[Any]) -> TaskAttempt:
    return TaskAttempt(
        number=attempt.number,
        candidate=attempt.candidate,
        passed=attempt.passed,
        fix=None if attempt.fix is None else attempt.fix.parts[0],
        changes=tuple(changes),
        verdicts=tuple(
            TaskVerdict(check=v.check, passed=v.passed, seconds=round(v.seconds, 3))
            for v in attempt.verdicts
        ),
        findings=attempt.blocking,
    )
