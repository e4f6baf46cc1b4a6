"""What the values at a failing frame have is offered for what is asked of them."""

from __future__ import annotations

from runtrue.fixers.search.evidence import Failure, Frame, Value
from tests.fixers.search.proposed import written


def failed(function: str, **values: Value) -> Failure:
    frame = Frame(file="shop.py", line=2, function=function, values=values)
    return Failure(test="test_it", exception="ValueError", frames=(frame,))


def test_another_attribute_that_the_object_had_is_offered() -> None:
    text = "def find(member, label):\n    return member.name == label\n"
    member = Value(type="Status", attributes=("_sort", "name", "value"))
    made = written(text, failed("find", member=member))
    assert made[text.replace(".name", ".value")].kind == "attribute"
    assert text.replace(".name", "._sort") not in made
    assert text.replace(".name", ".value") not in written(text)


def test_another_key_that_the_mapping_had_is_offered() -> None:
    row = Value(type="dict", keys=("'net'", "'gross'"))
    for asked in ("row['gross']", "row.get('gross', 0)"):
        text = f"def price(row):\n    return {asked}\n"
        made = written(text, failed("price", row=row))
        assert made[text.replace("gross", "net")].kind == "key"


def test_what_a_function_elsewhere_had_is_not_offered() -> None:
    text = "def find(member, label):\n    return member.name == label\n"
    elsewhere = failed("other", member=Value(type="Status", attributes=("name", "value")))
    assert text.replace(".name", ".value") not in written(text, elsewhere)
