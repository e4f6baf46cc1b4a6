"""The gate `coverage`: what each type of code must have run, and tests that are added for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtrue.checks import lines_with_code
from runtrue.gates.coverage import ranges
from tests.cli.conftest import Machine, MakeProject, machine, make_project
from tests.code.support import EMPTY, MENDED, PYTEST, RIGHT, TAX, TESTS, Agent, plain, valid

__all__ = ["machine", "make_project"]

NEW = ("code", "initials of a name", "--path", "names.py", "--json")
BUG = ("code", "the rate is 19 %", "--path", "tax.py", "--type", "bug_fix", "--json")

#: All the kinds of tests by their names, and nothing run but the import.
NAMED_ONLY = """
    import names


    def test_happy_path_edge_case_error_handling():
        assert names.__doc__ is None
"""
GUARDED = {
    "tax.py": """
        def with_tax(net):
            if net < 0:
                return -with_tax(-net)
            return net * 1.19
    """
}


def said(report: dict[str, Any], attempt: int, gate: str = "coverage") -> dict[str, Any]:
    """What a gate said of an attempt."""
    verdicts: list[dict[str, Any]] = report["attempts"][attempt]["verdicts"]
    return next(verdict for verdict in verdicts if verdict["check"] == gate)


def test_too_little_of_a_new_function_is_mended_by_adding_tests(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    softened = "def test_happy_path_edge_case_error_handling():\n    pass\n"
    agent = Agent(
        tmp_path / "agent",
        RIGHT,
        {"tests/test_names.py": NAMED_ONLY},
        {"tests/test_more_names.py": TESTS["tests/test_names.py"], "tests/test_names.py": softened},
    )
    project = make_project(EMPTY)
    done = machine.runtrue(*NEW, "--agent", agent.command, "--apply", cwd=project)
    assert done.code == 0, done.err
    report = done.json
    (finding,) = report["attempts"][0]["findings"]
    assert finding["category"] == "coverage_threshold_unmet"
    assert finding["data"]["missing"] == {"names.py": [2, 3, 4, 5, 6, 7]}
    assert finding["data"]["required"] == 80
    assert "names.py: 2-7" in agent.prompts[2]
    (part,) = report["attempts"][1]["fix"]["parts"]
    assert part["files"] == ["tests/test_more_names.py"]
    assert part["restored"] == ["tests/test_names.py"]
    assert "assert names" in (project / "tests/test_names.py").read_text()
    attempts = valid(report["record"])["loop_state"]["attempts"]
    assert [a["test_results"]["coverage_percent"] for a in attempts] == [14.29, 100]
    assert attempts[0]["failures"][0]["error_type"] == "coverage_threshold_unmet"
    assert report["metrics"]["coverage_met"] is True


def test_every_line_that_a_bug_fix_changes_must_be_run(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    more = {
        "tests/test_tax_of_debts.py": """
            from tax import with_tax


            def test_debts():
                assert with_tax(-100) == -119
        """
    }
    untouched = "\n\ndef old():\n    return 'never run, and never changed'\n"
    project = make_project({**TAX, "tax.py": plain(TAX)["tax.py"] + untouched})
    fixed = {"tax.py": plain(GUARDED)["tax.py"] + untouched}
    agent = Agent(tmp_path / "agent", fixed, more)
    done = machine.runtrue(*BUG, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    verdict = said(done.json, 0)
    assert "the tests cover 66.7 % of the changed lines, 100 % is required" in verdict["output"]
    assert verdict["findings"][0]["data"]["missing"] == {"tax.py": [3]}
    assert said(done.json, 1)["output"] == "the changed lines: 100.0 %"
    # The record tells of the whole file, most of which is none of the fix's business.
    assert done.json["record"]["loop_state"]["test_results"]["coverage_percent"] < 100


@pytest.mark.parametrize("more", [True, False])
def test_a_refactoring_must_not_be_covered_less_than_before(
    machine: Machine, make_project: MakeProject, tmp_path: Path, more: bool
) -> None:
    tests = {"tests/test_debts.py": "from tax import with_tax\n\n\ndef test_debts():\n"}
    tests = {name: f"{text}    assert with_tax(-1) == -1.19\n" for name, text in tests.items()}
    project = make_project({**TAX, **MENDED})
    agent = Agent(tmp_path / "agent", GUARDED, tests if more else "true")
    asked = ("code", "guard it", "--path", "tax.py", "--type", "refactor", "--json")
    done = machine.runtrue(*asked, "--agent", agent.command, cwd=project)
    (finding,) = done.json["attempts"][0]["findings"]
    assert finding["data"] == {"missing": {"tax.py": [3]}, "percent": 75, "required": 100}
    if more:
        assert done.code == 0, done.err
        assert said(done.json, 1)["output"] == "100.0 % now, 100.0 % before"
        return
    assert done.code == 3
    assert [e["condition"] for e in done.json["escalations"]] == ["coverage_threshold_unmet"]
    assert valid(done.json["record"])["loop_state"]["phase"] == "escalated"


def test_an_endpoint_needs_nine_tenths_and_four_kinds_of_tests(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    endpoint = {
        "api.py": """
            def get_user(user):
                if not isinstance(user, str):
                    raise TypeError("no name")
                if not user:
                    return 404, {}
                return 200, {"login": user}
        """
    }
    first = {
        "tests/test_api.py": """
            from api import get_user


            def test_happy_path():
                assert get_user("ada")[0] == 200
        """
    }
    more = {
        "tests/test_api_more.py": """
            import pytest

            from api import get_user


            def test_integration_with_the_users():
                assert get_user("ada")[1] == {"login": "ada"}


            def test_error_cases():
                assert get_user("")[0] == 404


            def test_validation():
                with pytest.raises(TypeError):
                    get_user(None)
        """
    }
    agent = Agent(tmp_path / "agent", endpoint, first, more)
    done = machine.runtrue(
        *("code", "GET /users/X", "--path", "api.py", "--type", "api_endpoint", "--json"),
        *("--agent", agent.command),
        cwd=make_project(EMPTY),
    )
    assert done.code == 0, done.err
    found = {f["category"]: f for f in done.json["attempts"][0]["findings"]}
    assert found["coverage_threshold_unmet"]["data"]["required"] == 90
    assert found["required_tests_missing"]["attempted"] == [
        *("error_cases", "integration_test", "validation_test")
    ]
    assert "validation_test" in agent.prompts[2]
    assert done.json["record"]["coverage_requirements"]["api_endpoint"]["minimum_coverage"] == 90


NEVER_LOADED = """
    # What is planned.

    \"\"\"Rates
    of other countries.\"\"\"
