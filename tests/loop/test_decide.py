"""Deciding: tables for what follows from what, and properties that hold for any history."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.flow import RunState
from runtrue.loop import (
    Action,
    Budget,
    Condition,
    Decision,
    Fault,
    Finding,
    History,
    Mode,
    Outcome,
    Policy,
    Reason,
    Response,
    Revise,
    Why,
    decide,
)
from tests.loop.make import (
    NETWORK,
    NO_KEY,
    NO_PROGRAM,
    answer,
    attempt,
    finding,
    history,
    rejection,
    verdict,
)
from tests.loop.strategies import (
    ENDLESS,
    escalated,
    escalating,
    findings,
    histories,
    plays,
    policies,
    seconds,
)

BUG, OTHER_BUG = finding("bug"), finding("another bug")
POLICY = Policy(max_attempts=3, transport_retries=2, format_retries=1, max_time=60.0)
ASKING = replace(POLICY, ask_human=True)


def _failed(*found: Finding, attempts: int = 1) -> History:
    """So many attempts, each with the same findings."""
    return history(*(attempt(n, verdict(*found)) for n in range(1, attempts + 1)))


def _rejected(*reasons: Reason, attempts: int = 1) -> History:
    after = tuple(rejection(reason, attempts) for reason in reasons)
    return replace(_failed(BUG, attempts=attempts), rejections=after)


# -- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "action", "why", "status"),
    [
        (history(attempt(1)), "accept", "passed", "passed"),
        (_failed(BUG), "fix", "fixable", None),
        (_failed(BUG, attempts=2), "fix", "fixable", None),
        (_failed(BUG, attempts=3), "stop", "attempts_spent", "failed"),
        (_failed(NO_KEY), "stop", "not_the_candidate", "escalated"),
        (_failed(NO_PROGRAM), "stop", "not_the_candidate", "escalated"),
        (_failed(NETWORK), "recheck", "transient", None),
        (_failed(NETWORK, NO_KEY), "recheck", "transient", None),
        (_failed(BUG, NETWORK), "fix", "fixable", None),
        (_rejected(Reason.NO_FIXER), "stop", "no_fixer", "failed"),
        (_rejected(Reason.UNCHANGED), "fix", "fixable", None),
        (_rejected(*[Reason.UNCHANGED] * 2), "stop", "nothing_usable", "failed"),
        (_rejected(*[Reason.FIXER_FAILED] * 2), "fix", "fixable", None),
        (_rejected(*[Reason.FIXER_FAILED] * 3), "stop", "fixer_failed", "failed"),
        (_rejected(Reason.REPEATED), "fix", "fixable", None),
        (_rejected(*[Reason.REPEATED] * 2), "stop", "attempts_spent", "failed"),
        (_rejected(Reason.REPEATED, attempts=2), "stop", "attempts_spent", "failed"),
    ],
)
def test_what_follows_from_what(told: History, action: str, why: str, status: str | None) -> None:
    decision = decide(POLICY, told)
    assert (decision.action, decision.why, decision.status) == (action, why, status)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (_failed(BUG, attempts=3), Why.ATTEMPTS_SPENT),
        (_failed(NO_KEY), Why.NOT_THE_CANDIDATE),
        (_rejected(Reason.NO_FIXER), Why.NO_FIXER),
        (_rejected(*[Reason.UNCHANGED] * 2), Why.NOTHING_USABLE),
        (_rejected(*[Reason.FIXER_FAILED] * 3), Why.FIXER_FAILED),
        (history(attempt(1, verdict(BUG, seconds=61.0))), Why.TIME_SPENT),
    ],
)
def test_where_it_would_stop_a_policy_that_allows_it_asks_a_person(told: History, why: Why) -> None:
    asked = decide(ASKING, told)
    assert (asked.action, asked.why, asked.status) == (Action.ASK, why, None)
    assert asked.findings == told.best.blocking
    stopped = decide(POLICY, told)
    assert (stopped.action, stopped.why) == (Action.STOP, why)


def test_rule_6_a_fixable_finding_with_attempts_left_is_fixed() -> None:
    assert decide(POLICY, _failed(BUG)).action is Action.FIX


def test_rule_7_findings_that_are_not_fixable_or_no_attempts_left_end_it() -> None:
    assert decide(POLICY, _failed(NO_KEY)).status is RunState.ESCALATED
    assert decide(POLICY, _failed(BUG, attempts=3)).status is RunState.FAILED


def test_rule_13_every_fix_that_is_run_counts_as_an_attempt() -> None:
    left = [Budget.left(POLICY, _failed(BUG, attempts=n)).attempts for n in (1, 2, 3)]
    assert left == [2, 1, 0]


def test_rule_15_with_mixed_findings_the_fixable_ones_alone_are_given_to_a_fixer() -> None:
    decision = decide(POLICY, _failed(NO_KEY, BUG, NO_PROGRAM, OTHER_BUG, NETWORK))
    assert (decision.action, decision.findings) == (Action.FIX, (BUG, OTHER_BUG))


def test_a_transient_fault_is_tried_again_only_as_often_as_transport_retries_say() -> None:
    told = _failed(NETWORK)
    for _ in range(POLICY.transport_retries):
        assert decide(POLICY, told).action is Action.RECHECK
        again = attempt(1, verdict(NETWORK), recheck=True)
        told = replace(told, attempts=(*told.attempts, again))
    assert decide(POLICY, told).why is Why.NOT_THE_CANDIDATE


def test_a_transient_fault_on_a_fixed_candidate_is_tried_again_and_costs_no_attempt() -> None:
    outage = [NETWORK, finding("no name server", Fault.ENVIRONMENT, transient=True)]
    told = history(attempt(1, verdict(BUG)), attempt(2, verdict(*outage)))
    decision = decide(POLICY, told)
    assert (decision.action, decision.findings) == (Action.RECHECK, tuple(outage))
    again = replace(told, attempts=(*told.attempts, attempt(2, verdict(BUG), recheck=True)))
    assert Budget.left(POLICY, again).attempts == Budget.left(POLICY, told).attempts


def test_a_lasting_fault_of_the_environment_is_not_tried_again() -> None:
    full_disk = finding("the disk is full", Fault.ENVIRONMENT)
    assert decide(POLICY, _failed(full_disk)).action is Action.STOP


def test_time_spent_ends_it_whatever_else_is_left() -> None:
    for found in (BUG, NETWORK, NO_KEY):
        slow = history(attempt(1, verdict(found, seconds=60.0)))
        assert decide(POLICY, slow).why is Why.TIME_SPENT


def test_a_candidate_that_passed_in_the_last_second_has_passed() -> None:
    assert decide(POLICY, history(attempt(1, verdict(seconds=61.0)))).action is Action.ACCEPT


def test_the_findings_are_those_of_the_best_attempt_which_the_next_fix_is_made_from() -> None:
    told = history(attempt(1, verdict(BUG)), attempt(2, verdict(BUG, OTHER_BUG)))
    assert decide(POLICY, told).findings == (BUG,)


def test_an_old_rejection_does_not_stand_in_the_way_after_a_new_attempt() -> None:
    told = replace(
        history(attempt(1, verdict(BUG)), attempt(2, verdict(OTHER_BUG))),
        rejections=(rejection(Reason.NO_FIXER, after=1),),
    )
    assert decide(POLICY, told).action is Action.FIX


def test_an_old_rejection_does_not_stand_in_the_way_after_an_answer() -> None:
    told = _rejected(Reason.NO_FIXER)
    told = replace(
        told,
        answers=(answer(1, 1),),
        attempts=(*told.attempts, attempt(2, verdict(BUG), candidate="c1")),
    )
    assert decide(ASKING, told).action is Action.FIX


def test_a_fixer_that_cannot_succeed_is_not_asked_again() -> None:
    """Its program or its key is missing: that is no passing fault."""
    told = _rejected(Reason.FIXER_FAILED)
    (rejected,) = told.rejections
    (part,) = rejected.fix.parts
    for transient, action in ((True, Action.FIX), (False, Action.STOP)):
        failed = replace(part, failure="refused the key", transient=transient)
        fix = replace(rejected.fix, parts=(failed,))
        decision = decide(POLICY, replace(told, rejections=(replace(rejected, fix=fix),)))
        assert decision.action is action
    assert decision.why is Why.FIXER_FAILED


# -- regressions --------------------------------------------------------------------------------

BROKE = history(
    attempt(1, verdict(BUG, cases={"good": Outcome.PASSED, "bad": Outcome.FAILED})),
    attempt(2, verdict(OTHER_BUG, cases={"good": Outcome.FAILED, "bad": Outcome.PASSED})),
)


@pytest.mark.parametrize("ask_human", [False, True])
def test_a_regression_aborts_and_names_itself_under_abort_on_regression(ask_human: bool) -> None:
    decision = decide(replace(POLICY, ask_human=ask_human), BROKE)
    assert decision == Decision(
        action=Action.STOP,
        why=Why.REGRESSION,
        candidate="c1",
        findings=(BUG,),
        regressions=("good",),
        status=RunState.ABORTED,
    )


def test_a_regression_without_abort_is_one_more_failure_and_the_fix_starts_from_the_best() -> None:
    decision = decide(replace(POLICY, abort_on_regression=False), BROKE)
    assert (decision.action, decision.findings) == (Action.FIX, (BUG,))


RETRYING = replace(POLICY, retries_regressions=True)


def test_a_regression_is_fed_back_as_long_as_the_budget_lasts_where_the_policy_retries() -> None:
    """The fix is rolled back: the next one starts from the best candidate, which broke nothing."""
    decision = decide(RETRYING, BROKE)
    assert (decision.action, decision.candidate) == (Action.FIX, "c1")
    assert decision.findings == (BUG,)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (replace(RETRYING, max_attempts=2), BROKE),
        (
            replace(RETRYING, format_retries=0),
            replace(BROKE, rejections=(rejection(Reason.UNCHANGED, after=2),)),
        ),
        (
            replace(RETRYING, ask_human=True),
            replace(BROKE, rejections=(rejection(Reason.NO_FIXER, after=2),)),
        ),
    ],
    ids=["attempts", "nothing_usable", "no_fixer"],
)
def test_a_regression_that_nothing_more_can_be_tried_about_aborts(
    policy: Policy, told: History
) -> None:
    decision = decide(policy, told)
    assert (decision.action, decision.why) == (Action.STOP, Why.REGRESSION)
    assert (decision.status, decision.regressions) == (RunState.ABORTED, ("good",))
    assert decision.candidate == "c1"


# -- properties of any history ------------------------------------------------------------------


@given(policies, histories())
def test_the_same_history_gives_the_same_decision(policy: Policy, told: History) -> None:
    decision = decide(policy, told)
    assert decide(policy, told) == decision
    read_again = msgspec.json.decode(msgspec.json.encode(told), type=History)
    assert read_again == told
    assert decide(policy, read_again) == decision
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision


@given(policies, histories())
def test_nothing_is_fixed_without_an_attempt_and_time_left_for_it(
    policy: Policy, told: History
) -> None:
    if decide(policy, told).action is Action.FIX:
        left = Budget.left(policy, told)
        assert left.attempts > 0
        assert left.seconds > 0
        assert len(told.since_last_answer().attempts) - told.since_last_answer().rechecks < (
            policy.max_attempts
        )


@given(policies, histories())
def test_no_finding_given_to_a_fixer_has_any_other_fault_than_the_candidates(
    policy: Policy, told: History
) -> None:
    decision = decide(policy, told)
    if decision.action is Action.FIX:
        assert decision.findings
        assert {found.fault for found in decision.findings} == {Fault.CANDIDATE}


OTHERS = tuple(fault for fault in Fault if fault is not Fault.CANDIDATE)


@given(policies, histories(faults=OTHERS))
def test_a_history_without_candidate_faults_never_gives_a_fix(
    policy: Policy, told: History
) -> None:
    assert decide(policy, told).action is not Action.FIX


@given(policies, histories())
def test_rule_15_any_fixable_finding_with_budget_left_gives_a_fix(
    policy: Policy, told: History
) -> None:
    fixable = tuple(f for f in told.best.blocking if f.fault is Fault.CANDIDATE)
    left = Budget.left(policy, told)
    has_budget = (
        left.attempts > 0
        and left.seconds > 0
        and left.transport_retries >= 0
        and left.format_retries >= 0
    )
    aborts = (
        policy.abort_on_regression
        and not policy.retries_regressions
        and told.regressions(told.latest)
    )
    ends = (Reason.NO_FIXER, Reason.OUT_OF_BOUNDS, Reason.NEEDS_APPROVAL)
    no_fixer = any(r.reason in ends for r in told.rejections)
    # With nothing known against the latest candidate, a passing fault is waited out first.
    unsure = left.transport_retries > 0 and not any(
        f.fault is Fault.CANDIDATE for f in told.latest.blocking
    )
    free = not (told.latest.passed or aborts or no_fixer or unsure)
    if fixable and has_budget and free:
        decision = decide(policy, told)
        assert decision == Decision(
            action=Action.FIX,
            why=Why.FIXABLE,
            candidate=told.best.candidate,
            findings=fixable,
        )


@given(st.lists(findings(), max_size=3), findings((Fault.CANDIDATE,)), st.data())
def test_rule_15_a_fixable_finding_is_fixed_whatever_others_come_with_it(
    others: list[Finding], fixable: Finding, data: st.DataObject
) -> None:
    mixed = data.draw(st.permutations([*others, fixable]))
    decision = decide(Policy(), history(attempt(1, verdict(*mixed))))
    assert decision.action is Action.FIX
    assert decision.findings == tuple(f for f in mixed if f.fault is Fault.CANDIDATE)


@given(policies, histories())
def test_a_passing_history_is_accepted_with_no_stale_finding_left_in_it(
    policy: Policy, told: History
) -> None:
    passing = attempt(told.latest.number + 1, verdict(), candidate="good")
    decision = decide(policy, replace(told, attempts=(*told.attempts, passing)))
    assert decision == Decision(
        action=Action.ACCEPT, why=Why.PASSED, candidate="good", status=RunState.PASSED
    )
    assert decision.findings == ()


@given(policies, histories())
def test_nothing_is_accepted_that_a_required_check_failed(policy: Policy, told: History) -> None:
    accepted = decide(policy, told).action is Action.ACCEPT
    assert accepted is told.latest.passed


@given(policies, histories())
def test_a_decision_has_a_status_exactly_when_it_ends_the_run(
    policy: Policy, told: History
) -> None:
    decision = decide(policy, told)
    assert (decision.status is not None) is (decision.action in (Action.ACCEPT, Action.STOP))


@given(policies, histories())
def test_a_regression_aborts_exactly_when_the_policy_says_so(policy: Policy, told: History) -> None:
    decision = decide(policy, told)
    regressed = not told.latest.passed and bool(told.regressions(told.latest))
    aborts = regressed and policy.abort_on_regression
    is_retried = aborts and policy.retries_regressions and decision.action is Action.FIX
    assert (decision.why is Why.REGRESSION) is (aborts and not is_retried)
    if decision.why is Why.REGRESSION:
        assert decision.status is RunState.ABORTED
        assert decision.regressions == told.regressions(told.latest)


@given(policies, histories(), st.data())
def test_whatever_informational_checks_say_decides_nothing(
    policy: Policy, told: History, data: st.DataObject
) -> None:
    def reworded(history: History, word: str) -> History:
        noise = [
            tuple(
                replace(
                    v,
                    passed=data.draw(st.booleans(), label=word),
                    findings=tuple(data.draw(st.lists(findings(), max_size=2))),
                    cases=data.draw(
                        st.dictionaries(st.just("t1"), st.sampled_from(Outcome), max_size=1)
                    ),
                )
                if v.mode is Mode.INFORMATIONAL
                else v
                for v in a.verdicts
            )
            for a in history.attempts
        ]
        attempts = tuple(
            replace(a, verdicts=v) for a, v in zip(history.attempts, noise, strict=True)
        )
        return replace(history, attempts=attempts)

    assert decide(policy, reworded(told, "reworded")) == decide(policy, told)


@given(policies, histories(), st.lists(st.sampled_from(Reason), max_size=4))
def test_each_budget_is_counted_apart(policy: Policy, told: History, reasons: list[Reason]) -> None:
    before = Budget.left(policy, told)
    more = tuple(rejection(reason, told.latest.number) for reason in reasons)
    after = Budget.left(policy, replace(told, rejections=(*told.rejections, *more)))
    assert before.attempts - after.attempts == reasons.count(Reason.REPEATED)
    assert before.format_retries - after.format_retries == reasons.count(Reason.UNCHANGED)
    assert before.transport_retries - after.transport_retries == reasons.count(Reason.FIXER_FAILED)


@given(policies, histories(), seconds)
def test_an_answer_opens_a_fresh_budget_whatever_was_spent_before(
    policy: Policy, told: History, time: float
) -> None:
    answered = replace(
        told,
        answers=(*told.answers, answer(len(told.attempts), len(told.rejections))),
        attempts=(
            *told.attempts,
            attempt(told.latest.number + 1, verdict(finding("new"), seconds=time)),
        ),
    )
    assert Budget.left(policy, answered) == Budget(
        attempts=policy.max_attempts - 1,
        transport_retries=policy.transport_retries,
        format_retries=policy.format_retries,
        seconds=policy.max_time - time,
    )


# -- properties of any history under any triggers -----------------------------------------------


@given(escalating, escalated())
def test_under_any_triggers_the_same_history_gives_the_same_decision(
    policy: Policy, told: History
) -> None:
    decision = decide(policy, told)
    read_again = msgspec.json.decode(msgspec.json.encode(told), type=History)
    same_policy = msgspec.json.decode(msgspec.json.encode(policy), type=Policy)
    assert read_again == told
    assert decide(same_policy, read_again) == decision
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision


@given(escalating, escalated())
def test_under_any_triggers_a_decision_is_whole(policy: Policy, told: History) -> None:
    decision = decide(policy, told)
    ends = decision.action in (Action.ACCEPT, Action.STOP)
    assert (decision.status is not None) is ends
    assert decision.candidate in {a.candidate for a in told.attempts}
    if decision.action is Action.FIX:
        assert decision.findings
        assert {found.fault for found in decision.findings} == {Fault.CANDIDATE}
        assert Budget.left(policy, told).seconds > 0
    if decision.escalation:
        assert decision.escalation.trigger in policy.triggers
        assert decision.action is not Action.ACCEPT
        assert decision.escalation.attempts == len(told.attempts)
        assert decision.escalation.rejections == len(told.rejections)


@given(escalating, escalated())
def test_under_any_triggers_what_is_accepted_passed_or_has_only_flagged_findings_of_gates(
    policy: Policy, told: History
) -> None:
    decision = decide(policy, told)
    if told.latest.passed:
        assert (decision.action, decision.why) == (Action.ACCEPT, Why.PASSED)
    elif decision.action is Action.ACCEPT:
        assert decision.why is Why.FLAGGED
        best = told.best if policy.keep_best else told.latest
        assert decision.candidate == best.candidate
        assert best.works
        assert decision.flags


@given(escalating, escalated())
def test_only_what_the_policy_flags_is_flagged_and_nothing_flagged_escalates(
    policy: Policy, told: History
) -> None:
    first: dict[Condition, Response] = {}
    for rule in policy.triggers:
        first.setdefault(rule.condition, rule.action)
    flagged = {c for c, action in first.items() if action is Response.FLAG_AND_CONTINUE}
    decision = decide(policy, told)
    assert set(decision.flags) <= flagged
    if decision.escalation:
        assert decision.escalation.trigger.condition not in flagged
        # Of several triggers for a condition, the first one counts.
        rule = decision.escalation.trigger
        assert rule.action is first[rule.condition]


@given(st.data(), escalating)
def test_every_loop_ends_under_any_triggers(data: st.DataObject, policy: Policy) -> None:
    trail = data.draw(plays(policy))
    assert len(trail) < ENDLESS
    told, last = trail[-1]
    assert last.action in (Action.ACCEPT, Action.STOP, Action.ASK)
    # Each rung above the weakest may be asked once more, and may be found not to take it on.
    each = policy.max_attempts + policy.transport_retries + policy.format_retries + 4
    assert len(trail) <= (each + 3 * len(policy.rungs)) * (len(told.answers) + 1)


@given(st.data(), escalating)
def test_a_stronger_fixer_adds_one_attempt_and_is_stronger_than_all_that_tried(
    data: st.DataObject, policy: Policy
) -> None:
    trail = data.draw(plays(policy))
    told, _ = trail[-1]
    bounds = [0, *(said.attempts for said in told.answers), len(told.attempts)]
    for begin, end in pairwise(bounds):
        segment = [a for a in told.attempts[begin:end] if not a.recheck]
        seniors = [
            e
            for e in told.escalations
            if e.trigger.action is Response.SENIOR_AGENT and begin < e.attempts <= end
        ]
        assert len(segment) <= policy.max_attempts + len(seniors)
    for before, decision in trail:
        if decision.action is Action.FIX and decision.escalation:
            fixes = [a.fix for a in before.attempts] + [r.fix for r in before.rejections]
            tried = {part.fixer for fix in fixes if fix for part in fix.parts} - {"human"}
            above = decision.escalation.above
            assert tried.isdisjoint(policy.rungs[policy.rungs.index(above) + 1 :] if above else [])
            assert above is None or above in tried


# -- properties of a loop played to its end -----------------------------------------------------


@given(st.data(), policies)
def test_every_loop_ends_within_its_budgets(data: st.DataObject, policy: Policy) -> None:
    trail = data.draw(plays(policy))
    assert len(trail) < ENDLESS
    told, last = trail[-1]
    assert last.action in (Action.ACCEPT, Action.STOP, Action.ASK)
    assert last.action is not Action.ASK or policy.ask_human
    # Between two answers each step spends something, and each thing is spent once too often at
    # most: that is when the loop notices.
    each = policy.max_attempts + policy.transport_retries + policy.format_retries + 4
    assert len(trail) <= each * (len(told.answers) + 1)


@given(st.data(), policies)
def test_a_loop_never_makes_more_attempts_than_the_policy_allows(
    data: st.DataObject, policy: Policy
) -> None:
    told, _ = data.draw(plays(policy))[-1]
    bounds = [0, *(said.attempts for said in told.answers), len(told.attempts)]
    for begin, end in pairwise(bounds):
        segment = told.attempts[begin:end]
        assert len([a for a in segment if not a.recheck]) <= policy.max_attempts
        assert len([a for a in segment if a.recheck]) <= policy.transport_retries


@given(st.data(), policies)
def test_in_a_loop_every_fix_was_for_the_candidate_and_every_end_is_explained(
    data: st.DataObject, policy: Policy
) -> None:
    for told, decision in data.draw(plays(policy)):
        if decision.action is Action.FIX:
            assert all(found.fault is Fault.CANDIDATE for found in decision.findings)
        if decision.action is Action.ACCEPT:
            assert told.latest.passed
        if decision.why is Why.ATTEMPTS_SPENT:
            assert Budget.left(policy, told).attempts <= 0
        if decision.why is Why.FIXER_FAILED:
            assert Budget.left(policy, told).transport_retries < 0
        if decision.why is Why.NOTHING_USABLE:
            assert Budget.left(policy, told).format_retries < 0


@given(st.data(), policies)
def test_in_a_loop_every_decision_before_the_last_leads_on(
    data: st.DataObject, policy: Policy
) -> None:
    trail = data.draw(plays(policy))
    going_on = {decision.action for _, decision in trail[:-1]}
    assert going_on <= {Action.FIX, Action.RECHECK, Action.ASK}


@pytest.mark.parametrize(
    "told",
    [
        history(attempt(1, verdict(finding(fault=Fault.STRATEGY, category="needs_approval")))),
        history(attempt(1, verdict(finding())), rejections=(rejection(Reason.NEEDS_APPROVAL),)),
    ],
)
def test_what_needs_approval_is_asked_for_and_revised_only_when_a_person_has_spoken(
    told: History,
) -> None:
    policy = Policy(ask_human=True, revision=Revise.AUTO)
    decision = decide(policy, told)
    assert (decision.action, decision.why) == (Action.ASK, Why.NEEDS_APPROVAL)
    answered = replace(told, answers=(answer(1, len(told.rejections)),))
    assert decide(policy, answered).action is Action.REVISE


@given(st.data(), policies)
def test_a_loop_that_asks_nobody_waits_for_nobody(data: st.DataObject, policy: Policy) -> None:
    trail = data.draw(plays(replace(policy, ask_human=False)))
    assert all(decision.action is not Action.ASK for _, decision in trail)
