"""Workflows: nodes joined by actions, as data, with `${…}` references between them.

`ir` and `validate` are what a workflow is and whether it is well made; `paths` and
`templates` how values are referred to; `node`, `registry` and `nodes` what its steps can be;
`compile`, `step`, `batch` and `run` how it is run on the kernel; `trial` and `calls` how one is
that is still to be proven, perhaps more than once; `store` where saved ones are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.redaction import REDACTED
    from runtrue.workflow.apis import Api, ApiStore, nearest_operations, open_api, unknown_api
    from runtrue.workflow.calls import CallReplayed, Calls
    from runtrue.workflow.compile import checked, compile_workflow
    from runtrue.workflow.context import Context, Surroundings
    from runtrue.workflow.effect import (
        PATHS,
        Effect,
        EffectKind,
        EffectReport,
        EffectsNotAgreed,
    )
    from runtrue.workflow.embed import embed_workflows
    from runtrue.workflow.event_loop import run_to_end
    from runtrue.workflow.events import (
        Isolated,
        ItemFinished,
        NodeFailure,
        NodeHandled,
        NodeRetried,
    )
    from runtrue.workflow.file_access import ROOTS, FileAccess, RefusedFile, locate
    from runtrue.workflow.inputs import InputError, prepare_inputs
    from runtrue.workflow.ir import Workflow, schema
    from runtrue.workflow.mcp import (
        Catalog,
        HttpServer,
        StdioServer,
        ToolError,
        ToolInfo,
        add_server,
        must_be_free,
        remove_server,
        servers_request,
        untrusted,
    )
    from runtrue.workflow.node import Interface, Result, WorkflowNode, describe_type
    from runtrue.workflow.path_syntax import Every, PathStep
    from runtrue.workflow.paths import Missing, Path, PathSyntaxError, opened, parse_path
    from runtrue.workflow.references import Reference
    from runtrue.workflow.registry import Registry
    from runtrue.workflow.report import WorkflowReport, finding_of
    from runtrue.workflow.run import (
        KIND,
        NewWorkflowRun,
        Started,
        WorkflowResult,
        execute_workflow,
        new_workflow_run,
        planned_effects,
        prepare_workflow,
        report_so_far,
        run_workflow,
        start_workflow,
    )
    from runtrue.workflow.secrets import redact_by_name, sample_text
    from runtrue.workflow.step import as_data, given_outcome, skipped_outcome
    from runtrue.workflow.store import Saved, WorkflowStore, load_workflow, propose_name
    from runtrue.workflow.templates import TemplateSyntaxError, Unresolved, compile_template
    from runtrue.workflow.trial import effects_of_candidate, try_workflow
    from runtrue.workflow.validate import validate_workflow

__all__ = lazy_exports(__name__)
