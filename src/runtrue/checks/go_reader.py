"""go test: read from the events that `-json` prints, one on each line."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtrue.checks.case import BAD, Case, CaseReader
from runtrue.checks.places import Place, complaints_in, files_below, places_in
from runtrue.checks.reader import relative
from runtrue.loop import Finding, Outcome, Workplace
from runtrue.process import Ended

_OUTCOMES = {"pass": Outcome.PASSED, "fail": Outcome.FAILED, "skip": Outcome.SKIPPED}
#: What a test logs: the file, without its directory, and the line.
_LOGGED = re.compile(r"^ +(?P<file>[\w.-]+\.go):(?P<line>\d+): (?P<message>.*)$")
#: What the frame around the tests prints, beside what they print.
_FRAMING = re.compile(r"^\s*(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|FAIL|SKIP):) ")
_NOT_BUILT = re.compile(r"^FAIL\t(?P<package>\S+) \[(?:build|setup) failed\]$", re.MULTILINE)
_PANIC = re.compile(r"^panic: (?P<message>.*?)(?: \[recovered.*\])?$")
_FUNCTION = re.compile(r"^func (?P<name>(?:Test|Fuzz|Example|Benchmark)\w*)\(", re.MULTILINE)
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


@dataclass(slots=True)
class _Test:
    package: str
    name: str
    outcome: Outcome | None = None
    output: list[str] = field(default_factory=list)


class GoReader(CaseReader):
    """`go test`: a panic is an error, everything else that a test complains of a failure."""

    title = "go test"

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Events in place of text."""
        return () if {"-json", "--json"} & set(self.reach.words) else ("-json",)

    def cases(self, ended: Ended, workplace: Workplace) -> list[Case] | None:
        """Every test that was begun; one with subtests is told by them."""
        events = _events(ended.stdout.text)
        if not events:
            return None
        tests = _tests(events)
        directories = _Directories(workplace)
        return [
            self._case(test, directories)
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
        directories = _Directories(workplace)
        return [
            self.at(
                Place(directories.file(package) or package),
                "package",
                printed[package].strip() or "failed without a word",
                told,
                symbol=package,
            )
            for package in sorted(broken)
        ]

    def _case(self, test: _Test, directories: _Directories) -> Case:
        file = directories.file(test.package, test.name.partition("/")[0])
        name = f"{file or test.package}::{test.name}"
        if test.outcome not in (None, Outcome.FAILED):
            return Case(name=name, outcome=test.outcome)
        lines = [line.rstrip("\n") for line in test.output if not _FRAMING.match(line)]
        panic = next((m for line in lines if (m := _PANIC.match(line))), None)
        text = "\n".join(lines)
        if panic or test.outcome is None:
            place = next(places_in(text, directories.workplace), None)
            return Case(
                name=name,
                outcome=Outcome.ERROR,
                category="panic" if panic else "died",
                message=panic["message"] if panic else "was never finished",
                place=place or (Place(file) if file else None),
                stack=text,
            )
        logged = next((m for line in lines if (m := _LOGGED.match(line))), None)
        place = (
            directories.place(test.package, logged["file"], int(logged["line"])) if logged else None
        )
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


class _Directories:
    """Where packages and their tests lie: the events name packages by their import paths."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace
        above = (workplace.directory, *workplace.directory.parents)
        inside = [d for d in above if d.is_relative_to(workplace.root)]
        below = [file for file in files_below(workplace.directory) if file.name == "go.mod"]
        files = [*below, *(directory / "go.mod" for directory in inside)]
        self._modules = {}
        for file in files:
            try:
                module = _MODULE.search(file.read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue
            if module:
                self._modules[module[1]] = file.parent
        self._tests: dict[Path, dict[str, str]] = {}

    def directory(self, package: str) -> Path | None:
        """The directory of a package."""
        for module in sorted(self._modules, key=len, reverse=True):
            if package == module or package.startswith(f"{module}/"):
                return self._modules[module] / package[len(module) :].lstrip("/")
        return None

    def place(self, package: str, file: str, line: int | None = None) -> Place | None:
        """A line in a file of a package."""
        directory = self.directory(package)
        name = relative(str(directory / file), self.workplace) if directory else None
        return Place(name, line) if name else None

    def file(self, package: str, test: str = "") -> str | None:
        """The file that a test is written in; the directory where no test is named."""
        directory = self.directory(package)
        if directory is None:
            return None
        if not test:
            return relative(str(directory), self.workplace)
        if directory not in self._tests:
            self._tests[directory] = {
                match["name"]: file.name
                for file in sorted(directory.glob("*_test.go"))
                for match in _FUNCTION.finditer(file.read_text(encoding="utf-8", errors="replace"))
            }
        name = self._tests[directory].get(test)
        place = self.place(package, name) if name else None
        return place.file if place else None


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
