"""What a task names, and where its clauses begin."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.planner.task import LONGEST_TASK, TokenType, looks_like_file, read_task


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("fetch http://h/a.", {"url": ["http://h/a"]}),
        ("is (http://h/a_(b)) up?", {"url": ["http://h/a_(b)"]}),
        ("see <https://h/x?y=1&z={q}>, then", {"url": ["https://h/x?y=1&z={q}"]}),
        ('fetch "http://h/a"!', {"url": ["http://h/a"]}),
        ("fetch `http://h/a`", {"url": ["http://h/a"]}),
        ("http:// and http://… name no host", {}),
        ("get example.com or 1.2.3", {}),
        ("read a.csv, ./b and ~/c/d.", {"file": ["a.csv", "./b", "~/c/d"]}),
        ("read package.json and README", {"file": ["package.json", "README"]}),
        ("and/or Asia/Tokyo e.g. 16:30", {}),
        ("run `df -h` and ```sh\nls | wc\n```", {"command": ["df -h", "ls | wc"]}),
        ("an empty `` and a lone ` name nothing", {}),
        ("read 'my data.csv' or “so”", {"text": ["my data.csv", "so"]}),
        ("it's Ada's dog's 'day'", {"text": ["day"]}),
        ("page=2 q='a b' on=true", {"values": {"page": 2, "q": "a b", "on": True}}),
        ("role: admin, X-Id: 7 and z: 'q'", {"values": {"role": "admin", "X-Id": 7, "z": "q"}}),
        ("note: fetch it. Do this: read it", {}),
        ('send {"a": [1, null]} or [2]', {"json": [{"a": [1, None]}, [2]]}),
        ("a {placeholder} and {broken json}", {}),
        ("first 5 of 3.5 in v2 at 10:30", {"number": [5, 3.5]}),
        ("token from $GITHUB_TOKEN", {"variable": ["GITHUB_TOKEN"]}),
        ("t=${env.KEY} or $5 and ${x}", {"values": {"t": "$KEY"}}),
        ("id=007 n=1e5", {"values": {"id": "007", "n": "1e5"}}),
        ("p=+49123 q=-5 r=0.50 s=+5", {"values": {"p": "+49123", "q": -5, "r": 0.5, "s": "+5"}}),
        ("header Authorization: Bearer a.b, to", {"values": {"Authorization": "Bearer a.b"}}),
        ("the status of . and in ..", {"file": [".", ".."]}),
        ("look at ... Or at it .", {}),
        ('run `printf "a  b\tc"`', {"command": ['printf "a  b\tc"']}),
        ("```\ncat <<EOF\n  a  b\n\n\tc\nEOF\n```", {"command": ["cat <<EOF\n  a  b\n\n\tc\nEOF"]}),
        ("```shutdown``` ```sh a.sh```", {"command": ["shutdown", "sh a.sh"]}),
        ("write 'a  b\n\n c'", {"text": ["a  b\n\n c"]}),
        (
            "page=2\nq='a\n b'  http://h/a\n",
            {"url": ["http://h/a"], "values": {"page": 2, "q": "a\n b"}},
        ),
    ],
)
def test_what_a_task_names(text: str, named: dict[str, Any]) -> None:
    assert read_task(text).named() == named


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (
            "fetch http://h/a and extract x and y, save as b.json",
            ["fetch http://h/a", "extract x and y", "save as b.json"],
        ),
        ("Please could you fetch it; then show it!", ["fetch it", "show it"]),
        ("extract name and count", ["extract name and count"]),
        ("extract name and count the rows", ["extract name", "count the rows"]),
        ("extract id, post and display name", ["extract id , post and display name"]),
        ("get the post and post it to it", ["get the post", "post it to it"]),
        ("run `a`, then `b` with its output", ["run `a`", "`b` with its output"]),
        ("First, read a.txt. Finally print it", ["read a.txt", "print it"]),
        ("first 3 lines of a.txt", ["first 3 lines of a.txt"]),
        ("What's the name of http://h/a?", ["what the name of http://h/a"]),
        ("I would like to get it and then to dance", ["get it", "to dance"]),
        ("fetch\n http://h/a\nextract  x and\ny", ["fetch http://h/a", "extract x and y"]),
        ("- read a.txt\n- count the\n  lines\n\n", ["read a.txt", "count the lines"]),
        ("1. read a.txt,\r\n2. then show it", ["read a.txt", "show it"]),
        ("read a.csv and filter out it", ["read a.csv", "filter out it"]),
        ("  ", []),
    ],
)
def test_a_clause_begins_with_a_verb_that_has_an_object(text: str, clauses: list[str]) -> None:
    assert [str(clause) for clause in read_task(text).clauses] == clauses


@pytest.mark.parametrize(
    ("text", "is_file"),
    [
        *(("a.csv", True), ("/x", True), ("../a b", True), ("my file.txt", True), (".env", True)),
        *(
            ("a.com", False),
            ("3.5", False),
            ("a/b", False),
            ("/", False),
            ("http://h/a.csv", False),
        ),
    ],
)
def test_a_file_is_known_by_where_it_begins_or_how_it_ends(text: str, is_file: bool) -> None:
    assert looks_like_file(text) is is_file


PIECES = [
    *(
        "`",
        "``",
        "'",
        '"',
        "http://h/a",
        "<",
        ">",
        "{",
        "}",
        "[1]",
        "a=",
        "k: ",
        "$A",
        "a.csv",
        "5",
    ),
    *(" ", "and", "é", "\u2019", "s'"),
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map("".join))
def test_every_character_belongs_to_some_token(text: str) -> None:
    tokens = read_task(text).tokens
    assert "".join("".join(t.text.split()) for t in tokens) == "".join(text.split())


@pytest.mark.parametrize("piece", ["\n", ",", " and", "- ", "`x` ", "1. ", ", then"])
def test_the_longest_task_is_read_at_once(piece: str) -> None:
    seconds = min(_seconds(piece * (LONGEST_TASK // len(piece))) for _ in range(3))
    assert seconds < 5


def _seconds(text: str) -> float:
    started = time.process_time()
    read_task(text)
    return time.process_time() - started


def test_what_is_too_long_is_not_read() -> None:
    task = read_task("[" * (2 * LONGEST_TASK))
    assert len(task.tokens) <= LONGEST_TASK
    assert task.values(TokenType.JSON) == []
