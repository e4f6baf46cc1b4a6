"""`runtrue fix` with the search fixer, in a subprocess: what it leaves alone the second time."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Machine, MakeProject

FILES = {
    "codes.py": """
        def code(name):
            return name
    """,
    "test_codes.py": """
        from codes import code


        def test_codes():
            assert [code(name) for name in ("a", "b", "zz")] == [9173, 1204, 77]
    """,
    "notes.md": "nothing yet\n",
}


def test_a_search_in_vain_is_not_repeated_on_the_same_code(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(FILES)
    check = ("--check", "python -m pytest -q")
    done = machine.runtrue(
        *("fix", project, *check, "--agent", "sh -c 'echo more>>notes.md'"),
        env={"RUNTRUE_SEARCH_SECONDS": "3"},
    )
    assert done.code == 1, done.said
    assert done.said.count("did not search again") == 1, done.said
    assert done.said.count("none passed") == 1


LAZY = {
    "shop/__init__.py": """
        def load(name):
            from shop import loader
            return loader.Loader(name)
    """,
    "shop/loader.py": """
        import re

        SEPARATOR = ","
        LIMIT = 10
        WORD = re.compile(r"[a-z]+")


        class Loader:
            def __init__(self, name):
                self.name = name
                self.items = []

            def add(self, text):
                for part in text.split(SEPARATOR):
                    self.itmes.append(part)
                return len(self.items)
    """,
    "tests/test_load.py": """
        from shop import load


        def test_name():
            assert load("b").name == "b"


        def test_add():
            assert load("a").add("a,b") == 2
    """,
    "conftest.py": "",
}


def test_the_frame_that_failed_comes_before_lines_that_a_late_import_ran(
    tmp_path: Path, make_project: MakeProject
) -> None:
    done = Machine(tmp_path).runtrue("fix", make_project(LAZY), "--json")
    assert done.code == 0, done.said
    assert "self.items.append(part)" in done.json["diff"]
    (trace,) = [
        part["trace"] for one in done.json["attempts"] if one["fix"] for part in one["fix"]["parts"]
    ]
    assert trace["suspects"][0] == "shop/loader.py:15"
    # Among the very first: nothing of the module's own lines was tried before it.
    assert trace["solutions"][0]["signs"]["before"] < 2


MISSPELT = {
    "cart.py": """
        class Cart:
            def __init__(self):
                self.prices = []

            def total(self):
                return sum(self.pricse)

            def count(self):
                return len(self.pricse)
    """,
    "test_cart.py": """
        from cart import Cart


        def test_total():
            cart = Cart()
            cart.prices += [2, 3]
            assert cart.total() == 5
    """,
}


def test_a_misspelt_name_that_is_written_again_is_named(
    machine: Machine, make_project: MakeProject
) -> None:
    done = machine.runtrue("fix", make_project(MISSPELT), env={"RUNTRUE_SEARCH_SECONDS": "60"})
    assert "the same is written in cart.py:9" in done.said, done.said


WAITING = {
    "codes.py": FILES["codes.py"],
    "test_codes.py": """
        import time

        from codes import code


        def test_codes():
            time.sleep(0.4)
            assert [code(name) for name in ("a", "b", "zz")] == [9173, 1204, 77]
    """,
}


def test_a_search_whose_tests_wait_ends_by_the_clock(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(WAITING)
    done = machine.runtrue(
        *("fix", project, "--check", "python -m pytest -q", "--json"),
        env={"RUNTRUE_SEARCH_SECONDS": "2"},
    )
    assert done.code == 1, done.said
    traces = [
        part["trace"]
        for attempt in (*done.json["attempts"], *done.json["rejected"])
        for part in (attempt["fix"] or {"parts": []})["parts"]
        if part["trace"] and "stopped" in part["trace"]
    ]
    assert traces, done.said
    # Two seconds of processor time would last for minutes.
    assert all(trace["stopped"] == "time" and trace["seconds"] < 25 for trace in traces)


STYLED = {
    "shipping.py": """
        FREE_FROM = 50


        def shipping(total, express=False):
            cost = 0 if total > FREE_FROM else 4
            return cost + 5 if express else cost
    """,
    "test_shipping.py": """
        from shipping import shipping


        def test_small_orders_pay():
            assert shipping(12) == 4


        def test_free_from_fifty():
            assert shipping(50) == 0
    """,
    "style.py": """
        import sys
        from pathlib import Path

        sys.exit(">=" in Path("shipping.py").read_text())
    """,
}


def test_when_a_check_refuses_the_best_edit_the_next_is_offered_without_another_search(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(STYLED)
    checks = ("--check", "python -m pytest -q", "--check", "python style.py")
    env = {"RUNTRUE_SEARCH_SECONDS": "20"}
    done = machine.runtrue("fix", project, *checks, "--json", env=env)
    first, second = (
        part
        for attempt in done.json["attempts"]
        for part in (attempt["fix"] or {"parts": []})["parts"]
    )
    assert "`>=`" in first["description"], done.said
    assert second["trace"]["steps"] == [{"step": "recorded"}]
    assert second["trace"]["candidates"] == first["trace"]["candidates"]
    assert ">=" not in done.json["attempts"][-1]["fix"]["parts"][0]["description"]
    assert [one["passed"] for one in done.json["attempts"][-1]["verdicts"]] == [True, True]
