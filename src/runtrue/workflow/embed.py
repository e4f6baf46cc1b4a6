"""Workflows that hold the workflows that they use: other machines have none of their files."""

from __future__ import annotations

from typing import Any

from runtrue.workflow.compile import checked
from runtrue.workflow.ir import Workflow
from runtrue.workflow.nodes.subworkflow import SubworkflowNode, named_workflow
from runtrue.workflow.registry import Registry


def embed_workflows(workflow: Workflow, registry: Registry) -> Workflow:
    """Return a workflow with those that its nodes name in it, as they are now.

    One whose name a run only computes stays a name. Raises InvalidWorkflow.
    """
    checked(workflow, registry)  # says where in which file something is wrong
    return _embedded(workflow, registry)


def _embedded(workflow: Workflow, registry: Registry) -> Workflow:
    nodes = [_with_workflow(node, workflow, registry) for node in workflow.get("nodes", [])]
    return Workflow(
        {**workflow, "nodes": nodes},
        name=workflow.name,
        path=workflow.path,
        folder=workflow.folder,
        line=workflow.line,
        within=workflow.within,
    )


def _with_workflow(node: Any, workflow: Workflow, registry: Registry) -> Any:
    if not isinstance(node, dict) or node.get("type") != SubworkflowNode.type:
        return node
    params = node.get("params", {})
    found = named_workflow(params, workflow, registry)
    if found is None:
        return node
    way, inner = found
    rest = {name: value for name, value in params.items() if name != way}
    return {**node, "params": {**rest, "workflow_ir": dict(_embedded(inner, registry))}}
