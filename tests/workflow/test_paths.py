"""Paths: one value out of JSON data, and a precise word on what is missing."""

from __future__ import annotations

import json
import re
from collections import ChainMap
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.workflow.path_syntax import Every
from runtrue.workflow.paths import LONGEST_TEXT, Missing, Path, PathSyntaxError, parse_path

STEPS = st.lists(st.text() | st.integers(-(2**53) + 1, 2**53 - 1), max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def _parsed(text: str) -> Path | PathSyntaxError:
    try:
        return parse_path(text)
    except PathSyntaxError as error:
        return error


def _missing(path: str, value: Any) -> Missing:
    found = parse_path(path).find(value)
    assert isinstance(found, Missing)
    return found


# -- the compliance suite of RFC 9535 -----------------------------------------------------------

SUITE = json.loads((File(__file__).parent / "data/jsonpath_compliance.json").read_text())["tests"]
#: Bare names are looser here than in the RFC.
LOOSER = {"$.&", "$.1"}
_QUOTED = re.compile(r"""'(\\.|[^'\\])*'|"(\\.|[^"\\])*\"""")


def _is_foreign(selector: str) -> bool:
    """Whether it uses what leads to other than one value; wildcards have tests of their own."""
    return re.search(r"[*?:,]|\.\.", _QUOTED.sub("", selector)) is not None


@pytest.mark.parametrize("case", SUITE, ids=lambda case: case["name"])
def test_a_selector_means_what_the_standard_says_or_is_rejected(case: dict[str, Any]) -> None:
    selector = case["selector"]
    if selector in LOOSER:
        assert parse_path(selector).steps == (selector[2:],)
    elif "invalid_selector" in case or _is_foreign(selector):
        with pytest.raises(PathSyntaxError):
            parse_path(selector)
    else:
        found = parse_path(selector).find(case["document"], open_text=False)
        assert ([] if isinstance(found, Missing) else [found]) == case["result"]


def test_the_suite_tests_both_sides() -> None:
    ours = [c for c in SUITE if "invalid_selector" not in c and not _is_foreign(c["selector"])]
    assert len(ours) > 60
    assert len(SUITE) - len(ours) > 300


# -- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$", ()),
        ("$.field", ("field",)),
        ("field", ("field",)),
        ("$.nested.field", ("nested", "field")),
        ("$.items[0].name", ("items", 0, "name")),
        ("items[0].name", ("items", 0, "name")),
        ("items.0.name", ("items", "0", "name")),
        ("0", ("0",)),
        ("$[0][1]", (0, 1)),
        ("[0][1]", (0, 1)),
        ("$.items[-1]", ("items", -1)),
        ("$['odd key']", ("odd key",)),
        ("['odd key'].x", ("odd key", "x")),
        ('$["odd \\u00e9 key"]', ("odd é key",)),
        ("$['it\\'s']", ("it's",)),
        ('$["\\"\\\\\\/\\b\\f\\n\\r\\t"]', ('"\\/\b\f\n\r\t',)),
        ("$['\\ud83d\\ude00']", ("😀",)),
        ("$['a.b'][\"c[0]\"]", ("a.b", "c[0]")),
        ("$['']", ("",)),
        ("headers.content-type", ("headers", "content-type")),
        ("$.ünïcode.日本", ("ünïcode", "日本")),
        ("a/b#c!", ("a/b#c!",)),
        ("$[ 'a' ] [ 0\t] .b", ("a", 0, "b")),
        ("$[9007199254740991]", (2**53 - 1,)),
    ],
)
def test_a_path_is_its_steps(text: str, steps: tuple[str | int, ...]) -> None:
    assert parse_path(text).steps == steps


