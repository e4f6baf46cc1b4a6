"""Fit: logistic regression with a penalty, tested on projects that it was not fitted to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.confidence.row import WITHOUT, Row
from runtrue.fixers.search.signs import MANY, standardised
from runtrue.fixers.search.weights import (
    INTERCEPT,
    SMALL_INTERCEPT,
    SMALL_STEPS,
    SMALL_WEIGHTS,
    STEPS,
)
from runtrue.fixers.search.weights import WEIGHTS as COMMITTED

WEIGHTS = Path(__file__).parents[2] / "src" / "runtrue" / "fixers" / "search" / "weights.py"
#: How much large weights cost, in rows.
PENALTY = 1.0
#: How much it costs to leave the committed weights where they are gone on from, in rows.
PRIOR = 8.0
#: How much a row of each source counts: real bugs are what users have.
WORTH = {"real": 2.0, "mutants": 1.0, WITHOUT: 1.0, "programs": 0.4}
#: In which direction each sign must point. One that points the other way in the rows at hand says
#: more about those rows than about edits, and is left out.
DIRECTION = {
    **dict.fromkeys(("share", "failing", "tests", "guards", "raised", "named", "tokens"), 1),
    **dict.fromkeys(("rivals", "cost", "size", "one", "fits", "suits", "cut_off", "before"), -1),
    **{"functions": 1, "witnesses": 1},
    **{"kept": 1, "breaks": -1, "moved": -1, "refused": -1, "blind": -1},
}
#: Projects are put into so many parts; each part is predicted from the others.
PARTS = 8
ROUNDS = 30
BINS = ((0.9, 1.01), (0.7, 0.9), (0.5, 0.7), (0.3, 0.5), (0.0, 0.3))
#: What may be wrong of the edits that a run passes with, and the floor of the policy.
WRONG, FLOOR = 0.02, 0.5
#: No edit of a project that is not among the surest is above that, however few rows there are.
MOST_UNSURE = FLOOR - 0.05
#: No chance is larger: the tests are all that speaks for an edit.
MOST = 0.97
#: And of a program that parses: most rows are of bugs that the edits were made for.
MOST_PARSED = 0.89


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The intercept, and the mean, the deviation and the weight of each feature."""

    intercept: float
    weights: dict[str, tuple[float, float, float]]
    #: From which estimate on an edit is right how often; empty where that is not corrected.
    steps: tuple[tuple[float, float], ...] = ()
    #: The model of programs with few tests, where that is another one.
    small: Model | None = None

    def estimate(self, features: dict[str, float]) -> float:
        """Return the chance that the signs give, as it is corrected by `chance`."""
        score = self.intercept
        for name, (mean, scale, weight) in self.weights.items():
            if name in features:
                score += weight * standardised(features[name], mean, scale)
        return _sigmoid(score)

    def chance(self, features: dict[str, float]) -> float:
        """Return how likely an edit with these signs is to be right."""
        if self.small is not None and features.get("tests", math.inf) < math.log1p(MANY):
            return self.small.chance(features)
        estimate = self.estimate(features)
        if self.steps and not features.get("tokens"):
            return max(chance for start, chance in self.steps if start <= estimate)
        return min(MOST, estimate)


