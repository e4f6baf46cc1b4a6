"""The search: in order, side by side, within its budget, and the same each time."""

from __future__ import annotations

import ast
import asyncio
import gc
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from runtrue.fixers.search.budget import Allowance
from runtrue.fixers.search.edit_search import EditTrials, Search
from runtrue.fixers.search.evidence import Baseline, Failure, MeasuredTest
from runtrue.fixers.search.localise import suspicion
from runtrue.fixers.search.priors import Priors
from runtrue.fixers.search.proposals import EditSet, Proposals
from runtrue.fixers.search.report import Stopped
from runtrue.fixers.search.servers import Unprovable
from runtrue.fixers.search.trial import End, ProofResult

BOUNDED = "def bounded(x, low, high):\n    if x < low:\n        return low\n    return x\n"
TWO = "def span(a, b):\n    return a + b\n\n\ndef area(a, b):\n    return a + b\n"
Test = Callable[[dict[str, Any]], bool]


class Inside:
    """A judge that runs tests in this process, for programs that do no harm."""

    def __init__(self, tests: Mapping[str, Test], wait: float = 0.0) -> None:
        self.tests = tests
        self.wait = wait
        self.tried: list[str] = []

    async def prove(
        self,
        texts: Mapping[str, str],
        *,
        only: Sequence[str] | None = None,
        whole: bool = False,
        patience: float = 1.0,
    ) -> ProofResult:
        await asyncio.sleep(self.wait)
        text = texts["app.py"]
        self.tried.append(text)
        wanted = self.tests if only is None else {name: self.tests[name] for name in only}
        passed = {name: _passes(test, text) for name, test in wanted.items()}
        if all(passed.values()):
            return ProofResult(end=End.PASSED)
        return ProofResult(
            end=End.FAILED,
            killer=next(name for name, ok in passed.items() if not ok),
            fixed=tuple(name for name, ok in passed.items() if ok),
            detail="AssertionError",
        )


def _passes(test: Test, text: str) -> bool:
    """Whether a test passes; one that takes long, as in a loop without an end, does not."""
    names: dict[str, Any] = {}
    signal.signal(signal.SIGALRM, _enough)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        exec(text, names)  # noqa: S102 - the programs are in this file
        return test(names)
    except Exception:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _enough(*_: object) -> None:
    raise TimeoutError


def search(
    text: str,
    tests: Mapping[str, Test],
    *,
    seconds: float = 20.0,
    candidates: int = 5000,
    **how: Any,
) -> tuple[Search, Inside]:
    lines = {"app.py": frozenset(range(1, text.count("\n") + 1))}
    cases = tuple(
        MeasuredTest(
            test=name,
            passed=_passes(test, text),
            seconds=0.001,
            lines=lines,
            failure=None
            if _passes(test, text)
            else Failure(test=name, exception="AssertionError", message=""),
        )
        for name, test in tests.items()
    )
    baseline = Baseline(cases=cases)
    targets = [case.test for case in baseline.failing]
    failures = [case.failure for case in cases if case.failure]
    judge = Inside(tests, **how)
    found = Search(
        judge,
        baseline,
        {"app.py": text},
        Proposals(
            {"app.py": text},
            suspicion(baseline, targets, ["app.py"]),
            failures,
            Priors.for_(failures, {}),
        ),
        Allowance(until=time.monotonic() + seconds, candidates=candidates, jobs=2),
        targets=targets,
    )
    return found, judge


def made(found: list[EditSet], text: str) -> list[str]:
    return [one.texts({"app.py": text})["app.py"] for one in found]


HIGH = {
    "low": lambda n: n["bounded"](-1, 0, 9) == 0,
    "inside": lambda n: n["bounded"](5, 0, 9) == 5,
    "high": lambda n: n["bounded"](11, 0, 9) == 9,
    "edge": lambda n: n["bounded"](9, 0, 9) == 9 and n["bounded"](10, 0, 9) == 9,
}


def test_the_edit_under_which_all_tests_pass_is_found() -> None:
    one, _ = search(BOUNDED, HIGH)
    found = asyncio.run(one.run())
    assert any("min(x, high)" in text for text in made(found, BOUNDED))


def test_it_does_not_stop_at_the_first_that_passes() -> None:
    one, judge = search("def f(a):\n    return a + 1\n", {"t": lambda n: n["f"](3) == 3})
    found = asyncio.run(one.run())
    assert len(found) > 1
    first = next(
        i
        for i, text in enumerate(judge.tried)
        if text in made(found, "def f(a):\n    return a + 1\n")
    )
    assert len(judge.tried) > first + 20


def test_the_same_is_tried_and_found_each_time() -> None:
    runs = []
    for _ in range(2):
        one, judge = search(BOUNDED, HIGH)
        runs.append((made(asyncio.run(one.run()), BOUNDED), judge.tried))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("wait", [0.0, 0.01])
