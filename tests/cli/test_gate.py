"""`runtrue gate` in a subprocess, on real repositories: what is let through and what is not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from runtrue.cli.judge import GateOptions, Obstructed, change_of, plan
from runtrue.cli.verdict import _passed
from runtrue.code import CodeReport, schema
from runtrue.code.report import AttemptReport, VerdictReport
from runtrue.config import Config
from runtrue.loop import Mode
from runtrue.memory import DebugMemory, Project
from tests.cli.conftest import Machine, MakeProject, content, write

SHOP = {
    "shop.py": """
        def total(prices):
            return sum(prices)
    """,
    "tests/test_shop.py": """
        from shop import total


        def test_total():
            assert total([1, 2]) == 3
    """,
    "README.md": "# shop\n",
}
DISCOUNT = """
    def total(prices):
        return sum(prices)


    def discount(price):
        if price > 100:
            return price * 0.9
        return price
"""
TESTED = """
    from shop import discount, total


    def test_total():
        assert total([1, 2]) == 3


    def test_discount():
        assert discount(200) == 180
        assert discount(10) == 10
"""
READY = {"shop.py": DISCOUNT, "tests/test_shop.py": TESTED}
WRONG = {"shop.py": DISCOUNT, "tests/test_shop.py": TESTED.replace("180", "170")}


def git(project: Path, *args: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(
        ["git", *identity, *args], cwd=project, check=True, capture_output=True, text=True
    )
    return done.stdout


def sandboxes(machine: Machine) -> list[Path]:
    return list((machine.home / ".runtrue" / "sandboxes").glob("*"))


def test_without_a_repository_nothing_can_be_judged(
    machine: Machine, make_project: MakeProject
) -> None:
    done = machine.runtrue("gate", cwd=make_project(SHOP, git=False))
    assert (done.code, done.out) == (2, "")
    assert "is not in a git repository" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "nothing changed since HEAD"),
        (
            {"README.md": "# more\n", "docs/use.rst": "Use it.\n"},
            "only documents changed since HEAD",
        ),
    ],
)
def test_where_there_is_nothing_to_run_it_says_so_and_is_ready(
    changed: Mapping[str, str], said: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, changed)
    done = machine.runtrue("gate", cwd=project)
    assert (done.code, done.out) == (0, "")
    assert said in done.err
    assert ("--base" in done.err) is (not changed)
    report = machine.runtrue("gate", "--json", cwd=project).json
    assert (report["ready"], report["run_id"], report["findings"]) == (True, None, [])
    assert not machine.journal.exists()


def test_a_change_that_is_tested_and_passes_is_ready(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, READY)
    before = content(project)
    done = machine.runtrue("gate", cwd=project)
    assert (done.code, done.out) == (0, ""), done.said
    assert re.fullmatch(
        r"runtrue gate: ready: pytest passes \(2 passed\), coverage .+\n", done.err
    ), done.err
    added = {file: text for file, text in content(project).items() if file not in before}
    assert {Path(file).parent.as_posix() for file in added} == {".aiwg/ralph/debug-memory"}
    assert {**before, **added} == content(project)
    assert sandboxes(machine) == []
    again = machine.runtrue("gate", "--json", cwd=project)
    assert again.code == 0
    assert again.json["ready"] is True
    assert again.json["changed"] == ["shop.py", "tests/test_shop.py"]
    record = again.json["record"]
    Draft202012Validator(schema(), format_checker=FormatChecker()).validate(record)
    assert record["agent"]["type"] == "code_reviewer"
    assert (project / record["debug_memory_ref"]).is_file()


def test_findings_are_numbered_with_place_cause_and_what_to_do(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, WRONG)
    done = machine.runtrue("gate", cwd=project)
    assert (done.code, done.out) == (2, "")
    first, blank, head, *rest = done.err.splitlines()
    assert first.startswith("runtrue gate: not ready: 1 finding.")
    assert blank == ""
    assert head == (
        "1. tests/test_shop.py:9: AssertionError (pytest) [tests/test_shop.py::test_discount]"
    )
    assert any(line.strip() == "cause: a value is not what the test expects" for line in rest)
    assert any(line.strip().startswith("to do: fix tests/test_shop.py:9") for line in rest)
    assert sandboxes(machine) == []


def test_what_is_left_in_the_project_is_no_change_and_names_no_place_on_this_machine(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    where = 'raise ValueError(__file__ + ", in " + os.getcwd())'
    source = f"import os\n\ntotal = sum\n\n\ndef discount(price):\n    {where}\n"
    write(project, {**READY, "shop.py": source})
    report = machine.runtrue("gate", "--json", cwd=project).json
    assert report["ready"] is False
    text = (project / report["memory"]["session"]).read_text()
    assert "shop.py, in ." in text
    assert json.loads(text)["project"] == "project"
    assert str(machine.home.parent) not in text
    git(project, "add", "-A")
    assert ".aiwg" not in git(project, "status", "--porcelain")


def test_nothing_is_left_in_the_project_where_that_is_switched_off(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "runtrue.toml": "[memory]\nsessions = false\n"})
    write(project, WRONG)
    report = machine.runtrue("gate", "--json", cwd=project).json
    assert report["memory"]["session"] is None
    assert "debug_memory_ref" not in report["record"]
    assert not (project / ".aiwg").exists()


def test_failures_are_analysed_and_kept_in_the_debug_memory(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, WRONG)
    report = machine.runtrue("gate", "--json", cwd=project).json
    assert (report["status"], report["ready"], report["sandbox"]) == ("failed", False, None)
    session = json.loads((project / report["memory"]["session"]).read_text())
    failure = session["failures"][0]
    assert failure["test"] == "tests/test_shop.py::test_discount"
    assert failure["analysis"]["root_cause"].startswith("a value is not what the test expects")
    assert machine.runtrue("gate", cwd=project).code == 2
    memory = DebugMemory(machine.home / ".runtrue")
    known = memory.recurring(Project.at(project), files=("tests/test_shop.py",), tests=())
    assert [(one.error_type, one.seen) for one in known] == [("AssertionError", 2)]
    shown = machine.runtrue("runs", "show", report["run_id"])
    assert "test_discount" in shown.out


UNTESTED = {"tax.py": "def tax(net):\n    return net * 2\n"}
SKIPPED = """
    import pytest


    @pytest.mark.xfail
    def test_more():
        assert 1 == 2
