"""Driving a flow: the lifecycle of a node, routing, retries, and what is recorded of it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import pytest

from runtrue.errors import FlowChanged, FlowError, NoSuccessor
from runtrue.flow import Ask, Flow, Journal, Node, Parked, Run
from tests.flow.nodes import Heard, Shared, Work, drive, finished, new_claim, replay_flow

# -- the lifecycle ------------------------------------------------------------------------------


def _logging_node(*, prep: bool, exec_: bool, fallback: bool, post: bool) -> type[Node]:
    """A node that fails once into its fallback; each method is a coroutine if its flag says so."""

    def do_prep(self: Node, shared: Shared) -> Any:
        shared["log"].append("prep")
        return shared["log"]

    def do_exec(self: Node, log: list[str]) -> Any:
        log.append("exec")
        raise ZeroDivisionError

    def do_fallback(self: Node, log: list[str], error: Exception) -> Any:
        log.append(f"fallback after {type(error).__name__}")
        return "result"

    def do_post(self: Node, shared: Shared, log: list[str], result: str) -> Any:
        log.append(f"post with {result}")

    async def prep_later(self: Node, shared: Shared) -> Any:
        await asyncio.sleep(0)
        return do_prep(self, shared)

    async def exec_later(self: Node, log: list[str]) -> Any:
        await asyncio.sleep(0)
        return do_exec(self, log)

    async def fallback_later(self: Node, log: list[str], error: Exception) -> Any:
        await asyncio.sleep(0)
        return do_fallback(self, log, error)

    async def post_later(self: Node, shared: Shared, log: list[str], result: str) -> Any:
        await asyncio.sleep(0)
        return do_post(self, shared, log, result)

    methods = {
        "terminal": True,
        "prep": prep_later if prep else do_prep,
        "exec": exec_later if exec_ else do_exec,
        "exec_fallback": fallback_later if fallback else do_fallback,
        "post": post_later if post else do_post,
    }
    return type("Logging", (Node,), methods)


@pytest.mark.parametrize("flags", list(product([False, True], repeat=4)), ids=str)
def test_each_method_may_be_plain_or_a_coroutine_and_they_run_in_order(
    flags: tuple[bool, bool, bool, bool],
) -> None:
    prep, exec_, fallback, post = flags
    node = _logging_node(prep=prep, exec_=exec_, fallback=fallback, post=post)
    shared = asyncio.run(Flow(node()).run({"log": []}))
    assert shared["log"] == [
        "prep",
        "exec",
        "fallback after ZeroDivisionError",
        "post with result",
    ]


def test_a_node_that_defines_nothing_does_nothing_and_goes_on() -> None:
    a = Node("a")
    a >> Work(lambda inputs: "reached")
    assert asyncio.run(Flow(a).run()) == {"out": "reached"}


# -- routing ------------------------------------------------------------------------------------


class Route(Node):
    """Goes where the shared store says."""

    def __init__(self, name: str = "route", *, terminal: bool = False) -> None:
        super().__init__(name)
        self.terminal = terminal

    def post(self, shared: Shared, inputs: None, result: None) -> str | None:
        shared.setdefault("visited", []).append(self.name)
        action = shared["actions"].pop(0)
        return None if action is None else str(action)


def test_the_action_that_post_returns_chooses_the_successor() -> None:
    start, left, right = Route("start"), Route("left"), Route("right", terminal=True)
    start - "left" >> left
    start >> right
    left - "back" >> start
    shared = asyncio.run(Flow(start).run({"actions": ["left", "back", None, "end"]}))
    assert shared["visited"] == ["start", "left", "start", "right"]


def test_none_and_default_are_the_same_action() -> None:
    for action in (None, "default"):
        start = Route("start")
        start >> Route("end", terminal=True)
        shared = asyncio.run(Flow(start).run({"actions": [action, "over"]}))
        assert shared["visited"] == ["start", "end"]


def test_an_action_without_successor_is_an_error_naming_node_action_and_known_actions() -> None:
    start = Route("start")
    start - "left" >> Route("left")
    start - "right" >> Route("right")
    expected = r"node 'start' returned the action 'up', .* its actions are: left, right$"
    with pytest.raises(NoSuccessor, match=expected):
        asyncio.run(Flow(start).run({"actions": ["up"]}))


def test_an_action_of_a_node_that_leads_nowhere_at_all_is_an_error_that_says_so() -> None:
    with pytest.raises(NoSuccessor, match="its actions are: none"):
        asyncio.run(Flow(Route()).run({"actions": [None]}))


def test_a_terminal_node_ends_the_flow_at_any_action_it_is_not_wired_for() -> None:
    start = Route("start", terminal=True)
    start - "again" >> start
    shared = asyncio.run(Flow(start).run({"actions": ["again", "enough", "not reached"]}))
    assert shared["visited"] == ["start", "start"]


def test_the_last_action_is_what_driving_returns(journal: Journal) -> None:
    flow, run = Flow(Route(terminal=True)), Run.recorded(journal, new_claim(journal))
    shared = {"actions": ["enough"]}
    assert asyncio.run(run.execute(lambda run: flow.walk(run, shared))) == "enough"


# -- retries ------------------------------------------------------------------------------------


class Flaky(Node):
    """Fails as often as the shared store says, then works."""

    terminal = True
    retries = 2

    def prep(self, shared: Shared) -> list[str]:
        failures: list[str] = shared["failures"]
        return failures

    def exec(self, inputs: list[str]) -> str:
        if inputs:
            raise ValueError(inputs.pop(0))
        return "worked"

    def post(self, shared: Shared, inputs: Any, result: str) -> None:
        shared["out"] = result


def test_exec_is_tried_again_as_often_as_retries_say() -> None:
    shared = asyncio.run(Flow(Flaky()).run({"failures": ["first", "second"]}))
    assert shared == {"failures": [], "out": "worked"}


def test_without_a_fallback_the_last_error_is_raised_when_no_retry_is_left() -> None:
    shared = {"failures": ["first", "second", "third", "fourth"]}
    with pytest.raises(ValueError, match=r"^third$"):
        asyncio.run(Flow(Flaky()).run(shared))
    assert shared["failures"] == ["fourth"]


def test_the_fallback_is_asked_once_with_inputs_and_last_error_and_its_result_is_used() -> None:
    class Cautious(Flaky):
        def exec_fallback(self, inputs: list[str], error: Exception) -> str:
            return f"{inputs} left after {error}"

    shared = {"failures": ["first", "second", "third", "fourth"]}
    assert asyncio.run(Flow(Cautious()).run(shared))["out"] == "['fourth'] left after third"


def test_an_error_raised_by_the_fallback_itself_is_not_tried_again() -> None:
    class Hopeless(Flaky):
        def exec_fallback(self, inputs: list[str], error: Exception) -> str:
            raise KeyError("gave up") from error

    with pytest.raises(KeyError, match="gave up"):
        asyncio.run(Flow(Hopeless()).run({"failures": ["1", "2", "3"]}))


def test_other_runs_go_on_while_a_node_waits_between_two_tries() -> None:
    first_try = asyncio.Event()
    other_ran = asyncio.Event()

    class Patient(Node):
        terminal = True
        retries = 1
        wait = 0.001

        async def exec(self, inputs: None) -> None:
            if not first_try.is_set():
                first_try.set()
                raise ValueError
            assert other_ran.is_set()

    async def other() -> None:
        await first_try.wait()
        other_ran.set()

    async def both() -> None:
        await asyncio.gather(Flow(Patient()).run(), other())

    asyncio.run(both())


def test_an_interruption_is_never_taken_for_a_failure_to_try_again() -> None:
    tries: list[int] = []

    class Interrupted(Node):
        retries = 5

        async def exec(self, inputs: None) -> None:
            tries.append(1)
            raise asyncio.CancelledError

        def exec_fallback(self, inputs: None, error: Exception) -> None:
            raise AssertionError("not a failure")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(Flow(Interrupted()).run())
    assert len(tries) == 1


# -- many runs ----------------------------------------------------------------------------------


class Climb(Node):
    """Counts up to the run's own goal, giving way to the other runs at every step."""

    terminal = True
    retries = 1

    def prep(self, shared: Shared) -> dict[str, Any]:
        return {"n": shared["n"], "tries": shared["tries"]}

    async def exec(self, inputs: dict[str, Any]) -> int:
        await asyncio.sleep(0)
        inputs["tries"].append(inputs["n"])
        if inputs["tries"].count(inputs["n"]) == 1:
            raise ValueError("every first try fails")
        return int(inputs["n"]) + 1

    async def post(self, shared: Shared, inputs: Any, result: int) -> str:
        await asyncio.sleep(0)
        shared["n"] = result
        return "up" if result < shared["goal"] else "there"


