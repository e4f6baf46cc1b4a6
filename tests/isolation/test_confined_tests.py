"""Tests that come up against what they are confined to: the finding says what that was."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtrue.confinement import ResourceLimits
from runtrue.loop import Fault
from runtrue.sandbox.isolation import Level, unavailable
from tests.isolation.arena import LIMITS, Arena, Outcome
from tests.isolation.attack import LEVELS

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider -s"


@pytest.fixture(params=LEVELS, ids=str)
def arena(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Arena]:
    level: Level = request.param
    if reason := unavailable(level):
        pytest.skip(f"{level} cannot be had here: {reason}")
    made = Arena(tmp_path, level)
    yield made
    made.close()


def check(arena: Arena, limits: ResourceLimits = LIMITS, network: tuple[str, ...] = ()) -> Outcome:
    """Run the tests in the sandbox, with a place for their report, as repairs do."""
    isolation = arena.isolation(limits, network)
    box = isolation.box(write=(arena.sandbox, arena.scratch), private=arena.private)
    return arena.judge(PYTEST, arena.workplace(box))


def write_test(arena: Arena, body: str) -> None:
    text = "import os, signal, sys\ndef test_it(tmp_path):\n"
    (arena.sandbox / "test_it.py").write_text(text + textwrap.indent(textwrap.dedent(body), "    "))


#: What a test does that just fails of a limit, by the limit.
FAILING = {
    "open_files": "files = [open(os.devnull) for _ in range(1000)]",
    "file_size": "(tmp_path / 'x').write_bytes(bytes(20 * 1024 * 1024))",
    "memory": "raise MemoryError",
}


@pytest.mark.parametrize("limit", FAILING)
def test_a_test_that_fails_of_a_limit_says_which(arena: Arena, limit: str) -> None:
    write_test(arena, FAILING[limit])
    finding = check(arena).finding
    assert (finding.category, finding.data["limit"]) == ("resource_limit", limit)
    assert finding.data["allowed"] == getattr(LIMITS, limit)
    assert f"`{limit}` in [isolation.limits]" in finding.message
    assert (finding.fault, finding.transient) == (Fault.CANDIDATE, False)
    assert finding.location.symbol == "test_it.py::test_it"


def test_a_limit_that_ends_the_command_is_told_beside_a_test_that_failed(arena: Arena) -> None:
    write_test(arena, "assert False")
    (arena.sandbox / "conftest.py").write_text(
        "import os\ndef pytest_unconfigure():\n    while True: os.write(2, bytes(65536))\n"
    )
    verdict = check(arena, replace(LIMITS, output=1)).verdict
    first, second = verdict.findings
    assert (first.category, first.data["limit"]) == ("resource_limit", "output")
    assert second.category == "AssertionError"
