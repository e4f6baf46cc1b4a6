"""A candidate is proven by the tests, run in a copy of a preloaded process, and by nothing else."""

from __future__ import annotations

import asyncio
import os
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from runtrue.checks import CommandCheck
from runtrue.fixers.search.evidence import Baseline, MeasuredTest
from runtrue.fixers.search.forked_prover import Prover, TrialLimits, Unprovable
from runtrue.fixers.search.trial import End, ProofResult
from runtrue.loop import Workplace
from tests.fixers.search.test_hostile import gone
from tests.fixers.support import make_workplace

TESTS = CommandCheck(name="tests", command="python -m pytest -q -p no:cacheprovider")
T = TypeVar("T")
FAST = TrialLimits(jobs=2, longest=2.0, memory=256 * 1024**2, processes=16)

SHOP = """\
def total(prices):
    result = 0
    for price in prices:
        result -= price
    return result
"""
FIXED = SHOP.replace("-=", "+=")
SHOP_TESTS = """\
    from shop import total

    def test_total():
        assert total([1, 2]) == 3

    def test_nothing():
        assert total([]) == 0
"""
SHOP_FILES = {"shop.py": SHOP, "test_shop.py": SHOP_TESTS}


def place(directory: Path, files: Mapping[str, str]) -> Workplace:
    workplace = make_workplace(directory)
    for name, text in files.items():
        path = workplace.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return workplace


def proving(
    directory: Path,
    files: Mapping[str, str],
    work: Callable[[Prover], Awaitable[T]],
    *,
    command: CommandCheck = TESTS,
    limits: TrialLimits = FAST,
) -> T:
    workplace = place(directory, files)
    before = snapshot(workplace.root)

    async def run() -> T:
        async with Prover.open(command, workplace, limits) as prover:
            return await work(prover)

    result = asyncio.run(run())
    assert snapshot(workplace.root) == before
    return result


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def trials(
    directory: Path,
    files: Mapping[str, str],
    *candidates: Mapping[str, str],
    command: CommandCheck = TESTS,
    limits: TrialLimits = FAST,
    whole: bool = False,
) -> list[ProofResult]:
    async def work(prover: Prover) -> list[ProofResult]:
        return [
            await prover.prove({f: textwrap.dedent(t) for f, t in one.items()}, whole=whole)
            for one in candidates
        ]

    return proving(directory, files, work, command=command, limits=limits)


def baseline_of(
    directory: Path,
    files: Mapping[str, str],
    *,
    command: CommandCheck = TESTS,
    limits: TrialLimits = FAST,
) -> Baseline:
    return proving(directory, files, Prover.baseline, command=command, limits=limits)


def case(baseline: Baseline, name: str) -> MeasuredTest:
    return next(case for case in baseline.cases if case.test.endswith(name))


# -- candidates -----------------------------------------------------------------------------------


def test_a_candidate_passes_when_all_tests_do_and_the_files_stay_as_they_are(
    tmp_path: Path,
) -> None:
    passed, failed = trials(
        tmp_path, SHOP_FILES, {"shop.py": FIXED}, {"shop.py": FIXED.replace("= 0", "= 1")}
    )
    assert (passed.end, passed.killer) == (End.PASSED, None)
    assert passed.fixed == ("test_shop.py::test_total",)
    assert (failed.end, failed.killer) == (End.FAILED, "test_shop.py::test_total")


def test_a_candidate_that_breaks_a_passing_test_fails(tmp_path: Path) -> None:
    (trial,) = trials(
        tmp_path, SHOP_FILES, {"shop.py": "def total(prices):\n    return sum(prices) or 3\n"}
    )
    assert (trial.end, trial.killer) == (End.FAILED, "test_shop.py::test_nothing")
    assert trial.fixed == ("test_shop.py::test_total",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("RATE = 2\n\ndef price(n):\n    return n * RATE\n", ("RATE = 2", "RATE = 3")),
        ("def price(n, rate=2):\n    return n * rate\n", ("rate=2", "rate=3")),
        (
            "class Shop:\n    rate = 2\n    def price(self, n):\n        return n * self.rate\n"
            "\nprice = Shop().price\n",
            ("rate = 2", "rate = 3"),
        ),
        (
            "def twice(f):\n    def g(n):\n        return f(n) * 2\n    return g\n\n@twice\n"
            "def price(n):\n    return n\n",
            ("* 2", "* 3"),
        ),
        (
            "class Shop:\n    def __init__(self):\n        self.rate = 2\n"
            "    def price(self, n):\n        return n * self.rate\n\nprice = Shop().price\n",
            ("self.rate = 2", "self.rate = 3"),
        ),
        (
            "def price(n):\n    def inner(m):\n        return m * 2\n    return inner(n)\n",
            ("* 2", "* 3"),
        ),
        ("price = lambda n: n * 2\n", ("* 2", "* 3")),
        ("def price(n):\n    return n * RATE\n", ("def", "RATE = 3\n\ndef")),
        ("def price(n)\n    return n * 3\n", (")\n", "):\n")),
    ],
    ids=[
        "module",
        "default",
        "class",
        "decorator",
        "ran on import",
        "inner",
        "lambda",
        "name",
        "syntax",
    ],
)
def test_it_does_not_matter_what_a_candidate_changes(
    tmp_path: Path, before: str, after: tuple[str, str]
) -> None:
    files = {
        "shop.py": before,
        "test_shop.py": "import shop\n\ndef test_price():\n    assert shop.price(2) == 6\n",
    }
    changed = {"shop.py": before.replace(*after, 1)}
    same, fixed = trials(tmp_path, files, {"shop.py": before + "\n\n"}, changed)
    assert same.end is End.FAILED
    assert fixed.end is End.PASSED