def known(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that say something: an edit that a rule has not put aside already."""
    return [row for row in rows if row.right is not None and row.features and not row.ruled_out]


def committed() -> Model:
    """Return the model that the search uses now."""
    small = Model(intercept=SMALL_INTERCEPT, weights=dict(SMALL_WEIGHTS), steps=SMALL_STEPS)
    return Model(intercept=INTERCEPT, weights=dict(COMMITTED), steps=STEPS, small=small)


def fit(rows: Sequence[Row], prior: Model | None = None) -> Model:
    """Fit a model. What is not known of a row counts as the mean.

    With a prior, it is that model as these rows change it: few rows change it little.
    """
    names = sorted({name for row in rows for name in row.features if name in DIRECTION})
    while True:
        model = _fit(rows, names, prior)
        wrong = [n for n in names if DIRECTION[n] * model.weights.get(n, (0, 1, 0))[2] < 0]
        if not wrong:
            return model
        worst = min(wrong, key=lambda n: DIRECTION[n] * model.weights[n][2])
        names = [name for name in names if name != worst]


def _fit(rows: Sequence[Row], names: Sequence[str], prior: Model | None) -> Model:
    known = prior.weights if prior is not None else {}
    scales = {name: known[name][:2] for name in names if name in known}
    for name in names:
        if name in known:
            continue
        values = [row.features[name] for row in rows if name in row.features]
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        if deviation > 1e-6:
            scales[name] = round(mean, 3), round(max(deviation, 0.001), 3)
    table = [
        [1.0]
        + [
            standardised(row.features[name], mean, scale) if name in row.features else 0.0
            for name, (mean, scale) in scales.items()
        ]
        for row in rows
    ]
    centre = [prior.intercept if prior is not None else 0.0]
    centre += [known[name][2] if name in known else 0.0 for name in scales]
    pull = [PRIOR if prior is not None else 1e-6]
    pull += [PRIOR if name in known else PENALTY for name in scales]
    right, worth = [bool(row.right) for row in rows], [WORTH[row.source] for row in rows]
    solved = _newton(table, right, worth, centre, pull)
    weights = {
        name: (*scale, round(weight, 3))
        for (name, scale), weight in zip(scales.items(), solved[1:], strict=True)
    }
    return Model(intercept=round(solved[0], 3), weights=weights)


def _newton(
    table: Sequence[Sequence[float]],
    right: Sequence[bool],
    worth: Sequence[float],
    centre: Sequence[float],
    pull: Sequence[float],
) -> list[float]:
    """Return the weights under which these labels are likeliest, near the centre if possible."""
    count = len(table[0])
    found = [*centre]
    for _ in range(ROUNDS):
        gradient = [pull[n] * (found[n] - centre[n]) for n in range(count)]
        curvature = [[0.0] * count for _ in range(count)]
        for n in range(count):
            curvature[n][n] = pull[n]
        for values, label, weight in zip(table, right, worth, strict=True):
            chance = _sigmoid(sum(a * b for a, b in zip(found, values, strict=True)))
            for n in range(count):
                gradient[n] += weight * (chance - label) * values[n]
                for m in range(count):
                    curvature[n][m] += weight * chance * (1 - chance) * values[n] * values[m]
        step = _solve(curvature, gradient)
        found = [value - change for value, change in zip(found, step, strict=True)]
    return found


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    size = len(right)
    rows = [[*matrix[n], right[n]] for n in range(size)]
    for n in range(size):
        best = max(range(n, size), key=lambda m: abs(rows[m][n]))
        rows[n], rows[best] = rows[best], rows[n]
        for m in range(size):
            if m != n:
                factor = rows[m][n] / rows[n][n]
                rows[m] = [a - factor * b for a, b in zip(rows[m], rows[n], strict=True)]
    return [rows[n][size] / rows[n][n] for n in range(size)]


def _sigmoid(score: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(score, 30.0))))


def calibrated(rows: Sequence[Row], prior: Model | None = None) -> Model:
    """Fit a model, and correct its estimates to how often such edits were right.

    The estimates that are corrected are those of models that had not seen the project; what is
    likelier by them is never made less likely (isotonic regression). Projects and small programs
    each have a correction: nearly all bugs of the latter are within reach of the search. With a
    prior, its model of small programs is kept. Repairs of files that do not parse are left out:
    nearly all of them are right.
    """
    model = fit(rows, prior)
    found = predicted(rows, lambda part: fit(part, prior), Model.estimate)
    pairs: dict[bool, list[tuple[float, bool, float]]] = {True: [], False: []}
    for row, chance in found:
        # What would be handed over in place of the right edit matters where that is out of reach.
        if not row.features.get("tokens") and not (is_small(row) and row.source == WITHOUT):
            pairs[is_small(row)].append((chance, bool(row.right), WORTH[row.source]))
    small = prior.small if prior else replace(model, steps=_as_steps(_blocks(pairs[True])))
    return replace(model, steps=_sure_or_not(pairs[False]), small=small)


def is_small(row: Row) -> bool:
    """Return whether a row is of a program with so few tests that it is no project."""
    return row.features.get("tests", math.inf) < math.log1p(MANY)


def _blocks(pairs: Sequence[tuple[float, bool, float]]) -> list[list[float]]:
    """Return where each range of estimates begins, with the weight of the right edits and of all.

    A range is as short as it can be if the next one is not to have a smaller share of right edits.
    """
    blocks: list[list[float]] = []
    for chance, right, worth in sorted(pairs):
        blocks.append([chance, right * worth, worth])
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][2] >= blocks[-1][1] / blocks[-1][2]:
            _, some, of = blocks.pop()
            blocks[-1][1] += some
            blocks[-1][2] += of
    return blocks


def _sure_or_not(pairs: Sequence[tuple[float, bool, float]]) -> tuple[tuple[float, float], ...]:
    """Return the steps of projects: the surest is above the floor of the policy, no other is.

    The surest is all estimates from which on at most `WRONG` of the edits are wrong. What is above
    the floor ends a run as passed, so what is right in three of four cases must not be there.
    """
    surest, wrong, total = math.inf, 0, 0
    for chance, right, _ in sorted(pairs, reverse=True):
        wrong, total = wrong + (not right), total + 1
        if wrong <= WRONG * total:
            surest = chance
    above = [one for one in pairs if one[0] >= surest]
    rest = _as_steps(_blocks([one for one in pairs if one[0] < surest]), MOST_UNSURE)
    if not above:
        return rest
    best = surest, sum(worth * ok for _, ok, worth in above), sum(one[2] for one in above)
    ((_, chance),) = _as_steps([best])
    return (*rest, (math.floor(1000 * surest) / 1000 if rest else 0.0, chance))


def _share(block: Sequence[float]) -> float:
    """Return a block's share of right edits. A few prove little: one more of each is thought of."""
    return (block[1] + 1) / (block[2] + 2)


def _as_steps(
    blocks: Sequence[Sequence[float]], most: float = MOST_PARSED
) -> tuple[tuple[float, float], ...]:
    steps = [(round(one[0], 2), round(min(most, _share(one)), 2)) for one in blocks]
    return ((0.0, steps[0][1]), *steps[1:]) if steps else ()


def predicted(
    rows: Sequence[Row],
    make: Callable[[Sequence[Row]], Model],
    of: Callable[[Model, dict[str, float]], float] = Model.chance,
) -> list[tuple[Row, float]]:
    """Return each row with its chance by a model that was made without its project."""
    projects = sorted({row.project for row in rows})
    part_of = {project: n % PARTS for n, project in enumerate(projects)}
    found = []
    for part in range(PARTS):
        model = make([row for row in rows if part_of[row.project] != part])
        own = [row for row in rows if part_of[row.project] == part]
        found += [(row, of(model, row.features)) for row in own]
    return found


def report(rows: Sequence[Row], prior: Model | None = None) -> str:
    """Return the calibration as a table, by source, with that of the confidence that was said."""
    usable = known(rows)
    found = predicted(usable, lambda part: calibrated(part, prior))
    lines = [f"{len(rows)} searches, {len(usable)} edits known to be right or wrong"]
    for source in (*WORTH, None):
        part = [(r, chance) for r, chance in found if source in (None, r.source)]
        if not part:
            continue
        lines.append(f"\n{source or 'all'}: {len(part)} edits, {_right(part)} right\n")
        lines.append("| chance | edits | right | before: edits | right |")
        lines.append("|---|---|---|---|---|")
        before = [(row, row.confidence or 0.0) for row, _ in part]
        for low, high in BINS:
            now_in, was_in = (
                [(row, c) for row, c in each if low <= c < high] for each in (part, before)
            )
            name = f"from {low:g}" if high > 1 else f"{low:g} to {high:g}"
            lines.append(
                f"| {name} | {len(now_in)} | {_right(now_in)} | {len(was_in)} | {_right(was_in)} |"
            )
    model = calibrated(usable, prior)
    lines.append(f"\nsteps {model.steps}")
    lines.append(f"intercept {model.intercept}")
    lines += [f"{name:10} {weight:+.3f}" for name, (_, _, weight) in model.weights.items()]
    return "\n".join(lines)


def _right(part: Sequence[tuple[Row, float]]) -> int:
    return sum(bool(row.right) for row, _ in part)


def _lines_of_small(model: Model) -> Iterator[str]:
    yield "#: The same of programs with few tests, which have weights of their own."
    yield f"SMALL_INTERCEPT = {model.intercept}"
    yield "SMALL_WEIGHTS: dict[str, tuple[float, float, float]] = {"
    yield from (f'    "{name}": {values},' for name, values in model.weights.items())
    yield "}"
    yield f"SMALL_STEPS = {model.steps}"


def write_weights(rows: Sequence[Row], prior: Model | None = None) -> None:
    """Write the weights, fitted to all rows, to the module that the search reads."""
    usable = known(rows)
    model = calibrated(usable, prior)
    counts = ", ".join(
        f"{sum(row.source == source for row in usable)} of {source}" for source in WORTH
    )
    lines = [
        '"""Weights of the signs that an edit is right: `python -m benchmarks.confidence fit`."""',
        "",
        f"# Fitted to {len(usable)} edits: {counts}" + ("," if prior else "."),
        *(["# from the weights before."] if prior else []),
        "",
        "#: No chance is larger: the tests are all that speaks for an edit.",
        f"MOST = {MOST}",
        f"INTERCEPT = {model.intercept}",
        "#: The mean, the standard deviation and the weight of each sign.",
        "WEIGHTS: dict[str, tuple[float, float, float]] = {",
        *(f'    "{name}": {values},' for name, values in model.weights.items()),
        "}",
        "#: From which estimate on such edits are right how often, in projects not fitted to.",
        f"STEPS = {model.steps}",
        *(_lines_of_small(model.small) if model.small else ()),
    ]
    WEIGHTS.write_text("\n".join(lines) + "\n")
