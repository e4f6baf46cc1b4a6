"""The loop's core: findings and faults, budget and policy, `decide`, and the repair cycle.

`decide` is pure; `repair` is the one function that runs checks and fixers as it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.loop.alternatives import (
        Alternative,
        Example,
        Replacement,
        chosen,
        replaced,
        replacements,
        unified_diff,
    )
    from runtrue.loop.attempt import (
        Analysis,
        Attempt,
        Confidence,
        Fix,
        FixPart,
        Hunk,
        Reason,
        Rejection,
        Skip,
    )
    from runtrue.loop.bounds import Bounds, as_pattern, matches
    from runtrue.loop.cause import (
        COVERAGE_UNMET,
        NEEDS_APPROVAL,
        NOTHING_COLLECTED,
        RESOURCE_LIMIT,
        SECURITY_ISSUE,
        TAMPERED,
        TESTS_CANNOT_FAIL,
        TESTS_MISSING,
        TIMEOUT,
        Cause,
        cause_of,
        cause_of_type,
    )
    from runtrue.loop.check_candidate import check_candidate
    from runtrue.loop.comparison import (
        drop_known_failures,
        fail_if_tests_vanished,
        is_one_of,
        may_be_one_of,
        merge_reruns,
    )
    from runtrue.loop.deadline import TIME_IS_UP, in_time
    from runtrue.loop.decide import Action, Decision, Why, decide, is_yes, what_is_spent
    from runtrue.loop.edit import (
        PERSON,
        EditResult,
        EditRules,
        Refused,
        bounds_violation,
        guard_edit,
        write_texts,
    )
    from runtrue.loop.escalation import Condition, Escalation, Item, Response, Trigger
    from runtrue.loop.events import (
        AttemptStarted,
        BackingOff,
        CheckFinished,
        CheckRepeated,
        CheckStarted,
        Escalated,
        FixerFinished,
        FixerStarted,
        FixExhausted,
    )
    from runtrue.loop.evidence import confidence_in, turned_green
    from runtrue.loop.fault import Fault, fault_of_exception, fault_of_status
    from runtrue.loop.finding import Finding, JudgedBy, Location, Mode, Outcome, Verdict
    from runtrue.loop.fingerprint import fingerprint, normalise
    from runtrue.loop.hand_over import (
        AMEND,
        EXPIRED,
        AmendedByPerson,
        amendable,
        answer_of,
        take_back,
    )
    from runtrue.loop.history import COUNTED, Answer, History, Revision, Spent
    from runtrue.loop.known import Known, drop_known_findings
    from runtrue.loop.lineage import fixed_findings, lineage
    from runtrue.loop.notification import CHANNELS, Notification
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
    from runtrue.loop.redact import redacted_verdict
    from runtrue.loop.repair import repair
    from runtrue.loop.requirements import MATCH, CodeType, Requirement, Requirements
    from runtrue.loop.seams import (
        Adjustable,
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
    from runtrue.loop.workshop import RepairState, Workshop, readable

__all__ = lazy_exports(__name__)
