"""A strategy as data is read by rules that name what is wrong, and where."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.errors import PlanError
from runtrue.loop import Bounds
from runtrue.plan.strategy import Actor, Step, Strategy
from runtrue.plan.strategy_data import steps_from, strategy_data, strategy_from


def step(**keys: Any) -> dict[str, Any]:
    return {"steps": [{"description": "Do it", **keys}]}


class TestReading:
    def test_all_of_it(self) -> None:
        data = {
            "bounds": {"paths": ["src/**"], "commands": ["make *"]},
            "steps": [
                {"description": " Do it ", "actor": "command", "command": "make it"},
                {
                    "id": "rest",
                    "description": "Do the rest",
                    "actor": "model",
                    "steps": [
                        {"description": "One", "network": True, "bounds": {"deletes": False}},
                        {"description": "Two", "command": "make two"},
                    ],
                },
                {"description": "Last", "bounds": {"max_files": 2, "max_lines": 0}},
            ],
        }
        assert strategy_from(data) == Strategy(
            bounds=Bounds(paths=("src/**",), commands=("make *",)),
            steps=(
                Step(id="s1", description="Do it", actor=Actor.COMMAND, command="make it"),
                Step(
                    id="rest",
                    description="Do the rest",
                    actor=Actor.MODEL,
                    steps=(
                        Step(
                            id="rest.1",
                            description="One",
                            actor=Actor.MODEL,
                            network=True,
                            bounds=Bounds(deletes=False),
                        ),
                        Step(
                            id="rest.2",
                            description="Two",
                            actor=Actor.COMMAND,
                            command="make two",
                        ),
                    ),
                ),
                Step(id="s3", description="Last", bounds=Bounds(max_files=2, max_lines=0)),
            ),
        )

    def test_null_is_as_good_as_nothing(self) -> None:
        nothing = {**step(command=None, bounds=None, steps=None, id=None), "bounds": None}
        assert strategy_from(nothing) == strategy_from(step())

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ([], "the strategy: this must be a mapping with `steps`, `bounds`"),
            ({}, "steps: this must be a list of at least one step"),
            ({"steps": {}}, "steps: this must be a list of at least one step"),
            ({"steps": ["x"]}, "steps[0]: this must be a mapping with `id`, `description`, "),
            ({"step": []}, "step: unknown key (did you mean 'steps'?); known here: steps, bounds"),
            (step(actr="tool"), "steps[0].actr: unknown key (did you mean 'actor'?)"),
            (
                step(actor="modell"),
                "steps[0].actor: 'modell' is not an actor (did you mean 'model'?)",
            ),
            (step(actor=["x"]), "steps[0].actor: ['x'] is not an actor; there are command, tool, "),
            (step(actor="command"), "steps[0]: the actor 'command' needs a `command` to run"),
            (
                step(actor="tool", command="make"),
                "steps[0].command: only the actor 'command' runs a command, and this step has "
                "'tool'",
            ),
            (
                step(command="make", steps=[{"description": "x"}]),
                "steps[0].command: a step with steps of its own cannot run a command itself",
            ),
            (step(command=" "), "steps[0].command: this must be text that is not empty"),
            (step(command="a\0b"), "steps[0].command: this must be text that is not empty"),
            ({"steps": [{"actor": "tool"}]}, "steps[0]: a step needs a `description`"),
            (step(description=3), "steps[0].description: this must be text that is not empty"),
            (step(id="a b"), "steps[0].id: an id has letters, digits"),
            (step(id=3), "steps[0].id: an id has letters, digits"),
            (step(network="no"), "steps[0].network: this must be true or false"),
            (step(steps=[]), "steps[0].steps: this must be a list of at least one step"),
            (step(bounds=[]), "steps[0].bounds: this must be a mapping with `paths`, "),
            (step(bounds={"deletable": ["a"]}), "steps[0].bounds.deletable: unknown key"),
            (step(bounds={"path": []}), "steps[0].bounds.path: unknown key (did you mean 'paths'?"),
            (step(bounds={"paths": "a"}), "steps[0].bounds.paths: this must be a list of texts"),
            (
                step(bounds={"paths": ["a", "/b"]}),
                "steps[0].bounds.paths[1]: '/b' is absolute",
            ),
            (
                step(bounds={"paths": ["a/../../b"]}),
                "steps[0].bounds.paths[0]: 'a/../../b' has '..' in it",
            ),
            (
                step(bounds={"max_files": True}),
                "steps[0].bounds.max_files: this must be a whole number, at least 0",
            ),
            (
                step(bounds={"max_lines": -1}),
                "steps[0].bounds.max_lines: this must be a whole number, at least 0",
            ),
            (
                {"bounds": {"commands": ["ls *"]}, **step(command="ls; make")},
                "steps[0].command: the bounds do not allow it; they allow `ls *`",
            ),
            (
                {"steps": [{"description": "x", "id": "s2"}, {"description": "y"}]},
                "steps[1].id: 's2' is the id of another step, in steps[0]",
            ),
        ],
    )
    def test_what_is_wrong_is_named_with_its_place(self, data: object, message: str) -> None:
        with pytest.raises(PlanError) as raised:
            strategy_from(data)
        assert str(raised.value).startswith(message)

    def test_a_place_is_called_as_the_caller_has_it(self) -> None:
        with pytest.raises(PlanError, match=r"plan\.yaml:2: steps/0/id: an id"):
            strategy_from(step(id=""), lambda at: f"plan.yaml:2: {'/'.join(map(str, at))}")


class TestReplacing:
    strategy = strategy_from({"steps": [{"description": "a"}, {"description": "b"}]})

    def read(self, *steps: dict[str, Any]) -> list[str]:
        first = self.strategy.steps[0]
        read = steps_from(list(steps), instead_of=first, strategy=self.strategy)
        return [one.id for one in read]

    def test_one_step_keeps_the_id_and_several_begin_with_it(self) -> None:
        one = {"description": "x"}
        assert self.read(one) == ["s1"]
        assert self.read(one, one) == ["s1.1", "s1.2"]
        assert self.read({**one, "id": "s1"}, {**one, "id": "new"}) == ["s1", "new"]

    def test_no_id_of_the_rest_is_taken(self) -> None:
        with pytest.raises(PlanError, match="'s2' is the id of another step, in the strategy"):
            self.read({"description": "x", "id": "s2"})


bounds = st.builds(
    Bounds,
    paths=st.none() | st.lists(st.sampled_from(["a.py", "src/**", "b/"])).map(tuple),
    max_files=st.none() | st.integers(0, 9),
    max_lines=st.none() | st.integers(0, 9),
    deletes=st.booleans(),
)
leaves = st.builds(
    Step,
    id=st.uuids().map(str),
    description=st.sampled_from(["Do it", "Do the rest"]),
    actor=st.sampled_from([Actor.TOOL, Actor.MODEL, Actor.AGENT]),
    bounds=bounds,
    network=st.booleans(),
) | st.builds(
    Step,
    id=st.uuids().map(str),
    description=st.just("Run it"),
    actor=st.just(Actor.COMMAND),
    command=st.sampled_from(["make", "make it"]),
)
groups = st.builds(
    Step,
    id=st.uuids().map(str),
    description=st.just("All of it"),
    bounds=bounds,
    steps=st.lists(leaves, min_size=1, max_size=3).map(tuple),
)
strategies = st.builds(
    Strategy, bounds=bounds, steps=st.lists(leaves | groups, min_size=1, max_size=4).map(tuple)
)


@given(strategies)
def test_what_is_written_is_read_as_the_same(strategy: Strategy) -> None:
    assert strategy_from(strategy_data(strategy)) == strategy


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
steplike = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("id", "description", "actor", "command", "bounds"), anything)
)


@given(anything | st.fixed_dictionaries({"steps": st.lists(steplike)}))
def test_whatever_the_data_it_is_a_strategy_or_one_sentence(data: object) -> None:
    try:
        strategy = strategy_from(data)
    except PlanError:
        return
    assert strategy.steps
