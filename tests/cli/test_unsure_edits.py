"""All tests pass, and a person is asked all the same: what passing tests do has changed."""

from __future__ import annotations

from tests.cli.conftest import Done, Machine, MakeProject

#: Two percent were meant, for gold alone: no small edit of one line says so.
PROGRAM = """
    def price(net, level):
        cents = net * 100
        if level == "gold":
            cents = cents - 200
        return cents // 100


    def label(net, level):
        return str(price(net, level)).rjust(6)
"""
FAILING = """
    from prices import label, price


    def test_free_for_nobody():
        assert price(3, "plain") == 3
{looks}

    def test_gold():
        assert price(200, "gold") == 196
"""
LOOKS = """
    def test_labels_are_long():
        for net in (10, 20, 30):
            assert len(label(net, "gold")) == 6
"""


def signs_of(done: Done) -> dict[str, float]:
    parts = [p for a in done.json["attempts"] if a["fix"] for p in a["fix"]["parts"]]
    return dict(parts[0]["trace"]["solutions"][0]["signs"])


def test_an_edit_that_changes_what_passing_tests_calls_give_waits_for_a_person(
    searching: Machine, make_project: MakeProject
) -> None:
    project = make_project({"prices.py": PROGRAM, "test_prices.py": FAILING.format(looks=LOOKS)})
    done = searching.runtrue("fix", project, "--apply", "--json")
    assert (done.code, done.json["why"]) == (3, "unsure")
    assert signs_of(done)["moved"] > 0
    assert done.json["confidence"] < 0.5
    assert "- 200" in (project / "prices.py").read_text()


def test_the_same_edit_is_surer_where_it_changes_only_what_failed(
    searching: Machine, make_project: MakeProject
) -> None:
    project = make_project({"prices.py": PROGRAM, "test_prices.py": FAILING.format(looks="")})
    done = searching.runtrue("fix", project, "--json")
    assert signs_of(done)["moved"] == 0
    assert done.json["confidence"] > 0.5
