"""The loop's core: findings and faults, budget and policy, `decide`, and the repair cycle.

`decide` is pure; `cycle` is the one place where checks, fixers and a sandbox are driven by it.
"""

from runtrue.loop.analysis import Analysis
from runtrue.loop.cause import (
    COVERAGE_UNMET,
    SECURITY_ISSUE,
    TESTS_MISSING,
    TIMEOUT,
    Cause,
    cause_of,
)
from runtrue.loop.comparison import is_one_of, may_be_one_of, steady, still_judged, within_task
from runtrue.loop.cycle import repair_cycle
from runtrue.loop.decide import Action, Decision, Why, decide
from runtrue.loop.escalation import Condition, Escalation, Item, Response, Trigger
from runtrue.loop.fault import Fault, fault_of_exception, fault_of_status
from runtrue.loop.finding import Finding, Location, Mode, Outcome, Verdict
from runtrue.loop.fingerprint import fingerprint, normalise
from runtrue.loop.history import (
    Answer,
    Attempt,
    Fix,
    FixPart,
    History,
    Reason,
    Rejection,
    Skip,
)
from runtrue.loop.notification import Notification
from runtrue.loop.policy import Backoff, Budget, Limits, Policy
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
from runtrue.loop.workshop import Workshop

__all__ = [
    "COVERAGE_UNMET",
    "MATCH",
    "SECURITY_ISSUE",
    "TESTS_MISSING",
    "TIMEOUT",
    "Action",
    "Analysis",
    "Analyst",
    "Answer",
    "Attempt",
    "Backoff",
    "Budget",
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
    "Sandbox",
    "Skip",
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
]