@pytest.mark.parametrize(
    ("text", "position", "named"),
    [
        ("", 0, "empty"),
        ("$.*", 2, "wildcard (*)"),
        ("$[*", 3, "']' is missing at the end"),
        ("$[*:1]", 3, "slice (:)"),
        ("a*", 1, "wildcard (*)"),
        ("$..a", 1, "descendant segment (..)"),
        ("a..b", 1, "descendant segment (..)"),
        ("$[1:2]", 3, "slice (:)"),
        ("$[:2]", 2, "slice (:)"),
        ("$[0,1]", 3, "union (,)"),
        ("$['a','b']", 5, "union (,)"),
        ("$[?@.a > 1]", 2, "filter (?)"),
        ("@.a", 0, "filter (@)"),
        ("$[(@.length-1)]", 2, "expression (()"),
        ("length()", 6, "expression (()"),
        ("$[01]", 2, "leading zeros"),
        ("$[-01]", 2, "leading zeros"),
        ("$[-0]", 2, "-0"),
        ("$[-]", 3, "a number is needed before ']'"),
        ("$[1.5]", 3, "']' is needed before '.'"),
        ("$[9007199254740992]", 2, "too large"),
        (f"$[{'9' * 5000}]", 2, "too large"),
        ("$[]", 2, "index, a quoted name or * is needed before ']'"),
        ("$[name]", 2, "index, a quoted name or * is needed before 'n'"),
        ("$[${i}]", 2, "index, a quoted name or * is needed before '$'"),
        ("$[", 2, "missing at the end"),
        ("$[0", 3, "']' is missing at the end"),
        ("$['a'", 5, "']' is missing at the end"),
        ("$['a", 2, "never closed"),
        ("$[\"a']", 2, "never closed"),
        ("$['\\x41']", 3, "escape"),
        ("$['\\\"']", 3, "escape"),
        ("$['\\u12']", 3, "escape"),
        ("$['\\ud800x']", 3, "surrogate"),
        ("$['a\nb']", 4, "control character"),
        ("$.", 2, "a name is missing at the end"),
        ("a.", 2, "a name is missing at the end"),
        (".a", 0, "a name is needed before '.'"),
        ("$a", 1, "'.' or '[' is needed before 'a'"),
        ("a$", 1, "'.' or '[' is needed before '$'"),
        ("a]", 1, "'.' or '[' is needed before ']'"),
        ("$.a b", 3, "a blank cannot be here"),
        (" $", 0, "a blank cannot be here"),
        ("$ ", 1, "a blank cannot be here"),
        ("$. a", 2, "a blank cannot be here"),
        ("$.'a'", 2, 'a name is needed before "\'"'),
        ("$.{a}", 2, "a name is needed before '{'"),
    ],
)
def test_what_is_no_path_is_named_and_pointed_at(text: str, position: int, named: str) -> None:
    with pytest.raises(PathSyntaxError) as caught:
        parse_path(text)
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert named in str(error)
    assert f"character {position + 1}" in str(error)
    assert len(str(error)) < 200


def test_the_caret_stands_below_the_character() -> None:
    with pytest.raises(PathSyntaxError) as caught:
        parse_path("$.items[?].name")
    assert caught.value.caret == "$.items[?].name\n        ^"
    with pytest.raises(PathSyntaxError) as caught:
        parse_path(f"{'x' * 500}*{'y' * 500}")
    line, caret = caught.value.caret.splitlines()
    assert line[caret.index("^")] == "*"
    assert len(line) < 130


@settings(deadline=None)
@given(st.text() | st.text("$.[]'\"\\*?@,:(){}0-9 au\n"))
def test_no_text_fails_in_another_way(text: str) -> None:
    parsed = _parsed(text)
    if isinstance(parsed, Path):
        assert parse_path(str(parsed)) == parsed
    else:
        assert 0 <= parsed.position <= len(text)
        assert len(str(parsed).splitlines()) == 1
        assert len(parsed.caret.split("\n")) == 2


# -- spelling -----------------------------------------------------------------------------------


@settings(deadline=None)
@given(STEPS)
def test_the_spelling_of_a_path_leads_back_to_it(steps: list[str | int]) -> None:
    path = Path.of(*steps)
    assert parse_path(str(path)) == path
    assert len(str(path).splitlines()) == 1


@pytest.mark.parametrize(
    ("steps", "spelling"),
    [
        ((), "$"),
        (("a", "odd key", 0), "$.a['odd key'][0]"),
        (("content-type", "0", -1), "$.content-type.0[-1]"),
        (("it's\n\\", ""), "$['it\\'s\\n\\\\']['']"),
        (("a.b", "\x07"), "$['a.b']['\\u0007']"),
    ],
)
def test_the_canonical_spelling_quotes_only_what_must_be(
    steps: tuple[str | int, ...], spelling: str
) -> None:
    assert str(Path.of(*steps)) == spelling
    assert parse_path(spelling).steps == steps


def test_half_of_a_surrogate_pair_is_a_name_that_can_be_told() -> None:
    path = Path.of("\ud800")
    assert parse_path(str(path)) == path
    found = path.find({})
    assert isinstance(found, Missing)
    assert str(Path.of("a", "\ud800").find({"a": {"b": 1}})).encode()


def test_an_index_that_no_spelling_has_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        Path.of(2**53)


# -- finding ------------------------------------------------------------------------------------

DATA = {
    "name": "Ada",
    "nothing": None,
    "yes": False,
    "items": [{"name": "one"}, {"name": "two"}],
    "pairs": ((1, 2), (3, 4)),
    "numbers": {"0": "zero"},
    "text": ' {"a": [10, {"b": "c"}]}',
    "list": "[1, 2]",
    "broken": '{"a": ',
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", DATA),
        ("$.name", "Ada"),
        ("items[1].name", "two"),
        ("items[-2].name", "one"),
        ("items.1.name", "two"),
        ("numbers.0", "zero"),
        ("pairs[1][0]", 3),
        ("nothing", None),
        ("yes", False),
        ("text", DATA["text"]),
        ("text.a[0]", 10),
        ("text.a[1].b", "c"),
        ("list[-1]", 2),
        ("list.0", 1),
    ],
)
def test_a_value_is_found(path: str, value: Any) -> None:
    assert parse_path(path).find(DATA) == value


