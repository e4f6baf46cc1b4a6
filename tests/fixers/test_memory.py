"""The `memory` fixer makes a fix again that has held before, where it fits and nowhere else."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.fixers.memory import MemoryFixer, failed_fixes, fix_ids, language_of_finding
from runtrue.loop import (
    Analysis,
    Attempt,
    Fault,
    Finding,
    Fix,
    FixPart,
    FixTask,
    History,
    Location,
    Mode,
    Outcome,
    Proposal,
    Reason,
    Rejection,
    Verdict,
    Workplace,
)
from runtrue.memory import DebugMemory, Project
from tests.fixers.support import make_workplace

TESTS = CommandCheck(name="tests", command="python -m pytest -q -p no:cacheprovider")
SHOP = Project("shop", "/home/ada/shop")

SHOP_FILES = {
    "shop.py": "def total(prices):\n    result = 0\n    for price in prices:\n"
    "        result -= price\n    return result\n",
    "tests/test_shop.py": "from shop import total\n\n\ndef test_total():\n"
    "    assert total([1, 2]) == 3\n\n\ndef test_one():\n    assert total([4]) == 4\n",
}
MENDED = {"shop.py": SHOP_FILES["shop.py"].replace("-=", "+=")}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[DebugMemory]:
    with DebugMemory(tmp_path / "home") as memory:
        yield memory
        assert memory.trouble is None


def place(directory: Path, files: Mapping[str, str]) -> Workplace:
    workplace = make_workplace(directory)
    # Written twice within a second, a file of the same size would be taken for compiled already.
    workplace.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    for name, text in files.items():
        path = workplace.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return workplace


def check(workplace: Workplace) -> Verdict:
    return asyncio.run(TESTS.run(workplace))


def diff(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    lines: list[str] = []
    for file, text in new.items():
        before = old[file].split("\n")
        lines += difflib.unified_diff(
            before, text.split("\n"), f"a/{file}", f"b/{file}", lineterm=""
        )
    return "\n".join(lines)


def learn(
    memory: DebugMemory, finding: Finding, old: Mapping[str, str], new: Mapping[str, str]
) -> int:
    fix = memory.record_fix(
        finding,
        diff=diff(old, new),
        fixer="agent",
        run_id=f"r{len(memory.fixes())}",
        project=SHOP,
        language="python",
    )
    assert fix is not None
    return fix.id


def propose(
    memory: DebugMemory, workplace: Workplace, *findings: Finding, history: History | None = None
) -> Proposal:
    task = FixTask(findings=findings, history=history or History())
    return asyncio.run(MemoryFixer(memory).propose(task, workplace))


def failed(
    message: str = "assert -3 == 3",
    category: str = "AssertionError",
    *,
    file: str = "tests/test_shop.py",
    line: int | None = None,
    test: str = "tests/test_shop.py::test_total",
    fault: Fault = Fault.CANDIDATE,
) -> Finding:
    return Finding(
        source="tests",
        category=category,
        message=message,
        fault=fault,
        location=Location(file=file, line=line, symbol=test),
    )


# -- the real thing -----------------------------------------------------------------------------

SECOND = {
    "the same": SHOP_FILES,
    "in another file, under some other names, deeper": {
        "pkg/__init__.py": "",
        "pkg/bill.py": "class Bill:\n    def sum_of(self, prices):\n        amount = 0\n"
        "        for item in prices:\n            amount -= item\n        return amount\n",
        "test_bill.py": "from pkg.bill import Bill\n\n\ndef test_bill():\n"
        "    assert Bill().sum_of([1, 2]) == 3\n",
    },
    "behind what the test imports": {
        "front.py": "from back import add_up\n\n\ndef total(numbers):\n"
        "    return add_up(numbers)\n",
        "back.py": SHOP_FILES["shop.py"].replace("def total", "def add_up"),
        "tests/test_front.py": SHOP_FILES["tests/test_shop.py"].replace("from shop", "from front"),
    },
}


@pytest.mark.parametrize("second", SECOND.values(), ids=SECOND)
def test_a_bug_that_was_mended_once_is_mended_at_once_elsewhere(
    tmp_path: Path, memory: DebugMemory, second: dict[str, str]
) -> None:
    first = check(place(tmp_path / "first", SHOP_FILES))
    fix = learn(memory, first.findings[0], SHOP_FILES, MENDED)
    workplace = place(tmp_path / "second", second)
    verdict = check(workplace)
    assert not verdict.passed
    fixer = MemoryFixer(memory)
    assert all(fixer.accepts(finding) for finding in verdict.findings)
    proposal = propose(memory, workplace, *verdict.findings)
    assert proposal.failure is None
    assert check(workplace).passed, proposal
    assert proposal.description.count(f"fix-{fix} ") == 1
    assert proposal.analysis is not None
    assert proposal.analysis.patterns_matched == (f"fix-{fix}",)
    assert proposal.analysis.confidence == pytest.approx(2 / 3)


# -- whether it fits ----------------------------------------------------------------------------

SAME = failed()
SAME_SHAPE = failed(test="tests/test_shop.py::test_other")
SAME_CAUSE = failed("assert 7 == 8")
RANKS = {"same": SAME, "shape": SAME_SHAPE, "cause": SAME_CAUSE}


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize(
    ("old", "new", "here", "by"),
    [
        # Much of it is as it was: it will do for any failure of that cause.
        ("n = rate * 1.9\n", "n = rate * 1.19\n", "n = rate * 1.9\n", "same shape cause"),
        ("n = tax(rate) * 1.9\n", "n = tax(rate) * 1.19\n", "m = f(r) * 1.9\n", "same"),
        (
            "n = tax(rate) * 1.9\n",
            "n = tax(rate) * 1.19\n",
            "m = tax(r) * 1.9\n",
            "same shape cause",
        ),
        # What only looks alike is other code, unless the very same test fails.
        ("    return a - b\n", "    return a + b\n", "    return x - y\n", "same"),
        ("    return a - b\n", "    return a + b\n", "    return a - y\n", "same shape"),
        # A lone name fits everywhere.
        ("x\n", "y\n", "x\n", ""),
        ("n = a\n", "n = -a\n", "m = b\nk = c\n", ""),
        ("n = 1\n", "n = 2\n", "n = 3\n", ""),
    ],
)
def test_the_less_a_failure_is_the_same_the_more_of_the_place_must_be(
    tmp_path: Path,
    memory: DebugMemory,
    rank: str,
    old: str,
    new: str,
    here: str,
    by: str,
) -> None:
    learn(memory, SAME, {"shop.py": old}, {"shop.py": new})
    tests = "import shop\n"
    workplace = place(tmp_path / "w", {"shop.py": here, "tests/test_shop.py": tests})
    propose(memory, workplace, RANKS[rank])
    is_made = (workplace.root / "shop.py").read_text() != here
    assert is_made is (rank in by.split())


def test_of_two_places_the_blamed_one_is_mended(tmp_path: Path, memory: DebugMemory) -> None:
    old = "def f(a):\n    n = a - 1\n"
    learn(memory, SAME, {"shop.py": old}, {"shop.py": old.replace("-", "+")})
    twice = {"shop.py": "def g(b):\n    m = b - 1\n\n\ndef h(c):\n    k = c - 1\n"}
    workplace = place(tmp_path / "w", twice)
    assert propose(memory, workplace, failed(file="shop.py")).analysis is None
    assert propose(memory, workplace, failed(file="shop.py", line=6)).analysis is not None
    assert (workplace.root / "shop.py").read_text() == twice["shop.py"].replace("c - 1", "c + 1")


def test_tests_are_never_edited(tmp_path: Path, memory: DebugMemory) -> None:
    files = {"tests/test_shop.py": "import shop\nn = rate * 1.9\n", "shop.py": ""}
    learn(memory, SAME, {"a.py": "n = rate * 1.9\n"}, {"a.py": "n = rate * 1.19\n"})
    workplace = place(tmp_path / "w", files)
    assert propose(memory, workplace, SAME).analysis is None
    assert (workplace.root / "tests/test_shop.py").read_text() == files["tests/test_shop.py"]


def test_files_that_nothing_leads_to_are_left_alone(tmp_path: Path, memory: DebugMemory) -> None:
    learn(memory, SAME, {"a.py": "n = rate * 1.9\n"}, {"a.py": "n = rate * 1.19\n"})
    files = {"far/away.py": "n = rate * 1.9\n", "tests/test_shop.py": "import shop\n"}
    workplace = place(tmp_path / "w", files)
    assert propose(memory, workplace, SAME).analysis is None


def test_a_fix_of_several_files_is_made_as_a_whole_or_of_what_is_still_broken(
    tmp_path: Path, memory: DebugMemory
) -> None:
    old = {"shop.py": "import till\nn = till.rate * 1.9\n", "till.py": "rate = 'one'\n"}
    new = {"shop.py": "import till\nn = till.rate * 1.19\n", "till.py": "rate = 1\n"}
    learn(memory, SAME, old, new)
    tests = {"tests/test_shop.py": "import shop\n"}
    whole = place(tmp_path / "whole", old | tests)
    propose(memory, whole, SAME)
    assert {file: (whole.root / file).read_text() for file in new} == new
    half = place(tmp_path / "half", {**old, "till.py": new["till.py"], **tests})
    propose(memory, half, SAME)
    assert {file: (half.root / file).read_text() for file in new} == new


def test_line_ends_and_permissions_stay(tmp_path: Path, memory: DebugMemory) -> None:
    learn(memory, SAME, {"a.py": "n = rate * 1.9\n"}, {"a.py": "n = rate * 1.19\n"})
    workplace = place(tmp_path / "w", {"shop.py": "", "tests/test_shop.py": "import shop\n"})
    shop = workplace.root / "shop.py"
    shop.write_bytes(b"x = 1\r\nn = rate * 1.9\r\n")
    shop.chmod(0o755)
    propose(memory, workplace, SAME)
    assert shop.read_bytes() == b"x = 1\r\nn = rate * 1.19\r\n"
    assert shop.stat().st_mode & 0o777 == 0o755


# -- what is tried, and what is not -------------------------------------------------------------

TRIED = ({"shop.py": "n = rate * 1.9\n"}, {"shop.py": "n = rate * 1.8\n"})
NEXT = ({"shop.py": "n = rate * 1.9\n"}, {"shop.py": "n = rate * 1.19\n"})
HERE = {**TRIED[0], "tests/test_shop.py": "import shop\n"}


def part(proposal: Proposal, *files: str, with_analysis: bool = True) -> FixPart:
    return FixPart(
        fixer="memory",
        findings=(SAME.fingerprint,),
        description=proposal.description,
        files=files,
        analysis=proposal.analysis if with_analysis else None,
    )


@pytest.mark.parametrize("is_rejected", [False, True])
@pytest.mark.parametrize("with_analysis", [False, True])
def test_what_was_tried_in_this_run_is_not_proposed_again(
    tmp_path: Path, memory: DebugMemory, is_rejected: bool, with_analysis: bool
) -> None:
    best, other = learn(memory, SAME, *TRIED), learn(memory, SAME, *NEXT)
    memory.passed(best, "another")
    first = propose(memory, place(tmp_path / "1", HERE), SAME)
    history = History()
    for number, said in enumerate([first, None], start=2):
        if said is None:
            said = propose(memory, place(tmp_path / "2", HERE), SAME, history=history)  # noqa: PLW2901
        fix = Fix(base="a", candidate="b", parts=(part(said, with_analysis=with_analysis),))
        attempt = Attempt(number=number, candidate="b", verdicts=(), fix=fix)
        rejection = Rejection(after=number, fix=fix, reason=Reason.REPEATED)
        history = History(
            attempts=history.attempts if is_rejected else (*history.attempts, attempt),
            rejections=(*history.rejections, rejection) if is_rejected else history.rejections,
        )
        assert f"fix-{[best, other][number - 2]} " in said.description
    last = propose(memory, place(tmp_path / "3", HERE), SAME, history=history)
    assert (last.analysis, last.failure) == (None, None)


def test_what_failed_in_this_project_is_not_proposed_there_again(
    tmp_path: Path, memory: DebugMemory
) -> None:
    best, other = learn(memory, SAME, *TRIED), learn(memory, SAME, *NEXT)
    for run in range(5):
        memory.passed(best, f"another {run}")
    memory.failed(best, "r9", project=SHOP, findings=[SAME])
    task = FixTask(findings=(SAME,), history=History())
    for number, (project, expected) in enumerate(
        [(SHOP, other), (Project("till", "/home/ada/till"), best)]
    ):
        fixer = MemoryFixer(memory, project=project)
        assert fixer.accepts(SAME)
        said = asyncio.run(fixer.propose(task, place(tmp_path / str(number), HERE)))
        assert f"fix-{expected} " in said.description
    memory.failed(other, "r9", project=SHOP, findings=[SAME_SHAPE])
    assert not MemoryFixer(memory, project=SHOP).accepts(SAME)
    assert MemoryFixer(memory, project=SHOP).accepts(SAME_CAUSE)


def verdict(*findings: Finding, **cases: Outcome) -> Verdict:
    return Verdict(
        check="tests",
        mode=Mode.REQUIRED,
        passed=not findings,
        findings=findings,
        cases={f"tests/test_shop.py::test_{name}": outcome for name, outcome in cases.items()},
    )


ELSE = failed("no", "KeyError", test="tests/test_shop.py::test_other")
LINT = Finding(source="tests", category="F401", message="unused", fault=Fault.CANDIDATE)
PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


@pytest.mark.parametrize(
    ("after", "missed"),
    [
        (verdict(total=PASSED, one=PASSED), ()),
        (verdict(ELSE, total=PASSED, one=PASSED), ()),
        (verdict(SAME, total=FAILED, one=PASSED), (SAME,)),
        # It fails otherwise, is not run any more, or something else is broken.
        (verdict(failed("assert 5 == 3"), total=FAILED, one=PASSED), (SAME,)),
        (verdict(failed(category="SyntaxError", test="tests/test_shop.py")), (SAME,)),
        (verdict(ELSE, total=PASSED, one=FAILED), (SAME, LINT)),
        (verdict(LINT, total=PASSED, one=PASSED), (LINT,)),
    ],
)
@pytest.mark.parametrize("is_alone", [True, False])
def test_a_remembered_fix_fails_where_the_test_does_not_pass_or_another_is_broken(
    after: Verdict, missed: tuple[Finding, ...], is_alone: bool
) -> None:
    aims = (SAME.fingerprint, LINT.fingerprint)
    mine = FixPart(
        fixer="memory", findings=aims, description="applied again: fix-7 in", files=("a",)
    )
    others = FixPart(fixer="agent", findings=(), description="fix-8", files=("b",))
    fix = Fix(base="a", candidate="b", parts=(mine,) if is_alone else (mine, others))
    first = verdict(SAME, LINT, total=FAILED, one=PASSED)
    attempts = (
        Attempt(number=1, candidate="a", verdicts=(first,)),
        Attempt(number=2, candidate="b", verdicts=(after,), fix=fix),
    )
    broke = after.cases.get("tests/test_shop.py::test_one") is FAILED
    expected = () if broke and not is_alone else missed
    found = failed_fixes(attempts[1], History(attempts=attempts))
    assert found == ({7: expected} if expected else {})
    assert failed_fixes(attempts[0], History(attempts=attempts)) == {}


def test_the_fixes_that_took_part_are_told_by_the_parts(
    tmp_path: Path, memory: DebugMemory
) -> None:
    used = learn(memory, SAME, *NEXT)
    said = propose(memory, place(tmp_path / "1", HERE), SAME)
    agents = FixPart(fixer="agent", findings=(), description="like fix-99", files=("shop.py",))
    assert fix_ids([agents, part(said, "shop.py")]) == (used,)
    assert fix_ids([part(said, "shop.py", with_analysis=False)]) == (used,)
    # What it did was undone, or came to nothing.
    assert fix_ids([part(said)]) == ()
    about = Analysis(root_cause="", patterns_matched=("failure-3",))
    other = FixPart(fixer="memory", findings=(), description="", files=("a",), analysis=about)
    assert fix_ids([other]) == ()


def test_one_fix_covers_all_findings_of_the_bug(tmp_path: Path, memory: DebugMemory) -> None:
    learn(memory, SAME, *NEXT)
    learn(memory, SAME_CAUSE, {"shop.py": "k = size(5) * 7\n"}, {"shop.py": "k = size(5) * 8\n"})
    files = {**HERE, "shop.py": "n = rate * 1.9\nk = size(5) * 7\n"}
    workplace = place(tmp_path / "w", files)
    propose(memory, workplace, failed("assert 1 == 2"), SAME, SAME_SHAPE)
    assert (workplace.root / "shop.py").read_text() == "n = rate * 1.19\nk = size(5) * 7\n"


def test_each_bug_gets_its_own_fix(tmp_path: Path, memory: DebugMemory) -> None:
    other = failed("other", "KeyError")
    learn(memory, SAME, *NEXT)
    learn(memory, other, {"shop.py": "k = size(5) * 7\n"}, {"shop.py": "k = size(5) * 8\n"})
    files = {**HERE, "shop.py": "n = rate * 1.9\nk = size(5) * 7\n"}
    workplace = place(tmp_path / "w", files)
    said = propose(memory, workplace, SAME, other)
    assert (workplace.root / "shop.py").read_text() == "n = rate * 1.19\nk = size(5) * 8\n"
    assert said.analysis is not None
    assert said.analysis.patterns_matched == ("fix-1", "fix-2")


def test_it_takes_on_what_it_may_know_a_fix_for(memory: DebugMemory) -> None:
    fixer = MemoryFixer(memory)
    assert fixer.unavailable() == "the memory is empty"
    assert not fixer.accepts(SAME)
    learn(memory, SAME, *NEXT)
    assert fixer.unavailable() is None
    assert fixer.accepts(SAME)
    assert fixer.accepts(SAME_CAUSE)
    assert not fixer.accepts(failed("other", "KeyError"))
    assert not fixer.accepts(failed(fault=Fault.ENVIRONMENT))


def test_a_memory_that_cannot_be_read_is_a_rung_that_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"no database" * 100)
    memory = DebugMemory(tmp_path)
    fixer = MemoryFixer(memory)
    assert not fixer.accepts(SAME)
    assert fixer.unavailable() == memory.trouble


@pytest.mark.parametrize(
    ("file", "test", "language"),
    [
        ("a.py", "t.go::x", "python"),
        (None, "t.go::TestX", "go"),
        ("a.txt", "src/t.test.ts::x", "typescript"),
        (None, None, "other"),
    ],
)
def test_the_language_is_that_of_the_file_or_the_test(
    file: str | None, test: str | None, language: str
) -> None:
    where = Location(file=file, symbol=test)
    finding = Finding(source="t", category="E", message="", fault=Fault.CANDIDATE, location=where)
    assert language_of_finding(finding) == language
