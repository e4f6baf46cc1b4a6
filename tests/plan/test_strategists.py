"""Strategists make strategies, and what a machine makes is held to the rules for people."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.config import AgentConfig
from runtrue.loop import Bounds, Limits, Workplace
from runtrue.plan.plan import PlanRequest
from runtrue.plan.seams import Strategized, StrategyTask
from runtrue.plan.strategists import BoundsStrategist, strategist_of
from runtrue.plan.strategy import Actor, Step, Strategy
from runtrue.redaction import Redactor
from tests.fixers.support import make_finding, make_workplace
from tests.models.openai_server import Call, OpenAIServer, Refuse, Say, openai_server
from tests.plan.requests import make_request, make_step

__all__ = ["openai_server"]

HIDE = Redactor()
MODEL = "openai:gpt-4o"
TASK = StrategyTask(instruction="Handle empty input", validations=("tests: python -m pytest",))
HANDLER = make_step(
    id="handler", description="Mend the handler", bounds=Bounds(paths=("handler.py",))
)
DOCS = make_step(id="docs", description="Write the manual")
PRESENT = Strategy(steps=(HANDLER, DOCS))
REVISION = replace(
    TASK,
    strategy=PRESENT,
    subtree=HANDLER,
    bounds=HANDLER.bounds,
    findings=(make_finding("assert None == []"),),
    needed=("model.py",),
)


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    workplace = make_workplace(tmp_path)
    (workplace.root / "handler.py").write_text("from model import load\n")
    (workplace.root / "model.py").write_text("the_model = 1\n")
    return workplace


def strategize(
    request: PlanRequest, workplace: Workplace, task: StrategyTask = TASK
) -> Strategized:
    return asyncio.run(strategist_of(request, HIDE).strategize(task, workplace))


def revise(
    request: PlanRequest, workplace: Workplace, task: StrategyTask = REVISION
) -> Strategized:
    return asyncio.run(strategist_of(request, HIDE).revise(task, workplace))


class TestModel:
    @pytest.fixture(autouse=True)
    def _reachable(self, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in openai_server.environment.items():
            monkeypatch.setenv(name, value)

    request_ = make_request(strategist="model", model=MODEL)

    def test_its_answer_becomes_a_strategy(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        openai_server.script(
            Call(
                {
                    "description": "Mend, then  format",
                    "bounds": {"paths": ["src/**"], "deletes": False},
                    "steps": [
                        {
                            "id": "mend",
                            "description": "Return [] for empty input",
                            "actor": "model",
                            "command": "",
                            "bounds": {"paths": ["src/a.py"], "commands": []},
                            "steps": [],
                        },
                        {
                            "id": "tidy",
                            "description": "Tidy up",
                            "steps": [
                                {
                                    "id": "format",
                                    "description": "Format",
                                    "actor": "command",
                                    "command": "ruff format src",
                                    "network": True,
                                    "steps": [],
                                }
                            ],
                        },
                    ],
                }
            )
        )
        made = strategize(self.request_, workplace)
        mend = Step(
            id="mend",
            description="Return [] for empty input",
            actor=Actor.MODEL,
            bounds=Bounds(paths=("src/a.py",), commands=()),
        )
        tidy = Step(
            id="format",
            description="Format",
            actor=Actor.COMMAND,
            command="ruff format src",
            network=True,
        )
        assert made == Strategized(
            description="Mend, then format",
            strategy=Strategy(
                bounds=Bounds(paths=("src/**",), deletes=False),
                steps=(mend, Step(id="tidy", description="Tidy up", steps=(tidy,))),
            ),
            usage=made.usage,
        )

    def test_it_is_asked_with_what_it_needs_to_know(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        openai_server.script(_steps(_model_step()))
        task = replace(TASK, guidance=("Leave the cache alone.",))
        made = strategize(self.request_, workplace, task)
        assert made.strategy == Strategy(
            steps=(Step(id="mend", description="Return []", actor=Actor.MODEL),)
        )
        assert made.description == "Mend it"
        assert made.usage is not None
        assert made.usage["requests"] == 1
        request = openai_server.requests[0]
        for words in (
            "> Handle empty input",
            "- tests: python -m pytest",
            "Leave the cache alone.",
            "handler.py\nmodel.py",
            "the_model = 1",
            "`command`: runs the `command` of the step",
        ):
            assert words in request.prompt
        assert "What is to be revised" not in request.prompt
        assert "`agent`:" not in request.prompt, "there is none"
        form = request.body["tools"][0]["function"]["parameters"]["properties"]
        assert form["steps"]["items"]["properties"]["actor"]["enum"] == [
            *("command", "search", "model")
        ]
        assert "bounds" in form

    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            ({"steps": []}, "a list of at least one step"),
            ({"steps": [{"id": "a", "description": "x", "actor": "command"}]}, "needs a `command`"),
            ({"steps": [{"id": "a", "description": "x"}]}, "no agent is configured"),
            ({"steps": [{"id": "a", "description": "x", "actor": "model"}] * 2}, "another step"),
            (
                {
                    "steps": [
                        {
                            "id": "a",
                            "description": "x",
                            "actor": "model",
                            "bounds": {"paths": ["../other"]},
                        }
                    ]
                },
                "has '..' in it",
            ),
        ],
    )
    def test_a_strategy_that_breaks_a_rule_is_asked_for_again_with_the_reason(
        self, openai_server: OpenAIServer, workplace: Workplace, bad: dict[str, Any], reason: str
    ) -> None:
        openai_server.script(Call({"description": "", **bad}), _steps(_model_step()))
        made = strategize(self.request_, workplace)
        assert made.failure is None
        assert made.usage is not None
        assert made.usage["requests"] == 2
        first, second = (request.prompt for request in openai_server.requests)
        assert reason in second.removeprefix(first)

    def test_it_is_asked_as_often_as_the_limits_say_and_then_it_has_failed(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        openai_server.script(*[_steps({"id": "a", "description": "x"})] * 3)
        request = replace(self.request_, limits=Limits(format_retries=2))
        made = strategize(request, workplace)
        assert made.strategy is None
        assert made.failure is not None
        assert made.failure.startswith("openai:gpt-4o gave no usable strategy: a: its actor")
        assert len(openai_server.requests) == 3
        assert made.usage is not None
        assert made.usage["requests"] == 3

    def test_what_is_no_answer_at_all_counts_as_one_that_cannot_be_used(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        """The door to models asks once more by itself."""
        openai_server.script(Say("I would"), Say("rather not."), _steps(_model_step()))
        made = strategize(self.request_, workplace)
        assert made.strategy is not None
        assert made.usage is not None
        assert made.usage["requests"] == 3

    @pytest.mark.parametrize("status", [401, 429, 500])
    def test_a_model_that_gives_no_answer_has_failed_at_once(
        self, openai_server: OpenAIServer, workplace: Workplace, status: int
    ) -> None:
        openai_server.script(Refuse(status))
        made = strategize(self.request_, workplace)
        assert made.failure is not None
        assert "openai:gpt-4o" in made.failure
        assert len(openai_server.requests) == 1

    def test_a_revision_is_asked_for_the_subtree_alone(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        openai_server.script(
            _steps(
                {
                    "description": "Mend both",
                    "actor": "model",
                    "id": "handler",
                    "bounds": {"paths": ["handler.py", "model.py"]},
                }
            )
        )
        task = replace(REVISION, guidance=("Mind the model.",))
        revised = revise(self.request_, workplace, task)
        assert revised.strategy is None
        assert revised.steps == (
            Step(
                id="handler",
                description="Mend both",
                actor=Actor.MODEL,
                bounds=Bounds(paths=("handler.py", "model.py")),
            ),
        )
        request = openai_server.requests[0]
        for words in (
            "What is to be revised",
            '"description": "Write the manual"',
            "The step to be replaced is `handler`.",
            "assert None == []",
            "had to be changed for it: `model.py`",
            "Mind the model.",
            "the_model = 1",
        ):
            assert words in request.prompt
        form = request.body["tools"][0]["function"]["parameters"]["properties"]
        assert "bounds" not in form

    def test_a_revision_has_no_id_of_the_rest_and_is_not_what_there_was(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        handler = replace(HANDLER, actor=Actor.MODEL)
        task = replace(REVISION, strategy=Strategy(steps=(handler, DOCS)), subtree=handler)
        same = {
            "id": "handler",
            "description": "Mend the handler",
            "actor": "model",
            "bounds": {"paths": ["handler.py"]},
        }
        openai_server.script(_steps({**same, "id": "docs"}), _steps(same), _steps(_model_step()))
        request = replace(self.request_, limits=Limits(format_retries=2))
        assert revise(request, workplace, task).failure is None
        _, second, third = (request.prompt for request in openai_server.requests)
        assert "'docs' is the id of another step, in the strategy" in second
        assert "the steps are the same as before" in third

    def test_without_a_step_there_is_nothing_to_revise(self, workplace: Workplace) -> None:
        assert revise(self.request_, workplace, TASK).failure == "there is no step to revise"

    def test_values_that_are_to_be_hidden_are(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        (workplace.root / "model.py").write_text("key = 'swordfish'\n")
        openai_server.script(_steps(_model_step()))
        strategist = strategist_of(self.request_, Redactor({"PHRASE": "swordfish"}))
        asyncio.run(strategist.strategize(TASK, workplace))
        assert "swordfish" not in openai_server.requests[0].prompt

    def test_paths_are_as_seen_from_the_project_in_a_larger_repository(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        (workplace.root / "part").mkdir()
        (workplace.root / "part/own.py").write_text("import model\n")
        openai_server.script(_steps(_model_step()))
        task = replace(TASK, instruction="Mend own.py")
        strategize(self.request_, replace(workplace, directory=workplace.root / "part"), task)
        prompt = openai_server.requests[0].prompt
        assert "### own.py\n" in prompt
        assert "model.py" not in prompt


def _model_step() -> dict[str, Any]:
    return {"id": "mend", "description": "Return []", "actor": "model"}


def _steps(*steps: dict[str, Any]) -> Call:
    return Call({"description": "Mend it", "steps": list(steps)})


#: A stand-in for an agent: keeps each prompt, and writes the next of its answers where it is told.
AGENT = """
    import json, pathlib, re, sys
    here = pathlib.Path(__file__).parent
    prompt = sys.stdin.read()
    number = len(list(here.glob("prompt-*")))
    (here / f"prompt-{number}").write_text(prompt)
    answer = json.loads((here / "answers.json").read_text())[number]
    if answer is not None:
        path = re.search(r"^    (/.*strategy\\.yaml)$", prompt, re.MULTILINE)[1]
        pathlib.Path(path).write_text(answer)
    print("I thought about it")
