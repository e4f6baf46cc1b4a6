"""Tasks that name a file: what is done to it, on real files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.planner.built_in.support import Planner

CSV = 'name,price,status\nnut,3,open\n"bolt, big",10,closed\nwasher,0.5,open\n'
JSON = {"name": "tool", "version": "1.2", "dependencies": {"a": "1", "b": "2"}, "x": {"y": [5]}}

NAMED = {"name": "tool", "version": "1.2"}
NOTES = "b TODO\na\nb TODO\nc ${x}\n"
WASHER = {"name": "washer", "price": "0.5"}
BOLT = {"name": "bolt, big", "price": "10", "status": "closed"}
BOLT_CSV = 'name,price,status\n"bolt, big",10,closed\n'


@pytest.fixture(autouse=True)
def files(planner: Planner) -> None:
    (planner.path / "a.csv").write_text(CSV)
    (planner.path / "semi.csv").write_text("a;b\n1;2\n")
    (planner.path / "package.json").write_text(json.dumps(JSON))
    (planner.path / "list.json").write_text('[{"n": 2}, {"n": 1}]')
    (planner.path / "on.json").write_text('[{"on": true}, {"on": false}, {"on": "false"}]')
    (planner.path / "name.json").write_text('{"name": "nut", "id": 1}')
    (planner.path / "notes.txt").write_text(NOTES)
    (planner.path / "my file.txt").write_text("one two")


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        ("read notes.txt", {"content": NOTES}),
        ("count the lines of notes.txt", {"count": 4}),
        ("how many words are in 'my file.txt'?", {"count": 2}),
        ("read notes.txt and count the characters", {"count": 23}),
        ("show the first 2 lines of notes.txt", {"result": "b TODO\na"}),
        ("the last line of notes.txt", {"result": "c ${x}"}),
        ("sort notes.txt in reverse order", {"result": "c ${x}\nb TODO\nb TODO\na"}),
        ("read notes.txt, sort the lines and remove duplicates", {"result": "a\nb TODO\nc ${x}"}),
        ("show the unique lines of notes.txt", {"result": "b TODO\na\nc ${x}"}),
        ("reverse notes.txt", {"result": "c ${x}\nb TODO\na\nb TODO"}),
        ("count the lines containing 'TODO' in notes.txt", {"count": 2}),
        ("list the lines containing ${x} in notes.txt", {"result": "c ${x}"}),
        ("convert 'my file.txt' to uppercase", {"result": "ONE TWO"}),
        ("get the number of lines in notes.txt", {"count": 4}),
        ("show the column 'name' of a.csv where status != open", {"result": ["bolt, big"]}),
        ("convert list.json to csv", {"result": "n\n2\n1\n"}),
        ("read a.csv and count the rows", {"count": 3}),
        ("how many rows does a.csv have?", {"count": 3}),
        ("sum the price column of a.csv", {"sum": 13.5}),
        ("what is the average price in a.csv", {"average": 4.5}),
        ("get the highest price from a.csv", {"max": 10}),
        ("what is the total of Price in a.csv where status = open", {"sum": 3.5}),
        ("count the rows of a.csv where price > 1", {"count": 2}),
        ("count the rows of a.csv where name contains BOLT", {"count": 1}),
        ("filter a.csv where status is closed and count the rows", {"count": 1}),
        ("extract name and price from a.csv where price < 1", {"result": [WASHER]}),
        ("show the column name of a.csv", {"result": ["nut", "bolt, big", "washer"]}),
        ("read a.csv and show status", {"result": ["open", "closed", "open"]}),
        ("read a.csv, sort by price descending and show the first row", {"result": [BOLT]}),
        ("show the columns a and b of semi.csv", {"result": [{"a": "1", "b": "2"}]}),
        ("extract name and version from package.json", {"name": "tool", "version": "1.2"}),
        ("extract x.y[0] from package.json", {"y": 5}),
        ("how many dependencies are in package.json", {"dependencies": 2}),
        ("sum n of list.json", {"sum": 3}),
        ("read list.json and sort by n", {"result": [{"n": 1}, {"n": 2}]}),
        ("remove rows where price > 1 from a.csv and show name", {"result": ["washer"]}),
        ("read a.csv, drop the rows where status=open", {"result": [BOLT]}),
        ("read a.csv and filter out rows where status is open", {"result": [BOLT]}),
        ("exclude the rows of a.csv where status = open", {"result": [BOLT]}),
        ("read a.csv and filter rows where status is closed", {"result": [BOLT]}),
        ("remove the lines containing 'TODO' from notes.txt", {"result": "a\nc ${x}"}),
        ("filter out lines containing TODO in notes.txt", {"result": "a\nc ${x}"}),
        ("remove the duplicate lines from notes.txt", {"result": "b TODO\na\nc ${x}"}),
        ("count the rows of on.json where on = true", {"count": 1}),
        ("count the rows of on.json where on=false", {"count": 2}),
        ("read name.json and extract name", {"name": "nut"}),
        ("how much is the total of price in a.csv", {"sum": 13.5}),
    ],
)
def test_what_can_be_done_to_a_file(planner: Planner, task: str, outputs: dict[str, Any]) -> None:
    assert planner.outputs(task) == outputs


@pytest.mark.parametrize(
    ("task", "name", "content"),
    [
        ("copy notes.txt to b/c.txt", "b/c.txt", NOTES),
        ("copy a.csv to raw.json", "raw.json", CSV),
        ("copy a.csv to b.csv where price = 10", "b.csv", BOLT_CSV),
        ("write 'a  b\n\n\tc' to b.txt", "b.txt", "a  b\n\n\tc"),
        ("save the last 2 lines of notes.txt as b.txt", "b.txt", "b TODO\nc ${x}"),
        ("convert semi.csv to b.json", "b.json", [{"a": "1", "b": "2"}]),
        ("read semi.csv and save as b.csv", "b.csv", "a;b\n1;2\n"),
        ("read semi.csv and convert it to json, save as b.json", "b.json", [{"a": "1", "b": "2"}]),
        ("convert list.json to b.csv", "b.csv", "n\n2\n1\n"),
        ("read a.csv, keep the rows where price=10 and save as b.csv", "b.csv", BOLT_CSV),
        ("read package.json and save the name and version to b.json", "b.json", NAMED),
        ("write 'see a.csv ${x}' to b.txt", "b.txt", "see a.csv ${x}"),
        ('append "more" to "my file.txt"', "my file.txt", "one twomore\n"),
        ("read 'my file.txt' and append it to notes.txt", "notes.txt", f"{NOTES}one two"),
    ],
)
def test_what_is_written(planner: Planner, task: str, name: str, content: Any) -> None:
    planner.outputs(task)
    written = (planner.path / name).read_text()
    assert (written if isinstance(content, str) else json.loads(written)) == content


def test_the_file_is_an_input(planner: Planner) -> None:
    assert planner.outputs("count the rows of a.csv", file="semi.csv") == {"count": 1}


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("show the column prize of a.csv", "there is no 'prize'; available there: name, price"),
        ("sum name of a.csv", "could not convert string to float: 'nut'"),
        ("count the rows of package.json", "there are 0 lists in it"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(planner: Planner, task: str, message: str) -> None:
    error = planner.run(task).error
    assert message in str(error)
