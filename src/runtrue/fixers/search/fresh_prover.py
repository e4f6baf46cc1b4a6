"""Prove candidates by the user's own command: one process for each, which is on the disk."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from runtrue import process
from runtrue.checks import CommandCheck, files_named, reader_of
from runtrue.fixers.search.evidence import Baseline, Failure, Frame, MeasuredTest, Value
from runtrue.fixers.search.project_files import ProjectFiles
from runtrue.fixers.search.servers import TrialLimits, Unprovable
from runtrue.fixers.search.trial import End, ProofResult, RecordedInput
from runtrue.loop import Workplace

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?', re.M)
_ERROR = re.compile(r"^(?:E\s+)?(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$", re.M)
_DOCTEST = re.compile(
    r"^Expected:\n(?P<expected>(?:    .*\n)+)Got:\n(?P<actual>(?:    .*\n)+)", re.M
)
_SIDES = re.compile(r"^(?P<actual>.+) (?P<operator>!=|is not|not found in) (?P<expected>.+)$")
_MISSING = {
    "attribute": re.compile(r"has no attribute '(\w+)'"),
    "name": re.compile(r"(?:name|variable|cannot import name|No module named) '([\w.]+)'"),
}
_OPERATORS = {"!=": "==", "is not": "is", "not found in": "in"}
_TESTS = re.compile(r"(^|/)(tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$)")
_LEAST_SECONDS = 2.0
_KEEP = 256 * 1024


class FreshProver:
    """Tries candidates by running the command on each. One passes when the check would."""

    def __init__(self, command: CommandCheck, workplace: Workplace, limits: TrialLimits) -> None:
        self._command = command
        self._workplace = workplace
        self._limits = limits
        self._files = ProjectFiles(workplace.root.resolve())
        self._baseline: Baseline | None = None
        self._turn = asyncio.Lock()
        self._seconds = _LEAST_SECONDS
        #: None: nothing is known of what the command calls.
        self.calls: list[RecordedInput] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, command: CommandCheck, workplace: Workplace, limits: TrialLimits | None = None
    ) -> AsyncIterator[FreshProver]:
        """Open it like a `Prover`; nothing is started yet."""
        yield cls(command, workplace, limits or TrialLimits())

    async def baseline(self) -> Baseline:
        """Run the command once, as one test named after the check. Raises Unprovable."""
        async with self._turn:
            if self._baseline is None:
                self._files.keep_all()
                ended, passed = await self._run(min(self._command.timeout, self._limits.starting))
                if not ended.timed_out:
                    self._seconds = max(_LEAST_SECONDS, self._limits.times * ended.seconds)
                self._baseline = self._read(ended, passed=passed)
            return self._baseline

    async def prove(
        self,
        texts: Mapping[str, str],
        *,
        only: Sequence[str] | None = None,
        whole: bool = False,
        patience: float = 1.0,
    ) -> ProofResult:
        """Run the command on a candidate. `only` and `whole` mean nothing where all is one test."""
        await self.baseline()
        async with self._turn:
            began = time.monotonic()
            try:
                with self._files.with_texts(texts):
                    ended, passed = await self._run(self._seconds * patience)
            finally:
                self._files.tidy()
        seconds = time.monotonic() - began
        name = self._command.name
        if passed:
            return ProofResult(end=End.PASSED, fixed=(name,), seconds=seconds)
        # One that ends with 0 and does not pass has exited before its tests were done.
        end = End.FAILED if (ended.exit_code or 0) > 0 else End.DIED
        end = End.TIMEOUT if ended.timed_out else end
        return ProofResult(
            end=end, killer=name, seconds=seconds, detail=f"exit code {ended.exit_code}"
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
        """Return None: nothing is known of what the command calls."""
        return None

    async def _run(self, seconds: float) -> tuple[process.Ended, bool]:
        """Return how the command ended, and whether its check passes."""
        command = replace(self._command, cover=False)
        where = self._workplace.directory / command.directory
        workplace = replace(self._workplace, directory=where)
        environment = {**workplace.environment, **command.env}
        # Compiled files of one candidate must not be taken for those of the next.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        reader = reader_of(command, where)
        call = reader.prepare(command.argv, environment, workplace.scratch)
        confinement = workplace.confinement
        try:
            ended = await process.run(
                call.argv,
                cwd=where,
                env=call.environment,
                timeout=seconds,
                keep=_KEEP,
                confinement=confinement.also(read=files_named(command.command))
                if confinement
                else None,
            )
        except OSError as error:
            raise Unprovable(f"the command cannot be started: {error.strerror}") from error
        return ended, reader.read(ended, workplace).passed

    # -- reading its output ------------------------------------------------------------------

    def _read(self, ended: process.Ended, *, passed: bool) -> Baseline:
        output = f"{ended.stdout.text}\n{ended.stderr.text}"
        case = MeasuredTest(
            test=self._command.name,
            passed=passed,
            seconds=ended.seconds,
            failure=None if passed else self._failure(output, timed_out=ended.timed_out),
        )
        root = self._workplace.root
        files = (path.relative_to(root).as_posix() for path in root.rglob("*.py"))
        tests = tuple(sorted(file for file in files if _TESTS.search(file)))
        return Baseline(cases=(case,), tests=tests, shares="each candidate is run by itself")

    def _failure(self, output: str, *, timed_out: bool) -> Failure:
        name = self._command.name
        if timed_out:
            message = "the command did not end in time"
            return Failure(test=name, exception="TimeUp", message=message, timed_out=True)
        doctest = _DOCTEST.search(output)
        frames, end = self._frames(output)
        if doctest is not None:
            expected, actual = doctest["expected"].strip(), doctest["actual"].strip()
            message = f"expected {expected}, got {actual}"
            return Failure(
                test=name,
                exception="AssertionError",
                message=message,
                frames=frames,
                operator="==",
                expected=_value(expected),
                actual=_value(actual),
            )
        error = next((e for e in _ERROR.finditer(output, end) if _is_error(e)), None)
        kind = error["type"].rpartition(".")[2] if error else "Failed"
        message = (error["message"] or "") if error else ""
        found = _SIDES.match(message.partition(" : ")[0]) if kind == "AssertionError" else None
        missed = {field: match[1] for field, p in _MISSING.items() if (match := p.search(message))}
        return Failure(
            test=name,
            exception=kind,
            message=message,
            frames=frames,
            attribute=missed.get("attribute"),
            name=missed.get("name"),
            key=message if kind == "KeyError" else None,
            expected=_value(found["expected"]) if found else None,
            actual=_value(found["actual"]) if found else None,
            operator=_OPERATORS[found["operator"]] if found else None,
        )

    def _frames(self, output: str) -> tuple[tuple[Frame, ...], int]:
        """Return the first traceback's frames in the project, and the end of the last one."""
        root = self._workplace.root.resolve()
        frames: list[Frame] = []
        end = 0
        start = output.find("Traceback (most recent call last)")
        following = output.find("Traceback (most recent call last)", start + 1)
        for match in _FRAME.finditer(output, max(start, 0)):
            if 0 < following < match.start():
                break
            path = (self._workplace.directory / self._command.directory / match["file"]).resolve()
            end = match.end()
            if path.is_relative_to(root) and path.is_file():
                file = path.relative_to(root).as_posix()
                function = match["name"] or "<module>"
                frames.append(Frame(file=file, line=int(match["line"]), function=function))
        return tuple(frames), end


def _is_error(match: re.Match[str]) -> bool:
    name = match["type"].rpartition(".")[2]
    return name.endswith(("Error", "Exception", "Warning", "Exit", "Interrupt", "Iteration"))


def _value(text: str) -> Value:
    try:
        kind = type(ast.literal_eval(text)).__name__
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        kind = "object"
    return Value(type=kind, repr=text)
