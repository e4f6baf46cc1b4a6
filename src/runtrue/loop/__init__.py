"""The loop's core: findings and faults, budget and policy, `decide`, and the repair cycle.

`decide` is pure; `cycle` is the one place where checks, fixers and a sandbox are driven by it.
"""

from runtrue.loop.cycle import repair_cycle
from runtrue.loop.decide import Action, Decision, Why, decide
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
    still_judged,
)
from runtrue.loop.policy import Budget, Limits, Policy
from runtrue.loop.seams import Check, Fixer, FixTask, Proposal, Sandbox, Workplace
from runtrue.loop.workshop import Workshop

__all__ = [
    "Action",
    "Answer",
    "Attempt",
    "Budget",
    "Check",
    "Decision",
    "Fault",
    "Finding",
    "Fix",
    "FixPart",
    "FixTask",
    "Fixer",
    "History",
    "Limits",
    "Location",
    "Mode",
    "Outcome",
    "Policy",
    "Proposal",
    "Reason",
    "Rejection",
    "Sandbox",
    "Skip",
    "Verdict",
    "Why",
    "Workplace",
    "Workshop",
    "decide",
    "fault_of_exception",
    "fault_of_status",
    "fingerprint",
    "normalise",
    "repair_cycle",
    "still_judged",
]
