"""Which kinds of tests there are, and by what that is known."""

from __future__ import annotations

import pytest

from runtrue.checks import CaseInfo
from runtrue.code.kinds import Evidence, KindsJudgement, judge_kinds
from runtrue.loop import Outcome

KINDS = ("happy_path", "edge_cases", "error_handling")
API = ("happy_path", "error_cases", "integration_test", "validation_test")
BUG = ("regression_test", "original_bug_reproduction")


def judge(
    *names: str,
    required: tuple[str, ...] = KINDS,
    markers: dict[str, tuple[str, ...]] | None = None,
    texts: dict[str, str] | None = None,
    fixed: tuple[str, ...] = (),
    existing: tuple[str, ...] = (),
    outcome: Outcome = Outcome.PASSED,
) -> KindsJudgement:
    infos = {
        name: CaseInfo(file=name.partition("::")[0], markers=(markers or {}).get(name, ()))
        for name in names
    }
    return judge_kinds(
        required,
        dict.fromkeys(names, outcome),
        infos,
        (texts or {}).get,
        fixed=fixed,
        existing=existing,
    )


def kinds_of(name: str, required: tuple[str, ...] = KINDS) -> dict[str, str]:
    """The kinds that one test counts for, and how."""
    return {e.kind: e.how for e in judge(name, required=required).evidence}


@pytest.mark.parametrize(
    ("name", "required", "kinds"),
    [
        # By the kind's own name: in the test, what it is in, its file or its directory.
        ("t.py::test_happy_path", KINDS, {"happy_path": "name"}),
        ("t.py::test_edge_case_of_nothing", KINDS, {"edge_cases": "name"}),
        ("t.py::TestEdgeCases::test_x", KINDS, {"edge_cases": "name"}),
        ("TotalTest.java::errorHandlingOfNull", KINDS, {"error_handling": "name"}),
        ("t.test.js::total edge cases of nothing", KINDS, {"edge_cases": "name"}),
        ("tests/test_error_handling.py::test_x", KINDS, {"error_handling": "name"}),
        ("tests/edge-cases/t.py::test_x", KINDS, {"edge_cases": "name"}),
        ("tests/integration/test_x.py::test_y", API, {"integration_test": "name"}),
        ("t_test.go::TestValidation/x", API, {"validation_test": "name"}),
        ("src/lib.rs::error_case::nothing", API, {"error_cases": "name"}),
        ("t.py::test_regression_of_total", BUG, {"regression_test": "name"}),
        # A name may say several, and then all of them count.
        (
            "t.py::test_happy_path_and_error_handling",
            KINDS,
            {"happy_path": "name", "error_handling": "name"},
        ),
        # A word of the user's own.
        ("t.py::test_performance_of_total", ("performance",), {"performance": "name"}),
        ("t.py::test_total", ("performance",), {}),
        # By words, and for one kind only: the most specific.
        ("t.py::test_total_of_empty_list", KINDS, {"edge_cases": "words"}),
        ("t.test.js::total raises when the list is empty", KINDS, {"error_handling": "words"}),
        ("t.py::test_valid_input", KINDS, {"happy_path": "words"}),
        ("t.py::test_invalid_input", KINDS, {"error_handling": "words"}),
        ("TotalTest.java::rejectsNull", KINDS, {"error_handling": "words"}),
        ("t.py::test_total[empty]", KINDS, {"edge_cases": "words"}),
        ("t.py::test_total[a/b::empty]", KINDS, {"edge_cases": "words"}),
        ("t.test.js::GET /users rejects nobody / nothing", KINDS, {"error_handling": "words"}),
        ("t.py::test_invalid_input", API, {"error_cases": "words"}),
        ("t.py::test_validates_the_address", API, {"validation_test": "words"}),
        ("t.test.ts::end to end", API, {"integration_test": "words"}),
        ("t.test.ts::e2e", API, {"integration_test": "words"}),
        ("t.py::test_bug_in_total", BUG, {"regression_test": "words"}),
        ("t.py::test_issue_123", BUG, {"regression_test": "words"}),
        ("t.py::test_gh17", BUG, {"regression_test": "words"}),
        # What only looks alike is none.
        ("t.py::test_issue_is_created", BUG, {}),
        ("t.py::test_debugger", BUG, {}),
        ("t.py::test_emptying", KINDS, {}),
        ("t.py::test_terrors", KINDS, {}),
        ("t.py::test_total", KINDS, {}),
        # What a test is in says its kind by that kind's name, not by any word.
        ("t.py::TestErrorPage::test_renders", KINDS, {}),
        ("tests/test_errors.py::test_renders", KINDS, {}),
        ("tests/test_empty.py::test_renders", KINDS, {}),
    ],
)
def test_names_and_words(name: str, required: tuple[str, ...], kinds: dict[str, str]) -> None:
    assert kinds_of(name, required) == kinds


