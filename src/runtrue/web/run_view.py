"""A run as its page shows it: attempts, findings, the diff with its origins, the workflow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from runtrue.code import AttemptReport, CodeReport
from runtrue.flow import Journal, Question, RunRow, RunState
from runtrue.loop import Finding, FixPart, Hunk, Skip
from runtrue.plan import PlanAttempt, PlanReport, PlanVerdict
from runtrue.planner import TaskReport
from runtrue.redaction import Redactor
from runtrue.web.activity import Activity, activity_of, merged
from runtrue.web.diff import DiffView, FileOrigins, Origin, view_diff
from runtrue.web.graph import Graph, draw_graph
from runtrue.web.matrix import Matrix, matrix_of
from runtrue.web.question import AskedQuestion, asked_question
from runtrue.web.response_fields import ResponseField, fields_of, recorded_values
from runtrue.web.run_state import RunStanding, standing_of_run
from runtrue.web.service import Report
from runtrue.web.source import SourceLine, source_around
from runtrue.workflow import (
    TemplateSyntaxError,
    Unresolved,
    WorkflowReport,
    compile_template,
    redact_by_name,
)

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
    """A node of a workflow: its parameters and what it gave, both redacted."""

    id: str
    type: str
    status: str
    error: str | None = None
    params: Any = None
    outputs: tuple[ResponseField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question that was answered: what was asked, and what a person said."""

    at: float
    asked: str
    said: Any
    allowed: tuple[str, ...] = ()


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
    said: tuple[Exchange, ...] = ()
    #: Of a plan: what each validation said last, by its name.
    last_verdicts: Mapping[str, PlanVerdict] = field(default_factory=dict)
    cost: float | None = None
    #: What each fix of a task changed in the workflow, attempt by attempt.
    changes: tuple[list[dict[str, Any]], ...] = ()
    project: str = ""
    #: What each step of a plan has changed.
    step_diffs: Mapping[str, DiffView] = field(default_factory=dict)

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
    journal: Journal,
    run: RunRow,
    report: Report | None,
    *,
    reasons: Mapping[str, str],
    step_diffs: Mapping[str, str] | None = None,
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
        "activity": tuple(merged(map(activity_of, reversed(latest)))),
        "events": events,
        "cut_off": tuple(journal.begun(run.id)) if not run.is_over and not run.is_driven else (),
        "said": tuple(_exchange(run, q, report) for q in journal.questions(run.id) if q.answered),
        "project": str(run.input.get("project") or run.input.get("directory") or ""),
    }
    if report is None:
        return RunView(**steps)
    if open_question is not None:
        steps["question"] = asked_question(run, open_question, report, said)
    if isinstance(report, CodeReport | PlanReport):
        steps |= _of_code(report, redact)
        found = step_diffs or {}
        if isinstance(report, PlanReport):
            every = [verdict for attempt in report.attempts for verdict in attempt.verdicts]
            steps["last_verdicts"] = {verdict.validation: verdict for verdict in every}
        steps["step_diffs"] = {step: view_diff(diff) for step, diff in found.items()}
    elif isinstance(report, TaskReport):
        steps |= _of_task(report, recorded_values(journal.load(run.id)))
    else:
        steps |= _of_workflow(journal, run, report)
    return RunView(**steps)


def _exchange(run: RunRow, question: Question, report: Report | None) -> Exchange:
    answer = question.answer
    is_data = isinstance(answer, dict)
    said = answer.get("text", answer) if is_data else answer
    if is_data and answer.get("expired"):
        said = "nobody answered in time"
    allowed = tuple(map(str, answer.get("allow") or ())) if is_data else ()
    title = asked_question(run, question, report).title if report is not None else ""
    return Exchange(at=question.asked_at, asked=title, said=said, allowed=allowed)


def _of_code(report: CodeReport | PlanReport, redact: Redactor) -> dict[str, Any]:
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
    failing: frozenset[str] = frozenset()
    for attempt in every:
        before, failing = failing, _failing(attempt)
        if attempt.fix is None:
            continue
        for hunk in attempt.fix.hunks:
            hunks[hunk.file].append(hunk)
        for part in attempt.fix.parts:
            sure = part.confidence
            for file in part.files:
                known = files[file].get(part.fixer)
                files[file][part.fixer] = Origin(
                    part.fixer,
                    # A file is as sure as the least sure change of it.
                    min(
                        (s for s in (known and known.confidence, sure and sure.value) if s),
                        default=None,
                    ),
                    sure.reason if sure else "",
                    (*(known.tests if known else ()), *sorted(before - failing)),
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


def _failing(attempt: AttemptReport | PlanAttempt) -> frozenset[str]:
    """Return the tests that fail, by their names."""
    found = (f.location.symbol for verdict in attempt.verdicts for f in verdict.findings)
    return frozenset(name for name in found if name)


def _cost(report: CodeReport | PlanReport) -> float | None:
    every: Iterable[AttemptReport | PlanAttempt] = report.attempts
    fixes = [attempt.fix for attempt in every if attempt.fix]
    parts = [part for fix in fixes for part in fix.parts]
    parts += [part for one in report.rejected for part in one.fix.parts]
    costs = [part.usage["cost"] for part in parts if part.usage and "cost" in part.usage]
    return sum(costs) if costs else None


def _of_task(report: TaskReport, given: Mapping[str, Any]) -> dict[str, Any]:
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
        "changes": tuple(msgspec.to_builtins(attempt.changes) for attempt in report.attempts),
        "nodes": tuple(_plan_nodes(report.workflow or {}, statuses, given)),
    }


def _plan_nodes(
    workflow: Mapping[str, Any], statuses: Mapping[str, str], given: Mapping[str, Any]
) -> Iterator[NodeView]:
    for node in workflow.get("nodes", ()):
        name = str(node.get("id"))
        yield NodeView(
            id=name,
            type=str(node.get("type")),
            status=statuses.get(name, "planned"),
            params=redact_by_name(node.get("params", {})),
            outputs=fields_of(name, given.get(name)),
        )


def _of_workflow(journal: Journal, run: RunRow, report: WorkflowReport) -> dict[str, Any]:
    ir = run.input.get("ir") or {}
    outputs = recorded_values(journal.load(run.id))
    statuses = {node.id: node.status for node in report.nodes}
    if run.is_driven and (going := _first_open(report)):
        statuses[going] = "running"
    store = {**redact_by_name(run.input.get("inputs") or {}), **outputs}
    given = {str(n.get("id")): n.get("params") for n in ir.get("nodes", ()) if isinstance(n, dict)}
    nodes = tuple(
        NodeView(
            id=node.id,
            type=node.type,
            status=statuses[node.id],
            error=node.error,
            params=redact_by_name(_resolved(given.get(node.id) or {}, store)),
            outputs=fields_of(node.id, outputs.get(node.id)),
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


def _resolved(params: Mapping[str, Any], store: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with the values that are known, and the others as they are written."""
    found = {}
    for name, value in params.items():
        try:
            template = compile_template(value)
            found[name] = value if template.secret else template.render(store)
        except (TemplateSyntaxError, Unresolved):
            found[name] = value
    return found


def _first_open(report: WorkflowReport) -> str | None:
    return next((node.id for node in report.nodes if node.status == "not_run"), None)
