"""The `search` fixer: what it takes on, and what it leaves to others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.config import SearchConfig
from runtrue.fixers.search.fixer import SearchFixer, runs_python
from runtrue.fixers.search.offers import Offers
from runtrue.fixers.search.report import SearchReport, Solution, Stopped
from runtrue.loop import Attempt, Bounds, Fault, FixTask, History, Proposal
from tests.fixers.search.test_forked_prover import place
from tests.fixers.search.test_offers import history_of
from tests.loop.make import finding

PYTEST = CommandCheck(name="tests", command="python -m pytest -q")
LINT = CommandCheck(name="lint", command="ruff check .")
HERE = Path()
NO_OFFERS = Offers(edits=set())


@pytest.mark.parametrize(
    ("command", "does"),
    [
        ("python -m pytest -q", True),
        ("pytest tests && echo done", True),
        ("python -m unittest discover", True),
        ("python3.12 test_it.py", True),
        ("ruff check .", False),
        ("go test ./...", False),
        ("npm test", False),
    ],
)
def test_it_is_for_python_tests(command: str, does: bool) -> None:
    assert runs_python(CommandCheck(name="x", command=command)) is does


def test_it_takes_on_findings_of_tests_that_the_program_is_to_blame_for() -> None:
    fixer = SearchFixer((PYTEST, LINT), SearchConfig())
    assert fixer.unavailable() is None
    assert fixer.accepts(finding("wrong", source="tests"))
    assert not fixer.accepts(finding("wrong", source="lint"))
    assert not fixer.accepts(finding("down", source="tests", fault=Fault.ENVIRONMENT))


def test_without_time_or_python_tests_it_says_why_it_is_not_there() -> None:
    none = SearchFixer((PYTEST,), SearchConfig(seconds=0))
    assert "RUNTRUE_SEARCH_SECONDS" in (none.unavailable() or "")
    assert (
        SearchFixer((LINT,), SearchConfig()).unavailable()
        == "no check here runs Python or JavaScript tests"
    )


def solution(text: str, confidence: float, doubt: str | None = None) -> Solution:
    return Solution(
        texts={"a.py": text}, says=f"made {text}", kinds=("x",), confidence=confidence, doubt=doubt
    )


def test_asked_again_it_has_its_next_best_and_then_nothing() -> None:
    fixer = SearchFixer((PYTEST,), SearchConfig())
    report = SearchReport(solutions=[solution("one", 0.6), solution("two", 0.3)], tried=7)
    offered: list[Proposal] = []
    for _ in range(3):
        offered.append(fixer._proposal(report, Offers.of(history_of(*offered)), HERE))
    assert [one.texts for one in offered] == [{"a.py": "one"}, {"a.py": "two"}, {}]
    assert offered[0].description == "made one (7 edits tried; 1 more would pass; confidence 0.60)"


def test_what_is_not_sure_is_left_to_a_stronger_fixer_and_proposed_when_asked_again() -> None:
    fixer = SearchFixer((PYTEST,), SearchConfig(confidence=0.5), stronger=True)
    report = SearchReport(solutions=[solution("maybe", 0.4)], tried=7)
    offers = Offers(edits=set())
    first, second = (fixer._proposal(report, offers, HERE) for _ in range(2))
    assert first.texts == {}
    assert first.description == (
        "1 edit would pass, but none is sure; the likeliest: made maybe (confidence 0.40)"
    )
    assert second.texts == {"a.py": "maybe"}


def test_a_doubtful_patch_says_so() -> None:
    fixer = SearchFixer((PYTEST,), SearchConfig())
    report = SearchReport(solutions=[solution("x", 0.05, doubt="drops a check")], tried=1)
    assert (
        "look at it closely: it drops a check"
        in fixer._proposal(report, NO_OFFERS, HERE).description
    )


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (
            SearchReport(tried=1200, stopped=Stopped.TIME, suspects=["a.py:3", "b.py:1"]),
            "tried 1,200 edits in 0 s; none passed (time limit: [fixers.search] seconds). "
            "Most suspicious: a.py:3, b.py:1",
        ),
        (
            SearchReport(tried=40, stopped=Stopped.EXHAUSTED),
            "tried 40 edits in 0 s; none passed (no other known kind of edit fits)",
        ),
        (
            SearchReport(
                tried=4,
                stopped=Stopped.UNPROVABLE,
                steps=[{"step": "stopped", "why": "the processes keep dying"}],
            ),
            "tried 4 edits in 0 s; none passed (stopped early: the processes keep dying)",
        ),
        (
            SearchReport(stopped=Stopped.TIME),
            "tried no edit: the time ran out before the first ([fixers.search] seconds)",
        ),
        (SearchReport(steps=[{"step": "nothing"}]), "no test fails any more"),
    ],
)
def test_in_vain_it_says_what_was_tried_and_where_it_would_look(
    report: SearchReport, said: str
) -> None:
    proposal = SearchFixer((PYTEST,), SearchConfig())._proposal(report, NO_OFFERS, HERE)
    assert proposal.texts == {}
    assert proposal.description == said


SLOW = {
    "shop.py": "def total(prices):\n    result = 0\n    return result\n",
    "other.py": "",
    "test_shop.py": """\
        import time
        from shop import total

        def test_total():
            time.sleep(1)
            assert total([1, 2]) == object()
    """,
}


def proposed(directory: Path, bounds: Bounds | None = None, checks: int = 1) -> Proposal:
    """What is proposed for tests that no edit mends and that take a second, within two."""
    workplace = place(directory, SLOW)
    every = [
        CommandCheck(name=f"tests{n}", command="python -m pytest -q -p no:cacheprovider")
        for n in range(checks)
    ]
    fixer = SearchFixer(every, SearchConfig(seconds=2))

    async def propose() -> Proposal:
        verdicts = tuple([await check.run(workplace) for check in every])
        attempt = Attempt(number=1, candidate="", verdicts=verdicts)
        task = FixTask(
            findings=tuple(f for verdict in verdicts for f in verdict.findings),
            history=History(attempts=(attempt,)),
            bounds=bounds,
        )
        return await fixer.propose(task, workplace)

    return asyncio.run(propose())


def test_slow_tests_do_not_make_a_search_longer_than_its_budget(tmp_path: Path) -> None:
    trace = proposed(tmp_path).trace
    assert trace is not None
    assert trace["stopped"] == "time"
    assert trace["candidates"] <= 16
    # With starting, and with running the tests as they are.
    assert trace["seconds"] < 30


def test_all_searches_for_a_proposal_have_one_budget(tmp_path: Path) -> None:
    found = proposed(tmp_path, Bounds(paths=("shop.py",)), checks=3)
    assert found.texts == {}
    # When the second search has run the tests as they are, nothing is left for the other four.
    assert found.description.count("tried") == 1
