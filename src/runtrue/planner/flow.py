"""The planner's flow: from a task to a workflow that has been run.

    discovery ── found_existing ─▶ parameter_mapping ── run_existing ─▶ parameter_preparation
        │                               ▲        │                        │ run      │ default
     not_found                      validate  params_complete             ▼          ▼
        ▼                               │        ▼                   workflow_run ▶ result
    browsing ▶ parameter_discovery ▶ generator ◀─ retry ─ validator
                                        ▲                   │ metadata_generation
                                        │                   ▼
                                        └─ runtime_fix ─ runtime_validation ◀─ metadata
                                                            │ default ▶ parameter_preparation

Every way that leads nowhere ends at the result, which says why.
"""

from __future__ import annotations

from runtrue.flow import Flow
from runtrue.planner.nodes import (
    ComponentBrowsingNode,
    MetadataGenerationNode,
    ParameterDiscoveryNode,
    ParameterMappingNode,
    ParameterPreparationNode,
    ResultPreparationNode,
    RuntimeValidationNode,
    ValidatorNode,
    WorkflowDiscoveryNode,
    WorkflowGeneratorNode,
    WorkflowRunNode,
)
from runtrue.planner.planning import Planning


def create_planner_flow(planning: Planning | None = None) -> Flow:
    """The flow of one run of the planner; the store it begins with holds the `task`.

    When it has ended, `planner_output` is there. Make one for each run: what has been called in a
    run is kept with it.
    """
    planning = planning or Planning.here()
    discovery = WorkflowDiscoveryNode(planning, "workflow_discovery")
    browsing = ComponentBrowsingNode(planning, "component_browsing")
    parameter_discovery = ParameterDiscoveryNode(planning, "parameter_discovery")
    generator = WorkflowGeneratorNode(planning, "workflow_generator")
    mapping = ParameterMappingNode(planning, "parameter_mapping")
    validator = ValidatorNode(planning, "validator")
    metadata = MetadataGenerationNode(planning, "metadata_generation")
    runtime_validation = RuntimeValidationNode(planning, "runtime_validation")
    preparation = ParameterPreparationNode(planning, "parameter_preparation")
    run = WorkflowRunNode(planning, "workflow_run")
    result = ResultPreparationNode(planning, "result_preparation")

    discovery - "found_existing" >> mapping
    discovery - "not_found" >> browsing >> parameter_discovery >> generator
    generator - "validate" >> mapping
    generator - "failed" >> result
    mapping - "params_complete" >> validator
    mapping - "params_incomplete" >> result
    mapping - "run_existing" >> preparation
    validator - "metadata_generation" >> metadata
    validator - "retry" >> generator
    validator - "failed" >> result
    metadata >> runtime_validation
    runtime_validation - "runtime_fix" >> generator
    runtime_validation - "failed_runtime" >> result
    runtime_validation >> preparation
    preparation >> result
    preparation - "run" >> run >> result
    return Flow(discovery)