def test_what_conftest_imports_is_tried_from_the_start(tmp_path: Path) -> None:
    files = {
        "shop.py": "RATE = 2\n\ndef price(n):\n    return n * RATE\n",
        "conftest.py": "import pytest\nimport shop\n\n@pytest.fixture\ndef price():\n"
        "    return shop.price\n",
        "test_shop.py": "def test_price(price):\n    assert price(2) == 6\n",
    }
    wrong, right = trials(
        tmp_path,
        files,
        {"shop.py": files["shop.py"].replace("2", "4")},
        {"shop.py": files["shop.py"].replace("2", "3")},
    )
    assert (wrong.end, right.end) == (End.FAILED, End.PASSED)


@pytest.mark.parametrize("importer", ["conftest.py", "test_shop.py"])
def test_functions_are_changed_in_memory_whoever_imports_them(
    tmp_path: Path, importer: str
) -> None:
    files = {
        "shop.py": "import functools\n\n\ndef total(prices):\n"
        "    return functools.reduce(lambda a, b: a - b, prices, 0)\n",
        "test_shop.py": "import sys\n\n\ndef test_total():\n"
        "    assert sys.modules['shop'].total([1, 2]) == 3\n",
    }
    files[importer] = "import shop\n" + files.get(importer, "")

    async def work(prover: Prover) -> ProofResult:
        await prover.baseline()
        prover.servers.fresh = prover.servers.midway = None
        return await prover.prove({"shop.py": files["shop.py"].replace("a - b", "a + b")})

    assert proving(tmp_path, files, work).end is End.PASSED


def test_whole_trials_tell_all_tests_that_are_mended(tmp_path: Path) -> None:
    tests = "import shop\n" + "".join(
        f"\ndef test_{n}():\n    assert shop.double({n}) == {n * 2}\n" for n in (1, 2, 3)
    )
    files = {"shop.py": "def double(n):\n    return n * 3\n", "test_shop.py": tests}
    (trial,) = trials(
        tmp_path,
        files,
        {"shop.py": "def double(n):\n    return n + 2 if n > 1 else 9\n"},
        whole=True,
    )
    assert trial.end is End.FAILED
    assert trial.fixed == ("test_shop.py::test_2",)


def test_only_some_tests_count_when_only_some_are_asked_for(tmp_path: Path) -> None:
    async def work(prover: Prover) -> tuple[ProofResult, ProofResult]:
        candidate = {"shop.py": "def total(prices):\n    return sum(prices) or 3\n"}
        only = ["test_shop.py::test_total"]
        return await prover.prove(candidate, only=only), await prover.prove(candidate)

    some, all_ = proving(tmp_path, SHOP_FILES, work)
    assert (some.end, all_.end) == (End.PASSED, End.FAILED)


def test_a_skipped_test_is_not_mended(tmp_path: Path) -> None:
    files = {
        "shop.py": "SKIP = False\n\ndef one():\n    return 2\n",
        "test_shop.py": "import pytest, shop\n\ndef test_one():\n    if shop.one() == 3:\n"
        "        pytest.skip('later')\n    assert shop.one() == 1\n",
    }
    (trial,) = trials(
        tmp_path, files, {"shop.py": files["shop.py"].replace("return 2", "return 3")}
    )
    assert (trial.end, trial.detail) == (End.FAILED, "skipped")


def test_a_skipped_part_of_a_test_leaves_the_others_to_count(tmp_path: Path) -> None:
    files = {
        "shop.py": "def one():\n    return 2\n",
        "test_shop.py": "import unittest, shop\n\n\nclass TestShop(unittest.TestCase):\n"
        "    def test_one(self):\n        with self.subTest('other'):\n"
        "            self.skipTest('not installed')\n        with self.subTest('own'):\n"
        "            self.assertEqual(shop.one(), 1)\n",
    }
    right, wrong = trials(
        tmp_path,
        files,
        {"shop.py": files["shop.py"].replace("return 2", "return 1")},
        {"shop.py": files["shop.py"].replace("return 2", "return 3")},
    )
    assert (right.end, wrong.end) == (End.PASSED, End.FAILED)


