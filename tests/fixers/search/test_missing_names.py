"""What is not there is replaced by what is."""

from __future__ import annotations

from runtrue.fixers.search.evidence import Value
from tests.fixers.search.trying import failed, offers


def test_an_attribute_that_the_object_has() -> None:
    order = Value(type="Order", attributes=("created_at", "total_price", "lines"))
    lost = failed("AttributeError", "…", 1, attribute="price_total", missing_from=order)
    edit = offers(
        "missing_attribute", "x = order.price_total + 1\n", "x = order.total_price + 1\n", lost
    )
    assert edit.unlikely == 1.0


def test_a_key_that_the_mapping_has() -> None:
    row = Value(type="dict", keys=("'id'", "'user_name'", "'mail'"))
    lost = failed("KeyError", "'username'", 1, key="'username'", missing_from=row)
    edit = offers("key", "x = row['username']\n", "x = row['user_name']\n", lost)
    assert edit.unlikely == 1.0


def test_an_attribute_that_is_a_key() -> None:
    row = Value(type="dict", keys=("'id'", "'name'"))
    lost = failed("AttributeError", "…", 1, attribute="name", missing_from=row)
    offers("key", "x = row.name\n", "x = row['name']\n", lost)


def test_a_key_of_another_type() -> None:
    lost = failed("KeyError", "7", 1, missing_from=Value(type="dict", keys=("'7'",)))
    offers("key", "x = row[number]\n", "x = row[str(number)]\n", lost)


def test_a_name_that_is_there() -> None:
    before = "def mail(customer):\n    return costumer.mail\n"
    edit = offers("name", before, before.replace("costumer", "customer"))
    assert edit.unlikely == 1.0


def test_a_name_that_is_wrong_everywhere() -> None:
    before = "def mail(customer):\n    return client.mail or client.name\n"
    offers("name", before, before.replace("client", "customer"))


def test_a_type_that_is_nowhere() -> None:
    before = "from typing import List\n\n\ndef f(xs: Lst[int]) -> Lst[int]:\n    return xs\n"
    offers("annotation", before, before.replace("Lst", "List"))