def test_one_flow_object_runs_fifty_times_at_once_with_nothing_shared_between_the_runs() -> None:
    climb = Climb()
    climb - "up" >> climb
    flow = Flow(climb)

    async def all_at_once() -> list[Shared]:
        return await asyncio.gather(
            *(flow.run({"n": 0, "goal": goal, "tries": []}) for goal in range(1, 51))
        )

    for goal, shared in enumerate(asyncio.run(all_at_once()), 1):
        expected = [n for n in range(goal) for _ in range(2)]
        assert shared == {"n": goal, "goal": goal, "tries": expected}


def test_a_blocking_node_does_not_block_other_runs() -> None:
    opened = threading.Event()

    class Wait(Node):
        terminal = True
        blocking = True

        def exec(self, inputs: None) -> bool:
            return opened.wait(60)

        def post(self, shared: Shared, inputs: None, result: bool) -> None:
            shared["opened"] = result

    class Open(Node):
        terminal = True

        async def exec(self, inputs: None) -> None:
            await asyncio.sleep(0)
            opened.set()

    async def both() -> tuple[Shared, Shared]:
        return await asyncio.gather(Flow(Wait()).run(), Flow(Open()).run())

    waited, _ = asyncio.run(both())
    assert waited == {"opened": True}


# -- what is recorded ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    x: int
    labels: tuple[str, ...] = ()


