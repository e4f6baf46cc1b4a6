"""Measurement: run the unchanged program's tests, those that fail in any case, others in time."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from runtrue.fixers.search.budget import WAITING, SearchClock
from runtrue.fixers.search.connection import Message
from runtrue.fixers.search.evidence import message_of_the_dead
from runtrue.fixers.search.servers import Servers, TrialLimits, Unprovable

_DEATHS = 3
#: Of the time for measuring, the share for the first run; the rest is for tracing.
_PLAIN = 0.4
#: Seconds after which a test is slow: it is traced after the others.
_SLOW = 0.1
#: The share of passing tests that may end otherwise without the order being the reason.
_CHANCE = 0.05
#: The most failing tests that are measured however long that takes.
_MUST = 30
#: How many times as long a test may take when it is traced, and the least, in seconds.
_TRACED, _LEAST = 30, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """What the check has shown: the tests that failed, those that passed, how long all took."""

    failing: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    seconds: float | None = None


#: Nothing is known: all tests are run.
UNKNOWN = CheckOutcome()


@dataclass(slots=True)
class SideEffects:
    """The side effects of running the tests."""

    written: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)
    ran: bool = False

    def add(self, answer: Message) -> None:
        """Add those of one process that ran tests."""
        self.written.update(answer["written"])
        self.elsewhere.update(answer["elsewhere"])
        self.changed.update(answer["changed"])
        self.ran = self.ran or bool(answer["ran"])


class TestMeasurement:
    """Runs of the collected tests on the unchanged program, by their numbers.

    `plain` has each test that was run, `traced` those that were run again for their lines.
    """

    def __init__(self, servers: Servers, limits: TrialLimits, outcome: CheckOutcome) -> None:
        self._servers = servers
        self._limits = limits
        self._outcome = outcome
        self._clock = SearchClock()
        self.tests: list[Message] = servers.hello["tests"]
        self.failing = [i for i, one in enumerate(self.tests) if one["id"] in outcome.failing]
        self.effects = SideEffects()
        self.plain: dict[int, Message] = {}
        self.traced: dict[int, Message] = {}
        #: The tests that did not end.
        self.hung: set[int] = set()
        #: Those with another outcome when they were run again, and one by which the order matters.
        self.unsteady: set[int] = set()
        self.out_of_order: str | None = None

    async def run(self) -> None:
        """Run the tests, then trace them. Raises Unprovable."""
        limits, clock = self._limits, self._clock
        began = clock()
        longest = lambda i: limits.longest  # noqa: E731 - one of several limits
        must = self.failing[:_MUST]
        self.plain = await self._run(self._order(), longest, "", limits.measuring * _PLAIN, must)
        self._drop_chance_failures()
        self.hung = {i for i, one in self.plain.items() if (one["failure"] or {}).get("timed_out")}
        # Those that end soon show more in the time there is; of those that fail, each counts.
        first = sorted(self.plain, key=lambda i: self._is_slow(i) + 2 * self._passes(i))
        left = max(began + limits.measuring - clock(), 0.1)
        must = [i for i in first if not self._passes(i)][:_MUST]
        try:
            self.traced = await self._run(first, self._traced_limit, "well", left, must)
        except Unprovable:  # the tracer is at fault: without it they could be run
            self.traced = await self._run(first, self._traced_limit, "plainly", left, must)
        ended = [i for i in self.traced if i not in self.hung]
        unsteady = {i for i in ended if self._differs(i, self.traced)}
        self.unsteady |= unsteady
        if unsteady:
            again = await self._run([i for i in first if i not in self.hung], longest, "", left, ())
            differ = [i for i in again if self._differs(i, again)]
            if all(map(self._passes, differ)) and self._are_few(differ):
                self._drop(differ)
            elif differ:
                self.out_of_order = self.tests[differ[0]]["id"]

    def _drop_chance_failures(self) -> None:
        """Drop tests that fail here and passed in the check, if they are few of many."""
        passed = self._outcome.passing
        failing = [i for i in self.plain if not self._passes(i) and self.tests[i]["id"] in passed]
        if self._are_few(failing):
            self._drop(failing)
            self.unsteady |= set(failing)

    def _are_few(self, tests: Collection[int]) -> bool:
        # Tests of speed, on a busy machine: they prove nothing, and get in the way.
        return len(tests) <= _CHANCE * len(self.plain)

    def _drop(self, tests: Iterable[int]) -> None:
        for number in tests:
            del self.plain[number]

    def _passes(self, number: int) -> bool:
        return bool(self.plain[number]["outcome"] != "failed")

    def _is_slow(self, number: int) -> bool:
        return bool(self.plain[number]["seconds"] > _SLOW)

    def _differs(self, number: int, runs: Mapping[int, Message]) -> bool:
        return bool(self.plain[number]["outcome"] != runs[number]["outcome"])

    def _traced_limit(self, number: int) -> float:
        if number in self.hung:
            return 0.5
        most = max(_LEAST, self._limits.measuring)
        seconds: float = self.plain[number]["seconds"]
        return min(most, max(_LEAST, _TRACED * seconds))

    def _order(self) -> list[int]:
        """Return the order of the first run: as collected, unless there is no time for all."""
        seconds = self._outcome.seconds
        if not self.failing or (seconds or 0.0) <= self._limits.measuring * _PLAIN:
            return list(range(len(self.tests)))
        return by_relevance(self.tests, self.failing)

    async def _run(
        self,
        order: Sequence[int],
        limit: Callable[[int], float],
        trace: str,
        within: float,
        must: Iterable[int],
    ) -> dict[int, Message]:
        """Run tests in this order while there is time, and those that must be run.

        One that ends the process is not run again.
        """
        found: dict[int, Message] = {}
        todo, until = list(order), self._clock() + within
        needed = set(must)
        deaths = 0

        def take(message: Message) -> None:
            found[message["case"]] = message

        while todo:
            await self._servers.revive()
            if self._servers.collected is None:
                raise Unprovable("the tests can no longer be collected")
            left = until - self._clock()
            if left <= 0 and not (todo := [i for i in must if i not in found]):
                break
            answer = await self._servers.collected.ask(
                {
                    "do": "run",
                    "tests": todo,
                    "limits": [limit(i) for i in todo],
                    "within": left if 0 < left < math.inf else None,
                    "needed": [i in needed for i in todo],
                    "trace": trace,
                    "total": WAITING * sum(limit(i) + 3.0 for i in todo) + 10.0,
                },
                take,
            )
            if answer["end"] == "ran":
                self.effects.add(answer)
                # Time was up before all were run, or all were.
                todo = [i for i in must if i not in found]
                continue
            culprit = answer.get("at", -1)
            if culprit not in todo or culprit in found:
                deaths += 1
                if deaths > _DEATHS:
                    raise Unprovable(f"the tests cannot be run here: {answer.get('detail')}")
            else:
                found[culprit] = message_of_the_dead(self.tests[culprit]["id"], answer)
            todo = [i for i in todo if i not in found]
        return found


def by_relevance(tests: Sequence[Message], failing: Sequence[int]) -> list[int]:
    """Return the numbers of all tests: failing ones, then near ones and a sample by turns."""
    files = {tests[i]["file"] for i in failing}
    wanted = set(failing)
    others = [i for i in range(len(tests)) if i not in wanted]
    near = [i for i in others if tests[i]["file"] in files]
    near.sort(key=lambda i: min(abs(i - one) for one in failing))
    far = [i for i in others if tests[i]["file"] not in files]
    bits = max(1, len(far).bit_length())
    # In the order of the reversed digits, each beginning is spread over all.
    far = [far[n] for n in sorted(range(len(far)), key=lambda n: f"{n:0{bits}b}"[::-1])]
    mixed = (i for pair in zip_longest(near, far) for i in pair if i is not None)
    return [*failing, *mixed]
