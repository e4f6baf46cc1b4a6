"""Going on after a crash: a real process is killed as nothing can be caught, another continues."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import FlowChanged, RunBusy, SideEffectInterrupted
from runtrue.flow import Flow, Journal, Node, RunState
from tests.flow.child import Child
from tests.flow.driver import NODES, POINTS, ROUNDS, Gates, Shared, build, drive_run, store
from tests.flow.nodes import Work, drive, finished, new_claim, replay_flow

UNDISTURBED: Shared = {
    "value": 316,
    "round": 2,
    "budget": 4,
    "seen": [6, 16, 36, 76, 156, 316],
}
STEPS = [f"{node} {round_}" for round_ in range(ROUNDS) for node in NODES]


class Drives:
    """Starts processes that drive one run."""

    def __init__(self, journal: Journal, log: Path, *, fires: bool = False) -> None:
        self.journal = journal
        self.log = log
        self.run_id = journal.create("test", "", {"fires": fires})

    def process(self, *flags: str) -> Child:
        return Child(
            self.journal.location, self.run_id, self.log, *flags, module="tests.flow.driver"
        )

    def kill_at(self, point: str, *flags: str) -> None:
        with self.process("--gates", *flags) as child:
            while (reached := child.line()) != point:
                assert not reached.startswith("{"), f"{point} was never reached: {reached}"
                child.send("go on")
            child.kill()

    def resume(self, *flags: str) -> Any:
        """Go on in this process, as good as any other one."""
        run = asyncio.run(drive_run(self.journal, self.run_id, self.log, *flags))
        return run.result

    @property
    def executed(self) -> Counter[str]:
        return Counter(self.log.read_text().splitlines() if self.log.exists() else ())


@pytest.fixture
def drives(journal: Journal, tmp_path: Path) -> Drives:
    return Drives(journal, tmp_path / "log")


@pytest.fixture
def fires(journal: Journal, tmp_path: Path) -> Drives:
    return Drives(journal, tmp_path / "log", fires=True)


# -- killed anywhere ----------------------------------------------------------------------------


def test_an_undisturbed_run_passes_every_point_once(drives: Drives) -> None:
    with drives.process("--gates") as child:
        reached = []
        while not (line := child.line()).startswith("{"):
            reached.append(line)
            child.send("go on")
    assert reached == POINTS
    assert drives.journal.find(drives.run_id).result == UNDISTURBED
    assert drives.executed == Counter(STEPS)


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_point_a_run_is_continued_to_the_same_end(drives: Drives, point: str) -> None:
    drives.kill_at(point)
    assert drives.journal.find(drives.run_id).state is RunState.RUNNING
    assert drives.resume() == UNDISTURBED
    place, _, step = point.partition(" ")
    # Only work that was done and could not be recorded any more is done a second time.
    again = [step] if place == "done" else []
    assert drives.executed == Counter(STEPS + again)


def test_killed_again_and_again_a_run_still_comes_to_the_same_end(drives: Drives) -> None:
    points = POINTS[2::5]
    for point in points:
        drives.kill_at(point)
    with drives.process() as child:
        assert child.reply() == UNDISTURBED
    assert drives.journal.find(drives.run_id).fence == len(points) + 1
    assert set(drives.executed) == set(STEPS)
    assert set(drives.executed.values()) <= {1, 2, 3}


def test_what_is_left_of_a_budget_is_the_same_after_a_crash_as_before_it(
    drives: Drives, tmp_path: Path
) -> None:
    for n, point in enumerate(POINTS):
        if not point.startswith("post"):
            continue
        # Each one is reached by replaying all that came before.
        drives.kill_at(point)
        shared = store()
        flow = build(Gates(closed=False), tmp_path / "unused")
        replay_flow(flow, shared, drives.journal.load(drives.run_id))
        assert shared["budget"] == 10 - (n // 4 + 1)


def test_resuming_a_run_that_a_living_process_drives_is_refused(drives: Drives) -> None:
    with drives.process("--gates") as child:
        child.line()
        with pytest.raises(RunBusy, match=f"running in process {child.pid}"):
            drives.resume()


# -- side effects -------------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["exec grow 0", "done grow 0"])
def test_a_side_effect_that_was_interrupted_is_not_fired_again_without_consent(
    fires: Drives, point: str
) -> None:
    fires.kill_at(point)
    fired = fires.executed["grow 0"]
    for _ in range(2):
        expected = f"stopped inside 'grow', .*`runtrue runs resume {fires.run_id} --force`"
        with pytest.raises(SideEffectInterrupted, match=expected):
            fires.resume()
    assert fires.executed["grow 0"] == fired
    assert not fires.journal.find(fires.run_id).is_over


def test_a_side_effect_that_was_interrupted_is_fired_again_with_consent(fires: Drives) -> None:
    fires.kill_at("done grow 0")
    assert fires.resume("--force") == UNDISTURBED
    assert fires.executed == Counter([*STEPS, "grow 0"])


def test_consent_is_asked_for_anew_when_it_is_interrupted_anew(fires: Drives) -> None:
    fires.kill_at("done grow 0")
    fires.kill_at("exec grow 0", "--force")
    with pytest.raises(SideEffectInterrupted):
        fires.resume()
    assert fires.resume("--force") == UNDISTURBED


@pytest.mark.parametrize("point", ["prep grow 0", "post grow 0", "exec keep 0"])
def test_a_side_effect_that_has_not_begun_or_has_ended_needs_no_consent(
    fires: Drives, point: str
) -> None:
    fires.kill_at(point)
    assert fires.resume() == UNDISTURBED
    assert fires.executed == Counter(STEPS)


def test_a_side_effect_that_raised_may_have_happened_and_needs_consent(journal: Journal) -> None:
    class Fire(Work):
        side_effect = True

    claim = new_claim(journal)
    flow = Flow(Fire(lambda inputs: 1 / 0, "fire"))
    with pytest.raises(ZeroDivisionError):
        drive(journal, flow, claim=claim)
    with pytest.raises(SideEffectInterrupted):
        drive(journal, flow, claim=claim)


# -- replaying ----------------------------------------------------------------------------------


def test_replaying_executes_nothing(drives: Drives, tmp_path: Path) -> None:
    drives.kill_at("exec keep 1")
    shared, log = store(), tmp_path / "replay.log"
    steps = drives.journal.load(drives.run_id)
    replay_flow(build(Gates(closed=False), log), shared, steps)
    assert not log.exists()
    assert shared == {"value": 156, "round": 1, "budget": 5, "seen": UNDISTURBED["seen"][:5]}
    assert drives.journal.load(drives.run_id) == steps


def test_replaying_stops_at_a_side_effect_that_never_ended(fires: Drives, tmp_path: Path) -> None:
    fires.kill_at("done grow 1")
    shared, log = store(), tmp_path / "replay.log"
    flow = build(Gates(closed=False), log, fires=True)
    replay_flow(flow, shared, fires.journal.load(fires.run_id))
    assert not log.exists()
    assert len(shared["seen"]) == 4


def test_replaying_a_run_that_has_recorded_nothing_leaves_the_store_as_it_is() -> None:
    shared = {"in": 1}
    replay_flow(Flow(Work(print)), shared, [])
    assert shared == {"in": 1}


# -- an edited flow -----------------------------------------------------------------------------


def _broken_off(journal: Journal, start: Node, shared: Shared) -> str:
    """A run of `start` that was left in the node `stop`."""
    claim = new_claim(journal)
    with pytest.raises(ZeroDivisionError):
        drive(journal, Flow(start), shared, claim=claim)
    journal.release(claim)
    return claim.run_id


def _then_stop(node: Node) -> Node:
    node >> Work(lambda inputs: 1 / 0, "stop")
    return node


def _resume(journal: Journal, run_id: str, start: Node, shared: Shared | None = None) -> None:
    drive(journal, Flow(start), shared or {}, claim=new_claim(journal, run_id))


EDITED = "the flow was edited, or runtrue was upgraded, since the run began; start a new run$"


def test_a_node_of_another_name_than_recorded_is_refused(journal: Journal) -> None:
    run_id = _broken_off(journal, _then_stop(Work(str, "old")), {})
    executed: list[Any] = []
    with pytest.raises(
        FlowChanged, match=f"step 0 was recorded as 'old' and is now 'new': {EDITED}"
    ):
        _resume(journal, run_id, Work(executed.append, "new"))
    assert executed == []


def test_other_inputs_than_recorded_are_refused(journal: Journal) -> None:
    run_id = _broken_off(journal, _then_stop(Work(str, "same")), {"in": 1})
    with pytest.raises(FlowChanged, match=f"'same', was recorded with other inputs: {EDITED}"):
        _resume(journal, run_id, _then_stop(Work(str, "same")), {"in": 2})
    assert finished(journal.load(run_id)) == ["same"]


def test_a_flow_that_ends_before_its_record_does_is_refused(journal: Journal) -> None:
    first = Work(str, "first")
    first >> _then_stop(Work(str, "second"))
    run_id = _broken_off(journal, first, {})
    expected = f"step 1 was recorded as 'second' and the flow now ends at 'first': {EDITED}"
    with pytest.raises(FlowChanged, match=expected):
        _resume(journal, run_id, Work(str, "first"))
    with pytest.raises(FlowChanged, match=expected):
        replay_flow(Flow(Work(str, "first")), {}, journal.load(run_id))


@dataclass(frozen=True)
class Before:
    name: str


@dataclass(frozen=True)
class After:
    title: str


class MakesBefore(Work):
    def exec(self, inputs: Any) -> Before:
        return Before("n")


class MakesAfter(Work):
    def exec(self, inputs: Any) -> After:
        return After("t")


def test_a_result_recorded_as_another_type_is_refused(journal: Journal) -> None:
    run_id = _broken_off(journal, _then_stop(MakesBefore(str, "same")), {})
    with pytest.raises(FlowChanged, match=r"'same' was recorded with a result of another type"):
        _resume(journal, run_id, MakesAfter(str, "same"))


def test_an_interrupted_side_effect_in_an_edited_flow_is_refused_even_with_consent(
    fires: Drives, journal: Journal
) -> None:
    fires.kill_at("exec grow 0")
    flow = build(Gates(closed=False), fires.log, fires=True)
    claim = new_claim(journal, fires.run_id, force=True)
    with pytest.raises(FlowChanged):
        drive(journal, flow, {**store(), "value": 2}, claim=claim, force=True)
    assert fires.executed["grow 0"] == 0
