"""Localisation: the lines that failing tests ran and passing ones did not come first."""

from __future__ import annotations

from runtrue.fixers.search.evidence import Baseline, Failure, Frame, MeasuredTest
from runtrue.fixers.search.localise import suspicion


def case(test: str, *lines: int, passed: bool = True, frame: int | None = None) -> MeasuredTest:
    frames = (Frame(file="app.py", line=frame, function="f"),) if frame else ()
    failure = None if passed else Failure(test=test, exception="KeyError", frames=frames)
    return MeasuredTest(
        test=test,
        passed=passed,
        seconds=0.01,
        lines={"app.py": frozenset(lines), "test_app.py": frozenset({1})},
        failure=failure,
    )


def test_a_line_that_only_the_failing_test_ran_is_the_most_suspect() -> None:
    baseline = Baseline(cases=(case("t1", 1, 2), case("t2", 1, 3, passed=False)))
    found = suspicion(baseline, ["t2"], ["app.py"])
    assert found.of("app.py", 3) > found.of("app.py", 1) > found.of("app.py", 2) == 0


def test_the_frame_in_which_it_failed_counts_though_passing_tests_ran_it_too() -> None:
    cases = (*(case(f"t{n}", 1, 2) for n in range(9)), case("bad", 1, 2, passed=False, frame=2))
    found = suspicion(Baseline(cases=cases), ["bad"], ["app.py"])
    assert found.of("app.py", 2) == 1.0
    assert found.of("app.py", 1) < 1.0


def test_nothing_but_what_may_be_edited_is_suspected() -> None:
    baseline = Baseline(cases=(case("t", 1, passed=False),))
    assert suspicion(baseline, ["t"], ["app.py"]).files == ["app.py"]
    assert suspicion(baseline, ["t"], []).files == []


def test_failing_tests_that_are_no_target_throw_no_suspicion() -> None:
    cases = (case("ours", 1, passed=False), case("theirs", 5, passed=False))
    found = suspicion(Baseline(cases=cases), ["ours"], ["app.py"])
    assert found.of("app.py", 5) == 0


def test_lines_that_ran_on_import_are_suspected_a_little() -> None:
    baseline = Baseline(cases=(case("t", 4, passed=False),), imported={"app.py": frozenset({1, 2})})
    found = suspicion(baseline, ["t"], ["app.py"])
    assert 0 < found.of("app.py", 1) < found.of("app.py", 4)


def test_a_module_that_only_the_failing_test_imports_is_not_suspect_for_that() -> None:
    cases = (case("good", 5), case("bad", 1, 2, 5, passed=False, frame=2))
    found = suspicion(Baseline(cases=cases), ["bad"], ["app.py"], {"app.py": {1, 2, 3}})
    assert 0 < found.of("app.py", 1) < found.of("app.py", 5)
    assert found.of("app.py", 2) == 1.0, "it raised there"


def test_a_test_that_was_not_traced_speaks_for_no_line() -> None:
    untraced = MeasuredTest(test="t", passed=True, seconds=0.01, lines=None)
    found = suspicion(Baseline(cases=(untraced, case("bad", 1, passed=False))), ["bad"], ["app.py"])
    assert found.of("app.py", 1) == 1.0


def test_what_else_ran_is_less_suspect_where_an_exception_names_a_line() -> None:
    cases = (case("good", 1), case("bad", 1, 2, 3, passed=False, frame=2))
    found = suspicion(Baseline(cases=cases), ["bad"], ["app.py"])
    assert found.of("app.py", 2) == 1.0
    assert 0 < found.of("app.py", 3) < 0.7
