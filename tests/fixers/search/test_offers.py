"""What a search has offered is read from the run's history."""

from __future__ import annotations

import json

from runtrue.fixers.search.offers import Offers, digest_of, text_digest
from runtrue.fixers.search.report import SearchReport, Solution
from runtrue.loop import (
    Answer,
    Attempt,
    Example,
    Fix,
    FixPart,
    History,
    Proposal,
    Reason,
    Rejection,
)

ONE, TWO = {"a.py": "1", "b.py": "2"}, {"a.py": "2", "b.py": "2"}


def _fix(proposal: Proposal, outside: tuple[str, ...] = (), fixer: str = "search") -> Fix:
    part = FixPart(
        fixer=fixer,
        findings=(),
        description=proposal.description,
        outside=outside,
        trace=proposal.trace,
    )
    return Fix(base="base", candidate="candidate", parts=(part,))


def _offer(texts: dict[str, str]) -> Proposal:
    return Proposal(description="", texts=texts, trace={"offered": digest_of(texts)})


def history_of(*proposals: Proposal) -> History:
    """A history in which the search has made proposals, each of which was run."""
    fixes = [None, *map(_fix, proposals)]
    attempts = [Attempt(number=n, candidate="", verdicts=(), fix=f) for n, f in enumerate(fixes, 1)]
    return History(attempts=tuple(attempts))


def _refused(proposal: Proposal, *answers: Answer) -> History:
    fix = _fix(proposal, outside=("a.py",))
    rejection = Rejection(after=1, fix=fix, reason=Reason.OUT_OF_BOUNDS)
    return History(attempts=history_of().attempts, rejections=(rejection,), answers=tuple(answers))


def test_an_edit_is_known_by_the_files_it_makes() -> None:
    assert digest_of(ONE) == digest_of(dict(reversed(ONE.items())))
    assert digest_of(ONE) != digest_of(TWO)


def test_what_was_run_or_refused_has_been_offered() -> None:
    assert Offers.of(History()) == Offers(edits=set())
    assert Offers.of(history_of(_offer(ONE), _offer(TWO))).edits == {digest_of(ONE), digest_of(TWO)}
    assert Offers.of(_refused(_offer(ONE))).edits == {digest_of(ONE)}


def test_what_was_left_to_a_stronger_fixer_is_known() -> None:
    left = Proposal(description="", texts={}, trace={"deferred": True})
    assert Offers.of(history_of(left)).deferred
    assert not Offers.of(history_of(_offer(ONE))).deferred


def test_what_other_fixers_did_is_none_of_its_business() -> None:
    attempt = Attempt(number=2, candidate="", verdicts=(), fix=_fix(_offer(ONE), fixer="agent"))
    assert Offers.of(History(attempts=(attempt,))) == Offers(edits=set())


def test_an_edit_refused_for_its_files_is_new_once_a_person_has_allowed_more() -> None:
    guidance = Answer(text="look at a.py", attempts=1, rejections=1)
    allowed = Answer(text="", attempts=1, rejections=1, allowed=("a.py",))
    too_early = Answer(text="", attempts=1, rejections=0, allowed=("b.py",))
    assert Offers.of(_refused(_offer(ONE), guidance)).edits
    assert Offers.of(_refused(_offer(ONE), too_early)).edits
    assert not Offers.of(_refused(_offer(ONE), allowed)).edits


def _vain(**more: object) -> Proposal:
    searched = {"tests": ["t"], "files": {"a.py": text_digest("1")}}
    return Proposal(description="", texts={}, trace={"searched": searched, "solutions": [], **more})


def test_a_search_in_vain_is_not_repeated_on_the_same_files_and_tests() -> None:
    (search,) = Offers.of(history_of(_vain())).searches
    assert search.found_nothing
    assert search.would_repeat({"t"}, lambda file: "1")
    assert not search.would_repeat({"t"}, lambda file: "2")
    assert not search.would_repeat({"t", "u"}, lambda file: "1")


def test_the_solutions_of_a_search_are_made_again_from_its_record() -> None:
    example = Example(call="f(1)", gives="1", instead="2", module="a")
    one = Solution(texts={"a.py": "2"}, says="x", kinds=("k",), confidence=0.6, alike=1)
    two = Solution(texts={"a.py": "3"}, says="y", kinds=("k",), confidence=0.2, example=example)
    report = SearchReport(solutions=[one, two], files={"a.py": text_digest("1")}, tests=("t",))
    trace = json.loads(json.dumps(report.to_dict(lambda file: "1")))
    (search,) = Offers.of(history_of(Proposal(description="", texts={}, trace=trace))).searches
    assert not search.found_nothing
    assert search.solutions(lambda file: "1") == [one, two]


def test_solutions_in_files_that_were_not_compared_are_searched_for_again() -> None:
    report = SearchReport(
        solutions=[Solution(texts={"b.py": "2"}, says="x", kinds=(), confidence=1)]
    )
    trace = {**report.to_dict(lambda file: "1"), "searched": {"tests": ["t"], "files": {}}}
    (search,) = Offers.of(history_of(Proposal(description="", texts={}, trace=trace))).searches
    assert search.solutions(lambda file: "1") == []


def test_a_search_in_vain_is_repeated_once_a_person_has_allowed_more() -> None:
    allowed = Answer(text="", attempts=2, rejections=0, allowed=("a.py",))
    history = history_of(_vain())
    assert not Offers.of(History(attempts=history.attempts, answers=(allowed,))).searches
