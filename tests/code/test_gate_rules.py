"""The rules of the gate by themselves: what was lost, what is new, what shows a bug."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.checks import CaseInfo
from runtrue.code.baseline import to_be_kept
from runtrue.code.changed_tests import ChangedTests, changed_tests, moved_files
from runtrue.code.gate import exclusions
from runtrue.code.proof import failing, fresh_cases
from runtrue.loop import Fault, Finding, Location, Mode, Outcome, Verdict


def verdict(*findings: Finding, **cases: Outcome) -> Verdict:
    named = {f"tests/test_a.py::{name}": outcome for name, outcome in cases.items()}
    return Verdict(check="pytest", mode=Mode.REQUIRED, passed=False, findings=findings, cases=named)


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # pragma: no cover",
        "x = 1  #pragma:nocover",
        "/* istanbul ignore next */",
        "// c8 ignore start",
        "/* v8 ignore next 3 */",
        "x <- 1  # nocov",
        "int x;  // LCOV_EXCL_LINE",
    ],
)
def test_a_comment_that_keeps_a_changed_line_from_being_measured_is_seen(line: str) -> None:
    assert exclusions(f"a = 1\n{line}\n", {1, 2}) == (2,)
    assert exclusions(f"a = 1\n{line}\n", {1}) == ()
    # It was there before, and only moved.
    assert exclusions(f"a = 1\n  {line}\n", {1, 2}, before=f"{line}\n") == ()


@pytest.mark.parametrize(
    "line", ["# no cover for old men", 'x = "pragma: no cover"', "ignore = c8"]
)
def test_what_only_sounds_like_such_a_comment_is_none(line: str) -> None:
    assert exclusions(line, {1}) == ()


TEST = b"import a\n\n\ndef test_one():\n    assert a.one() == 1\n"


@pytest.mark.parametrize(
    ("new", "moved"),
    [
        ({"tests/test_b.py": TEST + b"\n"}, {"tests/test_a.py": "tests/test_b.py"}),
        ({"tests/test_b.py": b"def test_two():\n    pass\n"}, {}),
        ({"b.py": TEST}, {}),
        ({}, {}),
    ],
)
def test_a_test_file_is_moved_to_a_new_one_that_is_much_like_it(
    new: dict[str, bytes], moved: dict[str, str]
) -> None:
    before = {"tests/test_a.py": TEST, **dict.fromkeys(new)}
    assert moved_files(before, {"tests/test_a.py": None, **new}) == moved


def test_what_must_still_run_is_called_as_it_is_now_unless_its_source_is_gone() -> None:
    before = verdict(one=Outcome.PASSED)
    kept = to_be_kept(before, ChangedTests(moved={"tests/test_a.py": "tests/test_b.py"}))
    assert kept.cases == {"tests/test_b.py::one": Outcome.PASSED}
    nothing = ChangedTests()
    assert to_be_kept(before, nothing, ("tests/test_a.py",)).cases == {
        "tests/test_a.py::one": Outcome.SKIPPED
    }
    assert to_be_kept(before, nothing, ("tests/test_b.py",)).cases == before.cases


SHOP = b"def total(a):\n    return sum(a)\n\n\ndef rebate(a):\n    return a * 2\n"
TESTS = b"""
import pytest
from shop import rebate, total


@pytest.fixture
def prices():
    return rebate(3), 1


def test_total():
    assert total([1, 2]) == 3


def test_prices(prices):
    assert len(prices) == 2


class TestRebate:
    def test_of_two(self):
        assert rebate(2) == 4
