"""The benchmark of real bug fixes: its manifest, and what it works out without a registry."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.real.agents import cheats, without_body
from benchmarks.real.hunks import (
    changed_functions,
    changes_code,
    groups,
    hunks_between,
    pick,
    revert,
    same_code,
)
from benchmarks.real.judge import agree, results_of
from benchmarks.real.manifest import HELD_OUT, Item, as_toml, load
from benchmarks.real.mine import requirements
from benchmarks.real.outcome import Outcome, Repair, tables
from benchmarks.real.project import is_test

OLD = '''\
"""Prices."""
import os


def total(prices):
    """Sum."""
    found = 0
    for price in prices:
        found = price
    return found


def first(prices):
    return prices[1]
'''
NEW = OLD.replace("found = price\n", "found += price\n").replace("prices[1]", "prices[0]")
ITEM = Item(
    id="prices-1.1-abcd",
    language="python",
    package="prices",
    version="1.1",
    previous="1.0",
    file="prices.py",
    hunks=("abcdefabcdef",),
    lines=1,
    command="python -m pytest -q",
    install=("pytest==8.0.0",),
)
SCRIPT = """\
exports.first = function (items) {
  if (!items) {
    return null;
  }
  return items[0];
};
"""


# -- manifest --------------------------------------------------------------------------------------


def test_the_manifest_has_forty_fixes_of_twenty_projects_eight_of_them_in_javascript() -> None:
    items = load()
    assert len(items) >= 40
    assert len({item.package for item in items}) >= 20
    assert sum(item.language != "python" for item in items) >= 8


def test_the_manifest_is_well_formed() -> None:
    items = load()
    assert len({item.id for item in items}) == len(items)
    for item in items:
        assert item.id.startswith(f"{item.package}-{item.version}-")
        assert all(len(digest) == 12 and int(digest, 16) >= 0 for digest in item.hunks)
        assert item.lines >= 1
        assert not is_test(item.file)
        assert not Path(item.file).is_absolute()
        assert bool(item.install) == (item.language == "python")
        assert bool(item.before) == (item.language != "python")


def test_no_held_out_package_is_an_item() -> None:
    assert not {item.package for item in load()} & HELD_OUT


def test_an_entry_of_a_held_out_package_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "items.toml"
    file.write_text(as_toml(ITEM).replace('"prices"', '"attrs"'))
    with pytest.raises(ValueError, match="held out"):
        load(file)


def test_an_item_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "items.toml"
    file.write_text(as_toml(ITEM))
    assert load(file) == [ITEM]


# -- hunks -----------------------------------------------------------------------------------------


def test_a_hunk_is_reverted_and_the_others_stay() -> None:
    sums, index = hunks_between("prices.py", OLD, NEW)
    assert revert(NEW, [sums, index]) == OLD
    assert revert(NEW, [index]) == NEW.replace("prices[0]", "prices[1]")


def test_a_hunk_is_found_again_by_its_digest() -> None:
    hunks = hunks_between("prices.py", OLD, NEW)
    assert pick(hunks, [hunks[1].digest]) == [hunks[1]]
    with pytest.raises(LookupError):
        pick(hunks, ["000000000000"])


def test_hunks_of_one_function_are_tried_together() -> None:
    new = NEW.replace("found = 0", "found = 1").replace("return found", "return found - 1")
    together = [group for group in groups("prices.py", OLD, new) if len(group) > 1]
    assert [len(group) for group in together] == [2]


@pytest.mark.parametrize(
    "new",
    [
        OLD.replace("Sum.", "Return the sum."),
        OLD.replace("import os\n", "import os  # for later\n"),
        OLD.replace("import os\n", "import os\nfrom sys import (\n    path,\n)\n"),
        OLD + "\n\n",
    ],
    ids=["docstring", "comment", "import alone", "layout"],
)
def test_what_does_not_run_is_no_fix(new: str) -> None:
    assert not [group for group in groups("prices.py", OLD, new) if changes_code(new, group)]


def test_javascript_is_compared_without_comments_and_layout() -> None:
    plain = "def f():\n    a = 1\n    for _ in '':\n        a = 2\n"
    assert same_code("a.py", plain, plain.replace("a =", "a: int ="))
    assert not same_code("a.py", "class A:\n    a = 1\n", "class A:\n    a: int = 1\n")
    assert same_code("a.js", "let a = 1; // one\n", "let a  =  1;\n/* two */\n")
    assert not same_code("a.js", "let a = 1;\n", "let a = 2;\n")


# -- miner -----------------------------------------------------------------------------------------


def test_requirements_are_those_of_the_package_and_of_its_tests() -> None:
    metadata = (
        "Name: prices\n"
        "Requires-Dist: money>=1; python_version < '3.12'\n"
        "Requires-Dist: hypothesis; extra == 'test'\n"
        "Requires-Dist: sphinx; extra == 'docs'\n"
    )
    assert requirements(metadata) == ["money>=1; python_version < '3.12'", "hypothesis"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/data.py", True),
        ("pkg/test_prices.py", True),
        ("test.js", True),
        ("lib/prices.spec.ts", True),
        ("pkg/contest.py", False),
        ("lib/latest.js", False),
    ],
)
def test_tests_are_known_by_their_names(path: str, expected: bool) -> None:
    assert is_test(path) is expected


# -- agents ----------------------------------------------------------------------------------------


def test_a_gutted_function_still_parses_and_does_nothing() -> None:
    hunk = hunks_between("prices.py", OLD, NEW)[1]
    gutted = without_body(ITEM, NEW, hunk)
    assert gutted is not None
    names: dict[str, object] = {}
    exec(gutted, names)  # noqa: S102  # the text above
    assert callable(names["first"])
    assert names["first"]([1]) is None


def test_a_gutted_function_of_javascript_keeps_its_braces() -> None:
    hunk = hunks_between("a.js", SCRIPT.replace("[0]", "[1]"), SCRIPT)[0]
    assert (
        without_body(replace(ITEM, language="javascript"), SCRIPT, hunk)
        == "exports.first = function (items) {\n};\n"
    )


def test_each_cheat_is_a_program_that_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.py").write_text(OLD)
    (tmp_path / "test_prices.py").write_text("def test_first():\n    assert 0\n")
    monkeypatch.chdir(tmp_path)
    hunks = hunks_between("prices.py", OLD, NEW)
    programs = cheats(ITEM, tmp_path, hunks, ["test_prices.py::test_first"])
    assert set(programs) == {"emptied module", "gutted function", "skipped test"}
    for program in programs.values():
        exec(program, {})  # noqa: S102  # written by the function under test
    assert "return None" in (tmp_path / "prices.py").read_text()
    assert "pytestmark = pytest.mark.skip" in (tmp_path / "test_prices.py").read_text()
    exec(programs["emptied module"], {})  # noqa: S102
    assert (tmp_path / "prices.py").read_text() == ""


# -- judgement -------------------------------------------------------------------------------------


def test_fixes_agree_when_enough_common_calls_give_the_same() -> None:
    upstream = {f"first({n})": str(n) for n in range(6)}
    assert agree(dict(upstream), upstream, {"first"}) is True
    assert agree({**upstream, "first(3)": "4"}, upstream, {"first"}) is False
    assert agree({"first(0)": "0"}, upstream, {"first"}) is None


def test_calls_of_untouched_functions_and_calls_that_give_nothing_are_no_evidence() -> None:
    upstream = {f"first({n})": str(n) for n in range(6)}
    assert agree(dict(upstream), upstream, {"total"}) is None
    silent = {f"total({n})": f"None leaves ({n})" for n in range(6)}
    assert agree(dict(silent), silent, {"total"}) is None


def test_what_a_private_function_leaves_behind_is_its_own_business() -> None:
    upstream = {f"T.width({n})": f"{n} leaves (T({n}),)" for n in range(6)}
    upstream["T._widths(1)"] = "1 leaves (T(1),)"
    assert agree({**upstream, "T._widths(1)": "1 leaves (T(2),)"}, upstream, {"T.width"}) is True
    assert agree({**upstream, "T._widths(1)": "2 leaves (T(1),)"}, upstream, {"T.width"}) is False
    assert agree({**upstream, "T.width(1)": "1 leaves (T(2),)"}, upstream, {"T.width"}) is False


def test_functions_that_differ_are_named_with_their_class() -> None:
    one = "class A:\n    def f(self): return 1\n    def g(self): return 2\n"
    assert changed_functions(one, one.replace("return 2", "return 3")) == {"A.g"}


def test_how_a_senseless_input_is_refused_does_not_matter() -> None:
    upstream = {f"first({n})": str(n) for n in range(6)} | {"first()": "raises TypeError"}
    assert agree({**upstream, "first()": "raises ValueError"}, upstream, {"first"}) is True


def test_a_fix_that_suits_the_tests_alone_is_told_from_upstream_by_varied_inputs(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_prices.py").write_text(
        "from prices import first\n\ndef test_first():\n    assert first([3, 5, 7, 9]) == 3\n"
    )
    item = replace(ITEM, command=f"{sys.executable} -m pytest -q")
    found = []
    for body in ("prices[0]", "prices[-len(prices)]", "min(prices)"):
        (tmp_path / "prices.py").write_text(f"def first(prices):\n    return {body}\n")
        found.append(results_of(item, tmp_path, "prices.py"))
    upstream, alike, other = found
    assert agree(alike, upstream, {"first"}) is not False
    assert agree(other, upstream, {"first"}) is False


def test_a_fix_that_is_not_shown_to_be_right_and_passed_misses_the_target() -> None:
    wrong = Repair(
        status="passed", judgement="wrong", confidence=0.95, seconds=1.0, cpu=1.0, why=""
    )
    right = Repair(
        status="passed", judgement="right", confidence=0.95, seconds=1.0, cpu=1.0, why=""
    )
    unknown = replace(wrong, judgement="plausible")
    for repair, met in ((wrong, False), (unknown, False), (right, True)):
        outcome = Outcome(item=ITEM, suite_cpu=1.0, failing_cpu=0.5, found=True, repair=repair)
        (table,) = tables([outcome])
        rows = {row.contender.split(" (")[0]: row for row in table.rows}
        assert rows["wrongly passed, or plausible"].met is met
        assert rows["wrongly passed, or plausible, with confidence ≥ 0.9"].met is met


def test_items_that_could_not_be_set_up_are_named() -> None:
    (table,) = tables([Outcome(item=ITEM, error="gone from its registry")])
    assert any(ITEM.id in note for note in table.notes)