class Locate(Node):
    terminal = True

    def exec(self, inputs: None) -> tuple[Point, ...]:
        return (Point(1, ("a", "b")), Point(2))

    def post(self, shared: Shared, inputs: None, result: tuple[Point, ...]) -> None:
        shared["points"] = result


def _replayed(flow: Flow, journal: Journal, run_id: str) -> Shared:
    shared: Shared = {}
    replay_flow(flow, shared, journal.load(run_id))
    return shared


def test_an_annotated_result_comes_back_as_its_type_live_and_on_replay(journal: Journal) -> None:
    flow, claim = Flow(Locate()), new_claim(journal)
    live = drive(journal, flow, claim=claim)
    assert live == {"points": (Point(1, ("a", "b")), Point(2))}
    assert _replayed(flow, journal, claim.run_id) == live


@pytest.mark.parametrize(
    ("result", "seen"),
    [
        (None, None),
        ({"a": [1, 2.5, None, True]}, {"a": [1, 2.5, None, True]}),
        ((1, 2), [1, 2]),
        (Point(1), {"x": 1, "labels": []}),
        (2**70, 2**70),
        ("\N{SNOWMAN}\0\N{PILE OF POO}", "\N{SNOWMAN}\0\N{PILE OF POO}"),
    ],
    ids=repr,
)
def test_without_annotation_post_sees_plain_data_live_just_as_it_will_on_replay(
    journal: Journal, result: Any, seen: Any
) -> None:
    flow, claim = Flow(Work(lambda inputs: result)), new_claim(journal)
    live = drive(journal, flow, claim=claim)
    assert live == {"out": seen}
    assert _replayed(flow, journal, claim.run_id) == live


def _in_itself() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


UNRECORDABLE = [object(), {("a", "tuple"): 1}, "\ud800", _in_itself()]


@pytest.mark.parametrize("value", UNRECORDABLE, ids=["object", "key", "surrogate", "circle"])
def test_a_result_that_cannot_be_encoded_is_an_error_naming_the_node(
    journal: Journal, value: Any
) -> None:
    claim = new_claim(journal)
    with pytest.raises(FlowError, match=r"^odd returned something that cannot be recorded"):
        drive(journal, Flow(Work(lambda inputs: value, "odd")), claim=claim)
    assert journal.load(claim.run_id) == []


@pytest.mark.parametrize("value", UNRECORDABLE, ids=["object", "key", "surrogate", "circle"])
def test_inputs_that_cannot_be_encoded_are_an_error_naming_the_node(
    journal: Journal, value: Any
) -> None:
    executed: list[Any] = []
    with pytest.raises(FlowError, match=r"^odd takes something that cannot be recorded"):
        drive(journal, Flow(Work(executed.append, "odd")), {"in": value})
    assert executed == []


class Mislabelled(Node):
    terminal = True

    def exec(self, inputs: None) -> int:
        return "not a number"  # type: ignore[return-value]  # the mistake under test


