"""The fit of the confidence: it finds what separates, by projects that it has not seen."""

from __future__ import annotations

import ast
import random
from dataclasses import replace
from pathlib import Path

from benchmarks.confidence.fit import calibrated, fit, known, predicted, report
from benchmarks.confidence.mutate import mutants
from benchmarks.confidence.row import ROWS, Row, append_row, read_rows

PROGRAM = """\
def bounded(x, low, high):
    if x < low:
        return low
    return min(x, high)
"""


def rows(count: int = 200) -> list[Row]:
    chance = random.Random(1)  # noqa: S311 - nothing is secret here
    found = []
    for n in range(count):
        cost = chance.random() * 2
        found.append(
            Row(
                source="mutants",
                project=f"p{n % 20}",
                bug=str(n),
                right=chance.random() > cost / 2,
                features={"cost": cost, "share": chance.random(), "tokens": 0.0},
                confidence=0.85,
                says="",
            )
        )
    return found


def test_a_sign_that_matters_gets_a_weight_in_its_direction() -> None:
    model = fit(rows())
    assert model.weights["cost"][2] < -0.5
    assert abs(model.weights.get("share", (0, 1, 0))[2]) < 0.3


def test_a_sign_that_points_the_wrong_way_is_left_out() -> None:
    turned = [
        replace(row, features={"share": 2 - row.features["cost"], "rivals": 0.5}) for row in rows()
    ]
    assert "share" in fit(turned).weights
    against = [
        replace(row, features={"share": row.features["cost"], "rivals": 0.5}) for row in rows()
    ]
    assert "share" not in fit(against).weights


def test_the_rows_that_are_kept_say_nothing_of_the_packages_but_names() -> None:
    kept = list(read_rows(ROWS))
    assert len(known(kept)) >= 40
    assert not any(row.says for row in kept)


def test_few_rows_change_the_weights_before_a_little() -> None:
    before = fit(rows())
    against = [replace(row, right=not row.right) for row in rows(8)]
    assert "cost" not in fit(against).weights
    weight, changed = before.weights["cost"][2], fit(against, before).weights["cost"][2]
    assert weight < changed < weight / 2


def test_a_program_that_parses_is_never_near_certain() -> None:
    every = [replace(row, right=True) for row in rows()]
    assert max(chance for _, chance in calibrated(every).steps) < 0.9


def test_an_edit_is_above_the_floor_only_where_hardly_any_of_other_projects_is_wrong() -> None:
    found = predicted(rows(600), calibrated)
    passed = [row for row, chance in found if chance >= 0.5]
    assert len(passed) > 10
    assert sum(not row.right for row in passed) <= 0.05 * len(passed)
    # Most of the others are right more often than not, and wait all the same.
    others = [row for row, chance in found if 0.4 < chance < 0.5]
    assert sum(bool(row.right) for row in others) > 0.5 * len(others)
    assert "| from 0.9 |" in report(rows())


def test_small_programs_have_a_correction_of_their_own() -> None:
    small = [
        replace(row, source="programs", features={**row.features, "tests": 1.1})
        for row in rows(100)
    ]
    large = [
        replace(row, right=False, features={**row.features, "tests": 5.0}) for row in rows(100)
    ]
    model = calibrated([*small, *large])
    assert max(chance for _, chance in model.steps) < 0.5
    assert model.small is not None
    assert max(chance for _, chance in model.small.steps) > 0.7


def test_what_is_likelier_is_never_made_less_likely() -> None:
    steps = calibrated(rows()).steps
    assert list(steps) == sorted(steps)
    assert [chance for _, chance in steps] == sorted(chance for _, chance in steps)


def test_mutants_parse_differ_and_are_the_same_for_the_same_seed() -> None:
    found = list(mutants(PROGRAM, "seed"))
    assert len(found) > 4
    assert found == list(mutants(PROGRAM, "seed"))
    whole = ast.dump(ast.parse(PROGRAM))
    assert all(ast.dump(ast.parse(text)) != whole for _, text in found)
    assert len({text for _, text in found}) == len(found)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    for row in rows(3):
        append_row(file, row)
    assert list(read_rows(file)) == rows(3)
