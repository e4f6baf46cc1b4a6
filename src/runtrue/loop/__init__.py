"""The loop's core: findings and faults, budget and policy, `decide`, and the repair cycle.

`decide` is pure; `cycle` is the one place where checks, fixers and a sandbox are driven by it.
"""

from runtrue.loop.analysis import Analysis
from runtrue.loop.bounds import Bounds, as_pattern, matches
from runtrue.loop.cause import (
    COVERAGE_UNMET,
    NEEDS_APPROVAL,
    RESOURCE_LIMIT,
    SECURITY_ISSUE,
    TAMPERED,
    TESTS_MISSING,
    TIMEOUT,
    Cause,
    cause_of,
    cause_of_type,
)
from runtrue.loop.comparison import is_one_of, may_be_one_of, steady, still_judged, within_task
from runtrue.loop.cycle import Cycle, repair_cycle
from runtrue.loop.deadline import TIME_IS_UP, in_time
from runtrue.loop.decide import Action, Decision, Why, decide, what_is_spent
from runtrue.loop.escalation import Condition, Escalation, Item, Response, Trigger
from runtrue.loop.fault import Fault, fault_of_exception, fault_of_status
from runtrue.loop.finding import Finding, Location, Mode, Outcome, Verdict
from runtrue.loop.fingerprint import fingerprint, normalise
from runtrue.loop.fixing import beyond, only_deleted, too_much, write_texts
from runtrue.loop.handover import EXPIRED, TakeBackNode
from runtrue.loop.hiding import secret_written
from runtrue.loop.history import (
    COUNTED,
    Answer,
    Attempt,
    Fix,
    FixPart,
    History,
    Reason,
    Rejection,
    Revision,
    Skip,
    Spent,
)
from runtrue.loop.lineage import lineage, mended
from runtrue.loop.notification import Notification
from runtrue.loop.policy import Backoff, Budget, Limits, Policy, Revise
from runtrue.loop.profile import (
    DEFAULT_PROFILE,
    PROFILES,
    AnswerWithin,
    AutomationProfile,
    MaxCost,
    MaxTime,
    RetryLimit,
)
from runtrue.loop.requirements import MATCH, CodeType, Requirement, Requirements
from runtrue.loop.seams import (
    Analyst,
    Check,
    Escalator,
    Fixer,
    FixTask,
    Gate,
    Notice,
    Proposal,
    Sandbox,
    Trial,
    Workplace,
)
from runtrue.loop.workshop import Workshop, WorkshopNode, readable

__all__ = [
    "COUNTED",
    "COVERAGE_UNMET",
    "DEFAULT_PROFILE",
    "EXPIRED",
    "MATCH",
    "NEEDS_APPROVAL",
    "PROFILES",
    "RESOURCE_LIMIT",
    "SECURITY_ISSUE",
    "TAMPERED",
    "TESTS_MISSING",
    "TIMEOUT",
    "TIME_IS_UP",
    "Action",
    "Analysis",
    "Analyst",
    "Answer",
    "AnswerWithin",
    "Attempt",
    "AutomationProfile",
    "Backoff",
    "Bounds",
    "Budget",
    "Cause",
    "Check",
    "CodeType",
    "Condition",
    "Cycle",
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
    "MaxCost",
    "MaxTime",
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
    "RetryLimit",
    "Revise",
    "Revision",
    "Sandbox",
    "Skip",
    "Spent",
    "TakeBackNode",
    "Trial",
    "Trigger",
    "Verdict",
    "Why",
    "Workplace",
    "Workshop",
    "WorkshopNode",
    "as_pattern",
    "beyond",
    "cause_of",
    "cause_of_type",
    "decide",
    "fault_of_exception",
    "fault_of_status",
    "fingerprint",
    "in_time",
    "is_one_of",
    "lineage",
    "matches",
    "may_be_one_of",
    "mended",
    "normalise",
    "only_deleted",
    "readable",
    "repair_cycle",
    "secret_written",
    "steady",
    "still_judged",
    "too_much",
    "what_is_spent",
    "within_task",
    "write_texts",
]
