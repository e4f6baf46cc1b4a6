"""A run as its page shows it: attempts, findings, the diff with its origins, the workflow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from runtrue.code import AttemptReport, CodeReport
from runtrue.flow import Journal, Question, RunRow, RunState, TimedEvent, unpacked
from runtrue.loop import Finding, FixPart, Hunk, Skip
from runtrue.plan import PlanAttempt, PlanReport
from runtrue.planner import TaskReport
from runtrue.redaction import Redactor
from runtrue.web.activity import Activity, activity_of
from runtrue.web.diff import DiffView, FileOrigins, Origin, view_diff
from runtrue.web.graph import Graph, draw_graph
from runtrue.web.matrix import Matrix, matrix_of
from runtrue.web.question import AskedQuestion, asked_question
from runtrue.web.run_state import RunStanding, standing_of_run
from runtrue.web.service import Report
from runtrue.web.source import SourceLine, source_around
from runtrue.workflow import WorkflowReport, redact_by_name

#: Of a long run, the page has the latest events; all of them are on a page of their own.
LATEST_EVENTS = 200
_MOST_FINDINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A finding with the lines around it."""

    anchor: str
    finding: Finding
    lines: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One attempt: what was changed before it, what failed, and what was not run after it."""

    anchor: str
    number: str
    passed: bool
    heading: str
    parts: tuple[FixPart, ...] = ()
    skipped: tuple[Skip, ...] = ()
    cause: str = ""
    findings: tuple[Finding, ...] = ()
    #: Fixes that were proposed after it and not run: the reason, and who proposed what.
    rejected: tuple[tuple[str, tuple[FixPart, ...], tuple[Skip, ...]], ...] = ()
    added: int = 0
    removed: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node of a workflow: its parameters and its outputs, both redacted."""

    id: str
    type: str
    status: str
    error: str | None = None
    params: Any = None
    outputs: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """All that the page of a run shows."""

    run: RunRow
    standing: RunStanding
    report: Report | None
    #: Why there is no report.
    problem: str = ""
    why: str = ""
    question: AskedQuestion | None = None
    matrix: Matrix | None = None
    attempts: tuple[AttemptView, ...] = ()
    findings: tuple[FindingView, ...] = ()
    diff: DiffView | None = None
    graph: Graph | None = None
    nodes: tuple[NodeView, ...] = ()
    inputs: Mapping[str, Any] | None = None
    activity: tuple[Activity, ...] = ()
    events: int = 0
    cut_off: tuple[str, ...] = ()
    said: tuple[Question, ...] = ()
    cost: float | None = None
    project: str = ""

    @property
    def kind(self) -> str:
        """What sort of report it is: code, plan, task or workflow."""
        kinds = {CodeReport: "code", PlanReport: "plan", TaskReport: "task"}
        return kinds.get(type(self.report), "workflow")

    @property
    def can_resume(self) -> bool:
        """True if a command could continue it now."""
        is_open = self.run.state in (RunState.RUNNING, RunState.FAILED) and not self.run.is_over
        return is_open and not self.run.is_driven

    @property
    def can_cancel(self) -> bool:
        """True if it can still be ended."""
        return not self.run.is_over

    @property
    def can_apply(self) -> bool:
        """True if a diff of an ended run is not in the user's files yet."""
        report = self.report
        if not isinstance(report, CodeReport) or not self.run.is_over:
            return False
        return bool(report.diff) and not report.applied and report.kind != "gate"


def view_run(
    journal: Journal, run: RunRow, report: Report | None, *, reasons: Mapping[str, str]
) -> RunView:
    """Return the view of a run with its report, if one could be made."""
    redact = Redactor()
    events = journal.last_event_number(run.id)
    latest = journal.timed_events(run.id, after=max(0, events - LATEST_EVENTS))
    open_question = journal.open_question(run.id) if run.state is RunState.WAITING else None
    why = str(getattr(report, "why", None) or "")
    said = reasons.get(why, why.replace("_", " "))
    steps: dict[str, Any] = {
        "run": run,
        "standing": standing_of_run(run),
        "report": report,
        "why": said,
        "activity": tuple(map(activity_of, reversed(latest))),
        "events": events,
        "cut_off": tuple(journal.begun(run.id)) if not run.is_over and not run.is_driven else (),
        "said": tuple(q for q in journal.questions(run.id) if q.answered),
        "project": str(run.input.get("project") or run.input.get("directory") or ""),
    }
    if report is None:
        return RunView(**steps)
    if open_question is not None:
        steps["question"] = asked_question(run, open_question, report, said)
    if isinstance(report, CodeReport | PlanReport):
        steps |= _of_code(report, latest, redact)
    elif isinstance(report, TaskReport):
        steps |= _of_task(report)
    else:
        steps |= _of_workflow(journal, run, report)
    return RunView(**steps)


def _of_code(
    report: CodeReport | PlanReport, latest: list[TimedEvent], redact: Redactor
) -> dict[str, Any]:
    roots = (report.sandbox, report.project)
    findings = tuple(
        FindingView(
            anchor=f"finding-{number}",
            finding=finding,
            lines=source_around(roots, finding.location.file, finding.location.line, redact),
        )
        for number, finding in enumerate(report.findings[:_MOST_FINDINGS], 1)
    )
    return {
        "matrix": matrix_of(report) if report.attempts else None,
        "attempts": tuple(_attempts(report)),
        "findings": findings,
        "diff": view_diff(report.diff, _origins(report)) if report.diff else None,
        "cost": _cost(report),
    }


