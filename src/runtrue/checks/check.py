"""Checks: run a command to get a verdict on the candidate in a directory."""

from __future__ import annotations

import difflib
import functools
import os
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from runtrue import process
from runtrue.checks.cargo_reader import CargoReader
from runtrue.checks.case import CaseReader
from runtrue.checks.case_info import CASES
from runtrue.checks.coverage import MEASURED, Measured
from runtrue.checks.framework import Framework, is_linter, tool_of
from runtrue.checks.go_reader import GoReader
from runtrue.checks.javascript_readers import (
    JavascriptReader,
    JestReader,
    MochaReader,
    VitestReader,
)
from runtrue.checks.junit_reader import JunitReader
from runtrue.checks.line import argv_of, files_named, is_shell
from runtrue.checks.lint_readers import LintReader, MypyReader, RuffReader
from runtrue.checks.locations import plain, relative
from runtrue.checks.node_reader import NodeTestReader
from runtrue.checks.other_reader import OtherReader
from runtrue.checks.pytest_reader import PytestReader
from runtrue.checks.reach import Reach, reach_of
from runtrue.checks.reader import Reader, Reading, RunOptions, output_of
from runtrue.confinement import Confinement
from runtrue.loop import (
    TIMEOUT,
    Fault,
    Finding,
    Known,
    Location,
    Mode,
    Verdict,
    Workplace,
    fault_of_exception,
)
from runtrue.plugins import PluginGroup, find_plugins, load_plugin

