"""Coverage is about lines that can run; all others count for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.checks import Coverage, FileCoverage, Measured, load_measured
from runtrue.checks.coverage import MEASURED

LINES = st.frozensets(st.integers(1, 12))
NAMES = st.sampled_from(["a.py", "b.py", "c.py"])
COUNTS = st.lists(st.tuples(st.integers(-1, 12), st.integers(-1, 3)))
COVERAGES = st.builds(
    Coverage, st.dictionaries(NAMES, st.builds(FileCoverage.of_counts, COUNTS), max_size=3)
)
WANTED = st.dictionaries(NAMES, LINES)

EXAMPLE = Coverage(
    {
        "a.py": FileCoverage(frozenset({1, 2, 3}), frozenset({4})),
        "b.py": FileCoverage(frozenset(), frozenset({1})),
        "empty.py": FileCoverage(),
    }
)


class TestPercent:
    @pytest.mark.parametrize(
        ("files", "percent"),
        [
            (None, 60),
            (["a.py"], 75),
            (["a.py", "a.py"], 75),
            (["b.py"], 0),
            (["a.py", "b.py"], 60),
            (["a.py", "unknown.py"], 75),
            (["empty.py"], None),
            (["unknown.py"], None),
            ([], None),
        ],
    )
    def test_of_files(self, files: list[str] | None, percent: float | None) -> None:
        assert EXAMPLE.percent(files) == percent

    @pytest.mark.parametrize(
        ("lines", "percent"),
        [
            ({"a.py": {1, 4}}, 50),
            ({"a.py": {1, 99}}, 100),
            ({"a.py": {3, 4}, "b.py": {1, 2}}, 100 / 3),
            ({"a.py": {98, 99}}, None),
            ({"unknown.py": {1}}, None),
            ({}, None),
        ],
    )
    def test_of_lines_counts_only_those_that_can_run(
        self, lines: dict[str, set[int]], percent: float | None
    ) -> None:
        wanted = {file: frozenset(numbers) for file, numbers in lines.items()}
        assert EXAMPLE.percent_of_lines(wanted) == percent

    @given(COVERAGES)
    def test_of_all_lines_is_that_of_all_files(self, coverage: Coverage) -> None:
        lines = {file: frozenset(range(1, 13)) for file in coverage.files}
        assert coverage.percent_of_lines(lines) == coverage.percent()


class TestMissed:
    def test_lines_are_in_order_and_files_without_any_left_out(self) -> None:
        lines = {"a.py": frozenset({4, 1, 9}), "b.py": frozenset({2})}
        assert EXAMPLE.missed(lines) == {"a.py": (4,)}

    @given(COVERAGES, WANTED)
    def test_nothing_is_missed_exactly_when_all_that_can_run_ran(
        self, coverage: Coverage, wanted: dict[str, frozenset[int]]
    ) -> None:
        assert (not coverage.missed(wanted)) == (coverage.percent_of_lines(wanted) in (None, 100))

    @given(COVERAGES, WANTED)
    def test_what_is_missed_was_wanted(
        self, coverage: Coverage, wanted: dict[str, frozenset[int]]
    ) -> None:
        for file, missed in coverage.missed(wanted).items():
            assert set(missed) <= wanted[file]
            assert list(missed) == sorted(missed)


class TestTogether:
    @given(COUNTS)
    def test_no_line_both_ran_and_did_not(self, counts: list[tuple[int, int]]) -> None:
        found = FileCoverage.of_counts(counts)
        assert not found.executed & found.missing
        assert found.lines == {line for line, _ in counts if line > 0}

    @given(COVERAGES, COVERAGES)
    def test_what_ran_in_either_run_ran(self, one: Coverage, other: Coverage) -> None:
        both = one | other
        assert both == other | one
        for file, found in both.files.items():
            parts = [c.files.get(file, FileCoverage()) for c in (one, other)]
            assert found.executed == parts[0].executed | parts[1].executed
            assert found.lines == parts[0].lines | parts[1].lines
            assert not found.executed & found.missing

    @given(COVERAGES)
    def test_once_more_changes_nothing(self, coverage: Coverage) -> None:
        assert coverage | coverage == coverage | Coverage() == coverage


class TestKept:
    @pytest.mark.parametrize("name", ["tests", "a/b", "../x", "ü %"])
    @pytest.mark.parametrize(
        "measured", [Measured(coverage=EXAMPLE), Measured(why_not="there is no c8")]
    )
    def test_it_comes_back_as_it_was(self, tmp_path: Path, name: str, measured: Measured) -> None:
        MEASURED.save(measured, tmp_path, name)
        assert load_measured(tmp_path, name) == measured
        assert [file.parent for file in tmp_path.rglob("*")] == [tmp_path]

    def test_that_of_an_earlier_run_is_forgotten(self, tmp_path: Path) -> None:
        MEASURED.save(Measured(coverage=EXAMPLE), tmp_path, "tests")
        MEASURED.forget(tmp_path, "tests")
        assert load_measured(tmp_path, "tests") is None

    @pytest.mark.parametrize("text", ["", "{", '{"coverage": 1}'])
    def test_what_cannot_be_read_was_not_measured(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "coverage-tests.json").write_text(text)
        assert load_measured(tmp_path, "tests") is None
