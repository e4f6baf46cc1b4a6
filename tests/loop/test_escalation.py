"""Escalation: six conditions, four responses, each decided and each gone through in the cycle."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from runtrue.flow import Journal, RunState
from runtrue.loop import (
    COVERAGE_UNMET,
    SECURITY_ISSUE,
    TESTS_MISSING,
    TIMEOUT,
    Action,
    Budget,
    Condition,
    Fault,
    Finding,
    Fix,
    FixPart,
    History,
    Item,
    Notice,
    Outcome,
    Policy,
    Reason,
    Response,
    Skip,
    Trigger,
    Why,
    decide,
)
from tests.loop.make import (
    NO_KEY,
    answer,
    attempt,
    escalation,
    finding,
    fix,
    history,
    rejection,
    trigger,
    verdict,
)
from tests.loop.workshop import (
    Durable,
    Edit,
    Files,
    Killed,
    MemoryCheck,
    MemoryEscalator,
    MemoryFixer,
    MemoryGate,
    MemorySandbox,
    Told,
    build,
    nothing,
    run,
    says,
    write,
)

BUG = finding("bug")
SLOW = finding("took too long", category=TIMEOUT)
ODD = finding("exit code 3", category="exit_code")
HOLE = finding("eval of what a user sent", category=SECURITY_ISSUE, source="security")
UNCOVERED = finding("60 of 80 percent", category=COVERAGE_UNMET, source="coverage")
UNTESTED = finding("no test of errors", category=TESTS_MISSING, source="test_kinds")

RUNGS = ("tool", "model", "agent", "human")
POLICY = Policy(max_attempts=3, rungs=RUNGS, max_time=60.0)
BROKE = history(
    attempt(1, verdict(BUG, cases={"good": Outcome.PASSED, "bad": Outcome.FAILED})),
    attempt(2, verdict(BUG, cases={"good": Outcome.FAILED}), fix=fix("c2", by="tool")),
)


def _failed(*found: Finding, attempts: int = 2) -> History:
    """So many attempts with the same findings, all but the first made by the tool."""
    made = (attempt(n, verdict(*found), fix=fix(by="tool")) for n in range(2, attempts + 1))
    return history(attempt(1, verdict(*found)), *made)


def _no_fixer(*found: Finding) -> History:
    return replace(_failed(*found), rejections=(rejection(Reason.NO_FIXER, 2, by="tool"),))


def _under(*rules: tuple[str, str], policy: Policy = POLICY) -> Policy:
    return replace(policy, triggers=tuple(trigger(*rule) for rule in rules))


HOLDS = {
    Condition.MAX_ATTEMPTS_REACHED: _failed(BUG, attempts=3),
    Condition.REGRESSION_DETECTED: BROKE,
    Condition.SECURITY_ISSUE_FOUND: _failed(HOLE),
    Condition.COVERAGE_THRESHOLD_UNMET: _no_fixer(UNCOVERED),
    Condition.TIMEOUT_EXCEEDED: _failed(SLOW),
    Condition.UNKNOWN_ERROR_TYPE: _failed(ODD),
}
#: What comes of it when it is only flagged.
FLAGGED = {
    Condition.MAX_ATTEMPTS_REACHED: (Action.STOP, Why.ATTEMPTS_SPENT, RunState.FAILED),
    Condition.REGRESSION_DETECTED: (Action.FIX, Why.FIXABLE, None),
    Condition.SECURITY_ISSUE_FOUND: (Action.FIX, Why.FIXABLE, None),
    Condition.COVERAGE_THRESHOLD_UNMET: (Action.ACCEPT, Why.FLAGGED, RunState.PASSED),
    Condition.TIMEOUT_EXCEEDED: (Action.FIX, Why.FIXABLE, None),
    Condition.UNKNOWN_ERROR_TYPE: (Action.FIX, Why.FIXABLE, None),
}

# -- every condition with every response --------------------------------------------------------


@pytest.mark.parametrize("response", Response)
@pytest.mark.parametrize("condition", Condition)
def test_each_condition_gets_each_response(condition: Condition, response: Response) -> None:
    told = HOLDS[condition]
    policy = _under((condition, response))
    decision = decide(policy, told)
    if response is Response.FLAG_AND_CONTINUE:
        assert decision.escalation is None
        assert decision.flags == (condition,)
        assert (decision.action, decision.why, decision.status) == FLAGGED[condition]
        return
    assert decision.flags == ()
    assert decision.candidate == told.best.candidate
    above = "tool" if response is Response.SENIOR_AGENT else None
    assert decision.escalation == escalation(
        response, len(told.attempts), len(told.rejections), above=above, condition=condition
    )
    assert (decision.action, decision.status) == {
        Response.HUMAN_REVIEW: (Action.ASK, None),
        Response.SENIOR_AGENT: (Action.FIX, None),
        Response.ABORT_WITH_REPORT: (Action.STOP, RunState.ABORTED),
    }[response]


@pytest.mark.parametrize("response", Response)
@pytest.mark.parametrize("condition", Condition)
def test_no_condition_escalates_before_it_holds(condition: Condition, response: Response) -> None:
    policy = _under((condition, response))
    for other in (history(attempt(1)), _failed(BUG, attempts=2), _failed(NO_KEY)):
        assert decide(policy, other) == decide(POLICY, other)


@pytest.mark.parametrize("response", Response)
def test_nothing_escalates_what_passes(response: Response) -> None:
    # A case may fail in a check that passes: its failure is allowed.
    allowed = attempt(2, verdict(cases={"good": Outcome.FAILED}), fix=fix("c2", by="tool"))
    told = replace(BROKE, attempts=(BROKE.attempts[0], allowed))
    decision = decide(_under(*((condition, response) for condition in Condition)), told)
    assert (decision.action, decision.escalation) == (Action.ACCEPT, None)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("coverage_threshold_unmet", _failed(UNCOVERED)),
        ("coverage_threshold_unmet", _failed(UNTESTED)),
        ("max_attempts_reached", _failed(UNCOVERED)),
    ],
)
def test_what_may_still_be_mended_does_not_count_as_reached(condition: str, told: History) -> None:
    decision = decide(_under((condition, "abort_with_report")), told)
    assert decision.escalation is None


def test_an_early_end_is_escalated_like_attempts_that_are_used_up() -> None:
    decision = decide(_under(("max_attempts_reached", "human_review")), _no_fixer(BUG))
    assert (decision.action, decision.why) == (Action.ASK, Why.NO_FIXER)


def test_tests_that_are_missing_are_coverage_that_is_unmet() -> None:
    decision = decide(_under(("coverage_threshold_unmet", "human_review")), _no_fixer(UNTESTED))
    assert decision.action is Action.ASK


def test_an_environment_that_fails_in_an_unknown_way_is_no_unknown_error_of_the_candidate() -> None:
    outside = finding("exit code 3", Fault.ENVIRONMENT, category="exit_code")
    decision = decide(_under(("unknown_error_type", "abort_with_report")), _failed(outside))
    assert decision.escalation is None


@pytest.mark.parametrize(("ask", "action"), [(False, Action.STOP), (True, Action.ASK)])
def test_without_escalation_on_max_that_trigger_never_fires(ask: bool, action: Action) -> None:
    policy = _under(("max_attempts_reached", "abort_with_report"))
    policy = replace(policy, escalation_on_max=False, ask_human=ask)
    decision = decide(policy, _failed(BUG, attempts=3))
    assert (decision.action, decision.escalation) == (action, None)
    assert decision.status is (None if ask else RunState.FAILED)


def test_without_escalation_on_max_the_other_triggers_fire_all_the_same() -> None:
    policy = replace(_under(("timeout_exceeded", "human_review")), escalation_on_max=False)
    assert decide(policy, _failed(SLOW, attempts=3)).action is Action.ASK


def test_why_says_what_stopped_it_or_that_a_trigger_did() -> None:
    at_end = decide(_under(("max_attempts_reached", "human_review")), _failed(BUG, attempts=3))
    before = decide(_under(("timeout_exceeded", "human_review")), _failed(SLOW))
    assert (at_end.why, before.why) == (Why.ATTEMPTS_SPENT, Why.TRIGGERED)
    broke = decide(_under(("regression_detected", "human_review")), BROKE)
    assert (broke.why, broke.regressions) == (Why.REGRESSION, ("good",))


def test_a_report_holds_everything_unless_a_trigger_says_what() -> None:
    assert trigger("timeout_exceeded", "human_review").include_in_report == tuple(Item)
    given = {"condition": "timeout_exceeded", "action": "human_review", "include_in_report": []}
    assert msgspec.convert(given, Trigger).include_in_report == ()


# -- several triggers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "action", "status"),
    [
        (["timeout_exceeded:human_review", "security_issue_found:abort_with_report"], "ask", None),
        (
            ["security_issue_found:abort_with_report", "timeout_exceeded:human_review"],
            "stop",
            "aborted",
        ),
        (
            ["timeout_exceeded:flag_and_continue", "security_issue_found:abort_with_report"],
            "stop",
            "aborted",
        ),
        # The first one for a condition counts.
        (["timeout_exceeded:flag_and_continue", "timeout_exceeded:abort_with_report"], "fix", None),
        (["timeout_exceeded:human_review", "timeout_exceeded:flag_and_continue"], "ask", None),
    ],
    ids=str,
)
def test_of_several_triggers_the_first_one_counts(
    rules: list[str], action: str, status: str | None
) -> None:
    policy = _under(*(tuple(rule.split(":")) for rule in rules))  # type: ignore[arg-type]
    decision = decide(policy, _failed(SLOW, HOLE))
    assert (decision.action, decision.status) == (action, status)


def test_a_trigger_that_can_do_nothing_leaves_it_to_the_next() -> None:
    policy = _under(
        ("timeout_exceeded", "senior_agent"), ("security_issue_found", "abort_with_report")
    )
    told = history(attempt(1, verdict(SLOW, HOLE)), attempt(2, verdict(SLOW, HOLE), fix=fix()))
    assert decide(policy, told).status is RunState.ABORTED


# -- human_review -------------------------------------------------------------------------------

AT_ONCE = {
    Condition.SECURITY_ISSUE_FOUND: HOLE,
    Condition.TIMEOUT_EXCEEDED: SLOW,
    Condition.UNKNOWN_ERROR_TYPE: ODD,
}


@pytest.mark.parametrize("condition", AT_ONCE)
def test_what_a_person_has_answered_to_is_fixed_before_they_are_asked_again(
    condition: Condition,
) -> None:
    policy = _under((condition, "human_review"))
    found = AT_ONCE[condition]
    told = replace(_failed(found, attempts=2), answers=(answer(1),))
    assert (decide(policy, told).action, decide(policy, told).findings) == (Action.FIX, (found,))
    spent = replace(_failed(found, attempts=4), answers=(answer(1),))
    assert decide(policy, spent).action is Action.ASK


def test_something_new_of_the_same_kind_is_asked_about_at_once() -> None:
    another = finding("a password in the code", category=SECURITY_ISSUE)
    told = history(attempt(1, verdict(HOLE)), attempt(2, verdict(another)), answers=(answer(1),))
    assert decide(_under(("security_issue_found", "human_review")), told).action is Action.ASK


def test_an_answer_pays_for_no_stronger_fixer_of_before() -> None:
    told = replace(
        _failed(BUG, attempts=5),
        escalations=(escalation("senior_agent", 3, above="tool"), escalation("human_review", 4)),
        answers=(answer(4),),
    )
    assert Budget.left(POLICY, told).attempts == POLICY.max_attempts - 1


# -- senior_agent -------------------------------------------------------------------------------

SENIOR = _under(("max_attempts_reached", "senior_agent"))


@pytest.mark.parametrize(
    ("tried", "above"),
    [((), None), (("tool",), "tool"), (("model", "tool"), "model"), (("tool", "human"), "tool")],
    ids=str,
)
def test_the_strongest_that_tried_counts_and_a_person_is_no_fixer(
    tried: tuple[str, ...], above: str | None
) -> None:
    made = [attempt(n, verdict(BUG), fix=fix(by=by)) for n, by in enumerate(tried, 2)]
    told = history(attempt(1, verdict(BUG)), *made)
    decision = decide(replace(SENIOR, max_attempts=len(made) + 1), told)
    assert decision.escalation is not None
    assert (decision.action, decision.escalation.above) == (Action.FIX, above)


def test_one_whose_fix_was_never_run_has_tried_too() -> None:
    told = replace(
        _failed(BUG, attempts=2), rejections=(rejection(Reason.REPEATED, 2, by="model"),)
    )
    decision = decide(SENIOR, told)
    assert decision.escalation is not None
    assert decision.escalation.above == "model"


@pytest.mark.parametrize("rungs", [(), ("agent",), ("tool", "agent"), ("agent", "human")], ids=str)
def test_with_nobody_stronger_it_ends_escalated(rungs: tuple[str, ...]) -> None:
    told = history(*(attempt(n, verdict(BUG), fix=fix(by="agent")) for n in (1, 2, 3)))
    decision = decide(replace(SENIOR, rungs=rungs), told)
    assert (decision.action, decision.status) == (Action.STOP, RunState.ESCALATED)
    assert decision.escalation is not None


def test_with_nobody_stronger_a_ladder_that_ends_at_a_person_asks_them() -> None:
    told = history(*(attempt(n, verdict(BUG), fix=fix(by="agent")) for n in (1, 2, 3)))
    decision = decide(replace(SENIOR, ask_human=True), told)
    assert (decision.action, decision.status) == (Action.ASK, None)
    assert decision.escalation is not None


def test_with_nobody_stronger_and_something_left_to_try_the_loop_goes_on() -> None:
    told = history(attempt(1, verdict(SLOW)), attempt(2, verdict(SLOW), fix=fix(by="agent")))
    decision = decide(_under(("timeout_exceeded", "senior_agent")), told)
    assert (decision.action, decision.why, decision.escalation) == (Action.FIX, Why.FIXABLE, None)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (_failed(finding("slow", Fault.ENVIRONMENT, category=TIMEOUT)), Why.NOT_THE_CANDIDATE),
        (history(attempt(1, verdict(SLOW, seconds=61.0))), Why.TIME_SPENT),
    ],
    ids=["not the candidate", "no time left"],
)
def test_a_stronger_fixer_is_asked_within_the_time_and_for_what_a_fixer_can_mend(
    told: History, why: Why
) -> None:
    decision = decide(_under(("timeout_exceeded", "senior_agent")), told)
    assert (decision.action, decision.why) == (Action.STOP, why)
    assert decision.status is RunState.ESCALATED


def test_what_no_fixer_at_all_took_on_is_not_begun_again_when_nobody_stronger_does() -> None:
    none = _no_fixer(UNCOVERED)
    told = replace(
        none,
        rejections=(*none.rejections, rejection(Reason.NOBODY_STRONGER, 2)),
        escalations=(escalation("senior_agent", 2, 1, above="tool"),),
    )
    decision = decide(_under(("coverage_threshold_unmet", "senior_agent")), told)
    assert (decision.status, decision.why) == (RunState.ESCALATED, Why.NO_FIXER)


def test_an_outage_is_waited_out_before_anybody_stronger_could_help() -> None:
    outage = finding("slow", Fault.ENVIRONMENT, transient=True, category=TIMEOUT)
    decision = decide(_under(("timeout_exceeded", "senior_agent")), _failed(outage))
    assert (decision.action, decision.escalation) == (Action.RECHECK, None)


# -- through the cycle --------------------------------------------------------------------------


def _three(sandbox: MemorySandbox, **edits: list[Edit]) -> list[MemoryFixer | Skip]:
    """A ladder of three, each of which takes everything on."""
    return [
        MemoryFixer(sandbox, name, edits.get(name, [nothing]), repeatable=name != "tool")
        for name in ("tool", "model", "agent")
    ]


def _tries(sandbox: MemorySandbox, name: str, *texts: str) -> MemoryFixer:
    return MemoryFixer(sandbox, name, [write(a=text) for text in texts])


def _makers(told: Told) -> list[list[str]]:
    """Who had a part in each attempt after the first."""
    return [[p.fixer for p in a.fix.parts] for a in told.history.attempts if a.fix]


def test_senior_agent_climbs_above_the_strongest_that_tried_and_gets_one_more_attempt(
    sandbox: MemorySandbox,
) -> None:
    ladder = [
        _tries(sandbox, "tool", "try 1", "try 2", "try 3"),
        _tries(sandbox, "model", "try 4"),
        _tries(sandbox, "agent", "good"),
    ]
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], ladder, SENIOR)
    assert told.decision.action is Action.ACCEPT
    assert [e.above for e in told.history.escalations] == ["tool", "model"]
    assert _makers(told) == [["tool"], ["tool"], ["model"], ["agent"]]
    last = told.history.latest.fix
    assert last is not None
    assert [skip.fixer for skip in last.skipped] == ["tool", "model"]
    assert len(told.history.attempts) == SENIOR.max_attempts + 2


def test_when_the_strongest_has_failed_too_it_ends_escalated(sandbox: MemorySandbox) -> None:
    ladder = [_tries(sandbox, "tool", "1", "2"), _tries(sandbox, "agent", "3", "4")]
    escalator = MemoryEscalator()
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], ladder, SENIOR, escalator=escalator)
    assert told.decision.status is RunState.ESCALATED
    assert _makers(told) == [["tool"], ["tool"], ["agent"]]
    assert [(e.above, e.attempts) for e, _ in escalator.told] == [("tool", 3), (None, 4)]


def _breaks(files: Files) -> str:
    return "ran out of credit"


@pytest.mark.parametrize("edit", [nothing, _breaks], ids=["nothing usable", "an outage"])
def test_what_a_stronger_fixer_tries_again_is_not_given_to_weaker_ones(
    sandbox: MemorySandbox, edit: Edit
) -> None:
    tool = _tries(sandbox, "tool", "1", "2", "3")
    agent = MemoryFixer(sandbox, "agent", [edit, write(a="good")])
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [tool, agent], SENIOR)
    assert (len(tool.tasks), len(agent.tasks)) == (2, 2)
    assert told.decision.action is Action.ACCEPT
    assert len(told.history.escalations) == 1


def test_that_nobody_stronger_takes_it_on_does_not_keep_the_others_from_going_on(
    sandbox: MemorySandbox,
) -> None:
    def judge(files: Files) -> list[Finding]:
        return [] if files["a.py"] == "good" else [SLOW]

    tool = _tries(sandbox, "tool", "1", "good")
    ladder: list[MemoryFixer | Skip] = [tool, Skip(fixer="agent", reason="no command")]
    policy = _under(("timeout_exceeded", "senior_agent"))
    told = run(sandbox, [MemoryCheck(sandbox, "tests", judge)], ladder, policy)
    assert told.decision.action is Action.ACCEPT
    assert [r.reason for r in told.history.rejections] == [Reason.NOBODY_STRONGER]
    assert len(told.history.attempts) == 3


def test_an_attempt_for_stronger_fixers_of_whom_none_takes_it_on_is_nobodys(
    sandbox: MemorySandbox,
) -> None:
    tool = _tries(sandbox, "tool", "1", "2", "3", "4")
    agent = MemoryFixer(sandbox, "agent", [nothing], only=lambda found: False)
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    told = run(sandbox, [tests], [tool, agent], SENIOR)
    assert (told.decision.status, told.decision.why) == (
        RunState.ESCALATED,
        Why.ATTEMPTS_SPENT,
    )
    assert len(told.history.attempts) == SENIOR.max_attempts
    assert len(tool.tasks) == 2


def test_a_regression_given_to_a_stronger_fixer_is_mended_from_what_was_not_broken(
    sandbox: MemorySandbox,
) -> None:
    def cases(files: Files) -> dict[str, Outcome]:
        good = {"t1": files["a.py"] == "good", "t2": files["b.py"] == "bad"}
        return {case: Outcome.PASSED if ok else Outcome.FAILED for case, ok in good.items()}

    def judge(files: Files) -> list[Finding]:
        return [finding(c, symbol=c) for c, o in cases(files).items() if o is Outcome.FAILED]

    model = MemoryFixer(sandbox, "model", [write(a="good", b="broken")])
    agent = _tries(sandbox, "agent", "good")
    tests = MemoryCheck(sandbox, "tests", judge, cases=cases)
    told = run(sandbox, [tests], [model, agent], _under(("regression_detected", "senior_agent")))
    assert agent.saw == [{"a.py": "bad", "b.py": "bad", "test_a.py": "strict"}]
    assert told.decision.action is Action.ACCEPT


def test_abort_with_report_ends_it_at_once_after_telling(sandbox: MemorySandbox) -> None:
    escalator = MemoryEscalator()
    ladder = _three(sandbox, tool=[write(a="good")])
    check = MemoryCheck(sandbox, "tests", lambda files: [ODD])
    policy = _under(("unknown_error_type", "abort_with_report"))
    told = run(sandbox, [check], ladder, policy, escalator=escalator)
    assert (told.decision.status, told.decision.why) == (RunState.ABORTED, Why.TRIGGERED)
    assert len(told.history.attempts) == 1
    ((escalated, seen),) = escalator.told
    assert escalated == told.decision.escalation
    assert seen == told.history
    assert seen.escalations == (escalated,)
    assert told.of_kind("escalated") == [
        {"condition": "unknown_error_type", "action": "abort_with_report"}
    ]


def _gated(sandbox: MemorySandbox, *found: Finding) -> MemoryGate:
    return MemoryGate(sandbox, lambda files: [] if "test_new.py" in files else found)


def test_flag_and_continue_fixes_what_it_can_and_says_what_it_flagged(
    sandbox: MemorySandbox,
) -> None:
    def judge(files: Files) -> list[Finding]:
        return [] if files["a.py"] == "good" else [SLOW, ODD]

    policy = _under(
        ("timeout_exceeded", "flag_and_continue"), ("unknown_error_type", "flag_and_continue")
    )
    escalator = MemoryEscalator()
    told = run(
        sandbox,
        [MemoryCheck(sandbox, "tests", judge)],
        [_tries(sandbox, "tool", "good")],
        policy,
        escalator=escalator,
    )
    assert (told.decision.action, told.decision.why) == (Action.ACCEPT, Why.PASSED)
    assert told.decision.flags == (Condition.TIMEOUT_EXCEEDED, Condition.UNKNOWN_ERROR_TYPE)
    assert (escalator.told, told.history.escalations) == ([], ())


@pytest.mark.parametrize(
    ("found", "flagged", "accepted"),
    [
        ([UNCOVERED], ["coverage_threshold_unmet"], True),
        ([UNTESTED], ["coverage_threshold_unmet"], True),
        ([HOLE], ["security_issue_found"], True),
        ([HOLE, UNCOVERED], ["coverage_threshold_unmet", "security_issue_found"], True),
        ([HOLE, UNCOVERED], ["coverage_threshold_unmet"], False),
        ([UNCOVERED], [], False),
        ([BUG], ["coverage_threshold_unmet", "max_attempts_reached"], False),
    ],
    ids=["coverage", "tests", "security", "both", "one of two", "not flagged", "a bug"],
)
def test_only_flagged_findings_of_gates_are_accepted_when_nothing_more_can_be_done(
    sandbox: MemorySandbox, found: list[Finding], flagged: list[str], accepted: bool
) -> None:
    tool = _tries(sandbox, "tool", "1", "2", "3")
    policy = _under(*((condition, "flag_and_continue") for condition in flagged))
    tests = MemoryCheck(sandbox, "tests", lambda files: [])
    told = run(sandbox, [tests], [tool], policy, gates=(_gated(sandbox, *found),))
    assert len(tool.tasks) == 2
    assert (told.decision.action is Action.ACCEPT) is accepted
    assert told.decision.findings == tuple(found)
    if accepted:
        assert (told.decision.why, told.decision.status) == (Why.FLAGGED, RunState.PASSED)
        assert sorted(told.decision.flags) == flagged
        assert told.state.candidate == sandbox.first


def test_a_flagged_security_issue_stays_flagged_after_it_was_mended(
    sandbox: MemorySandbox,
) -> None:
    gate = MemoryGate(sandbox, lambda files: [] if files["a.py"] == "safe" else [HOLE])
    policy = _under(("security_issue_found", "flag_and_continue"))
    tests = MemoryCheck(sandbox, "tests", lambda files: [])
    told = run(sandbox, [tests], [_tries(sandbox, "tool", "safe")], policy, gates=(gate,))
    assert told.decision.why is Why.PASSED
    assert told.decision.flags == (Condition.SECURITY_ISSUE_FOUND,)


def test_a_flagged_regression_is_gone_on_from_though_the_policy_aborts_on_others(
    sandbox: MemorySandbox,
) -> None:
    policy = _under(("regression_detected", "flag_and_continue"))
    assert policy.abort_on_regression
    worse = replace(
        BROKE, attempts=(*BROKE.attempts, attempt(3, verdict(BUG, cases={"good": Outcome.FAILED})))
    )
    decision = decide(policy, worse)
    assert (decision.status, decision.why) == (RunState.FAILED, Why.ATTEMPTS_SPENT)
    assert decision.flags == (Condition.REGRESSION_DETECTED,)
    assert decision.candidate == "c1"


# -- human_review and telling, durably ----------------------------------------------------------


def test_human_review_waits_and_an_answer_continues_with_it_and_a_fresh_budget(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    agent = MemoryFixer(sandbox, "agent", [write(a="1"), write(a="2"), write(a="good")])
    policy = replace(_under(("max_attempts_reached", "human_review")), max_attempts=3)
    escalator = MemoryEscalator()
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    flow = build(sandbox, [tests], [agent], policy, escalator=escalator)
    durable = Durable(journal, sandbox, flow)
    assert durable.drive_to_question()["why"] == Why.ATTEMPTS_SPENT
    assert journal.find(durable.run_id).state is RunState.WAITING
    journal.answer(durable.run_id, "say good")
    state = durable.drive()
    told: History = state.history
    assert state.last_decision.action is Action.ACCEPT
    assert [said.text for said in agent.tasks[-1].history.answers] == ["say good"]
    assert [a.number for a in told.attempts] == [1, 2, 3, 4]
    assert len(escalator.told) == 1


def test_a_security_issue_is_reviewed_once_and_then_mended_with_what_was_said(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    gate = MemoryGate(sandbox, lambda files: [] if files["a.py"] == "safe" else [HOLE])
    agent = _tries(sandbox, "agent", "safe")
    tests = MemoryCheck(sandbox, "tests", lambda files: [])
    policy = _under(("security_issue_found", "human_review"))
    durable = Durable(journal, sandbox, build(sandbox, [tests], [agent], policy, gates=(gate,)))
    question = durable.drive_to_question()
    assert (question["why"], question["findings"]) == (Why.TRIGGERED, (HOLE,))
    assert agent.tasks == []
    journal.answer(durable.run_id, "use a parser")
    state = durable.drive()
    assert state.last_decision.action is Action.ACCEPT
    assert [said.text for said in agent.tasks[0].history.answers] == ["use a parser"]


def test_what_came_of_telling_is_kept_and_is_the_same_after_a_crash(
    journal: Journal, sandbox: MemorySandbox
) -> None:
    ladder = [_tries(sandbox, "tool", "1", "2"), _tries(sandbox, "agent", "3")]
    escalator = MemoryEscalator(crashes=1)
    tests = MemoryCheck(sandbox, "tests", says("a", "good"))
    flow = build(sandbox, [tests], ladder, SENIOR, escalator=escalator)
    durable = Durable(journal, sandbox, flow)
    with pytest.raises(Killed):
        durable.drive()
    state = durable.drive()
    told: History = state.history
    # Told twice of the first one, which is better than never; and it counts once.
    assert [e.attempts for e, _ in escalator.told] == [3, 3, 4]
    assert escalator.told[0] == escalator.told[1]
    assert [e.attempts for e in told.escalations] == [3, 4]
    assert state.notices == tuple(
        Notice(report=f"max_attempts_reached-{n}", channel="cli", delivered=True, detail="")
        for n in (3, 4)
    )
    assert len(told.attempts) == 4
    assert Budget.left(SENIOR, told).attempts == 1
    assert state.last_decision.status is RunState.ESCALATED


def test_without_an_escalator_the_response_is_the_same(sandbox: MemorySandbox) -> None:
    tests = MemoryCheck(sandbox, "tests", lambda files: [SLOW])
    told = run(sandbox, [tests], [], _under(("timeout_exceeded", "abort_with_report")))
    assert told.decision.status is RunState.ABORTED
    assert told.state.notices == ()


# -- a person accepts ---------------------------------------------------------------------------


def test_a_person_may_accept_what_only_gates_have_against_a_candidate() -> None:
    unsafe = replace(finding(), category=SECURITY_ISSUE)
    told = history(
        attempt(1, verdict(unsafe, check="security")),
        attempt(2, verdict(unsafe, check="security")),
        answers=(answer(1, text=" Accept "),),
    )
    decision = decide(Policy(triggers=(ASK_ABOUT_SECURITY,)), told)
    assert (decision.action, decision.why) == (Action.ACCEPT, Why.ALLOWED)
    assert decision.findings == (unsafe,)


@pytest.mark.parametrize(
    ("blocking", "text", "attempts"),
    [
        (finding(), "accept", 1),
        (replace(finding(), category=SECURITY_ISSUE), "accept it please", 1),
        (replace(finding(), category=SECURITY_ISSUE), "accept", 0),
    ],
    ids=["a test fails", "advice", "an answer from before"],
)
def test_nothing_else_is_accepted_by_an_answer(blocking: Finding, text: str, attempts: int) -> None:
    told = history(
        attempt(1, verdict(blocking)),
        attempt(2, verdict(blocking)),
        answers=(answer(attempts, text=text),),
    )
    assert decide(Policy(), told).action is not Action.ACCEPT


ASK_ABOUT_SECURITY = Trigger(condition=Condition.SECURITY_ISSUE_FOUND, action=Response.HUMAN_REVIEW)


# -- what held elsewhere ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fixers", "action"),
    [(("memory",), Action.FIX), (("agent",), Action.STOP), (("memory", "agent"), Action.STOP)],
)
def test_a_regression_by_what_held_elsewhere_is_rolled_back_and_the_next_rung_asked(
    fixers: tuple[str, ...], action: Action
) -> None:
    parts = tuple(
        FixPart(fixer=name, findings=(), description="", files=("a.py",)) for name in fixers
    )
    broken = verdict(finding("other"), cases={"good": Outcome.FAILED, "bad": Outcome.PASSED})
    told = history(
        attempt(1, verdict(finding(), cases={"good": Outcome.PASSED, "bad": Outcome.FAILED})),
        attempt(2, broken, fix=Fix(base="c1", candidate="c2", parts=parts)),
    )
    abort = Trigger(condition=Condition.REGRESSION_DETECTED, action=Response.ABORT_WITH_REPORT)
    for policy in (Policy(), Policy(triggers=(abort,))):
        decision = decide(policy, told)
        assert (decision.action, decision.candidate) == (action, "c1")
