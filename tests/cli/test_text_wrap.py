"""Lines on a terminal break between words, at any width."""

from __future__ import annotations

import pytest

from runtrue.cli.text_wrap import columns_of, wrap

SENTENCE = "  search: tried 899 edits in 15 s; none passed. Most suspicious: shop.py:6"
COMMAND = "  the patch applies with: git -C /home/ada/projects/shop apply /home/ada/p.patch"


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_no_word_is_broken_and_nothing_is_lost(width: int) -> None:
    rows = wrap(SENTENCE, width).split("\n")
    assert all(columns_of(row) <= width for row in rows)
    assert " ".join(row.strip() for row in rows) == SENTENCE.strip()


def test_the_rest_of_a_line_hangs_below_its_beginning() -> None:
    first, *rest = wrap(SENTENCE, 40).split("\n")
    assert first.startswith("  search")
    assert rest
    assert all(row.startswith("    ") and row[4] != " " for row in rest)


def test_the_rest_of_a_coloured_line_hangs_as_if_it_had_no_colour() -> None:
    plain = wrap(SENTENCE, 40).split("\n")
    coloured = wrap(f"\x1b[32m{SENTENCE}\x1b[0m", 40).split("\n")
    assert coloured == [f"\x1b[32m{plain[0]}", *plain[1:-1], f"{plain[-1]}\x1b[0m"]


def test_the_rest_of_a_row_hangs_below_its_last_column() -> None:
    row = " ok  isolation  bubblewrap (at least landlock); no network; also available: process"
    first, *rest = wrap(row, 60).split("\n")
    assert first.startswith(" ok  isolation  bubblewrap")
    assert rest
    assert all(line.startswith(" " * 16) and line[16] != " " for line in rest)


def test_a_command_stays_in_one_piece_so_that_it_can_be_copied() -> None:
    rows = wrap(COMMAND, 40).split("\n")
    assert rows[-1].strip() == "git -C /home/ada/projects/shop apply /home/ada/p.patch"
    quoted = wrap(
        "Fix them and rerun `runtrue gate --base main` in the project that it is about", 30
    )
    assert any("`runtrue gate --base main`" in row for row in quoted.split("\n"))


def test_a_short_line_and_a_tiny_terminal_are_left_as_they_are() -> None:
    assert wrap("  short", 40) == "  short"
    assert wrap(SENTENCE, 5) == SENTENCE


def test_colours_take_no_columns_and_wide_characters_two() -> None:
    assert columns_of("\x1b[1mbold\x1b[0m") == 4
    assert columns_of("日本") == 4
