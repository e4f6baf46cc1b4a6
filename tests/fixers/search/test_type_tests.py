"""Types and characters: one more that is let in, or a value made to fit first."""

from __future__ import annotations

from textwrap import dedent

from runtrue.fixers.search.evidence import Failure, Frame, Value
from tests.fixers.search.proposed import written
from tests.fixers.search.test_transforms import compared
from tests.fixers.search.trying import FILE, offers


def test_an_isinstance_lets_in_the_type_that_a_value_had() -> None:
    value = Value(type="tuple", repr="(1,)")
    frame = Frame(file="shop.py", line=2, function="f", values={"x": value})
    failure = Failure(test="test_it", exception="TypeError", frames=(frame,))
    source = "def f(x):\n    if isinstance(x, {}):\n        return x[0]\n"
    assert source.format("(list, tuple)") in written(source.format("list"), failure)


def test_a_value_of_the_type_that_was_found_is_converted_where_it_is_used() -> None:
    source = """\
    def shown(tags):
        parts = []
        parts.append(tags)
        return "".join(parts)

    def tags_to_text(tags):
        return str(tags)
    """
    wanted = source.replace(
        "        parts.append(tags)\n",
        "        if isinstance(tags, dict):\n            tags = tags_to_text(tags)\n"
        "        parts.append(tags)\n",
    )
    frame = Frame(
        file=FILE, line=4, function="shown", values={"tags": Value(type="dict", repr="{}")}
    )
    failure = Failure(
        test="test_it",
        exception="TypeError",
        message="sequence item 0: expected str instance, dict found",
        frames=(frame,),
    )
    offers("convert", source, wanted, failure)


def test_a_character_that_a_test_is_about_is_let_in() -> None:
    source = "def f(s):\n    return ''.join('.' + x if x in '{}' else x for x in s)\n"
    made = written(source.format("[]*"), compared("a!", "a.!"))
    assert source.format("![]*") in made


def test_a_class_of_a_pattern_lets_in_one_more() -> None:
    source = 'import re\n\n\ndef f(s):\n    return re.sub(r"[{}]", ".", s)\n'
    assert source.format("!a-z") in written(source.format("a-z"), compared("b!", "b."))


def test_an_isinstance_lets_in_a_type_that_others_of_the_project_let_in() -> None:
    source = """\
    def f(x):
        return isinstance(x, {})

    def g(x):
        return isinstance(x, (Duration, delta))

    class Duration: pass
    class delta: pass
    """
    assert dedent(source).format("(Duration, delta)") in written(source.format("Duration"))
