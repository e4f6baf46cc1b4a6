"""Diffs, matrices and graphs as data."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.loop import Hunk
from runtrue.web.diff import DiffRow, Origin, view_diff
from runtrue.web.graph import draw_graph
from runtrue.web.matrix import matrix_of
from runtrue.web.page import inline, seconds
from tests.web.site import DIFF, code_report

TWO_FILES = """\
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,4 +1,5 @@ def f():
 same
-old one
-old two
+new one
+new two
+new three
 same again
@@ -20,2 +21,1 @@
-gone
 stays
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+--- looks like a header
++++ and so does this
"""


def _text(row: DiffRow) -> tuple[str, int | None, str, int | None, str]:
    old = "".join(piece.text for piece in row.old.pieces)
    new = "".join(piece.text for piece in row.new.pieces)
    return row.kind, row.old.number, old, row.new.number, new


def test_a_diff_is_set_side_by_side_with_its_line_numbers() -> None:
    first, second = view_diff(TWO_FILES).files
    assert (first.name, first.added, first.removed, first.note) == ("a.py", 3, 3, "")
    assert [_text(row) for row in first.hunks[0].rows] == [
        ("same", 1, "same", 1, "same"),
        ("changed", 2, "old one", 2, "new one"),
        ("changed", 3, "old two", 3, "new two"),
        ("added", None, "", 4, "new three"),
        ("same", 4, "same again", 5, "same again"),
    ]
    assert [_text(row)[0] for row in first.hunks[1].rows] == ["removed", "same"]
    assert (second.name, second.note, second.added) == ("new.txt", "new file", 2)
    assert _text(second.hunks[0].rows[0])[4] == "--- looks like a header"


def test_the_words_that_differ_are_marked() -> None:
    (file,) = view_diff(DIFF).files
    changed = next(row for row in file.hunks[0].rows if row.kind == "changed")
    assert [p.text for p in changed.old.pieces if p.changed] == [" + 1"]
    assert not any(piece.changed for piece in changed.new.pieces)


@pytest.mark.parametrize(
    "diff",
    ["", "no diff at all", "@@ -x +y @@\n+a", "--- a/x\n+++ b/x\n", "@@ -1 +1 @@\n-a", "\\ No"],
)
def test_what_is_no_diff_breaks_nothing(diff: str) -> None:
    view_diff(diff)


def test_a_long_diff_is_cut_and_says_so() -> None:
    lines = "".join(f"+line {n}\n" for n in range(5_000))
    view = view_diff(f"--- a/x\n+++ b/x\n@@ -0,0 +1,5000 @@\n{lines}")
    assert view.left_out == 2_003


def test_a_place_has_the_fixer_and_the_tests_that_need_it() -> None:
    hunk = Hunk(file="shop.py", line=2, removed=1, added=1, fixer="agent", tests=("t",))
    origins = {"shop.py": ([hunk], [Origin("search", 0.9), Origin("agent", 0.4, "why")])}
    (file,) = view_diff(DIFF, origins).files
    assert file.hunks[0].origins == (Origin("agent", 0.4, "why", ("t",)),)


def test_a_matrix_has_each_test_that_ever_failed() -> None:
    matrix = matrix_of(code_report("x"))
    assert [row.name for row in matrix.rows] == ["tests", "plain::test_a"]
    assert matrix.rows[1].outcomes == ("failed", "passed")
    assert matrix.rows[1].turned_green
    assert [(column.label, column.note) for column in matrix.columns] == [
        ("1", "before"),
        ("2", "search"),
    ]


def _ir(*edges: tuple[str, str], nodes: str = "abc") -> dict[str, Any]:
    return {
        "nodes": [{"id": name, "type": "shell"} for name in nodes],
        "edges": [{"from": a, "to": b} for a, b in edges],
    }


def test_nodes_are_drawn_after_those_that_lead_to_them() -> None:
    graph = draw_graph(_ir(("a", "b"), ("a", "c"), ("b", "c")), {"a": "passed"})
    assert graph
    x = {node.id: node.x for node in graph.nodes}
    assert x["a"] < x["b"] < x["c"]
    assert {node.id: node.status for node in graph.nodes}["a"] == "passed"
    assert len(graph.edges) == 3


def test_a_way_back_and_an_edge_to_nowhere_are_drawn_or_left_out() -> None:
    graph = draw_graph(_ir(("a", "b"), ("b", "a"), ("b", "nowhere")))
    assert graph
    assert len(graph.edges) == 2


@pytest.mark.parametrize("ir", [{}, {"nodes": None}, {"nodes": []}, {"nodes": [1, {}]}])
def test_what_has_no_nodes_is_not_drawn(ir: dict[str, Any]) -> None:
    assert draw_graph(ir) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.04, "0.0 s"), (42, "42 s"), (119.7, "2 min 00 s"), (7_260, "2 h 01 min")],
)
def test_durations_are_in_the_units_that_people_read(value: float | None, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a `b` c", 'a <code class="t">b</code> c'),
        ("a `b", "a `b"),
        ("`<i>` and `", '<code class="t">&lt;i&gt;</code> and `'),
    ],
)
def test_what_is_between_backticks_is_code(text: str, html: str) -> None:
    assert str(inline(text)) == html
