"""Callables as validations: a Python function that is given the candidate's directory."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from runtrue import process
from runtrue.checks import output_of, relative, trim
from runtrue.loop import (
    TIMEOUT,
    Fault,
    Finding,
    Location,
    Mode,
    Outcome,
    Verdict,
    Workplace,
    fault_of_exception,
)
from runtrue.plan import callable_program
from runtrue.typed_data import decode_json

#: What a function says is recorded, and shown to fixers.
_LARGEST = 1024 * 1024
_DEEPEST = 100
#: What the candidate has to import is not for Python to start with, and nothing is left in it.
_OPTIONS = ("-E", "-P", "-B", "-X", "utf8")


class _Trouble(msgspec.Struct, frozen=True):
    """Why the function could not be asked, or broke."""

    category: str
    message: str
    available: tuple[str, ...] = ()
    mro: tuple[str, ...] = ()
    errno: int | None = None
    sample: str | None = None


class _Reply(msgspec.Struct, frozen=True):
    """What the other side writes: what the function says, or why it says nothing."""

    passed: bool = False
    message: str = ""
    data: dict[str, Any] = {}
    trouble: _Trouble | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallableCheck:
    """Calls a function in a process of its own, of the Python that runs runtrue.

    `callable` is the name of an entry point of the group `runtrue.validations`, or
    `module:function`. The function is called with the candidate's directory, and returns `passed`,
    `message` and `data`, as a mapping or as attributes.
    """

    name: str
    callable: str
    mode: Mode = Mode.REQUIRED
    timeout: float = 300.0
    env: dict[str, str] = field(default_factory=dict, hash=False)
    directory: str = "."

    @property
    def command(self) -> str:
        """The function's name, as it was given."""
        return self.callable

    async def run(self, workplace: Workplace) -> Verdict:
        """Call it. A function that breaks is the check's fault, never the candidate's."""
        workplace = replace(workplace, directory=workplace.directory / self.directory)
        environment = {**workplace.environment, **self.env}
        own = environment.get("PYTHONPATH", "").split(os.pathsep)
        request = {
            "name": self.callable,
            "directory": str(workplace.directory),
            "places": [*filter(None, own), str(workplace.directory)],
        }
        with tempfile.NamedTemporaryFile(dir=workplace.scratch) as answer:
            try:
                ended = await process.run(
                    [sys.executable, *_OPTIONS, callable_program.__file__, answer.name],
                    cwd=workplace.directory,
                    env=environment,
                    timeout=self.timeout,
                    stdin=msgspec.json.encode(request),
                    confinement=workplace.confinement,
                )
            except OSError as error:
                message = f"it cannot be called in {self.directory}: {error.strerror}"
                return self._broken(_Trouble("not_runnable", message, errno=error.errno), None)
            answered = await asyncio.to_thread(answer.read, _LARGEST + 1)
        return self._verdict(ended, answered, workplace)

    def _verdict(self, ended: process.Ended, answered: bytes, workplace: Workplace) -> Verdict:
        try:
            answer = _read(ended, answered)
        except _Unreadable as error:
            return self._broken(error.trouble, ended)
        if answer.trouble is not None:
            return self._broken(answer.trouble, ended)
        findings: tuple[Finding, ...] = ()
        if not answer.passed:
            message = trim(answer.message) or f"{self.callable} did not pass and does not say why"
            finding = Finding(
                source=self.name,
                category="not_valid",
                message=message,
                fault=Fault.CANDIDATE,
                location=place_in(answer.data, workplace, symbol=self.name),
                sample=output_of(ended) or None,
                data=answer.data,
            )
            findings = (finding,)
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=answer.passed,
            findings=findings,
            cases={self.name: Outcome.PASSED if answer.passed else Outcome.FAILED},
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            output="\n".join(filter(None, (trim(answer.message), output_of(ended)))),
        )

    def _broken(self, trouble: _Trouble, ended: process.Ended | None) -> Verdict:
        fault = fault_of_exception(trouble.mro, error_number=trouble.errno)
        outside = fault is Fault.ENVIRONMENT
        finding = Finding(
            source=self.name,
            category=trouble.category,
            message=f"{self.callable}: {trim(trouble.message)}",
            fault=fault if outside else Fault.CHECK,
            transient=outside,
            location=Location(symbol=self.name),
            attempted=(self.callable,),
            available=trouble.available,
            sample=trim(trouble.sample) if trouble.sample else output_of(ended) if ended else None,
        )
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=False,
            findings=(finding,),
            exit_code=ended.exit_code if ended else None,
            seconds=ended.seconds if ended else 0.0,
            output=output_of(ended) if ended else "",
        )


class _Unreadable(Exception):
    def __init__(self, category: str, message: str) -> None:
        super().__init__(message)
        self.trouble = _Trouble(category, message)


def _read(ended: process.Ended, answered: bytes) -> _Reply:
    if ended.timed_out:
        raise _Unreadable(TIMEOUT, f"it did not finish within {ended.seconds:.0f} s")
    if not answered:
        how = f"was killed by signal {-code}" if (code := ended.exit_code or 0) < 0 else ""
        message = f"its process {how or f'ended with exit code {code}'} before it answered"
        raise _Unreadable("died", message)
    if len(answered) > _LARGEST:
        limit = f"more than {_LARGEST // 1024**2} MB"
        raise _Unreadable("wrong_result", f"what it returned is {limit}; return less")
    try:
        answer = decode_json(answered, _Reply)
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"its return value cannot be stored as JSON: {error}"
        raise _Unreadable("wrong_result", message) from None
    if _is_deep(answer.data):
        message = f"`data` is nested more than {_DEEPEST} levels deep"
        raise _Unreadable("wrong_result", message)
    return answer


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def place_in(data: dict[str, Any], workplace: Workplace, *, symbol: str) -> Location:
    """The first of the paths in what a function says, and the first line of it."""
    file, line = _first(data.get("paths")), _first(data.get("lines"))
    if not isinstance(file, str) or not file:
        return Location(symbol=symbol)
    is_line = isinstance(line, int) and not isinstance(line, bool) and line > 0
    return Location(
        file=relative(file, workplace) or file, line=line if is_line else None, symbol=symbol
    )


def _first(value: Any) -> Any:
    if isinstance(value, list):
        return value[0] if value else None
    return value
