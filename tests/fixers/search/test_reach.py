"""Reach: only the passing tests that an edit can affect are run on it."""

from __future__ import annotations

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.evidence import Baseline, MeasuredTest
from runtrue.fixers.search.program import Program
from runtrue.fixers.search.proposals import EditSet
from runtrue.fixers.search.reach import TestReach

TEXT = """\
LIMIT = 3


def small(n):
    return n < LIMIT


def large(n):
    return n > LIMIT
"""


def _case(test: str, *lines: int, traced: bool = True) -> MeasuredTest:
    ran = {"app.py": frozenset(lines)} if traced else None
    return MeasuredTest(test=test, passed=True, seconds=0.01, lines=ran)


def _made(old: str, line: int) -> tuple[TestReach, EditSet]:
    cases = (_case("small", 5), _case("large", 9), _case("unknown", traced=False))
    reach = TestReach(Baseline(cases=cases), {"app.py": Program("app.py", TEXT)})
    at = TEXT.index(old)
    made = Splice(at, at + len(old), "other")
    edit = Edit(file="app.py", splices=(made,), kind="name", line=line, says="")
    return reach, EditSet(edits=(edit,), cost=0.0)


def _tests(old: str) -> list[str]:
    reach, candidate = _made(old, 1)
    return reach.tests(candidate)


def test_tests_that_ran_the_function_are_run_and_those_that_were_not_traced() -> None:
    assert _tests("n < LIMIT") == ["small", "unknown"]


def test_what_is_outside_of_functions_can_affect_every_test() -> None:
    assert _tests("LIMIT = 3") == ["small", "large", "unknown"]
    assert _tests("small(n)") == ["small", "large", "unknown"]


def test_witnesses_of_an_edit_ran_its_very_line() -> None:
    cases = (_case("early", 13, 14), _case("late", 13, 14, 15), _case("large", 9))
    text = f"{TEXT}\n\ndef half(n):\n    if n % 2:\n        n -= 1\n    return n // 2\n"
    program = Program("app.py", text)
    reach = TestReach(Baseline(cases=cases), {"app.py": program})

    def witnesses(old: str) -> int:
        at = text.index(old)
        made = Splice(at, at + len(old), "other")
        edit = Edit(file="app.py", splices=(made,), kind="name", line=program.line_of(at), says="")
        return reach.witnesses(EditSet(edits=(edit,), cost=0.0))

    assert [witnesses(one) for one in ("n % 2", "n -= 1", "n // 2", "LIMIT = 3")] == [2, 2, 1, 3]
