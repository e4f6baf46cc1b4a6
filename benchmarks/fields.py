"""Field repair: how often a missed path is mended rightly, beside plain likeness of names.

The items and their scorer are not part of this repository: they are looked for in the folder that
`RUNTRUE_FIELD_BENCH` names, or else in `../shared/bench`.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import os
import statistics
import tomllib
from collections import deque
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Table, Target
from runtrue.fields import SURE, rank_paths

FOLDER = Path(__file__).parent.parent.parent / "shared" / "bench"
OWN = Path(__file__).parent
SCORER, ITEMS = "score.py", "field-repair-dev.jsonl"
#: The share of wrong answers among all items with which a repairer may act on its own.
WRONG = 0.025

OURS, PLAIN = "runtrue.fields", "likeness of the last name"
Answers = list[tuple[str, float]]


def run() -> tuple[Table, ...]:
    folder = Path(os.environ.get("RUNTRUE_FIELD_BENCH") or FOLDER)
    if not (folder / SCORER).is_file() or not (folder / ITEMS).is_file():
        raise FileNotFoundError(
            f"there is no {SCORER} with {ITEMS} in {folder}; name their folder by "
            "RUNTRUE_FIELD_BENCH"
        )
    scorer = load(folder / SCORER)
    items = [json.loads(line) for line in (folder / ITEMS).read_text("utf-8").splitlines()]
    rank_paths("$.warm", "up", "", {"a": 1})
    rows = {name: scorer.run(mend, items, None) for name, mend in MENDERS.items()}
    return forced(rows), alone(rows), own_questions(), cost(rows)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("score", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- contenders ------------------------------------------------------------------------------------


def ours(guess: str, intent: str, url: str, body: Any) -> Answers:
    return [(ranked.path, ranked.confidence) for ranked in rank_paths(guess, intent, url, body)]


def plain(guess: str, intent: str, url: str, body: Any) -> Answers:
    """The names most like the last one of the guess, the shallow ones first."""
    wanted = guess.rpartition(".")[2].lower()
    found: Answers = []
    todo: deque[tuple[str, Any]] = deque([("$", body)])
    while todo:
        path, value = todo.popleft()
        if isinstance(value, dict):
            for name, inner in value.items():
                ratio = difflib.SequenceMatcher(None, wanted, name.lower()).ratio()
                here = f"{path}.{name}" if name.isidentifier() else f"{path}['{name}']"
                found.append((here, ratio))
                todo.append((here, inner))
        elif isinstance(value, list) and value:
            todo.append((f"{path}[0]", value[0]))
    return sorted(found, key=lambda one: -one[1])[:5]


MENDERS = {OURS: ours, PLAIN: plain}

# -- tables ----------------------------------------------------------------------------------------

Scored = dict[str, tuple[list[dict[str, Any]], list[float]]]


def forced(scored: Scored) -> Table:
    rows = []
    for name, (judged, _) in scored.items():
        real = [row for row in judged if not row["null"]]
        for what, key, target in (("first", "top1", 0.85), ("first three", "within3", 0.95)):
            share = sum(row[key] for row in real) / len(real)
            rows.append(line(f"{name}: {what}", share, target if name == OURS else None))
    count = len(scored[OURS][0])
    return Table(
        title="fields: a choice is forced; the right path is …",
        unit="%",
        rows=tuple(rows),
        notes=(f"of those of {count} items whose response holds what is looked for",),
    )


def alone(scored: Scored) -> Table:
    judged, _ = scored[OURS]
    rows = [*on_its_own(OURS, judged, SURE, is_ours=True)]
    plain_rows, _ = scored[PLAIN]
    rows += on_its_own(PLAIN, plain_rows, best_cut(plain_rows), is_ours=False)
    return Table(
        title=f"fields: acting on its own, from a confidence of {SURE} on",
        unit="%",
        rows=tuple(rows),
        notes=(
            "right: of the items whose response holds it; wrong: of all items",
            f"{PLAIN} has the cut that is best for it on these very items",
        ),
    )


def on_its_own(name: str, judged: list[dict[str, Any]], cut: float, *, is_ours: bool) -> list[Row]:
    given = [row for row in judged if row["answered"] and row["confidence"] >= cut]
    real = sum(not row["null"] for row in judged)
    right = sum(row["top1"] for row in given)
    wrong = (len(given) - right) / len(judged)
    limit = Target("≤", WRONG * 100) if is_ours else None
    return [
        line(f"{name}: right", right / real, 0.7 if is_ours else None),
        Row(f"{name}: wrong", wrong * 100, (wrong * 100,) * 2, "1 %", wrong * 100, limit),
    ]


def own_questions() -> Table:
    """Score the questions of this repository, about responses that are not those of the items."""
    bodies = tomllib.loads((OWN / "tasks_services.toml").read_text("utf-8"))["answers"]
    questions = tomllib.loads((OWN / "field_questions.toml").read_text("utf-8"))["questions"]
    judged = []
    for place, guess, intent, accepted in questions:
        answers = ours(guess, intent, f"https://api.test{place}", json.loads(bodies[place]))
        path, confidence = answers[0] if answers else ("", 0.0)
        is_right = path in accepted
        judged.append(
            {"null": not accepted, "answered": bool(answers), "top1": is_right}
            | {"confidence": confidence}
        )
    rows = tuple(on_its_own(OURS, judged, SURE, is_ours=True))
    return Table(
        title=f"fields: {len(questions)} questions of our own, acting on its own",
        unit="%",
        rows=rows,
        notes=("right: of the items whose response holds it; wrong: of all items",),
    )


def best_cut(judged: list[dict[str, Any]]) -> float:
    """The lowest cut that keeps the wrong answers within the bound."""
    cuts = sorted({row["confidence"] for row in judged}, reverse=True)
    best: float = cuts[0] + 1
    for cut in cuts:
        wrong = sum(row["confidence"] >= cut and not row["top1"] for row in judged)
        if wrong > WRONG * len(judged):
            break
        best = cut
    return best


def cost(scored: Scored) -> Table:
    rows = []
    for name, (_, seconds) in scored.items():
        low, median, high = (1e3 * cut for cut in statistics.quantiles(seconds, n=4))
        target = Target("≤", 10) if name == OURS else None
        rows.append(Row(name, median, (low, high), "1 ms", median, target))
    return Table(title="fields: time for an item", unit="ms", rows=tuple(rows))


def line(name: str, share: float, target: float | None) -> Row:
    percent = 100 * share
    limit = None if target is None else Target("≥", 100 * target)
    return Row(name, percent, (percent, percent), "1 %", percent, limit)
