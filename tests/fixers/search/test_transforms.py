"""Transforms: what turns the value that a test got into the one it expects, and nothing else."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure, Value
from runtrue.fixers.search.operators.transforms import transforms
from tests.fixers.search.proposed import written
from tests.fixers.search.trying import offers


def compared(got: object, wanted: object) -> Failure:
    """A test that compares what it got with what it wants."""
    sides = [Value(type=type(one).__name__, repr=repr(one)) for one in (got, wanted)]
    return Failure(
        test="test_it",
        exception="AssertionError",
        message="assert",
        actual=sides[0],
        expected=sides[1],
        operator="==",
    )


@pytest.mark.parametrize(
    ("got", "wanted", "way"),
    [
        (" a ", "a", "{a}.strip()"),
        ({"k": [1, " a "]}, {"k": [1, "a"]}, "{a}.strip()"),
        ("\n    a\n    b\n", "a\nb", "inspect.cleandoc({a})"),
        ('{"doc": " a "}', '{"doc": "a"}', "{a}.strip()"),
        ("a$b", "a\\$b", "{a}.replace('$', '\\\\$')"),
        ((1, 2), [1, 2], "list({a})"),
        (3, "3", "str({a})"),
        ("/a", "a", "{a}.removeprefix('/')"),
        (None, [], "{a} or []"),
    ],
)
def test_a_way_is_found_that_gives_what_is_expected(got: object, wanted: object, way: str) -> None:
    assert way in transforms((compared(got, wanted),))


def test_the_fields_of_a_named_tuple_are_compared_with_those_of_a_tuple() -> None:
    got = Value(type="Link", repr="Link(scheme='http', path='/%ce')")
    failure = Failure(
        test="test_it",
        exception="AssertionError",
        actual=got,
        expected=Value(type="tuple", repr="('http', '/%CE')"),
        operator="==",
    )
    assert "{a}.upper()" in transforms((failure,))


def test_equal_values_give_no_way() -> None:
    assert not transforms((compared("a", "a"),))


def test_a_returned_value_is_turned_into_what_is_expected() -> None:
    source = "def f(text):\n    return text\n"
    made = written(source, compared("A ", "A"))
    edit = made["def f(text):\n    return text.strip()\n"]
    assert (edit.kind, edit.unlikely < 1) == ("transform", True)


def test_a_module_that_is_not_imported_is_not_called() -> None:
    made = written("def f(text):\n    return text\n", compared("\n  a\n  b", "a\nb"))
    assert not [text for text in made if "cleandoc" in text or "dedent" in text]


def test_a_text_begins_as_the_test_expects_unless_it_does_already() -> None:
    offers(
        "transform",
        """\
        def f(version):
            return f"/@v/{version}.zip"
        """,
        """\
        def f(version):
            if not version.startswith('v'):
                version = 'v' + version
            return f"/@v/{version}.zip"
        """,
        compared("/@v/1.zip", "/@v/v1.zip"),
    )


def test_a_value_is_used_as_elsewhere_in_the_file() -> None:
    source = "def f(name):\n    return quoted(name)\n\n\ndef g(name):\n    return {}\n"
    assert source.format("quoted(name)") in written(source.format("name"))


def test_a_value_is_used_as_many_others_of_the_file_are() -> None:
    quoted = "def quoted(a):\n    return a\n\n\ndef f(x):\n    return quoted(x)\n\n\n"
    source = quoted + "def g(y):\n    return {}\n"
    assert source.format("quoted(y)") in written(source.format("y"))
    source = "DASH = '-'\n\n\ndef f(s):\n    return s.strip(DASH)\n\n\ndef g(s):\n    return {}\n"
    assert source.format("s.strip(DASH)") in written(source.format("s"))
