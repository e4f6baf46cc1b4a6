"""jest, vitest and mocha: read from the JSON reports that each of them writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtrue.checks.case import Case, CaseReader
from runtrue.checks.places import Place, places_in
from runtrue.checks.reader import Call, relative
from runtrue.loop import Finding, Outcome, Workplace
from runtrue.process import Ended

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

    def prepare(self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Call:
        """Have the report written anew."""
        (scratch / self.report).unlink(missing_ok=True)
        return super().prepare(argv, environment, scratch)

    def load(self, workplace: Workplace) -> Any:
        """The report."""
        return json.loads((workplace.scratch / self.report).read_text(encoding="utf-8"))

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
    report = "jest.json"

    def options(self, scratch: Path) -> tuple[str, ...]:
        """The report, with where each test is."""
        # Where there is no test, jest would be gone before it has written its report.
        always = ("--json", "--testLocationInResults", "--passWithNoTests")
        return (*always, f"--outputFile={scratch / self.report}")

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

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Once, not watching, and with a report beside those that the project wants."""
        return ("--run", "--reporter=json", f"--outputFile.json={scratch / self.report}")


class MochaReader(JavascriptReader):
    """mocha."""

    title = "mocha"
    report = "mocha.json"

    def options(self, scratch: Path) -> tuple[str, ...]:
        """The report, with paths in the stacks that do not depend on where mocha was started."""
        output = f"output={scratch / self.report}"
        return ("--full-trace", "--reporter", "json", "--reporter-option", output)

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
