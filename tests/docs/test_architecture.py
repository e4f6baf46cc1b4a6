"""The architecture page lists the main path of real runs, and no more files than promised."""

from __future__ import annotations

import re

import pytest

from .journeys import JOURNEYS, Stop, draw, drawing_of, main_path
from .pages import DOCS, ROOT

_PAGE = DOCS / "architecture.md"
#: How many files a newcomer has to read to follow a command.
_LIMITS = {"fix": 14, "do": 20, "plan execute": 18}
_ITEM = re.compile(r"^(\d+)\. `src/runtrue/([\w/.]+)`: (.+)$", re.M)


def _listed(journey: str) -> dict[str, set[str]]:
    """The files that the page lists for a journey, in order, each with the names it mentions."""
    text = _PAGE.read_text(encoding="utf-8")
    _, _, section = text.partition(f"\n## runtrue {journey}\n")
    section, _, _ = section.partition("\n## ")
    items = _ITEM.findall(section)
    assert [int(number) for number, _, _ in items] == list(range(1, len(items) + 1))
    return {file: set(re.findall(r"`([\w.]+)`", line)) for _, file, line in items}


def _unnamed(names: set[str], stop: Stop) -> list[str]:
    """The public functions that were passed and are not among the names, in full or at the end."""
    return [one for one in stop.public if not names & {one, one.rpartition(".")[2]}]


@pytest.mark.parametrize("journey", JOURNEYS)
def test_the_lists_are_short_and_name_files_that_exist(journey: str) -> None:
    listed = _listed(journey)
    assert 0 < len(listed) <= _LIMITS[journey]
    assert [file for file in listed if not (ROOT / "src/runtrue" / file).is_file()] == []


@pytest.mark.parametrize("journey", JOURNEYS)
def test_a_real_run_passes_what_the_page_lists(journey: str) -> None:
    listed, stops = _listed(journey), main_path(journey)
    assert list(stops) == list(listed)
    assert {file: _unnamed(listed[file], stop) for file, stop in stops.items()} == {
        file: [] for file in stops
    }
    drawing = drawing_of(journey).read_text(encoding="utf-8")
    assert drawing == draw(journey, stops), "run python -m tests.docs.journeys"


def test_the_page_explains_every_layer() -> None:
    from tests.test_imports import LEVELS

    table = _PAGE.read_text(encoding="utf-8").partition("## How to read")[0]
    packages = {
        part for level in LEVELS for part in level if (ROOT / "src/runtrue" / part).is_dir()
    }
    packages.discard("")
    assert sorted(part for part in packages if f"`{part}`" not in table) == []
