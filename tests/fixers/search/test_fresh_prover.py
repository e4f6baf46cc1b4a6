"""Where tests cannot be preloaded, each candidate is proven by the user's own command."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.fixers.search.evidence import Baseline, Failure
from runtrue.fixers.search.fresh_prover import FreshProver
from runtrue.fixers.search.servers import TrialLimits, Unprovable
from runtrue.fixers.search.trial import End, ProofResult
from tests.fixers.search.test_forked_prover import FIXED, SHOP, place, snapshot

UNITTEST = """\
import unittest
import shop

class TestShop(unittest.TestCase):
    def test_total(self):
        self.assertEqual(shop.total([1, 2]), 3)
"""
DOCTEST = '"""\n>>> total([1, 2])\n3\n"""\n\n'


def prove(
    directory: Path, command: str, files: Mapping[str, str], *candidates: Mapping[str, str]
) -> tuple[Baseline, list[ProofResult]]:
    workplace = place(directory, files)
    before = snapshot(workplace.root)
    check = CommandCheck(name="tests", command=command)

    async def run() -> tuple[Baseline, list[ProofResult]]:
        async with FreshProver.open(check, workplace, TrialLimits(jobs=1)) as prover:
            baseline = await prover.baseline()
            return baseline, [await prover.prove(texts) for texts in candidates]

    result = asyncio.run(run())
    assert snapshot(workplace.root) == before
    return result


def failure_of(baseline: Baseline) -> Failure:
    (case,) = baseline.cases
    assert case.failure is not None
    return case.failure


def test_unittest_is_proven_by_its_command_and_read_from_its_traceback(tmp_path: Path) -> None:
    files = {"shop.py": SHOP, "test_shop.py": UNITTEST}
    baseline, (failed, passed) = prove(
        tmp_path,
        "python -m unittest",
        files,
        {"shop.py": SHOP.replace("-=", "*=")},
        {"shop.py": FIXED},
    )
    failure = failure_of(baseline)
    assert (failure.test, failure.exception) == ("tests", "AssertionError")
    assert [(frame.file, frame.line) for frame in failure.frames] == [("test_shop.py", 6)]
    assert failure.actual is not None
    assert failure.expected is not None
    assert (failure.actual.repr, failure.expected.repr) == ("-3", "3")
    assert baseline.tests == ("test_shop.py",)
    assert (failed.end, passed.end) == (End.FAILED, End.PASSED)
    assert passed.fixed == ("tests",)


@pytest.mark.parametrize("command", ["python -m unittest", "python -m pytest -p no:cacheprovider"])
def test_a_candidate_does_not_pass_by_ending_the_process(tmp_path: Path, command: str) -> None:
    files = {"shop.py": SHOP, "test_shop.py": UNITTEST}
    leaves = f"import os\n{SHOP.replace('result -= price', 'os._exit(0)')}"
    _, (trial,) = prove(tmp_path, command, files, {"shop.py": leaves})
    assert (trial.end, trial.detail) == (End.DIED, "exit code 0")


def test_doctest_tells_what_it_expected(tmp_path: Path) -> None:
    baseline, (passed,) = prove(
        tmp_path,
        "python -m doctest shop.py",
        {"shop.py": DOCTEST + SHOP},
        {"shop.py": DOCTEST + FIXED},
    )
    failure = failure_of(baseline)
    assert failure.expected is not None
    assert (failure.expected.repr, failure.frames[-1].line) == ("3", 2)
    assert passed.end is End.PASSED


def test_a_script_tells_where_it_raised(tmp_path: Path) -> None:
    program = "def name(user):\n    return user.nam\n"
    script = "from users import name\nname(object())\n"
    baseline, _ = prove(tmp_path, "python check.py", {"users.py": program, "check.py": script})
    failure = failure_of(baseline)
    assert (failure.exception, failure.attribute) == ("AttributeError", "nam")
    assert [(frame.file, frame.line) for frame in failure.frames] == [
        ("check.py", 2),
        ("users.py", 2),
    ]


def test_what_does_not_end_is_stopped(tmp_path: Path) -> None:
    files = {"app.py": "print(1)\nexit(3)\n"}
    _, (trial,) = prove(tmp_path, "python app.py", files, {"app.py": "while True:\n    pass\n"})
    assert trial.end is End.TIMEOUT


def test_files_of_the_same_size_are_not_taken_for_one_another(tmp_path: Path) -> None:
    files = {"shop.py": "N = 0\n", "check.py": "import shop\nassert shop.N == 5\n"}
    candidates = [{"shop.py": f"N = {n}\n"} for n in (1, 5, 2, 5)]
    _, tried = prove(tmp_path, "python check.py", files, *candidates)
    assert [trial.end for trial in tried] == [End.FAILED, End.PASSED, End.FAILED, End.PASSED]


def test_a_command_that_is_not_there_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unprovable, match="cannot be started"):
        prove(tmp_path, "no-such-program", {"app.py": ""})
