"""node's own test runner: read through a reporter that any way of calling node gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtrue.checks.case import CaseResult
from runtrue.checks.javascript_readers import JavascriptReader, seconds_of
from runtrue.checks.locations import errors_in, locations_in, relative
from runtrue.checks.reader import PreparedCommand
from runtrue.loop import Finding, Location, Outcome, Workplace
from runtrue.process import Ended

_REPORTER = Path(__file__).with_name("node_reporter") / "runtrue-report.cjs"
_OPTION, _DESTINATION = "--test-reporter", "--test-reporter-destination"


class NodeTestReader(JavascriptReader):
    """`node --test`."""

    title = "node"
    report = "node-test.jsonl"
    name_options = ("--test-name-pattern",)

    def cannot_cover(self) -> str | None:
        """Ask for a report that can be read."""
        return "runtrue cannot read node's own coverage; run the tests with c8 --reporter=json"

    def can_select(self) -> bool:
        """Return whether the command itself calls node: not all versions take a name otherwise."""
        is_called = self.reach.line[: self.reach.at].endswith("--test")
        return is_called and super().can_select()

    def test_names(self) -> set[str]:
        """Return the parts of names that a test and those around it may have: node wants each."""
        found: set[str] = set()
        for name in super().test_names():
            words = name.split(" ")
            found |= {" ".join(words[at:]) for at in range(len(words))}
            found |= {" ".join(words[:at]) for at in range(1, len(words))}
        return found

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Add the reporter through the environment, beside those that the command wants."""
        call = super().prepare(argv, environment, scratch)
        own = [environment.get("NODE_OPTIONS", ""), *self.reach.words]
        wanted = sum(word.count(f"{_OPTION}=") + (word == _OPTION) for word in own)
        named = sum(word.count(f"{_DESTINATION}=") + (word == _DESTINATION) for word in own)
        options = [environment.get("NODE_OPTIONS", ""), f'"{_OPTION}={_REPORTER}"']
        options += [] if wanted else [f"{_OPTION}=spec"]
        # node wants as many destinations as reporters, where there are several.
        options += [f"{_DESTINATION}=stdout"] * (1 + max(wanted, 1) - named)
        return replace(
            call, environment={**call.environment, "NODE_OPTIONS": " ".join(options).strip()}
        )

    def cases(self, ended: Ended, workplace: Workplace) -> list[CaseResult]:
        """Return all tests but the files that could not be run."""
        tests = self.load(workplace)["tests"]
        return [self._case(test, workplace) for test in tests if not _is_file(test)]

    def outside(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """Return the files that could not be run, with what they printed."""
        found = []
        for test in self.load(workplace)["tests"]:
            if _is_file(test) and test["error"]:
                name = relative(test["file"], workplace) or test["file"]
                text = test.get("printed") or test["error"].get("message") or "could not be run"
                errors = errors_in(text, workplace)
                location = next(locations_in(text, workplace), Location(file=name))
                message = errors[0][1] if errors else _error_line(text)
                found.append(self.at(location, "suite", message, text, symbol=name))
        return found

    def _case(self, test: dict[str, Any], workplace: Workplace) -> CaseResult:
        file = test.get("file")
        path = (relative(file, workplace) or file) if file else None
        # Older versions have each file as a test around its own.
        names = [name for name in test["path"] if name != file]
        name = " ".join(names) if path is None else f"{path}::{' '.join(names)}"
        error = test["error"]
        if test["skipped"] or not error:
            outcome = Outcome.SKIPPED if test["skipped"] else Outcome.PASSED
            return CaseResult(name=name, outcome=outcome, seconds=seconds_of(test))
        return self.failed(
            name,
            error.get("stack") or error.get("message") or "",
            workplace,
            error=error,
            default=Location(file=path, line=test.get("line")) if path else None,
            is_hook=error.get("failureType") in ("hookFailed", "cancelledByParent"),
        )


def _is_file(test: dict[str, Any]) -> bool:
    """True if a result is that of a whole file, which is called by its path."""
    file, names = test.get("file") or "", test["path"]
    return len(names) == 1 and (names[0] == file or file.endswith(f"/{names[0]}"))


def _error_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "Error" in line), lines[-1] if lines else "failed")
