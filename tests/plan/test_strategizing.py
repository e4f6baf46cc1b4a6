"""The strategize phase: a strategy made by a machine, its approval, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtrue.flow import RunState
from runtrue.loop import EXPIRED
from runtrue.plan import standing_of
from tests.plan.driving import Driven, driven

__all__ = ["driven"]

Make = Callable[..., Driven]

PLAN = """
instruction: say yes
validations:
  - {name: says, command: "grep -q yes a.txt"}
"""
#: An agent that writes a strategy when it is asked for one, and does the step otherwise.
AGENT = """
import pathlib, re, sys
prompt = sys.stdin.read()
asked = re.search(r"^    (/\\S+strategy.yaml)$", prompt, re.M)
if asked and "GIVE UP" in prompt:
    sys.exit("no idea")
if asked:
    step = "{id: say, description: say yes, actor: command, command: 'echo yes > a.txt'}"
    if "nicely" in prompt:
        step = "{id: nicely, description: say yes nicely, actor: agent}"
    pathlib.Path(asked[1]).write_text(f"steps: [{step}]\\n")
else:
    pathlib.Path("a.txt").write_text("yes, please\\n")
"""


@pytest.fixture
def one(driven: Make) -> Driven:
    made: Driven = driven({"a.txt": "no\n"})
    (made.home.path.parent / "agent.py").write_text(AGENT)
    return made


def use(one: Driven, profile: str, plan: str = PLAN) -> None:
    agent = f"python3 {one.home.path.parent / 'agent.py'}"
    one.use(plan, profile=profile, agent=agent)


def test_a_strategy_by_an_agent_is_taken_where_the_profile_says_so(one: Driven) -> None:
    use(one, "supervised")
    assert one.asked == {"begin": True}
    assert one.told("strategize_finished") == [{"by": "python3", "failure": None}]


def test_a_strategy_is_approved_where_the_profile_says_so(one: Driven) -> None:
    use(one, "review")
    assert one.asked["approve"] == "strategy"
    assert one.asked["strategy"]["steps"][0]["id"] == "say"
    one.say("yes")
    assert one.asked == {"begin": True}


def test_what_is_said_instead_of_yes_leads_to_another_strategy(one: Driven) -> None:
    use(one, "review")
    one.say({"text": "nicely"})
    assert one.asked["strategy"]["steps"][0]["id"] == "nicely"
    one.say({"text": "yes"})
    one.execute()
    assert one.asked["offer"] is True
    assert (one.sandbox / "a.txt").read_text() == "yes, please\n"


def test_a_command_of_a_strategy_that_a_machine_made_needs_approval(one: Driven) -> None:
    use(one, "supervised")
    one.execute()
    assert "needs approval" in one.asked["findings"][0]["message"]
    one.say({"text": "yes"})
    assert one.asked["offer"] is True


def test_what_is_approved_is_that_very_command(one: Driven) -> None:
    """An agent that is asked again must not get another one through under the same id."""
    use(one, "supervised")
    one.execute()
    agent = one.home.path.parent / "agent.py"
    agent.write_text(AGENT.replace("echo yes", "echo EVIL"))
    one.say({"text": "do it in another way"})
    assert one.asked["approve"] == "revision"
    one.say({"text": "yes"})
    assert "EVIL" in one.asked["findings"][0]["message"]
    assert (one.sandbox / "a.txt").read_text() == "no\n"


def test_a_machine_cannot_allow_its_own_commands(one: Driven) -> None:
    free = "bounds: {{commands: ['*', 'echo * > *']}}\\nsteps: [{step}]"
    agent = one.home.path.parent / "agent.py"
    agent.write_text(AGENT.replace("steps: [{step}]", free))
    use(one, "supervised")
    one.execute()
    assert "needs approval" in one.asked["findings"][0]["message"]


def test_a_trusted_one_runs_its_commands(one: Driven) -> None:
    use(one, "trusted")
    assert one.asked["offer"] is True


def test_guidance_is_asked_for_where_no_strategy_comes_of_it(one: Driven) -> None:
    use(one, "supervised", PLAN.replace("say yes", "GIVE UP"))
    assert one.asked["guide"] == "strategy"
    assert "no idea" in one.asked["why"]


@pytest.mark.parametrize(("profile", "instruction"), [("review", "say yes"), ("auto", "GIVE UP")])
def test_nobody_answers_and_the_plan_has_failed(
    profile: str, instruction: str, one: Driven
) -> None:
    use(one, profile, PLAN.replace("say yes", instruction))
    ended = one.say(EXPIRED)
    assert ended.state is RunState.FAILED
    assert ended.result is not None
    assert (ended.result["state"], ended.result["why"]) == ("failed", "unanswered")
    assert ended.result["phase"] == "strategize"


def test_what_is_said_of_a_strategy_opens_a_fresh_budget(one: Driven) -> None:
    def seconds() -> float:
        standing = standing_of(one.journal, one.home, one.journal.find(one.run_id))
        return standing.report.plan.budget.seconds

    use(one, "review")
    assert seconds() > 0
    one.say({"text": "yes"})
    assert seconds() == 0
