"""A deterministic simulation: drivers and a person over real journals, one operation at a time.

Each actor is a thread with a journal of its own on one file. It stops before every operation of
the journal, and a schedule says who goes next, so that the same schedule gives the same history.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtrue.errors import RunError, SideEffectInterrupted
from runtrue.flow import Journal, LocalDispatcher, Outcome, Owner, Run, RunState, Segment

#: The operations that drivers and people use, each of which is one turn.
OPERATIONS = (
    *("find", "claim", "release", "finish", "fail", "cancel", "load", "begin", "withdraw"),
    *("record", "emit", "ask", "park", "answer", "open_question", "questions", "parts"),
)
#: Long enough for anything that does not hang.
_PATIENCE = 60


class Killed(BaseException):
    """The process is dead: nothing of it runs any more."""


class Actor:
    """A process of the simulation. `history` is all that it has seen of the journal."""

    def __init__(self, name: str, path: Path, work: Callable[[Journal], None]) -> None:
        self.name = name
        self.history: list[str] = []
        self.is_over = False
        self.killed = False
        self.failure: BaseException | None = None
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        thread = threading.Thread
        self._thread = thread(target=self._run, args=(path, work), name=name, daemon=True)
        self._thread.start()
        self._wait()

    def turn(self) -> None:
        """Let it do one operation, and go on to the next."""
        self._go.release()
        self._wait()

    def kill(self) -> None:
        """End it where it is."""
        self.killed = True
        if not self.is_over:
            self.turn()
        self._thread.join(_PATIENCE)

    def stop(self) -> None:
        """Be stopped before an operation, from the actor's own thread."""
        self._stopped.release()
        self._go.acquire()
        if self.killed:
            raise Killed

    def _wait(self) -> None:
        assert self._stopped.acquire(timeout=_PATIENCE), f"{self.name} hangs"

    def _run(self, path: Path, work: Callable[[Journal], None]) -> None:
        try:
            with _SteppedJournal(path, self) as journal:
                work(journal)
        except Killed:
            pass
        except BaseException as error:
            self.failure = error
        self.is_over = True
        self._stopped.release()


