"""The names that others may rely on. Adding one is a decision; losing one breaks somebody."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from runtrue import errors

PUBLIC: dict[str, list[str]] = {
    "runtrue.flow": [
        "Ask",
        "Claim",
        "Dispatcher",
        "Event",
        "Flow",
        "Journal",
        "Listener",
        "LocalDispatcher",
        "Node",
        "Owner",
        "Parked",
        "Question",
        "ResultRow",
        "RunRow",
        "RunState",
        "Segment",
        "StepRow",
        "emit",
        "held_emit",
        "held_tell",
        "replay",
        "run_segment",
        "tell",
    ],
    "runtrue.loop": [
        "Action",
        "Analysis",
        "Analyst",
        "Answer",
        "Attempt",
        "Backoff",
        "Budget",
        "COVERAGE_UNMET",
        "Cause",
        "Check",
        "CodeType",
        "Condition",
        "Decision",
        "Escalation",
        "Escalator",
        "Fault",
        "Finding",
        "Fix",
        "FixPart",
        "FixTask",
        "Fixer",
        "Gate",
        "History",
        "Item",
        "Limits",
        "Location",
        "MATCH",
        "Mode",
        "Notice",
        "Notification",
        "Outcome",
        "Policy",
        "Proposal",
        "Reason",
        "Rejection",
        "Requirement",
        "Requirements",
        "Response",
        "SECURITY_ISSUE",
        "Sandbox",
        "Skip",
        "TESTS_MISSING",
        "TIMEOUT",
        "Trial",
        "Trigger",
        "Verdict",
        "Why",
        "Workplace",
        "Workshop",
        "cause_of",
        "decide",
        "fault_of_exception",
        "fault_of_status",
        "fingerprint",
        "is_one_of",
        "may_be_one_of",
        "normalise",
        "repair_cycle",
        "steady",
        "still_judged",
        "within_task",
    ],
    "runtrue.checks": [
        "CaseInfo",
        "CommandCheck",
        "Coverage",
        "Detected",
        "FileCoverage",
        "Framework",
        "Language",
        "Measured",
        "Totals",
        "detect_checks",
        "find_program",
        "framework_of",
        "is_shell",
        "language_of",
        "lines_with_code",
        "load_cases",
        "load_measured",
        "output_of",
        "tool_of",
        "totals",
        "trim",
    ],
    "runtrue.fixers": [
        "AgentFixer",
        "Edited",
        "Lead",
        "MemoryFixer",
        "ModelEditor",
        "ModelFixer",
        "ToolFixer",
        "build_ladder",
        "fix_ids",
        "imported_by",
        "in_vain",
        "language_of_finding",
        "mending_command",
        "module_of",
        "own_file",
        "read_text",
        "run_agent",
        "sendable",
        "sentence",
        "show_files",
        "sources_below",
        "write_prompt",
    ],
    "runtrue.sandbox": [
        "GitSandbox",
        "allowed",
        "changes_since",
        "content_at",
        "fork_point",
        "head_of",
        "is_judge",
        "is_test",
        "judges_of_command",
        "repository_of",
        "resolve",
        "search_path",
    ],
    "runtrue.models": [
        "Answer",
        "BadCredentials",
        "BadOutput",
        "Model",
        "ModelError",
        "ModelUnavailable",
        "NoAnswer",
        "RequestRejected",
        "Usage",
        "fence",
        "model_name",
        "open_model",
    ],
    "runtrue.fields": [
        "Ranked",
        "SURE",
        "rank_names",
        "rank_paths",
    ],
    "runtrue.memory": [
        "ANY",
        "Counts",
        "DebugMemory",
        "Failure",
        "FileTemplate",
        "Memory",
        "Place",
        "Project",
        "Rank",
        "RankedFix",
        "RememberedFix",
        "Repair",
        "Retention",
        "Scope",
        "Session",
        "SessionFailure",
        "SessionFile",
        "SessionFix",
        "SimilarFailure",
        "Template",
        "apply",
        "load_sessions",
        "scope_of",
        "session_path",
        "shape_of",
        "template_of",
        "the_one",
        "write_session",
    ],
    "runtrue.escalation": [
        "Delivery",
        "EscalationReport",
        "Message",
        "ReportFiles",
        "Sender",
        "Subject",
        "notify",
        "report_on",
        "write_report",
    ],
    "runtrue.planner": [
        "KIND",
        "Planning",
        "create_planner_flow",
        "prepare_task",
        "report_of",
        "save_task",
        "start_task",
    ],
    "runtrue.planner.nodes": [
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
    ],
    "runtrue.workflow": [
        "Calls",
        "HttpServer",
        "InputError",
        "Interface",
        "KIND",
        "Missing",
        "Path",
        "PathSyntaxError",
        "REDACTED",
        "Reference",
        "Registry",
        "Result",
        "Started",
        "StdioServer",
        "TemplateSyntaxError",
        "ToolError",
        "ToolInfo",
        "Unresolved",
        "Workflow",
        "WorkflowNode",
        "WorkflowResult",
        "WorkflowStore",
        "add_server",
        "as_data",
        "checked",
        "compile_template",
        "compile_workflow",
        "describe_type",
        "execute_workflow",
        "finding_of",
        "load_workflow",
        "opened",
        "parse_path",
        "prepare_inputs",
        "prepare_workflow",
        "propose_name",
        "redact_by_name",
        "remove_server",
        "report_so_far",
        "run_workflow",
        "sample_text",
        "schema",
        "start_workflow",
        "try_workflow",
        "validate_workflow",
    ],
    "runtrue.code": [
        "AgentType",
        "Apply",
        "CodeRequest",
        "CodeTask",
        "CodeType",
        "Facts",
        "Iteration",
        "Kind",
        "Metric",
        "Period",
        "Phase",
        "Record",
        "Status",
        "Stop",
        "cause_in_words",
        "judged",
        "lets_go",
        "may_matter",
        "mentions",
        "metrics_of",
        "periods_of",
        "plan_code",
        "plan_fix",
        "plan_gate",
        "plan_task",
        "prepare_run",
        "report_of",
        "run_code_loop",
        "schema",
        "signs_of",
        "start_run",
        "strategy_for",
    ],
}


@pytest.mark.parametrize("package", PUBLIC)
def test_a_package_exports_exactly_these_names(package: str) -> None:
    assert sorted(importlib.import_module(package).__all__) == PUBLIC[package]


@pytest.mark.parametrize("package", PUBLIC)
def test_every_exported_name_is_there_and_has_a_docstring_where_it_can(package: str) -> None:
    module = importlib.import_module(package)
    assert inspect.getdoc(module)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{package}.{name} has no docstring"


# -- the exceptions -----------------------------------------------------------------------------


def _drawn() -> dict[str, str | None]:
    """Each exception in the drawing at the top of `errors`, with the one it hangs on."""
    drawn: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"^(?P<lead>[ │├└─]*)(?P<name>[A-Z]\w+)  *\S", line):
            if not line.startswith("    "):
                continue
            depth = (len(found["lead"]) - 4) // 4
            del above[depth:]
            drawn[found["name"]] = above[-1] if above else None
            above.append(found["name"])
    return drawn


def _real() -> dict[str, str | None]:
    classes = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == errors.__name__
    ]
    return {
        kind.__name__: None if kind is errors.RuntrueError else kind.__bases__[0].__name__
        for kind in classes
    }


def test_the_tree_of_exceptions_is_as_it_is_drawn() -> None:
    assert _drawn() == _real()


def test_every_exception_hangs_on_the_one_base_and_says_what_it_is_for() -> None:
    for name in _real():
        kind = getattr(errors, name)
        assert issubclass(kind, errors.RuntrueError)
        assert kind.__doc__


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.RuntrueError, 1),
        (errors.UsageError, 2),
        (errors.ConfigError, 2),
        (errors.UnknownRun, 2),
        (errors.InvalidWorkflow, 2),
        (errors.NodeFailed, 1),
        (errors.JournalError, 1),
        (errors.FlowError, 1),
        (errors.RunError, 1),
        (errors.RunWaiting, 3),
    ],
)
def test_exit_codes_are_those_of_the_command_line(
    kind: type[errors.RuntrueError], code: int
) -> None:
    assert kind.exit_code == code