@pytest.mark.parametrize(
    ("marker", "required", "kind"),
    [
        ("edge_cases", KINDS, "edge_cases"),
        ("edge_case", KINDS, "edge_cases"),
        ("happy_path", KINDS, "happy_path"),
        ("integration", API, "integration_test"),
        ("integration_test", API, "integration_test"),
        ("regression", BUG, "regression_test"),
        ("smoke", ("smoke",), "smoke"),
    ],
)
def test_what_is_declared_goes_before_what_a_name_says(
    marker: str, required: tuple[str, ...], kind: str
) -> None:
    name = "t.py::test_error_handling_of_invalid_input"
    found = judge(name, required=required, markers={name: (marker, "slow")})
    assert found.evidence == (Evidence(kind=kind, tests=(name,), how="marker"),)


def test_missing_kinds_are_in_the_order_in_which_they_are_required() -> None:
    found = judge("t.py::test_happy_path", required=("edge_cases", *API, "edge_cases"))
    assert found.missing == ("edge_cases", "error_cases", "integration_test", "validation_test")


def test_evidence_names_all_tests_of_a_kind_by_how_they_are_known() -> None:
    found = judge("t.py::test_b_empty", "t.py::test_edge_case", "t.py::test_a_empty")
    assert found.evidence == (
        Evidence(kind="edge_cases", tests=("t.py::test_edge_case",), how="name"),
        Evidence(
            kind="edge_cases", tests=("t.py::test_a_empty", "t.py::test_b_empty"), how="words"
        ),
    )


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED])
def test_a_test_that_did_not_pass_shows_nothing(outcome: Outcome) -> None:
    name = "t.py::test_edge_case"
    found = judge(name, required=("edge_cases", *BUG), fixed=(name,), outcome=outcome)
    assert found.evidence == ()


def test_a_test_that_failed_before_and_passes_now_reproduces_the_bug() -> None:
    name = "t.py::test_total"
    found = judge(name, "t.py::test_other", required=BUG, fixed=(name, "t.py::test_gone"))
    assert found.evidence == (
        Evidence(kind="regression_test", tests=(name,), how="ran"),
        Evidence(kind="original_bug_reproduction", tests=(name,), how="ran"),
    )


@pytest.mark.parametrize("kind", ["original_bug_reproduction", "existing_tests_pass"])
def test_what_must_have_run_is_not_believed_from_a_name(kind: str) -> None:
    name = f"t.py::test_{kind}"
    assert judge(name, required=(kind,), markers={name: (kind,)}).missing == (kind,)


def test_existing_tests_that_still_pass_are_shown() -> None:
    found = judge("t.py::test_a", required=("existing_tests_pass",), existing=("t.py::test_a",))
    assert found.evidence == (
        Evidence(kind="existing_tests_pass", tests=("t.py::test_a",), how="ran"),
    )
    assert judge("t.py::test_a", required=("existing_tests_pass",)).missing


IDLE = "def test_happy_path(): total(1)\ndef test_edge_case(): assert total(0) == 0\n"


def test_a_test_that_asserts_nothing_is_named_and_not_counted() -> None:
    names = ("t.py::test_happy_path[1]", "t.py::test_happy_path[2]", "t.py::test_edge_case")
    found = judge(*names, texts={"t.py": IDLE}, markers={names[0]: ("happy_path",)})
    assert found.asserting_nothing == names[:2]
    assert {evidence.kind for evidence in found.evidence} == {"edge_cases"}
    assert "happy_path" in found.missing


def test_a_test_that_asserts_nothing_reproduces_no_bug_even_where_it_failed_before() -> None:
    name = "t.py::test_happy_path"
    found = judge(name, required=BUG, texts={"t.py": IDLE}, fixed=(name,))
    assert found.asserting_nothing == (name,)
    assert found.missing == BUG


def test_a_test_whose_text_cannot_be_had_counts() -> None:
    found = judge("t.py::test_edge_case", required=("edge_cases",))
    assert (found.missing, found.asserting_nothing) == ((), ())


def test_a_case_of_which_nothing_else_is_known_is_judged_by_its_name() -> None:
    cases = {"t.py::test_edge_case": Outcome.PASSED, "empty": Outcome.PASSED}
    found = judge_kinds(("edge_cases",), cases, {}, {"t.py": IDLE}.get)
    assert [(e.tests, e.how) for e in found.evidence] == [
        (("t.py::test_edge_case",), "name"),
        (("empty",), "words"),
    ]


def test_a_file_is_read_once_for_all_its_tests() -> None:
    read: list[str] = []

    def reading(file: str) -> str:
        read.append(file)
        return IDLE

    cases = {f"t.py::test_happy_path[{n}]": Outcome.PASSED for n in range(20)}
    assert len(judge_kinds(KINDS, cases, {}, reading).asserting_nothing) == 20
    assert read == ["t.py"]