#: The report of some tools is their output, which must therefore be kept whole, within reason.
_KEEP = 4 * 1024 * 1024
#: By how much a candidate may be slower than the baseline, as may a test of the baseline itself
#: than the limit that nobody set.
_LIMIT_FACTOR = 3.0
#: How many times its time a baseline may take as long as it prints something.
_LONGEST_FACTOR = 6.0
_RUNNERS: dict[str, type[CaseReader]] = {
    Framework.JEST: JestReader,
    Framework.VITEST: VitestReader,
    Framework.MOCHA: MochaReader,
    "node_test": NodeTestReader,
    Framework.GO_TEST: GoReader,
    Framework.CARGO_TEST: CargoReader,
    Framework.JUNIT: JunitReader,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCheck:
    """Any command; those of test frameworks, ruff and mypy are read from their reports.

    `env` adds to, or overrides, the workplace's environment, and `directory` is where in the
    workplace it runs. Of a test framework, `cover` measures the coverage and saves it, and the
    facts about cases, in the scratch directory; `fail_fast` stops at the first failure; `verbose`
    makes the account of failures complete; `test_seconds` is the processor time that one test may
    take, where that can be limited, and 0 is no limit. `derived` names the limits that nobody set:
    they follow from how long the baseline takes. `only` names the tests that are run, where that is
    not all of them.
    """

    name: str
    command: str
    mode: Mode = Mode.REQUIRED
    known: Known = Known.FIX
    timeout: float = 300.0
    env: dict[str, str] = field(default_factory=dict, hash=False)
    directory: str = "."
    cover: bool = False
    fail_fast: bool = False
    verbose: bool = False
    test_seconds: float = 0.0
    derived: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        """The command as an argument list."""
        return argv_of(self.command, shell=is_shell(self.command))

    @property
    def line(self) -> str:
        """What to type in the project's directory to run it."""
        words = [f"{name}={shlex.quote(value)}" for name, value in self.env.items()]
        line = " ".join([*words, self.command])
        return line if self.directory == "." else f"cd {shlex.quote(self.directory)} && {line}"

    @property
    def tool(self) -> str | None:
        """The tool that the command runs, if its reports are understood."""
        return tool_of(self.command)

    def select(self, cases: Iterable[str], workplace: Workplace) -> CommandCheck | None:
        """Return the same check of some of its tests alone; None if they cannot be selected."""
        selected = replace(self, only=tuple(sorted(cases)), cover=False)
        reader = reader_of(selected, workplace.directory / self.directory)
        return selected if reader.can_select() else None

    def within(self, seconds: float | None) -> CommandCheck:
        """Return the same check with a limit that somebody set, if they did."""
        if seconds is None:
            return self
        derived = tuple(name for name in self.derived if name != "timeout")
        return replace(self, timeout=seconds, derived=derived)

    def limited_by(self, baseline: Verdict) -> CommandCheck:
        """Return the same check with the limits that follow from how long its baseline took."""
        timeout = max(self.timeout, _LIMIT_FACTOR * baseline.seconds)
        test_seconds = max(self.test_seconds, _LIMIT_FACTOR * baseline.slowest)
        return replace(
            self,
            timeout=timeout if "timeout" in self.derived else self.timeout,
            test_seconds=test_seconds if "test_seconds" in self.derived else self.test_seconds,
            derived=(),
        )

    def with_more_time(self, verdict: Verdict) -> CommandCheck | None:
        """Return a check that gives more time to tests which exceeded a limit that nobody set.

        It stops at the first that exceeds that, too: such a test goes on forever, as a rule.
        """
        # Only pytest's tests are limited one by one.
        if "test_seconds" not in self.derived or self.tool != Framework.PYTEST:
            return None
        late = (f.location.symbol for f in verdict.findings if f.category == TIMEOUT)
        cases = tuple(sorted({case for case in late if case in verdict.cases}))
        more = _LIMIT_FACTOR * self.test_seconds
        slower = replace(self, only=cases, cover=False, test_seconds=more, fail_fast=True)
        return slower if cases else None

    async def run(self, workplace: Workplace) -> Verdict:
        """Run the command in the workplace; every failure becomes a finding."""
        if self.cover:
            for saved in (MEASURED, CASES):
                saved.forget(workplace.scratch, self.name)
        if self.directory != ".":
            workplace = replace(workplace, directory=workplace.directory / self.directory)
            if not workplace.directory.is_dir() or relative(".", workplace) is None:
                return self._unrun(self._no_directory(), workplace)
        reader = reader_of(self, workplace.directory)
        environment = {**workplace.environment, **self.env}
        if moved := self.env.get("PYTHONPATH") and workplace.environment.get("PYTHONPATH"):
            # An editable install must still lead into the sandbox.
            environment["PYTHONPATH"] = os.pathsep.join((self.env["PYTHONPATH"], moved))
        call = reader.prepare(self.argv, environment, workplace.scratch)
        try:
            ended = await process.run(
                call.argv,
                cwd=workplace.directory,
                env=call.environment,
                timeout=self.timeout,
                longest=_LONGEST_FACTOR * self.timeout if "timeout" in self.derived else None,
                keep=_KEEP,
                confinement=self._confinement(workplace),
            )
        except OSError as error:
            return self._unrun(self._not_started(error, call.environment), workplace)
        ended = _plain(ended)
        reading = reader.read(ended, workplace)
        hit = ended.exceeded
        if hit and all(finding.data.get("limit") != hit.limit for finding in reading.findings):
            # Tests may have failed as well; the limit must not be lost among them.
            reading = reading.and_found([reader.failure(ended)])
        if not self.cover:
            return self._verdict(reading, ended, reader)
        CASES.save(reader.case_infos(reading.cases, workplace), workplace.scratch, self.name)
        measured = reader.measured(workplace)
        MEASURED.save(measured, workplace.scratch, self.name)
        coverage = measured.coverage.counts if measured.coverage else None
        return replace(self._verdict(reading, ended, reader), coverage=coverage)

    def _confinement(self, workplace: Workplace) -> Confinement | None:
        own = workplace.confinement
        return own.also(read=files_named(self.command)) if own else None

    def _unrun(self, finding: Finding, workplace: Workplace) -> Verdict:
        if self.cover:
            why_not = "the command could not be run: see its finding"
            MEASURED.save(Measured(why_not=why_not), workplace.scratch, self.name)
        return self._verdict(Reading(passed=False, findings=(finding,)))

    def _verdict(
        self, reading: Reading, ended: process.Ended | None = None, reader: Reader | None = None
    ) -> Verdict:
        return Verdict(
            check=self.name,
            mode=self.mode,
            passed=reading.passed,
            findings=reading.findings,
            cases=reading.cases,
            cut_short=reading.cut_short,
            exit_code=ended.exit_code if ended else None,
            seconds=ended.seconds if ended else 0.0,
            output=output_of(ended) if ended else "",
            slowest=reading.slowest,
            seconds_passed=reading.seconds_passed,
            judged_by=reader.judged_by if reader else None,
        )

    def _no_directory(self) -> Finding:
        return Finding(
            source=self.name,
            category="not_runnable",
            message=f"the directory {self.directory!r} is not in the project",
            fault=Fault.CHECK,
            location=Location(symbol=self.name),
            attempted=(self.directory,),
        )

    def _not_started(self, error: OSError, environment: dict[str, str]) -> Finding:
        program = self.argv[0]
        # Several directories may have a program of the same name.
        programs = dict.fromkeys(_programs(environment.get("PATH", "")))
        known = difflib.get_close_matches(program, programs, n=3)
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
    """Return the reader for the tool that a command runs in a directory."""
    shell = is_shell(check.command)
    options = RunOptions(
        cover=check.cover,
        fail_fast=check.fail_fast,
        verbose=check.verbose,
        test_seconds=check.test_seconds,
        only=check.only,
    )
    tool = tool_of(check.command, directory)
    if tool == Framework.PYTEST:
        return PytestReader(check.name, is_shell=shell, options=options, directory=directory)
    if tool == "ruff":
        return RuffReader(check.name, is_shell=shell)
    if tool == "mypy":
        return MypyReader(check.name, is_shell=shell, directory=directory)
    if plugin := _plugin_of(check.command, shell=shell):
        return plugin(check.name, is_shell=shell, options=options)
    if is_linter(check.command):
        return LintReader(check.name, is_shell=shell)
    reach = reach_of(check.command, directory)
    if reach is None:
        reach = Reach(line=check.command, tool="other", at=len(check.command))
    arguments: Any = {"is_shell": shell, "reach": reach, "directory": directory, "options": options}
    reader = _RUNNERS.get(reach.tool, OtherReader)(check.name, **arguments)
    if isinstance(reader, JavascriptReader) and reader.is_too_old():
        return OtherReader(check.name, **arguments)
    return reader


@functools.cache
def _readers() -> dict[str, EntryPoint]:
    """Return the readers of plugins, which are looked for once: each check asks."""
    return find_plugins(PluginGroup.READERS)


def _plugin_of(command: str, *, shell: bool) -> type[Reader] | None:
    """Return the reader that a plugin has for a program in a command, if one has."""
    points = {} if shell else _readers()
    if not points:
        return None
    names = (Path(word).name for word in shlex.split(command))
    name = next((name for name in names if name in points), None)
    return load_plugin(points[name], Reader) if name else None


def _plain(ended: process.Ended) -> process.Ended:
    """Return the end of a command whose output has no escape sequences of a terminal."""
    return replace(
        ended, stdout=_without_escapes(ended.stdout), stderr=_without_escapes(ended.stderr)
    )


def _without_escapes(output: process.Captured) -> process.Captured:
    head, tail = (
        plain(part.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        for part in (output.head, output.tail)
    )
    return replace(output, head=head, tail=tail)


def _programs(path: str) -> Iterable[str]:
    for directory in path.split(os.pathsep):
        try:
            yield from (program.name for program in Path(directory).iterdir())
        except OSError:
            continue


def find_program(name: str, path: str) -> str | None:
    """Return the path of a program on a PATH."""
    return shutil.which(name, path=path)