def test_how_many_are_tried_after_the_first_is_a_number_and_no_time(wait: float) -> None:
    text = "def f(a):\n    return a + 1\n"
    one, judge = search(text, {"t": lambda n: n["f"](3) == 3})
    judge.wait = wait
    allowance = Allowance(until=time.monotonic() + 20, candidates=5000, jobs=2)
    trying = EditTrials(judge, {"app.py": text}, allowance, only=None, more=(5, 5))
    asyncio.run(trying.all(one._singles()))
    assert trying.tally.stopped is Stopped.ENOUGH
    assert trying.tally.tried == min(trying.tally.passing) + 5


def test_where_none_passes_the_first_that_mends_most_came_furthest() -> None:
    tests = {
        "span": lambda n: n["span"](7, 3) == 4,
        "impossible": lambda n: n["area"](7, 3) == "no number",
    }
    one, judge = search(TWO, tests)
    allowance = Allowance(until=time.monotonic() + 20, candidates=200, jobs=2)
    trying = EditTrials(judge, {"app.py": TWO}, allowance, only=None, more=(5, 5))
    assert trying.furthest() is None
    assert asyncio.run(trying.all(one._singles())) == []
    best = trying.furthest()
    assert best is not None
    assert "a - b" in made([best], TWO)[0]


def test_it_ends_when_the_time_is_up_and_says_so() -> None:
    one, judge = search(BOUNDED, {"never": lambda n: False}, seconds=0.2, wait=0.02)
    assert asyncio.run(one.run()) == []
    assert one.tally.stopped is Stopped.TIME
    assert len(judge.tried) < 200


def test_a_trial_that_is_under_way_when_the_time_is_up_is_broken_off() -> None:
    one, judge = search(BOUNDED, {"never": lambda n: False}, seconds=0.2, wait=3600)
    assert asyncio.run(one.run()) == []
    assert one.tally.stopped is Stopped.TIME
    assert (one.tally.tried, judge.tried) == (0, [])


def test_parts_that_are_not_known_when_the_time_is_up_are_none() -> None:
    one, judge = search(TWO, {"never": lambda n: False}, seconds=0.2, wait=3600)
    one.tally.telling = [(1, candidate) for candidate in one._singles()]
    assert asyncio.run(one.best_part()) is None
    assert judge.tried == []


def test_when_no_candidate_can_be_proven_any_more_that_is_all_that_is_said() -> None:
    one, judge = search(BOUNDED, {"never": lambda n: False})
    unheard: list[dict[str, Any]] = []

    async def fail(*_: object, **__: object) -> ProofResult:
        raise Unprovable("they keep dying")

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: unheard.append(about))
        await one.run()

    judge.prove = fail  # type: ignore[method-assign]
    with pytest.raises(Unprovable):
        asyncio.run(run())
    gc.collect()
    assert unheard == []


def test_it_ends_at_the_number_of_candidates_and_says_so() -> None:
    one, judge = search(BOUNDED, {"never": lambda n: False}, candidates=25)
    assert asyncio.run(one.run()) == []
    assert one.tally.stopped is Stopped.CANDIDATES
    assert len(judge.tried) < 40


def test_two_mistakes_are_mended_by_a_pair_of_edits() -> None:
    tests = {
        "both": lambda n: (n["span"](7, 3), n["area"](7, 3)) == (4, 21),
        "again": lambda n: (n["span"](9, 1), n["area"](2, 2)) == (8, 4),
    }
    one, _ = search(TWO, tests)
    # A test that needs both edits cannot tell which of them is half of the way.
    one.tally.telling = [(0, candidate) for candidate in one._singles()]
    asyncio.run(one._try(one._pairs()))
    wanted = "def span(a, b):\n    return a - b\n\n\ndef area(a, b):\n    return a * b\n"
    assert wanted in made(list(one.tally.passing.values()), TWO)


def test_of_edits_that_come_to_the_same_program_one_is_tried_in_pairs_and_one_is_found() -> None:
    text = "def f(a):\n    return a + 1\n"
    one, judge = search(text, {"t": lambda n: n["f"](3) == 3})
    twice = [again for single in one._proposals.singles() for again in (single, single)]
    one._proposals.singles = lambda: iter(twice)  # type: ignore[method-assign]
    singles = [*one._singles()]
    assert one._partners == [single for single in singles if not single.doubt][:400]
    trying = EditTrials(judge, {"app.py": text}, one.allowance, only=None, more=(500, 500))
    found = made(asyncio.run(trying.all(iter(twice))), text)
    assert len(found) > 1
    assert len({ast.dump(ast.parse(program)) for program in found}) == len(found)


def test_the_part_that_mends_most_is_known_where_nothing_mends_all() -> None:
    tests = {
        "span": lambda n: n["span"](7, 3) == 4,
        "impossible": lambda n: n["area"](7, 3) == "no number",
    }
    one, _ = search(TWO, tests, seconds=4)
    assert asyncio.run(one.run()) == []
    part = asyncio.run(one.best_part())
    assert part is not None
    assert part[1] == ("span",)
