"""Prove candidates by running the tests in copies of one preloaded process."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtrue.checks import CommandCheck
from runtrue.fixers.search.connection import Message
from runtrue.fixers.search.early_servers import EarlyServers
from runtrue.fixers.search.evidence import (
    Baseline,
    MeasuredTest,
    failure_from,
    measured_test,
    message_of_the_dead,
)
from runtrue.fixers.search.project_files import ProjectFiles
from runtrue.fixers.search.servers import Servers, TrialLimits, Unprovable
from runtrue.fixers.search.trial import End, ProofResult
from runtrue.loop import Workplace

__all__ = ["Prover", "TrialLimits", "Unprovable"]

_DEATHS = 3
#: How many existing files a candidate may write, beside those that the tests write.
_WRITTEN = 3
#: Reasons why a file can never be changed where all tests are collected already.
_NEVER_LIVE = ("it is not imported", "its asserts are rewritten")


class Prover:
    """Tries candidates with the user's own pytest command, started once."""

    def __init__(self, servers: Servers, workplace: Workplace, limits: TrialLimits) -> None:
        self.servers = servers
        self._limits = limits
        self._root = workplace.root.resolve()
        self._files = ProjectFiles(self._root)
        self._baseline: Baseline | None = None
        self._state: dict[Path, tuple[int, int]] = {}
        self._measuring = asyncio.Lock()
        self._plan: Message = {}
        self._numbers: dict[str, int] = {}
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
        self.calls: list[tuple[str, str]] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls,
        command: CommandCheck,
        workplace: Workplace,
        limits: TrialLimits | None = None,
        early: EarlyServers | None = None,
    ) -> AsyncIterator[Prover]:
        """Start the command, or take an `early` one, and collect its tests. Raises Unprovable."""
        limits = limits or TrialLimits()
        running = early.taken() if early else Servers(command, workplace, limits).running()
        prover = early.prover if early else None
        try:
            async with running as servers:
                prover = prover or await cls.collected(servers, workplace, limits)
                yield prover
        finally:
            if prover is not None:
                prover.tidy()

    @classmethod
    async def collected(cls, servers: Servers, workplace: Workplace, limits: TrialLimits) -> Prover:
        """Have running servers collect the tests. Raises Unprovable."""
        prover = cls(servers, workplace, limits)
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
        """Run all tests on the unchanged program, once."""
        async with self._measuring:
            if self._baseline is None:
                self._baseline = await self._measure()
                self._state = self._files.state()
            return self._baseline

    async def _measure(self) -> Baseline:
        tests, broken = self.servers.hello["tests"], self.servers.hello["broken"]
        everything = list(range(len(tests)))
        effects = _Effects()
        plain = await self._run(everything, [self._limits.longest] * len(tests), "", effects)
        hung = {i for i, one in plain.items() if (one["failure"] or {}).get("timed_out")}
        first = sorted(everything, key=lambda i: plain[i]["outcome"] != "failed")
        limits = [self._traced_limit(plain[i], i in hung) for i in first]
        try:
            traced = await self._run(first, limits, "well", effects)
        except Unprovable:  # the tracer is at fault: without it they could be run
            traced = await self._run(first, limits, "plainly", effects)
        shares = None
        ended = [i for i in everything if i not in hung]
        unsteady = {i for i in ended if plain[i]["outcome"] != traced[i]["outcome"]}
        if unsteady:
            again = await self._run(
                [i for i in first if i not in hung],
                [self._limits.longest] * (len(tests) - len(hung)),
                "",
                effects,
            )
            differ = [i for i in again if plain[i]["outcome"] != again[i]["outcome"]]
            if differ:
                shares = f"{tests[differ[0]]['id']} ends otherwise when the order is another"
        in_order = shares is not None
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
        self._touching = frozenset(
            i for i in everything if plain[i]["touches"] or traced[i]["touches"]
        )
        self._make_plan(plain, hung, effects, in_order=in_order)
        self._jobs = 1 if in_order else self._limits.jobs + 1
        self._turns = asyncio.Semaphore(self._jobs)
        cases = [measured_test(tests[i]["id"], plain[i], traced[i]) for i in everything]
        cases += [
            MeasuredTest(
                test=one["id"],
                passed=False,
                seconds=0.0,
                failure=failure_from(one["failure"]),
            )
            for one in broken
        ]
        return Baseline(
            cases=tuple(cases),
            imported={f: frozenset(v) for f, v in self.servers.hello.get("imported", {}).items()},
            tests=tuple(self.servers.hello["files"]),
            shares=shares,
            unsteady=frozenset(tests[i]["id"] for i in unsteady),
        )

    def _keep(self, written: Collection[str]) -> None:
        self._files.keep(written)
        self._known.update(filter(self._files.can_restore, written))

    def _relative(self, path: str) -> str:
        return Path(path).relative_to(self._root).as_posix()

    def _traced_limit(self, plain: Message, hung: bool) -> float:
        return 0.5 if hung else max(2.0, 30 * plain["seconds"])

    async def _run(
        self, order: Sequence[int], limits: Sequence[float], trace: str, effects: _Effects
    ) -> dict[int, Message]:
        """Run some tests, in this order; one that ends the process is not run again."""
        found: dict[int, Message] = {}
        limit_of = dict(zip(order, limits, strict=True))
        todo = list(order)
        deaths = 0

        def take(message: Message) -> None:
            found[message["case"]] = message

        while todo:
            await self.servers.revive()
            if self.servers.collected is None:
                raise Unprovable("the tests can no longer be collected")
            answer = await self.servers.collected.ask(
                {
                    "do": "run",
                    "tests": todo,
                    "limits": [limit_of[i] for i in todo],
                    "trace": trace,
                    "total": sum(limit_of[i] + 3.0 for i in todo) + 10.0,
                },
                take,
            )
            if answer["end"] == "ran":
                effects.add(answer)
                break
            culprit = answer.get("at", -1)
            if culprit not in todo or culprit in found:
                deaths += 1
                if deaths > _DEATHS:
                    raise Unprovable(f"the tests cannot be run here: {answer.get('detail')}")
            else:
                test = self.servers.hello["tests"][culprit]["id"]
                found[culprit] = message_of_the_dead(test, answer)
            todo = [i for i in todo if i not in found]
        return found

    def _make_plan(
        self, plain: Mapping[int, Message], hung: set[int], effects: _Effects, *, in_order: bool
    ) -> None:
        limits = self._limits
        ended = [one["seconds"] for i, one in plain.items() if i not in hung]
        slowest = max(ended, default=0.0)
        longest = max(limits.least_failing, limits.times * slowest)
        tests = [
            {
                "id": test["id"],
                "was": plain[i]["outcome"],
                "broken": False,
                "limit": longest
                if plain[i]["outcome"] == "failed"
                else max(limits.least, limits.times * plain[i]["seconds"]),
            }
            for i, test in enumerate(self.servers.hello["tests"])
        ]
        tests += [
            {"id": one["id"], "was": "failed", "broken": True, "limit": max(longest, 1.0)}
            for one in self.servers.hello["broken"]
        ]
        self._numbers = {str(test["id"]): i for i, test in enumerate(tests)}
        self._plan = {
            "tests": tests,
            "order": sorted(
                range(len(tests)), key=lambda i: not in_order and tests[i]["was"] != "failed"
            ),
            "in_order": in_order,
            "touching": sorted(self._touching),
            "places": sorted(effects.elsewhere),
            "ignored": sorted(effects.changed),
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
        wanted = None
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
            if answer["detail"] in _NEVER_LIVE and len(texts) == 1:
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
        )

    async def behave(
        self, texts: Mapping[str, str], *, seed: int, inputs: int
    ) -> tuple[str, ...] | None:
        """Return a candidate's results for inputs like those of the tests, one text for each.

        The inputs are the same for each candidate. None where there are none, or where they would
        differ: for a candidate that changes what runs on import.
        """
        await self.baseline()
        request = {
            "do": "behave",
            "texts": {str(self._root / file): text for file, text in texts.items()},
            "seed": seed,
            "inputs": inputs,
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
        self.calls = [(module, text) for module, text in answer["calls"]]
        return tuple(answer["behaved"])


@dataclass(slots=True)
class _Effects:
    """The side effects of running the tests."""

    written: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)
    ran: bool = False

    def add(self, answer: Message) -> None:
        self.written.update(answer["written"])
        self.elsewhere.update(answer["elsewhere"])
        self.changed.update(answer["changed"])
        self.ran = self.ran or bool(answer["ran"])
