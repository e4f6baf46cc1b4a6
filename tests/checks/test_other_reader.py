"""Any other command is judged by its exit code and the TAP or JUnit XML that it leaves."""

from __future__ import annotations

import textwrap

import pytest

from runtrue.checks import totals
from runtrue.loop import Fault
from tests.checks.support import Project, only

REPORT = """
<testsuites>
  <testsuite name="outer" tests="4">
    <testsuite name="inner">
      <testcase name="adds" classname="total" file="total.sh" line="7">
        <failure message="4 is not 3">at total.sh:8</failure>
      </testcase>
    </testsuite>
    <testcase name="passes" classname="total"/>
    <testcase name="waits" classname="total"><skipped/></testcase>
    <testcase name="breaks" classname="total"><error type="os.Trouble">went away</error></testcase>
  </testsuite>
</testsuites>
"""


def printing(project: Project, tap: str, code: int = 0) -> str:
    """A command that prints a report and ends with a code."""
    project.write("report.txt", tap)
    project.write("run.sh", f"cat report.txt\nexit {code}\n")
    return "sh run.sh"


class TestTap:
    @pytest.mark.parametrize(
        ("tap", "cases"),
        [
            ("1..1\nok 1 - adds\n", {"adds": "passed"}),
            ("ok\nok\n1..2\n", {"test ?": "passed", "test ? #2": "passed"}),
            ("TAP version 14\nok 1 adds\n", {"adds": "passed"}),
            ("1..1\nok 1 - a # SKIP no\n", {"a": "skipped"}),
            ("1..1\nnot ok 1 - a # TODO yes\n", {"a": "skipped"}),
            ("1..1\nok 1 - \\# of items\n", {"# of items": "passed"}),
            ("1..1\n# Subtest: a\n    ok 1 - b\n    1..1\nok 1 - a\n", {"a b": "passed"}),
            ("1..1\nok 1 - a # time=12.3ms\n", {"a": "passed"}),
            ("1..1\nok 1 - a # SKIP no # time=12.3ms\n", {"a": "skipped"}),
            ("1..1\nok 1 - a # time=5ms {\n    ok 1 - b\n    1..1\n}\n", {"a b": "passed"}),
            ("# a\nok 1 is\nok 2 is\n1..2\n# tests 2\n", {"a": "passed"}),
            # A test without an assertion has passed; what follows the plan is no test.
            ("# a\nok 1 is\n# b\n# c\nok 2 is\n1..2\n# tests 2\n# duration_ms 3.5\n",
             dict.fromkeys("abc", "passed")),
            ("1..2\nok 1 a\n# by the way\nok 2 b\n", {"a": "passed", "b": "passed"}),
            # Two reports, one after another, and what is left of a third.
            ("TAP version 13\nok 1 - a\n1..1\nTAP version 13\n1..1\nok 1 - b\n",
             {"a": "passed", "b": "passed"}),
            ("ok 1 - a\n1..1\nok 1 - b\nok 2 - c\n", dict.fromkeys("abc", "passed")),
        ],
    )  # fmt: skip
    def test_its_results_are_cases(self, project: Project, tap: str, cases: dict[str, str]) -> None:
        verdict = project.check(printing(project, tap))
        assert verdict.passed
        assert verdict.cases == cases

    @pytest.mark.parametrize(
        "command", ["tap -R min test.js", "tap --reporter=dot test.js", "tap --reporter=tap a"]
    )
    def test_it_is_asked_for_whatever_reporter_the_project_likes(
        self, project: Project, command: str
    ) -> None:
        # Of several, the last one counts, as with tap itself.
        project.write(
            "tap",
            """
            #!/bin/sh
            for word do last=$word; done
            [ "$last" = --reporter=tap ] || [ "$1" = --reporter=tap ] || exit 1
            printf '1..1\\nok 1 - adds\\n'
            """.strip().replace("            ", ""),
        ).chmod(0o755)
        verdict = project.check(f"./{command}")
        assert verdict.passed
        assert verdict.cases == {"adds": "passed"}

    def test_assertions_are_those_of_the_test_around_them(self, project: Project) -> None:
        values = "  ---\n  expected: 3\n  actual: 4\n  ...\n"
        tap = f"TAP version 13\n# adds\nok 1 is\nnot ok 2 is too\n{values}1..2\n"
        verdict = project.check(printing(project, tap, 1))
        assert verdict.cases == {"adds": "failed"}
        assert only(verdict).message == "is too: expected 3, got 4"

    def test_what_ava_shows_of_a_failure_is_its_message(self, project: Project) -> None:
        tap = """
            TAP version 13
            not ok 1 - adds
              ---
                name: AssertionError
                details:
                  'Difference (- actual, + expected):': |-
                    - 4
                    + 3
                message: ''
              ...
            1..1
        """
        finding = only(project.check(printing(project, textwrap.dedent(tap), 1)))
        assert finding.message == "Difference (- actual, + expected): - 4 + 3"
        assert (finding.data["expected"], finding.data["actual"]) == ("3", "4")

    def test_a_failure_tells_what_its_yaml_tells(self, project: Project) -> None:
        project.write("total.js", "")
        tap = """
            1..1
            not ok 1 - adds
              ---
              message: 4 is not 3
              wanted: 3
              found: 4
              at: total.js:12:5
              ...
        """
        finding = only(project.check(printing(project, tap, 1)))
        assert (finding.category, finding.message) == ("failure", "4 is not 3")
        assert str(finding.location) == "total.js:12:5"
        assert (finding.data["expected"], finding.data["actual"]) == ("3", "4")

    def test_yaml_that_is_none_is_kept_as_text(self, project: Project) -> None:
        tap = "1..1\nnot ok 1 - adds\n  ---\n  a: [\n  ...\n"
        finding = only(project.check(printing(project, tap, 1)))
        assert finding.message == "adds"
        assert finding.data["stack_trace"] == "a: ["

    @pytest.mark.parametrize(
        ("tap", "category", "message"),
        [
            ("1..3\nok 1 - a\n", "plan", "planned 3 tests and reported 1"),
            ("1..3\nok 1 - a\nBail out! no disk\n", "bail_out", "bailed out: no disk"),
            ("TAP version 13\nBail out!\n", "bail_out", "bailed out: no reason given"),
            (
                "1..3\nok 1 - a\nTAP version 13\nok 1 - b\n1..1\n",
                "plan",
                "planned 3 tests and reported 1",
            ),
        ],
    )
    def test_a_run_that_broke_off_fails(
        self, project: Project, tap: str, category: str, message: str
    ) -> None:
        finding = only(project.check(printing(project, tap, 1)))
        assert (finding.category, finding.message) == (category, message)

    def test_the_test_in_which_the_process_died_has_failed(self, project: Project) -> None:
        project.write("total.js", "\n" * 9)
        project.write("report.txt", "TAP version 13\n# adds\nok 1 is\n# divides\nok 2 is\n")
        error = "RangeError: no zero\\n    at divide (total.js:7:3)\\n"
        project.write("run.sh", f"cat report.txt\nprintf '{error}' >&2\nexit 7\n")
        verdict = project.check("sh run.sh")
        assert verdict.cases == {"adds": "passed", "divides": "failed"}
        finding = only(verdict)
        assert (finding.category, finding.message) == ("RangeError", "no zero")
        assert (finding.location.file, finding.location.line) == ("total.js", 7)

    @pytest.mark.parametrize(
        "text", ["ok then\n", "not ok with me\n", "1..9 items\n", "1..0 # SKIP\n", ""]
    )
    def test_what_only_looks_like_it_is_none(self, project: Project, text: str) -> None:
        verdict = project.check(printing(project, text))
        assert verdict.passed
        assert verdict.cases == {"tests": "passed"}


