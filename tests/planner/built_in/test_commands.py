"""Tasks that name a command in backticks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.planner.built_in.support import Planner


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        ("run `printf 'b\\na'`", {"stdout": "b\na"}),
        ("`printf 'b\\na'` and count the lines", {"count": 2}),
        ("run `printf 'b\\na'`, then `sort` with its output", {"stdout": "a\nb"}),
        ("run `printf 'b\\na'` and pipe it into `sort`", {"stdout": "a\nb"}),
        ("pipe `printf 'b\\na'` into `sort`", {"stdout": "a\nb"}),
        ("run `echo a` and `echo b`", {"stdout": "a", "stdout_2": "b"}),
        ("show the first line of the output of `printf 'b\\na'`", {"result": "b"}),
        ('run `echo \'{"a": {"b": 1}}\'` and extract a.b', {"b": 1}),
        ("run `x=1; echo ${x}${y-2}`", {"stdout": "12"}),
        ("run `pwd | grep -c deep` in ./deep", {"stdout": "1"}),
        ("run `echo here` in .", {"stdout": "here"}),
        ('run `printf "a  b\tc"`', {"stdout": "a  b\tc"}),
        ("run ```sh\ncat <<EOF\n  a  b\n\n\tc\nEOF\n```", {"stdout": "  a  b\n\n\tc"}),
        ("- run `printf 'b\\na'`\n- count the lines", {"count": 2}),
        ("what is the output of `echo a`?", {"stdout": "a"}),
        ("how many lines are in the output of `echo a`?", {"count": 1}),
        ("show the output of `echo a` and of `echo b`", {"stdout": "a", "stdout_2": "b"}),
        ("first line of `printf 'b\\na'`", {"result": "b"}),
        ("could you run the shell command `echo a`?", {"stdout": "a"}),
        ("tell me the result of running `echo a`", {"stdout": "a"}),
    ],
)
def test_what_a_command_prints(planner: Planner, task: str, outputs: dict[str, Any]) -> None:
    (planner.path / "deep").mkdir()
    assert planner.outputs(task) == outputs


@pytest.mark.parametrize(
    "task",
    [
        *("what does <> do?", "what would <> do", "what would the output of <> be?"),
        *("tell me what <> does", "tell me how to run <>", "how do I run <>", "explain <>"),
        *("show <>", "print <> 10 times", "note <>", "list <>", "find <>", "is <> safe?", "is <>"),
        *("does <>?", "<>?", "why <>", "would <> work", "never run <>", "do not run <>"),
        *("write <> to a.sh", "save <> to a.sh", "add <> to a.sh", "copy <> to a.sh", "create <>"),
        *("count <>", "count the lines of <>", "sort <>", "use <>", "call <>", "delete <>"),
        *(
            "run `ls` instead of <>",
            "`ls` instead of <>",
            "`ls` is <>",
            "run `ls` to <>",
            "instead of <>",
            "run `ls`, note <>",
        ),
        *("run <> on the server", "run `cat` with the output of <>", "read a.txt and send <>"),
        *("post <> to http://h/a", "send <> to http://h/a"),
    ],
)
def test_a_command_that_nobody_says_to_run_is_not_run(planner: Planner, task: str) -> None:
    assert "rm x" in planner.refusal(task.replace("<>", "`rm x`"))


def test_what_it_prints_is_saved(planner: Planner) -> None:
    planner.outputs("run `printf hi` and save the output to a.txt")
    planner.outputs("save the output of `printf ' there'` to b.txt")
    assert (planner.path / "a.txt").read_text() == "hi"
    assert (planner.path / "b.txt").read_text() == " there"


def test_a_file_is_piped_into_a_command(planner: Planner) -> None:
    (planner.path / "a.txt").write_text("b\na\n")
    assert planner.outputs("read a.txt and pipe it into `sort -r`") == {"stdout": "b\na"}
