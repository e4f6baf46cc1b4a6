"""Case names: a test is the same one although its name differs from run to run."""

from __future__ import annotations

import pytest

from runtrue.loop import History, Outcome
from runtrue.loop.case_names import name_as_before, same_cases
from tests.loop.make import attempt, finding, verdict


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("t.py::test_a[<shop.Item object at 0x7f31>]", "t.py::test_a[<shop.Item object at 0x9c>]"),
        ("t.py::test_a[2026-11-18 04:05:06.12]", "t.py::test_a[2026-11-19 07:08:09.34]"),
        ("t.py::test_a[1731902341.25]", "t.py::test_a[1731902342.75]"),
        ("t.py::test_a[/tmp/x-1/pytest-3/a.txt]", "t.py::test_a[/tmp/x-1/pytest-4/a.txt]"),
        ("t.py::test_a[0.7312]", "t.py::test_a[0.1288]"),
        ("a.js::takes V1StGXR8_Z5 as a key", "a.js::takes 9hUbm2Qk0x as a key"),
        ("adds within 12 ms", "adds within 9 ms"),
    ],
)
def test_names_that_differ_in_what_varies_are_one_case(before: str, now: str) -> None:
    assert same_cases(["t.py::test_b", before], [now, "t.py::test_b"]) == {now: before}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("t.py::test_a[<x at 0x7f31aa>]", "t.py::test_b[<x at 0x7f31ab>]"),
        ("t.py::test_a[<x at 0x7f31aa>]", "u.py::test_a[<x at 0x7f31ab>]"),
        ("t.py::test_adds", "t.py::test_subtracts"),
        ("adds", "subtracts"),
    ],
)
def test_another_function_or_file_is_another_case(before: str, now: str) -> None:
    assert same_cases([before], [now]) == {}


def test_names_that_are_equal_are_never_taken_for_another() -> None:
    before = ["t.py::test_a[2024-01-01]", "t.py::test_a[2024-01-02]"]
    assert same_cases(before, ["t.py::test_a[2024-01-02]"]) == {}


def test_of_names_that_differ_only_in_an_address_one_that_is_gone_is_missed() -> None:
    before = [f"t.py::test_a[<x at 0x7f{n}>]" for n in range(3)]
    now = [f"t.py::test_a[<x at 0x9c{n}>]" for n in range(2)]
    assert same_cases(before, now) == dict(zip(now, before[:2], strict=True))


def test_random_parameters_are_told_by_their_position_only_where_none_is_missing() -> None:
    before = ["t.py::test_a[red]", "t.py::test_a[blue]"]
    now = ["t.py::test_a[green]", "t.py::test_a[grey]"]
    assert same_cases(before, now) == dict(zip(now, before, strict=True))
    assert same_cases(before, now[:1]) == {}


def test_a_verdict_is_given_the_names_that_its_cases_had_first() -> None:
    old, new = (f"t.py::test_a[<x at 0x{address}>]" for address in ("7f31aa", "7f99bb"))
    first = verdict(cases={old: Outcome.PASSED, "t.py::test_b": Outcome.PASSED})
    told = History(attempts=(attempt(1, first),))
    failed = verdict(
        finding(symbol=new), cases={"t.py::test_b": Outcome.PASSED, new: Outcome.FAILED}
    )
    named = name_as_before(failed, told.case_names("tests"))
    assert named.cases == {"t.py::test_b": Outcome.PASSED, old: Outcome.FAILED}
    assert [found.location.symbol for found in named.findings] == [old]
    told = told.with_attempt(attempt(2, named))
    assert told.regressions(told.latest) == (old,)