class TestJunitXml:
    def test_what_the_command_left_is_read(self, project: Project) -> None:
        project.write("report.xml", REPORT)
        verdict = project.check("sh -c 'mkdir out; cp report.xml out/results.xml; exit 1'")
        assert verdict.cases == {
            "total.sh::adds": "failed",
            "total::passes": "passed",
            "total::waits": "skipped",
            "total::breaks": "error",
        }
        error, failure = verdict.findings
        assert (failure.category, failure.message) == ("failure", "4 is not 3")
        assert str(failure.location) == "total.sh:7"
        assert (error.category, error.message) == ("Trouble", "went away")
        assert totals(verdict).errors == 1

    def test_what_was_there_before_is_not(self, project: Project) -> None:
        project.write("report.xml", REPORT)
        assert project.check("true").cases == {"tests": "passed"}

    def test_other_xml_is_not(self, project: Project) -> None:
        assert project.check("sh -c 'echo \"<html/>\" > page.xml'").passed

    def test_one_that_is_cut_off_proves_nothing(self, project: Project) -> None:
        finding = next(
            iter(project.check("sh -c 'echo \"<testsuite><testcase\" > report.xml'").findings)
        )
        assert (finding.category, finding.fault) == ("no_report", Fault.CHECK)


def test_an_exit_code_outweighs_a_report_without_failures(project: Project) -> None:
    finding = only(project.check(printing(project, "1..1\nok 1 - adds\n", 3)))
    assert finding.category == "exit_code"
    assert finding.message == "exited with code 3 although its report reports no failure"
    assert finding.fault is Fault.CANDIDATE
