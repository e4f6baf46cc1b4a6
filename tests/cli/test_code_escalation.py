"""Escalation of the code loop by configuration: every condition, every action, every report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.test_code import TAKE_THE_BUG
from tests.code.support import EMPTY, MENDED, PYTEST, RIGHT, TAX, TESTS, Agent, triggers, valid
from tests.workflow.nodes.scripted_server import ScriptedServer, response

ITEMS = (
    "original_code",
    "all_test_results",
    "failure_analyses",
    "fix_attempts",
    "debug_memory_summary",
    "stack_traces",
)


@dataclass(frozen=True)
class Trouble:
    """A run that comes into a condition: its project, what its agent does, and its settings."""

    files: Mapping[str, str] = field(default_factory=lambda: dict(TAX))
    steps: tuple[Mapping[str, str] | str, ...] = ("true",)
    policy: str = ""
    check: str = PYTEST
    asked: tuple[str, ...] = TAKE_THE_BUG


_NEW = ("code", "initials of a name", "--path", "names.py", "--json")
TROUBLES = {
    "max_attempts_reached": Trouble(policy="max_attempts = 1"),
    "regression_detected": Trouble(steps=("true", {"tax.py": "def with_tax(net): return 119\n"})),
    "security_issue_found": Trouble(
        steps=(
            {
                "tax.py": """
                    import subprocess


                    def with_tax(net):
                        subprocess.call("true " + str(net), shell=True)
                        return net * 1.19
                """
            },
        )
    ),
    "coverage_threshold_unmet": Trouble(
        files=EMPTY,
        steps=(
            RIGHT,
            {
                "tests/test_names.py": """
                    import names


                    def test_happy_path_edge_case_error_handling():
                        assert names
                """
            },
        ),
        policy="max_attempts = 1",
        asked=_NEW,
    ),
    "timeout_exceeded": Trouble(
        files={**TAX, "tests/test_slow.py": "import time\n\n\ndef test_slow(): time.sleep(600)\n"},
        # Pytest itself must have begun by then, or there would be nothing to time out.
        check=f"{PYTEST}timeout = 3\n",
    ),
    "unknown_error_type": Trouble(
        files={
            **TAX,
            "tests/test_tax.py": """
                from tax import with_tax


                def test_regression_of_the_rate():
                    if with_tax(100) != 119:
                        raise Exception("no")
            """,
        }
    ),
}


def run(
    trouble: Trouble,
    rules: str,
    machine: Machine,
    make_project: MakeProject,
    directory: Path,
    env: Mapping[str, str] | None = None,
) -> tuple[int, dict[str, Any], Agent, str]:
    agent = Agent(directory / "agent", *trouble.steps)
    config = f"{trouble.check}\n[policy]\n{trouble.policy}\n{rules}\n"
    project = make_project({**trouble.files, "runtrue.toml": config})
    done = machine.runtrue(*trouble.asked, "--agent", agent.command, cwd=project, env=env)
    valid(done.json["record"])
    return done.code, done.json, agent, done.err


@pytest.mark.parametrize("condition", TROUBLES)
def test_each_condition_aborts_with_a_report_of_exactly_what_is_listed(
    condition: str, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    listed = (ITEMS[list(TROUBLES).index(condition)], "stack_traces")
    rules = triggers((condition, "abort_with_report"), include=listed)
    code, report, _, _ = run(TROUBLES[condition], rules, machine, make_project, tmp_path)
    assert code == 1
    assert report["status"] == "aborted"
    (escalation,) = report["escalations"]
    assert (escalation["condition"], escalation["action"]) == (condition, "abort_with_report")
    state = report["record"]["loop_state"]
    assert (state["phase"], state["status"]) == ("aborted", "aborted")
    (notice,) = report["notices"]
    told = json.loads(Path(notice["report"]).with_suffix(".json").read_text())
    assert (told["condition"], told["action"]) == (condition, "abort_with_report")
    assert set(told) & set(ITEMS) == set(listed)
    text = Path(notice["report"]).read_text()
    for item in ITEMS:
        heading = f"\n## {item.replace('_', ' ').removesuffix(' summary').capitalize()}\n"
        assert (heading in text) is (item in listed), item
    assert told["why"].rstrip(". ")[-1] != ":"
    policy = report["record"]["escalation_policy"]["triggers"]
    assert policy == [
        {"condition": condition, "action": "abort_with_report", "include_in_report": list(listed)}
    ]


def test_tests_that_are_missing_are_named_in_the_reason(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(("coverage_threshold_unmet", "abort_with_report"))
    tests = TESTS["tests/test_names.py"].replace("edge_case_empty", "no")
    broken = {"tests/test_more.py": "def test_edge_case():\n    assert False\n"}
    steps = (RIGHT, {"tests/test_names.py": tests}, broken)
    trouble = Trouble(EMPTY, steps, "max_attempts = 2", asked=_NEW)
    _, report, _, _ = run(trouble, rules, machine, make_project, tmp_path)
    told = json.loads(Path(report["notices"][0]["report"]).with_suffix(".json").read_text())
    assert told["why"] == ("The tests of attempt 1 pass, and none is of these kinds: `edge_cases`.")


def test_a_person_who_answers_gives_guidance_and_a_fresh_budget(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(("max_attempts_reached", "human_review"))
    trouble = Trouble(steps=("true", "echo '# 1' >> tax.py", MENDED), policy="max_attempts = 2")
    code, report, agent, _ = run(trouble, rules, machine, make_project, tmp_path)
    assert code == 3
    assert report["budget"]["attempts"] == 0
    advice = "the rate of this country is 19 percent"
    done = machine.runtrue("runs", "resume", report["run_id"], "--answer", advice, "--json")
    assert done.code == 0, done.err
    assert done.json["run_id"] == report["run_id"]
    assert done.json["answers"] == [advice]
    assert [advice in prompt for prompt in agent.prompts] == [False, False, True]
    state = valid(done.json["record"])["loop_state"]
    assert (state["status"], state["attempt_number"]) == ("passed", 3)
    assert ["fix_applied" in attempt for attempt in state["attempts"]] == [True, True, False]
    # Two attempts of a budget of two were spent before the answer, and one of a fresh one since.
    assert done.json["budget"]["attempts"] == 1
    assert [e["after"] for e in done.json["escalations"]] == [2]


def test_a_senior_agent_is_the_next_stronger_fixer_and_only_that(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(
        ("unknown_error_type", "senior_agent"), ("max_attempts_reached", "senior_agent")
    )
    tool = f'{PYTEST}fix = "cp tax.py kept.py"\n'
    unknown = TROUBLES["unknown_error_type"]
    trouble = Trouble(files=unknown.files, check=tool, steps=("true", MENDED))
    code, report, agent, _ = run(trouble, rules, machine, make_project, tmp_path)
    assert code == 0, report
    # Nobody had tried: then the whole ladder may, from its first rung on.
    fixers = [[p["fixer"] for p in a["fix"]["parts"]] for a in report["attempts"] if a["fix"]]
    assert [e["action"] for e in report["escalations"]] == ["senior_agent"] * len(fixers)
    assert fixers[-1] == ["agent"]
    assert len(agent.prompts) == 2
    assert report["record"]["loop_state"]["status"] == "passed"


def test_when_nobody_is_stronger_it_is_for_a_person(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(("max_attempts_reached", "senior_agent"))
    trouble = Trouble(steps=("true", "echo '# 1' >> tax.py", "true"), policy="max_attempts = 2")
    code, report, agent, _ = run(trouble, rules, machine, make_project, tmp_path)
    assert (code, report["status"]) == (1, "escalated")
    assert report["record"]["loop_state"]["phase"] == "escalated"
    assert len(agent.prompts) == 2


@pytest.mark.parametrize("condition", ["coverage_threshold_unmet", "security_issue_found"])
def test_what_is_only_flagged_is_accepted_and_said(
    condition: str, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers((condition, "flag_and_continue"))
    trouble = TROUBLES[condition]
    code, report, _, _ = run(trouble, rules, machine, make_project, tmp_path)
    assert code == 0
    assert (report["status"], report["why"], report["flags"]) == ("passed", "flagged", [condition])
    assert report["findings"] != []
    assert report["escalations"] == []
    shown = machine.runtrue("runs", "show", report["run_id"]).out
    assert f"flagged: {condition.replace('_', ' ')}" in shown


def test_the_loop_goes_on_with_what_is_only_flagged(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(("unknown_error_type", "flag_and_continue"))
    trouble = replace(TROUBLES["unknown_error_type"], steps=("true", MENDED))
    code, report, _, _ = run(trouble, rules, machine, make_project, tmp_path)
    assert (code, report["why"], len(report["attempts"])) == (0, "passed", 2)
    assert (report["flags"], report["escalations"]) == (["unknown_error_type"], [])


SLACK = '[escalation.notification]\nchannel = "slack"\ntemplate = "$condition of $run_id: $why"\n'


@pytest.mark.parametrize(
    ("status", "delivered"), [(200, True), (500, False)], ids=["taken", "refused"]
)
def test_slack_is_told_and_a_webhook_that_fails_loses_nothing(
    status: int, delivered: bool, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(("max_attempts_reached", "human_review")) + SLACK
    trouble = TROUBLES["max_attempts_reached"]
    with ScriptedServer(response(status=f"{status} said")) as webhook:
        env = {"RUNTRUE_SLACK_WEBHOOK": f"{webhook.url}/services/T0/B0/s3cret"}
        code, report, _, err = run(trouble, rules, machine, make_project, tmp_path, env)
    assert code == 3
    (notice,) = report["notices"]
    assert (notice["channel"], notice["delivered"]) == ("slack", delivered)
    (sent,) = webhook.received
    assert json.loads(sent.body)["text"].startswith(
        f"max_attempts_reached of {report['run_id']}: After 1 attempt"
    )
    assert Path(notice["report"]).is_file()
    assert "s3cret" not in err + json.dumps(report) + Path(notice["report"]).read_text()
    assert report["record"]["escalation_policy"]["notification"]["channel"] == "slack"
    shown = machine.runtrue("runs", "show", report["run_id"]).out
    assert ("could not be notified by slack" in shown) is not delivered


@pytest.mark.parametrize("channel", ["issue_comment", "slack"])
def test_a_channel_that_is_not_set_up_says_so_and_the_report_is_there(
    channel: str, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(("max_attempts_reached", "abort_with_report"))
    rules += f'[escalation.notification]\nchannel = "{channel}"\n'
    trouble = TROUBLES["max_attempts_reached"]
    code, report, _, _ = run(trouble, rules, machine, make_project, tmp_path)
    assert code == 1
    (notice,) = report["notices"]
    assert (notice["channel"], notice["delivered"]) == (channel, False)
    assert notice["detail"]
    assert Path(notice["report"]).is_file()
