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


def test_what_something_is_of_is_a_word_for_the_entries_and_no_further_field(
    planner: Planner, api: Api
) -> None:
    rows = {"items": [{"sku": "A", "label": "Oar"}, {"sku": "B", "label": "Rope"}]}
    url = api.on("GET /catalog", rows)
    assert planner.outputs(f"labels of the products at {url}") == {"labels": ["Oar", "Rope"]}


def values_of(outputs: dict[str, Any]) -> list[Any]:
    """Return outputs without names, also those of the fields in lists."""
    return [
        [list(row.values()) if isinstance(row, dict) else row for row in value]
        if isinstance(value, list)
        else value
        for value in outputs.values()
    ]


ISSUES = [
    {
        "iid": 31, "title": "Login loops", "state": "opened", "labels": ["bug", "auth"],
        "assignee": {"username": "mara", "name": "Mara Lind"}, "milestone": {"title": "4.2"},
        "boards": [{"name": "Sprint"}], "votes": 12, "duration_seconds": 90,
        "stock_status": "instock", "created_at": "2025-05-03",
        "cancelled": False, "on_sale": True, "content": "x",
    },
    {
        "iid": 32, "title": "Dark mode", "state": "opened", "labels": ["feature"],
        "assignee": None, "milestone": None,
        "boards": [{"name": "Later"}], "votes": 40, "duration_seconds": 20,
        "stock_status": "outofstock",
        "created_at": "2025-05-02", "cancelled": True, "on_sale": False, "content": "y",
    },
    {
        "iid": 29, "title": "Crash", "state": "closed", "labels": ["bug"],
        "assignee": {"username": "teo", "name": "Teo Brand"}, "milestone": {"title": "4.1"},
        "boards": [{"name": "Sprint"}], "votes": 7, "duration_seconds": 400,
        "stock_status": "instock",
        "created_at": "2025-05-01", "cancelled": False, "on_sale": False, "content": "z",
    },
]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "values"),
    [
        # A participle speaks of the field whose name is like it.
        ("titles of the issues assigned to teo: {}", [["Crash"]]),
        ("show issues labelled bug from {}, just the titles", [["Login loops", "Crash"]]),
        ("titles of unassigned issues from {}", [["Dark mode"]]),
        # What an API writes as one word.
        ("titles of issues that are out of stock, {}", [["Dark mode"]]),
        ("titles of the issues on sale at {}", [["Login loops"]]),
        # A word and its form are one value: "open" is said of what is `opened`.
        ("how many issues are still open in {}", [2]),
        # Fields of the objects in a list.
        ("titles of the issues in the Sprint board, {}", [["Login loops", "Crash"]]),
        # A noun of one's own for the entries.
        ("titles of the tickets in milestone 4.2: {}", [["Login loops"]]),
        # Orders, places and numbers.
        ("title of the slowest issue from {}", ["Crash"]),
        ("second most voted issue's title from {}", ["Login loops"]),
        ("how many votes are there altogether at {}", [59]),
        ("titles in order from {}", [["Login loops", "Dark mode", "Crash"]]),
        # Nothing is dropped beside a field.
        (
            "list every issue ({}) together with its votes",
            [[["Login loops", 12], ["Dark mode", 40], ["Crash", 7]]],
        ),
        ("title + iid of the closed issues: {}", [[["Crash", 29]]]),
        ("show title and content of the closed issues, {}", [[["Crash", "z"]]]),
        ("which issues took longer than 80 seconds? {} - iid only", [[31, 29]]),
        ("issue titles, newest first, from {}", [["Login loops", "Dark mode", "Crash"]]),
        ("the least voted issue in Sprint: iid and title, {}", [29, "Crash"]),
        ("iids without a milestone from {}", [[32]]),
        (
            "what are the titles of the issues at {} and how many votes does each one have",
            [[["Login loops", 12], ["Dark mode", 40], ["Crash", 7]]],
        ),
    ],
)
def test_people_say_it_in_many_ways(
    planner: Planner, api: Api, task: str, values: list[Any]
) -> None:
    url = api.on("GET /issues", ISSUES)
    assert values_of(planner.outputs(task.format(url))) == values


@pytest.mark.parametrize(
    ("task", "word"),
    [
        ("email me the open issues from {}", "email"),
        ("titles of the cancelled purple issues from {}", "purple"),
        ("who made the last closed issue? {}", "last"),
        ("shortest issue run at {}: what's its iid?", "run"),
        ("restart the open issues of {}", "restart"),
        ("acknowledge the open issues at {}", "acknowledge"),
        ("title of the best iid at {}", "best"),
    ],
)
def test_what_nobody_can_do_or_know_is_named(
    planner: Planner, api: Api, task: str, word: str
) -> None:
    url = api.on("GET /issues", ISSUES)
    assert word in planner.refusal(task.format(url))


RECORDS = [
    {"kind": "A", "host": "www", "content": "10.0.0.1", "pay": {"amount": 5, "currency": "EUR"}},
    {"kind": "MX", "host": "@", "content": "mail", "pay": {"amount": 7, "currency": "EUR"}},
]


@pytest.mark.parametrize(
    ("task", "values"),
    [
        # A lone capital letter is a value and no article.
        ("number of A records in {}", [1]),
        ("contents of the A records at {}", [["10.0.0.1"]]),
        # `contents` may be a field, and need not be the answer.
        ("all hosts and their contents from {}", [[["www", "10.0.0.1"], ["@", "mail"]]]),
        # What has an amount is compared by it.
        ("host of the record with the highest pay from {}", ["@"]),
    ],
)
def test_what_looks_like_a_word_of_the_grammar_may_be_data(
    planner: Planner, api: Api, task: str, values: list[Any]
) -> None:
    url = api.on("GET /dns/records", RECORDS)
    assert values_of(planner.outputs(task.format(url))) == values


def test_words_before_a_colon_are_no_pair_of_a_clause_that_reads(
    planner: Planner, api: Api
) -> None:
    rows = [
        {"ref": "H1", "price": 9, "city": "Graz", "phone": "1"},
        {"ref": "F2", "price": 3, "city": "Linz", "phone": "2"},
        {"ref": "F3", "price": 5, "city": "Graz", "phone": "3"},
    ]
    url = api.on("GET /listings", rows)
    task = f"the cheapest listing in Graz: ref and phone, {url}"
    assert planner.outputs(task) == {"ref": "F3", "phone": "3"}


def test_the_entries_of_a_list_behind_an_adjective_are_a_list(planner: Planner, api: Api) -> None:
    alerts = [{"id": "a", "service": "db"}, {"id": "b", "service": "web"}]
    url = api.on("GET /alerts/active", {"alerts": alerts, "page": 1})
    assert planner.outputs(f"for every alert in {url} give the service") == {
        "services": ["db", "web"]
    }


def test_what_a_list_is_in_can_be_asked_for(planner: Planner, api: Api) -> None:
    body = {
        "account": {"balance": 12.5},
        "transactions": [{"id": 1, "sum": 2}, {"id": 2, "sum": 3}],
    }
    url = api.on("GET /accounts/3/transactions", body)
    assert planner.outputs(f"account balance from {url}") == {"account_balance": 12.5}
