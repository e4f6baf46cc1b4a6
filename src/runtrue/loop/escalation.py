"""Escalation: what makes a loop turn to somebody else, to whom, and what they get to see."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Condition(StrEnum):
    """What makes a loop escalate."""

    MAX_ATTEMPTS_REACHED = "max_attempts_reached"
    REGRESSION_DETECTED = "regression_detected"
    SECURITY_ISSUE_FOUND = "security_issue_found"
    COVERAGE_THRESHOLD_UNMET = "coverage_threshold_unmet"
    TIMEOUT_EXCEEDED = "timeout_exceeded"
    UNKNOWN_ERROR_TYPE = "unknown_error_type"


class Response(StrEnum):
    """What is done about it."""

    #: Wait, durably, for a person.
    HUMAN_REVIEW = "human_review"
    #: Have the next stronger fixer of the ladder try.
    SENIOR_AGENT = "senior_agent"
    ABORT_WITH_REPORT = "abort_with_report"
    FLAG_AND_CONTINUE = "flag_and_continue"


class Item(StrEnum):
    """What a report can hold."""

    ORIGINAL_CODE = "original_code"
    ALL_TEST_RESULTS = "all_test_results"
    FAILURE_ANALYSES = "failure_analyses"
    FIX_ATTEMPTS = "fix_attempts"
    DEBUG_MEMORY_SUMMARY = "debug_memory_summary"
    STACK_TRACES = "stack_traces"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """One rule: under this condition, do that, and report exactly these items."""

    condition: Condition
    action: Response
    include_in_report: tuple[Item, ...] = tuple(Item)


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """A trigger that fired, after so many attempts and rejections."""

    trigger: Trigger
    attempts: int
    rejections: int
    #: For `senior_agent`: the strongest fixer that had tried; only those above it are asked.
    above: str | None = None
