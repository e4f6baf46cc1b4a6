"""go test: read the events that `-json` prints, one on each line."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtrue.checks.case import BAD, CaseReader, CaseResult
from runtrue.checks.go_modules import Modules
from runtrue.checks.locations import errors_in, locations_in
from runtrue.checks.reader import json_lines
from runtrue.loop import Finding, Location, Outcome, Workplace
from runtrue.process import Ended

_OUTCOMES = {"pass": Outcome.PASSED, "fail": Outcome.FAILED, "skip": Outcome.SKIPPED}
#: A line of a test's log: the file, without its directory, and the line.
_LOGGED = re.compile(r"^ +(?P<file>[\w.-]+\.go):(?P<line>\d+): (?P<message>.*)$")
#: Lines of the frame around the tests, among those that they print.
_FRAMING = re.compile(r"^\s*(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|FAIL|SKIP):) ")
_NOT_BUILT = re.compile(r"^FAIL\t(?P<package>\S+) \[(?:build|setup) failed\]$", re.MULTILINE)
_PANIC = re.compile(r"^panic: (?P<message>.*?)(?: \[recovered.*\])?$")


@dataclass(slots=True)
class _Test:
    package: str
    name: str
    outcome: Outcome | None = None
    output: list[str] = field(default_factory=list)


class GoReader(CaseReader):
    """`go test`: a panic is an error, any other complaint of a test a failure."""

    title = "go test"
    fail_fast = ("-failfast",)
    verbose = ("-v",)
    coverage_report = "cover.out"

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Print events in place of text."""
        return () if {"-json", "--json"} & set(self.reach.words) else ("-json",)

    def coverage_options(self, reports: Path) -> tuple[str, ...]:
        """Profile all packages, whichever of them a test is in."""
        given = {word.lstrip("-").partition("=")[0] for word in self.reach.words}
        wanted = {"coverpkg": "./...", "coverprofile": str(reports / self.coverage_report)}
        return tuple(f"-{name}={value}" for name, value in wanted.items() if name not in given)

    def cases(self, ended: Ended, workplace: Workplace) -> list[CaseResult] | None:
        """Return every test that was started; one with subtests is represented by them."""
        events = _events(ended.stdout.text)
        if not events:
            return None
        tests = _tests(events)
        modules = Modules(workplace)
        return [
            self._case(test, modules)
            for test in tests.values()
            if not _is_its_subtests(test, tests)
        ]

    def outside(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """Return packages that failed without a failed test: not compiled, or broken off."""
        text = ended.stdout.text
        events = _events(text)
        blamed = {t.package for t in _tests(events).values() if t.outcome in (None, Outcome.FAILED)}
        failed = {e["Package"] for e in events if "Test" not in e and e["Action"] == "fail"}
        # Until Go 1.20 there was no event for a package that could not be compiled.
        broken = (failed | {match["package"] for match in _NOT_BUILT.finditer(text)}) - blamed
        if not broken:
            return []
        printed: dict[str, str] = defaultdict(str)
        for event in events:
            if "Test" not in event and "Output" in event:
                # That of a compiler has no package yet.
                printed[event.get("Package") or ""] += event["Output"]
        output = "".join(
            (ended.stderr.text, printed[""], *(printed[name] for name in sorted(broken)))
        )
        if errors := errors_in(output, workplace):
            return [self.at(where, "build", message, output) for where, message in errors]
        modules = Modules(workplace)
        return [
            self.at(
                Location(file=modules.path(package) or package),
                "package",
                printed[package].strip() or "failed without a message",
                output,
                symbol=package,
            )
            for package in sorted(broken)
        ]

    def _case(self, test: _Test, modules: Modules) -> CaseResult:
        file = modules.file_of_test(test.package, test.name.partition("/")[0])
        name = f"{file or test.package}::{test.name}"
        if test.outcome not in (None, Outcome.FAILED):
            return CaseResult(name=name, outcome=test.outcome)
        default = Location(file=file) if file else None
        lines = [line.rstrip("\n") for line in test.output if not _FRAMING.match(line)]
        panic = next((m for line in lines if (m := _PANIC.match(line))), None)
        text = "\n".join(lines)
        if panic or test.outcome is None:
            return CaseResult(
                name=name,
                outcome=Outcome.FAILED,
                category="panic" if panic else "died",
                message=panic["message"] if panic else "was never finished",
                location=next(locations_in(text, modules.workplace), default),
                stack=text,
            )
        logged = next((m for line in lines if (m := _LOGGED.match(line))), None)
        path = modules.path(test.package, logged["file"]) if logged else None
        location = Location(file=path, line=int(logged["line"])) if logged and path else default
        message = "\n".join(
            m["message"] if (m := _LOGGED.match(line)) else line.strip() for line in lines
        )
        return CaseResult(
            name=name, outcome=Outcome.FAILED, message=message, location=location, stack=text
        )


def _tests(events: list[dict[str, Any]]) -> dict[tuple[str, str], _Test]:
    tests: dict[tuple[str, str], _Test] = {}
    for event in events:
        if "Test" not in event:
            continue
        key = (event["Package"], event["Test"])
        test = tests.setdefault(key, _Test(*key))
        if event["Action"] == "output":
            test.output.append(event["Output"])
        elif event["Action"] in _OUTCOMES:
            test.outcome = _OUTCOMES[event["Action"]]
    return tests


def _is_its_subtests(test: _Test, tests: dict[tuple[str, str], _Test]) -> bool:
    """True if a test is no more than its subtests: it passed with them, or failed by one."""
    parts = [
        other
        for other in tests.values()
        if other.package == test.package and other.name.startswith(f"{test.name}/")
    ]
    is_bad = test.outcome in BAD
    return bool(parts) and (not is_bad or any(part.outcome in BAD for part in parts))


def _events(text: str) -> list[dict[str, Any]]:
    return [
        event
        for event in json_lines(text)
        if "Action" in event and ("Package" in event or "ImportPath" in event)
    ]