"""


@pytest.mark.parametrize("code", ["", "\nRATE = 1.2\n# it is higher\n"])
def test_of_a_file_that_no_test_loads_only_what_could_run_counts_as_missed(
    machine: Machine, make_project: MakeProject, tmp_path: Path, code: str
) -> None:
    other = plain({"": NEVER_LOADED})[""] + code
    agent = Agent(tmp_path / "agent", {**MENDED, "rates.py": other})
    done = machine.runtrue(*BUG, "--agent", agent.command, cwd=make_project(TAX))
    verdict = said(done.json, 0)
    if not code:
        assert done.code == 0, done.err
        assert verdict["output"] == "the changed lines: 100.0 %"
        return
    (finding,) = verdict["findings"]
    assert finding["data"] == {"missing": {"rates.py": [6]}, "percent": 50, "required": 100}


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        ("a.py", "# a\n\nx = 1  # b\n  # c\n", {3}),
        ("a.py", 'def f():\n    """a\n\n    b"""\n    return "c"\n', {1, 5}),
        ("a.py", 'def f(): "a"\nx = """\nb\n"""\n', {1, 2, 3, 4}),
        ("a.py", "def f(:\n    # a\n", {1}),
        ("a.ts", "// a\n/* b\n\n c */\nx() /* d */\n/* e */ y()\n", {5, 6}),
        ("a.go", "package a\n\n// a\n/* b */\n", {1}),
        ("a.rs", "/// a\n#[test]\nfn a() {}\n", {2, 3}),
        ("A.java", "/**\n * a\n */\nclass A {}\n", {4}),
    ],
)
def test_blank_lines_comments_and_docstrings_hold_no_code(
    file: str, text: str, lines: set[int], tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text)
    assert lines_with_code(tmp_path / file) == lines


def test_a_file_that_is_gone_has_no_line_to_run(tmp_path: Path) -> None:
    assert lines_with_code(tmp_path / "gone.py") == set()


def test_what_cannot_be_measured_is_told_as_unknown_and_not_as_nothing(
    machine: Machine, make_project: MakeProject
) -> None:
    config = """
        [checks.tests]
        command = "sh check.sh"
        [coverage.bug_fix]
        required_tests = []
    """
    check = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -q\n"
    project = make_project({**TAX, **MENDED, "runtrue.toml": config, "check.sh": check})
    done = machine.runtrue(*BUG, cwd=project)
    assert done.code == 0, done.err
    assert said(done.json, 0)["output"].startswith("not known: ")
    results = valid(done.json["record"])["loop_state"]["test_results"]
    assert "coverage_percent" not in results
    assert done.json["record"]["execution_config"]["test_framework"] == "other"
    assert done.json["metrics"]["coverage_met"] is False


@pytest.mark.parametrize(("minimum", "code"), [(10, 0), (20, 3)])
def test_the_minimum_can_be_configured(
    machine: Machine, make_project: MakeProject, tmp_path: Path, minimum: int, code: int
) -> None:
    config = f"{PYTEST}\n[coverage.new_function]\nminimum_coverage = {minimum}\n"
    agent = Agent(tmp_path / "agent", RIGHT, {"tests/test_names.py": NAMED_ONLY})
    project = make_project({**EMPTY, "runtrue.toml": config})
    done = machine.runtrue(*NEW, "--agent", agent.command, cwd=project)
    assert done.code == code, done.err
    required = done.json["record"]["coverage_requirements"]["new_function"]
    assert required["minimum_coverage"] == minimum
    assert required["required_tests"] == ["happy_path", "edge_cases", "error_handling"]


@pytest.mark.parametrize(
    ("lines", "text"),
    [((), ""), ((4,), "4"), ((4, 5), "4-5"), ((9, 1, 2, 3, 7), "1-3, 7, 9")],
)
def test_lines_are_written_as_people_write_them(lines: tuple[int, ...], text: str) -> None:
    assert ranges(lines) == text
