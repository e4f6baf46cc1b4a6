"""Generating a workflow, and mending one that was run.

What a generator proposes after a run may differ from what ran in argument names, argument values
and output paths only. A proposal that goes further, or that has failed before, is not run: the
generator is told why and asked again, a few times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from runtrue.errors import NodeFailed
from runtrue.flow import emit
from runtrue.loop import Fault, Finding
from runtrue.models import Usage
from runtrue.planner.bounds import ABSENT, Change, breaches, changes
from runtrue.planner.events import FixProposed, FixRejected, WorkflowMade
from runtrue.planner.nodes.base import PlannerNode, Shared, count_usage
from runtrue.planner.planning import MOST_REJECTIONS
from runtrue.planner.seams import Doubt, FixRequest, GenerationRequest, NoPlan, NoProposal


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorInputs:
    """A task to be planned, or a workflow to be mended, with those that failed before."""

    plan: GenerationRequest | None = None
    fix: FixRequest | None = None
    tried: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A workflow, or why there is none."""

    workflow: dict[str, Any] | None = None
    params: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    #: Who mended what, where something was mended.
    fixer: str | None = None
    changes: tuple[dict[str, Any], ...] = ()
    description: str = ""
    rejected: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    reason: str | None = None
    usage: tuple[Usage, ...] = ()


class WorkflowGeneratorNode(PlannerNode):
    """Makes a workflow, or mends the one that was run: `validate`, or `failed`."""

    def prep(self, shared: Shared) -> GeneratorInputs:
        """What is known: what the task names, or what really happened."""
        if shared.get("runtime_errors"):
            return self._mending(shared)
        invalid = shared.get("validation_errors")
        request = GenerationRequest(
            task=str(shared["task"]),
            components=tuple(shared.get("components", ())),
            saved=tuple(shared.get("saved_workflows", ())),
            named=shared.get("discovered_params", {}),
            previous=shared.get("generated_workflow") if invalid else None,
            problems=tuple(invalid or ()),
        )
        return GeneratorInputs(plan=request)

    def _mending(self, shared: Shared) -> GeneratorInputs:
        findings: tuple[Finding, ...] = shared["runtime_findings"]
        request = FixRequest(
            task=str(shared.get("task", "")),
            workflow=shared["tried_workflows"][-1],
            params=shared.get("execution_params", {}),
            findings=findings,
            store=shared["runtime_store"],
            components=tuple(shared.get("components", ())),
            rejected=tuple(shared.get("validation_errors", ())),
        )
        return GeneratorInputs(fix=request, tried=tuple(shared["tried_workflows"]))

    async def exec(self, inputs: GeneratorInputs) -> Generated:
        """Ask the generator."""
        if inputs.fix is not None:
            return await self._mended(inputs.fix, inputs.tried)
        if inputs.plan is None:
            raise AssertionError("there is something to plan or something to mend")
        answer = await self.planning.generator.generate(inputs.plan)
        if isinstance(answer, NoPlan):
            _go_on_later(answer)
            return Generated(reason=answer.reason, usage=_used(answer.usage))
        nodes = tuple(node["id"] for node in answer.workflow.get("nodes", ()))
        emit(WorkflowMade(nodes=nodes))
        return Generated(
            workflow=answer.workflow,
            params=answer.params,
            notes=answer.notes,
            usage=_used(answer.usage),
        )

    async def _mended(self, request: FixRequest, tried: tuple[dict[str, Any], ...]) -> Generated:
        rejected: list[str] = []
        used: list[Usage] = []
        doubts: tuple[Doubt, ...] = ()
        for _ in range(1 + MOST_REJECTIONS):
            asked = replace(request, rejected=(*request.rejected, *rejected))
            answer = await self.planning.generator.fix(asked)
            used += _used(answer.usage)
            doubts = answer.doubts or doubts
            if isinstance(answer, NoProposal):
                _go_on_later(answer)
                return Generated(
                    reason=answer.reason,
                    doubts=doubts,
                    rejected=tuple(rejected),
                    usage=tuple(used),
                )
            objections = self._objections(request.workflow, answer.workflow, tried)
            if not objections:
                made = changes(request.workflow, answer.workflow)
                lines = [str(change) for change in made]
                emit(FixProposed(fixer=answer.fixer, changes=tuple(lines)))
                return Generated(
                    workflow=answer.workflow,
                    fixer=answer.fixer,
                    changes=tuple(map(_as_data, made)),
                    description="; ".join(lines),
                    rejected=tuple(rejected),
                    usage=tuple(used),
                )
            emit(FixRejected(fixer=answer.fixer, reasons=objections))
            rejected += objections
        reason = "no proposal could be run: " + "; ".join(dict.fromkeys(rejected))
        return Generated(reason=reason, doubts=doubts, rejected=tuple(rejected), usage=tuple(used))

    def _objections(
        self,
        before: dict[str, Any],
        after: dict[str, Any],
        tried: tuple[dict[str, Any], ...],
    ) -> tuple[str, ...]:
        """Why a proposal is not run; none when it may be."""
        if not changes(before, after):
            return ("the proposal leaves the workflow as it was",)
        if any(not changes(failed, after) for failed in tried):
            return ("the proposal is a workflow that has already failed",)
        planning = self.planning
        return breaches(before, after, planning.registry, planning.calls.done())

    def post(self, shared: Shared, inputs: GeneratorInputs, result: Generated) -> str:
        """Hand the workflow on, or the reason why there is none."""
        count_usage(shared, *result.usage)
        shared.setdefault("rejected", []).extend(result.rejected)
        if result.workflow is None:
            shared["planner_error"] = result.reason
            shared["doubts"] = result.doubts
            return "failed"
        shared["generated_workflow"] = result.workflow
        if result.params is not None:
            shared["planned_params"] = result.params
            shared["notes"] = result.notes
        if result.fixer is not None:
            shared["fix"] = result
        return "validate"


def _go_on_later(answer: NoPlan | NoProposal) -> None:
    """Leave the run where it is when asking again may help: nothing that was done is lost."""
    if answer.transient:
        raise NodeFailed(
            answer.reason, category="no_answer", fault=Fault.ENVIRONMENT, transient=True
        )


def _as_data(change: Change) -> dict[str, Any]:
    """A change as plain data; `before` or `after` is not there where there was nothing."""
    sides = {"before": change.before, "after": change.after}
    return {
        "place": change.place,
        "node_id": change.node_id,
        **{side: value for side, value in sides.items() if value is not ABSENT},
    }


def _used(usage: Usage | None) -> tuple[Usage, ...]:
    return () if usage is None else (usage,)
