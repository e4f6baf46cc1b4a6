"""Heal: propose a new version of a saved workflow that no longer finds what it reads.

Nothing is saved here. A proposal was run: its calls are those of the run that failed, answered
from that run where they are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from runtrue.flow import Event
from runtrue.loop import Finding
from runtrue.planner.bounds import WorkflowChange, changes_between, violations
from runtrue.planner.context import MOST_FIXES, PlannerContext
from runtrue.planner.findings import findings_of
from runtrue.planner.seams import FixRequest, NoFix
from runtrue.workflow import Interface, NodeHandled, Workflow, WorkflowResult, try_workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class HealReport:
    """What became of it: the workflow is `healthy`, a version is `proposed`, or none is."""

    status: Literal["healthy", "proposed", "failed"]
    workflow: dict[str, Any]
    changes: tuple[WorkflowChange, ...] = ()
    #: What was wrong in the first run; what is left, where nothing is proposed.
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    result: dict[str, Any] = field(default_factory=dict)


async def heal_workflow(
    workflow: Workflow, inputs: Mapping[str, Any], context: PlannerContext
) -> HealReport:
    """Run a workflow, and fix the paths and arguments that failed, each fix proven by a run."""
    original = dict(workflow)
    task = str(workflow.get("description") or workflow.name)
    candidate = original
    first: tuple[Finding, ...] = ()
    for number in range(MOST_FIXES + 1):
        result, findings = await _run(candidate, workflow, inputs, context, task)
        if not findings and result.passed:
            status: Literal["healthy", "proposed"] = "proposed" if number else "healthy"
            return HealReport(
                status=status,
                workflow=candidate,
                changes=changes_between(original, candidate),
                findings=first,
                result=result.outputs,
            )
        first = first or findings
        failed = HealReport(status="failed", workflow=original, findings=findings)
        if number == MOST_FIXES:
            return _because(failed, f"it still fails, and all {MOST_FIXES} fixes are used up")
        fix = await context.generator.fix(
            FixRequest(
                task=task,
                workflow=candidate,
                params=dict(inputs),
                findings=findings,
                store=result.store,
                components=_components(candidate, context),
            )
        )
        if isinstance(fix, NoFix):
            return _because(failed, fix.reason)
        done = context.calls.done()
        if refused := violations(candidate, fix.workflow, context.registry, done, task):
            return _because(failed, f"the only fix cannot be used: {refused[0]}")
        if fix.workflow == candidate:
            return _because(failed, "no other version was found")
        candidate = fix.workflow
    raise AssertionError("the last round returns")


def _because(report: HealReport, reason: str) -> HealReport:
    return HealReport(
        status=report.status, workflow=report.workflow, findings=report.findings, reason=reason
    )


async def _run(
    candidate: dict[str, Any],
    original: Workflow,
    inputs: Mapping[str, Any],
    context: PlannerContext,
    task: str,
) -> tuple[WorkflowResult, tuple[Finding, ...]]:
    handled: dict[str, Mapping[str, Any]] = {}

    def listen(event: Event) -> None:
        if isinstance(event, NodeHandled):
            handled[event.origin] = event.payload

    result = await try_workflow(
        Workflow(candidate, name=original.name, path=original.path),
        inputs,
        registry=context.registry,
        environment=context.environment,
        listeners=[listen],
        calls=context.calls,
    )
    found = findings_of(candidate, result, handled={}, registry=context.registry, task=task)
    # What the workflow itself handles is no failure of it.
    return result, tuple(one for one in found if one.location.symbol not in handled)


def _components(workflow: Mapping[str, Any], context: PlannerContext) -> tuple[Interface, ...]:
    types = dict.fromkeys(str(node["type"]) for node in workflow["nodes"])
    nodes = (context.registry.node(name) for name in types)
    return tuple(node.interface for node in nodes if node is not None)
