"""The nodes of the planner's flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.planner.nodes.agreement import AgreementNode
    from runtrue.planner.nodes.clarification import ClarificationNode
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

__all__ = lazy_exports(__name__)