def test_a_result_of_another_type_than_annotated_is_refused_before_it_is_recorded(
    journal: Journal,
) -> None:
    claim = new_claim(journal)
    with pytest.raises(FlowError, match=r"^Mislabelled returned something else than"):
        drive(journal, Flow(Mislabelled()), claim=claim)
    assert journal.load(claim.run_id) == []


def test_each_finished_node_is_recorded_in_order_with_its_inputs_hash(journal: Journal) -> None:
    a, b = Work(lambda n: n + 1, "a"), Work(lambda n: n * 2, "b", reads="out")
    a >> b
    first, second, third = new_claim(journal), new_claim(journal), new_claim(journal)
    assert drive(journal, Flow(a), {"in": 1}, claim=first)["out"] == 4
    drive(journal, Flow(a), {"in": 1}, claim=second)
    drive(journal, Flow(a), {"in": 2}, claim=third)
    steps = journal.load(first.run_id)
    assert [(step.seq, step.node, step.result) for step in steps] == [
        (0, "a", b"2"),
        (1, "b", b"4"),
    ]
    hashes = [[s.input_hash for s in journal.load(c.run_id)] for c in (first, second, third)]
    assert hashes[0] == hashes[1]
    assert all(one != other for one, other in zip(hashes[0], hashes[2], strict=True))


def test_many_durable_runs_share_one_journal_at_the_same_time(journal: Journal) -> None:
    class Twice(Work):
        async def exec(self, inputs: Any) -> Any:
            await asyncio.sleep(0)
            return inputs * 2

    first = Twice(print, "first")
    first >> Twice(print, "second", reads="out")
    flow, claims = Flow(first), [new_claim(journal) for _ in range(20)]
    stores: list[Shared] = [{"in": n} for n in range(20)]

    async def all_at_once() -> None:
        await asyncio.gather(
            *(
                Run.recorded(journal, claim).execute(partial(flow.walk, shared=shared))
                for shared, claim in zip(stores, claims, strict=True)
            )
        )

    asyncio.run(all_at_once())
    assert [shared["out"] for shared in stores] == [n * 4 for n in range(20)]
    assert all(finished(journal.load(c.run_id)) == ["first", "second"] for c in claims)


# -- asking -------------------------------------------------------------------------------------


class Question(Ask):
    terminal = True

    def prep(self, shared: Shared) -> dict[str, str]:
        return {"what": shared.get("what", "shall I?")}

    def post(self, shared: Shared, inputs: Any, result: Any) -> None:
        shared["answer"] = result


def test_asking_without_a_journal_is_an_error_that_names_the_node() -> None:
    with pytest.raises(FlowError, match="step 'Question' asks a person, which needs a journal"):
        asyncio.run(Flow(Question()).run())


def test_asking_parks_the_run_with_its_question_and_the_answer_is_what_post_gets(
    journal: Journal,
) -> None:
    claim, heard = new_claim(journal), Heard()
    with pytest.raises(Parked) as parked:
        drive(journal, Flow(Question()), claim=claim, listeners=[heard])
    assert parked.value.question == {"what": "shall I?"}
    assert heard.kinds == [("asked", "Question"), ("parked", "Question")]
    journal.answer(claim.run_id, {"yes": 1})
    again = new_claim(journal, claim.run_id)
    assert drive(journal, Flow(Question()), claim=again) == {"answer": {"yes": 1}}


def test_an_answer_to_another_question_than_the_flow_now_asks_is_never_taken(
    journal: Journal,
) -> None:
    claim = new_claim(journal)
    with pytest.raises(Parked):
        drive(journal, Flow(Question()), {"what": "delete the copy?"}, claim=claim)
    journal.answer(claim.run_id, "yes")
    again = new_claim(journal, claim.run_id)
    with pytest.raises(FlowChanged, match="asked another question before"):
        drive(journal, Flow(Question()), {"what": "delete the original?"}, claim=again)


def test_a_replayed_answer_is_not_asked_for_again(journal: Journal) -> None:
    question = Question()
    question >> Work(lambda inputs: 1 / 0, "breaks")
    claim = new_claim(journal)
    with pytest.raises(Parked):
        drive(journal, Flow(question), claim=claim)
    journal.answer(claim.run_id, None)
    for _ in range(2):
        claim = new_claim(journal, claim.run_id, force=True)
        with pytest.raises(ZeroDivisionError):
            drive(journal, Flow(question), claim=claim)
    assert finished(journal.load(claim.run_id)) == ["Question"]
    assert journal.open_question(claim.run_id) is None
