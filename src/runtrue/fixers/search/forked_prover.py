"""Prove candidates by running the tests in copies of one preloaded process."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from runtrue.checks import CommandCheck
from runtrue.fixers.search.budget import SearchClock
from runtrue.fixers.search.connection import Message
from runtrue.fixers.search.early_servers import EarlyServers
from runtrue.fixers.search.evidence import (
    Baseline,
    MeasuredTest,
    failure_from,
    measured_test,
)
from runtrue.fixers.search.measurement import UNKNOWN, CheckOutcome, TestMeasurement
from runtrue.fixers.search.project_files import ProjectFiles
from runtrue.fixers.search.servers import Servers, TrialLimits, Unprovable
from runtrue.fixers.search.trial import End, ProofResult, RecordedInput
from runtrue.loop import Workplace

__all__ = ["Prover", "TrialLimits", "Unprovable"]

#: How many existing files a candidate may write, beside those that the tests write.
_WRITTEN = 3
#: The reason why a file can never be changed where all tests are collected already.
_NEVER_LIVE = "it is not imported"


class Prover:
    """Tries candidates with the user's own pytest command, started once."""

    def __init__(
        self,
        servers: Servers,
        workplace: Workplace,
        limits: TrialLimits,
        outcome: CheckOutcome = UNKNOWN,
    ) -> None:
        self.servers = servers
        #: Seconds that the first run of the tests took.
        self.spent = 0.0
        self._limits = limits
        self._outcome = outcome
        self._root = workplace.root.resolve()
        self._files = ProjectFiles(self._root)
        self._baseline: Baseline | None = None
        self._state: dict[Path, tuple[int, int]] = {}
        self._measuring = asyncio.Lock()
        self._plan: Message = {}
        self._numbers: dict[str, int] = {}
        #: The tests that count unless others are named; None for all.
        self._every: list[int] | None = None
        self._jobs = 1
        self._turns = asyncio.Semaphore(1)
        self._on_disk = False
        self._tidies = False
        #: Files that tests or candidates write, and that can be restored.
        self._known: set[str] = set()
        #: The tests that start programs, or write into the project.
        self._touching: frozenset[int] = frozenset()
        self._alone = asyncio.Lock()
        self._killer: str | None = None
        self._not_live: set[str] = set()
        #: The inputs of `behave`: the module and the text of each call.
        self.calls: list[RecordedInput] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls,
        command: CommandCheck,
        workplace: Workplace,
        limits: TrialLimits | None = None,
        early: EarlyServers | None = None,
        outcome: CheckOutcome = UNKNOWN,
    ) -> AsyncIterator[Prover]:
        """Start the command, or take an `early` one, and collect its tests. Raises Unprovable."""
        limits = limits or TrialLimits()
        running = early.taken() if early else Servers(command, workplace, limits).running()
        prover = early.prover if early else None
        try:
            async with running as servers:
                prover = prover or await cls.collected(servers, workplace, limits, outcome)
                yield prover
        finally:
            if prover is not None:
                prover.tidy()

    @classmethod
    async def collected(
        cls,
        servers: Servers,
        workplace: Workplace,
        limits: TrialLimits,
        outcome: CheckOutcome = UNKNOWN,
    ) -> Prover:
        """Have running servers collect the tests. Raises Unprovable."""
        prover = cls(servers, workplace, limits, outcome)
        await servers.collect()
        return prover

    def is_as_measured(self) -> bool:
        """Return whether the files are those that the tests were last run on."""
        return self._files.state() == self._state

    def tidy(self) -> None:
        """Restore the files, where tests or candidates write any."""
        if self._tidies:
            self._files.tidy()

    # -- the program as it is ---------------------------------------------------------------------

    async def baseline(self) -> Baseline:
        """Run the tests on the unchanged program, once: at least those that fail."""
        async with self._measuring:
            if self._baseline is None:
                self._baseline = await self._measure()
                self._state = self._files.state()
            return self._baseline

    async def _measure(self) -> Baseline:
        clock = SearchClock()
        found = TestMeasurement(self.servers, self._limits, self._outcome)
        await found.run()
        effects, order = found.effects, found.out_of_order
        shares = f"{order} ends otherwise when the order is another" if order else None
        if effects.ran:
            shares = shares or "tests run other programs"
        if effects.written:
            shares = shares or f"tests write {self._relative(min(effects.written))}"
        self._on_disk = effects.ran
        self._tidies = bool(effects.written) or effects.ran
        self._keep(effects.written)
        if effects.ran:
            self._files.keep_all()
        if self._tidies:
            self._files.tidy()
        runs = (found.plain, found.traced)
        self._touching = frozenset(i for run in runs for i in run if run[i]["touches"])
        self._make_plan(found)
        self._jobs = 1 if order else self._limits.jobs + 1
        self._turns = asyncio.Semaphore(self._jobs)
        self.spent = clock()
        return self._baseline_of(found, shares)

    def _baseline_of(self, found: TestMeasurement, shares: str | None) -> Baseline:
        names = [test["id"] for test in found.tests]
        plain, traced = found.plain, found.traced
        cases = [measured_test(names[i], plain[i], traced.get(i)) for i in sorted(plain)]
        late = [names[i] for i in found.failing if i not in plain]
        failures = {one["id"]: failure_from(one["failure"]) for one in self.servers.hello["broken"]}
        cases += [
            MeasuredTest(test=test, passed=False, seconds=0.0, failure=failures.get(test))
            for test in (*late, *failures)
        ]
        return Baseline(
            cases=tuple(cases),
            imported={f: frozenset(v) for f, v in self.servers.hello.get("imported", {}).items()},
            tests=tuple(self.servers.hello["files"]),
            shares=shares,
            unsteady=frozenset(names[i] for i in found.unsteady),
        )

    def _keep(self, written: Collection[str]) -> None:
        self._files.keep(written)
        self._known.update(filter(self._files.can_restore, written))

    def _relative(self, path: str) -> str:
        return Path(path).relative_to(self._root).as_posix()

    def _make_plan(self, found: TestMeasurement) -> None:
        limits, plain, in_order = self._limits, found.plain, found.out_of_order is not None
        ended = [one["seconds"] for i, one in plain.items() if i not in found.hung]
        longest = max(limits.least_failing, limits.times * max(ended, default=0.0))
        tests = []
        for i, test in enumerate(found.tests):
            was, limit = "failed" if i in found.failing else "passed", max(longest, limits.longest)
            if i in plain:
                was, limit = plain[i]["outcome"], limits.times * plain[i]["seconds"]
                limit = longest if was == "failed" else max(limits.least, limit)
            tests.append({"id": test["id"], "was": was, "broken": False, "limit": limit})
        tests += [
            {"id": one["id"], "was": "failed", "broken": True, "limit": max(longest, 1.0)}
            for one in self.servers.hello["broken"]
        ]
        self._numbers = {str(test["id"]): i for i, test in enumerate(tests)}
        unknown = {i for i in range(len(found.tests)) if i not in plain} - set(found.failing)
        self._every = sorted(set(range(len(tests))) - unknown) if unknown else None

        def place(i: int) -> tuple[bool, int]:
            """Put those that fail first, then those that end soon."""
            return tests[i]["was"] != "failed", _step(plain[i]["seconds"]) if i in plain else 0

        self._plan = {
            "tests": tests,
            "order": list(range(len(tests))) if in_order else sorted(range(len(tests)), key=place),
            "in_order": in_order,
            "touching": sorted(self._touching),
            "places": sorted(found.effects.elsewhere),
            "ignored": sorted(found.effects.changed),
            "starting": max(1.0, limits.times * self.servers.hello["seconds"]),
            "total": 10.0
            + limits.times * (sum(ended) + self.servers.hello["seconds"])
            + 4 * longest,
        }
        self.servers.plan(self._plan)

    # -- candidates -------------------------------------------------------------------------------

    async def prove(
        self,
        texts: Mapping[str, str],
        *,
        only: Sequence[str] | None = None,
        whole: bool = False,
        patience: float = 1.0,
    ) -> ProofResult:
        """Run the tests on a candidate: some files, relative to the root, with other content.

        Passes when all tests pass that failed before, and all that passed. Stops at the first that
        does not; with `whole`, after all that failed before. `only` are the tests that count, if
        not all do; `patience` multiplies the time limits.
        """
        await self.baseline()
        wanted = self._every
        if only is not None:
            wanted = sorted(self._numbers[test] for test in only if test in self._numbers)
        request = {
            "do": "try",
            "texts": {str(self._root / file): text for file, text in texts.items()},
            "only": wanted,
            "whole": whole,
            "patience": patience,
            "total": self._plan["total"] * patience,
        }
        began = time.monotonic()
        first = self._first_of(request)
        if first is not None:
            async with self._turns:
                began = time.monotonic()
                answer = await self._try(first, texts)
                # Which of those that ran together hit the limit shows when each runs alone.
                together = self._jobs > 1 and self.servers.exceeded is not None
                again = answer["end"] == "died" and together
            is_over = first is request or answer["end"] != "passed"
            if answer["end"] != "writes" and not again and is_over:
                return self._trial(answer, time.monotonic() - began)
            if answer["end"] == "writes" and not answer["path"]:
                self._files.keep_all()
        async with self._only_one():
            answer = await self._try_alone(request, texts)
            return self._trial(answer, time.monotonic() - began)

    def _first_of(self, request: Message) -> Message | None:
        """Return the request that can run beside others: usually all, else what touches nothing."""
        if not self._tidies:
            return request
        tests, wanted = self._plan["tests"], request["only"]
        if wanted is None:
            wanted = range(len(tests))
        quiet = [i for i in wanted if i not in self._touching]
        fails = any(tests[i]["was"] == "failed" for i in quiet)
        if request["whole"] or self._plan["in_order"] or not fails:
            return None
        return {**request, "only": quiet}

    @contextlib.asynccontextmanager
    async def _only_one(self) -> AsyncIterator[None]:
        """Hold all turns: nothing else is tried meanwhile."""
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self._alone)
            for _ in range(self._jobs):
                await stack.enter_async_context(self._turns)
            yield

    async def _try_alone(self, request: Message, texts: Mapping[str, str]) -> Message:
        """Try a candidate that writes below the project, and restore the files."""
        for _ in range(1 + _WRITTEN):
            asked = {**request, "alone": True, "known": sorted(self._known)}
            await self.servers.revive()  # from the files as they are
            try:
                with self._files.with_texts(texts) if self._on_disk else contextlib.nullcontext():
                    answer = await self._try(asked, texts)
            finally:
                self._files.tidy()
            if answer["end"] != "writes":
                return answer
            self._keep([answer["path"]])
        return {"end": "died", "detail": f"it writes {self._relative(answer['path'])}"}

    async def _try(self, request: Message, texts: Mapping[str, str]) -> Message:
        await self.servers.revive()
        if self._killer is not None:
            request["first"] = self._numbers.get(self._killer)
        servers, tests = self.servers, self._plan["tests"]
        wanted = request["only"] if request["only"] is not None else range(len(tests))
        broken = any(tests[i]["broken"] for i in wanted)
        if servers.collected is not None and not broken and self._not_live.isdisjoint(texts):
            answer = await servers.collected.ask(request)
            if answer["end"] != "fresh":
                return self._explained(answer)
            if answer["detail"] == _NEVER_LIVE and len(texts) == 1:
                self._not_live.update(texts)
        if servers.midway is not None and not self._is_loaded(texts):
            return self._explained(await servers.midway.ask(request))
        if servers.fresh is None:  # it has died meanwhile
            return {"end": "died"}
        return self._explained(await servers.fresh.ask(request))

    def _explained(self, answer: Message) -> Message:
        """Return the answer with the limit for which the servers were ended, if any."""
        hit = self.servers.exceeded
        if hit is None or answer["end"] != "died":
            return answer
        return {**answer, "detail": f"it {hit.message}"}

    def _is_loaded(self, texts: Mapping[str, str]) -> bool:
        """Return whether some files are imported before any test is, or nothing is midway."""
        midway = self.servers.midway
        return midway is None or not set(texts).isdisjoint(midway.hello["loaded"])

    def _trial(self, answer: Message, seconds: float) -> ProofResult:
        end = End(answer["end"])
        killer = answer.get("killer")
        at = answer.get("at", -1)
        if killer is None and 0 <= at < len(self._plan["tests"]):
            killer = self._plan["tests"][at]["id"]
        if end is not End.PASSED and killer in self._numbers:
            self._killer = killer
        return ProofResult(
            end=end,
            killer=killer,
            fixed=tuple(answer.get("fixed", ())),
            seconds=seconds,
            detail=answer.get("detail", ""),
            mark=answer.get("mark", ""),
        )

    async def behave(
        self,
        texts: Mapping[str, str],
        *,
        seed: int,
        inputs: int,
        near: Sequence[str] = (),
        functions: Mapping[str, Sequence[tuple[int, int]]] = MappingProxyType({}),
    ) -> tuple[str, ...] | None:
        """Return a candidate's results for inputs like those of the tests, one text for each.

        The inputs are the same for each candidate with the same arguments: those of the tests
        `near` it come first, and `functions`, the lines of bodies by file, are called as well.
        None where there are none, or where they would differ: for a candidate that changes what
        runs on import.
        """
        await self.baseline()
        request = {
            "do": "behave",
            "texts": {str(self._root / file): text for file, text in texts.items()},
            "seed": seed,
            "inputs": inputs,
            "near": [self._numbers[test] for test in near if test in self._numbers],
            "functions": {file: [list(one) for one in found] for file, found in functions.items()},
            "alone": self._tidies,
            "known": sorted(self._known),
            "total": 30.0,
        }
        async with self._turns:
            await self.servers.revive()
            # Where tests cannot be imported, only a candidate shows what they call.
            broken = any(test["broken"] for test in self._plan["tests"])
            server = self.servers.collected
            if broken or server is None:
                server = self.servers.midway if not self._is_loaded(texts) else self.servers.fresh
            if server is None or (broken and not texts):
                return None
            answer = await server.ask(request)
            if self._tidies:
                self._files.tidy()
        if answer["end"] != "behaved":
            return None
        names = {number: test for test, number in self._numbers.items()}
        self.calls = [
            RecordedInput(module, text, names.get(test)) for module, text, test in answer["calls"]
        ]
        return tuple(answer["behaved"])


def _step(seconds: float) -> int:
    """Return how long a test takes, as the number of its digits in milliseconds."""
    return len(str(int(seconds * 1000)))