def test_functions_of_a_module_with_rewritten_asserts_are_changed_in_memory(tmp_path: Path) -> None:
    files = {
        **SHOP_FILES,
        "shop.py": SHOP + "\n\ndef check(n):\n    assert n\n",
        "conftest.py": "import pytest\n\npytest.register_assert_rewrite('shop')\n",
    }

    async def work(prover: Prover) -> list[End]:
        await prover.baseline()
        prover.servers.fresh = prover.servers.midway = None
        texts = [files["shop.py"].replace("-=", sign) for sign in ("+=", "*=")]
        return [(await prover.prove({"shop.py": text})).end for text in texts]

    assert proving(tmp_path, files, work) == [End.PASSED, End.FAILED]


# -- the program as it is -------------------------------------------------------------------------


def test_the_baseline_tells_outcomes_lines_and_both_sides(tmp_path: Path) -> None:
    baseline = baseline_of(tmp_path, SHOP_FILES)
    total, nothing = case(baseline, "test_total"), case(baseline, "test_nothing")
    assert (total.passed, nothing.passed) == (False, True)
    assert total.lines
    assert nothing.lines
    assert total.lines["shop.py"] == {2, 3, 4, 5}
    assert nothing.lines["shop.py"] == {2, 3, 5}
    assert baseline.imported["shop.py"] == {1}
    assert baseline.tests == ("test_shop.py",)
    assert baseline.shares is None
    failure = total.failure
    assert failure is not None
    assert failure.exception == "AssertionError"
    assert failure.expected is not None
    assert failure.actual is not None
    assert (failure.actual.repr, failure.operator, failure.expected.repr) == ("-3", "==", "3")
    assert [(f.file, f.line, f.function) for f in failure.frames] == [
        ("test_shop.py", 4, "test_total")
    ]


def test_the_baseline_tells_what_was_missed_and_what_is_there(tmp_path: Path) -> None:
    program = """\
        class User:
            def __init__(self):
                self.name = "Ada"
                self.data = {"mail": "ada@example.org"}

            def mail(self):
                return self.data["email"]

        def named(user):
            return user.nam

        def other():
            return undefinde

        def nothing(user=None):
            return user.name
    """
    tests = """\
        import users

        def test_key():
            users.User().mail()

        def test_attribute():
            users.named(users.User())

        def test_name():
            users.other()

        def test_none():
            users.nothing()
    """
    baseline = baseline_of(tmp_path, {"users.py": program, "test_users.py": tests})
    failures = {c.test.partition("::test_")[2]: c.failure for c in baseline.cases}
    key, attribute, name, none = (failures[n] for n in ("key", "attribute", "name", "none"))
    assert key is not None
    assert attribute is not None
    assert name is not None
    assert none is not None
    assert (key.exception, key.key) == ("KeyError", "'email'")
    assert key.missing_from is not None
    assert key.missing_from.keys == ("'mail'",)
    assert key.frames[-1].values["self.name"].repr == "'Ada'"
    assert (attribute.exception, attribute.attribute) == ("AttributeError", "nam")
    assert attribute.missing_from is not None
    assert {"name", "data", "mail"} <= set(attribute.missing_from.attributes)
    assert (name.exception, name.name) == ("NameError", "undefinde")
    assert none.missing_from is not None
    assert none.missing_from.type == "NoneType"
    assert [(f.file, f.line) for f in none.frames] == [("test_users.py", 13), ("users.py", 16)]


def test_looking_at_values_harms_nobody(tmp_path: Path) -> None:
    program = """\
        class Endless:
            def __repr__(self):
                while True:
                    pass

        class Broken:
            def __repr__(self):
                raise ValueError

            def __getattr__(self, name):
                raise RuntimeError

        def run():
            broken, large, endless = Broken(), "x" * 10**6, Endless()
            return 1 / 0
    """
    files = {"app.py": program, "test_app.py": "import app\n\ndef test_run():\n    app.run()\n"}
    failure = case(baseline_of(tmp_path, files), "test_run").failure
    assert failure is not None
    assert failure.exception == "ZeroDivisionError"
    assert failure.frames[-1].line == 15


def test_a_test_that_does_not_end_is_stopped_where_it_is(tmp_path: Path) -> None:
    files = {
        "app.py": "def wait():\n    n = 0\n    while True:\n        n += 1\n",
        "test_app.py": "import app\n\ndef test_wait():\n    app.wait()\n\n"
        "def test_well():\n    pass\n",
    }

    async def work(prover: Prover) -> tuple[Baseline, ProofResult, ProofResult]:
        return (
            await prover.baseline(),
            await prover.prove({"app.py": files["app.py"] + "\n"}),
            await prover.prove({"app.py": files["app.py"].replace("True", "n < 5")}),
        )

    limits = TrialLimits(jobs=2, longest=0.5)
    baseline, same, fixed = proving(tmp_path, files, work, limits=limits)
    failure = case(baseline, "test_wait").failure
    assert failure is not None
    assert failure.timed_out
    assert failure.frames[-1].file == "app.py"
    assert (case(baseline, "test_wait").lines or {})["app.py"] == {2, 3, 4}
    assert (same.end, same.killer) == (End.TIMEOUT, "test_app.py::test_wait")
    assert fixed.end is End.PASSED


