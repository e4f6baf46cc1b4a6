"""The debug memory: what failed and what then held is known again, counted once for each run."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.loop import Cause, Fault, Finding, Location
from runtrue.memory import (
    Counts,
    DebugMemory,
    KnownFailure,
    Project,
    Rank,
    RememberedFix,
    Retention,
    digest_of,
)
from runtrue.memory.facts import DAY
from runtrue.redaction import Redactor

SHOP = Project("shop", "/home/ada/shop")
TILL = Project("till", "/home/ada/till")
MESSAGE = "unsupported operand type(s) for +: 'int' and 'str'"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[DebugMemory]:
    with DebugMemory(tmp_path / "home") as memory:
        yield memory
        assert memory.trouble is None


def finding(
    message: str = MESSAGE,
    category: str = "TypeError",
    *,
    test: str | None = "tests/test_shop.py::test_total",
    file: str | None = "shop.py",
) -> Finding:
    return Finding(
        source="tests",
        category=category,
        message=message,
        fault=Fault.CANDIDATE,
        location=Location(file=file, line=3, symbol=test),
    )


def see(
    memory: DebugMemory,
    *findings: Finding,
    run: str = "r1",
    attempt: int = 1,
    project: Project = SHOP,
    now: float = 0.0,
    language: str = "python",
) -> tuple[KnownFailure, ...]:
    return memory.record_failures(
        findings or (finding(),),
        run_id=run,
        attempt=attempt,
        project=project,
        language_of=lambda _: language,
        now=now,
    )


def diff(old: str = "n = a - b", new: str = "n = a + b", file: str = "shop.py") -> str:
    return f"--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


def learn(
    memory: DebugMemory,
    about: Finding | None = None,
    *,
    change: str | None = None,
    fixer: str = "agent",
    run: str = "r1",
    project: Project = SHOP,
    now: float = 0.0,
    language: str = "python",
) -> RememberedFix:
    fix = memory.record_fix(
        about or finding(),
        diff=diff() if change is None else change,
        fixer=fixer,
        run_id=run,
        project=project,
        language=language,
        now=now,
    )
    assert fix is not None
    return fix


# -- failures -----------------------------------------------------------------------------------


def test_a_failure_is_kept_with_all_that_is_known_of_it(memory: DebugMemory) -> None:
    see(memory, now=5.0)
    (failure,) = see(memory, attempt=2, now=7.0)
    assert failure == KnownFailure(
        id=1,
        fingerprint=finding().fingerprint,
        shape=failure.shape,
        error_type="TypeError",
        cause=Cause.TYPE_MISMATCH,
        language="python",
        message=MESSAGE,
        file="shop.py",
        test="tests/test_shop.py::test_total",
        project="shop",
        path="/home/ada/shop",
        seen=2,
        first_seen=5.0,
        last_seen=7.0,
        last_run="r1",
        learning="",
        escalated=False,
    )
    assert memory.failure(1) == failure
    assert memory.failures() == (failure,)


def test_an_attempt_that_is_recorded_again_counts_once(memory: DebugMemory) -> None:
    for run, attempt in [("r1", 1), ("r2", 1), ("r1", 1), ("r1", 2), ("r2", 1)]:
        (failure,) = see(memory, run=run, attempt=attempt)
    assert failure.seen == 3
    both = see(memory, finding(), finding(), run="r3")
    assert [one.seen for one in both] == [4]


def test_projects_are_kept_apart(memory: DebugMemory) -> None:
    see(memory)
    (other,) = see(memory, project=TILL)
    assert (other.seen, len(memory.failures())) == (1, 2)


def test_the_shape_is_the_same_whichever_test_says_it(memory: DebugMemory) -> None:
    one, two, other = see(
        memory,
        finding("test_total: got 3", test="t.py::test_total"),
        finding("test_price: got 3", test="t.py::test_price[1]"),
        finding("test_total: got 4", test="t.py::test_total"),
    )
    assert one.shape == two.shape != other.shape
    assert one.fingerprint != two.fingerprint


def test_a_project_has_the_same_id_every_time(tmp_path: Path) -> None:
    assert Project.at(tmp_path) == Project.at(tmp_path / "x" / "..")
    assert Project.at(tmp_path).id != Project.at(tmp_path / "x").id
    assert Project.at(tmp_path).path == str(tmp_path)


# -- fixes --------------------------------------------------------------------------------------


def test_a_fix_is_known_by_its_failure(memory: DebugMemory) -> None:
    fix = learn(memory, now=9.0)
    assert memory.lookup(finding().fingerprint) == (fix,)
    assert memory.lookup("another") == ()
    assert (fix.name, fix.fixer, fix.cause) == ("fix-1", "agent", Cause.TYPE_MISMATCH)
    assert (fix.tried, fix.passed, fix.first_seen, fix.last_seen) == (1, 1, 9.0, 9.0)
    assert (fix.diff, fix.project, fix.path) == (diff(), "shop", "/home/ada/shop")
    assert fix.template is not None
    assert fix.confidence == pytest.approx(2 / 3)


def test_the_same_fix_of_the_same_shape_is_counted_not_kept_twice(memory: DebugMemory) -> None:
    learn(memory, run="r1")
    learn(memory, run="r1")
    other_test = finding(test="tests/test_shop.py::test_price")
    renamed = diff("k = x - y", "k = x + y")
    again = learn(memory, other_test, change=renamed, run="r2", now=4.0, fixer="model")
    assert (again.id, again.tried, again.passed, again.last_seen) == (1, 2, 2, 4.0)
    assert again.fixer == "agent"
    learn(memory, change=diff(new="n = a"), run="r3")
    learn(memory, finding("other"), run="r4")
    assert len(memory.fixes()) == 3


def test_a_fix_out_of_the_memory_keeps_the_name_of_who_first_made_it(memory: DebugMemory) -> None:
    learn(memory, fixer="model", now=1.0)
    assert learn(memory, finding("other"), fixer="memory", now=2.0).fixer == "model"


def test_a_trial_counts_once_for_a_run_and_passes_only_when_it_is_said_to(
    memory: DebugMemory,
) -> None:
    id_ = learn(memory, run="r1").id
    for run in ("r2", "r2", "r3"):
        memory.tried(id_, run, now=5.0)
    memory.passed(id_, "r3", now=6.0)
    memory.passed(id_, "r3")
    memory.tried(id_, "r3")
    memory.passed(id_, "r4", now=7.0)
    memory.tried(99, "r4")
    fix = memory.fix(id_)
    assert fix is not None
    assert (fix.tried, fix.passed, fix.last_seen) == (4, 3, 7.0)
    assert memory.fix(99) is None


def test_what_changes_nothing_is_no_fix(memory: DebugMemory) -> None:
    assert (
        memory.record_fix(
            finding(), diff="\n", fixer="agent", run_id="r", project=SHOP, language="python"
        )
        is None
    )
    assert not memory.path.exists()


def test_tests_are_no_part_of_a_template(memory: DebugMemory) -> None:
    change = diff(file="tests/test_shop.py") + diff()
    fix = learn(memory, change=change)
    assert fix.diff == change
    assert fix.template is not None
    assert [file.file for file in fix.template.files] == ["shop.py"]
    assert learn(memory, change=diff(file="tests/test_shop.py")).template is None


# -- what may hold ------------------------------------------------------------------------------


def test_the_nearest_fix_is_thought_of_first_and_of_those_the_one_that_held_most(
    memory: DebugMemory,
) -> None:
    same_cause = learn(memory, finding("other"), change=diff("c = d", "c = e"))
    other_type = finding("cannot cast", "ClassCastException")
    learn(memory, other_type, change=diff("c = d", "c = g"), language="java")
    cast = learn(memory, other_type, change=diff("c = d", "c = f"), run="rx", now=99.0)
    shape = learn(memory, finding(test="t.py::other"), change=diff("c = d", "c = h"))
    worse = learn(memory, change=diff("i = k", "i = l"), now=5.0)
    newer = learn(memory, change=diff("j = m", "j = n"), now=3.0)
    best = learn(memory, now=1.0)
    for run in ("r2", "r3"):
        memory.passed(best.id, run, now=1.0)
    memory.tried(worse.id, "r2", now=5.0)
    ranked = memory.fixes_for(finding(), "python")
    assert [(one.fix.id, one.rank) for one in ranked] == [
        (best.id, Rank.FINGERPRINT),
        (newer.id, Rank.FINGERPRINT),
        (worse.id, Rank.FINGERPRINT),
        (shape.id, Rank.SHAPE),
        (same_cause.id, Rank.CAUSE),
        (cast.id, Rank.CAUSE),
    ]


def test_what_failed_more_often_than_it_passed_is_thought_of_no_more(memory: DebugMemory) -> None:
    fix = learn(memory)
    memory.tried(fix.id, "r2")
    assert memory.has_fixes_for(finding(), "python")
    memory.tried(fix.id, "r3")
    assert not memory.has_fixes_for(finding(), "python")
    assert memory.fixes_for(finding(), "python") == ()
    assert [one.is_proven for one in memory.lookup(finding().fingerprint)] == [False]


def test_what_failed_in_a_project_is_not_thought_of_there_again(memory: DebugMemory) -> None:
    fix = learn(memory, project=TILL)
    for run in ("r2", "r3"):
        memory.passed(fix.id, run)
    same_shape, other = finding(test="t.py::other"), finding("other")
    memory.failed(fix.id, "r4", project=SHOP, findings=[finding(), finding()])
    memory.failed(99, "r4", project=SHOP, findings=[finding()])

    def is_thought_of(about: Finding, project: Project | None) -> bool:
        fixes_for = memory.fixes_for(about, "python", project)
        assert memory.has_fixes_for(about, "python", project) is bool(fixes_for)
        return fix.id in {one.fix.id for one in fixes_for}

    assert not is_thought_of(finding(), SHOP)
    assert not is_thought_of(same_shape, SHOP)
    assert is_thought_of(other, SHOP)  # of the same cause, which it has not failed on
    assert is_thought_of(finding(), TILL)
    assert is_thought_of(finding(), None)
    now = memory.fix(fix.id)
    assert now is not None
    assert (now.tried, now.passed) == (4, 3)


def test_the_same_change_by_another_name_has_failed_too(memory: DebugMemory) -> None:
    fix, twin = learn(memory), learn(memory, finding("other"), run="r2")
    assert fix.id != twin.id
    memory.failed(twin.id, "r3", project=SHOP, findings=[finding()])
    assert memory.fixes_for(finding(), "python", SHOP) == ()


def test_what_is_then_verified_there_is_thought_of_again(memory: DebugMemory) -> None:
    fix = learn(memory)
    memory.failed(fix.id, "r2", project=SHOP, findings=[finding(), finding("other")])
    learn(memory, run="r3")
    assert memory.has_fixes_for(finding(), "python", SHOP)
    assert not memory.has_fixes_for(finding("other"), "python", SHOP)


@pytest.mark.parametrize(
    ("about", "language", "is_thought_of"),
    [
        (finding("other"), "python", True),
        (finding("other"), "go", False),
        (finding("other", "KeyError"), "python", False),
        (finding(), "go", True),
    ],
)
def test_a_cause_counts_within_a_language(
    memory: DebugMemory, about: Finding, language: str, is_thought_of: bool
) -> None:
    learn(memory)
    assert memory.has_fixes_for(about, language) is is_thought_of
    assert bool(memory.fixes_for(about, language)) is is_thought_of


def test_causes_that_say_nothing_are_no_reason_to_try_a_fix(memory: DebugMemory) -> None:
    learn(memory, finding("a", "failure"))
    assert memory.has_fixes_for(finding("a", "failure"), "python")
    assert not memory.has_fixes_for(finding("b", "failure"), "python")


def test_what_cannot_be_made_again_is_not_thought_of(memory: DebugMemory) -> None:
    learn(memory, change="--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n")
    assert not memory.has_fixes_for(finding(), "python")
    assert memory.fixes_for(finding(), "python") == ()


# -- similar and recurring ----------------------------------------------------------------------

KNOWN = [
    ("AttributeError", "'Basket' object has no attribute 'total_price'"),
    ("AttributeError", "'NoneType' object has no attribute 'strip'"),
    ("KeyError", "'customer_email'"),
    ("AssertionError", "assert apply_discount(100) == 90"),
    ("TypeError", MESSAGE),
]


@pytest.mark.parametrize(
    ("kind", "message", "best"),
    [
        ("AttributeError", "'Order' object has no attribute 'total_price'", 0),
        ("", "no attribute total_price", 0),
        ("KeyError", "'customer_email' in checkout", 2),
        ("AssertionError", "assert apply_discount(50) == 45", 3),
    ],
)
def test_the_failure_that_says_most_nearly_the_same_is_found(
    memory: DebugMemory, kind: str, message: str, best: int
) -> None:
    see(memory, *(finding(text, category) for category, text in KNOWN))
    found = memory.similar(kind, message)
    assert (found[0].failure.error_type, found[0].failure.message) == KNOWN[best]
    assert all(0 < one.score <= 1 for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_one_failure_of_a_shape_is_found_the_latest_with_the_fixes_that_held(
    memory: DebugMemory,
) -> None:
    for number, project in enumerate((SHOP, TILL)):
        see(memory, finding(test=f"t.py::test_{number}_{project.id}"), project=project, now=number)
    fix = learn(memory, finding(test="t.py::other"))
    (found,) = memory.similar_to(finding())
    assert (found.score, found.failure.project, found.fixes) == (1.0, "till", (fix,))
    assert memory.similar_to(finding(), language="go") == ()
    assert memory.similar("", "nothing of the kind") == ()
    assert memory.similar("", "") == ()


def test_no_more_are_found_than_wanted(memory: DebugMemory) -> None:
    see(memory, *(finding(f"{MESSAGE} case{'x' * n}") for n in range(9)))
    assert [len(memory.similar("TypeError", MESSAGE, limit=n)) for n in (1, 3, 20)] == [1, 3, 9]


def test_what_failed_in_these_files_and_tests_recurs(memory: DebugMemory) -> None:
    other = finding("in another file", test="tests/test_till.py::test_till", file="till.py")
    often = finding("often", "KeyError", test="tests/test_x.py::test_x", file="x.py")
    see(memory, finding(), other)
    for run in ("r1", "r2"):
        see(memory, often, run=run)
    see(memory, finding("elsewhere"), project=TILL)

    def recurring(
        files: Sequence[str] = (), tests: Sequence[str] = (), error_types: Sequence[str] = ()
    ) -> list[str]:
        found = memory.recurring(SHOP, files=files, tests=tests, error_types=error_types)
        return [one.message for one in found]

    assert recurring(files=["shop.py"]) == [MESSAGE]
    assert recurring(tests=["tests/test_till.py"]) == ["in another file"]
    assert recurring(tests=["tests/test_till.py::test_till"]) == ["in another file"]
    assert recurring(tests=["tests/test_till.p"]) == []
    assert recurring(error_types=["KeyError", "TypeError"]) == ["often"]
    assert recurring(files=["shop.py", "x.py"]) == ["often", MESSAGE]
    assert recurring(files=["shop.py"], error_types=["KeyError"]) == [MESSAGE, "often"]
    assert recurring() == []


# -- forgetting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "kept"), [(29, "poe"), (31, "oe"), (59, "oe"), (61, "e"), (89, "e"), (91, "")]
)
def test_what_was_learnt_from_or_asked_about_is_kept_for_longer(
    memory: DebugMemory, age: float, kept: str
) -> None:
    marks = {name: finding(name * 7) for name in "poe"}
    for about in marks.values():
        see(memory, about)
        learn(memory, about)
    memory.note(SHOP, [marks["o"].fingerprint], learning="look at the types")
    memory.note(SHOP, [marks["o"].fingerprint])
    memory.note(SHOP, [marks["e"].fingerprint], escalated=True)
    memory.note(TILL, [marks["p"].fingerprint], escalated=True)
    gone = memory.prune(Retention(), age * DAY)
    assert gone == Counts(3 - len(kept), 3 - len(kept))
    assert {one.message[0] for one in memory.failures()} == set(kept)
    assert len(memory.fixes()) == len(kept)


def test_what_is_seen_again_stays(memory: DebugMemory) -> None:
    fix = learn(memory)
    memory.passed(fix.id, "r2", now=20 * DAY)
    see(memory)
    see(memory, run="r2", now=20 * DAY)
    assert memory.prune(Retention(days=30), 40 * DAY) == Counts()
    assert memory.prune(Retention(days=10), 40 * DAY) == Counts(1, 1)


def test_what_is_forgotten_leaves_nothing_behind(memory: DebugMemory) -> None:
    one, two = see(memory, finding(), finding("unsupported other thing"))
    fix = learn(memory)
    memory.failed(fix.id, "r2", project=SHOP, findings=[finding()])
    assert memory.forget_failure(one.id)
    assert not memory.forget_failure(one.id)
    assert [found.failure.id for found in memory.similar("", "unsupported thing")] == [two.id]
    assert memory.forget_fix(fix.id)
    assert not memory.forget_fix(fix.id)
    see(memory)
    memory.failed(learn(memory).id, "r2", project=SHOP, findings=[finding()])
    assert memory.counts() == Counts(2, 1)
    assert memory.forget_all() == Counts(2, 1)
    db = sqlite3.connect(memory.path)
    tables = (
        "shapes",
        "words",
        "shape_words",
        "failures",
        "sightings",
        "fixes",
        "trials",
        "misfits",
    )
    assert [db.execute(f"SELECT * FROM {table}").fetchall() for table in tables] == [[]] * 8  # noqa: S608
    db.close()


def test_an_id_is_never_given_twice(memory: DebugMemory) -> None:
    (first,), fix = see(memory), learn(memory)
    memory.forget_all()
    (second,), again = see(memory), learn(memory)
    assert (second.id, again.id) == (first.id + 1, fix.id + 1)


# -- secrets ------------------------------------------------------------------------------------

KEY = "sk-" + "a1B2c3D4e5F6g7H8"


def test_no_secret_is_kept(memory: DebugMemory) -> None:
    see(memory, finding(f"login refused for {KEY}"))
    fix = learn(memory, change=diff("n = 1", f'n = login("{KEY}")'))
    assert fix.template is None
    around = (
        '--- a/s.py\n+++ b/s.py\n@@ -1,3 +1,3 @@\n api_key = "hunter22"\n x = 1\n-y = 1\n+y = 2\n'
    )
    near = learn(memory, finding("near"), change=around)
    assert near.template is not None
    assert next(near.template.segments).above == ("x = 1",)
    memory.close()
    raw = memory.path.read_bytes()
    assert KEY.encode() not in raw
    assert b"hunter22" not in raw


def test_no_value_of_the_environment_is_kept(tmp_path: Path) -> None:
    value = "swordfish"
    redact = Redactor({"PHRASE": value})
    with DebugMemory(tmp_path, redact=redact) as memory:
        (failure,) = see(
            memory, finding(f"no {value}", test=f"t.py::t[{value}]", file=f"{value}.py")
        )
        assert failure.message == "no [redacted: PHRASE]"
        fix = learn(memory, change=diff("n = 1", f"n = {value}"))
        assert fix.template is None
        memory.note(SHOP, [failure.fingerprint], learning=f"it was {value}")
        assert memory.recurring(SHOP, tests=["t.py"])[0].learning == "it was [redacted: PHRASE]"
        path = memory.path
    for file in path.parent.iterdir():
        assert value.encode() not in file.read_bytes()


# -- the file -----------------------------------------------------------------------------------


def test_looking_makes_no_file(tmp_path: Path) -> None:
    with DebugMemory(tmp_path / "home") as memory:
        assert (memory.lookup("f"), memory.fixes(), memory.failures()) == ((), (), ())
        assert (memory.similar("", "x"), memory.recurring(SHOP, files=["a"])) == ((), ())
        assert memory.fixes_for(finding(), "python") == ()
        assert not memory.has_fixes_for(finding(), "python")
        assert (
            memory.record_failures(
                (), run_id="r", attempt=1, project=SHOP, language_of=lambda _: ""
            )
            == ()
        )
        assert (memory.prune(Retention()), memory.forget_all(), memory.counts()) == (Counts(),) * 3
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_used_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"this is no database" * 100)
    with DebugMemory(tmp_path) as memory:
        assert see(memory) == ()
        told = memory.trouble
        assert told is not None
        memory.tried(1, "r")
        memory.note(SHOP, ["f"], learning="x")
        assert memory.lookup("f") == ()
        assert memory.trouble == told


def test_it_can_be_used_from_several_threads(memory: DebugMemory) -> None:
    def work(number: int) -> None:
        for attempt in range(10):
            see(memory, run=f"r{number}", attempt=attempt)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.seen for one in memory.failures()] == [40]


def test_a_cause_of_a_newer_version_is_none_that_we_know(memory: DebugMemory) -> None:
    see(memory)
    db = sqlite3.connect(memory.path)
    db.execute("UPDATE shapes SET cause = 'moonlight'")
    db.commit()
    db.close()
    assert memory.failures()[0].cause is Cause.UNKNOWN


@given(st.text(st.characters()), st.text(st.characters()), st.text(st.characters()))
def test_any_text_can_be_kept_and_looked_for(
    tmp_path_factory: pytest.TempPathFactory, category: str, message: str, test: str
) -> None:
    with DebugMemory(tmp_path_factory.mktemp("home")) as memory:
        odd = finding(message, category, test=f"t{test}", file=test)
        (failure,) = see(memory, odd)
        learn(memory, odd, change=f"{diff()}{message}")
        assert memory.trouble is None
        if found := memory.similar_to(odd):
            assert found[0].failure.id == failure.id
        assert memory.lookup(odd.fingerprint)


# -- kinds of edits -----------------------------------------------------------------------------


def test_kinds_of_edits_that_held_are_counted_once_for_each_run(memory: DebugMemory) -> None:
    assert memory.edit_counts() == {}
    for run in ("one", "one", "two"):
        memory.record_edits(["wrong_value"], ["comparison", "guard"], run)
    assert memory.edit_counts() == {("wrong_value", "comparison"): 2, ("wrong_value", "guard"): 2}
    memory.forget_all()
    assert memory.edit_counts() == {}


# -- what is taken back -------------------------------------------------------------------------


def test_what_one_run_taught_is_gone_when_it_is_unlearnt(memory: DebugMemory) -> None:
    see(memory)
    fix = learn(memory)
    memory.note(SHOP, [finding().fingerprint], learning="add, do not subtract")
    memory.record_edits(["wrong_value"], ["operator"], "r1")
    assert memory.unlearn("r1") == 1
    assert memory.fix(fix.id) is None
    assert memory.edit_counts() == {}
    (failure,) = memory.failures()
    assert failure.learning == ""
    assert memory.unlearn("r1") == 0


def test_a_fix_that_others_have_proven_counts_as_failed_in_a_run_that_is_unlearnt(
    memory: DebugMemory,
) -> None:
    fix = learn(memory, run="r1")
    learn(memory, run="r2")
    assert memory.unlearn("r2") == 0
    now = memory.fix(fix.id)
    assert now is not None
    assert (now.tried, now.passed) == (2, 1)


def test_unlearning_makes_no_file(tmp_path: Path) -> None:
    with DebugMemory(tmp_path / "home") as memory:
        assert memory.unlearn("r1") == 0
    assert not (tmp_path / "home").exists()


def test_a_change_is_reverted_when_every_file_is_as_it_was(
    memory: DebugMemory, tmp_path: Path
) -> None:
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    learn(memory)
    memory.record_applied("r1", SHOP, {old: digest_of(b"before"), new: digest_of(None)})
    for text, is_there, gone in ((b"after", True, 0), (b"before", True, 0), (b"before", False, 1)):
        old.write_bytes(text)
        new.write_text("x = 1") if is_there else new.unlink()
        assert memory.unlearn_reverted(TILL) == 0
        assert memory.unlearn_reverted(SHOP) == gone
    assert memory.fixes() == ()


@pytest.mark.parametrize("category", ["F401", "attr-defined", "coverage_unmet", "security_issue"])
def test_what_tools_and_gates_find_is_not_remembered(memory: DebugMemory, category: str) -> None:
    found = finding("imported but unused", category, test=None)
    assert see(memory, found) == ()
    with pytest.raises(AssertionError):
        learn(memory, found)
    assert memory.counts() == Counts()
