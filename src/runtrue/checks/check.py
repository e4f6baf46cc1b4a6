"""Checks: a command that gives a verdict on the candidate in a directory."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runtrue import process
from runtrue.checks.cargo_reader import CargoReader
from runtrue.checks.case import CaseReader
from runtrue.checks.framework import Framework, tool_of
from runtrue.checks.go_reader import GoReader
from runtrue.checks.javascript_readers import JestReader, MochaReader, VitestReader
from runtrue.checks.junit_reader import JunitReader
from runtrue.checks.line import argv_of, is_shell
from runtrue.checks.lint_readers import MypyReader, RuffReader
from runtrue.checks.other_reader import OtherReader
from runtrue.checks.pytest_reader import PytestReader
from runtrue.checks.reach import reach_of
from runtrue.checks.reader import Reader, Reading, output_of
from runtrue.loop import Fault, Finding, Location, Mode, Verdict, Workplace, fault_of_exception

#: The report of some tools is their output, which must therefore be kept whole, within reason.
_KEEP = 4 * 1024 * 1024
_RUNNERS: dict[str, type[CaseReader]] = {
    Framework.JEST: JestReader,
    Framework.VITEST: VitestReader,
    Framework.MOCHA: MochaReader,
    Framework.GO_TEST: GoReader,
    Framework.CARGO_TEST: CargoReader,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCheck:
    """Any command; those of test frameworks, ruff and mypy are read from their reports."""

    name: str
    command: str
    mode: Mode = Mode.REQUIRED
    timeout: float = 300.0

    @property
    def argv(self) -> tuple[str, ...]:
        """The command as it is started."""
        return argv_of(self.command, shell=is_shell(self.command))

    @property
    def tool(self) -> str | None:
        """The tool whose reports are understood, if the command runs one."""
        return tool_of(self.command)

    async def run(self, workplace: Workplace) -> Verdict:
        """Run the command in the workplace. What goes wrong becomes a finding."""
        reader = reader_of(self, workplace.directory)
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


def reader_of(check: CommandCheck, directory: Path) -> Reader:
    """The reader for what the command comes to in a directory."""
    shell = is_shell(check.command)
    plain = {"pytest": PytestReader, "ruff": RuffReader, "mypy": MypyReader}
    tool = tool_of(check.command, directory)
    if tool in plain:
        return plain[tool](check.name, is_shell=shell)
    reach = reach_of(check.command, directory)
    if reach is None:
        return OtherReader(check.name, is_shell=shell, command=check.command, directory=directory)
    if reach.tool == Framework.JUNIT:
        return JunitReader(check.name, is_shell=shell, reach=reach, directory=directory)
    return _RUNNERS[reach.tool](check.name, is_shell=shell, reach=reach)


def _programs(path: str) -> Iterable[str]:
    for directory in path.split(os.pathsep):
        try:
            yield from (program.name for program in Path(directory).iterdir())
        except OSError:
            continue


def find_program(name: str, path: str) -> str | None:
    """Where `name` would be found on a PATH."""
    return shutil.which(name, path=path)
