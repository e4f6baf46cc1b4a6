"""Prove candidates in warm node processes, several side by side."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from runtrue.checks import CommandCheck
from runtrue.fixers.search.connection import Message
from runtrue.fixers.search.evidence import Baseline, Failure, Frame, MeasuredTest, Value
from runtrue.fixers.search.javascript.project_copy import TooLarge
from runtrue.fixers.search.javascript.runner import Runner
from runtrue.fixers.search.javascript.warm_server import WarmServer
from runtrue.fixers.search.servers import TrialLimits, Unprovable
from runtrue.fixers.search.trial import End, ProofResult
from runtrue.loop import Workplace
from runtrue.process import temporary_directory

_FRAME = re.compile(
    r"(?:\bat |@|\()(?:(?P<name>[\w.$<>\[\] ]+?) )?\(?(?:file://)?"
    r"(?P<file>/[^\s:()]+):(?P<line>\d+)(?::\d+)?\)?"
)
#: How node begins the report of a file that it cannot read.
_PLACE = re.compile(r"^(?:file://)?(?P<file>/[^\s:()]+):(?P<line>\d+)$(?P<name>)", re.MULTILINE)
#: A run may take this many times as long as without an edit, and at least so many seconds.
_TIMES, _LEAST = 6.0, 1.0
#: The share of the time for measuring within which they are run again.
_AGAIN = 0.5
#: Tests that are run one by one for their lines, where a runner cannot count them by itself.
_MOST_SINGLE, _MOST_PASSING = 4, 10


class WarmProver:
    """Tries candidates on the tests of a project. One passes when all tests that count do."""

    def __init__(self, runner: Runner, servers: Sequence[WarmServer], limits: TrialLimits) -> None:
        self._runner = runner
        self._servers = servers
        self._limits = limits
        self._idle: asyncio.Queue[WarmServer] = asyncio.Queue()
        for server in servers:
            self._idle.put_nowait(server)
        self._seconds: dict[str, float] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, check: CommandCheck, workplace: Workplace, runner: Runner, limits: TrialLimits
    ) -> AsyncIterator[WarmProver]:
        """Start one process for each job, when it is first used. Raises Unprovable."""
        async with AsyncExitStack() as stack:
            servers = []
            for _ in range(max(1, limits.jobs)):
                directory = stack.enter_context(temporary_directory("rt-"))
                try:
                    server = WarmServer(check, workplace, runner, directory)
                except TooLarge as error:
                    raise Unprovable(str(error)) from error
                stack.push_async_callback(server.close)
                servers.append(server)
            yield cls(runner, servers, limits)

    async def measure(
        self, files: Sequence[str], failing: Sequence[str], seconds: float
    ) -> Baseline:
        """Run the tests of these files as they are, and count lines. Raises Unprovable."""
        server = await self._idle.get()
        try:
            return await self._measured(server, files, failing, seconds)
        finally:
            self._idle.put_nowait(server)

    async def _measured(
        self, server: WarmServer, files: Sequence[str], failing: Sequence[str], seconds: float
    ) -> Baseline:
        counts = self._runner.name != "jest"
        request: Message = {"files": list(files), "names": None, "cover": counts, "whole": True}
        limit = max(seconds, 5.0)
        began = time.monotonic()
        answer = await server.run(request, limit)
        spent = usual = time.monotonic() - began
        if answer["end"] == "ran" and spent < _AGAIN * limit:
            # The first run loads the runner and compiles; limits are for those that come after.
            began = time.monotonic()
            again = await server.run({**request, "cover": False}, limit - spent)
            # Where nothing could be loaded, it says nothing of how long that takes.
            named = {one["test"] for one in again.get("tests", ()) if "::" in one["test"]}
            if again["end"] == "ran" and named:
                usual = time.monotonic() - began
                # A test that has another name in each run cannot be asked for by its name.
                steady = [one for one in answer["tests"] if one["test"] in named]
                files = [one for one in answer["tests"] if "::" not in one["test"]]
                answer["tests"] = [*steady, *files]
            spent += time.monotonic() - began
        if answer["end"] == "late":
            # Some test does not end: those that fail are known from the check.
            late = [{"test": one, "ok": False, "late": True} for one in failing or files]
            answer = {"end": "ran", "tests": late}
        if answer["end"] != "ran":
            raise Unprovable(f"the tests could not be run warm: {answer.get('detail', '')[:300]}")
        tests: list[Message] = [*answer["tests"]]
        if self._runner.name == "jest":
            await self._add_lines(server, tests, limit - spent)
        root = server.copy.root
        # Files that are tests themselves only show that they failed, where their tests are known.
        named = {one["test"].partition("::")[0] for one in tests if "::" in one["test"]}
        cost = usual / max(1, len({one["test"].partition("::")[0] for one in tests}))
        for one in tests:
            # Loading the files again costs more than most tests do.
            one["seconds"] = max(one.get("seconds") or 0.0, min(cost, 1.0) / 2)
        cases = [
            _case(one, root)
            for one in tests
            if "::" in one["test"] or one["test"] not in named or _is_alone(one, tests)
        ]
        for one in tests:
            file = one["test"].partition("::")[0]
            if "::" not in one["test"] and one.get("seconds"):
                self._seconds[file] = one["seconds"]
        for file in {one["test"].partition("::")[0] for one in tests}:
            self._seconds.setdefault(file, cost)
        return Baseline(cases=tuple(cases), tests=tuple(sorted(self._seconds)))

    async def _add_lines(self, server: WarmServer, tests: list[Message], seconds: float) -> None:
        """Run failing tests one by one, and the passing ones of each file, for their lines."""
        until = time.monotonic() + max(seconds, 2.0)
        failing = [one for one in tests if not one["ok"] and "::" in one["test"]]
        passing = [one for one in tests if one["ok"]]
        near = {one["test"].partition("::")[0] for one in failing}
        passing.sort(key=lambda one: one["test"].partition("::")[0] not in near)
        for one in (*failing[:_MOST_SINGLE], *passing[:_MOST_PASSING]):
            left = until - time.monotonic()
            if left <= 0:
                return
            file = one["test"].partition("::")[0]
            request = {"files": [file], "names": [one["test"]], "cover": True, "whole": True}
            answer = await server.run(request, left)
            if answer["end"] == "ran" and answer["tests"]:
                one["lines"] = answer["tests"][0].get("lines")

    async def prove(
        self,
        texts: Mapping[str, str],
        *,
        only: Sequence[str] | None = None,
        whole: bool = False,
        patience: float = 1.0,
    ) -> ProofResult:
        """Run the tests that count on a candidate: those of `only`, or all."""
        wanted = list(only) if only is not None else sorted(self._seconds)
        files = list(dict.fromkeys(one.partition("::")[0] for one in wanted))
        is_script = self._runner.name == "script"
        by_name = not is_script and all("::" in one for one in wanted)
        limit = max(_LEAST, _TIMES * sum(self._seconds.get(one, 1.0) for one in files)) * patience
        request: Message = {
            "files": files,
            "names": wanted if by_name else None,
            "whole": whole,
            "changed": list(texts),
        }
        server = await self._idle.get()
        began = time.monotonic()
        try:
            with server.copy.with_texts(texts):
                answer = await server.run(request, limit)
        finally:
            self._idle.put_nowait(server)
        return _result(answer, wanted, is_script=is_script, seconds=time.monotonic() - began)

    async def write(self, texts: Mapping[str, str]) -> None:
        """Make a candidate what later ones start from."""
        for server in self._servers:
            server.copy.write(texts)


def _result(
    answer: Message, wanted: Sequence[str], *, is_script: bool, seconds: float
) -> ProofResult:
    if answer["end"] == "late":
        return ProofResult(end=End.TIMEOUT, killer=wanted[0], seconds=seconds)
    if answer["end"] != "ran":
        detail = str(answer.get("detail", "")).partition("\n")[0]
        return ProofResult(end=End.DIED, killer=wanted[0], seconds=seconds, detail=detail)
    tests: list[dict[str, Any]] = answer["tests"]
    passed = {one["test"] for one in tests if one["ok"]}
    if any(one.get("late") for one in tests):
        return ProofResult(end=End.TIMEOUT, killer=wanted[0], seconds=seconds)
    if is_script:
        fixed = [one for one in wanted if one.partition("::")[0] in passed]
    else:
        failed_in = {one["test"].partition("::")[0] for one in tests if not one["ok"]}
        broken = {one["test"] for one in tests if not one["ok"] and "::" not in one["test"]}
        # A file that could not be loaded is named itself: then its tests are not known yet.
        passed |= {one.partition("::")[0] for one in passed} - failed_in
        fixed = [one for one in wanted if one in passed and one.partition("::")[0] not in broken]
    if len(fixed) == len(wanted):
        return ProofResult(end=End.PASSED, fixed=tuple(fixed), seconds=seconds)
    failed = next((one for one in tests if not one["ok"]), None)
    error = (failed or {}).get("error") or {}
    text = f"{error.get('type')}: {error.get('message')}"
    return ProofResult(
        end=End.FAILED,
        killer=failed["test"] if failed else wanted[0],
        fixed=tuple(fixed),
        seconds=seconds,
        detail=str(error.get("type", "")),
        mark=mark_of(text),
    )


def mark_of(text: str) -> str:
    """Return what tells one failure from another."""
    plain = re.sub(r"\d+(?:\.\d+)? ?ms|/tmp/\S+|0x[0-9a-f]+", "", text)
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:12]


def _is_alone(test: Message, tests: Iterable[Message]) -> bool:
    """True for a file that failed although none of its tests did."""
    if test["ok"]:
        return False
    own = [one for one in tests if one["test"].startswith(f"{test['test']}::")]
    return all(one["ok"] for one in own)


def _case(test: Message, root: Path) -> MeasuredTest:
    lines = test.get("lines")
    error = test.get("error") or {}
    text = f"{error.get('type')}: {error.get('message')}"
    return MeasuredTest(
        test=test["test"],
        passed=test["ok"],
        seconds=test.get("seconds") or 0.0,
        lines=None if lines is None else {f: frozenset(own) for f, own in lines.items()},
        failure=None if test["ok"] else failure_of(test["test"], error, root, test.get("late")),
        mark="" if test["ok"] else mark_of(text),
    )


def failure_of(name: str, error: Mapping[str, Any], root: Path, late: bool | None) -> Failure:
    """Return why a test failed, from its error."""
    if late:
        return Failure(test=name, exception="TimeUp", message="did not end", timed_out=True)
    message = str(error.get("message") or "")
    expected, actual = (
        Value(type="object", repr=error[side]) if isinstance(error.get(side), str) else None
        for side in ("expected", "actual")
    )
    missing = re.search(r"(?:ReferenceError: )?(\w+) is not defined", message)
    return Failure(
        test=name,
        exception=str(error.get("type") or "Error"),
        message=message,
        frames=tuple(frames_in(str(error.get("stack") or ""), root)),
        name=missing[1] if missing else None,
        operator="==" if expected or actual else None,
        expected=expected,
        actual=actual,
    )


def frames_in(stack: str, root: Path) -> list[Frame]:
    """Return the frames of a stack in the project's own files, the innermost last."""
    found = []
    for match in (*_FRAME.finditer(stack), *_PLACE.finditer(stack)):
        path = Path(match["file"])
        if not path.is_relative_to(root):
            continue
        file = path.relative_to(root).as_posix()
        if "node_modules" not in file:
            found.append(Frame(file=file, line=int(match["line"]), function=match["name"] or ""))
    return found[::-1]