def test_what_is_found_is_the_very_value_and_not_a_copy() -> None:
    assert parse_path("$.items").find(DATA) is DATA["items"]


ORDERS = {
    "orders": [
        {"id": 1, "lines": [{"sku": "a", "price": 3}, {"sku": "b"}], "note": None},
        {"id": 2, "lines": [], "paid": True},
        {"id": 3, "lines": [{"sku": "c", "price": 4}]},
    ],
    "rates": {"EUR": {"rate": 1}, "GBP": {"rate": 0.8}},
    "text": '[{"a": 1}, {"a": 2}]',
    "none": [],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$.orders[*].id", [1, 2, 3]),
        ("orders[*]", ORDERS["orders"]),
        ("orders[ * ].paid", [None, True, None]),
        ("orders[*].note", [None, None, None]),
        ("orders[*].lines[*].sku", ["a", "b", "c"]),
        ("orders[*].lines[*].price", [3, None, 4]),
        ("orders[0].lines[*].sku", ["a", "b"]),
        ("orders[*].lines[0].sku", ["a", None, "c"]),
        ("rates[*].rate", [1, 0.8]),
        ("text[*].a", [1, 2]),
        ("none[*]", []),
        ("none[*].anything", []),
    ],
)
def test_a_wildcard_gives_a_list_with_one_value_for_each_entry(
    path: str, values: list[Any]
) -> None:
    assert parse_path(path).is_plural
    assert parse_path(path).find(ORDERS) == values
    assert str(parse_path(str(parse_path(path)))) == str(parse_path(path))


@pytest.mark.parametrize(
    ("path", "found", "sentence"),
    [
        (
            "$.orders[*].ID",
            "$.orders[*]",
            "'ID' is not in $.orders[*]; available there: id, lines, note, paid; did you mean id?",
        ),
        ("orders[*].id[*]", "$.orders[*].id", "$.orders[*].id is a number, it has no [*]"),
        ("order[*].id", "$", "'order' is not in $; available there: none, orders, rates, text"),
        ("orders[*].lines.sku", "$.orders[*].lines", "is a list of 2, it has no 'sku'"),
    ],
)
def test_what_no_entry_has_is_missing_with_the_names_that_any_of_them_has(
    path: str, found: str, sentence: str
) -> None:
    missing = _missing(path, ORDERS)
    assert str(missing.found) == found
    assert sentence in str(missing)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(), min_size=1), min_size=1))
def test_fields_of_each_entry_are_lists_of_equal_length(rows: list[dict[str, int]]) -> None:
    for name in {name for row in rows for name in row}:
        assert Path.of(Every.ENTRY, name).find(rows) == [row.get(name) for row in rows]