"""


@pytest.mark.parametrize(
    ("source", "tests", "case", "now"),
    [
        # Another name, with the same body; parameters stay.
        (SHOP, TESTS.replace(b"test_total", b"test_sum"), "test_total[1]", "test_sum[1]"),
        (
            SHOP,
            TESTS.replace(b"TestRebate", b"TestIt"),
            "TestRebate::test_of_two",
            "TestIt::test_of_two",
        ),
        # Gone with what it tests, which it may use through a fixture.
        (SHOP[: SHOP.index(b"def rebate")], b"", "TestRebate::test_of_two", None),
        (SHOP[: SHOP.index(b"def rebate")], b"", "test_prices", None),
        # Gone by itself.
        (SHOP[: SHOP.index(b"def rebate")], b"", "test_total", "test_total"),
        (SHOP, b"", "TestRebate::test_of_two", "TestRebate::test_of_two"),
        # What is only called otherwise, or used elsewhere, is not removed.
        (SHOP + b"# rebate", b"", "TestRebate::test_of_two", "TestRebate::test_of_two"),
    ],
)
def test_a_test_goes_by_another_name_or_with_what_it_tests(
    source: bytes, tests: bytes, case: str, now: str | None
) -> None:
    before = {"app/shop.py": SHOP, "app/tests/test_shop.py": TESTS}
    changed = changed_tests(before, {"app/shop.py": source, "app/tests/test_shop.py": tests})
    # A case may be named from the project or from the top.
    for place in ("tests/test_shop.py", "app/tests/test_shop.py"):
        assert changed.now(f"{place}::{case}") == (now and f"{place}::{now}")


@pytest.mark.parametrize(
    ("file", "before", "after", "case", "now"),
    [
        (
            "a.test.js",
            'test("adds", () => {\n  expect(add(1, 2)).toBe(3);\n});\n',
            'test("sums up", () => {\n  expect(add(1, 2)).toBe(3);\n});\n',
            "numbers adds",
            "numbers sums up",
        ),
        (
            "a_test.go",
            "func TestAdd(t *testing.T) {\n  if add(1, 2) != 3 {\n    t.Fatal(1)\n  }\n}\n",
            "func TestSum(t *testing.T) {\n  if add(1, 2) != 3 {\n    t.Fatal(1)\n  }\n}\n",
            "TestAdd/small",
            "TestSum/small",
        ),
    ],
)
def test_a_renamed_test_is_found_in_other_languages(
    file: str, before: str, after: str, case: str, now: str
) -> None:
    changed = changed_tests({file: before.encode()}, {file: after.encode()})
    assert changed.now(f"{file}::{case}") == f"{file}::{now}"


@pytest.mark.parametrize(
    ("category", "frames", "shows"),
    [
        ("AssertionError", ["tests/test_a.py"], True),
        ("ZeroDivisionError", ["tests/test_a.py", "a.py"], True),
        ("ImportError", ["tests/test_a.py"], False),
        ("NameError", ["tests/test_a.py"], False),
        ("NameError", [], False),
        ("compile", [], False),
        # The code itself has looked for a name that is not there.
        ("NameError", ["tests/test_a.py", "a.py"], True),
    ],
)
def test_a_test_that_failed_for_want_of_a_name_shows_no_bug(
    category: str, frames: list[str], shows: bool
) -> None:
    data: dict[str, Any] = {"frames": [{"file": file} for file in frames]}
    found = Finding(
        source="pytest",
        category=category,
        message="",
        fault=Fault.CANDIDATE,
        location=Location(symbol="tests/test_a.py::one"),
        data=data,
    )
    assert failing(verdict(found, one=Outcome.FAILED, two=Outcome.PASSED)) == (
        {"tests/test_a.py::one"} if shows else set()
    )


@pytest.mark.parametrize(
    ("lines", "fresh"),
    [((), ""), ((1,), ""), ((4,), "a"), ((5, 7), "a"), ((8,), "b"), ((6, 20), "ab")],
)
def test_a_test_is_fresh_when_a_line_was_changed_before_the_next_begins(
    lines: tuple[int, ...], fresh: str
) -> None:
    infos = {"a": CaseInfo(file="t.py", line=4), "b": CaseInfo(file="t.py", line=8)}
    assert fresh_cases(infos, {"t.py": lines}) == set(fresh)


def test_a_test_whose_place_is_unknown_is_as_fresh_as_its_file() -> None:
    infos = {"a": CaseInfo(file="t.py"), "b": CaseInfo(file="u.py"), "c": CaseInfo()}
    assert fresh_cases(infos, {"t.py": (3,)}) == {"a"}


@pytest.mark.parametrize(
    "definition",
    [
        "exports.half = (a) => a / 2;",
        "export function half(a) {\n  return a / 2;\n}",
        "class Sums {\n  half(a) {\n    return a / 2;\n  }\n}",
    ],
)
def test_a_test_goes_with_what_it_tests_in_javascript_too(definition: str) -> None:
    test = 'test("halves", () => {\n  assert.equal(half(4), 2);\n});\n'
    before = {"sum.js": definition.encode(), "test/sum.test.js": test.encode()}
    # What is left may define nothing at all.
    gone = {"sum.js": b"", "test/sum.test.js": b""}
    assert changed_tests(before, gone).now("test/sum.test.js::halves") is None
    kept = {**gone, "sum.js": definition.encode()}
    assert changed_tests(before, kept).now("test/sum.test.js::halves") is not None
