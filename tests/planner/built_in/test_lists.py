"""Tasks about lists, planned from what came back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.planner.api import Api
from tests.planner.built_in.support import Planner

PRODUCTS = [
    {"title": "Lamp", "price": 40, "category": "home", "inStock": True},
    {"title": "Mug", "price": 8, "category": "kitchen", "inStock": True},
    {"title": "Desk", "price": 210, "category": "home", "inStock": False},
]


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        ("list the titles of the products at {}", {"titles": ["Lamp", "Mug", "Desk"]}),
        ("get the title of the cheapest product from {}", {"title": "Mug"}),
        ("list the titles of products under $50 from {}", {"titles": ["Lamp", "Mug"]}),
        ("list the titles of the kitchen products from {}", {"titles": ["Mug"]}),
        ("what is the average price of the products at {}?", {"average_price": 86.0}),
        ("how many home products are at {}?", {"count": 2}),
        (
            "get the title and price of the top 2 products by price from {}",
            {"products": [{"title": "Desk", "price": 210}, {"title": "Lamp", "price": 40}]},
        ),
    ],
)
def test_each_word_has_its_role(
    planner: Planner, api: Api, task: str, outputs: dict[str, Any]
) -> None:
    url = api.on("GET /products", PRODUCTS)
    assert planner.outputs(task.format(url)) == outputs


@pytest.mark.parametrize("word", ["shiniest", "purple", "frobbed"])
def test_a_word_that_fits_nothing_is_named(planner: Planner, api: Api, word: str) -> None:
    url = api.on("GET /products", PRODUCTS)
    assert repr(word) in planner.refusal(f"get the titles of the {word} products from {url}")


@pytest.mark.parametrize(
    ("words", "unclear"),
    [(", dance a waltz", "dance waltz"), (" twice", "twice"), (". Dance", "Dance")],
)
def test_words_behind_a_url_are_read_against_the_answer(
    planner: Planner, api: Api, words: str, unclear: str
) -> None:
    url = api.on("GET /products", PRODUCTS)
    assert f"'{unclear}' is not understood" in planner.refusal(f"fetch {url}{words}")


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        ("which products are cheaper than 50? titles please, {}", {"titles": ["Lamp", "Mug"]}),
        ("what is the most expensive product? {} give the title", {"title": "Desk"}),
        ("list products over $30 from {}, just the titles", {"titles": ["Lamp", "Desk"]}),
        ("average price per category from {}", {"groups": [
            {"category": "home", "average_price": 125.0},
            {"category": "kitchen", "average_price": 8.0},
        ]}),
        ("which product is the cheapest? {}", {"result": "Mug"}),
        ("what is the price of the Mug at {}?", {"price": 8}),
    ],
)  # fmt: skip
def test_a_question_may_come_before_its_url(
    planner: Planner, api: Api, task: str, outputs: dict[str, Any]
) -> None:
    url = api.on("GET /products", PRODUCTS)
    assert planner.outputs(task.format(url)) == outputs


STATIONS = [
    {"title": "Oslo", "platforms": 19, "state": "To Do", "wordCount": 900, "on": "2025-01-05"},
    {"title": "Bergen", "platforms": 4, "state": "Done", "wordCount": 2100, "on": "2024-02-01"},
    {"title": "Bodø", "platforms": 8, "state": "To Do", "wordCount": 1500, "on": "2024-12-24"},
]


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        ("titles of the two stations with the fewest platforms from {}", ["Bergen", "Bodø"]),
        ("get the titles of all To Do stations in {}", ["Oslo", "Bodø"]),
        ("titles of stations over 1000 words from {}", ["Bergen", "Bodø"]),
        ("titles of the stations with more than 2000 words at {}", ["Bergen"]),
        ("collect the titles of all stations at {} - please", ["Oslo", "Bergen", "Bodø"]),
        ("titles of stations that are not Done in {}", ["Oslo", "Bodø"]),
    ],
)
def test_what_people_say_of_entries(
    planner: Planner, api: Api, task: str, outputs: list[str]
) -> None:
    url = api.on("GET /stations", STATIONS)
    (found,) = planner.outputs(task.format(url)).values()
    assert found == outputs


def test_the_total_of_all_orders_is_a_sum_where_each_has_a_total(
    planner: Planner, api: Api
) -> None:
    url = api.on("GET /orders", [{"id": 1, "total": 10}, {"id": 2, "total": 32}])
    (found,) = planner.outputs(f"what's the total of all orders at {url}").values()
    assert found == 42


def test_one_per_line_is_how_a_list_is_written(planner: Planner, api: Api) -> None:
    url = api.on("GET /stations", STATIONS)
    planner.outputs(f"save the titles of the stations at {url} to s.txt, one per line")
    assert (planner.path / "s.txt").read_text().rstrip() == "Oslo\nBergen\nBodø"


def test_what_something_is_of_is_no_further_field_by_its_meaning(
    planner: Planner, api: Api
) -> None:
    rows = {"items": [{"sku": "A", "label": "Oar"}, {"sku": "B", "label": "Rope"}]}
    url = api.on("GET /catalog", rows)
    assert "'products' is not understood" in planner.refusal(f"labels of the products at {url}")