def test_a_module_that_cannot_be_imported_is_a_failing_case(tmp_path: Path) -> None:
    files = {
        **SHOP_FILES,
        "shop.py": SHOP.replace(":\n", "\n", 1),
        "test_other.py": "def test(): 1\n",
    }

    async def work(prover: Prover) -> tuple[Baseline, ProofResult, ProofResult]:
        return (
            await prover.baseline(),
            await prover.prove({"shop.py": SHOP}),
            await prover.prove({"shop.py": FIXED}),
        )

    baseline, failed, passed = proving(tmp_path, files, work)
    assert {c.test: c.passed for c in baseline.cases} == {
        "test_other.py::test": True,
        "test_shop.py": False,
    }
    failure = case(baseline, "test_shop.py").failure
    assert failure is not None
    assert failure.exception == "SyntaxError"
    assert (failure.frames[-1].file, failure.frames[-1].line) == ("shop.py", 1)
    assert (failed.end, passed.end) == (End.FAILED, End.PASSED)
    assert set(baseline.tests) == {"test_other.py", "test_shop.py"}


def test_a_conftest_that_cannot_be_imported_is_a_failing_case(tmp_path: Path) -> None:
    files = {**SHOP_FILES, "conftest.py": "import shop\n", "shop.py": "import jso\n" + FIXED}
    fixed = {"shop.py": "import json\n" + FIXED}

    async def work(prover: Prover) -> tuple[Baseline, ProofResult, ProofResult]:
        return (
            await prover.baseline(),
            await prover.prove({"shop.py": "import json\n" + SHOP}),
            await prover.prove(fixed),
        )

    baseline, failed, passed = proving(tmp_path, files, work)
    (only,) = baseline.cases
    assert only.failure is not None
    assert (only.test, only.failure.name) == ("conftest.py", "jso")
    assert (failed.end, passed.end) == (End.FAILED, End.PASSED)


def test_without_pytest_or_tests_nothing_can_be_proven(tmp_path: Path) -> None:
    for number, (files, command, reason) in enumerate(
        [
            (SHOP_FILES, "python -c pass", "ended before"),
            ({"shop.py": SHOP}, "python -m pytest", "no test"),
            (SHOP_FILES, "python -m pytest --no-such-option", "ended"),
            (SHOP_FILES, "no-such-program", "cannot be started"),
        ]
    ):
        check = CommandCheck(name="tests", command=command)
        with pytest.raises(Unprovable, match=reason):
            baseline_of(tmp_path / str(number), files, command=check)


# -- all kinds of tests ---------------------------------------------------------------------------


def test_parametrised_unittest_fixture_and_async_tests_are_run_as_pytest_runs_them(
    tmp_path: Path,
) -> None:
    program = "async def later(n):\n    return n + 2\n\ndef now(n):\n    return n + 2\n"
    tests = """\
        import asyncio, unittest
        import pytest
        import app

        log = []

        @pytest.fixture(scope="module")
        def base():
            log.append("made")
            yield 1
            log.append("gone")

        @pytest.fixture(scope="session", params=[1, 2])
        def number(request):
            return request.param

        @pytest.mark.parametrize("n", [1, 2])
        def test_now(n, base, tmp_path, capsys):
            (tmp_path / "file").write_text("x")
            print("said")
            assert capsys.readouterr().out == "said\\n"
            assert app.now(n) == n + base
            assert log == ["made"]

        def test_session(number):
            assert app.now(number) == number + 1

        @pytest.mark.xfail
        def test_expected():
            assert False

        class TestOld(unittest.TestCase):
            def setUp(self):
                self.n = 1

            def test_now(self):
                self.assertEqual(app.now(self.n), 2)

            def test_parts(self):
                for n in (1, 2):
                    with self.subTest(n=n):
                        self.assertEqual(app.now(n), n + 1)

        class TestLater(unittest.IsolatedAsyncioTestCase):
            async def test_later(self):
                self.assertEqual(await app.later(1), 2)
    """
    files = {"app.py": program, "test_app.py": tests}

    async def work(prover: Prover) -> tuple[Baseline, ProofResult, ProofResult]:
        return (
            await prover.baseline(),
            await prover.prove({"app.py": program.replace("+ 2", "+ 1", 1)}),
            await prover.prove({"app.py": program.replace("+ 2", "+ 1")}),
        )

    baseline, half, fixed = proving(tmp_path, files, work)
    assert len(baseline.cases) == 8
    assert [c.test for c in baseline.cases if c.passed] == ["test_app.py::test_expected"]
    failure = case(baseline, "TestOld::test_now").failure
    assert failure is not None
    assert failure.expected is not None
    assert failure.actual is not None
    assert (failure.actual.repr, failure.expected.repr) == ("3", "2")
    assert (half.end, fixed.end) == (End.FAILED, End.PASSED)


