"""YAML means what its version 1.2 says it means, with either of PyYAML's parsers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from runtrue.documents import parse_document
from runtrue.errors import UsageError

SCALARS: list[tuple[str, Any]] = [
    ("true", True),
    ("False", False),
    ("TRUE", True),
    ("tRUE", "tRUE"),
    *((word, word) for word in ("yes", "No", "on", "OFF", "y", "n")),
    ("null", None),
    ("~", None),
    ("", None),
    ("nUll", "nUll"),
    ("12", 12),
    ("+12", 12),
    ("-0", 0),
    ("0123", 123),
    ("08", 8),
    ("0o17", 15),
    ("0x1F", 31),
    ("-0x1F", "-0x1F"),
    ("0b11", "0b11"),
    ("1_000", "1_000"),
    ("1e3", 1000.0),
    ("1.", 1.0),
    (".5", 0.5),
    ("-1.5E-1", -0.15),
    (".", "."),
    ("+", "+"),
    ("12:30:45", "12:30:45"),
    ("190:20:30.15", "190:20:30.15"),
    ("2024-01-01", "2024-01-01"),
    ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
    ("=", "="),
    ("<<", "<<"),
    ("'12'", "12"),
    ('"true"', "true"),
    ("!!str 12", "12"),
    ("!!int '12'", 12),
    ("!!float 3", 3.0),
    ("${fetch.items[0]}/x", "${fetch.items[0]}/x"),
]

DOCUMENTS: list[tuple[str, Any]] = [
    ("on: push\nyes: 1", {"on": "push", "yes": 1}),
    ('"1": a\n"<<": b', {"1": "a", "<<": "b"}),
    ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
    ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
    ("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}", {"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 3}}),
    ("b: {q: 3, <<: [{p: 1}, {p: 2, r: 4}]}", {"b": {"p": 1, "r": 4, "q": 3}}),
    ("a: &x {p: 1}\nb: &y {<<: *x}\nc: {<<: *y}", {"a": {"p": 1}, "b": {"p": 1}, "c": {"p": 1}}),
    ("a: |\n  x\n  y\nb: >-\n  x\n  y", {"a": "x\ny\n", "b": "x y"}),
    ("a: 'é\\/😀'\nb: \"\\/\\u00e9\"", {"a": "é\\/😀", "b": "/é"}),
]

#: What is refused, where, and a piece of the message that both parsers give.
REFUSED = [
    ("a: 1\nb: 2\na: 3", "3:1", "the key 'a' appears twice, first on line 1"),
    ("b: {<<: {}, <<: {}}", "1:13", "the key '<<' appears twice, first on line 1"),
    ("1: a", "1:1", 'the key 1 is a number, not text; write it in quotes: "1"'),
    ("a:\n  true: b", "2:3", 'the key true is a boolean, not text; write it in quotes: "true"'),
    ("~: b", "1:1", 'the key ~ is null, not text; write it in quotes: "~"'),
    ("!!binary a: b", "1:1", "the key a is something else, not text"),
    ("a: {{ b }}", "1:5", "a key must be text, not a mapping or a list"),
    ("? [a]\n: b", "1:3", "a key must be text, not a mapping or a list"),
    ("a: 1\n---\nb: 2", "3:1", "a second document starts here; a file may hold only one"),
    ("a: !!python/object/apply:os.system [x]", "1:4", "the tag !!python/object/apply:os.system"),
    ("a: !!python/name:os.system", "1:4", "the tag !!python/name:os.system is not supported"),
    ("a: !mine x", "1:4", "the tag !mine is not supported; plain values need no tag"),
    ("!!set {a, b}", "1:1", "the tag !!set is not supported"),
    ("!!timestamp 2024-01-01", "1:1", "the tag !!timestamp is not supported"),
    ("!!map [a]", "1:1", "the tag !!map is not supported"),
    ("a: !!int x", "1:4", "'x' is not a number in YAML 1.2"),
    ("a: !!bool yes", "1:4", "'yes' is not a boolean in YAML 1.2"),
    ("<<: 1", "1:5", "`<<` takes a mapping or a list of mappings, by their aliases (*name)"),
    ("<<: [{}, 1]", "1:5", "`<<` takes a mapping or a list of mappings"),
    ("a: .nan", "1:1", "this value is not a number"),
    ("- 0\n- -.INF", "2:3", "this value is not a number"),
    ("- 1e999", "1:3", "this value is not a number that JSON can hold"),
    (f"- {'9' * 5000}", "1:3", "this value is not a number that JSON can hold"),
    (f"- 0x{'f' * 600}", "1:3", "this value is too large a number for JSON"),
    ("é😀: \x07", "1:5", "the character '\\x07' is not allowed in YAML"),
    ("a: \ud800", "1:4", "the character '\\ud800' is not allowed in YAML"),
    ("a: b: c", "1:5", "is not valid YAML: mapping values are not allowed"),
    ("a:\n\t- b", "2:1", "is not valid YAML: while scanning for the next token, found character"),
    ("a: [1,\n 2\nb: 3", "3:2", "is not valid YAML: while parsing a flow sequence from line 1"),
    ("a: é😀\nb: [", "2:5", "is not valid YAML: while parsing a flow node"),
    ("- *nope", "1:3", "is not valid YAML: found undefined alias"),
    ("a: [1, ${x}]", "1:9", "; inside of [ ] and { } put text with ${ } in quotes"),
    ("&a [*a]", "1:1", "this is nested more than 100 levels deep"),
    ("[" * 200 + "]" * 200, "1:101", "this is nested more than 100 levels deep"),
    ("- " * 200, "1:201", "this is nested more than 100 levels deep"),
]

#: Reads a list of texts and writes what became of each, with the parser that is asked for.
CHILD = """
import json, sys, yaml
yaml.__with_libyaml__ = sys.argv[1] == "c" and yaml.__with_libyaml__
from runtrue.documents import yaml_text
from runtrue.documents import DocumentError, parse_document
assert issubclass(yaml_text._Loader, yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)
def read(text):
    try:
        return repr(parse_document(text, name="f", format="yaml").data)
    except DocumentError as error:
        return str(error)