class UnsyncedJournal(Journal):
    """A journal that does not wait for the disk: nothing here outlives a power cut."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._db.execute("PRAGMA synchronous = OFF")

    @contextmanager
    def _synced(self) -> Iterator[None]:
        with self._db.explained("written"):
            yield


class _SteppedJournal(UnsyncedJournal):
    """A journal whose actor stops before each operation."""

    def __init__(self, path: Path, actor: Actor) -> None:
        super().__init__(path)
        self.actor = actor
        self.within = False


def _stepped(name: str) -> Callable[..., Any]:
    operation = getattr(Journal, name)

    def step(self: _SteppedJournal, *args: Any, **options: Any) -> Any:
        if self.within:
            return operation(self, *args, **options)
        if self.actor.killed:
            raise Killed
        self.actor.stop()
        self.within = True
        try:
            found = operation(self, *args, **options)
            self.actor.history.append(f"{name}: {found}" if name == "park" else name)
            return found
        except RunError as error:
            self.actor.history.append(f"{name}: {type(error).__name__}")
            raise
        finally:
            self.within = False

    return step


for _name in OPERATIONS:
    setattr(_SteppedJournal, _name, _stepped(_name))


@dataclass
class World:
    """One history: a run that asks, then fires a side effect; two drivers and a person."""

    path: Path
    run_id: str
    #: That of somebody who only looks.
    journal: Journal
    alive: set[str] = field(default_factory=set)
    fired: list[str] = field(default_factory=list)
    answered: bool = False
    actors: dict[str, Actor] = field(default_factory=dict)

    def add(self, name: str, work: Callable[[Journal], None]) -> None:
        """Let an actor begin; it stops before its first operation."""
        self.alive.add(name)
        self.actors[name] = Actor(name, self.path, work)

    def drive(self, name: str) -> Callable[[Journal], None]:
        """Return the work of a driver: to go on until the run ends, waits, or is refused."""

        async def fire(answer: str) -> str:
            self.fired.append(f"{name}: {answer}")
            return answer

        async def work(run: Run) -> Outcome:
            answer = await run.ask("sure", {"sure": True})
            return RunState.PASSED, {
                "answer": await run.step("fire", fire, answer, side_effect=True)
            }

        def drive(journal: Journal) -> None:
            dispatcher = LocalDispatcher(journal, lambda _: Segment(work))
            with suppress(RunError, SideEffectInterrupted):
                asyncio.run(dispatcher.run(self.run_id))

        return drive

    def answer(self, journal: Journal) -> None:
        """Be a person, who answers what they have seen the run ask."""
        try:
            journal.answer(self.run_id, "yes")
        except RunError:
            return
        self.answered = True

    def choices(self) -> list[str]:
        """Return what may happen next: a turn of an actor, a death, or a mistaken one."""
        is_asked = bool(self.journal.questions(self.run_id))
        turns = [
            name
            for name, actor in self.actors.items()
            if not actor.is_over and (name != "person" or is_asked)
        ]
        first = self.actors["first"]
        if "first" in self.alive and not first.is_over:
            turns += ["kill first", "take first for dead"]
        return turns

    def happen(self, choice: str) -> None:
        """Do what was chosen."""
        if choice in self.actors:
            self.actors[choice].turn()
            return
        self.alive.discard("first")
        if choice == "kill first":
            self.actors["first"].kill()

    def state(self) -> tuple[Any, ...]:
        """Return all that what comes next depends on."""
        run = self.journal.find(self.run_id)
        steps = [(row.seq, row.node, row.result) for row in self.journal.load(self.run_id)]
        asked = [(q.seq, q.answer) for q in self.journal.questions(self.run_id)]
        actors = [(a.name, a.killed, a.is_over, *a.history) for a in self.actors.values()]
        owner = run.owner and run.owner.started
        stored = (run.state, run.fence, owner, run.error, run.is_over, steps, asked)
        return repr(stored), repr(actors), frozenset(self.alive)

    def end(self) -> None:
        """Kill everybody."""
        for actor in self.actors.values():
            actor.kill()


@contextmanager
def liveness(world: World) -> Iterator[None]:
    """Decide by the world which process is alive, and which one an actor is."""

    def this_process() -> Owner:
        return Owner("here", "boot", 1, threading.current_thread().name)

    before = Owner.is_alive, Owner.__dict__["this_process"]
    Owner.is_alive = lambda self: self.started in world.alive  # type: ignore[method-assign]
    Owner.this_process = staticmethod(this_process)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Owner.is_alive = before[0]  # type: ignore[method-assign]
        Owner.this_process = before[1]  # type: ignore[method-assign]


class Explorer:
    """Goes through every history, once for each state that it can be in."""

    def __init__(self, folder: Path) -> None:
        self._template = folder / "template.db"
        with Journal(self._template) as journal:
            self._run_id = journal.create("simulated", "run", {})
        self._folder = folder
        self.histories = 0
        self.states: set[tuple[Any, ...]] = set()

    def explore(self, check: Callable[[World], None]) -> None:
        """Check the end of every history."""
        waiting: list[list[str]] = [[]]
        while waiting:
            waiting += self._follow(waiting.pop(), check)

    def _follow(self, schedule: list[str], check: Callable[[World], None]) -> list[list[str]]:
        """Replay a schedule and go on with first choices; return the schedules of the others."""
        path = self._folder / "journal.db"
        for old in self._folder.glob("journal.db*"):
            old.unlink()
        shutil.copy(self._template, path)
        self.histories += 1
        with UnsyncedJournal(path) as journal:
            world = World(path, self._run_id, journal)
            with liveness(world):
                return self._played(world, schedule, check)

    def _played(
        self, world: World, schedule: list[str], check: Callable[[World], None]
    ) -> list[list[str]]:
        others: list[list[str]] = []
        try:
            world.add("first", world.drive("first"))
            world.add("second", world.drive("second"))
            world.add("person", world.answer)
            for choice in schedule:
                world.happen(choice)
            while choices := world.choices():
                state = world.state()
                if state in self.states:
                    return others
                self.states.add(state)
                others += [[*schedule, other] for other in choices[1:]]
                schedule = [*schedule, choices[0]]
                world.happen(choices[0])
            for actor in world.actors.values():
                assert actor.failure is None, (schedule, actor.failure)
            try:
                check(world)
            except AssertionError as error:
                raise AssertionError(f"after {schedule}: {error}") from error
        finally:
            world.end()
        return others