def test_doctests_are_proven_too(tmp_path: Path) -> None:
    program = 'def one():\n    """One.\n\n    >>> one()\n    1\n    """\n    return 2\n'
    command = CommandCheck(name="tests", command="python -m pytest -q --doctest-modules app.py")

    async def work(prover: Prover) -> tuple[Baseline, ProofResult, ProofResult]:
        return (
            await prover.baseline(),
            await prover.prove({"app.py": program.replace("return 2", "return 3")}),
            await prover.prove({"app.py": program.replace("return 2", "return 1")}),
        )

    baseline, failed, passed = proving(tmp_path, {"app.py": program}, work, command=command)
    failure = baseline.failing[0].failure
    assert failure is not None
    assert failure.expected is not None
    assert failure.expected.repr == "1"
    assert failure.frames[-1].line == 4
    assert baseline.tests == ()
    assert (failed.end, passed.end) == (End.FAILED, End.PASSED)


def test_options_that_distribute_measure_stop_or_report_are_of_no_account(tmp_path: Path) -> None:
    command = "python -m pytest -n 2 --cov=. --cov-report=xml -x --maxfail=1 --junitxml=out.xml"
    (trial,) = trials(
        tmp_path,
        SHOP_FILES,
        {"shop.py": FIXED},
        # The options are those of plugins, which pytest must load for once.
        command=CommandCheck(
            name="tests", command=command, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}
        ),
    )
    assert trial.end is End.PASSED
    assert trial.fixed == ("test_shop.py::test_total",)


def test_pytest_may_be_called_by_something_else(tmp_path: Path) -> None:
    files = {**SHOP_FILES, "Makefile": "test:\n\t@cd . && python -m pytest -q\n"}
    command = CommandCheck(name="tests", command="make test")
    (trial,) = trials(tmp_path, files, {"shop.py": FIXED}, command=command)
    assert trial.end is End.PASSED


# -- what tests share -----------------------------------------------------------------------------


def test_tests_that_depend_on_their_order_are_seen_to_and_keep_it(tmp_path: Path) -> None:
    tests = """\
        import shop

        STATE = []

        def test_filled():
            STATE.append(1)
            assert STATE == [1]

        def test_total():
            STATE.append(2)
            assert shop.total([1, 2]) == 3
    """

    async def work(prover: Prover) -> tuple[Baseline, ProofResult]:
        return await prover.baseline(), await prover.prove({"shop.py": FIXED})

    baseline, trial = proving(tmp_path, {"shop.py": SHOP, "test_shop.py": tests}, work)
    assert baseline.shares is not None
    assert "order" in baseline.shares
    assert trial.end is End.PASSED


def test_tests_that_write_into_the_project_are_run_one_at_a_time_and_leave_nothing(
    tmp_path: Path,
) -> None:
    tests = """\
        import pathlib, shop

        def test_total():
            path = pathlib.Path("total.txt")
            assert not path.exists()
            path.write_text(str(shop.total([1, 2])))
            assert path.read_text() == "3"
    """

    async def work(prover: Prover) -> tuple[Baseline, list[ProofResult]]:
        baseline = await prover.baseline()
        tries = [prover.prove({"shop.py": FIXED + "#\n" * n}) for n in range(4)]
        return baseline, await asyncio.gather(*tries)

    baseline, tried = proving(tmp_path, {"shop.py": SHOP, "test_shop.py": tests}, work)
    assert baseline.shares == "tests write total.txt"
    assert {trial.end for trial in tried} == {End.PASSED}


KEEPING = """\
    import json, pathlib

    FILE = pathlib.Path(__file__).with_name("{file}")

    def total(prices, keep=False):
        if {condition}:
            {act}
        known = json.loads(FILE.read_text()) if FILE.exists() else 0
        return known + sum(prices) {and_more}
"""
POISONS = {
    "makes": ("new.json", "FILE.write_text('7')"),
    "changes": ("old.json", "FILE.write_text('7')"),
    "replaces": (
        "old.json",
        "FILE.with_name('x').write_text('7'), FILE.with_name('x').replace(FILE)",
    ),
    "removes": ("old.json", "FILE.unlink()"),
    "removes all": ("old.json", "__import__('shutil').rmtree(FILE.parent)"),
    "changes by a program": ("old.json", "__import__('os').system(f'echo 7 > {FILE}')"),
}


