"""The gate `test_kinds`: the tests that are asked for, known by what is declared, named or ran."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Machine, MakeProject, machine, make_project
from tests.code.support import EMPTY, MENDED, PYTEST, RIGHT, TAX, Agent, valid
from tests.code.test_coverage_gate import BUG, NEW, said

__all__ = ["machine", "make_project"]


def test_kinds_are_known_by_marker_by_name_and_by_words(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    tests = """
        import pytest

        from names import initials


        @pytest.mark.happy_path
        def test_two_names():
            assert initials("Ada Lovelace") == "AL"


        class TestEdgeCases:
            def test_one(self):
                assert initials("") == ""


        def test_rejects_digits():
            with pytest.raises(ValueError):
                initials("12")


        def test_many_names():
            assert initials("a b c d") == "abcd"
    """
    config = f"{PYTEST}\n[coverage.new_function]\nrequired_tests = {KINDS}\n"
    markers = "[pytest]\nmarkers =\n    happy_path\n"
    files = {**EMPTY, "runtrue.toml": config, "pytest.ini": markers}
    agent = Agent(tmp_path / "agent", RIGHT, {"tests/test_names.py": tests})
    done = machine.runtrue(*NEW, "--agent", agent.command, cwd=make_project(files))
    assert done.code == 0, done.err
    assert said(done.json, 0, "test_kinds")["output"].split("; ") == [
        "happy_path by marker: test_two_names",
        "edge_cases by name: TestEdgeCases::test_one",
        "error_handling by words: test_rejects_digits",
        "many by name: test_many_names",
    ]


KINDS = ["happy_path", "edge_cases", "error_handling", "many"]


def test_a_test_that_asserts_nothing_is_named_and_does_not_count(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    idle = """
        from names import initials


        def test_happy_path():
            assert initials("Ada Lovelace") == "AL"


        def test_edge_cases():
            initials("")


        def test_error_handling():
            try:
                initials("12")
            except ValueError:
                pass
    """
    agent = Agent(tmp_path / "agent", RIGHT, {"tests/test_names.py": idle})
    done = machine.runtrue(*NEW, "--agent", agent.command, cwd=make_project(EMPTY))
    assert done.code == 3
    (finding,) = done.json["findings"]
    assert finding["attempted"] == ["edge_cases", "error_handling"]
    assert (
        "assert nothing and do not count: test_edge_cases, test_error_handling"
        in (finding["message"])
    )
    assert finding["message"] in agent.prompts[2]
    failure = valid(done.json["record"])["loop_state"]["attempts"][0]["failures"][0]
    assert failure["error_type"] == "required_tests_missing"


def regression(expected: str) -> dict[str, str]:
    return {
        "tests/test_regression.py": f"""
            from tax import with_tax


            def test_regression_of_the_rate():
                assert with_tax(0) == 0
                assert with_tax({expected}
        """
    }


SHOWS_IT = {
    "tests/test_rate.py": """
        from tax import with_tax


        def test_bug_of_the_rate():
            assert with_tax(100) == 119
    """
}
#: The bug, and no test that shows it.
UNTESTED = {name: text for name, text in TAX.items() if not name.startswith("tests/")}


def test_a_regression_test_that_passes_on_the_old_code_is_refused(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    agent = Agent(tmp_path / "agent", MENDED, regression("1) > 1"), SHOWS_IT)
    done = machine.runtrue(*BUG, "--agent", agent.command, cwd=make_project(UNTESTED))
    assert done.code == 0, done.err
    (finding,) = done.json["attempts"][0]["findings"]
    assert finding["attempted"] == ["original_bug_reproduction"]
    assert "write one that fails on the code before the fix" in finding["message"]
    evidence = said(done.json, 1, "test_kinds")["output"]
    assert "original_bug_reproduction by ran: test_bug_of_the_rate" in evidence
    assert "tests/test_rate.py" in done.json["diff"]
    # The code as it was lay in the sandbox only for as long as the tests ran on it.
    assert "+    return net * 1.19" in done.json["diff"]


def test_a_regression_test_that_is_written_with_the_fix_is_run_on_the_old_code(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    agent = Agent(tmp_path / "agent", MENDED, regression("100) == 119"))
    project = make_project(UNTESTED)
    done = machine.runtrue(*BUG, "--agent", agent.command, "--apply", cwd=project)
    assert done.code == 0, done.err
    assert len(done.json["attempts"]) == 1
    assert said(done.json, 0, "test_kinds")["output"].split("; ") == [
        "regression_test by ran: test_regression_of_the_rate",
        "regression_test by name: test_regression_of_the_rate",
        "original_bug_reproduction by ran: test_regression_of_the_rate",
    ]
    assert (project / "tax.py").read_text() == MENDED["tax.py"]
    assert "before the fix" in agent.prompts[1]
    assert "net * 1.9" in agent.prompts[1]  # it is shown the code as it was
