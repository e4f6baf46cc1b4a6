"""jest, vitest and mocha: read from the JSON reports that they, or reporters of ours, write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtrue.checks.case import Case, CaseReader
from runtrue.checks.places import Place, places_in, relative
from runtrue.checks.reader import Call, Reading
from runtrue.checks.sealed import Seal, Sealed
from runtrue.loop import Finding, Outcome, Workplace
from runtrue.process import Ended

#: Programs that measure the coverage of what they run, and where each is told to keep its data.
_COVERING = {"c8": ("--temp-directory",), "nyc": ("--temp-dir", "--cache-dir")}
_JEST_REPORTER = Path(__file__).with_name("jest_reporter") / "runtrue-report.cjs"
_MOCHA_REPORTER = Path(__file__).with_name("mocha_reporter") / "runtrue-report.cjs"
#: How V8 begins a stack: the type of the error, a code perhaps, what it says.
_HEAD = re.compile(r"^(?P<type>[A-Za-z_$][\w.$]*)(?: \[\w+\])?(?:: (?P<message>.*))?$", re.DOTALL)
_FRAME = re.compile(r"^\s+at .*$", re.MULTILINE)
_OUTCOMES = {
    "passed": Outcome.PASSED,
    **dict.fromkeys(("pending", "skipped", "todo", "disabled"), Outcome.SKIPPED),
}


class JavascriptReader(CaseReader):
    """What the three have in common: a JSON file with errors as V8 writes them."""

    report = ""
    coverage_report = "coverage-final.json"
    #: Whether the report is of our own making, and under seal: where tests run in the process that
    #: writes it, they could write another.
    is_sealed = True
    _seal: Seal | None = None
    _told: Sealed | None = None

    def installed(self, path: str) -> Path | None:
        """Where something is in the packages of the project, which may be those of one above."""
        directory = (self.reach.directory or self.directory).absolute()
        places = (d / "node_modules" / path for d in (directory, *directory.parents))
        return next((place for place in places if place.exists()), None)

    def is_given(self, *options: str) -> bool:
        """Whether the command itself has one of some options."""
        return any(word.partition("=")[0] in options for word in self.reach.words)

    def prepare(self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Call:
        """Have the report written anew."""
        file = scratch / self.report
        file.unlink(missing_ok=True)
        call = super().prepare(argv, environment, scratch)
        if not self.is_sealed:
            return call
        self._seal, self._told = Seal(file), None
        self._seal.lay_out()
        return replace(call, environment={**call.environment, "RUNTRUE_REPORT": str(file)})

    def read_report(self, ended: Ended, workplace: Workplace) -> Reading:
        """The verdict from the report, unless somebody else has written in it."""
        if self._seal is not None:
            self._told = self._seal.open()
            if wrong := self._told.wrong:
                findings = tuple(self.tampered(what) for what in wrong)
                return Reading(passed=False, findings=findings)
        return super().read_report(ended, workplace)

    def load(self, workplace: Workplace) -> Any:
        """The report; of several sessions, all that they tell. ValueError if one has not ended."""
        if self._told is None:
            return json.loads((workplace.scratch / self.report).read_text(encoding="utf-8"))
        ended = {x["session"]: x["report"] for x in self._told.lines if x["event"] == "end"}
        if not ended or any(line["session"] not in ended for line in self._told.lines):
            raise ValueError("a session has begun that did not come to its end")
        whole: dict[str, list[Any]] = {}
        for report in ended.values():
            for key, items in report.items():
                whole.setdefault(key, []).extend(items if isinstance(items, list) else [])
        return whole

    def failed(
        self,
        name: str,
        stack: str,
        workplace: Workplace,
        *,
        error: Mapping[str, Any],
        default: Place | None = None,
    ) -> Case:
        """A case that failed, from its stack and what else is known of the error."""
        first = _FRAME.search(stack)
        text = stack[: first.start()] if first else stack
        head = _HEAD.match(text.strip())
        frames = [frame[0] for frame in _FRAME.finditer(stack)]
        own = [(frame, p) for frame in frames if (p := next(places_in(frame, workplace), None))]
        expected, actual = (_shown(error.get(key)) for key in ("expected", "actual"))
        category = _text(error, "name") or (head["type"] if head else "Error")
        is_assertion = category.endswith("AssertionError") or expected is not None
        return Case(
            name=name,
            outcome=Outcome.FAILED if is_assertion else Outcome.ERROR,
            category=category,
            message=_text(error, "message") or (head and head["message"]) or text,
            place=own[0][1] if own else default,
            stack="\n".join([text.rstrip(), *(frame for frame, _ in own)]),
            expected=expected,
            actual=actual,
            code=_text(error, "code"),
        )


class JestReader(JavascriptReader):
    """jest; vitest's report has the same form with less in it."""

    title = "jest"
    report = "jest.jsonl"
    fail_fast: tuple[str, ...] = ("--bail",)
    verbose = ("--expand",)

    def covering(self, reports: Path) -> tuple[str, ...]:
        """Istanbul's report; thresholds are for the project's own runs with coverage."""
        wanted = ["--coverageReporters=json"]
        if not self.is_given("--coverageDirectory"):
            wanted.append(f"--coverageDirectory={reports}")
        if not self.is_given("--coverage", "--collectCoverage"):
            wanted += ["--coverage", "--coverageThreshold={}"]
        return tuple(wanted)

    def options(self, scratch: Path) -> tuple[str, ...]:
        """The report, with where each test is."""
        # Where there is no test, jest would be gone before it has written its report.
        always = ("--testLocationInResults", "--passWithNoTests")
        return (*always, "--reporters=default", f"--reporters={_JEST_REPORTER}")

    def cases(self, ended: Ended, workplace: Workplace) -> list[Case]:
        """The tests of every file."""
        return [
            self._case(test, file["name"], workplace)
            for file in self.load(workplace)["testResults"]
            for test in file["assertionResults"]
        ]

    def outside(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """The files that failed although none of their tests did: they could not be loaded."""
        found = []
        for file in self.load(workplace)["testResults"]:
            tests = {test["status"] for test in file["assertionResults"]}
            if file["status"] == "failed" and "failed" not in tests:
                name = relative(file["name"], workplace) or file["name"]
                text = file.get("message") or "could not be run"
                place = next(places_in(text, workplace), Place(name))
                found.append(self.at(place, "suite", text.strip(), text, symbol=name))
        return found

    def _case(self, test: dict[str, Any], file: str, workplace: Workplace) -> Case:
        path = relative(file, workplace) or file
        name = f"{path}::{test['fullName'].strip()}"
        outcome = _OUTCOMES.get(test["status"])
        if outcome:
            return Case(name=name, outcome=outcome)
        stack = "\n".join(test["failureMessages"])
        line = (test.get("location") or {}).get("line")
        default = Place(path, line)
        return self.failed(name, stack, workplace, error=_jest_error(test), default=default)


class VitestReader(JestReader):
    """vitest."""

    title = "vitest"
    report = "vitest.json"
    # Tests run in processes of their own, and the one that writes the report writes it last.
    is_sealed = False
    fail_fast = ("--bail=1",)
    verbose = ("--expandSnapshotDiff",)

    def cannot_cover(self) -> str | None:
        """Coverage is the work of a package of its own."""
        if self._provider:
            return None
        return (
            "vitest's coverage needs @vitest/coverage-v8 in node_modules:"
            " npm install --save-dev @vitest/coverage-v8"
        )

    @property
    def _provider(self) -> str | None:
        names = ("v8", "istanbul")
        return next((n for n in names if self.installed(f"@vitest/coverage-{n}")), None)

    def covering(self, reports: Path) -> tuple[str, ...]:
        """Istanbul's report, of failing tests too."""
        always = (
            "--coverage.enabled",
            f"--coverage.provider={self._provider}",
            "--coverage.reporter=json",
            f"--coverage.reportsDirectory={reports}",
            "--coverage.reportOnFailure",
        )
        if any(word.startswith("--coverage") for word in self.reach.words):
            return always
        # Thresholds are for the project's own runs with coverage.
        kinds = ("lines", "functions", "branches", "statements")
        return (*always, *(f"--coverage.thresholds.{kind}=0" for kind in kinds))

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Once, not watching, and with a report beside those that the project wants."""
        return ("--run", "--reporter=json", f"--outputFile.json={scratch / self.report}")


class MochaReader(JavascriptReader):
    """mocha."""

    title = "mocha"
    report = "mocha.jsonl"
    fail_fast = ("--bail",)

    def cannot_cover(self) -> str | None:
        """Coverage is the work of a program that runs mocha."""
        if self._own_program:
            return (
                f"{self._own_program} wrote no coverage report that can be read:"
                " give it the option --reporter=json"
            )
        if self._program:
            return None
        return "mocha's coverage needs c8 or nyc in node_modules: npm install --save-dev c8"

    @property
    def _own_program(self) -> str | None:
        """The program that the command itself runs mocha with."""
        return next((name for name in self.reach.launchers if name in _COVERING), None)

    @property
    def _program(self) -> Path | None:
        return next((p for name in _COVERING if (p := self.installed(f".bin/{name}"))), None)

    def under_cover(self, call: Call, reports: Path) -> Call:
        """Have the whole command run by the program."""
        if self._own_program or self._program is None:
            return call
        options = (
            "--reporter=json",
            f"--report-dir={reports}",
            "--check-coverage=false",
            *(f"{option}={reports / 'raw'}" for option in _COVERING[self._program.name]),
        )
        return replace(call, argv=(str(self._program), *options, *call.argv))

    def options(self, scratch: Path) -> tuple[str, ...]:
        """The report, with paths in the stacks that do not depend on where mocha was started."""
        return ("--full-trace", "--reporter", str(_MOCHA_REPORTER))

    def cases(self, ended: Ended, workplace: Workplace) -> list[Case]:
        """All tests, and the hooks that failed, which mocha lists among the failures only."""
        report = self.load(workplace)
        cases = [self._case(test, workplace) for test in report["failures"]]
        for kind, outcome in (("passes", Outcome.PASSED), ("pending", Outcome.SKIPPED)):
            cases += [Case(name=_mocha_name(t, workplace), outcome=outcome) for t in report[kind]]
        return cases

    def _case(self, test: dict[str, Any], workplace: Workplace) -> Case:
        error = test["err"]
        file = relative(test["file"], workplace) if test.get("file") else None
        return self.failed(
            _mocha_name(test, workplace),
            error.get("stack") or error.get("message") or "",
            workplace,
            error=error,
            default=Place(file) if file else None,
        )


def _mocha_name(test: dict[str, Any], workplace: Workplace) -> str:
    file = test.get("file")
    name: str = test["fullTitle"]
    return f"{relative(file, workplace) or file}::{name}" if file else name


def _jest_error(test: dict[str, Any]) -> dict[str, Any]:
    """What jest tells of an error beside its stack."""
    details = (test.get("failureDetails") or [{}])[0]
    if not isinstance(details, dict):
        return {}
    result = details.get("matcherResult")
    if isinstance(result, dict):
        return {**result, "name": "AssertionError"}
    if isinstance(details.get("message"), str):
        # An error hides its message; only what jest makes of one of node's assertions shows it.
        return {"name": "AssertionError"}
    return details


def _text(error: Mapping[str, Any], key: str) -> str | None:
    value = error.get(key)
    return value if isinstance(value, str) else None


def _shown(value: Any) -> str | None:
    """An expected or actual value as text; None stands for one that is not given."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
