"""Workflows: nodes joined by actions, as data, with `${…}` references between them.

`files`, `ir` and `validate` are what a workflow is and whether it is well made; `paths` and
`templates` how values are referred to; `node`, `registry` and `nodes` what its steps can be;
`compile`, `step`, `batch` and `run` how it is run on the kernel; `store` where saved ones are.
"""

from runtrue.workflow.compile import compile_workflow
from runtrue.workflow.inputs import InputError, prepare_inputs
from runtrue.workflow.ir import Workflow, schema
from runtrue.workflow.load import load_workflow
from runtrue.workflow.mcp import (
    HttpServer,
    StdioServer,
    ToolError,
    ToolInfo,
    add_server,
    remove_server,
)
from runtrue.workflow.node import Interface, Result, WorkflowNode, describe_type
from runtrue.workflow.registry import Registry
from runtrue.workflow.run import (
    KIND,
    Started,
    WorkflowResult,
    checked,
    execute_workflow,
    prepare_workflow,
    report_so_far,
    run_workflow,
    start_workflow,
)
from runtrue.workflow.store import WorkflowStore
from runtrue.workflow.validate import validate_workflow

__all__ = [
    "KIND",
    "HttpServer",
    "InputError",
    "Interface",
    "Registry",
    "Result",
    "Started",
    "StdioServer",
    "ToolError",
    "ToolInfo",
    "Workflow",
    "WorkflowNode",
    "WorkflowResult",
    "WorkflowStore",
    "add_server",
    "checked",
    "compile_workflow",
    "describe_type",
    "execute_workflow",
    "load_workflow",
    "prepare_inputs",
    "prepare_workflow",
    "remove_server",
    "report_so_far",
    "run_workflow",
    "schema",
    "start_workflow",
    "validate_workflow",
]