"""


@pytest.mark.parametrize(
    ("changed", "head", "said"),
    [
        (
            {"shop.py": DISCOUNT},
            "shop.py:6: coverage_threshold_unmet (coverage)",
            "never run: shop.py: 6-8",
        ),
        (UNTESTED, "tax.py: required_tests_missing (test_kinds)", "no test covers tax.py"),
        (
            {
                **UNTESTED,
                "tests/test_tax.py": """
                    import pytest
                    from tax import tax


                    @pytest.mark.skip
                    def test_tax():
                        assert tax(1) == 2
                """,
            },
            "tax.py: required_tests_missing (test_kinds)",
            "the tests for tax.py were skipped",
        ),
        (
            {**UNTESTED, "tests/test_tax.py": "import tax\n\n\ndef test_tax():\n    tax.tax(1)\n"},
            "tax.py: required_tests_missing (test_kinds)",
            "the tests for tax.py assert nothing: test_tax",
        ),
        (
            {"tests/test_shop.py": "import shop\n\n\ndef test_total(:\n"},
            "tests/test_shop.py:4",
            "SyntaxError",
        ),
        (
            {
                "shop.py": DISCOUNT,
                "tests/test_shop.py": TESTED.replace("assert discount", "discount"),
            },
            "shop.py: required_tests_missing (test_kinds)",
            "the new or changed tests for shop.py assert nothing: test_discount",
        ),
        (
            {"tests/test_shop.py": "def test_other():\n    assert True is not False\n"},
            "tests/test_shop.py::test_total: not_run (pytest)",
            "skipped or gone",
        ),
        (
            {"tests/test_more.py": SKIPPED},
            "tests/test_more.py: required_tests_missing (test_kinds)",
            "new tests were skipped, or expected to fail: test_more",
        ),
        (
            {"shop.py": DISCOUNT.replace("100:", "100:  # pragma: no cover")},
            "shop.py:6: coverage_threshold_unmet (test_kinds)",
            "keeps this line from being measured",
        ),
    ],
    ids=[
        *("uncovered", "untested", "skipped", "asserting-nothing", "broken-test"),
        *("new-asserting-nothing", "gone", "new-skipped", "unmeasured"),
    ],
)
def test_what_is_not_proven_is_not_ready(
    changed: Mapping[str, str], head: str, said: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, changed)
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2, done.said
    heads = [line.partition(". ")[2] for line in done.err.splitlines() if re.match(r"\d+\. ", line)]
    assert any(line.startswith(head) for line in heads), done.err
    assert said in done.err


def test_a_check_that_cannot_run_is_not_the_fault_of_the_code(
    machine: Machine, make_project: MakeProject
) -> None:
    broken = '[checks.tests]\ncommand = "no-such-program --now"\n'
    project = make_project({**SHOP, "runtrue.toml": broken})
    write(project, READY)
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2
    assert "cause: something outside the code failed" in done.err
    assert "no code change can fix this" in done.err


def test_tests_may_go_with_their_source_and_may_move(
    machine: Machine, make_project: MakeProject
) -> None:
    tax = {**UNTESTED, "tests/test_tax.py": "import tax\n\n\ndef test_tax():\n    assert tax.tax\n"}
    project = make_project({**SHOP, **tax})
    for file in tax:
        (project / file).unlink()
    (project / "tests" / "test_shop.py").rename(project / "tests" / "test_the_shop.py")
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 0, done.err


FEATURES = {
    "shop.py": """
        def total(prices):
            return sum(prices)


        def rebate(price):
            return price / 2
    """,
    "tests/test_shop.py": """
        from shop import rebate, total


        def test_total():
            assert total([1, 2]) == 3


        def test_rebate():
            assert rebate(4) == 2
    """,
}


def test_a_feature_may_be_deleted_with_its_test_and_a_test_renamed(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, **FEATURES})
    renamed = SHOP["tests/test_shop.py"].replace("test_total", "test_the_sum_of_prices")
    write(project, {**SHOP, "tests/test_shop.py": renamed})
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 0, done.err
    assert "pytest passes (1 passed)" in done.err


def test_a_test_may_not_go_without_what_it_tests(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, **FEATURES})
    write(project, {"tests/test_shop.py": SHOP["tests/test_shop.py"]})
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2
    assert "tests/test_shop.py::test_rebate: not_run (pytest)" in done.err
    assert "to do: make this test run again (a new name is fine)" in done.err


@pytest.mark.parametrize(("source", "ready"), [(SHOP, True), (READY, False)])
def test_code_that_is_only_taken_away_needs_no_coverage(
    source: Mapping[str, str], ready: bool, machine: Machine, make_project: MakeProject
) -> None:
    unmeasured = '[checks.tests]\ncommand = "true"\n'
    project = make_project({**SHOP, **FEATURES, "runtrue.toml": unmeasured})
    write(project, {"shop.py": source["shop.py"]})
    report = machine.runtrue("gate", "--json", cwd=project).json
    assert report["ready"] is ready
    assert [f["category"] for f in report["findings"]] == ([] if ready else ["coverage_unknown"])


def test_when_all_tests_are_deleted_they_are_named_and_the_machine_is_not_blamed(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "tests/.keep": "", "conftest.py": ""})
    (project / "tests" / "test_shop.py").unlink()
    held = machine.runtrue("gate", cwd=project)
    assert held.code == 2
    assert "tests/test_shop.py::test_total: not_run" in held.err
    assert "look at the machine" not in held.err
    # With all that they tested, they may go.
    (project / "shop.py").unlink()
    ready = machine.runtrue("gate", cwd=project)
    assert ready.code == 0, ready.err
    assert "pytest passes (no test is left to run)" in ready.err


def test_where_there_never_was_a_test_the_gate_asks_for_one(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"conftest.py": "", "shop.py": ""})
    write(project, {"shop.py": SHOP["shop.py"]})
    held = machine.runtrue("gate", "--check", "python -m pytest", cwd=project)
    assert held.code == 2
    assert "no test ran, so nothing is proven" in held.err
    assert "to do: add a test that the check finds" in held.err


def test_of_several_packages_only_the_changed_ones_are_checked(
    machine: Machine, make_project: MakeProject
) -> None:
    config = "".join(
        f'[checks.{name}]\ncommand = "python -m pytest -q"\ndirectory = "packages/{name}"\n'
        for name in ("one", "two")
    )
    packages = {
        f"packages/{name}/{file.replace('shop', name)}": text.replace("shop", name)
        for name in ("one", "two")
        for file, text in SHOP.items()
    }
    broken = {"packages/two/tests/test_two.py": "def test_two():\n    assert 1 == 2\n"}
    project = make_project({**packages, **broken, "runtrue.toml": config})
    write(
        project,
        {
            f"packages/one/{f}".replace("shop", "one"): t.replace("shop", "one")
            for f, t in READY.items()
        },
    )
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 0, done.err
    assert "nothing changed in their directories: two\n" in done.err
    assert "one passes (2 passed)" in done.err
    # What belongs to no package may matter to all.
    write(project, {"conftest.py": "SHARED = 1\n"})
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2
    assert "AssertionError (two)" in done.err


def test_what_a_check_says_is_not_cut_within_a_word() -> None:
    said = "changed files looked at: 12; issues on changed lines and at least medium: 0 of 3, " * 2
    verdict = VerdictReport(check="security", mode=Mode.REQUIRED, passed=True, output=said)
    attempt = AttemptReport(number=1, limit=1, candidate="", passed=True, verdicts=(verdict,))
    (line,) = _passed(CodeReport(status="passed", run_id="", attempts=(attempt,)))
    shown = line.removeprefix("security passes (").removesuffix(" …)")
    assert said.startswith(f"{shown} ")


def test_tests_that_are_deleted_until_none_are_run_keep_the_gate_from_judging(
    make_project: MakeProject,
) -> None:
    project = make_project({**SHOP, "ruff.toml": "line-length = 100\n"})
    (project / "tests" / "test_shop.py").unlink()
    change = change_of(project, GateOptions())
    with pytest.raises(Obstructed, match="no check is left that runs tests"):
        plan(project, Config(), GateOptions(), change)
    # Unless what they were for is deleted with them.
    (project / "shop.py").unlink()
    change = change_of(project, GateOptions())
    assert not isinstance(plan(project, Config(), GateOptions(), change), str)


def test_what_a_linter_found_before_the_change_does_not_block_and_what_it_adds_does(
    machine: Machine, make_project: MakeProject
) -> None:
    old = {**SHOP, "ruff.toml": "", "shop.py": "import os\n" + dedent(SHOP["shop.py"])}
    project = make_project(old)
    write(project, {"README.md": "# our shop\n", "shop.py": "import os\n" + dedent(DISCOUNT)})
    write(project, {"tests/test_shop.py": TESTED})
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 0, done.err
    (project / "shop.py").write_text("import sys\n" + (project / "shop.py").read_text())
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2
    assert "`sys` imported but unused" in done.err
    assert "`os` imported but unused" not in done.err


def test_a_change_is_judged_by_the_configuration_before_it(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, {**WRONG, "runtrue.toml": '[checks.tests]\ncommand = "true"\n'})
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2
    assert "runtrue.toml is part of the change, so it is judged by" in done.err
    assert "AssertionError (pytest)" in done.err


@pytest.mark.parametrize(
    ("before", "file", "weaker"),
    [
        ("[testenv]\ncommands = pytest tests\n", "tox.ini", "[testenv]\ncommands = pytest other\n"),
        ("test:\n\tpytest tests\n", "Makefile", "test:\n\tpytest other\n"),
        (None, "tox.ini", "[testenv]\ncommands = pytest other\n"),
    ],
)
def test_a_change_cannot_weaken_the_command_that_judges_it(
    machine: Machine, make_project: MakeProject, before: str | None, file: str, weaker: str
) -> None:
    project = make_project(
        {**SHOP, **({file: before} if before else {}), ".gitattributes": "tests export-ignore\n"}
    )
    other = "def test_nothing():\n    assert True is not False\n"
    write(project, {**WRONG, file: weaker, "other/test_other.py": other})
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2
    assert "the change alters how tests run, so pytest is run as in HEAD" in done.err
    assert "AssertionError (pytest)" in done.err
    # A person may name another.
    done = machine.runtrue("gate", "--check", "python -m pytest -q other", cwd=project)
    assert "so pytest is run as in" not in done.err


def test_a_change_may_bring_the_first_way_to_run_tests(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, {**READY, "tox.ini": "[testenv]\ncommands = pytest tests -k 'not slow'\n"})
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 0, done.said


def test_a_verdict_that_nobody_listens_to_is_in_the_exit_code(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, UNTESTED)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        deaf = subprocess.run(
            machine.argv("gate", "--json"),
            cwd=project,
            env=machine.env,
            stdout=writing,
            stderr=writing,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)
    assert deaf.returncode == 2
    shell = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *machine.argv("gate")]
    closed = subprocess.run(shell, cwd=project, env=machine.env, timeout=120, check=False)
    assert closed.returncode == 2


def test_a_memory_that_cannot_be_kept_is_told(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(SHOP)
    write(project, READY)
    (machine.home / ".runtrue" / "memory.db").mkdir(parents=True)
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 0
    assert "runtrue gate: could not save findings to memory: " in done.err


def test_deleting_code_that_tests_need_is_a_change(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    (project / "shop.py").unlink()
    done = machine.runtrue("gate", cwd=project)
    assert done.code == 2
    assert "ModuleNotFoundError" in done.err


def test_before_the_first_commit_everything_is_new(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP, git=False)
    git(project, "init", "-q")
    report = machine.runtrue("gate", "--json", cwd=project).json
    assert report["ready"] is True
    assert report["changed"] == ["README.md", "shop.py", "tests/test_shop.py"]


def test_commits_are_judged_from_where_the_base_was_left(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    git(project, "checkout", "-qb", "work")
    write(project, WRONG)
    git(project, "commit", "-qam", "wrong")
    git(project, "checkout", "-q", "-")
    write(project, {"other.py": "def nobody_tests(this):\n    return this\n"})
    git(project, "add", "-A")
    git(project, "commit", "-qm", "other")
    base = git(project, "rev-parse", "--abbrev-ref", "HEAD").strip()
    git(project, "checkout", "-q", "work")
    assert "nothing changed" in machine.runtrue("gate", cwd=project).err
    done = machine.runtrue("gate", "--base", base, "--json", cwd=project)
    assert done.code == 2
    assert done.json["changed"] == ["shop.py", "tests/test_shop.py"]
    unknown = machine.runtrue("gate", "--base", "nowhere", cwd=project)
    assert unknown.code == 2
    assert "there is no commit 'nowhere'" in unknown.err


def test_only_what_is_below_the_project_is_judged(
    machine: Machine, make_project: MakeProject
) -> None:
    top = make_project({**{f"app/{file}": text for file, text in SHOP.items()}, "x.py": "x = 1\n"})
    write(top, {"x.py": "x = 2\n"})
    assert "nothing changed" in machine.runtrue("gate", "app", cwd=top).err
    write(top / "app", READY)
    report = machine.runtrue("gate", "app", "--json", cwd=top).json
    assert report["ready"] is True
    assert report["changed"] == ["app/shop.py", "app/tests/test_shop.py"]


BUG = {
    "shop.py": "def total(prices):\n    return sum(prices[1:])\n",
    "tests/test_shop.py": """
        from shop import total


        def test_of_nothing():
            assert total([]) == 0
    """,
}
MENDED = {
    "shop.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_shop.py": """
        from shop import total


        def test_of_nothing():
            assert total([]) == 0


        def test_regression_of_the_first_price():
            assert total({prices}) == {sum}
    """,
}


@pytest.mark.parametrize(("prices", "ready"), [("[3, 4]", True), ("[0, 4]", False)])
def test_a_bug_fix_needs_a_test_that_fails_on_the_code_before_it(
    prices: str, ready: bool, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(BUG)
    test = MENDED["tests/test_shop.py"].format(prices=prices, sum=f"sum({prices})")
    write(project, {**MENDED, "tests/test_shop.py": test})
    done = machine.runtrue("gate", "--type", "bug_fix", "--json", cwd=project)
    assert done.json["ready"] is ready, done.said
    assert ("original_bug_reproduction" in done.err) is not ready
    assert list(done.json["record"]["coverage_requirements"]) == ["bug_fix"]


@pytest.mark.parametrize(
    ("names", "missing"),
    [(("works", "empty", "refused"), None), (("works",), "edge_cases, error_handling")],
)
def test_the_kinds_of_tests_of_a_type_are_looked_for_in_the_tests_of_the_change(
    names: tuple[str, ...], missing: str | None, machine: Machine, make_project: MakeProject
) -> None:
    def test(name: str, function: str = "discount") -> str:
        return f"\n\ndef test_{name}():\n    assert {function}(9) == 9\n"

    # The tests of another file are of every kind.
    others = "from other import same\n" + test("empty", "same") + test("refused", "same")
    other = {"other.py": "def same(x):\n    return x\n", "tests/test_other.py": others}
    project = make_project({**SHOP, "shop.py": DISCOUNT, **other})
    own = textwrap.dedent(TESTED) + "".join(map(test, names))
    write(project, {"shop.py": DISCOUNT.replace("0.9", "0.90"), "tests/test_shop.py": own})
    done = machine.runtrue("gate", "--type", "new_function", cwd=project)
    assert done.code == (2 if missing else 0), done.err
    assert (f"no test of these kinds: {missing};" in done.err) is (missing is not None)


def test_a_refactoring_may_not_lose_coverage(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(SHOP)
    longer = "def total(prices):\n    if not prices:\n        return 0\n    return sum(prices)\n"
    write(project, {"shop.py": longer})
    done = machine.runtrue("gate", "--type", "refactor", cwd=project)
    assert done.code == 2
    assert "75.0 % of shop.py, 100 % is required; never run: shop.py: 3" in done.err
    write(project, {"shop.py": "def total(prices):\n    added = sum(prices)\n    return added\n"})
    assert machine.runtrue("gate", "--type", "refactor", cwd=project).code == 0


@pytest.mark.parametrize(
    ("config", "reason", "said"),
    [
        ("", "in a hurry", "--skip is not allowed here"),
        ("[gate]\nallow_skip = true\n", " ", "--skip needs a reason"),
    ],
)
def test_a_skip_that_is_not_allowed_or_not_explained_is_refused(
    config: str, reason: str, said: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "runtrue.toml": config})
    write(project, WRONG)
    done = machine.runtrue("gate", "--skip", reason, cwd=project)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not machine.journal.exists()


def test_an_allowed_skip_is_told_and_recorded_with_its_reason(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "runtrue.toml": "[gate]\nallow_skip = true\n"})
    write(project, WRONG)
    done = machine.runtrue("gate", "--skip", "the network is down", "--json", cwd=project)
    assert done.code == 0
    assert "not checked: the network is down" in done.err
    assert (done.json["ready"], done.json["skipped"]) == (True, "the network is down")
    assert done.json["status"] == "aborted"
    shown = machine.runtrue("runs", "show")
    assert "because: the network is down" in shown.out
    assert machine.runtrue("metrics", "--json").json["runs"] == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_gate_leaves_no_sandbox_behind(
    how: signal.Signals, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    project = make_project(SHOP)
    slow = f"""
        import pathlib, time


        def test_total():
            pathlib.Path({str(begun)!r}).write_text("begun")
            time.sleep(600)
    """
    git(project, "rm", "-q", "tests/test_shop.py")
    git(project, "commit", "-qm", "no tests")
    write(project, {"tests/test_shop.py": slow})
    with subprocess.Popen(
        machine.argv("gate", "--json"),
        cwd=project,
        env=machine.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert begun.read_text() == "begun"
        assert len(sandboxes(machine)) == 1
        running.send_signal(how)
        out, err = running.communicate(timeout=60)
    if how is signal.SIGKILL:
        # It could not clear away anything; the next gate does.
        write(project, {"tests/test_shop.py": TESTED, **READY})
        assert machine.runtrue("gate", cwd=project).code == 0
    else:
        assert running.returncode == 130
        assert err == "runtrue gate: interrupted before a verdict; run it again\n"
        report = json.loads(out)
        assert (report["status"], report["ready"]) == ("cancelled", False)
    assert sandboxes(machine) == []
    states = [run["state"] for run in machine.runtrue("runs", "list", "--json").json["runs"]]
    assert states[-1] == "cancelled"


def test_progress_is_shown_to_people_only(machine: Machine, make_project: MakeProject) -> None:
    from tests.cli.test_terminal import Terminal

    project = make_project(SHOP)
    write(project, READY)
    terminal = Terminal(machine, "gate", cwd=project)
    assert terminal.end() == 0
    assert "pytest: passed" in terminal.screen
    assert "pytest: passed" not in machine.runtrue("gate", cwd=project).err


def test_a_terminal_shows_each_finding_once(machine: Machine, make_project: MakeProject) -> None:
    from tests.cli.test_terminal import Terminal

    project = make_project(SHOP)
    write(project, UNTESTED)
    terminal = Terminal(machine, "gate", cwd=project)
    assert terminal.end() == 2
    assert "test_kinds: failed" in terminal.screen
    assert terminal.screen.count("no test covers tax.py") == 1
