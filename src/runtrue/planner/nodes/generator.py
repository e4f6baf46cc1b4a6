"""Generate a workflow, or fix one that was run.

What a generator proposes after a run may differ from what ran in argument names, argument values
and output paths only. A proposal that goes further, or that has failed before, is not run: the
generator hears why and is asked again, a few times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from msgspec import UNSET, UnsetType

from runtrue.errors import NodeFailed
from runtrue.flow import emit
from runtrue.loop import Fault
from runtrue.models import Usage
from runtrue.planner.bounds import change_as_data, changes_between, violations
from runtrue.planner.context import MOST_REJECTIONS, PlannerNode, Shared, count_usage
from runtrue.planner.describe_plan import describe_plan
from runtrue.planner.events import FixProposed, FixRejected, WorkflowMade
from runtrue.planner.seams import Doubt, FixRequest, GenerationRequest, NoFix, NoPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorInputs:
    """A task to plan, or a workflow to fix, with those that failed before."""

    plan: GenerationRequest | None = None
    fix: FixRequest | None = None
    tried: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorResult:
    """A workflow, or the reason why there is none."""

    workflow: dict[str, Any] | None = None
    params: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    #: Who fixed what, if this is a fix.
    fixer: str | None = None
    changes: tuple[dict[str, Any], ...] = ()
    description: str = ""
    rejected: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    partial: dict[str, Any] | UnsetType = UNSET
    reason: str | None = None
    usage: tuple[Usage, ...] = ()
    #: What the workflow does, in one sentence, and whether more is planned after its run.
    understood: str | UnsetType = UNSET
    continues: bool | UnsetType = UNSET


class WorkflowGeneratorNode(PlannerNode):
    """Makes a workflow, or fixes the one that was run: `validate`, or `failed`.

    Where the flow can ask a person, fields in doubt lead to `clarify`.
    """

    def prep(self, shared: Shared) -> GeneratorInputs:
        """Collect what the task names, or what really happened."""
        invalid = shared.get("validation_errors")
        components = tuple(shared.get("components", ()))
        if shared.get("runtime_errors"):
            request = FixRequest(
                task=str(shared.get("task", "")),
                workflow=shared["tried_workflows"][-1],
                params=shared.get("execution_params", {}),
                findings=shared["runtime_findings"],
                store=shared["runtime_store"],
                components=components,
                rejected=tuple(invalid or ()),
                paths=shared.get("set_paths", UNSET),
                rejections=shared.get("generation_attempts", 0) if invalid else UNSET,
            )
            return GeneratorInputs(fix=request, tried=tuple(shared["tried_workflows"]))
        return GeneratorInputs(
            plan=GenerationRequest(
                task=str(shared["task"]),
                components=components,
                saved=tuple(shared.get("saved_workflows", ())),
                named=shared.get("discovered_params", {}),
                previous=shared.get("generated_workflow") if invalid else None,
                problems=tuple(invalid or ()),
                store=shared.get("planned_so_far", UNSET),
                paths=shared.get("set_paths", UNSET),
            )
        )

    async def exec(self, inputs: GeneratorInputs) -> GeneratorResult:
        """Ask the generator."""
        if inputs.fix is not None:
            return await self._fix(inputs.fix, inputs.tried)
        if inputs.plan is None:
            raise AssertionError("there is something to plan or something to fix")
        answer = await self.context.generator.generate(inputs.plan)
        if isinstance(answer, NoPlan):
            _stop_if_transient(answer)
            return GeneratorResult(
                reason=answer.reason,
                doubts=answer.doubts,
                partial=answer.partial or UNSET,
                usage=_used(answer.usage),
            )
        nodes = tuple(node["id"] for node in answer.workflow.get("nodes", ()))
        understood = describe_plan(answer.workflow, answer.params)
        emit(WorkflowMade(nodes=nodes, understood=understood))
        return GeneratorResult(
            workflow=answer.workflow,
            params=answer.params,
            notes=answer.notes,
            usage=_used(answer.usage),
            understood=understood,
            continues=answer.continues or UNSET,
        )

    async def _fix(self, request: FixRequest, tried: tuple[dict[str, Any], ...]) -> GeneratorResult:
        rejected: tuple[str, ...] = ()
        used: tuple[Usage, ...] = ()
        doubts: tuple[Doubt, ...] = ()
        before = 0 if isinstance(request.rejections, UnsetType) else request.rejections
        for number in range(1 + MOST_REJECTIONS):
            asked = replace(
                request, rejected=(*request.rejected, *rejected), rejections=before + number
            )
            answer = await self.context.generator.fix(asked)
            used += _used(answer.usage)
            doubts = answer.doubts or doubts
            if isinstance(answer, NoFix):
                _stop_if_transient(answer)
                return GeneratorResult(
                    reason=answer.reason,
                    doubts=doubts,
                    partial=answer.partial or UNSET,
                    rejected=rejected,
                    usage=used,
                )
            objections = self._objections(request, answer.workflow, tried)
            if not objections:
                changes = changes_between(request.workflow, answer.workflow)
                lines = tuple(map(str, changes))
                emit(FixProposed(fixer=answer.fixer, changes=lines))
                return GeneratorResult(
                    workflow=answer.workflow,
                    fixer=answer.fixer,
                    changes=tuple(map(change_as_data, changes)),
                    description="; ".join(lines),
                    rejected=rejected,
                    usage=used,
                )
            emit(FixRejected(fixer=answer.fixer, reasons=objections))
            rejected += objections
        reason = "no proposal could be run: " + "; ".join(dict.fromkeys(rejected))
        return GeneratorResult(reason=reason, doubts=doubts, rejected=rejected, usage=used)

    def _objections(
        self, request: FixRequest, after: dict[str, Any], tried: tuple[dict[str, Any], ...]
    ) -> tuple[str, ...]:
        before = request.workflow
        if not changes_between(before, after):
            return ("the proposal changes nothing",)
        if any(not changes_between(failed, after) for failed in tried):
            return ("the proposal is a workflow that has already failed",)
        done = self.context.calls.done()
        return violations(before, after, self.context.registry, done, request.task)

    def post(self, shared: Shared, inputs: GeneratorInputs, result: GeneratorResult) -> str:
        """Hand the workflow on, or the reason why there is none."""
        count_usage(shared, *result.usage)
        shared.setdefault("rejected", []).extend(result.rejected)
        if result.workflow is None:
            shared["doubts"], shared["partial"] = result.doubts, result.partial or {}
            fields = [doubt.field for doubt in result.doubts]
            if fields and all(fields) and "clarify" in self.successors and self.context.run_id:
                return "clarify"
            shared["planner_error"] = result.reason
            return "failed"
        shared["generated_workflow"] = result.workflow
        if result.params is not None:
            shared["planned_params"] = result.params
            shared["notes"] = result.notes
            shared["understood"] = result.understood or ""
            shared["continues"] = result.continues is True
        if result.fixer is not None:
            shared["fix"] = result
        return "validate"


def _stop_if_transient(answer: NoPlan | NoFix) -> None:
    """Stop the run where it is if asking again later may help: nothing done so far is lost."""
    if answer.transient:
        raise NodeFailed(
            answer.reason, category="no_answer", fault=Fault.ENVIRONMENT, transient=True
        )


def _used(usage: Usage | None) -> tuple[Usage, ...]:
    return () if usage is None else (usage,)
