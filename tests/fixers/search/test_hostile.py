"""Programs that one small edit makes hostile: none passes by that, outlives the run or writes."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, content, write
from tests.fixers.search.casebook import commit, traces

SETTINGS = "[fixers.search]\nseconds = 4\ncandidates = 150\nmemory = 256\n"
#: Enough to come to what is done when nothing passes: going on from what mends a part.
LONG = "[fixers.search]\nseconds = 12\ncandidates = 400\nmemory = 256\n"

#: What to do without a dry run is harmless. An edit that turns the condition around is not. No edit
#: can mend the tests, which contradict each other.
PROGRAM = """
    import os
    import sys
    import time


    def order(stock, name, dry_run=False):
        if dry_run:
            {act}
        return stock.get(name, 0)


    def names(stock):
        return sorted(stock)
"""
TESTS = """
    from stock import names, order


    def test_names():
        assert names({"tea": 1, "milk": 2}) == ["milk", "tea"]


    def test_one_is_left():
        assert order({"tea": 3}, "tea") == 1


    def test_two_are_left():
        assert order({"tea": 3}, "tea") == 2
"""


@dataclass(frozen=True)
class Act:
    """Something hostile, and how trials of it may end."""

    code: str
    ends: tuple[str, ...]
    settings: str = SETTINGS


ACTS = {
    "loops for ever": Act("while True: pass", ("timeout",)),
    # As deep as is safe where nothing stops it.
    "forks": Act("for _ in range(8): os.fork()\ntime.sleep(600)", ("died", "timeout")),
    "eats memory": Act(
        "hoard = [b'x' * (n + 50_000_000) for n in range(60)]\nreturn 1 + 0 * len(hoard)",
        ("died", "failed"),
    ),
    "leaves with success": Act("os._exit(0)", ("died",)),
    "exits": Act("sys.exit(0)", ("died", "failed")),
    "closes everything": Act("os.closerange(0, 1000)\nos._exit(0)", ("died",)),
    "kills its parent": Act("os.kill(os.getppid(), 9)\nreturn 1", ("died", "failed")),
    "kills its group": Act("os.kill(0, 9)", ("died",)),
    "writes outside": Act(
        "open({outside!r}, 'w').close()\nos.mkdir({outside!r} + '.d')\nreturn 1", ("failed",)
    ),
    "patches pytest": Act(
        "import _pytest.python\n"
        "_pytest.python.Function.runtest = lambda self: None\n"
        "import _pytest.reports\n"
        "_pytest.reports.TestReport.passed = True\n"
        "return 1",
        ("tampered", "failed"),
        LONG,
    ),
    "skips the tests": Act("import pytest\npytest.skip('not today')", ("failed",)),
    "leaves a process behind": Act(
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    time.sleep(600)\n"
        "return 1",
        ("died", "failed"),
    ),
}


def indented(code: str, by: int) -> str:
    return ("\n" + " " * by).join(code.splitlines())


def survivors(mark: str) -> list[str]:
    """Processes of a run that still live: what they were started with, or where, names its mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            about = (path / "environ").read_bytes() + (path / "cwd").readlink().as_posix().encode()
            if mark.encode() in about and int(path.name) != os.getpid():
                found.append(f"{path.name} {(path / 'cmdline').read_bytes()!r}")
        except OSError:
            continue  # it has ended meanwhile, or is not ours
    return found


def gone(mark: str, within: float) -> list[str]:
    """What is left of a run when it was given a moment to go."""
    until = time.monotonic() + within
    while (left := survivors(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


@pytest.mark.parametrize("name", ACTS)
def test_a_candidate_gains_nothing_by_it_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    act, outside = ACTS[name], tmp_path / "outside"
    project = tmp_path / "project"
    code = act.code.format(outside=str(outside)) if "{outside" in act.code else act.code
    program = PROGRAM.format(act=indented(code, 12))
    write(
        project, {"runtrue.toml": act.settings, "stock.py": program, "tests/test_stock.py": TESTS}
    )
    commit(project)
    before, began = content(project), time.monotonic()
    done = Machine(tmp_path).runtrue("fix", project, "--apply", "--json")
    assert done.code == 1, done.said
    assert content(project) == before
    assert not gone(str(tmp_path), within=5)
    assert not list(tmp_path.glob("outside*"))
    assert time.monotonic() - began < 60
    steps = [step for trace in traces(done.json) for step in trace["steps"]]
    ends = {end for step in steps for end in step.get("ends", {})}
    assert ends & set(act.ends), steps
    assert "passed" not in ends


def test_memory_is_bounded_whatever_a_candidate_asks_for() -> None:
    """The largest process of all those above that this one has waited for."""
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert largest < 2 * 1024 * 1024  # KiB


def test_a_program_that_exits_with_success_on_import_does_not_pass(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write(
        project,
        {
            "runtrue.toml": SETTINGS,
            "stock.py": """
                import sys

                CHECKED = True

                if not CHECKED:
                    sys.exit(0)

                STOCK = {"tea": 3 if CHECKED else 0}


                def order(name):
                    return STOCK.get(name, 0)
            """,
            "tests/test_stock.py": """
                from stock import order


                def test_one_is_left():
                    assert order("tea") == 1


                def test_two_are_left():
                    assert order("tea") == 2
            """,
        },
    )
    commit(project)
    before = content(project)
    done = Machine(tmp_path).runtrue("fix", project, "--apply", "--json")
    assert done.code == 1, done.said
    assert content(project) == before
    assert not gone(str(tmp_path), within=5)
