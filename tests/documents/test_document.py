"""Files become plain data; what is wrong in one is a sentence with file, line and column."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.documents import (
    MAX_BYTES,
    MAX_DEPTH,
    Document,
    DocumentError,
    dump_document,
    parse_document,
    read_document,
)
from runtrue.documents.document import Format
from runtrue.errors import UsageError

FORMATS: tuple[Format, ...] = ("json", "yaml")

JSON_DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.text(alphabet="aé\n \t#:-|>&*!%@`'\"{}[],?~0123456789.eExXoO_yYnN", max_size=12),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)

#: The same data in both formats, and what is asked of `line`.
LAID_OUT_JSON = """{
  "nodes": [
    {"id": "a"},

    {"id": "b",
\t "params": {"url": "x", "\\ud83d\\ude00": [1,
        [2, "],{\\"", {}], []]}}
  ],
  "": null
}"""
LAID_OUT_YAML = """
nodes:
  - id: a

  -
    id: b
    params: {url: x, "😀": [1,
       [2, '],{"', {}], []]}
? ""
: null
"""


def problem(text: str, format: Format) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_document(text, name="f", format=format)
    message = str(caught.value)
    assert "\n" not in message, "one sentence, on one line"
    return message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("w.json", '{"a": [1, 1.5, true, null, "é"]}', {"a": [1, 1.5, True, None, "é"]}),
        ("w.yaml", "a: [1, 1.5, true, null, é]", {"a": [1, 1.5, True, None, "é"]}),
        ("w.YML", "a: b", {"a": "b"}),
        ("w.json", "\ufeff{}", {}),
        ("w.yaml", "\ufeffa: b", {"a": "b"}),
        ("w.json", '["\\ud83d\\ude00"]', ["😀"]),
        ("w.yaml", "a: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
        ("w", ' \n{"a":\t1}', {"a": 1}),
        ("w.txt", "[1]", [1]),
        ("w.txt", "a: b", {"a": "b"}),
        ("w.yaml", "{a: b}", {"a": "b"}),
    ],
)
def test_the_suffix_or_else_the_first_character_tells_the_format(
    folder: Path, name: str, text: str, data: object
) -> None:
    document = read_document(write(folder / name, text))
    assert document.data == data
    assert document.name == str(folder / name)


def test_what_the_suffix_says_holds(folder: Path) -> None:
    with pytest.raises(DocumentError, match=r"w\.json:1:1: is not valid JSON"):
        read_document(write(folder / "w.json", "a: b"))


@pytest.mark.parametrize("format", FORMATS)
def test_a_text_may_begin_with_a_byte_order_mark(format: Format) -> None:
    document = parse_document('\ufeff{"a": 1}', name="f", format=format)
    assert document.data == {"a": 1}
    assert problem('\ufeff{"a": 1, "a": 2}', format).startswith("f:1:10: the key 'a'")


def test_a_pipe_can_be_read(folder: Path) -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as pipe:
        pipe.write("a: b")
    assert read_document(Path(f"/dev/fd/{read_end}")).data == {"a": "b"}
    os.close(read_end)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "w.yaml: is empty"),
        (b" \n", "w.yaml: is empty"),
        (b"# only a comment\n", "w.yaml: is empty"),
        (b"a: b\nc: d\xe9", "w.yaml:2:5: is not UTF-8 text"),
        (b"\xef\xbb\xbf\xc3\xa9: \xff", "w.yaml:1:4: is not UTF-8 text"),
        pytest.param(
            b"#" * (MAX_BYTES + 1), "w.yaml: is too large: more than 10 MB", id="too large"
        ),
    ],
)
def test_what_is_not_a_text_of_fair_size_is_refused(
    folder: Path, content: bytes, message: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(write(folder / "w.yaml", content))
    assert str(caught.value) == f"{folder}/{message}"


def test_a_missing_file_is_told_with_its_neighbours(folder: Path) -> None:
    write(folder / "weather.yaml", "a: b")
    write(folder / "notes.txt", "")
    with pytest.raises(DocumentError, match=r"no such file; did you mean weather\.yaml\?$"):
        read_document(folder / "wether.yml")
    with pytest.raises(DocumentError, match=r"no such file; available: weather\.yaml$"):
        read_document(folder / "x")
    with pytest.raises(DocumentError, match=r"is a directory, not a file; available: weather\."):
        read_document(folder)
    with pytest.raises(DocumentError, match=r"no such file, nor a directory .*/nowhere$"):
        read_document(folder / "nowhere" / "w.json")


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "w.json/below"])
def test_a_path_that_cannot_be_is_one_sentence(folder: Path, name: str) -> None:
    write(folder / "w.json", "{}")
    with pytest.raises(DocumentError, match=r"cannot be read: \w+"):
        read_document(folder / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "b" 2}', "f:2:6: is not valid JSON: expecting ':' delimiter"),
        ('{"a": "b', "f:1:7: is not valid JSON: unterminated string starting here"),
        ('{"a": {"b": 1,\n"b": 2}}', "f:2:1: the key 'b' appears twice, first on line 1"),
        ('[{"a": 1}, {"a": {"a": 2}, "a":', "f:1:32: is not valid JSON: expecting value"),
        ('{"a": 1, "b": {"c": 1, "c": 2', "f:1:30: is not valid JSON: expecting ',' delimiter"),
        ('{"a": 1, "\\u0061": 2}', "f:1:10: the key 'a' appears twice, first on line 1"),
        ('{"a":\n [0, NaN]}', "f:2:6: this value is not a number that JSON can hold"),
        ("-Infinity", "f:1:1: this value is not a number that JSON can hold"),
        ("[1e999]", "f:1:2: this value is not a number that JSON can hold"),
        (f"[{'9' * 5000}]", "f:1:2: this value is not a number that JSON can hold"),
        (f"[{'9' * 639}]", "f:1:2: this value is too large a number for JSON"),
        (
            '["\\ud83d"]',
            "f:1:2: this value contains half of a surrogate pair, which is not valid text",
        ),
        (
            '[{"\\udead": 1}]',
            "f:1:2: this value has a key with half of a surrogate pair, which is not valid text",
        ),
        ("[" * 200 + "]" * 200, "f:1:102: this value is nested more than 100 levels deep"),
        ("[" * 200_000, "f: is nested too deeply"),
    ],
    ids=lambda text: text[:30],
)
def test_what_json_cannot_say_is_refused_with_its_place(text: str, message: str) -> None:
    assert problem(text, "json") == message


@pytest.mark.parametrize(
    ("text", "format"), [(LAID_OUT_JSON, "json"), (LAID_OUT_YAML, "yaml")], ids=["json", "yaml"]
)
def test_each_value_has_its_line(text: str, format: Format) -> None:
    document = parse_document(text, name="f", format=format)
    begin = {"json": 0, "yaml": 1}[format]
    lines = text.split("\n")
    params: dict[str, Any] = {"url": "x", "😀": [1, [2, '],{"', {}], []]}
    assert document.data == {"nodes": [{"id": "a"}, {"id": "b", "params": params}], "": None}

    def written_at(*pointer: str | int) -> str:
        number = document.line(pointer)
        assert number is not None
        return lines[number - 1].strip()

    assert written_at("nodes").startswith(('"nodes"', "nodes:"))
    assert "a" in written_at("nodes", 0, "id")
    assert "b" in written_at("nodes", 1, "id")
    assert "b" in written_at("nodes", 1)
    assert "url" in written_at("nodes", 1, "params", "url")
    assert "url" in written_at("nodes", 1, "params", "😀", 0)
    assert written_at("nodes", 1, "params", "😀", 1, 2).startswith("[2")
    assert written_at("nodes", 1, "params", "😀", 2).startswith("[2")
    assert written_at("").startswith(('"": null', '? ""'))
    assert document.line(()) == begin + 1


def test_a_missing_value_has_the_line_of_what_is_around_it() -> None:
    document = parse_document('{"a": [\n{"b": 1}]}', name="f", format="json")
    assert document.line(("a", 0, "c", "d", 7)) == 2
    assert document.line(("a", 1)) == 1
    assert document.line(("x",)) == 1


def test_data_that_was_never_a_text_has_no_lines() -> None:
    assert Document({"a": 1}, "made").line(("a",)) is None


def test_lines_hold_for_what_aliases_and_merges_bring_in() -> None:
    text = "base: &base\n  x: 1\n  y: 2\nown:\n  <<: *base\n  y: 3\nlist:\n  - *base\n"
    document = parse_document(text, name="f", format="yaml")
    assert document.data["own"] == {"x": 1, "y": 3}
    assert [document.line(("own", key)) for key in "xy"] == [2, 6]
    assert document.line(("list",)) == 7
    assert document.line(("list", 0, "y")) == 3


@settings(deadline=None)
@given(JSON_DATA)
def test_every_value_of_a_written_document_has_the_line_of_its_key(data: Any) -> None:
    text = dump_document(data, "json")
    lines = text.split("\n")
    document = parse_document(text, name="f", format="json")

    def check(value: Any, pointer: tuple[str | int, ...]) -> None:
        number = document.line(pointer)
        assert number is not None
        line = lines[number - 1].strip()
        if pointer and isinstance(pointer[-1], str):
            assert line.startswith(f"{json.dumps(pointer[-1], ensure_ascii=False)}: ")
        if isinstance(value, dict):
            for key, member in value.items():
                check(member, (*pointer, key))
        elif isinstance(value, list):
            for index, member in enumerate(value):
                check(member, (*pointer, index))

    check(data, ())


def same(a: Any, b: Any) -> bool:
    """Equal, with the same types and in the same order."""
    return repr(a) == repr(b)


@settings(deadline=None)
@given(JSON_DATA)
@pytest.mark.parametrize("format", FORMATS)
def test_what_is_written_is_read_again_the_same(format: Format, data: Any) -> None:
    text = dump_document(data, format)
    assert same(parse_document(text, name="f", format=format).data, data)
    if format == "yaml":
        assert same(yaml.safe_load(text), data), "readers of YAML 1.1 agree"


@pytest.mark.parametrize("format", FORMATS)
def test_the_deepest_data_that_can_be_written_can_be_read(format: Format) -> None:
    data: list[Any] = []
    for _ in range(MAX_DEPTH):
        data = [data]
    assert parse_document(dump_document(data, format), name="f", format=format).data == data
    with pytest.raises(UsageError, match="nested more than 100 levels deep"):
        dump_document([data], format)


def test_yaml_is_written_for_people() -> None:
    shared = ["yes", "on", "y", "1e3", "0o17", "08", "2024-01-01", "12:30", "null", "", "<<", "="]
    data: dict[str, Any] = {
        "purpose": "says é 😀, at length: " + "word " * 30 + "end",
        "script": "set -e\n\nif true; then\n  echo hi\nfi\n",
        "quoted": shared,
        "again": {"nested": shared[:1]},
        "none": None,
        "empty": {"list": [], "object": {}},
    }
    assert dump_document(data, "yaml") == (
        "purpose: '" + data["purpose"] + "'\n"
        "script: |\n"
        "  set -e\n"
        "\n"
        "  if true; then\n"
        "    echo hi\n"
        "  fi\n"
        "quoted:\n" + "".join(f"  - '{text}'\n" for text in shared) + "again:\n"
        "  nested:\n"
        "    - 'yes'\n"
        "none: null\n"
        "empty:\n"
        "  list: []\n"
        "  object: {}\n"
    )


def test_json_is_written_for_people() -> None:
    assert (
        dump_document({"b": ["é"], "a": {}}, "json") == '{\n  "b": [\n    "é"\n  ],\n  "a": {}\n}\n'
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [{1}]}, "the value at '/a/0' is of the type set"),
        ((1, 2), "it is of the type tuple"),
        ({"a": {1: 2}}, "the value at '/a' has the key 1, which is not text"),
        ([0, math.nan, {1}], "the value at '/1' is not a number"),
        ({"a": 0, "b": math.nan, "c": {1}}, "the value at '/b' is not a number"),
        pytest.param([10**5000], "the value at '/0' is too large a number", id="huge"),
        (["\ud800"], "the value at '/0' contains half of a surrogate pair"),
        ({"\udfff": 1}, "it has a key with half of a surrogate pair"),
    ],
)
def test_what_is_not_plain_data_is_not_written(format: Format, data: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        dump_document(data, format)
    assert message in str(caught.value)


def test_data_that_holds_itself_is_not_written() -> None:
    data: list[Any] = []
    data.append(data)
    with pytest.raises(UsageError, match="nested more than"):
        dump_document(data, "json")


def test_json_is_read_without_loading_yaml(folder: Path) -> None:
    path = write(folder / "w.json", '{"a": 1}')
    code = (
        "import sys; from pathlib import Path; from runtrue.documents import read_document;"
        "d = read_document(Path(sys.argv[1])); assert d.line(('a',)) == 1;"
        "print('yaml' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
