"""`runtrue memory`: people can see, search, take away and clear what runs have learnt."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from runtrue.loop import Fault, Finding, Location
from runtrue.memory import DebugMemory, Memory, OperationScope, Project
from tests.cli.conftest import Machine

NOW = time.time()
USERS = OperationScope("api.example.org", "GET /users/{}")
DIFF = "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-n = a - b\n+n = a + b\n"


def finding(message: str, category: str = "TypeError") -> Finding:
    return Finding(
        source="tests",
        category=category,
        message=message,
        fault=Fault.CANDIDATE,
        location=Location(file="shop.py", symbol="tests/test_shop.py::test_total"),
    )


PLUS = finding("unsupported operand type(s) for +: 'int' and 'str'")
ODD = finding("\x1b[2J" + "very long " * 30 + "\nnext", "KeyError")


@pytest.fixture
def full(machine: Machine) -> Machine:
    """A home in which two failures, a fix and a repair are remembered."""
    home = machine.home / ".runtrue"
    project = Project("shop", "/home/ada/shop")
    with DebugMemory(home) as memory:
        for one, now in ((PLUS, NOW), (ODD, NOW - 50 * 86_400)):
            memory.record_failures(
                (one,),
                run_id="r1",
                attempt=1,
                project=project,
                language_of=lambda _: "python",
                now=now,
            )
        memory.record_fix(
            PLUS,
            diff=DIFF,
            fixer="agent",
            run_id="r1",
            project=project,
            language="python",
            now=NOW,
        )
        memory.passed(1, "r2")
        assert memory.trouble is None
    with Memory(home) as planner:
        planner.remember(USERS, "user_name", "$.login", fixer="fields")
    return machine


def repair(machine: Machine) -> str:
    name: str = machine.runtrue("memory", "list", "--json").json["repairs"][0]["id"]
    return name


@pytest.mark.parametrize("command", [["list"], ["search", "x"]])
def test_an_empty_memory_says_how_it_fills(machine: Machine, command: list[str]) -> None:
    done = machine.runtrue("memory", *command)
    assert (done.code, done.err) == (0, "")
    assert "no memory yet" in done.out
    assert "runtrue fix" in done.out
    assert not (machine.home / ".runtrue").exists()


def test_everything_is_listed_within_the_width_of_a_terminal(full: Machine) -> None:
    out = full.runtrue("memory", "list").out
    assert [line.split()[0] for line in out.splitlines()] == [
        *("fixes", "fix-1", "failures", "failure-1", "failure-2", "repairs", repair(full)),
    ]
    assert "worked 2 of 2" in out
    assert "user name → $.login" in out
    assert all(len(line) <= 80 and "\x1b" not in line for line in out.splitlines())
    wide = full.runtrue("memory", "list", env={"COLUMNS": "200"}).out
    assert max(map(len, wide.splitlines())) > 80


def test_a_kind_and_a_limit_can_be_asked_for(full: Machine) -> None:
    few = full.runtrue("memory", "list", "--kind", "failures", "--limit", "1")
    assert few.out.splitlines()[0] == "failures (1 of 2)"
    assert len(few.out.splitlines()) == 2
    assert list(full.runtrue("memory", "list", "--kind", "fixes", "--json").json) == ["fixes"]


@pytest.mark.parametrize("command", [["list"], ["search", "x"]])
def test_a_limit_has_an_upper_bound(machine: Machine, command: list[str]) -> None:
    done = machine.runtrue("memory", *command, "--limit", str(2**63))
    assert (done.code, done.out) == (2, "")
    assert "1<=x<=10000" in done.err


@pytest.mark.parametrize("text", ["", " \n"])
def test_search_asks_for_text_when_it_gets_none(full: Machine, text: str) -> None:
    done = full.runtrue("memory", "search", text)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "TEXT is empty; give the message of a failure" in done.err


def test_search_finds_what_says_nearly_the_same(full: Machine) -> None:
    done = full.runtrue("memory", "search", "operand")
    assert done.out.startswith("failure-1  1.00  [fix-1] TypeError: unsupported operand")
    assert full.runtrue("memory", "search", "operand", "--language", "go", "--json").json == {
        "similar": []
    }
    found = full.runtrue("memory", "search", "unsupported operand", "--json").json["similar"]
    assert [(one["failure"]["id"], one["fixes"][0]["id"]) for one in found] == [
        ("failure-1", "fix-1")
    ]
    assert "no similar failure known" in full.runtrue("memory", "search", "moonlight").out


def test_a_fix_is_shown_with_its_diff_and_what_may_vary(full: Machine) -> None:
    out = full.runtrue("memory", "show", "fix-1").out
    assert "with other names for: a, b, n" in out
    assert "  +n = a + b" in out
    data = full.runtrue("memory", "show", "fix-1", "--json").json
    assert (data["id"], data["passed"], data["diff"]) == ("fix-1", 2, DIFF)
    assert data["template"]["holes"] == ["a", "b", "n"]
    assert data["last_seen"].endswith("Z")


def test_a_failure_and_a_repair_are_shown(full: Machine) -> None:
    failure = full.runtrue("memory", "show", "failure-1")
    assert "fix-1  worked 2 of 2" in failure.out
    assert full.runtrue("memory", "show", "failure-1", "--json").json["fixes"][0]["id"] == "fix-1"
    name = repair(full)
    data = full.runtrue("memory", "show", name, "--json").json
    assert (data["id"], data["host"], data["found"]) == (name, "api.example.org", "$.login")
    assert "GET /users/{}" in full.runtrue("memory", "show", name).out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fix-9", "there is no fix-9"),
        ("failure-9", "there is no failure-9"),
        ("repair-00000000", "there is no repair-00000000"),
        ("12", "'12' is not an id"),
        ("fix-" + "9" * 40, "is not an id"),
    ],
)
@pytest.mark.parametrize("command", ["show", "forget"])
def test_an_id_that_is_not_there_is_told(full: Machine, command: str, name: str, said: str) -> None:
    done = full.runtrue("memory", command, name)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "runtrue memory list" in done.err


def test_all_of_it_can_be_taken_elsewhere(full: Machine, tmp_path: Path) -> None:
    document = full.runtrue("memory", "export").json
    kinds = ("fixes", "failures", "repairs")
    assert [len(document[kind]) for kind in kinds] == [1, 2, 1]
    file = tmp_path / "memory.json"
    done = full.runtrue("memory", "export", "--output", file)
    assert done.out == f"wrote 1 fixes, 2 failures, 1 repairs to {file}\n"
    written = json.loads(file.read_text())
    assert [written[kind] for kind in kinds] == [document[kind] for kind in kinds]
    assert full.runtrue("memory", "export", "--output", file, "--json").json["fixes"] == 1


def left(machine: Machine) -> set[str]:
    found = machine.runtrue("memory", "list", "--json").json
    return {one["id"].partition("-")[0] + one["id"][-1:] for kind in found.values() for one in kind}


@pytest.mark.parametrize(
    ("arguments", "gone", "stays"),
    [
        (["fix-1"], 1, {"failure1", "failure2"}),
        (["failure-2", "failure-1"], 2, {"fix1"}),
        (["--older-than", "40", "--yes"], 1, {"fix1", "failure1"}),
        (["--older-than", "60", "--yes"], 0, {"fix1", "failure1", "failure2"}),
    ],
)
def test_some_of_it_is_forgotten(
    full: Machine, arguments: list[str], gone: int, stays: set[str]
) -> None:
    the_repair = repair(full)
    assert full.runtrue("memory", "forget", *arguments, "--json").json == {"forgotten": gone}
    assert left(full) == stays | {f"repair{the_repair[-1]}"}


def test_a_repair_is_forgotten_and_so_is_everything(full: Machine) -> None:
    assert full.runtrue("memory", "forget", repair(full)).out == "forgot 1 item\n"
    assert full.runtrue("memory", "forget", "--all", "--yes").out == "forgot 3 items\n"
    assert left(full) == set()
    assert "no memory yet" in full.runtrue("memory", "list").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--all"], "add --yes"),
        (["--all", "--json"], "add --yes"),
        (["--older-than", "1"], "add --yes"),
        ([], "pass one or more ids"),
        (["fix-1", "--all", "--yes"], "pass one or more ids"),
        (["fix-1", "fix-9"], "there is no fix-9"),
    ],
)
def test_nothing_is_forgotten_by_mistake(full: Machine, arguments: list[str], said: str) -> None:
    before = left(full)
    done = full.runtrue("memory", "forget", *arguments)
    assert done.code == 2
    assert said in done.err
    assert left(full) == before


@pytest.mark.parametrize("command", [["list"], ["search", "x"], ["show", "fix-1"], ["export"]])
def test_a_memory_that_cannot_be_read_is_told_in_one_sentence(
    machine: Machine, command: list[str]
) -> None:
    home = machine.home / ".runtrue"
    home.mkdir()
    (home / "memory.db").write_bytes(b"no database" * 100)
    done = machine.runtrue("memory", *command)
    assert (done.code, done.out) == (1, "")
    assert "cannot be read" in done.err
    assert done.err.count("\n") == 1
