"""The planner's flow, from a task to a workflow that has been run, and durable runs of it.

    discovery ── found_existing ─▶ parameter_mapping ── run_existing ─▶ parameter_preparation
        │                               ▲        │                        │ run      │ default
     not_found                      validate  params_complete             ▼          ▼
        ▼                               │        ▼                   workflow_run ▶ result
    browsing ▶ parameter_discovery ▶ generator ◀─ retry ─ validator
                                        ▲                   │ metadata_generation
                                        │                   ▼
                                        └─ runtime_fix ─ runtime_validation ◀─ metadata
                                                            │ default ▶ parameter_preparation

Every way that leads nowhere ends at the result, which says why. What runs a workflow asks for its
effects first where the task does not name them: it goes to `agreement`, and from there back. A fix
that is in doubt about a field goes to `clarification`, and from there back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from runtrue.errors import UsageError
from runtrue.flow import Event, Flow, Journal, Outcome, Run, RunRow, RunState, Segment
from runtrue.home import Home
from runtrue.planner import nodes
from runtrue.planner.context import PlannerContext, Shared
from runtrue.planner.report import KIND, TaskReport, report_of
from runtrue.planner.task import LONGEST_TASK
from runtrue.typed_data import convert
from runtrue.workflow import Calls, Registry, WorkflowStore

_SHOWN_TITLE = 60


def create_planner_flow(context: PlannerContext | None = None) -> Flow:
    """Wire the flow of one run; it begins with the `task` and ends with `planner_output`.

    Make one for each run: the context remembers the run's calls.
    """
    context = context or PlannerContext.here()
    discovery = nodes.WorkflowDiscoveryNode(context, "workflow_discovery")
    browsing = nodes.ComponentBrowsingNode(context, "component_browsing")
    parameter_discovery = nodes.ParameterDiscoveryNode(context, "parameter_discovery")
    generator = nodes.WorkflowGeneratorNode(context, "workflow_generator")
    mapping = nodes.ParameterMappingNode(context, "parameter_mapping")
    validator = nodes.ValidatorNode(context, "validator")
    metadata = nodes.MetadataGenerationNode(context, "metadata_generation")
    runtime_validation = nodes.RuntimeValidationNode(context, "runtime_validation")
    preparation = nodes.ParameterPreparationNode(context, "parameter_preparation")
    run = nodes.WorkflowRunNode(context, "workflow_run")
    agreement = nodes.AgreementNode(context, "agreement")
    clarification = nodes.ClarificationNode(context, "clarification")
    result = nodes.ResultPreparationNode(context, "result_preparation")

    discovery - "found_existing" >> mapping
    discovery - "not_found" >> browsing >> parameter_discovery >> generator
    generator - "validate" >> mapping
    generator - "failed" >> result
    generator - "clarify" >> clarification
    clarification - "fix" >> generator
    clarification - "declined" >> result
    mapping - "params_complete" >> validator
    mapping - "params_incomplete" >> result
    mapping - "run_existing" >> preparation
    validator - "metadata_generation" >> metadata
    validator - "retry" >> generator
    validator - "failed" >> result
    metadata >> runtime_validation
    runtime_validation - "runtime_fix" >> generator
    runtime_validation - "plan_rest" >> generator
    runtime_validation - "failed_runtime" >> result
    runtime_validation >> preparation
    preparation >> result
    preparation - "run" >> run >> result
    runtime_validation - "planned" >> result
    for asking in (runtime_validation, run):
        asking - "agree" >> agreement
    run - "failed_runtime" >> result
    agreement - "validate" >> runtime_validation
    agreement - "run" >> run
    agreement - "declined" >> result
    return Flow(discovery)


# -- durable runs -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """The task of a run, and the directory that it is for."""

    task: str
    directory: str
    #: The name to save the workflow under, and whether it may replace one of that name.
    save: str | None = None
    replace: bool = False
    #: All effects are agreed to beforehand.
    agrees: bool = False
    #: The workflow is planned and not run.
    dry_run: bool = False


def start_task(
    journal: Journal,
    task: str,
    directory: Path,
    *,
    save: str | None = None,
    replace: bool = False,
    agrees: bool = False,
    dry_run: bool = False,
) -> str:
    """Record a new run for a task, and return its id.

    Its workflow is saved under the name `save`, also if another process finishes the run. With
    `agrees`, nobody is asked for its effects; a `dry_run` plans and calls nothing.
    """
    task = task.strip()
    if not task:
        raise UsageError('say what to do: runtrue do "fetch URL and extract NAME"')
    if len(task) > LONGEST_TASK:
        raise UsageError(
            f"the task has {len(task)} characters, and at most {LONGEST_TASK} are read: put long "
            "material into a file and name that"
        )
    request = TaskRequest(
        task=task,
        directory=str(directory),
        save=save,
        replace=replace,
        agrees=agrees,
        dry_run=dry_run,
    )
    line = " ".join(task.split())
    title = line if len(line) <= _SHOWN_TITLE else f"{line[: _SHOWN_TITLE - 1]}…"
    return journal.create(KIND, title, msgspec.to_builtins(request))


def is_dry_run(run: RunRow) -> bool:
    """True if a run only plans."""
    return convert(run.input, TaskRequest).dry_run


def save_task(run: RunRow, home: Home, report: TaskReport) -> str | None:
    """Save the generated workflow under the name that was asked for, and return that name."""
    request = convert(run.input, TaskRequest)
    is_new = report.status == RunState.PASSED and not report.found and not report.dry_run
    if request.save is None or not is_new or report.workflow is None:
        return None
    WorkflowStore(home).save(request.save, report.workflow, replace=request.replace)
    return request.save


def prepare_task(
    run: RunRow, home: Home, events: Iterable[Event] = (), *, force: bool = False
) -> Segment:
    """Prepare the flow of a recorded run; `events` of its journal say which calls were made.

    `force` allows a call with a side effect that was interrupted to be made again.
    """
    request = convert(run.input, TaskRequest)
    context = PlannerContext(
        Registry(home, Path(request.directory)),
        calls=Calls.of(events, force=force),
        run_id=run.id,
        agrees=request.agrees,
        dry_run=request.dry_run,
    )

    flow = create_planner_flow(context)
    shared: Shared = {"task": request.task}

    async def work(recorded: Run) -> Outcome:
        await flow.walk(recorded, shared)
        success = shared["planner_output"]["success"]
        status = RunState.PASSED if success else RunState.FAILED
        return status, report_of(run, shared, status, dry_run=request.dry_run)

    return Segment(work, state=shared)