@pytest.mark.parametrize(
    ("path", "found", "part", "kind", "available", "sentence"),
    [
        (
            "$.data.username",
            "$.data",
            "username",
            "key",
            ("bio", "id", "odd key"),
            "'username' is not in $.data; available there: bio, id, 'odd key'",
        ),
        (
            "$.data.ID.x",
            "$.data",
            "ID",
            "key",
            ("bio", "id", "odd key"),
            "'ID' is not in $.data; available there: bio, id, 'odd key'; did you mean id?",
        ),
        ("$.data.od_key", "$.data", "od_key", "key", None, "did you mean 'odd key'?"),
        ("$.data[0]", "$.data", 0, "key", None, "$.data is an object, it has no [0]; available"),
        (
            "$.items[5]",
            "$.items",
            5,
            "index",
            ("[0] … [1]",),
            "$.items has 2 entries, [5] is not one of them",
        ),
        ("items[-3]", "$.items", -3, "index", None, "has 2 entries, [-3] is not one of them"),
        ("items.2", "$.items", "2", "index", None, "$.items is a list of 2, it has no '2'"),
        ("items.00", "$.items", "00", "index", None, "it has no '00'"),
        (
            "$.items.name",
            "$.items",
            "name",
            "index",
            ("[0] … [1]",),
            "$.items is a list of 2, it has no 'name'; available there: [0] … [1]",
        ),
        ("one[1]", "$.one", 1, "index", ("[0]",), "$.one has 1 entry, [1] is not one of them"),
        ("none[0]", "$.none", 0, "index", (), "$.none is empty, it has no [0]"),
        ("empty.x", "$.empty", "x", "key", (), "$.empty is empty, it has no 'x'"),
        ("name.first", "$.name", "first", "scalar", (), "$.name is a string, it has no 'first'"),
        ("name[0]", "$.name", 0, "scalar", (), "$.name is a string, it has no [0]"),
        ("null.a.b", "$.null", "a", "scalar", (), "$.null is null, it has no 'a'"),
        ("n[0]", "$.n", 0, "scalar", (), "$.n is a number, it has no [0]"),
        ("yes.x", "$.yes", "x", "scalar", (), "$.yes is a boolean, it has no 'x'"),
        ("text.b", "$.text", "b", "key", ("a",), "'b' is not in $.text; available there: a"),
        ("broken.a", "$.broken", "a", "scalar", (), "$.broken is a string, it has no 'a'"),
        ("number.a", "$.number", "a", "scalar", (), "$.number is a string, it has no 'a'"),
        ("bytes[0].a", "$.bytes[0]", "a", "scalar", (), "a value of type complex"),
    ],
)
def test_what_is_missing_is_told(
    path: str,
    found: str,
    part: str | int,
    kind: str,
    available: tuple[str, ...] | None,
    sentence: str,
) -> None:
    value = {
        "data": {"id": 1, "bio": None, "odd key": 2},
        "items": [1, 2],
        "one": [1],
        "none": [],
        "empty": {},
        "name": "Ada",
        "null": None,
        "n": 1.5,
        "yes": True,
        "text": '{"a": 1}',
        "broken": '{"a": 1',
        "number": "12",
        "bytes": [1j],
    }
    missing = _missing(path, value)
    assert missing.path == parse_path(path)
    assert (str(missing.found), missing.part, missing.kind) == (found, part, kind)
    assert available is None or missing.available == available
    assert sentence in str(missing)


def test_many_names_are_bounded_and_the_sentence_tells_a_few() -> None:
    missing = _missing("x", {f"k{n:03}": n for n in range(500)})
    assert len(missing.available) == 200
    assert ", k019 … and 480 more" in str(missing)
    assert "k020" not in str(missing)
    long = _missing("x", {"y" * 100_000: 1, "two\nlines": 2})
    assert len(str(long)) < 200
    assert "\n" not in str(long)


def test_text_is_not_opened_when_it_shall_not_be_or_is_too_long() -> None:
    path = parse_path("a[0]")
    assert path.find({"a": "[1]"}) == 1
    assert isinstance(path.find({"a": "[1]"}, open_text=False), Missing)
    missing = path.find({"a": f"[1,{' ' * LONGEST_TEXT}2]"})
    assert "a string of 10,000,005 characters, too long to look into" in str(missing)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": NaN}', "\ud800", '["\ud800"]', "{", "[]x"])
def test_broken_json_is_just_a_string(text: str) -> None:
    assert _missing("a.b", {"a": text}).kind == "scalar"


def test_any_mapping_can_be_entered() -> None:
    store: ChainMap[str, Any] = ChainMap({"a": {"b": 1}}, {"c": 2})
    assert parse_path("a.b").find(store) == 1
    assert _missing("d", store).available == ("a", "c")


@settings(deadline=None)
@given(JSON, STEPS)
def test_whatever_the_data_a_path_finds_or_tells(value: Any, steps: list[str | int]) -> None:
    found = Path.of(*steps).find(value)
    if isinstance(found, Missing):
        assert len(str(found).splitlines()) == 1
        assert found.found.steps == tuple(steps[: len(found.found.steps)])
        assert not isinstance(found.found.find(value), Missing)
        assert found.part == steps[len(found.found.steps)]


@settings(deadline=None)
@given(JSON)
def test_every_value_is_found_at_its_place(value: Any) -> None:
    def places(here: Any, path: Path) -> list[tuple[Path, Any]]:
        inner: list[tuple[str | int, Any]] = []
        if isinstance(here, dict):
            inner = list(here.items())
        elif isinstance(here, list):
            inner = list(enumerate(here))
        below = [p for step, item in inner for p in places(item, Path((*path.steps, step)))]
        return [(path, here), *below]

    for path, there in places(value, Path()):
        assert parse_path(str(path)).find(value) is there


# -- the manual ---------------------------------------------------------------------------------

PAGE = (File(__file__).parents[2] / "docs/reference/paths.md").read_text()
ROWS = re.findall(r"^\| `(\$?[^`{]+)` \| (.+?) \|", PAGE, re.M)


@pytest.mark.parametrize(("path", "told"), ROWS)
def test_the_manual_is_right(path: str, told: str) -> None:
    if told.startswith("`"):
        data = json.loads(re.findall(r"```text\n(.*?)```", PAGE, re.S)[0])
        assert parse_path(path).find(data) == json.loads(told.strip("`"))
    else:
        with pytest.raises(PathSyntaxError, match=told):
            parse_path(path)