def _attempts(report: CodeReport | PlanReport) -> Iterator[AttemptView]:
    every: Iterable[AttemptReport | PlanAttempt] = report.attempts
    for index, attempt in enumerate(every, 1):
        step = getattr(attempt, "step", None)
        fix = attempt.fix
        rejected = tuple(
            (one.reason.replace("_", " "), tuple(one.fix.parts), tuple(one.fix.skipped))
            for one in report.rejected
            if one.after == attempt.number and getattr(one, "step", None) == step
        )
        analysis = getattr(attempt, "analysis", None)
        cause = analysis.root_cause if analysis else getattr(attempt, "diagnosis", None)
        again = " again" if getattr(attempt, "recheck", False) else ""
        limit = getattr(attempt, "limit", None)
        of = f" of {limit}" if limit else ""
        prefix = f"Step {step} · validation" if step else "Attempt"
        yield AttemptView(
            anchor=f"attempt-{index}",
            number=str(attempt.number),
            passed=attempt.passed,
            heading=f"{prefix} {attempt.number}{of}{again}",
            parts=tuple(fix.parts) if fix else (),
            skipped=tuple(fix.skipped) if fix else (),
            cause=cause or "",
            findings=attempt.findings,
            rejected=rejected,
            added=fix.added if fix else 0,
            removed=fix.removed if fix else 0,
            seconds=sum(verdict.seconds for verdict in attempt.verdicts),
        )


def _origins(report: CodeReport | PlanReport) -> dict[str, FileOrigins]:
    """Return who changed each file, with the places and tests where those are known."""
    hunks: dict[str, list[Hunk]] = defaultdict(list)
    files: dict[str, dict[str, Origin]] = defaultdict(dict)
    every: Iterable[AttemptReport | PlanAttempt] = report.attempts
    for attempt in every:
        if attempt.fix is None:
            continue
        for hunk in attempt.fix.hunks:
            hunks[hunk.file].append(hunk)
        for part in attempt.fix.parts:
            sure = part.confidence
            for file in part.files:
                files[file][part.fixer] = Origin(
                    part.fixer, sure.value if sure else None, sure.reason if sure else ""
                )
    if isinstance(report, PlanReport):
        for done in report.plan.deeds:
            sure = done.confidence
            for file in done.files:
                name = f"step {done.step}"
                files[file][name] = Origin(
                    name, sure.value if sure else None, sure.reason if sure else ""
                )
    return {name: (hunks[name], tuple(files[name].values())) for name in {*hunks, *files}}


def _cost(report: CodeReport | PlanReport) -> float | None:
    every: Iterable[AttemptReport | PlanAttempt] = report.attempts
    fixes = [attempt.fix for attempt in every if attempt.fix]
    parts = [part for fix in fixes for part in fix.parts]
    parts += [part for one in report.rejected for part in one.fix.parts]
    costs = [part.usage["cost"] for part in parts if part.usage and "cost" in part.usage]
    return sum(costs) if costs else None


def _of_task(report: TaskReport) -> dict[str, Any]:
    statuses: dict[str, str] = {}
    if report.attempts:
        bad = {f.location.symbol for f in report.attempts[-1].findings}
        ids = [str(node.get("id")) for node in (report.workflow or {}).get("nodes", ())]
        first = next((n for n, one in enumerate(ids) if one in bad), len(ids))
        for n, name in enumerate(ids):
            statuses[name] = "failed" if name in bad else "passed" if n < first else "not_run"
    findings = tuple(
        FindingView(anchor=f"finding-{number}", finding=finding, lines=())
        for number, finding in enumerate(report.findings[:_MOST_FINDINGS], 1)
    )
    return {
        "graph": draw_graph(report.workflow or {}, statuses),
        "inputs": redact_by_name(report.parameters),
        "findings": findings,
        "cost": report.cost.cost,
        "nodes": tuple(_plan_nodes(report.workflow or {}, statuses)),
    }


def _plan_nodes(workflow: Mapping[str, Any], statuses: Mapping[str, str]) -> Iterator[NodeView]:
    for node in workflow.get("nodes", ()):
        name = str(node.get("id"))
        yield NodeView(
            id=name,
            type=str(node.get("type")),
            status=statuses.get(name, "planned"),
            params=redact_by_name(node.get("params", {})),
        )


def _of_workflow(journal: Journal, run: RunRow, report: WorkflowReport) -> dict[str, Any]:
    ir = run.input.get("ir") or {}
    outputs = {step.node: _outputs(step.result) for step in journal.load(run.id)}
    statuses = {node.id: node.status for node in report.nodes}
    if run.is_driven and (going := _first_open(report)):
        statuses[going] = "running"
    given = {str(n.get("id")): n.get("params") for n in ir.get("nodes", ()) if isinstance(n, dict)}
    nodes = tuple(
        NodeView(
            id=node.id,
            type=node.type,
            status=statuses[node.id],
            error=node.error,
            params=redact_by_name(given.get(node.id) or {}),
            outputs=redact_by_name(outputs.get(node.id)),
        )
        for node in report.nodes
    )
    findings = tuple(
        FindingView(anchor=f"finding-{number}", finding=finding, lines=())
        for number, finding in enumerate(report.findings, 1)
    )
    return {
        "graph": draw_graph(ir, statuses),
        "nodes": nodes,
        "inputs": redact_by_name(run.input.get("inputs") or {}),
        "findings": findings,
    }


def _first_open(report: WorkflowReport) -> str | None:
    return next((node.id for node in report.nodes if node.status == "not_run"), None)


def _outputs(result: bytes | None) -> Any:
    if result is None:
        return None
    try:
        outcome = msgspec.json.decode(unpacked(result))
    except (msgspec.MsgspecError, ValueError):
        return None
    return outcome.get("outputs") if isinstance(outcome, dict) else None
