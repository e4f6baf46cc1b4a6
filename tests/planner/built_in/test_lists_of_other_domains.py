"""Tasks about lists in shapes and words that nothing was made for: what a rule says holds there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.planner.api import Api
from tests.planner.built_in.support import Planner

ALBUMS = {
    "payload": [
        {"albumTitle": "Blue", "releaseDate": "1959-02-01", "runtimeSec": 2460, "copies": 0},
        {"albumTitle": "Hall", "releaseDate": "1965-12-01", "runtimeSec": 2590, "copies": 7},
        {"albumTitle": "Soul", "releaseDate": "1968-06-30", "runtimeSec": 2150, "copies": 2},
    ],
    "meta": {"count": 3},
}
SHIPMENTS = [
    {"tracking_no": "S1", "state": "delivered", "hazardous": True, "at": "2025-05-10T18:00:00Z"},
    {"tracking_no": "S2", "state": "delayed", "hazardous": False, "at": "2025-05-11T09:00:00Z"},
    {"tracking_no": "S3", "state": "in_transit", "hazardous": True, "at": "2025-07-01T09:00:00Z"},
]
CASE = {
    "judge": {"name": "R. Amin"},
    "parties": [{"role": "plaintiff", "name": "J. Hale"}, {"role": "defendant", "name": "Orbit"}],
}


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        # A name is said by its last words, without units, or with its short forms spelled out.
        ("titles of the albums at {albums}", {"titles": ["Blue", "Hall", "Soul"]}),
        ("average runtime at {albums}", {"average_runtimeSec": 2400.0}),
        ("tracking numbers of {shipments}", {"tracking_numbers": ["S1", "S2", "S3"]}),
        ("albumTitle as name of {albums}", {"names": ["Blue", "Hall", "Soul"]}),
        # Dates are read as people write them, and a day is all of it.
        ("titles of albums from the 1960s, {albums}", {"titles": ["Hall", "Soul"]}),
        ("titles of albums before July 1968 at {albums}", {"titles": ["Blue", "Hall", "Soul"]}),
        ("titles of albums after 1 December 1965 at {albums}", {"titles": ["Soul"]}),
        ("tracking numbers after 10 May 2025 at {shipments}", {"tracking_numbers": ["S2", "S3"]}),
        ("tracking numbers on May 11, 2025 at {shipments}", {"tracking_numbers": ["S2"]}),
        # What entries have or lack is a condition, of a number too.
        ("titles of the albums that still have copies, {albums}", {"titles": ["Hall", "Soul"]}),
        ("titles of albums with no copies, {albums}", {"titles": ["Blue"]}),
        ("titles of albums out of copies, {albums}", {"titles": ["Blue"]}),
        (
            "tracking numbers of shipments that haven't been delivered yet, {shipments}",
            {"tracking_numbers": ["S2", "S3"]},
        ),
        (
            "tracking numbers of shipments that aren't hazardous, {shipments}",
            {"tracking_numbers": ["S2"]},
        ),
        # "First" behind an adjective is an order by the field that is said.
        (
            "titles of {albums} sorted by release date, oldest first",
            {"titles": ["Blue", "Hall", "Soul"]},
        ),
        ("titles in alphabetical order, {albums}", {"titles": ["Blue", "Hall", "Soul"]}),
        # Two values of one field are alternatives.
        (
            "tracking numbers of delayed and delivered shipments, {shipments}",
            {"tracking_numbers": ["S1", "S2"]},
        ),
        # A list that no word names is meant if all words fit it, and nothing else.
        ("who is the defendant in {case}?", {"result": ["Orbit"]}),
        ("hazardous shipments: tracking number. {shipments}", {"tracking_numbers": ["S1", "S3"]}),
    ],
)
def test_what_is_said_of_entries(
    planner: Planner, api: Api, task: str, outputs: dict[str, Any]
) -> None:
    urls = {
        "albums": api.on("GET /albums", ALBUMS),
        "shipments": api.on("GET /shipments", SHIPMENTS),
        "case": api.on("GET /case", CASE),
    }
    assert planner.outputs(task.format(**urls)) == outputs


@pytest.mark.parametrize(
    ("task", "named"),
    [
        ("sort {} by title, cheapest first", "cheapest first"),
        ("the smallest album that is live from {}", "smallest"),
        ("albums that have lyrics, {}", "lyrics"),
        ("titles of the moody albums, {}", "moody"),
    ],
)
def test_what_does_not_fit_is_named(planner: Planner, api: Api, task: str, named: str) -> None:
    assert named in planner.refusal(task.format(api.on("GET /albums", ALBUMS)))


def test_a_part_of_what_is_fetched_is_not_taken_for_the_whole(planner: Planner, api: Api) -> None:
    url = api.on("GET /exhibits/9", {"caption": "Horse", "insured": 120, "floor": 2})
    outputs = planner.outputs(f"Get the caption and insured value of {url}")
    assert list(outputs.values()) == ["Horse", 120]