@pytest.mark.parametrize("how", POISONS)
def test_what_a_candidate_writes_does_not_reach_others(tmp_path: Path, how: str) -> None:
    file, act = POISONS[how]
    told = {"file": file, "act": act}
    wrong = textwrap.dedent(KEEPING.format(condition="keep", and_more="+ 1", **told))
    poison = textwrap.dedent(KEEPING.format(condition="not keep", and_more="+ 1", **told))
    right = textwrap.dedent(KEEPING.format(condition="keep", and_more="", **told))
    files = {**SHOP_FILES, "shop.py": wrong, "old.json": "0"}
    tried = trials(tmp_path, files, *[{"shop.py": one} for one in (poison, right) * 3])
    assert [one.end is End.PASSED for one in tried] == [False, True] * 3


def test_a_candidate_may_write_what_the_tests_are_to_find(tmp_path: Path) -> None:
    tests = """\
        import json, shop

        def test_report():
            shop.report([1, 2])
            with open("report.json") as file:
                assert json.load(file) == 3
    """
    wrong = "import json\n\ndef report(prices):\n    json.dumps(sum(prices))\n"
    right = wrong.replace(
        "json.dumps(sum(prices))", "json.dump(sum(prices), open('report.json', 'w'))"
    )
    for before in ({}, {"report.json": "0"}):
        directory = tmp_path / f"with{len(before)}"
        directory.mkdir()
        files = {"shop.py": wrong, "test_shop.py": tests, **before}
        tried = trials(directory, files, *[{"shop.py": right}] * 2, {"shop.py": wrong + "#"})
        assert [one.end for one in tried] == [End.PASSED, End.PASSED, End.FAILED]


@pytest.mark.parametrize("who", ["the program", "the test"])
def test_programs_that_tests_start_see_the_candidate_and_so_do_the_tests(
    tmp_path: Path, who: str
) -> None:
    tests = """\
        import shop, subprocess, sys

        def test_total():
            code = "import shop; print(shop.total([1, 2]))"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert WHO == 3
    """
    tests = tests.replace(
        "WHO", "int(done.stdout)" if who == "the program" else "shop.total([1, 2])"
    )
    files = {"shop.py": SHOP, "test_shop.py": tests}

    async def work(prover: Prover) -> tuple[Baseline, ProofResult, ProofResult]:
        return (
            await prover.baseline(),
            await prover.prove({"shop.py": SHOP.replace("-=", "*=")}),
            await prover.prove({"shop.py": FIXED}),
        )

    baseline, failed, passed = proving(tmp_path, files, work)
    assert baseline.shares == "tests run other programs"
    assert (failed.end, passed.end) == (End.FAILED, End.PASSED)


def test_only_what_no_other_test_refuses_is_tried_with_those_that_start_programs(
    tmp_path: Path,
) -> None:
    tests = (
        SHOP_TESTS
        + """
    def test_program():
        import subprocess, sys
        code = "import shop; print(shop.total([1, 2]))"
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    """
    )

    async def work(prover: Prover) -> list[tuple[End, bool]]:
        await prover.baseline()
        file = prover._root / "shop.py"
        ends = []
        for text in (SHOP.replace("-=", "*="), FIXED):
            before = file.stat().st_ctime_ns
            trial = await prover.prove({"shop.py": text})
            ends.append((trial.end, file.stat().st_ctime_ns != before))
        return ends

    found = proving(tmp_path, {"shop.py": SHOP, "test_shop.py": tests}, work)
    assert found == [(End.FAILED, False), (End.PASSED, True)], "whether it was on the disk"


# -- hostile candidates ---------------------------------------------------------------------------

