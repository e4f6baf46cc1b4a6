"""jest, vitest and mocha: read the JSON reports that they, or reporters of ours, write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtrue.checks.case import CaseReader, CaseResult
from runtrue.checks.locations import locations_in, relative
from runtrue.checks.reader import PreparedCommand, Reading
from runtrue.checks.signed_report import ReportKey, SignedReport
from runtrue.loop import Finding, JudgedBy, Location, Outcome, Workplace
from runtrue.process import Ended
from runtrue.settings_file import read_settings

#: Programs that measure the coverage of what they run, and their options for its raw data.
_COVERAGE_TOOLS = {"c8": ("--temp-directory",), "nyc": ("--temp-dir", "--cache-dir")}
_JEST_REPORTER = Path(__file__).with_name("jest_reporter") / "runtrue-report.cjs"
_MOCHA_REPORTER = Path(__file__).with_name("mocha_reporter") / "runtrue-report.cjs"
#: How V8 begins a stack: the type of the error, a code perhaps, the message.
_HEAD = re.compile(r"^(?P<type>[A-Za-z_$][\w.$]*)(?: \[\w+\])?(?:: (?P<message>.*))?$", re.DOTALL)
_FRAME = re.compile(r"^\s+at .*$", re.MULTILINE)
#: What mocha calls a hook among its tests.
_MOCHA_HOOK = re.compile(r'^"(?:before|after) (?:all|each)" hook')
#: What of a test's name is left to chance in a pattern, which shells and separators leave whole.
_ODD = re.compile(r"[^A-Za-z0-9]+")
#: The longest pattern for the names of tests: a command line has its limits.
_LONGEST_PATTERN = 20_000
_OUTCOMES = {
    "passed": Outcome.PASSED,
    **dict.fromkeys(("pending", "skipped", "todo", "disabled"), Outcome.SKIPPED),
}


class JavascriptReader(CaseReader):
    """A runner with a JSON report, and with errors as V8 writes them."""

    judged_by = JudgedBy.OWN_REPORTER

    report = ""
    coverage_report = "coverage-final.json"
    #: True if a reporter of ours writes the report and signs it: where tests run in the process
    #: that writes it, they could write another.
    is_signed = True
    #: The package of the runner, and its first version that takes our options.
    package = ""
    oldest = 0
    #: The runner's options for the names of tests, the one that we use first.
    name_options: tuple[str, ...] = ()
    #: True if arguments of the runner are parts of the names of the files that it runs.
    takes_files = False
    _key: ReportKey | None = None
    _signed: SignedReport | None = None

    def installed(self, path: str) -> Path | None:
        """Return the path of something in the packages of the project, or of one above."""
        directory = (self.reach.directory or self.directory).absolute()
        paths = (d / "node_modules" / path for d in (directory, *directory.parents))
        return next((found for found in paths if found.exists()), None)

    def is_too_old(self) -> bool:
        """Return whether the installed version does not know our options, so that it would fail."""
        manifest = self.installed(f"{self.package}/package.json") if self.package else None
        version = read_settings(manifest).get("version") if manifest else None
        found = re.match(r"\d+", version) if isinstance(version, str) else None
        return found is not None and int(found[0]) < self.oldest

    def is_given(self, *options: str) -> bool:
        """Return whether the command itself has one of some options."""
        return any(word.partition("=")[0] in options for word in self.reach.words)

    def can_select(self) -> bool:
        """Return whether names can be given to the runner, besides those that the command gives."""
        is_free = not self.is_given(*self.name_options)
        return bool(self.name_options) and is_free and len(self.names_pattern()) < _LONGEST_PATTERN

    def names_pattern(self) -> str:
        """Return a regular expression for the names of the selected tests, and hardly any other."""
        return f"^({'|'.join(sorted({_ODD.sub(_any, name) for name in self.test_names()}))})$"

    def test_names(self) -> set[str]:
        """Return the names of the selected tests as the runner has them."""
        names = (name.partition("::")[2] or name for name in self.run_options.only)
        # Where several tests have one name, the others are numbered here, and not there.
        return {re.sub(r" #\d+$", "", name) for name in names}

    def selecting(self) -> tuple[str, ...]:
        """Return the option for the names, and the files where the command names none itself."""
        has_own = any(not word.startswith("-") for word in self.reach.words)
        paths = {name.partition("::")[0] for name in self.run_options.only if "::" in name}
        names = () if has_own or not self.takes_files else sorted(Path(p).name for p in paths)
        return (f"{self.name_options[0]}={self.names_pattern()}", *dict.fromkeys(names))

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Have a new report written."""
        file = scratch / self.report
        file.unlink(missing_ok=True)
        call = super().prepare(argv, environment, scratch)
        if not self.is_signed:
            return call
        self._key, self._signed = ReportKey(file), None
        self._key.leave()
        return replace(call, environment={**call.environment, "RUNTRUE_REPORT": str(file)})

    def read_report(self, ended: Ended, workplace: Workplace) -> Reading:
        """Read the verdict from the report, unless somebody else has written in it."""
        if self._key is not None:
            self._signed = self._key.read()
            if problems := self._signed.problems:
                return Reading(passed=False, findings=tuple(map(self.tampered, problems)))
        return super().read_report(ended, workplace)

    def load(self, workplace: Workplace) -> Any:
        """Return the report, of all sessions together. Raises ValueError if one has not ended."""
        if self._signed is None:
            return json.loads((workplace.scratch / self.report).read_text(encoding="utf-8"))
        ended = {x["session"]: x["report"] for x in self._signed.lines if x["event"] == "end"}
        if not ended or any(line["session"] not in ended for line in self._signed.lines):
            raise ValueError("a session started and did not finish")
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
        default: Location | None = None,
        is_hook: bool = False,
    ) -> CaseResult:
        """Return a failed case, from its stack and what else is known of the error.

        `is_hook` says that what prepares or clears up failed, not the test.
        """
        first = _FRAME.search(stack)
        text = stack[: first.start()] if first else stack
        head = _HEAD.match(text.strip())
        frames = [frame[0] for frame in _FRAME.finditer(stack)]
        own = [(frame, p) for frame in frames if (p := next(locations_in(frame, workplace), None))]
        expected, actual = (_shown(error.get(key)) for key in ("expected", "actual"))
        category = _text(error, "name") or (head["type"] if head else "Error")
        return CaseResult(
            name=name,
            outcome=Outcome.ERROR if is_hook else Outcome.FAILED,
            category=category,
            message=_text(error, "message") or (head and head["message"]) or text,
            location=own[0][1] if own else default,
            stack="\n".join([text.rstrip(), *(frame for frame, _ in own)]),
            expected=expected,
            actual=actual,
            code=_text(error, "code"),
        )


