"""go test: read from the events that `-json` prints, one on each line."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtrue.checks.case import BAD, Case, CaseReader
from runtrue.checks.go_modules import Modules
from runtrue.checks.places import Place, complaints_in, places_in
from runtrue.loop import Finding, Outcome, Workplace
from runtrue.process import Ended

_OUTCOMES = {"pass": Outcome.PASSED, "fail": Outcome.FAILED, "skip": Outcome.SKIPPED}
#: What a test logs: the file, without its directory, and the line.
_LOGGED = re.compile(r"^ +(?P<file>[\w.-]+\.go):(?P<line>\d+): (?P<message>.*)$")
#: What the frame around the tests prints, beside what they print.
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
    """`go test`: a panic is an error, everything else that a test complains of a failure."""

    title = "go test"
    fail_fast = ("-failfast",)
    verbose = ("-v",)
    coverage_report = "cover.out"

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Events in place of text."""
        return () if {"-json", "--json"} & set(self.reach.words) else ("-json",)

    def covering(self, reports: Path) -> tuple[str, ...]:
        """A profile of all packages, whichever of them a test is in."""
        given = {word.lstrip("-").partition("=")[0] for word in self.reach.words}
        wanted = {"coverpkg": "./...", "coverprofile": str(reports / self.coverage_report)}
        return tuple(f"-{name}={value}" for name, value in wanted.items() if name not in given)

    def cases(self, ended: Ended, workplace: Workplace) -> list[Case] | None:
        """Every test that was begun; one with subtests is told by them."""
        events = _events(ended.stdout.text)
        if not events:
            return None
        tests = _tests(events)
        modules = Modules(workplace)
        return [
            self._case(test, modules)
            for test in tests.values()
            if not _is_told_by_its_parts(test, tests)
        ]

    def outside(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """Packages that failed without a test that did: not compiled, or broken off."""
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
        told = "".join(
            (ended.stderr.text, printed[""], *(printed[name] for name in sorted(broken)))
        )
        complaints = complaints_in(told, workplace)
        if complaints:
            return [self.at(c.place, "build", c.message, told) for c in complaints]
        modules = Modules(workplace)
        return [
            self.at(
                Place(modules.file(package) or package),
                "package",
                printed[package].strip() or "failed without a word",
                told,
                symbol=package,
            )
            for package in sorted(broken)
        ]

    def _case(self, test: _Test, modules: Modules) -> Case:
        file = modules.file(test.package, test.name.partition("/")[0])
        name = f"{file or test.package}::{test.name}"
        if test.outcome not in (None, Outcome.FAILED):
            return Case(name=name, outcome=test.outcome)
        lines = [line.rstrip("\n") for line in test.output if not _FRAMING.match(line)]
        panic = next((m for line in lines if (m := _PANIC.match(line))), None)
        text = "\n".join(lines)
        if panic or test.outcome is None:
            place = next(places_in(text, modules.workplace), None)
            return Case(
                name=name,
                outcome=Outcome.ERROR,
                category="panic" if panic else "died",
                message=panic["message"] if panic else "was never finished",
                place=place or (Place(file) if file else None),
                stack=text,
            )
        logged = next((m for line in lines if (m := _LOGGED.match(line))), None)
        place = modules.place(test.package, logged["file"], int(logged["line"])) if logged else None
        message = "\n".join(
            m["message"] if (m := _LOGGED.match(line)) else line.strip() for line in lines
        )
        return Case(
            name=name,
            outcome=Outcome.FAILED,
            message=message,
            place=place or (Place(file) if file else None),
            stack=text,
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


def _is_told_by_its_parts(test: _Test, tests: dict[tuple[str, str], _Test]) -> bool:
    """Whether a test is no more than its subtests: it passed with them, or failed by one."""
    parts = [
        other
        for other in tests.values()
        if other.package == test.package and other.name.startswith(f"{test.name}/")
    ]
    is_bad = test.outcome in BAD
    return bool(parts) and (not is_bad or any(part.outcome in BAD for part in parts))


def _events(text: str) -> list[dict[str, Any]]:
    events = []
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if (
            isinstance(event, dict)
            and "Action" in event
            and ("Package" in event or "ImportPath" in event)
        ):
            events.append(event)
    return events