json.dump([read(text) for text in json.load(sys.stdin)], sys.stdout)
"""


def read_in_child(parser: str, texts: list[str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, parser],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    results: list[str] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_a_scalar_is_what_the_core_schema_says(text: str, value: object) -> None:
    data = parse_document(f"a: {text}", name="f", format="yaml").data
    assert repr(data) == repr({"a": value})


@pytest.mark.parametrize(("text", "data"), DOCUMENTS)
def test_a_document_is_read_as_expected(text: str, data: object) -> None:
    assert repr(parse_document(text, name="f", format="yaml").data) == repr(data)


@pytest.mark.parametrize(("text", "place", "message"), REFUSED, ids=lambda text: text[:30])
def test_what_is_wrong_is_told_with_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_document(text, name="f", format="yaml")
    assert str(caught.value).startswith(f"f:{place}: ")
    assert message in str(caught.value)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="there is only one parser here")
def test_both_parsers_agree() -> None:
    texts = [f"a: {text}" for text, _ in SCALARS] + [text for text, _ in DOCUMENTS]
    for text, in_c, in_python in zip(
        texts, read_in_child("c", texts), read_in_child("python", texts), strict=True
    ):
        assert in_c == in_python, text
    for (text, place, message), told in zip(
        REFUSED, read_in_child("python", [text for text, _, _ in REFUSED]), strict=True
    ):
        assert told.startswith(f"f:{place}: "), (text, told)
        assert message in told


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "? "])
def test_no_depth_can_end_the_process(opening: str) -> None:
    """PyYAML's parser in C recurses on the stack of the process, and would crash it."""
    for parser in ("c", "python"):
        (told,) = read_in_child(parser, [opening * 200_000])
        assert re.match(r"f:1:\d+: this is nested more than 100 levels deep$", told)


def bomb(last: str) -> str:
    levels = zip("abcdefgh", "bcdefghi", strict=True)
    lines = [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in levels]
    return "\n".join([f"a: &a {last}", *lines])


@pytest.mark.parametrize(
    "text", [bomb("[x, x, x, x, x, x, x, x, x]"), bomb("x" * 100_000)], ids=["many", "long"]
)
def test_aliases_cannot_stand_for_more_than_a_file_could_hold(text: str) -> None:
    with pytest.raises(UsageError, match=r"^f:1:\d+: its aliases \(\*name\) expand to more"):
        parse_document(text, name="f", format="yaml")


def test_merging_cannot_stand_for_more_either() -> None:
    keys = ", ".join(f"k{n}: 1" for n in range(1000))
    text = f"a: &a {{{keys}}}\nb: {{<<: [{', '.join(['*a'] * 1000)}]}}"
    with pytest.raises(UsageError, match="its aliases"):
        parse_document(text, name="f", format="yaml")


def test_many_merges_of_the_same_are_no_work() -> None:
    levels = zip("abcdefgh", "bcdefghi", strict=True)
    lines = [f"{new}: &{new} {{<<: [{', '.join([f'*{old}'] * 9)}]}}" for old, new in levels]
    document = parse_document("\n".join(["a: &a {x: 1}", *lines]), name="f", format="yaml")
    assert document.data["i"] == {"x": 1}


def test_a_mapping_that_merges_itself_is_refused() -> None:
    with pytest.raises(UsageError, match="nested too deeply"):
        parse_document("a: &a {<<: *a}", name="f", format="yaml")


def test_what_an_alias_repeats_is_not_shared() -> None:
    data = parse_document("a: &x [1]\nb: *x", name="f", format="yaml").data
    data["a"].append(2)
    assert data["b"] == [1]
