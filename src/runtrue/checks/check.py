"""Checks: a command that gives a verdict on the candidate in a directory."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runtrue import process
from runtrue.checks.lint_readers import MypyReader, RuffReader
from runtrue.checks.pytest_reader import PytestReader
from runtrue.checks.reader import Reader, Reading, output_of
from runtrue.loop import Fault, Finding, Location, Mode, Verdict, Workplace, fault_of_exception

#: mypy's report is its output, which must therefore be kept whole, within reason.
_KEEP = 4 * 1024 * 1024
#: What only a shell understands; a command with none of it is run directly.
_SHELL = re.compile(r"[|&;<>()$`\n*?~{}\[\]]|^\s*\w+=")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCheck:
    """Any command; those of pytest, ruff and mypy are read from their reports."""

    name: str
    command: str
    mode: Mode = Mode.REQUIRED
    timeout: float = 300.0

    @property
    def argv(self) -> tuple[str, ...]:
        """The command as it is started."""
        if is_shell(self.command):
            return ("/bin/sh", "-c", self.command)
        return tuple(shlex.split(self.command))

    @property
    def tool(self) -> str | None:
        """The tool whose reports are understood, if the command runs one."""
        return tool_of(self.command)

    async def run(self, workplace: Workplace) -> Verdict:
        """Run the command in the workplace. What goes wrong becomes a finding."""
        reader = _reader(self)
        call = reader.prepare(self.argv, workplace.environment, workplace.scratch)
        try:
            ended = await process.run(
                call.argv,
                cwd=workplace.directory,
                env=call.environment,
                timeout=self.timeout,
                keep=_KEEP,
            )
        except OSError as error:
            return self._verdict(
                Reading(passed=False, findings=(self._not_started(error, call.environment),))
            )
        reading = reader.read(ended, workplace)
        return self._verdict(reading, ended)

    def _verdict(self, reading: Reading, ended: process.Ended | None = None) -> Verdict:
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=reading.passed,
            findings=reading.findings,
            cases=reading.cases,
            exit_code=ended.exit_code if ended else None,
            seconds=ended.seconds if ended else 0.0,
            output=output_of(ended) if ended else "",
        )

    def _not_started(self, error: OSError, environment: dict[str, str]) -> Finding:
        program = self.argv[0]
        known = difflib.get_close_matches(program, _programs(environment.get("PATH", "")), n=3)
        environment_fault = fault_of_exception((), error_number=error.errno)
        missing = environment_fault is not Fault.ENVIRONMENT
        return Finding(
            source=self.name,
            category="not_runnable",
            message=f"the program {program!r} cannot be run: {error.strerror}",
            fault=Fault.CHECK if missing else Fault.ENVIRONMENT,
            transient=not missing,
            location=Location(symbol=self.name),
            attempted=(program,),
            available=tuple(known),
        )


def is_shell(command: str) -> bool:
    """Whether a command needs a shell."""
    return _SHELL.search(command) is not None


def tool_of(command: str) -> str | None:
    """`pytest`, `ruff` or `mypy`, when the command runs it in a way whose report can be had.

    pytest is reached through its environment variable, even from within a line for the shell;
    the others need an argument of their own.
    """
    if is_shell(command):
        return "pytest" if re.search(r"\b(pytest|py\.test)\b", command) else None
    words = shlex.split(command)
    names = [Path(word).name for word in words]
    for index, name in enumerate(names):
        if name in ("pytest", "py.test"):
            return "pytest"
        if name == "mypy":
            return "mypy"
        if name == "ruff" and "check" in words[index + 1 :]:
            return "ruff"
    return None


def _reader(check: CommandCheck) -> Reader:
    kinds = {"pytest": PytestReader, "ruff": RuffReader, "mypy": MypyReader}
    return kinds.get(check.tool or "", Reader)(check.name, is_shell=is_shell(check.command))


def _programs(path: str) -> Iterable[str]:
    for directory in path.split(os.pathsep):
        try:
            yield from (program.name for program in Path(directory).iterdir())
        except OSError:
            continue


def find_program(name: str, path: str) -> str | None:
    """Where `name` would be found on a PATH."""
    return shutil.which(name, path=path)
