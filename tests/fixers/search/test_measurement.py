"""Measuring: the failing tests are run in any case, the others as far as there is time."""

from __future__ import annotations

import asyncio
import importlib.util
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from runtrue.fixers.search.evidence import Baseline
from runtrue.fixers.search.forked_prover import Prover
from runtrue.fixers.search.measurement import CheckOutcome, by_relevance
from runtrue.fixers.search.trial import End, ProofResult
from tests.fixers.search.inside import load
from tests.fixers.search.test_forked_prover import FAST, FIXED, SHOP_FILES, TESTS, place

FAILING = "test_shop.py::test_total"


def test_failing_tests_come_first_then_near_ones_and_a_sample_of_the_rest_by_turns() -> None:
    files = ["a", "a", "a", "a", "b", "b", "b", "b"]
    tests = [{"id": str(n), "file": file} for n, file in enumerate(files)]
    order = by_relevance(tests, [2])
    assert order[0] == 2
    assert set(order[1:5:2]) == {1, 3}, "beside the one that fails"
    assert order[2] == 4
    assert order[4] == 6, "spread over the other files"
    assert sorted(order) == list(range(8))


def _measured(directory: Path, outcome: CheckOutcome) -> tuple[Baseline, ProofResult]:
    limits = replace(FAST, measuring=1e-6)
    workplace = place(directory, SHOP_FILES)

    async def run() -> tuple[Baseline, ProofResult]:
        async with Prover.open(TESTS, workplace, limits, outcome=outcome) as prover:
            return await prover.baseline(), await prover.prove({"shop.py": FIXED})

    return asyncio.run(run())


def test_where_there_is_no_time_the_failing_tests_are_measured_and_prove(tmp_path: Path) -> None:
    outcome = CheckOutcome(failing=frozenset({FAILING}), seconds=7.0)
    baseline, proof = _measured(tmp_path, outcome)
    assert [case.test for case in baseline.failing] == [FAILING]
    assert baseline.failing[0].lines is not None
    assert proof.end is End.PASSED


def test_a_tracer_is_lent_to_a_project_that_has_none() -> None:
    spec = importlib.util.find_spec("coverage")
    assert spec is not None
    assert spec.origin is not None
    tracer = load("runtrue_tracer")
    folder = str(Path(spec.origin).parent)
    assert hasattr(tracer._extension("no_such_package", "tracer", folder), "CTracer")


def test_plugins_that_shuffle_distribute_or_limit_tests_are_switched_off() -> None:
    module = load("runtrue_prover")
    options = SimpleNamespace(numprocesses=4, timeout=5, randomly_reorganize=True, other=1)
    module._quiet(options)
    assert vars(options) == {
        "numprocesses": None,
        "timeout": 0,
        "randomly_reorganize": False,
        "other": 1,
    }