"""
GOOD = """
    description: Mend it
    steps:
      - description: Return []
        actor: command
        command: ./mend
"""


class TestAgent:
    @pytest.fixture
    def here(self, tmp_path: Path) -> Path:
        here = tmp_path / "the agent"
        here.mkdir()
        (here / "agent.py").write_text(textwrap.dedent(AGENT))
        return here

    def request_(self, here: Path, *answers: str | None) -> PlanRequest:
        texts = [answer and textwrap.dedent(answer) for answer in answers]
        (here / "answers.json").write_text(json.dumps(texts))
        command = shlex.join([sys.executable, "-S", str(here / "agent.py")])
        agent = AgentConfig(command=command, timeout=60)
        return make_request(strategist="agent", agent=agent)

    def test_what_it_writes_into_the_file_becomes_a_strategy(
        self, here: Path, workplace: Workplace
    ) -> None:
        made = strategize(self.request_(here, GOOD), workplace)
        assert made == Strategized(
            description="Mend it",
            strategy=Strategy(
                steps=(
                    Step(id="s1", description="Return []", actor=Actor.COMMAND, command="./mend"),
                )
            ),
        )
        prompt = (here / "prompt-0").read_text()
        assert "It holds `steps`, and `bounds` for all of them" in prompt
        assert "> Handle empty input" in prompt

    def test_json_will_do(self, here: Path, workplace: Workplace) -> None:
        text = json.dumps({"steps": [{"id": "a", "description": "x", "actor": "agent"}]})
        made = strategize(self.request_(here, text), workplace)
        assert made.strategy is not None
        assert made.strategy.steps[0].id == "a"

    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            (None, "strategy.yaml: there is no such file"),
            ("steps: [", "strategy.yaml:1:"),
            ("- a list", "a strategy is a mapping with `steps`"),
            ("steps:\n- descripton: x\n", "(did you mean 'description'?)"),
            ("steps:\n- description: x\n  actor: model\n", "RUNTRUE_MODEL"),
        ],
    )
    def test_what_cannot_be_used_is_asked_for_again_with_the_reason(
        self, here: Path, workplace: Workplace, bad: str | None, reason: str
    ) -> None:
        made = strategize(self.request_(here, bad, GOOD), workplace)
        assert made.failure is None
        assert reason in (here / "prompt-1").read_text()

    def test_a_file_that_was_there_before_is_not_its_answer(
        self, here: Path, workplace: Workplace
    ) -> None:
        (workplace.scratch / "strategy.yaml").write_text(textwrap.dedent(GOOD))
        made = strategize(self.request_(here, None, None), workplace)
        assert made.failure is not None
        assert "there is no such file" in made.failure

    def test_one_that_breaks_has_failed_at_once(self, workplace: Workplace) -> None:
        agent = AgentConfig(command="echo out of money >&2; exit 3", timeout=60)
        made = strategize(make_request(strategist="agent", agent=agent), workplace)
        assert made.failure == "echo: exited with code 3: out of money"

    def test_a_revision_gives_steps_in_place_of_one(self, here: Path, workplace: Workplace) -> None:
        two = """
            steps:
              - {description: First, actor: agent}
              - {description: Second, actor: agent}
        """
        bad = f"bounds: {{}}\n{textwrap.dedent(GOOD)}".replace("{}", "{deletes: false}")
        revised = revise(self.request_(here, bad, two), workplace)
        assert revised.failure is None
        assert [step.id for step in revised.steps] == ["handler.1", "handler.2"]
        assert "only `steps` are allowed" in (here / "prompt-1").read_text()


class TestNobody:
    request_ = make_request()

    def test_it_makes_no_strategy_and_says_what_to_do(self, workplace: Workplace) -> None:
        made = strategize(self.request_, workplace)
        assert made.strategy is None
        assert made.failure is not None
        assert "write its steps in a plan file, or name a model" in made.failure

    def test_it_allows_exactly_what_was_needed(self, workplace: Workplace) -> None:
        revised = revise(self.request_, workplace)
        assert revised == Strategized(
            description="handler may change model.py as well: it was needed",
            steps=(replace(HANDLER, bounds=Bounds(paths=("handler.py", "model.py"))),),
            least=True,
        )

    def test_it_allows_nothing_once_a_person_has_spoken(self, workplace: Workplace) -> None:
        revised = revise(self.request_, workplace, replace(REVISION, is_advised=True))
        assert revised.failure == "a person has allowed nothing"

    def test_a_file_is_allowed_whatever_it_is_called(self, workplace: Workplace) -> None:
        (step,) = revise(self.request_, workplace, replace(REVISION, needed=("te*",))).steps
        assert step.bounds.outside(["te*", "test_it.py"]) == ("test_it.py",)

    def test_bounds_that_come_from_around_are_widened_for_the_step_alone(
        self, workplace: Workplace
    ) -> None:
        task = replace(REVISION, subtree=DOCS, bounds=Bounds(paths=("docs/**",), deletes=False))
        (step,) = revise(self.request_, workplace, task).steps
        assert step.bounds == Bounds(paths=("docs/**", "model.py"))

    @pytest.mark.parametrize("subtree", [HANDLER, None])
    def test_where_nothing_is_known_it_fails(
        self, workplace: Workplace, subtree: Step | None
    ) -> None:
        revised = revise(self.request_, workplace, replace(REVISION, needed=(), subtree=subtree))
        assert revised.failure == "nothing is known that would have to be allowed"

    def test_what_is_allowed_already_does_not_help(self, workplace: Workplace) -> None:
        revised = revise(self.request_, workplace, replace(REVISION, needed=("handler.py",)))
        assert revised.steps == ()
        assert revised.failure is not None
        assert revised.failure.startswith("handler.py may be changed already")

    @given(
        st.lists(st.sampled_from(["a.py", "b/c.py", "b/d/e.py", "f.md"]), unique=True),
        st.lists(st.sampled_from(["a.py", "b/**", "b/*.py", "f.md", "g"]), unique=True),
    )
    def test_whatever_it_revises_allows_what_was_needed_and_no_other_file(
        self, needed: list[str], paths: list[str]
    ) -> None:
        bounds = Bounds(paths=tuple(paths))
        task = replace(
            REVISION,
            needed=tuple(needed),
            subtree=replace(HANDLER, bounds=bounds),
            bounds=bounds,
        )
        revised = asyncio.run(BoundsStrategist().revise(task, _NOWHERE))
        if bounds.outside(needed):
            (step,) = revised.steps
            others = ["a.py", "b/c.py", "b/d/e.py", "f.md", "g/h", "i"]
            assert step.id == HANDLER.id
            assert set(step.bounds.outside(others)) == set(bounds.outside(others)) - set(needed)
        else:
            assert revised.failure


_NOWHERE = Workplace(directory=Path(), root=Path(), scratch=Path(), environment={})


def test_each_is_shown_by_a_name() -> None:
    agent = AgentConfig(command="/usr/bin/coder --yes")
    requests = [
        make_request(strategist="model", model=MODEL),
        make_request(strategist="agent", agent=agent),
        make_request(),
    ]
    names = [strategist_of(request, HIDE).name for request in requests]
    assert names == [MODEL, "coder", "bounds"]