HOSTILE = {
    "endless": "while True:\n        pass",
    "endless in c": "sum(iter(int, 1))",
    "asleep": "import time\n    time.sleep(1000)",
    "stopped": "import os, signal\n    os.kill(os.getpid(), signal.SIGSTOP)",
    "exit": "import os\n    os._exit(0)",
    "sys.exit": "import sys\n    sys.exit(0)",
    "killed": "import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)",
    "parent": "import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)",
    "group": "import os, signal\n    os.killpg(os.getpgid(os.getppid()), signal.SIGKILL)",
    "everybody": "import os, signal\n    os.kill(-1, signal.SIGKILL)",
    "memory": "data = [bytearray(2**24) for _ in range(10**4)]",
    "recursion": "return total(prices)",
    "descriptors": "import os\n    os.closerange(0, 1000)",
    "outside": "import pathlib\n    pathlib.Path({outside!r}).write_text('x')",
    "removed": "import os\n    os.remove({victim!r})",
    "renamed": "import os\n    os.rename({victim!r}, {outside!r})",
    "fork bomb": "import os\n    while True:\n        os.fork()",
    "pytest": "import _pytest.runner as r, _pytest.python as p\n"
    "    p.Function.runtest = lambda self: None\n    return 9",
    "code": "import sys\n    t = sys.modules['test_shop']\n"
    "    t.test_total.__code__ = (lambda: None).__code__\n    return 9",
    "report": "import _pytest.reports as r\n    r.TestReport.failed = False\n    return 9",
    "hook": "import runtrue_prover as r\n    j = r._prover.trial\n"
    "    type(j).note_report = lambda self, report: setattr(self, '_outcome', 'passed')\n"
    "    return 9",
    "equal": "import builtins\n    builtins.sum = builtins.len\n    return 3 if prices else 0",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_candidate_passes_or_harms_the_next(tmp_path: Path, name: str) -> None:
    outside, victim = tmp_path / "outside", tmp_path / "victim"
    victim.write_text("here")
    body = HOSTILE[name].replace("{outside!r}", repr(str(outside)))
    body = body.replace("{victim!r}", repr(str(victim)))
    hostile = f"def total(prices):\n    {body}\n"
    bad, bad_again, good = trials(
        tmp_path,
        SHOP_FILES,
        {"shop.py": hostile},
        {"shop.py": f"X = 1\n{hostile}"},
        {"shop.py": FIXED},
    )
    assert bad.end is not End.PASSED
    assert bad_again.end is not End.PASSED
    assert good.end is End.PASSED
    assert victim.read_text() == "here"
    assert not outside.exists()


@pytest.mark.parametrize(
    "code", ["import sys; sys.exit(0)", "import os; os._exit(0)", "raise SystemExit", "while 1: 1"]
)
def test_what_ends_on_import_does_not_pass(tmp_path: Path, code: str) -> None:
    bad, good = trials(tmp_path, SHOP_FILES, {"shop.py": f"{code}\n{FIXED}"}, {"shop.py": FIXED})
    assert bad.end is not End.PASSED
    assert good.end is End.PASSED


def test_a_candidate_that_ends_the_server_ends_only_itself(tmp_path: Path) -> None:
    hostile = "import os, subprocess\n\ndef total(prices):\n"
    hostile += "    subprocess.run(['kill', '-9', str(os.getppid())])\n    return 9\n"
    once, again, good = trials(
        tmp_path,
        SHOP_FILES,
        {"shop.py": hostile},
        {"shop.py": SHOP + hostile},
        {"shop.py": FIXED},
    )
    assert (once.end, again.end, good.end) == (End.DIED, End.DIED, End.PASSED)


def test_more_candidates_may_be_asked_for_than_are_run_at_once(tmp_path: Path) -> None:
    async def work(prover: Prover) -> list[ProofResult]:
        texts = [SHOP.replace("= 0", f"= {n}") for n in range(1, 20)] + [FIXED]
        tasks = [asyncio.ensure_future(prover.prove({"shop.py": text})) for text in texts]
        cancelled = asyncio.ensure_future(prover.prove({"shop.py": "while True:\n    pass\n"}))
        await asyncio.sleep(0)
        cancelled.cancel()
        return await asyncio.gather(*tasks)

    tried = proving(tmp_path, SHOP_FILES, work)
    assert [trial.end for trial in tried] == [End.FAILED] * 19 + [End.PASSED]


def test_daemons_are_gone_when_the_prover_is_closed(tmp_path: Path) -> None:
    daemon = """\
        import os, time

        def total(prices):
            ready, tell = os.pipe()
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.write(tell, b"x")
                    time.sleep(1000)
                os._exit(0)
            os.read(ready, 1)
            return 9
    """
    (trial,) = trials(tmp_path, SHOP_FILES, {"shop.py": daemon})
    assert trial.end is End.FAILED
    # A process that was killed takes a moment to be gone.
    assert gone(str(tmp_path), within=30) == []


def test_the_memory_of_the_servers_stays_flat(tmp_path: Path) -> None:
    async def work(prover: Prover) -> tuple[list[int], list[int]]:
        async def some(count: int) -> list[int]:
            candidates = [SHOP.replace("= 0", f"= {n + 5}") for n in range(count)]
            candidates += [f"X = {n}\n{SHOP}" for n in range(count // 10)]
            await asyncio.gather(*(prover.prove({"shop.py": text}) for text in candidates))
            return [resident(one.pid) for one in prover.servers.all]

        return await some(30), await some(200)

    before, after = proving(tmp_path, SHOP_FILES, work)
    assert len(before) == 3
    for one, other in zip(before, after, strict=True):
        assert other - one < 2 * 1024**2


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


# -- behaviour ------------------------------------------------------------------------------------


def test_candidates_that_do_the_same_behave_alike_and_others_do_not(tmp_path: Path) -> None:
    async def work(prover: Prover) -> list[tuple[str, ...] | None]:
        alike = FIXED.replace("result += price", "result = price + result")
        other = FIXED.replace("in prices", "in prices[:2]")
        texts = [FIXED, alike, other, f"X = 1\n{FIXED}"]
        return [await prover.behave({"shop.py": text}, seed=1, inputs=20) for text in texts]

    fixed, alike, other, on_import = proving(tmp_path, SHOP_FILES, work)
    assert fixed is not None
    assert len(fixed) == 20
    # As the tests call it, first.
    assert fixed[:2] == ("3", "0")
    assert alike == fixed
    assert other is not None
    assert other[:2] == fixed[:2]
    assert other != fixed
    assert on_import is None


def test_objects_of_a_class_are_inputs_too(tmp_path: Path) -> None:
    program = """\
class Pages:
    def __init__(self, count, size):
        self.count = count
        self.size = size

    def number(self):
        return self.count // self.size
"""
    tests = """\
        from pages import Pages

        def test_number():
            assert Pages(25, 10).number() == 3
    """
    ways = ["3"]
    ways += [
        "(self.count + self.size - 1) // self.size",
        "(self.size - 1 + self.count) // self.size",
    ]

    async def work(prover: Prover) -> list[tuple[str, ...] | None]:
        texts = [program.replace("self.count // self.size", way) for way in ways]
        return [await prover.behave({"pages.py": one}, seed=1, inputs=40) for one in texts]

    always, up, also_up = proving(tmp_path, {"pages.py": program, "test_pages.py": tests}, work)
    assert up == also_up != always


def test_an_input_names_the_test_that_made_this_very_call(tmp_path: Path) -> None:
    program = "def double(n):\n    return n + n\n"
    tests = """\
        import shop

        def test_one():
            assert shop.double(1) == 2

        def test_two():
            assert shop.double(2) == 4
    """

    async def work(prover: Prover) -> list[tuple[str, str | None]]:
        await prover.behave({}, seed=1, inputs=4)
        return [(one.call, one.test) for one in prover.calls]

    found = proving(tmp_path, {"shop.py": program, "test_shop.py": tests}, work)
    made = [("double(1)", "test_shop.py::test_one"), ("double(2)", "test_shop.py::test_two")]
    assert found[:2] == made
    assert [test for _, test in found[2:]] == [None, None]


def test_inner_functions_that_candidates_change_and_their_examples_are_inputs(
    tmp_path: Path,
) -> None:
    program = '''\
def total(prices):
    return sum(map(rounded, prices))


def rounded(price):
    """Round a price.

    >>> rounded(7.25)
    7
    """
    return int(price)
'''
    tests = """\
        import shop

        def test_nothing():
            assert shop.total([]) == 0

        def test_total():
            assert shop.total([2.5]) == 3
    """

    async def work(prover: Prover) -> list[list[str]]:
        found = []
        for functions in ({}, {"shop.py": [(6, 11)]}):
            await prover.behave({}, seed=1, inputs=40, functions=functions)
            found.append([one.call for one in prover.calls])
        near = ["test_shop.py::test_total"]
        await prover.behave({}, seed=1, inputs=2, near=near)
        return [*found, [one.call for one in prover.calls]]

    files = {"shop.py": program, "test_shop.py": tests}
    outer, inner, near = proving(tmp_path, files, work)
    assert not any(call.startswith("rounded") for call in outer)
    assert inner[0] == "rounded(7.25)"
    assert "rounded(2.5)" in inner
    assert near == ["total([2.5])", "total([])"]


def test_methods_generators_and_coroutines_behave_too(tmp_path: Path) -> None:
    program = """\
        class Box:
            def __init__(self):
                self.held = []

            def put(self, n):
                self.held.append(n)

        async def later(n):
            return n + 1

        def count(n):
            yield from range(n)

        def broken(n):
            return 1 // n
    """
    tests = """\
        import asyncio, app

        def test_all():
            app.Box().put(1)
            asyncio.run(later_now())
            list(app.count(3))
            app.broken(0)

        async def later_now():
            await app.later(2)
    """
    files = {"app.py": program, "test_app.py": tests}

    async def work(prover: Prover) -> tuple[str, ...] | None:
        return await prover.behave({}, seed=1, inputs=4)

    behaved = proving(tmp_path, files, work)
    assert behaved is not None
    put, *others = behaved
    assert "held" in put
    assert "1" in put
    assert others == ["3", "[0, 1, 2]", "raises ZeroDivisionError"]


def test_what_a_call_leaves_in_private_fields_belongs_to_what_it_does(tmp_path: Path) -> None:
    shop = """
        class Till:
            def __init__(self):
                self._sum = 0

            def add(self, price):
                self._sum = self._sum + price
                return price
    """
    files = {
        "shop.py": shop,
        "test_shop.py": "from shop import Till\n\ndef test_it():\n    assert Till().add(2) == 2\n",
    }

    async def work(prover: Prover) -> list[tuple[str, ...] | None]:
        text = textwrap.dedent(shop)
        texts = [text, text.replace("+ price", "+ 0 + price"), text.replace("+ price", "- price")]
        return [await prover.behave({"shop.py": one}, seed=1, inputs=8) for one in texts]

    program, alike, other = proving(tmp_path, files, work)
    assert program is not None
    assert program == alike != other
    assert program[0].partition("\0")[0] == "2"
