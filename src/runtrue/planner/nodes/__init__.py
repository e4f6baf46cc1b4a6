"""The nodes of the planner's flow, in the order in which a task goes through them."""

from runtrue.planner.nodes.discovery import (
    ComponentBrowsingNode,
    ParameterDiscoveryNode,
    WorkflowDiscoveryNode,
)
from runtrue.planner.nodes.generator import WorkflowGeneratorNode
from runtrue.planner.nodes.metadata import MetadataGenerationNode
from runtrue.planner.nodes.parameters import ParameterMappingNode, ParameterPreparationNode
from runtrue.planner.nodes.result import ResultPreparationNode
from runtrue.planner.nodes.runtime import RuntimeValidationNode, WorkflowRunNode
from runtrue.planner.nodes.validator import ValidatorNode

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
