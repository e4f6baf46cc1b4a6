"""The nodes of the planner's flow."""

from runtrue.planner.nodes.generator import WorkflowGeneratorNode
from runtrue.planner.nodes.runtime import RuntimeValidationNode, WorkflowRunNode
from runtrue.planner.nodes.stages import (
    ComponentBrowsingNode,
    MetadataGenerationNode,
    ParameterDiscoveryNode,
    ParameterMappingNode,
    ParameterPreparationNode,
    ResultPreparationNode,
    ValidatorNode,
    WorkflowDiscoveryNode,
)

__all__ = [
    "ComponentBrowsingNode",
    "MetadataGenerationNode",
    "ParameterDiscoveryNode",
    "ParameterMappingNode",
    "ParameterPreparationNode",
    "ResultPreparationNode",
    "RuntimeValidationNode",
    "ValidatorNode",
    "WorkflowDiscoveryNode",
    "WorkflowGeneratorNode",
    "WorkflowRunNode",
]