class JestReader(JavascriptReader):
    """jest; vitest's report has the same form with less in it."""

    title = "jest"
    package, oldest = "jest", 21
    report = "jest.jsonl"
    fail_fast: tuple[str, ...] = ("--bail",)
    verbose = ("--expand",)
    name_options = ("--testNamePattern", "-t", "--test-name-pattern")
    takes_files = True

    def coverage_options(self, reports: Path) -> tuple[str, ...]:
        """Write Istanbul's report; thresholds are for the project's own runs with coverage."""
        wanted = ["--coverageReporters=json"]
        if not self.is_given("--coverageDirectory"):
            wanted.append(f"--coverageDirectory={reports}")
        if not self.is_given("--coverage", "--collectCoverage"):
            wanted += ["--coverage", "--coverageThreshold={}"]
        return tuple(wanted)

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Write the report, with the location of each test."""
        # Where there is no test, jest would be gone before it has written its report.
        always = ("--testLocationInResults", "--passWithNoTests")
        return (*always, "--reporters=default", f"--reporters={_JEST_REPORTER}")

    def cases(self, ended: Ended, workplace: Workplace) -> list[CaseResult]:
        """Return the tests of every file."""
        return [
            self._case(test, file["name"], workplace)
            for file in self.load(workplace)["testResults"]
            for test in file["assertionResults"]
        ]

    def outside(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """Return the files that could not be loaded: they failed, and none of their tests did."""
        found = []
        for file in self.load(workplace)["testResults"]:
            tests = {test["status"] for test in file["assertionResults"]}
            if file["status"] == "failed" and "failed" not in tests:
                name = relative(file["name"], workplace) or file["name"]
                text = file.get("message") or "could not be run"
                location = next(locations_in(text, workplace), Location(file=name))
                found.append(self.at(location, "suite", text.strip(), text, symbol=name))
        return found

    def _case(self, test: dict[str, Any], file: str, workplace: Workplace) -> CaseResult:
        path = relative(file, workplace) or file
        name = f"{path}::{test['fullName'].strip()}"
        outcome = _OUTCOMES.get(test["status"])
        if outcome:
            return CaseResult(name=name, outcome=outcome, seconds=seconds_of(test))
        stack = "\n".join(test["failureMessages"])
        line = (test.get("location") or {}).get("line")
        default = Location(file=path, line=line)
        return self.failed(name, stack, workplace, error=_jest_error(test), default=default)


class VitestReader(JestReader):
    """vitest."""

    judged_by = JudgedBy.OUTPUT
    title = "vitest"
    package, oldest = "vitest", 0
    report = "vitest.json"
    # Tests run in processes of their own, and the one that writes the report writes it last.
    is_signed = False
    fail_fast = ("--bail=1",)
    verbose = ("--expandSnapshotDiff",)

    def cannot_cover(self) -> str | None:
        """Require the package that measures."""
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

    def coverage_options(self, reports: Path) -> tuple[str, ...]:
        """Write Istanbul's report, of failing tests too."""
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
        units = ("lines", "functions", "branches", "statements")
        return (*always, *(f"--coverage.thresholds.{unit}=0" for unit in units))

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Run once, not watching, with a report besides those that the project wants."""
        return ("--run", "--reporter=json", f"--outputFile.json={scratch / self.report}")


class MochaReader(JavascriptReader):
    """mocha."""

    title = "mocha"
    package, oldest = "mocha", 3
    report = "mocha.jsonl"
    fail_fast = ("--bail",)
    name_options = ("--grep", "-g", "--fgrep", "-f", "--invert", "-i")

    def cannot_cover(self) -> str | None:
        """Require a program that runs mocha and measures."""
        if self._own_program:
            return (
                f"{self._own_program} wrote no readable coverage report:"
                " give it the option --reporter=json"
            )
        if self._program:
            return None
        return "mocha's coverage needs c8 or nyc in node_modules: npm install --save-dev c8"

    @property
    def _own_program(self) -> str | None:
        return next((name for name in self.reach.launchers if name in _COVERAGE_TOOLS), None)

    @property
    def _program(self) -> Path | None:
        return next((p for name in _COVERAGE_TOOLS if (p := self.installed(f".bin/{name}"))), None)

    def covered_call(self, call: PreparedCommand, reports: Path) -> PreparedCommand:
        """Run the whole command with the coverage tool."""
        if self._own_program or self._program is None:
            return call
        options = (
            "--reporter=json",
            f"--report-dir={reports}",
            "--check-coverage=false",
            *(f"{option}={reports / 'raw'}" for option in _COVERAGE_TOOLS[self._program.name]),
        )
        return replace(call, argv=(str(self._program), *options, *call.argv))

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Write the report, with paths in stacks that do not depend on where mocha was started."""
        return ("--full-trace", "--reporter", str(_MOCHA_REPORTER))

    def cases(self, ended: Ended, workplace: Workplace) -> list[CaseResult]:
        """Return all tests, and the hooks that failed, which mocha lists only as failures."""
        report = self.load(workplace)
        cases = [self._case(test, workplace) for test in report["failures"]]
        for key, outcome in (("passes", Outcome.PASSED), ("pending", Outcome.SKIPPED)):
            for test in report[key]:
                name = _mocha_name(test, workplace)
                cases.append(CaseResult(name=name, outcome=outcome, seconds=seconds_of(test)))
        return cases

    def _case(self, test: dict[str, Any], workplace: Workplace) -> CaseResult:
        error = test["err"]
        file = relative(test["file"], workplace) if test.get("file") else None
        return self.failed(
            _mocha_name(test, workplace),
            error.get("stack") or error.get("message") or "",
            workplace,
            error=error,
            default=Location(file=file) if file else None,
            is_hook=_MOCHA_HOOK.search(test["title"]) is not None,
        )


def _mocha_name(test: dict[str, Any], workplace: Workplace) -> str:
    file = test.get("file")
    name: str = test["fullTitle"]
    return f"{relative(file, workplace) or file}::{name}" if file else name


def _jest_error(test: dict[str, Any]) -> dict[str, Any]:
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


def _any(odd: re.Match[str]) -> str:
    """Return a pattern for as many characters, or a few more: vitest has ` > ` for a space."""
    return f".{{1,{2 * len(odd[0]) + 1}}}"


def seconds_of(test: Mapping[str, Any]) -> float:
    """Return how long a test took, as its runner says."""
    milliseconds = test.get("duration")
    return milliseconds / 1000 if isinstance(milliseconds, int | float) else 0.0


def _text(error: Mapping[str, Any], key: str) -> str | None:
    value = error.get(key)
    return value if isinstance(value, str) else None


def _shown(value: Any) -> str | None:
    """Return an expected or actual value as text; None if it is not given."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
